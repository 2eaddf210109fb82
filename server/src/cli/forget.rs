//! `forget`: memories that go for good, after a look at them.

use clap::Args;
use schema::memory::MemoryType;
use schema::moment::Moment;
use tools::engine::{Engine, OldDatabases, Selection};
use tools::error::ToolError;

use super::consent::agreed;
use super::moments::first_of;
use super::narrow::memory_type;
use super::output::Printer;
use super::preview::{Gone, counted, preview};

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    /// Memories whose text holds these words, whatever their case
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// Those of a session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Those from before a date or time
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Those of a type; several are separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Those of a log of the store, or those that name a file, folder or glob of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// One memory; several are separated by commas
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// Also when that is everything
    #[arg(long)]
    all: bool,
    /// Only show what would be forgotten
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do it without being asked
    #[arg(long, short = 'y')]
    yes: bool,
    /// Leave databases that were set aside or kept at an upgrade, which may hold copies
    #[arg(long)]
    keep_old_databases: bool,
}

/// Shows what is meant, asks, and forgets it.
pub(crate) fn forget(engine: &mut Engine, printer: &Printer, arguments: ForgetArguments) -> anyhow::Result<()> {
    let ForgetArguments { query, session, before, kinds, path, ids, all, dry_run, yes, keep_old_databases } = arguments;
    let before = before.map(|text| first_of("before", &text).map(|at| (text, at))).transpose()?;
    let before = before.map(|(text, at)| Moment::from_unix(at, None).map_or(text, |at| at.rfc3339()));
    let selection = Selection { ids, query, session, before, kinds, path };
    if selection == Selection::default() && !all {
        let text =
            "say what is to be forgotten: --query, --session, --before, --type, --path or --id; --all is everything";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    engine.finish_forgetting()?;
    let selected = engine.select(&selection)?;
    if selected.rows.is_empty() {
        return printer
            .print(&Gone { dry_run, ..Gone::default() }, || "Nothing that is remembered is meant.\n".to_owned());
    }
    let needs_all = selected.is_everything() && !all;
    if needs_all && !dry_run {
        let text =
            format!("that is everything that is remembered, {}: add --all to forget it", counted(selected.total));
        return Err(ToolError::Invalid(text).into());
    }
    let is_quiet = printer.is_json();
    if !is_quiet {
        preview(printer, &selected.rows)?;
    }
    let old = if keep_old_databases { OldDatabases::Keep } else { OldDatabases::Remove };
    let names = engine.old_databases();
    let mut gone = Gone { dry_run, needs_all, ..Gone::of(&selected.rows) };
    if !names.is_empty() && !is_quiet {
        printer.told(&match old {
            OldDatabases::Remove => format!("Old databases, which may hold copies, go as well: {}", names.join(", ")),
            OldDatabases::Keep => format!("Old databases, which may hold copies, stay: {}", names.join(", ")),
        })?;
    }
    if dry_run {
        (gone.old_databases, gone.left) =
            if old == OldDatabases::Remove { (names, Vec::new()) } else { (Vec::new(), names) };
        let done = match needs_all {
            true => "Nothing was changed; that is everything that is remembered, so that it needs --all as well",
            false => "Nothing was changed",
        };
        let done = format!("{done}; without --dry-run this forgets {}.", counted(gone.memories));
        return printer.said(&gone, &done);
    }
    if !agreed(&format!("Forget {} for good?", counted(selected.rows.len())), yes)? {
        return printer.line("Nothing was changed.");
    }
    let forgot = engine.forget(&selection, &selected, old, &mut |_| {})?;
    gone.memories = forgot.memories;
    (gone.old_databases, gone.left) = (forgot.removed, forgot.left);
    gone.tell(printer, "Forgot")
}
