//! Asks before an irreversible action.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use tools::error::ToolError;

use super::terminal_text::without_styles;

/// Whether to go on: confirmed by a flag or on the terminal. Without a terminal it is an error.
pub(crate) fn confirm(question: &str, yes: bool) -> anyhow::Result<bool> {
    require_consent(question, yes)?;
    Ok(yes || is_yes(&ask(&format!("{question} [y/N] "))?))
}

/// Fails without consent if nobody can be asked.
pub(super) fn require_consent(question: &str, yes: bool) -> Result<(), ToolError> {
    if yes || can_ask() {
        return Ok(());
    }
    let text =
        format!("cannot ask \"{question}\" without a terminal: pass --yes to confirm, or --dry-run to see the changes");
    Err(ToolError::Invalid(text))
}

/// Whether a person can read a question and answer it.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// The answer in lower case. The end of input is an empty answer.
pub(super) fn ask(prompt: &str) -> anyhow::Result<String> {
    Ok(ask_unless_ended(prompt)?.unwrap_or_default().to_lowercase())
}

/// The answer as it was typed, without space around it, or `None` at the end of input.
pub(super) fn ask_unless_ended(prompt: &str) -> anyhow::Result<Option<String>> {
    write!(anstream::stderr(), "{prompt}").context("cannot ask")?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer).context("cannot read the answer")? == 0 {
        return Ok(None);
    }
    // Keys such as arrows arrive as sequences of characters, which nobody means to type.
    let keys = without_styles(&answer);
    Ok(Some(keys.chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()))
}

pub(super) fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes" | "ㅛ" | "네" | "예")
}
