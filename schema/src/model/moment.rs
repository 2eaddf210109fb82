//! A moment: an instant together with the UTC offset of the place where it was noted.
//!
//! Logs show local time and the database holds UTC. The offset converts one into the other on any machine.

use chrono::{DateTime, FixedOffset, Local, NaiveDate, NaiveDateTime, NaiveTime, Offset, SecondsFormat, TimeZone, Utc};

/// The first and the last second that a moment can have: at any offset their years have four digits, as RFC 3339 and SQLite require.
const RANGE: (i64, i64) = (-62_135_510_400, 253_402_214_399);

/// An instant to the second, with its local UTC offset in whole minutes. A time out of range is clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(DateTime<FixedOffset>);

impl Moment {
    /// Now, by the clock and the time zone of this machine.
    pub fn now() -> Self {
        let now = Local::now();
        Self::new(now.timestamp(), *now.offset())
    }

    /// The last moment that there is.
    pub fn latest() -> Self {
        Self::new(RANGE.1, FixedOffset::east_opt(0).expect("no offset is one of less than a day"))
    }

    /// Local date and time at a known offset from UTC, in seconds east. `None` if the offset is a day or more.
    pub fn from_local(date: NaiveDate, time: NaiveTime, offset_seconds: i32) -> Option<Self> {
        Some(Self::from_local_at(NaiveDateTime::new(date, time), FixedOffset::east_opt(offset_seconds)?))
    }

    /// Local date and time in this machine's zone, for logs that do not say their offset.
    ///
    /// A time that occurs twice takes the earlier offset, and a time that daylight saving skips takes an offset of that day.
    pub fn from_local_unknown(date: NaiveDate, time: NaiveTime) -> Self {
        let local = NaiveDateTime::new(date, time);
        let offset = Local.offset_from_local_datetime(&local).earliest();
        Self::from_local_at(local, offset.unwrap_or_else(|| Local.offset_from_utc_datetime(&local)).fix())
    }

    fn from_local_at(local: NaiveDateTime, offset: FixedOffset) -> Self {
        let offset = round_to_minutes(offset);
        Self::new(local.and_utc().timestamp() - i64::from(offset.local_minus_utc()), offset)
    }

    /// Seconds since 1970 in UTC, shown at an offset of its own or, without one, at this machine's. `None` if the offset is a day or more.
    pub fn from_unix(seconds: i64, offset_seconds: Option<i32>) -> Option<Self> {
        let offset = match offset_seconds {
            Some(offset) => FixedOffset::east_opt(offset)?,
            None => Local.offset_from_utc_datetime(&utc_datetime(seconds).naive_utc()).fix(),
        };
        Some(Self::new(seconds, offset))
    }

    /// Reads RFC 3339, for example `2026-01-28T10:30:15+09:00`.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::new(at.timestamp(), *at.offset()))
    }

    /// Whether a text in RFC 3339 is of a time that is clamped.
    pub fn is_out_of_range(text: &str) -> bool {
        DateTime::parse_from_rfc3339(text).is_ok_and(|at| utc_datetime(at.timestamp()).timestamp() != at.timestamp())
    }

    fn new(seconds: i64, offset: FixedOffset) -> Self {
        Self(utc_datetime(seconds).with_timezone(&round_to_minutes(offset)))
    }

    /// Seconds since 1970 in UTC.
    pub fn unix(&self) -> i64 {
        self.0.timestamp()
    }

    /// Seconds east of UTC.
    pub fn offset_seconds(&self) -> i32 {
        self.0.offset().local_minus_utc()
    }

    /// The UTC offset, for example `+09:00`.
    pub fn offset(&self) -> String {
        self.0.offset().to_string()
    }

    /// The local day, which names the daily log.
    pub fn date(&self) -> NaiveDate {
        self.0.date_naive()
    }

    /// The local time of day, `HH:MM:SS`.
    pub fn time(&self) -> String {
        self.0.time().to_string()
    }

    /// Local date and time to the second, `YYYY-MM-DDTHH:MM:SS`.
    pub fn local_second(&self) -> String {
        format!("{:?}", self.0.naive_local())
    }

    /// RFC 3339 in UTC, for example `2026-01-28T01:30:15Z`: sorts as text and is what the database holds.
    pub fn utc(&self) -> String {
        self.0.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// RFC 3339 at the local offset, for example `2026-01-28T10:30:15+09:00`.
    pub fn rfc3339(&self) -> String {
        self.0.to_rfc3339_opts(SecondsFormat::Secs, false)
    }
}

fn utc_datetime(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds.clamp(RANGE.0, RANGE.1), 0).unwrap_or_default()
}

/// Zones had odd seconds until about 1900, and neither RFC 3339 nor a session mark can write them.
fn round_to_minutes(offset: FixedOffset) -> FixedOffset {
    let seconds = offset.local_minus_utc();
    FixedOffset::east_opt(seconds - seconds % 60).unwrap_or(offset)
}

/// A UTC offset as text, for example `+09:00`, of seconds east.
pub(crate) fn format_offset(seconds: i32) -> String {
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Reads a UTC offset such as `+09:00`, `-0330` or `Z`, in seconds east.
pub fn parse_offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits: String = digits.chars().filter(|c| *c != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = digits.split_at(2);
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests;
