//! The only place that reads the tests' own environment variables.

use std::ffi::OsString;

/// Variables that programs need on some platform, and that reveal nothing about the user.
const INHERITED: [&str; 4] = ["PATH", "SystemRoot", "SystemDrive", "PATHEXT"];

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the variables that every started program gets.
pub(crate) fn inherited() -> impl Iterator<Item = (&'static str, OsString)> {
    INHERITED.into_iter().filter_map(|name| Some((name, variable(name)?)))
}

/// Whether to run the long form of tests.
pub fn is_long() -> bool {
    variable("JIKIME_LONG_TESTS").is_some()
}
