//! A moment: an instant together with the UTC offset of the place where it was noted.
//!
//! Logs show local time, the database holds UTC; the offset makes the one from the other, on any machine.

use chrono::{DateTime, FixedOffset, Local, NaiveDate, NaiveDateTime, NaiveTime, Offset, SecondsFormat, TimeZone, Utc};

/// An instant to the second, with its local UTC offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(DateTime<FixedOffset>);

impl Moment {
    /// Now, by the clock and the time zone of this machine.
    pub fn now() -> Self {
        Self::from_datetime(Local::now().fixed_offset())
    }

    /// Local date and time at a known offset from UTC, in seconds east.
    pub fn from_local(date: NaiveDate, time: NaiveTime, offset_seconds: i32) -> Option<Self> {
        let offset = FixedOffset::east_opt(offset_seconds)?;
        offset.from_local_datetime(&NaiveDateTime::new(date, time)).single().map(Self::from_datetime)
    }

    /// Local date and time in this machine's zone, for logs that do not say their offset.
    ///
    /// A time that daylight saving skipped or doubled takes the earlier offset.
    pub fn from_local_unknown(date: NaiveDate, time: NaiveTime) -> Self {
        let local = NaiveDateTime::new(date, time);
        let found = Local.from_local_datetime(&local).earliest().map(|at| at.fixed_offset());
        Self::from_datetime(found.unwrap_or_else(|| Utc.from_utc_datetime(&local).fixed_offset()))
    }

    /// Seconds since 1970 in UTC, shown at an offset of its own or, without one, at this machine's.
    pub fn from_unix(seconds: i64, offset_seconds: Option<i32>) -> Option<Self> {
        let utc = DateTime::<Utc>::from_timestamp(seconds, 0)?;
        let offset = match offset_seconds {
            Some(offset) => FixedOffset::east_opt(offset)?,
            None => Local.offset_from_utc_datetime(&utc.naive_utc()).fix(),
        };
        Some(Self(utc.with_timezone(&offset)))
    }

    /// Reads RFC 3339, for example `2026-01-28T10:30:15+09:00`.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(Self::from_datetime)
    }

    fn from_datetime(at: DateTime<FixedOffset>) -> Self {
        // Logs hold whole seconds; a fraction kept here would be lost on the way through Markdown.
        Self(at.with_timezone(at.offset()) - chrono::TimeDelta::nanoseconds(i64::from(at.timestamp_subsec_nanos())))
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

/// A UTC offset as text, for example `+09:00`, of seconds east.
pub(crate) fn offset_text(seconds: i32) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_where_it_was_noted_and_kept_in_utc() {
        let at = Moment::parse_rfc3339("2026-01-28T00:30:15.987+09:00").unwrap();
        assert_eq!(at.date().to_string(), "2026-01-28");
        assert_eq!((at.time(), at.local_second()), ("00:30:15".to_owned(), "2026-01-28T00:30:15".to_owned()));
        assert_eq!(at.utc(), "2026-01-27T15:30:15Z");
        assert_eq!(at.rfc3339(), "2026-01-28T00:30:15+09:00");
        assert_eq!(Moment::from_unix(at.unix(), Some(at.offset_seconds())), Some(at));
    }

    #[test]
    fn offsets_are_read_in_the_forms_that_logs_hold() {
        for (text, seconds) in [("+09:00", 32_400), ("-0330", -12_600), ("Z", 0)] {
            assert_eq!(parse_offset(text), Some(seconds));
        }
        for bad in ["", "9", "+9", "+25:00", "09:00", "+0a:00", "+é00"] {
            assert_eq!(parse_offset(bad), None, "{bad:?}");
        }
    }
}
