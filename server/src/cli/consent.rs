//! Asks before something is done that cannot be taken back.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tools::error::ToolError;

/// Whether it may be done: said on the command line, or answered on a terminal. Where nobody can be asked it is refused.
pub(crate) fn agreed(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let text =
            format!("{question} Nobody can be asked here: pass --yes to do it, or --dry-run to only see what it is");
        return Err(ToolError::Invalid(text).into());
    }
    write!(anstream::stderr(), "{question} [y/N] ").context("cannot ask")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "ㅛ" | "네" | "예"))
}
