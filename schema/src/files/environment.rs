//! The environment of this process. No other module reads variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the value of a variable, if it is set.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the value of a variable, if it is set to valid Unicode.
pub fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// Returns the value of a variable, if it is an absolute path.
pub fn path(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the directory for temporary files.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn temp_dir() -> PathBuf {
    std::env::temp_dir()
}

/// Returns all variables with their values.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
