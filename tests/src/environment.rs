//! The only place that reads the tests' own environment variables.

use std::ffi::OsString;

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Whether to run the long form of tests.
pub fn is_long() -> bool {
    variable("JIKIME_LONG_TESTS").is_some()
}
