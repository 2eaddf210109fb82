//! The command line.

mod arguments;
mod backfill;
mod browse;
mod completions;
mod config;
pub(crate) mod config_set;
mod confirm;
mod curate;
mod demo;
mod doctor;
mod edit;
mod editor;
mod export;
mod filter_arguments;
mod forget;
mod gc;
mod help;
mod import;
mod init;
mod insights;
mod list;
mod migrate;
mod opening;
mod output;
mod pager;
mod preview;
#[cfg(test)]
mod reference;
mod review;
mod run;
mod save;
mod scrub;
mod search;
mod serve_fast_path;
mod sessions;
mod setup_changes;
mod show;
mod stats;
mod tasks;
mod team;
mod team_server;
pub(crate) mod terminal_text;
mod timeline;
mod uninstall;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use schema::files::environment;

use crate::{exit, logging};
use arguments::{CliArguments, CliCommand};

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    // Ignores SIGXFSZ, so that a file size limit makes a write fail instead of ending the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = serve_fast_path::parse_serve_arguments(&words).unwrap_or_else(|| parse(words));
    // The browser fills the screen, so it logs nothing.
    let is_browsing = matches!(arguments.command, CliCommand::Browse(_));
    let filter = if is_browsing { Some("off".to_owned()) } else { environment::text("JIKIME_LOG") };
    logging::init_logging(filter.as_deref());
    match run::run(arguments) {
        Ok(status) => status,
        Err(error) => exit::report_error(&error),
    }
}

/// Parses the arguments. Prints the help, or what is wrong, and ends the process if there is nothing to run.
fn parse(words: Vec<OsString>) -> CliArguments {
    let matches = help::group_commands(CliArguments::command()).get_matches_from(words);
    CliArguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}
