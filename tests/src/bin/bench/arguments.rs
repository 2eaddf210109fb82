//! Command-line options, and the end of a measurement.

use std::error::Error;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The value of an option.
pub(crate) fn given(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}
