//! Dates and times as they are given on the command line, in seconds since 1970.

use schema::moment::Moment;
use tools::error::ToolError;

use super::when;

/// The first second that a date or time means.
pub(crate) fn first_of(name: &str, text: &str) -> Result<i64, ToolError> {
    second(name, text, when::since(text))
}

/// The last second that a date or time means.
pub(crate) fn last_of(name: &str, text: &str) -> Result<i64, ToolError> {
    second(name, text, when::until(text))
}

fn second(name: &str, text: &str, meant: Result<Moment, String>) -> Result<i64, ToolError> {
    meant.map(|at| at.unix()).map_err(|forms| ToolError::Invalid(format!("--{name} is {text:?}: {forms}")))
}
