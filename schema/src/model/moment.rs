//! Moments: instants together with the local UTC offset.
//!
//! Logs show local time and the database stores UTC. The offset converts one into the other on any machine.

use chrono::{DateTime, FixedOffset, Local, NaiveDate, NaiveDateTime, NaiveTime, Offset, SecondsFormat, TimeZone, Utc};

/// The first and the last second of a moment. In this range years have four digits at any offset, as RFC 3339 and SQLite require.
const RANGE: (i64, i64) = (-62_135_510_400, 253_402_214_399);

/// An instant with a resolution of one second and a UTC offset in whole minutes. Times out of range are clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(DateTime<FixedOffset>);

impl Moment {
    /// Returns the current moment in the time zone of this machine.
    pub fn now() -> Self {
        let now = Local::now();
        Self::new(now.timestamp(), *now.offset())
    }

    /// Returns the last possible moment.
    pub fn latest() -> Self {
        Self::new(RANGE.1, Utc.fix())
    }

    /// Combines a local date and time with a UTC offset in seconds east, or with that of this machine. Returns `None` if the offset is a day
    /// or more.
    pub fn from_local(date: NaiveDate, time: NaiveTime, offset_seconds: Option<i32>) -> Option<Self> {
        match offset_seconds {
            Some(offset) => Some(Self::from_local_at(NaiveDateTime::new(date, time), FixedOffset::east_opt(offset)?)),
            None => Some(Self::from_local_unknown(date, time)),
        }
    }

    /// Interprets a local date and time in the time zone of this machine, for logs without an offset.
    ///
    /// A time that occurs twice gets the earlier offset. A time that daylight saving skips gets an offset of that day.
    pub fn from_local_unknown(date: NaiveDate, time: NaiveTime) -> Self {
        let local = NaiveDateTime::new(date, time);
        let offset = Local.offset_from_local_datetime(&local).earliest();
        Self::from_local_at(local, offset.unwrap_or_else(|| Local.offset_from_utc_datetime(&local)).fix())
    }

    fn from_local_at(local: NaiveDateTime, offset: FixedOffset) -> Self {
        let offset = round_to_minutes(offset);
        Self::new(local.and_utc().timestamp() - i64::from(offset.local_minus_utc()), offset)
    }

    /// Converts Unix seconds, with the given offset or that of this machine. Returns `None` if the offset is a day or more.
    pub fn from_unix(seconds: i64, offset_seconds: Option<i32>) -> Option<Self> {
        let offset = match offset_seconds {
            Some(offset) => FixedOffset::east_opt(offset)?,
            None => Local.offset_from_utc_datetime(&utc_datetime(seconds).naive_utc()).fix(),
        };
        Some(Self::new(seconds, offset))
    }

    /// Parses RFC 3339, for example `2026-01-28T10:30:15+09:00`.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::new(at.timestamp(), *at.offset()))
    }

    /// Whether an RFC 3339 time is out of range and would be clamped.
    pub fn is_out_of_range(text: &str) -> bool {
        DateTime::parse_from_rfc3339(text).is_ok_and(|at| utc_datetime(at.timestamp()).timestamp() != at.timestamp())
    }

    fn new(seconds: i64, offset: FixedOffset) -> Self {
        Self(utc_datetime(seconds).with_timezone(&round_to_minutes(offset)))
    }

    /// Returns the same moment without an offset from UTC.
    pub fn in_utc(&self) -> Self {
        Self::new(self.unix(), Utc.fix())
    }

    /// Returns the seconds since 1970 in UTC.
    pub fn unix(&self) -> i64 {
        self.0.timestamp()
    }

    /// Returns the UTC offset in seconds east.
    pub fn offset_seconds(&self) -> i32 {
        self.0.offset().local_minus_utc()
    }

    /// Returns the UTC offset as text, for example `+09:00`.
    pub fn offset(&self) -> String {
        self.0.offset().to_string()
    }

    /// Returns the local date, which names the daily log.
    pub fn date(&self) -> NaiveDate {
        self.0.date_naive()
    }

    /// Returns the local time of day, `HH:MM:SS`.
    pub fn time(&self) -> String {
        self.0.time().to_string()
    }

    /// Returns the local date and time to the second, `YYYY-MM-DDTHH:MM:SS`.
    pub fn local_second(&self) -> String {
        format!("{:?}", self.0.naive_local())
    }

    /// Returns RFC 3339 in UTC, for example `2026-01-28T01:30:15Z`. The database stores this form because it sorts as text.
    pub fn utc(&self) -> String {
        self.0.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// Returns RFC 3339 with the local offset, for example `2026-01-28T10:30:15+09:00`.
    pub fn rfc3339(&self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Secs, false)
    }
}

fn utc_datetime(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds.clamp(RANGE.0, RANGE.1), 0).unwrap_or_default()
}

/// Rounds an offset to minutes. Offsets had odd seconds until about 1900, which neither RFC 3339 nor a session mark can express.
fn round_to_minutes(offset: FixedOffset) -> FixedOffset {
    let seconds = offset.local_minus_utc();
    FixedOffset::east_opt(seconds - seconds % 60).unwrap_or(offset)
}

/// Formats a UTC offset in seconds east, for example as `+09:00`.
pub(crate) fn format_offset(seconds: i32) -> String {
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Parses a UTC offset such as `+09:00`, `-0330` or `Z` into seconds east.
pub fn parse_offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests;
