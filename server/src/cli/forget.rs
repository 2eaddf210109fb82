//! `forget`, also called `delete` and `reset`: memories that go for good, after a preview.

use clap::Args;
use schema::memory::MemoryType;
use schema::moment::Moment;
use tools::engine::{Engine, Extent, OldDatabases, Selected, Selection};
use tools::error::ToolError;

use super::consent::agreed;
use super::narrow::memory_type;
use super::output::Printer;
use super::preview::{Gone, counted, preview};
use super::when;

/// Characters of an id below which nothing is forgotten by it: a typing error would name another memory.
const ENOUGH: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    /// Memories by their ids, or by at least four characters of the beginning
    #[arg(value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// The same as an option
    #[arg(long = "id", hide = true, value_name = "ID", value_delimiter = ',')]
    more_ids: Vec<String>,
    /// Memories whose text holds these words, whatever their case
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// Memories of a session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Memories from this time on: a date, a time, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    since: Option<Moment>,
    /// Memories up to this time
    #[arg(long, value_name = "WHEN", value_parser = when::until)]
    until: Option<Moment>,
    /// Memories from before this time
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    before: Option<Moment>,
    /// Memories of a type; several are separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Memories of a log of the store, or those that name a file, folder or glob of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// All memories, and events of hooks that are not in a log yet. Text that people wrote stays
    #[arg(long)]
    all: bool,
    /// With --all: also MEMORY.md, notes, and the list of what was forgotten
    #[arg(long, requires = "all")]
    purge: bool,
    #[command(flatten)]
    pub(super) consent: Consent,
    /// Leave databases that were set aside or kept at an upgrade, which may hold copies
    #[arg(long)]
    keep_old_databases: bool,
}

/// Whether it is done at all, and whether somebody is asked.
#[derive(Debug, Args)]
pub(super) struct Consent {
    /// Only show what would be forgotten
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Skip the confirmation prompt
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Forgets what the arguments select.
pub(crate) fn forget(engine: &mut Engine, printer: &Printer, arguments: ForgetArguments) -> anyhow::Result<()> {
    let ForgetArguments { mut ids, more_ids, query, session, since, until, before, kinds, path, .. } = arguments;
    ids.extend(more_ids);
    if let Some(id) = ids.iter().find(|id| id.trim().len() < ENOUGH) {
        return Err(ToolError::Invalid(format!("id {id:?} is too short: give at least {ENOUGH} characters")).into());
    }
    let until = until.map(|at| at.unix()).into_iter().chain(before.map(|at| at.unix() - 1)).min();
    let selection = Selection { ids, query, session, since: since.map(|at| at.unix()), until, kinds, path };
    let is_unlimited = selection == Selection::default();
    if is_unlimited && !arguments.all {
        let text = "say what to forget: an ID, --query, --session, --since, --until, --before, --type or --path; --all \
                    forgets everything";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let extent = if arguments.purge { Extent::Everything } else { Extent::Memories };
    if extent == Extent::Everything && !is_unlimited {
        return Err(ToolError::Invalid("--purge goes with --all alone".to_owned()).into());
    }
    engine.finish_forgetting()?;
    let selected = engine.select(&selection)?;
    let old = if arguments.keep_old_databases { OldDatabases::Keep } else { OldDatabases::Remove };
    let needs_all = selected.is_everything() && !arguments.all;
    Plan { words: ["Forget", "Forgot"], selected, extent, old, needs_all }.carry_out(
        engine,
        printer,
        &arguments.consent,
    )
}

/// What is to be forgotten, and how.
pub(super) struct Plan {
    /// The verb, and its past.
    pub(super) words: [&'static str; 2],
    pub(super) selected: Selected,
    pub(super) extent: Extent,
    pub(super) old: OldDatabases,
    /// It is everything, and nobody said so.
    pub(super) needs_all: bool,
}

impl Plan {
    /// Shows what is meant, asks, and forgets it.
    pub(super) fn carry_out(self, engine: &mut Engine, printer: &Printer, consent: &Consent) -> anyhow::Result<()> {
        let Self { words: [verb, past], selected, extent, old, needs_all } = self;
        let Consent { dry_run, yes } = *consent;
        let mut gone = Gone { dry_run, needs_all, ..Gone::of(&selected.rows) };
        if selected.rows.is_empty() && !selected.is_unlimited() {
            return printer.said(&gone, "Nothing that is remembered is meant.");
        }
        let count = counted(selected.rows.len());
        if needs_all && !dry_run {
            return Err(ToolError::Invalid(format!("that is all of memory, {count}: add --all to forget it")).into());
        }
        let names = engine.old_databases();
        if !printer.is_json() {
            preview(printer, &selected.rows)?;
            for text in beside(&selected, extent, old, &names) {
                printer.told(&text)?;
            }
        }
        if dry_run {
            *(if old == OldDatabases::Remove { &mut gone.old_databases } else { &mut gone.left }) = names;
            let all = if needs_all { "; it is all of memory, so it needs --all as well" } else { "" };
            let done = format!("Nothing was changed{all}. Without --dry-run: {verb} {count}.");
            return printer.said(&gone, &done);
        }
        if !agreed(&format!("{verb} {count} for good?"), yes)? {
            return printer.line("Nothing was changed.");
        }
        let forgot = engine.forget(&selected, extent, old, &mut |_| {})?;
        gone.memories = forgot.memories;
        (gone.old_databases, gone.left) = (forgot.removed, forgot.left);
        gone.tell(printer, past)
    }
}

/// What goes or stays beside memories, in sentences.
fn beside(selected: &Selected, extent: Extent, old: OldDatabases, names: &[String]) -> Vec<String> {
    let mut texts = Vec::new();
    if selected.is_unlimited() {
        texts.push("Events that wait to be saved go as well.".to_owned());
    }
    if extent == Extent::Everything {
        texts.push("MEMORY.md, notes, and the list of what was forgotten go as well.".to_owned());
    }
    if !names.is_empty() {
        let what = if old == OldDatabases::Remove { "go as well" } else { "stay" };
        texts.push(format!("Old databases, which may hold copies, {what}: {}", names.join(", ")));
    }
    texts
}
