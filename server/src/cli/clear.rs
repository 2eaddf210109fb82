//! `gc` and `reset`: what is old goes, or everything.

use clap::Args;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::settings;
use tools::engine::{Clearing, Engine, Extent};
use tools::error::ToolError;

use super::consent::agreed;
use super::narrow::memory_type;
use super::output::Printer;
use super::preview::{Gone, counted, preview};

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// What is older than this, such as 36h, 180d, 26w, 6mo or 1y [default: the setting gc_older_than]
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u32>,
    /// The oldest, until the daily logs have at most this size, such as 50MB [default: the setting gc_keep_bytes]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    keep_bytes: Option<u64>,
    /// Types that are spared otherwise: decision, convention, preference
    #[arg(long, value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    also: Vec<MemoryType>,
    /// Only show what would go
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do it without being asked
    #[arg(long, short = 'y')]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArguments {
    /// Really empty the memory of this project
    #[arg(long)]
    confirm: bool,
    /// Also MEMORY.md, notes, and the list of what was forgotten
    #[arg(long)]
    purge: bool,
}

fn age(text: &str) -> Result<u32, String> {
    settings::days(text).ok_or_else(|| "give an age such as 36h, 180d, 26w, 6mo or 1y".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    settings::bytes(text).ok_or_else(|| "give a size such as 500KB, 50MB or 1GB".to_owned())
}

/// Clears what is old or too much, after a look at it.
pub(crate) fn gc(engine: &mut Engine, printer: &Printer, arguments: GcArguments) -> anyhow::Result<()> {
    let GcArguments { mut older_than, mut keep_bytes, also, dry_run, yes } = arguments;
    if older_than.is_none() && keep_bytes.is_none() {
        let settings = settings::load(engine.store().layout()).settings;
        (older_than, keep_bytes) = (settings.gc_older_than, settings.gc_keep_bytes);
    }
    if older_than.is_none() && keep_bytes.is_none() {
        let text =
            "say what is to go: --older-than 180d, --keep-bytes 50MB, or the settings gc_older_than and gc_keep_bytes";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    engine.finish_forgetting()?;
    let rows = engine.clearable(&Clearing { older_than, keep_bytes, also }, &Moment::now())?;
    if rows.is_empty() {
        return printer.print(&Gone { dry_run, ..Gone::default() }, || "Nothing is to be cleared.\n".to_owned());
    }
    if !printer.is_json() {
        preview(printer, &rows)?;
    }
    let mut gone = Gone { dry_run, ..Gone::of(&rows) };
    if dry_run {
        let done = format!("Nothing was changed; without --dry-run this clears {}.", counted(gone.memories));
        return printer.said(&gone, &done);
    }
    if !agreed(&format!("Clear {} for good?", counted(rows.len())), yes)? {
        return printer.line("Nothing was changed.");
    }
    let cleared = engine.clear(&rows, &mut |_| {})?;
    (gone.memories, gone.left) = (cleared.memories, cleared.left);
    gone.tell(printer, "Cleared")
}

/// Empties the store.
pub(crate) fn reset(engine: &mut Engine, printer: &Printer, arguments: &ResetArguments) -> anyhow::Result<()> {
    let extent = if arguments.purge { Extent::Everything } else { Extent::Memories };
    let what = match extent {
        Extent::Memories => "every memory of the daily logs, the buffers, and old databases; MEMORY.md and notes stay",
        Extent::Everything => "every memory, MEMORY.md, notes, and the list of what was forgotten; settings stay",
    };
    if !arguments.confirm {
        let text = format!("reset deletes for good {what}. Pass --confirm to do it; export keeps a copy before");
        return Err(ToolError::Invalid(text).into());
    }
    let done = engine.reset(extent)?;
    let gone = Gone { memories: done.memories, old_databases: done.removed, left: done.left, ..Gone::default() };
    gone.tell(printer, "Emptied: deleted")
}
