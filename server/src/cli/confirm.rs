//! Asks before an irreversible action.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tools::error::ToolError;

/// Whether to go on: confirmed by a flag or on the terminal. Without a terminal it is an error.
pub(crate) fn confirm(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let text =
            format!("{question} This needs a terminal; pass --yes to confirm, or --dry-run to only see the changes");
        return Err(ToolError::Invalid(text).into());
    }
    write!(anstream::stderr(), "{question} [y/N] ").context("cannot ask")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "ㅛ" | "네" | "예"))
}
