//! Setting hosts up and taking that back: which files say that a host starts our server and calls our hooks, how they are changed
//! without touching anything of anybody else's, and what is written down so that it can be undone byte for byte.
//!
//! Knows no command line: `cli` asks and shows, `doctor` looks through the same eyes.

pub(crate) mod change;
pub(crate) mod diff;
pub(crate) mod file;
pub(crate) mod found;
pub(crate) mod hooks;
pub(crate) mod host;
mod json;
mod lines;
mod markdown;
pub(crate) mod part;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod programs;
mod record;
pub(crate) mod server_entry;
pub(crate) mod site;
mod toml;
mod tracked;

#[cfg(test)]
mod tests;
