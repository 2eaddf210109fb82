//! The command line: what people and scripts call.

mod arguments;
mod backfill;
mod browse;
mod completions;
mod config;
mod consent;
mod curate;
mod demo;
mod doctor;
mod export;
mod forget;
mod gc;
mod hosted;
mod import;
mod init;
mod list;
mod narrow;
mod output;
mod pager;
mod preview;
#[cfg(test)]
mod reference;
mod run;
mod scrub;
mod sessions;
mod shell;
mod show;
mod stats;
pub(crate) mod text;
mod timeline;
mod uninstall;
mod when;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use crate::{exit, log};

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    // A limit on the size of files is then an error of the write, not the end of the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = hosted::read(&words).unwrap_or_else(|| arguments::Arguments::parse_from(words));
    log::begin(log_wish(&arguments).as_deref());
    match run::run(arguments) {
        Ok(status) => status,
        Err(error) => exit::report(&error),
    }
}

/// The user's wish. What fills the screen must not be written over.
fn log_wish(arguments: &arguments::Arguments) -> Option<String> {
    match arguments.command {
        arguments::Command::Browse(_) => Some("off".to_owned()),
        _ => std::env::var("JIKIME_LOG").ok(),
    }
}
