//! `import claude-mem` and others: imports memories of other programs.
//!
//! The metadata of each names the entry that it comes from. So an import is idempotent although times of some programs are unknown,
//! a changed entry replaces the memory of its earlier version, and a memory that a person edited stays as it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use schema::files::project::home_dir;
use schema::intake::capture::{PreparedMemory, prepare};
use schema::model::memory::MemoryId;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::LoadedSettings;
use serde_json::Value;
use tools::bulk_import::{ImportMode, IncomingMemory};
use tools::error::ToolError;
use tools::import::{FROM, ForeignMemory, ImportScope, Receiver, Source, SourceError};

use super::arguments::SourceArguments;
use super::import_session::{ImportSession, ImportSummary, count_bar, print_summaries};
use crate::cli::output::Printer;
use crate::cli::terminal_text::count_with_unit;

/// Rows per query.
const PIECE: usize = 1_000;

/// A memory that an earlier import stored.
pub(super) struct KnownEntry {
    id: MemoryId,
    content: String,
    /// Whether a person changed it, or replaced it by another one.
    is_kept: bool,
}

/// Stores the entries of a source.
pub(super) struct ImportReceiver<'i> {
    source: &'static str,
    session: ImportSession,
    known: HashMap<String, KnownEntry>,
    sanitizer: Sanitizer,
    since: Option<i64>,
    bar: &'i ProgressBar,
    problems: Vec<String>,
    of_others: u64,
}

pub(super) fn import_source(
    source: Source,
    project: &Path,
    printer: &Printer,
    arguments: &SourceArguments,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let effect = if arguments.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let loaded = schema::settings::load(&schema::files::layout::Layout::new(project));
    let LoadedSettings { sanitizer, settings, .. } = &loaded;
    let scope = ImportScope { project, all: arguments.all, sanitizer, settings };
    let places = match &arguments.from {
        Some(place) if !place.exists() => {
            return Err(ToolError::NotFound(format!("{} does not exist", place.display())).into());
        }
        Some(place) => vec![place.clone()],
        None => source.find(&home_dir().unwrap_or_default(), &scope),
    };
    if places.is_empty() {
        let text = format!("found nothing of {}; name its file or folder with --from", source.program);
        return Err(ToolError::NotFound(text).into());
    }
    let bar = count_bar();
    let mut receiver = ImportReceiver::open(source.name, project, effect, &bar)?;
    receiver.since = arguments.since.map(|at| at.unix());
    for place in &places {
        bar.set_message(place.display().to_string());
        match source.read(place, &scope, &mut receiver) {
            Ok(()) => {}
            Err(SourceError::Receiver(error)) => return Err(error.into()),
            // Only one place was asked for, or found.
            Err(error) if places.len() == 1 => return Err(ToolError::Invalid(error.to_string()).into()),
            Err(error) => receiver.problems.push(format!("{error}; skipped")),
        }
    }
    let summary = receiver.finish(project, effect, &places, started)?;
    print_summaries(printer, &[summary])
}

impl<'i> ImportReceiver<'i> {
    pub(super) fn open(
        source: &'static str,
        project: &Path,
        effect: ImportMode,
        bar: &'i ProgressBar,
    ) -> anyhow::Result<Self> {
        let session = ImportSession::open(project, effect)?;
        let known = known_entries(&session, source)?;
        let sanitizer = session.loaded.sanitizer.clone();
        Ok(Self { source, session, known, sanitizer, since: None, bar, problems: Vec::new(), of_others: 0 })
    }

    /// Saves the rest and returns the report.
    pub(super) fn finish(
        self,
        project: &Path,
        effect: ImportMode,
        places: &[PathBuf],
        started: Instant,
    ) -> anyhow::Result<ImportSummary> {
        let Self { session, bar, mut problems, of_others, .. } = self;
        if of_others > 0 {
            let others = count_with_unit(of_others, "entry or session");
            let others = others.replace("entry or sessions", "entries or sessions");
            problems.push(format!("skipped {others} of other projects; --all imports them into this one"));
        }
        bar.finish_and_clear();
        let outcome = session.finish(project)?;
        let bytes = places.iter().filter_map(|place| place.metadata().ok()).filter(std::fs::Metadata::is_file);
        Ok(ImportSummary {
            files: places.len(),
            bytes: bytes.map(|file| file.len()).sum(),
            milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            problems,
            ..ImportSummary::from_outcome(project, &outcome, effect)
        })
    }

    /// Prepares an entry; `None` if nothing of it is left, or if it is stored already.
    fn prepare_new(&mut self, memory: ForeignMemory) -> Option<PreparedMemory> {
        let from = memory.from(self.source);
        let mut draft = memory.into_draft(self.source);
        let prepared = prepare(draft.clone(), &self.sanitizer)?;
        let Some(known) = self.known.get(&from) else { return Some(prepared) };
        if known.is_kept || known.content == prepared.draft().content {
            self.session.count_duplicate();
            return None;
        }
        draft.attributes.supersedes = Some(known.id.clone());
        prepare(draft, &self.sanitizer)
    }

    fn store(&mut self, prepared: PreparedMemory) -> Result<(), SourceError> {
        self.bar.inc(1);
        if self.since.is_some_and(|since| prepared.draft().at.unix() < since) {
            return Ok(());
        }
        Ok(self.session.add(IncomingMemory { prepared, exact: None })?)
    }
}

impl Receiver for ImportReceiver<'_> {
    fn add(&mut self, memory: ForeignMemory) -> Result<(), SourceError> {
        match self.prepare_new(memory) {
            Some(prepared) => self.store(prepared),
            None => Ok(()),
        }
    }

    fn add_event(&mut self, memory: PreparedMemory) -> Result<(), SourceError> {
        self.store(memory)
    }

    fn skip(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn skip_other_project(&mut self) {
        self.of_others += 1;
    }
}

/// The memories that earlier imports stored, by their entry in the source.
fn known_entries(session: &ImportSession, source: &str) -> Result<HashMap<String, KnownEntry>, ToolError> {
    let mut known = HashMap::new();
    let Some((store, _)) = &session.open else { return Ok(known) };
    let mut last = 0;
    loop {
        let rows = store.rows().inserted_after(last, PIECE)?;
        let Some(row) = rows.last() else { return Ok(known) };
        last = row.seq;
        for row in rows {
            let attributes = &row.memory.attributes;
            let Some(from) = attributes.metadata.get(FROM).and_then(Value::as_str) else { continue };
            if attributes.origin.as_deref() == Some(source) {
                let is_kept = row.superseded_by.is_some() || !row.memory.has_derived_id();
                let from = from.to_owned();
                known.insert(from, KnownEntry { id: row.memory.id, content: row.memory.content, is_kept });
            }
        }
    }
}
