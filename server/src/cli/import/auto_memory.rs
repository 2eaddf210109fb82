//! `import auto-memory`: what the host noted by itself, each note once for every text that it had.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use schema::bulk::{Arrival, Effect};
use schema::capture::{Destination, Draft, prepare};
use schema::import::{Note, notes};
use schema::memory::{Attributes, MemoryId};
use serde_json::{Map, Value};
use tools::error::ToolError;

use super::places::{folders, is_of};
use super::{Intake, NoteArguments, Summary, tell};
use crate::cli::output::Printer;

/// What tells that a memory came from a note of the host.
const ORIGIN: &str = "auto-memory";

/// Rows read at once.
const PIECE: usize = 1_000;

pub(super) fn import(project: &Path, printer: &Printer, arguments: &NoteArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let places = match &arguments.from {
        Some(place) => vec![place.clone()],
        None => of_project(project)?,
    };
    let effect = if arguments.dry_run { Effect::Tell } else { Effect::Keep };
    if places.is_empty() {
        let text = format!("Claude Code has no notes about {}; --from names a folder of them", project.display());
        let project = project.to_string_lossy().into_owned();
        return tell(
            printer,
            &[Summary { project, problems: vec![text], dry_run: arguments.dry_run, ..Summary::default() }],
        );
    }
    let mut intake = Intake::open(project, effect)?;
    let before = imported_before(&intake)?;
    let (mut files, mut bytes, mut problems) = (0, 0, Vec::new());
    for place in places {
        let found = notes(&place);
        let (found, left_out) =
            found.map_err(|error| ToolError::Invalid(format!("cannot read {}: {error}", place.display())))?;
        problems.extend(left_out.iter().map(|what| format!("{}: {what}; it was left out", place.display())));
        for note in found {
            files += 1;
            bytes += fs::metadata(place.join(&note.file)).map_or(0, |metadata| metadata.len());
            let known = before.get(&note.file).filter(|(_, content)| *content != note.content);
            let draft = draft(note, known.map(|(id, _)| id.clone()));
            if let Some(prepared) = prepare(draft, &intake.loaded.screen) {
                intake.take(Arrival { prepared, exact: None })?;
            }
        }
    }
    let outcome = intake.finish(project)?;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    tell(printer, &[Summary { files, bytes, milliseconds, problems, ..Summary::of(project, &outcome, effect) }])
}

fn of_project(project: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folders = folders()?.into_iter().filter(|(folder, root)| is_of(folder, root.as_deref(), project));
    let places: Vec<PathBuf> = folders.map(|(folder, _)| folder.join("memory")).filter(|path| path.is_dir()).collect();
    Ok(places)
}

/// The newest memory of each note, with its text.
fn imported_before(intake: &Intake) -> Result<HashMap<String, (MemoryId, String)>, ToolError> {
    let mut newest = HashMap::new();
    let Some((store, _)) = &intake.open else { return Ok(newest) };
    let mut last = 0;
    loop {
        let rows = store.rows().after(last, PIECE)?;
        let Some(row) = rows.last() else { return Ok(newest) };
        last = row.seq;
        for row in rows {
            let attributes = &row.memory.attributes;
            let file = attributes.metadata.get("file").and_then(Value::as_str);
            if let (Some(ORIGIN), Some(file), None) = (attributes.origin.as_deref(), file, &row.superseded_by) {
                newest.insert(file.to_owned(), (row.memory.id.clone(), row.memory.content.clone()));
            }
        }
    }
}

fn draft(note: Note, supersedes: Option<MemoryId>) -> Draft {
    let mut metadata = Map::from_iter([("file".to_owned(), Value::from(note.file))]);
    metadata.extend(note.title.map(|title| ("context".to_owned(), Value::from(title))));
    Draft {
        session_id: String::new(),
        kind: note.kind,
        content: note.content,
        at: note.at,
        attributes: Attributes { supersedes, origin: Some(ORIGIN.to_owned()), metadata, ..Attributes::default() },
        destination: Destination::DailyLog,
    }
}
