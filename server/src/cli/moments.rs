//! Dates and times as they are given on the command line, in seconds since 1970.

use chrono::{NaiveDate, NaiveTime};
use schema::moment::Moment;
use tools::error::ToolError;

/// The first second that a date or time means.
pub(crate) fn first_of(name: &str, text: &str) -> Result<i64, ToolError> {
    second(name, text, NaiveTime::MIN)
}

/// The last second that a date or time means.
pub(crate) fn last_of(name: &str, text: &str) -> Result<i64, ToolError> {
    second(name, text, NaiveTime::from_hms_opt(23, 59, 59).unwrap_or(NaiveTime::MIN))
}

fn second(name: &str, text: &str, time: NaiveTime) -> Result<i64, ToolError> {
    let text = text.trim();
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(Moment::from_local_unknown(date, time).unix());
    }
    Moment::parse_rfc3339(text).map(|at| at.unix()).ok_or_else(|| {
        ToolError::Invalid(format!(
            "--{name} is {text:?}: give a date such as 2026-01-28 or a time such as 2026-01-28T10:30:00Z"
        ))
    })
}
