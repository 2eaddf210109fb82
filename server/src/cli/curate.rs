//! `promote`, `pin`, `supersede` and `confirm`.

use clap::Args;
use schema::files::layout::STORE_DIR;
use schema::model::memory::MemoryType;
use schema::store::MemoryRow;
use serde::Serialize;
use tools::engine::Engine;

use super::filter_arguments::MemoryTypeParser;
use super::insights::suggest_promotions;
use super::output::Printer;
use super::terminal_text::clean_for_terminal;

#[derive(Debug, Args)]
pub(crate) struct PromoteArguments {
    /// The id or its unique beginning
    #[arg(required_unless_present = "suggest")]
    id: Option<String>,
    /// The type of the promoted memory; required for a prompt, an answer or another event
    #[arg(long = "as", value_name = "TYPE", value_parser = MemoryTypeParser, requires = "id")]
    kind: Option<MemoryType>,
    /// List memories that are pinned or confirmed in three sessions and are not in MEMORY.md
    #[arg(long, conflicts_with = "id")]
    suggest: bool,
    /// Copy it into your personal memory instead
    #[arg(long, requires = "id")]
    to_personal: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinArguments {
    /// The id or its unique beginning
    id: String,
    /// Remove the protection
    #[arg(long)]
    off: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SupersedeArguments {
    /// The outdated memory
    old: String,
    /// The memory that replaces it
    new: String,
}

#[derive(Debug, Args)]
pub(crate) struct IdArgument {
    /// The id or its unique beginning
    pub(super) id: String,
}

#[derive(Debug, Serialize)]
struct ShownConfirmation {
    id: String,
    /// The files that it is about.
    files: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CuratedMemory {
    id: String,
    path: String,
    start_line: usize,
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
}

pub(crate) fn promote(engine: &mut Engine, printer: &Printer, arguments: &PromoteArguments) -> anyhow::Result<()> {
    let Some(id) = &arguments.id else { return suggest_promotions(engine, printer) };
    if arguments.to_personal {
        let saved = engine.copy_to_personal(id, arguments.kind)?;
        return printer.print_value(&saved, || {
            let what = if saved.saved { "is in your personal memory" } else { "was in your personal memory already" };
            format!("{} {what}\n", saved.id)
        });
    }
    let row = engine.promote(id, arguments.kind)?;
    print_curated(engine, printer, &row, |row| format!("{} is in {}:{}", row.id, row.path, row.start_line))
}

pub(crate) fn pin(engine: &mut Engine, printer: &Printer, arguments: &PinArguments) -> anyhow::Result<()> {
    let row = engine.set_pinned(&arguments.id, !arguments.off)?;
    print_curated(engine, printer, &row, |row| {
        format!("{} is {}", row.id, if row.pinned { "pinned" } else { "not pinned" })
    })
}

pub(crate) fn supersede(engine: &mut Engine, printer: &Printer, arguments: &SupersedeArguments) -> anyhow::Result<()> {
    let row = engine.supersede(&arguments.old, &arguments.new)?;
    print_curated(engine, printer, &row, |row| {
        format!("{} replaces {}", row.id, row.supersedes.as_deref().unwrap_or_default())
    })
}

pub(crate) fn confirm(engine: &mut Engine, printer: &Printer, arguments: &IdArgument) -> anyhow::Result<()> {
    let confirmed = engine.confirm(&arguments.id)?;
    let confirmed = ShownConfirmation { id: confirmed.row.memory.id.to_string(), files: confirmed.files };
    let files = confirmed.files.iter().map(|file| clean_for_terminal(file)).collect::<Vec<_>>().join(", ");
    let files = if files.is_empty() { files } else { format!(" against the current {files}") };
    printer.print_value(&confirmed, || format!("Confirmed {}{files}\n", confirmed.id))
}

fn print_curated(
    engine: &Engine,
    printer: &Printer,
    row: &MemoryRow,
    text: impl FnOnce(&CuratedMemory) -> String,
) -> anyhow::Result<()> {
    let curated = CuratedMemory {
        id: row.memory.id.to_string(),
        path: format!("{STORE_DIR}/{}", row.path),
        start_line: engine.locator().find_lines(row).0,
        pinned: row.memory.attributes.pinned,
        supersedes: row.memory.attributes.supersedes.as_ref().map(ToString::to_string),
    };
    printer.print_value(&curated, || text(&curated) + "\n")
}
