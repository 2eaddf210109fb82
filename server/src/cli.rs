//! The command line: what people and scripts call.

mod arguments;
mod demo;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::EnvFilter;

use crate::exit;

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    // Standard output belongs to answers and to the protocol; what the program has to say of itself goes to the other one.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // It would tell on standard error that standard error is closed, and panic over that.
        .log_internal_errors(false)
        .with_env_filter(EnvFilter::try_from_env("JIKIME_LOG").unwrap_or_else(|_| EnvFilter::new("warn")))
        .init();
    match run::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
