//! `import`: what others left behind becomes memories, as capture would have kept it.

mod auto_memory;
mod claude_code;
mod exports;
mod places;

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use schema::bulk::{Arrival, BATCH, Bulk, Effect, Outcome};
use schema::database::Patience;
use schema::layout::Layout;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::settings::{self, Loaded};
use schema::store::{Store, StoreError};
use serde::Serialize;
use tools::error::ToolError;

use exports::Format;

use super::output::Printer;
use super::run::open;
use super::text::{self, counted};
use super::when;
use crate::exit;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Sessions of Claude Code, from their transcripts
    #[command(after_help = "Example: jikime-memory import claude-code --since 2026-01-01")]
    ClaudeCode(TranscriptArguments),
    /// What Claude Code noted by itself, from its memory/*.md, which are only read
    AutoMemory(NoteArguments),
    /// Memories that `export` wrote, one a line
    #[command(after_help = "Example: jikime-memory export | jikime-memory --personal import jsonl -")]
    Jsonl(ExportArguments),
    /// Memories that `export --format json` wrote
    #[command(after_help = "Example: jikime-memory export --format json | jikime-memory --personal import json -")]
    Json(ExportArguments),
    /// Memories that `export --format md` wrote, a log of a store, or a folder of logs
    #[command(after_help = "Example: jikime-memory import md ../old-project/.jikime/memory")]
    Md(ExportArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TranscriptArguments {
    /// Also those of all other projects, each into its own memory where it has one
    #[arg(long, conflicts_with = "from")]
    all: bool,
    /// Every transcript in this folder, or this one, whatever project it says
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Only what happened from this date or time on
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    since: Option<Moment>,
    /// Also transcripts that did not change since they were imported
    #[arg(long)]
    again: bool,
    /// Only tell what would come in
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NoteArguments {
    /// The folder of notes, where it is not the usual one
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Only tell what would come in
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// What export wrote; `-` is standard input
    file: PathBuf,
    /// Only tell what would come in
    #[arg(long)]
    dry_run: bool,
}

/// Imports into the memory of a project.
pub(crate) fn import(project: Option<&Path>, printer: &Printer, command: ImportCommand) -> anyhow::Result<()> {
    let named = || project.ok_or_else(|| ToolError::Invalid("name a project with --project".to_owned()));
    match command {
        ImportCommand::ClaudeCode(arguments) => claude_code::import(project, printer, arguments),
        ImportCommand::AutoMemory(arguments) => auto_memory::import(named()?, printer, &arguments),
        ImportCommand::Jsonl(arguments) => exports::import(named()?, printer, Format::Jsonl, &arguments),
        ImportCommand::Json(arguments) => exports::import(named()?, printer, Format::Json, &arguments),
        ImportCommand::Md(arguments) => exports::import(named()?, printer, Format::Md, &arguments),
    }
}

impl ImportCommand {
    /// Whether no project is needed.
    pub(crate) fn is_of_all(&self) -> bool {
        matches!(self, Self::ClaudeCode(TranscriptArguments { all: true, .. }))
    }
}

/// Whether the host kept sessions of a project, which may come in.
pub(crate) fn has_transcripts(project: &Path) -> bool {
    let folders = places::folders().unwrap_or_default().into_iter();
    let mut folders = folders.filter(|(folder, root)| places::is_of(folder, root.as_deref(), project));
    folders.any(|(folder, _)| places::transcripts(&folder).is_ok_and(|(found, _)| !found.is_empty()))
}

/// What came in.
#[derive(Debug, Default, Serialize)]
struct Summary {
    project: String,
    kept: BTreeMap<MemoryType, usize>,
    sessions: usize,
    already_known: usize,
    forgotten_before: usize,
    secrets_taken_out: usize,
    files: usize,
    unchanged: usize,
    /// Files whose last turn had not ended, so that the rest of them is still to come.
    still_open: usize,
    /// Files that end in the middle of a line.
    torn: usize,
    lines_not_understood: usize,
    bytes: u64,
    milliseconds: u64,
    dry_run: bool,
    problems: Vec<String>,
}

impl Summary {
    fn of(project: &Path, outcome: &Outcome, effect: Effect) -> Self {
        Self {
            project: project.to_string_lossy().into_owned(),
            kept: outcome.kept.clone(),
            sessions: outcome.sessions.iter().filter(|session| !session.is_empty()).count(),
            already_known: outcome.known,
            forgotten_before: outcome.forgotten,
            secrets_taken_out: outcome.redactions,
            dry_run: effect == Effect::Tell,
            ..Self::default()
        }
    }

    fn text(&self) -> String {
        let total: usize = self.kept.values().sum();
        let verb = if self.dry_run { "Would keep" } else { "Kept" };
        let of_sessions = match self.sessions {
            0 => String::new(),
            sessions => format!(" of {}", counted(sessions as u64, "session")),
        };
        let mut text = format!("{verb} {}{of_sessions} in {}\n", text::memories(total as u64), self.project);
        for (kind, count) in &self.kept {
            text.push_str(&format!("  {count:>7}  {kind}\n"));
        }
        for (count, one, several) in [
            (self.already_known, "was remembered already", "were remembered already"),
            (self.forgotten_before, "was forgotten on purpose and stays so", "were forgotten on purpose and stay so"),
            (self.secrets_taken_out, "secret was taken out", "secrets were taken out"),
            (self.lines_not_understood, "line was not understood", "lines were not understood"),
            (self.torn, "file ends in the middle of a line", "files end in the middle of a line"),
        ] {
            if count > 0 {
                text.push_str(&format!("  {count:>7}  {}\n", if count == 1 { one } else { several }));
            }
        }
        text.push_str(&format!("Read {}", counted(self.files as u64, "file")));
        if self.unchanged > 0 {
            text.push_str(&format!(", left out {} that did not change", self.unchanged));
        }
        if self.still_open > 0 {
            let go = if self.still_open == 1 { "goes" } else { "go" };
            text.push_str(&format!(", {} of which {go} on", self.still_open));
        }
        let seconds = self.milliseconds as f64 / 1_000.0;
        text + &format!("; {} in {seconds:.1} s\n", text::bytes(self.bytes))
    }
}

fn tell(printer: &Printer, summaries: &[Summary]) -> anyhow::Result<()> {
    for problem in summaries.iter().flat_map(|summary| &summary.problems) {
        exit::warn(problem);
    }
    match summaries {
        [one] => printer.print(one, || one.text()),
        several => printer.print(several, || several.iter().map(Summary::text).collect::<Vec<_>>().join("\n")),
    }
}

/// A store that takes memories in, or one that only could.
struct Intake {
    /// `None` where nothing is to be written and no store is there to look into.
    open: Option<(Store, Bulk)>,
    waiting: Vec<Arrival>,
    /// What is noted once the memories that wait are kept.
    marks: Vec<(String, String)>,
    /// What would come in where there is no store.
    told: Outcome,
    loaded: Loaded,
}

impl Intake {
    fn open(project: &Path, effect: Effect) -> anyhow::Result<Self> {
        let layout = Layout::new(project);
        let loaded = settings::load(&layout);
        if !loaded.settings.capture || loaded.settings.disabled {
            let problems = loaded.problems.join("; ");
            let text = format!("capture is off, and import keeps what capture would: {problems}");
            return Err(ToolError::Invalid(text.trim_end_matches([':', ' ']).to_owned()).into());
        }
        let open = match effect {
            Effect::Tell if !layout.memory_db().exists() => None,
            _ => {
                // Logs that changed are read first, so that what they hold is known.
                let mut engine = open(project)?;
                engine.refresh()?;
                engine.take_news().iter().for_each(|note| exit::warn(note));
                let store = Store::open(project, Patience::Server).map_err(ToolError::from)?;
                if effect == Effect::Keep {
                    store.require_writable().map_err(ToolError::from)?;
                }
                let bulk = Bulk::new(&store, effect).map_err(ToolError::from)?;
                Some((store, bulk))
            }
        };
        Ok(Self { open, waiting: Vec::new(), marks: Vec::new(), told: Outcome::default(), loaded })
    }

    /// What was noted. Where no session is remembered any more, logs were deleted by hand, and nothing is known to have come in.
    fn mark(&self, key: &str) -> Option<String> {
        let (store, _) = self.open.as_ref()?;
        let rows = store.rows();
        if rows.sessions_beginning_with("").ok()?.is_empty() { None } else { rows.meta(key).ok()? }
    }

    fn take(&mut self, arrival: Arrival) -> Result<(), ToolError> {
        self.waiting.push(arrival);
        if self.waiting.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), ToolError> {
        let waiting = std::mem::take(&mut self.waiting);
        let marks = std::mem::take(&mut self.marks);
        match &mut self.open {
            None => {
                for arrival in waiting {
                    let draft = arrival.prepared.draft();
                    *self.told.kept.entry(draft.kind).or_default() += 1;
                    self.told.sessions.insert(draft.session_id.clone());
                    self.told.redactions += arrival.prepared.redactions();
                }
            }
            Some((store, bulk)) => {
                keep_patiently(store, bulk, waiting)?;
                if !marks.is_empty() && bulk.is_keeping() {
                    store.transact(|rows| marks.iter().try_for_each(|(key, value)| rows.set_meta(key, value)))?;
                }
            }
        }
        Ok(())
    }

    /// Keeps what waits, brings the index in step, and answers what came in.
    fn finish(mut self, project: &Path) -> anyhow::Result<Outcome> {
        self.flush()?;
        let Some((store, bulk)) = self.open else { return Ok(self.told) };
        let is_new = bulk.is_keeping() && bulk.outcome.total() > 0;
        drop(store);
        if is_new {
            let spinner = spinner("bringing the index in step; what came in is found in any case");
            let mut engine = open(project)?;
            engine.refresh()?;
            spinner.finish_and_clear();
        }
        Ok(bulk.outcome)
    }
}

/// A store that others are busy with is tried again for a while: an import is long, and they are not.
fn keep_patiently(store: &mut Store, bulk: &mut Bulk, waiting: Vec<Arrival>) -> Result<(), ToolError> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        match bulk.keep(store, waiting.clone()) {
            Err(error @ StoreError::Lock(_)) if error.is_busy() => std::thread::sleep(Duration::from_millis(100)),
            kept => return kept.map_err(ToolError::from),
        }
    }
    bulk.keep(store, waiting).map_err(ToolError::from)
}

/// A bar of bytes on a terminal, nothing elsewhere.
fn bar(bytes: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left  {wide_msg}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn spinner(text: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner().with_message(text);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
