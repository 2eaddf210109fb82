//! `edit`: changes the text of a memory, in an editor or by an option.

use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use schema::files::layout::STORE_DIR;
use schema::model::memory::short_id;
use schema::store::MemoryRow;
use serde::Serialize;
use tools::engine::{EditedMemory, Engine};
use tools::error::ToolError;
use tools::private_temp_dir::PrivateTempDir;

use super::editor::run_editor;
use super::output::{Printer, redaction_note};
use crate::exit;

#[derive(Debug, Args)]
pub(crate) struct EditArguments {
    /// The id or its unique beginning
    id: String,
    /// The new text; `-` reads it from standard input [default: opens $VISUAL or $EDITOR]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct ShownEdit<'e> {
    id: &'e str,
    path: String,
    content: &'e str,
    changed: bool,
    redactions: usize,
}

pub(crate) fn run_edit(engine: &mut Engine, printer: &Printer, arguments: EditArguments) -> anyhow::Result<()> {
    let before = engine.find_by_prefix(&arguments.id)?;
    let edited = match arguments.text {
        Some(text) => engine.edit_text(&before, &text_or_stdin(text)?)?,
        None => edit_in_editor(engine, &before)?,
    };
    print_edited(printer, &edited)
}

/// The text itself, or standard input for `-`.
pub(super) fn text_or_stdin(text: String) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text);
    }
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).context("cannot read standard input")?;
    Ok(input)
}

fn print_edited(printer: &Printer, edited: &EditedMemory) -> anyhow::Result<()> {
    let row = &edited.row;
    let shown = ShownEdit {
        id: row.memory.id.as_str(),
        path: format!("{STORE_DIR}/{}", row.path),
        content: &row.memory.content,
        changed: edited.is_changed,
        redactions: edited.redactions,
    };
    let id = short_id(shown.id);
    let text = match edited.is_changed {
        true => format!("Changed {id} in {}.", shown.path),
        false => format!("{id} has this text already; nothing was changed."),
    };
    printer.print_sentence(&shown, &(text + &redaction_note(edited.redactions)))
}

/// Opens the text in an editor, and saves it. The file is outside the store, because each Markdown file in the store is indexed. It stays if
/// its text could not be saved.
fn edit_in_editor(engine: &mut Engine, before: &MemoryRow) -> anyhow::Result<EditedMemory> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let text = "an editor needs a terminal; give the new text with --text, or --text - for standard input";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let folder = PrivateTempDir::create("edit").map_err(|error| ToolError::Unavailable(error.to_string()))?;
    let path = folder.path().join(format!("{}.md", before.memory.id));
    fs::write(&path, &before.memory.content).map_err(|error| cannot("write", &path, &error))?;
    let mut edit = || {
        run_editor(&path, 1).map_err(ToolError::Unavailable)?;
        let text = fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
        engine.edit_text(before, &text)
    };
    let edited = edit();
    if edited.is_err() {
        exit::print_status(&format!("your text is still in {}", path.display()));
        folder.keep();
    }
    Ok(edited?)
}

fn cannot(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::Unavailable(format!("cannot {doing} {}: {error}", path.display()))
}
