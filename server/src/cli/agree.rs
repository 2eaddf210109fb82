//! Asks a person before files are changed. Scripts say so beforehand.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tools::error::ToolError;

use super::output::Printer;

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreed {
    Yes,
    No,
}

/// Asks `question` on a terminal, unless it was answered before. Elsewhere nobody could answer.
pub(crate) fn agree(yes: bool, printer: &Printer, question: &str) -> anyhow::Result<Agreed> {
    if yes {
        return Ok(Agreed::Yes);
    }
    if printer.is_json() || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let text = "nobody can be asked here: say --yes, or --dry-run to see what would change; nothing was changed";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let mut terminal = anstream::stdout();
    write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush()).context("cannot ask")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    let agreed = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    Ok(if agreed { Agreed::Yes } else { Agreed::No })
}
