//! The command line: what people and scripts call.

mod arguments;
mod browse;
mod completions;
mod config;
mod demo;
mod list;
mod narrow;
mod output;
mod pager;
#[cfg(test)]
mod reference;
mod run;
mod sessions;
mod shell;
mod show;
mod stats;
mod text;
mod timeline;
mod when;

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
        .with_env_filter(filter(log_wish(&arguments).as_deref()))
        .init();
    match run::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
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

/// What is logged. The library that speaks the protocol logs whole messages, which hold memories: only who names it hears it.
fn filter(wish: Option<&str>) -> EnvFilter {
    let wish = wish.filter(|wish| EnvFilter::try_new(wish).is_ok()).unwrap_or("warn");
    EnvFilter::new(format!("rmcp=off,{wish}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_messages_are_logged_only_for_who_names_the_library() {
        for (wish, expected) in [
            (None, "rmcp=off,warn"),
            (Some("debug"), "rmcp=off,debug"),
            (Some("no=such=filter"), "rmcp=off,warn"),
            (Some("info,rmcp=debug"), "rmcp=debug,info"),
        ] {
            assert_eq!(filter(wish).to_string(), expected, "{wish:?}");
        }
    }
}
