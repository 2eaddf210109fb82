//! The environment of this process, which is read here and nowhere else.

use std::ffi::OsString;
use std::path::PathBuf;

/// The value of a variable, if it is set.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The value of a variable, if it is set to text.
pub fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// The value of a variable, if it is an absolute path.
pub fn path(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// All variables with their values.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads variables")]
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
