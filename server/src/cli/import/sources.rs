//! `import claude-mem` and others: imports memories of other programs.
//!
//! The metadata of each names the entry that it comes from. So an import is idempotent although times of some programs are unknown,
//! a changed entry replaces the memory of its earlier version, and a memory that a person edited stays as it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use schema::files::layout::Layout;
use schema::files::project::home_dir;
use schema::intake::prepare::{PreparedMemory, prepare};
use schema::model::memory::{Memory, MemoryId};
use schema::model::moment::Moment;
use schema::settings;
use serde_json::Value;
use tools::bulk_import::{ImportMode, IncomingMemory};
use tools::error::ToolError;
use tools::import::{FROM, ForeignMemory, ImportScope, Receiver, SOURCES, SourceError};

use super::arguments::SourceArguments;
use super::import_session::{ImportSession, ImportSummary, count_bar, print_summaries};
use crate::cli::output::Printer;

/// A memory that an earlier import stored.
struct KnownEntry {
    id: MemoryId,
    at: Moment,
    content: String,
    /// Whether a person changed it, or replaced it by another one.
    is_decided: bool,
}

/// By their entry in the source.
type KnownEntries = HashMap<String, KnownEntry>;

/// Stores the entries of a source.
pub(super) struct ImportReceiver<'i> {
    source: &'static str,
    project: &'i Path,
    effect: ImportMode,
    /// Opened with the first entry, so that an unusable source creates no store. With the memories of earlier imports.
    session: Option<(ImportSession, KnownEntries)>,
    since: Option<i64>,
    bar: &'i ProgressBar,
    /// With the files of folders, and their size.
    counted: ImportSummary,
    of_others: u64,
}

pub(super) fn import_source(
    name: &str,
    project: &Path,
    printer: &Printer,
    arguments: &SourceArguments,
) -> anyhow::Result<()> {
    let source = SOURCES.into_iter().find(|source| source.name == name);
    let source = source.ok_or_else(|| ToolError::Internal(format!("no source {name}")))?;
    let started = Instant::now();
    let effect = if arguments.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let loaded = settings::load(&Layout::new(project));
    let scope = ImportScope { project, all: arguments.all, loaded: &loaded };
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
    let mut receiver = ImportReceiver::new(source.name, project, effect, &bar);
    receiver.since = arguments.since.map(|at| at.unix());
    for place in &places {
        bar.set_message(place.display().to_string());
        match source.read(place, &scope, &mut receiver) {
            Ok(()) => {}
            Err(SourceError::Receiver(error)) => return Err(error.into()),
            // Only one place was asked for, or found.
            Err(error) if places.len() == 1 => return Err(ToolError::Invalid(error.to_string()).into()),
            Err(error) => receiver.counted.problems.push(format!("{error}; skipped")),
        }
    }
    let summary = receiver.finish(&places, started)?;
    print_summaries(printer, &[summary])
}

impl<'i> ImportReceiver<'i> {
    pub(super) fn new(source: &'static str, project: &'i Path, effect: ImportMode, bar: &'i ProgressBar) -> Self {
        Self {
            source,
            project,
            effect,
            session: None,
            since: None,
            bar,
            counted: ImportSummary::new(project, effect),
            of_others: 0,
        }
    }

    fn session(&mut self) -> Result<&mut (ImportSession, KnownEntries), ToolError> {
        if self.session.is_none() {
            let session = ImportSession::open(self.project, self.effect);
            let session = session.map_err(|error| {
                error.downcast::<ToolError>().unwrap_or_else(|error| ToolError::Unavailable(format!("{error:#}")))
            })?;
            let known = known_entries(&session, self.source)?;
            self.session = Some((session, known));
        }
        self.session.as_mut().ok_or_else(|| ToolError::Internal("the session was just opened".to_owned()))
    }

    /// The entries that no earlier import stored.
    pub(super) fn without_known(&mut self, mut items: Vec<ForeignMemory>) -> Result<Vec<ForeignMemory>, ToolError> {
        if Layout::new(self.project).memory_db().exists() {
            let source = self.source;
            let (_, known) = self.session()?;
            items.retain(|item| !known.contains_key(&item.from(source)));
        }
        Ok(items)
    }

    /// Saves the rest and returns the report.
    pub(super) fn finish(self, places: &[PathBuf], started: Instant) -> anyhow::Result<ImportSummary> {
        let Self { session, project, bar, mut counted, of_others, .. } = self;
        if of_others > 0 {
            counted.problems.push(format!("skipped {of_others} of other projects; --all imports them into this one"));
        }
        bar.finish_and_clear();
        let outcome = session.map(|(session, _)| session.finish(project)).transpose()?.unwrap_or_default();
        if counted.files == 0 {
            let places = places.iter().filter_map(|place| place.metadata().ok()).filter(std::fs::Metadata::is_file);
            (counted.files, counted.bytes) =
                places.fold((0, 0), |(files, bytes), place| (files + 1, bytes + place.len()));
        }
        Ok(counted.with_outcome(outcome, started))
    }

    /// Prepares an entry; `None` if nothing of it is left, or if it is stored already.
    fn prepare_new(&mut self, memory: ForeignMemory) -> Result<Option<PreparedMemory>, ToolError> {
        let source = self.source;
        let (session, known) = self.session()?;
        let is_same = |known: &&KnownEntry| !memory.is_numbered || known.at == memory.at;
        let known = known.get(&memory.from(source)).filter(is_same);
        let mut draft = memory.into_draft(source);
        let Some(prepared) = prepare(draft.clone(), &session.loaded.sanitizer) else { return Ok(None) };
        let Some(known) = known else { return Ok(Some(prepared)) };
        if known.is_decided || known.content == prepared.draft().content {
            session.count_duplicate();
            return Ok(None);
        }
        draft.attributes.supersedes = Some(known.id.clone());
        Ok(prepare(draft, &session.loaded.sanitizer))
    }

    fn store(&mut self, prepared: PreparedMemory) -> Result<(), SourceError> {
        self.bar.inc(1);
        if self.since.is_some_and(|since| prepared.draft().at.unix() < since) {
            return Ok(());
        }
        let (session, _) = self.session()?;
        Ok(session.add(IncomingMemory { prepared, exact: None })?)
    }
}

impl Receiver for ImportReceiver<'_> {
    fn add(&mut self, memory: ForeignMemory) -> Result<(), SourceError> {
        self.prepare_new(memory)?.map_or(Ok(()), |prepared| self.store(prepared))
    }

    fn add_event(&mut self, memory: PreparedMemory) -> Result<(), SourceError> {
        self.store(memory)
    }

    fn count_file(&mut self, bytes: u64) {
        self.counted.files += 1;
        self.counted.bytes += bytes;
    }

    fn skip(&mut self, problem: String) {
        self.counted.problems.push(problem);
    }

    fn skip_other_project(&mut self) {
        self.of_others += 1;
    }
}

/// The memories that earlier imports stored, by their entry in the source.
fn known_entries(session: &ImportSession, source: &str) -> Result<KnownEntries, ToolError> {
    let mut known = KnownEntries::new();
    for row in session.rows_of_origin(source)? {
        let Some(from) = row.memory.attributes.metadata.get(FROM).and_then(Value::as_str) else { continue };
        let is_decided = row.superseded_by.is_some() || !row.memory.has_derived_id();
        let from = from.to_owned();
        let Memory { id, at, content, .. } = row.memory;
        known.insert(from, KnownEntry { id, at, content, is_decided });
    }
    Ok(known)
}
