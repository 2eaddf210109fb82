//! `import auto-memory`: imports the host's notes. Each version of a note becomes one memory.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schema::intake::prepare::{Draft, prepare};
use schema::model::memory::{MemoryAttributes, MemoryId};
use serde_json::{Map, Value};
use tools::bulk_import::{ImportMode, IncomingMemory};
use tools::error::ToolError;
use tools::import::{HostNote, read_notes};

use super::arguments::NoteArguments;
use super::import_session::{ImportSession, ImportSummary, print_summaries};
use super::transcript_folders::TranscriptHost;
use crate::cli::output::Printer;

/// The origin of these memories.
const ORIGIN: &str = "auto-memory";

pub(super) fn import_notes(project: &Path, printer: &Printer, arguments: &NoteArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let places = match &arguments.from {
        Some(place) => vec![place.clone()],
        None => note_folders(project)?,
    };
    let effect = if arguments.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    if places.is_empty() {
        let text = format!("Claude Code has no notes about {}; give a folder of notes with --from", project.display());
        return print_summaries(
            printer,
            &[ImportSummary { problems: vec![text], ..ImportSummary::new(project, effect) }],
        );
    }
    let mut intake = ImportSession::open(project, effect)?;
    let before = latest_imports(&intake)?;
    let mut counted = ImportSummary::new(project, effect);
    for place in places {
        let unreadable = |error| ToolError::Invalid(format!("cannot read {}: {error}", place.display()));
        let (found, left_out) = read_notes(&place).map_err(unreadable)?;
        counted.problems.extend(left_out.iter().map(|what| format!("{}: {what}; skipped", place.display())));
        for note in found {
            counted.files += 1;
            counted.bytes += fs::metadata(place.join(&note.file)).map_or(0, |metadata| metadata.len());
            let known = before.get(&note.file).filter(|(_, content)| *content != note.content);
            let draft = note_draft(note, known.map(|(id, _)| id.clone()));
            if let Some(prepared) = prepare(draft, &intake.loaded.sanitizer) {
                intake.add(IncomingMemory { prepared, exact: None })?;
            }
        }
    }
    let outcome = intake.finish(project)?;
    print_summaries(printer, &[counted.with_outcome(outcome, started)])
}

/// The folders of Claude Code with notes about a project.
pub(super) fn note_folders(project: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folders = TranscriptHost::ClaudeCode.places_of(project)?.into_iter();
    Ok(folders.map(|folder| folder.join("memory")).filter(|path| path.is_dir()).collect())
}

/// The newest memory of each note, with its text.
fn latest_imports(intake: &ImportSession) -> Result<HashMap<String, (MemoryId, String)>, ToolError> {
    let mut newest = HashMap::new();
    for row in intake.rows_of_origin(ORIGIN)? {
        let file = row.memory.attributes.metadata.get("file").and_then(Value::as_str);
        if let (Some(file), None) = (file, &row.superseded_by) {
            newest.insert(file.to_owned(), (row.memory.id.clone(), row.memory.content.clone()));
        }
    }
    Ok(newest)
}

fn note_draft(note: HostNote, supersedes: Option<MemoryId>) -> Draft {
    let mut metadata = Map::from_iter([("file".to_owned(), Value::from(note.file))]);
    metadata.extend(note.title.map(|title| ("context".to_owned(), Value::from(title))));
    Draft {
        attributes: MemoryAttributes {
            supersedes,
            origin: Some(ORIGIN.to_owned()),
            metadata,
            ..MemoryAttributes::default()
        },
        ..Draft::new("", note.kind, note.content, note.at)
    }
}
