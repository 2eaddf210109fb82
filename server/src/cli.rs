//! The command line: what people and scripts call.

mod arguments;
mod demo;
mod output;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

use crate::{exit, log};

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    log::begin(std::env::var("JIKIME_LOG").ok().as_deref());
    match run::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
