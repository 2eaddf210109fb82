//! `promote`, `pin` and `supersede`: what becomes of a memory that is there already.

use clap::Args;
use schema::layout::STORE_DIR;
use schema::memory::MemoryType;
use schema::store::Row;
use serde::Serialize;
use tools::engine::Engine;

use super::output::Printer;

#[derive(Debug, Args)]
pub(crate) struct PromoteArguments {
    /// The id, or as much of its beginning as tells it apart
    id: String,
    /// What it is kept as, which what a session said needs: decision, learning, preference, convention, …
    #[arg(long = "as", value_name = "TYPE")]
    kind: Option<MemoryType>,
}

#[derive(Debug, Args)]
pub(crate) struct PinArguments {
    /// The id, or as much of its beginning as tells it apart
    id: String,
    /// Let go of it again
    #[arg(long)]
    off: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SupersedeArguments {
    /// The memory that no longer holds
    old: String,
    /// The one that holds instead
    new: String,
}

#[derive(Debug, Serialize)]
struct Curated {
    id: String,
    path: String,
    start_line: usize,
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
}

/// Moves a memory to `MEMORY.md`, which every session loads.
pub(crate) fn promote(engine: &mut Engine, printer: &Printer, arguments: &PromoteArguments) -> anyhow::Result<()> {
    let row = engine.promote(&arguments.id, arguments.kind)?;
    tell(engine, printer, &row, |row| format!("{} stands in {}:{}", row.id, row.path, row.start_line))
}

/// Pins a memory, so that no clean-up removes it.
pub(crate) fn pin(engine: &mut Engine, printer: &Printer, arguments: &PinArguments) -> anyhow::Result<()> {
    let row = engine.set_pinned(&arguments.id, !arguments.off)?;
    tell(engine, printer, &row, |row| format!("{} is {}", row.id, if row.pinned { "pinned" } else { "not pinned" }))
}

/// Says that one memory replaces another.
pub(crate) fn supersede(engine: &mut Engine, printer: &Printer, arguments: &SupersedeArguments) -> anyhow::Result<()> {
    let row = engine.supersede(&arguments.old, &arguments.new)?;
    tell(engine, printer, &row, |row| format!("{} replaces {}", row.id, row.supersedes.as_deref().unwrap_or_default()))
}

fn tell(engine: &Engine, printer: &Printer, row: &Row, text: impl FnOnce(&Curated) -> String) -> anyhow::Result<()> {
    let curated = Curated {
        id: row.memory.id.to_string(),
        path: format!("{STORE_DIR}/{}", row.path),
        start_line: engine.locator().lines(row).0,
        pinned: row.memory.attributes.pinned,
        supersedes: row.memory.attributes.supersedes.as_ref().map(ToString::to_string),
    };
    printer.print(&curated, || text(&curated) + "\n")
}
