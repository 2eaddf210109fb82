//! How a command ends: what went wrong in words for a person, and the status for a script.

use std::process::ExitCode;

use schema::project::ProjectError;
use tools::error::ToolError;

use crate::cli::text::printable;

/// Status for what the caller can mend.
pub(crate) const USER: u8 = 1;

/// Status for a fault of ours, as in BSD's sysexits.
const INTERNAL: u8 = 70;

/// Prints an error with its causes to standard error and answers the status.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    use std::io::Write as _;
    let mut causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.dedup();
    let style = anstyle::AnsiColor::Red.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}error{style:#}: {}", printable(&causes.join(": ")));
    ExitCode::from(status(error))
}

/// Prints to standard error what a person should know although the command goes on.
pub(crate) fn warn(text: &str) {
    use std::io::Write as _;
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{style}warning{style:#}: {}", printable(text));
}

/// Prints to standard error what a person waits to hear from a program that goes on.
pub(crate) fn tell(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(anstream::stderr(), "{}", printable(text));
}

fn status(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<ToolError>() {
        Some(ToolError::Damaged(_) | ToolError::Internal(_)) => INTERNAL,
        Some(ToolError::Invalid(_) | ToolError::NotFound(_) | ToolError::Unavailable(_) | ToolError::Interrupted) => {
            USER
        }
        None if error.is::<ProjectError>() => USER,
        None => INTERNAL,
    }
}
