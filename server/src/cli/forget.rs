//! `forget`, also called `delete` and `reset`: deletes memories for good, after a preview.

use clap::Args;
use schema::files::layout::STORE_DIR;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::model::sharing::{TEAM_DIR, team_author};
use tools::engine::{Engine, ForgetExtent, OldDatabases, SelectedMemories, Selection};
use tools::error::ToolError;
use tools::time_expression;

use super::confirm::confirm;
use super::filter_arguments::MemoryTypeParser;
use super::output::Printer;
use super::preview::{DeletionReport, memory_count_text, print_preview};

/// Minimum characters of an id prefix. With a shorter one, a typing error could select another memory.
pub(super) const MIN_ID_LENGTH: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    /// Memories with these ids, or memories that contain these words in this order. An id needs at least four characters
    #[arg(value_name = "ID|WORDS")]
    words: Vec<String>,
    /// Memories with these ids
    #[arg(long = "id", value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// Memories that contain this text, ignoring case
    #[arg(long, value_name = "WORDS", conflicts_with = "words")]
    query: Option<String>,
    /// Memories of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Memories since this time: a date, a time, or an age such as 7d
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_since)]
    since: Option<Moment>,
    /// Memories until this time
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_until)]
    until: Option<Moment>,
    /// Memories before this time
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_since)]
    before: Option<Moment>,
    /// Memories of these types, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = MemoryTypeParser, value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Memories in this log, or memories that name this file, folder or glob of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// All memories and queued events; text that people wrote stays
    #[arg(long)]
    all: bool,
    /// With --all: delete MEMORY.md, notes and the list of deleted memories too
    #[arg(long, requires = "all")]
    purge: bool,
    #[command(flatten)]
    pub(super) consent: ConsentArguments,
    /// Keep old databases from repairs and upgrades, which may contain copies
    #[arg(long)]
    keep_old_databases: bool,
}

#[derive(Debug, Args)]
pub(super) struct ConsentArguments {
    /// Only show the memories that would be deleted
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Skip the confirmation prompt
    #[arg(long, short = 'y')]
    yes: bool,
}

pub(super) fn too_short_id(id: &str) -> ToolError {
    ToolError::Invalid(format!("id {id:?} is too short: give at least {MIN_ID_LENGTH} characters"))
}

/// Deletes the selected memories.
pub(crate) fn run_forget(engine: &mut Engine, printer: &Printer, arguments: ForgetArguments) -> anyhow::Result<()> {
    let ForgetArguments { words, ids, query, session, since, until, before, kinds, path, .. } = arguments;
    let until = until.map(|at| at.unix()).into_iter().chain(before.map(|at| at.unix() - 1)).min();
    let mut selection = Selection { ids, query, session, since: since.map(|at| at.unix()), until, kinds, path };
    add_words(engine, &words, &mut selection)?;
    if let Some(id) = selection.ids.iter().find(|id| id.trim().len() < MIN_ID_LENGTH) {
        return Err(too_short_id(id).into());
    }
    let is_unlimited = selection == Selection::default();
    if is_unlimited && !arguments.all {
        let text = "select memories with an ID, words, --query, --session, --since, --until, --before, --type or --path, or delete \
                    everything with --all";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let extent = if arguments.purge { ForgetExtent::Everything } else { ForgetExtent::Memories };
    if extent == ForgetExtent::Everything && !is_unlimited {
        return Err(ToolError::Invalid("--purge needs --all and no other selection".to_owned()).into());
    }
    engine.finish_forgetting()?;
    let selected = engine.select(&selection)?;
    let old = if arguments.keep_old_databases { OldDatabases::Keep } else { OldDatabases::Remove };
    let needs_all = selected.is_everything() && !arguments.all;
    ForgetPlan { selected, extent, old, needs_all }.carry_out(engine, printer, &arguments.consent)
}

/// Adds what the words of the command line select. They are ids if all of them are. Words that may be both are an error, and so is a
/// mistyped id.
fn add_words(engine: &mut Engine, words: &[String], selection: &mut Selection) -> Result<(), ToolError> {
    if words.is_empty() {
        return Ok(());
    }
    let text = words.join(" ").trim().to_owned();
    let ids: Vec<String> = text.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if ids.is_empty() {
        return Err(ToolError::Invalid("the words are empty; give an id or the words of a text".to_owned()));
    }
    let mut are_known = true;
    for id in &ids {
        are_known &= !engine.newest_ids(id, 1)?.is_empty();
    }
    let look_like_ids = ids.iter().all(|id| looks_like_id(id));
    let of_text = Selection { query: Some(text.clone()), ..Selection::default() };
    let are_ids = if are_known && look_like_ids {
        true
    } else if engine.select(&of_text)?.rows.is_empty() {
        are_known || ids.len() == 1 && look_like_ids
    } else if are_known {
        let ids = ids.join(",");
        let text = format!("{text:?} matches an id and also some texts; use --id {ids} or --query {text:?}");
        return Err(ToolError::Invalid(text));
    } else {
        false
    };
    if are_ids {
        selection.ids.extend(ids);
    } else {
        selection.query = Some(text);
    }
    Ok(())
}

/// Whether a word is long enough for an id, has only its digits, and at least one decimal digit.
fn looks_like_id(word: &str) -> bool {
    word.len() >= MIN_ID_LENGTH
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'.'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// A planned deletion.
pub(super) struct ForgetPlan {
    pub(super) selected: SelectedMemories,
    pub(super) extent: ForgetExtent,
    pub(super) old: OldDatabases,
    /// The selection is everything, but `--all` is missing.
    pub(super) needs_all: bool,
}

impl ForgetPlan {
    /// Shows the selection, asks, and deletes it.
    pub(super) fn carry_out(
        self,
        engine: &mut Engine,
        printer: &Printer,
        consent: &ConsentArguments,
    ) -> anyhow::Result<()> {
        let Self { selected, extent, old, needs_all } = self;
        let ConsentArguments { dry_run, yes } = *consent;
        let conclusions = selected.conclusions.iter().map(ToString::to_string).collect();
        let mut gone = DeletionReport { conclusions, dry_run, needs_all, ..DeletionReport::from_rows(&selected.rows) };
        if selected.rows.is_empty() && !selected.is_unlimited() {
            return printer.print_sentence(&gone, "No memories match.");
        }
        let count = memory_count_text(selected.rows.len());
        if needs_all && !dry_run {
            let text = format!("this would delete all memories, {count}; add --all to confirm");
            return Err(ToolError::Invalid(text).into());
        }
        let names = engine.old_databases();
        if !printer.is_json() {
            print_preview(printer, &selected.rows)?;
            let leftovers = describe_leftovers(&selected, extent, old, &names);
            gone.conclusions_text().into_iter().chain(leftovers).try_for_each(|text| printer.print_wrapped(&text))?;
        }
        if dry_run {
            *(if old == OldDatabases::Remove { &mut gone.old_databases } else { &mut gone.left }) = names;
            let all = if needs_all { "; deleting all memories also needs --all" } else { "" };
            let done = format!("Nothing was changed{all}. Without --dry-run: Delete {count}.");
            return printer.print_sentence(&gone, &done);
        }
        if !confirm(&format!("Delete {count} for good?"), yes)? {
            return printer.print_line("Nothing was changed.");
        }
        let forgot = engine.forget(&selected, extent, old)?;
        gone.memories = forgot.memories;
        (gone.old_databases, gone.left) = (forgot.removed, forgot.leftovers);
        gone.print(printer)
    }
}

/// Sentences about other data that is deleted or kept.
fn describe_leftovers(
    selected: &SelectedMemories,
    extent: ForgetExtent,
    old: OldDatabases,
    names: &[String],
) -> Vec<String> {
    let mut texts = Vec::new();
    let shared = selected.rows.iter().filter(|row| team_author(&row.path).is_some()).count();
    if shared > 0 {
        texts.push(format!(
            "{shared} of them are shared: all members lose them. Commit {STORE_DIR}/{TEAM_DIR} afterwards."
        ));
    }
    if selected.is_unlimited() {
        texts.push("Queued events are deleted too.".to_owned());
    }
    if extent == ForgetExtent::Everything {
        texts.push(
            "MEMORY.md, notes and the list of deleted memories are deleted too; the files of the team stay.".to_owned(),
        );
    }
    if !names.is_empty() {
        let what = if old == OldDatabases::Remove { "are deleted too" } else { "are kept" };
        texts.push(format!("Old databases, which may contain copies, {what}: {}", names.join(", ")));
    }
    texts
}
