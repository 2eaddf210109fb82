//! How a command ends: an error message for people and an exit status for scripts.

use std::io::Write as _;
use std::process::ExitCode;

use anstyle::AnsiColor;
use schema::files::project::ProjectError;
use tools::error::ToolError;

use crate::cli::terminal_text::printable_text;

/// Exit status for an error that the caller can fix.
pub(crate) const USER: u8 = 1;

/// Exit status for an internal error, as in BSD's sysexits.
const INTERNAL: u8 = 70;

/// Prints an error with its causes to standard error, and returns the exit status.
pub(crate) fn report_error(error: &anyhow::Error) -> ExitCode {
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.dedup();
    print_labelled(AnsiColor::Red, "error", &causes.join(": "));
    ExitCode::from(exit_status(error))
}

/// Prints a warning to standard error; the command goes on.
pub(crate) fn print_warning(text: &str) {
    print_labelled(AnsiColor::Yellow, "warning", text);
}

fn print_labelled(colour: AnsiColor, label: &str, text: &str) {
    let style = colour.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}{label}{style:#}: {}", printable_text(text));
}

/// Prints progress of a long-running command to standard error.
pub(crate) fn print_status(text: &str) {
    let _ = writeln!(anstream::stderr(), "{}", printable_text(text));
}

fn exit_status(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<ToolError>() {
        Some(ToolError::Damaged(_) | ToolError::Internal(_)) => INTERNAL,
        Some(ToolError::Invalid(_) | ToolError::NotFound(_) | ToolError::Unavailable(_) | ToolError::Interrupted) => {
            USER
        }
        None if error.is::<ProjectError>() => USER,
        None => INTERNAL,
    }
}
