//! Imports memories in batches and reports the result.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use schema::files::database::LockTimeout;
use schema::files::layout::Layout;
use schema::model::memory::{Memory, MemoryType};
use schema::settings::{self, LoadedSettings};
use schema::store::{MemoryRow, Store, StoreError};
use serde::Serialize;
use tools::bulk_import::{BATCH, BulkImporter, ImportMode, ImportOutcome, IncomingMemory};
use tools::control::Control;
use tools::error::ToolError;

use crate::cli::opening::{open_engine, print_repair_messages};
use crate::cli::output::Printer;
use crate::cli::pager;
use crate::cli::terminal_text::{self, count_with_unit, fit_columns, one_line};
use crate::exit;

const ROWS_PER_QUERY: usize = 1_000;

/// Characters of a memory in a preview.
const EXAMPLE_LENGTH: usize = 160;

#[derive(Debug, Default, Serialize)]
pub(super) struct ImportSummary {
    pub(super) project: String,
    #[serde(rename = "kept")]
    pub(super) imported: BTreeMap<MemoryType, usize>,
    pub(super) sessions: usize,
    pub(super) already_known: usize,
    pub(super) forgotten_before: usize,
    pub(super) secrets_taken_out: usize,
    pub(super) files: usize,
    pub(super) unchanged: usize,
    /// Files whose last turn has not ended, so that more may follow.
    pub(super) still_open: usize,
    /// Files that end in the middle of a line.
    pub(super) torn: usize,
    pub(super) lines_not_understood: usize,
    pub(super) bytes: u64,
    pub(super) milliseconds: u64,
    pub(super) dry_run: bool,
    pub(super) problems: Vec<String>,
    /// Some of the memories that a dry run would import.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) examples: Vec<ExampleMemory>,
}

/// A memory in the preview of a dry run.
#[derive(Debug, Serialize)]
pub(super) struct ExampleMemory {
    #[serde(rename = "type")]
    kind: MemoryType,
    at: String,
    content: String,
}

impl ExampleMemory {
    fn from_memory(memory: &Memory) -> Self {
        let content: String = memory.content.chars().take(EXAMPLE_LENGTH).collect();
        Self { kind: memory.kind, at: memory.at.rfc3339(), content: one_line(&content) }
    }

    fn text(&self) -> String {
        let line = format!("  {}  {}  {}", &self.at[..10], self.kind, self.content);
        fit_columns(&line, pager::terminal_columns().unwrap_or(EXAMPLE_LENGTH)) + "\n"
    }
}

impl ImportSummary {
    pub(super) fn new(project: &Path, mode: ImportMode) -> Self {
        let project = project.to_string_lossy().into_owned();
        Self { project, dry_run: mode == ImportMode::DryRun, ..Self::default() }
    }

    /// Adds the result of an import that has just ended.
    pub(super) fn with_outcome(self, outcome: ImportOutcome, started: Instant) -> Self {
        Self {
            imported: outcome.imported,
            sessions: outcome.sessions.iter().filter(|session| !session.is_empty()).count(),
            already_known: outcome.duplicates,
            forgotten_before: outcome.forgotten,
            secrets_taken_out: outcome.redactions,
            milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            examples: outcome.examples.values().flatten().map(ExampleMemory::from_memory).collect(),
            ..self
        }
    }

    fn text(&self) -> String {
        let total: usize = self.imported.values().sum();
        let verb = if self.dry_run { "Would import" } else { "Imported" };
        let of_sessions = match self.sessions {
            0 => String::new(),
            sessions => format!(" of {}", count_with_unit(sessions as u64, "session")),
        };
        let mut text =
            format!("{verb} {}{of_sessions} in {}\n", terminal_text::count_of_memories(total as u64), self.project);
        text.extend(self.imported.iter().map(|(kind, count)| format!("  {count:>7}  {kind}\n")));
        for (count, one, several) in [
            (self.already_known, "duplicate", "duplicates"),
            (self.forgotten_before, "deleted before and skipped", "deleted before and skipped"),
            (self.secrets_taken_out, "secret removed", "secrets removed"),
            (self.lines_not_understood, "unknown line", "unknown lines"),
            (self.torn, "file ends in the middle of a line", "files end in the middle of a line"),
        ] {
            if count > 0 {
                text.push_str(&format!("  {count:>7}  {}\n", if count == 1 { one } else { several }));
            }
        }
        if !self.examples.is_empty() {
            text.push_str("For example:\n");
            text.extend(self.examples.iter().map(ExampleMemory::text));
        }
        text.push_str(&format!("Read {}", count_with_unit(self.files as u64, "file")));
        if self.unchanged > 0 {
            text.push_str(&format!(", skipped {} unchanged", self.unchanged));
        }
        if self.still_open > 0 {
            text.push_str(&format!(", {} may still grow", self.still_open));
        }
        let seconds = self.milliseconds as f64 / 1_000.0;
        text + &format!("; {} in {seconds:.1} s\n", terminal_text::format_bytes(self.bytes))
    }
}

pub(super) fn print_summaries(printer: &Printer, summaries: &[ImportSummary]) -> anyhow::Result<()> {
    for problem in summaries.iter().flat_map(|summary| &summary.problems) {
        exit::print_warning(problem);
    }
    match summaries {
        [one] => printer.print_value(one, || one.text()),
        several => {
            printer.print_value(several, || several.iter().map(ImportSummary::text).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// An import into a store, or a dry run.
pub(super) struct ImportSession {
    /// `None` for a dry run without a store.
    open: Option<(Store, BulkImporter)>,
    pending: Vec<IncomingMemory>,
    /// Marks to write after the waiting memories are saved.
    pub(super) import_marks: Vec<(String, String)>,
    /// The result of a dry run without a store.
    reported: ImportOutcome,
    pub(super) loaded: LoadedSettings,
}

impl ImportSession {
    pub(super) fn open(project: &Path, effect: ImportMode) -> anyhow::Result<Self> {
        let layout = Layout::new(project);
        let loaded = settings::load(&layout);
        if !loaded.settings.capture || loaded.settings.disabled {
            let problems = loaded.problems.join("; ");
            let text = format!("capture is off, so nothing is imported: {problems}");
            return Err(ToolError::Invalid(text.trim_end_matches([':', ' ']).to_owned()).into());
        }
        let open = match effect {
            ImportMode::DryRun if !layout.memory_db().exists() => None,
            _ => {
                // Reads changed logs first, so that duplicates are detected.
                let mut engine = open_engine(project)?;
                engine.refresh(&mut Control::default())?;
                print_repair_messages(&mut engine);
                let store = Store::open(project, LockTimeout::Server).map_err(ToolError::from)?;
                if effect == ImportMode::Write {
                    store.require_writable().map_err(ToolError::from)?;
                }
                let bulk = BulkImporter::new(&store, effect).map_err(ToolError::from)?;
                Some((store, bulk))
            }
        };
        Ok(Self { open, pending: Vec::new(), import_marks: Vec::new(), reported: ImportOutcome::default(), loaded })
    }

    /// The mark of an earlier import. If the store has no sessions, logs were deleted by hand, and old marks do not count.
    pub(super) fn mark(&self, key: &str) -> Option<String> {
        let (store, _) = self.open.as_ref()?;
        let rows = store.rows();
        if rows.sessions_beginning_with("").ok()?.is_empty() { None } else { rows.meta(key).ok()? }
    }

    /// The memories that earlier imports of this origin stored.
    pub(super) fn rows_of_origin(&self, origin: &str) -> Result<Vec<MemoryRow>, ToolError> {
        let mut found = Vec::new();
        let Some((store, _)) = &self.open else { return Ok(found) };
        let mut last = 0;
        loop {
            let rows = store.rows().inserted_after(last, ROWS_PER_QUERY)?;
            let Some(row) = rows.last() else { return Ok(found) };
            last = row.seq;
            found.extend(rows.into_iter().filter(|row| row.memory.attributes.origin.as_deref() == Some(origin)));
        }
    }

    pub(super) fn add(&mut self, incoming: IncomingMemory) -> Result<(), ToolError> {
        self.pending.push(incoming);
        if self.pending.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Counts a memory that is known to be stored.
    pub(super) fn count_duplicate(&mut self) {
        match &mut self.open {
            Some((_, bulk)) => bulk.outcome.duplicates += 1,
            None => self.reported.duplicates += 1,
        }
    }

    fn flush(&mut self) -> Result<(), ToolError> {
        let waiting = std::mem::take(&mut self.pending);
        let marks = std::mem::take(&mut self.import_marks);
        match &mut self.open {
            None => {
                for incoming in waiting {
                    self.reported.preview(&incoming.prepared.to_memory(), incoming.prepared.redactions());
                }
            }
            Some((store, bulk)) => {
                import_with_retries(store, bulk, waiting)?;
                if !marks.is_empty() && bulk.is_writing() {
                    store
                        .with_transaction(|rows| marks.iter().try_for_each(|(key, value)| rows.set_meta(key, value)))?;
                }
            }
        }
        Ok(())
    }

    /// Saves the waiting memories, updates the index, and returns the result.
    pub(super) fn finish(mut self, project: &Path) -> anyhow::Result<ImportOutcome> {
        self.flush()?;
        let Some((store, bulk)) = self.open else { return Ok(self.reported) };
        let is_new = bulk.is_writing() && bulk.outcome.total() > 0;
        drop(store);
        if is_new {
            let text = "updating the index; imported memories can be found already";
            let spinner = ProgressBar::new_spinner().with_message(text);
            spinner.enable_steady_tick(Duration::from_millis(100));
            let mut engine = open_engine(project)?;
            engine.refresh(&mut Control::default())?;
            spinner.finish_and_clear();
        }
        Ok(bulk.outcome)
    }
}

/// A progress bar in bytes. Without a terminal, the library hides this bar and the others.
pub(super) fn progress_bar(bytes: u64) -> ProgressBar {
    let template = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {wide_msg}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A count of read entries.
pub(super) fn count_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {human_pos} read  {wide_msg}");
    let bar = ProgressBar::no_length().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Retries while another process holds the lock, because an import is long and others are short.
fn import_with_retries(
    store: &mut Store,
    bulk: &mut BulkImporter,
    waiting: Vec<IncomingMemory>,
) -> Result<(), ToolError> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        match bulk.import(store, waiting.clone()) {
            Err(error @ StoreError::Lock(_)) if error.is_busy() => std::thread::sleep(Duration::from_millis(100)),
            imported => return imported.map_err(ToolError::from),
        }
    }
    bulk.import(store, waiting).map_err(ToolError::from)
}
