//! jikime-mem: prompts, responses and tool uses of sessions in SQLite, in one database or in one for each project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use schema::model::memory::content_hash;
use schema::model::moment::Moment;

use super::foreign::{ImportScope, Receiver, Source, SourceError, changed_at};
use super::foreign_database::{ForeignDatabase, ForeignRow};
use super::tool_record::{FinishedTool, StartedTool, ToolFailure};
use super::turns::{TranscriptEnd, TurnBuilder};

pub(super) const SOURCE: Source = Source { name: "jikime-mem", program: "jikime-mem", places, read };

const FILE: &str = "jikime-mem.db";

/// Digits of a project's hash that name its folder.
const ID_DIGITS: usize = 12;

/// The tables of events, in the order of events of the same second.
const TABLES: [(EventTable, &str); 4] = [
    (EventTable::Prompt, "prompts"),
    (EventTable::ToolUse, "observations"),
    (EventTable::Response, "responses"),
    (EventTable::Summary, "context_summaries"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventTable {
    Prompt,
    ToolUse,
    Response,
    Summary,
}

/// Columns of the tables of events.
const COLUMNS: [&str; 9] =
    ["id", "content", "summary", "tool_name", "tool_input", "tool_response", "status", "timestamp", "created_at"];

/// A row of one of the tables.
struct SessionEvent {
    at: Moment,
    table: EventTable,
    id: String,
    /// The text, or the name of the tool.
    text: String,
    input: String,
    response: String,
    is_failure: bool,
}

fn places(home: &Path, scope: &ImportScope<'_>) -> Vec<PathBuf> {
    let data = home.join(".jikime-mem");
    let mut places = vec![data.join(FILE)];
    if scope.all {
        let folders = fs::read_dir(data.join("projects")).into_iter().flatten();
        places.extend(folders.filter_map(|folder| Some(folder.ok()?.path().join(FILE))));
        places[1..].sort();
    } else {
        let project = scope.project.to_string_lossy();
        let id = content_hash(project.trim_end_matches('/'))[..ID_DIGITS].to_owned();
        places.push(data.join("projects").join(id).join(FILE));
    }
    places
}

fn read(path: &Path, scope: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let db = ForeignDatabase::open(path, SOURCE.program, &["prompts"])?;
    let fallback = changed_at(path);
    let mut known: BTreeMap<String, (String, Moment)> = BTreeMap::new();
    db.for_each_row("sessions", &["session_id", "project_path", "started_at"], |row| {
        let started = row.time(&["started_at"], fallback);
        known.insert(row.text("session_id"), (row.text("project_path"), started));
        Ok(())
    })?;
    // A database of one project only has sessions of it.
    let is_of_project = path.parent().and_then(Path::parent).is_some_and(|folder| folder.ends_with("projects"));
    for session_id in session_ids(&db)? {
        let session = known.get(&session_id);
        let directory = session.map(|(directory, _)| directory.as_str()).unwrap_or_default();
        if !is_of_project && !scope.includes_directory(directory) {
            receiver.skip_other_project();
            continue;
        }
        let started = session.map_or(fallback, |(_, started)| *started);
        read_session(&db, &session_id, directory, started, scope, receiver)?;
    }
    Ok(())
}

/// All sessions with events, also those without a row of their own.
fn session_ids(db: &ForeignDatabase) -> Result<BTreeSet<String>, SourceError> {
    let mut ids = BTreeSet::new();
    for (_, table) in TABLES {
        db.for_each_row(table, &["session_id"], |row| {
            ids.insert(row.text("session_id"));
            Ok(())
        })?;
    }
    Ok(ids)
}

fn read_session(
    db: &ForeignDatabase,
    session_id: &str,
    directory: &str,
    started: Moment,
    scope: &ImportScope<'_>,
    receiver: &mut dyn Receiver,
) -> Result<(), SourceError> {
    let mut events = Vec::new();
    for (table, name) in TABLES {
        db.for_each_match(name, &COLUMNS, Some(("session_id", session_id)), |row| {
            events.push(SessionEvent::from_row(table, row, started));
            Ok(())
        })?;
    }
    events.sort_by_key(|event| (event.at, event.table));
    let mut turns = TurnBuilder::new(scope.project, scope.loaded, session_id.to_owned(), TranscriptEnd::Complete);
    for event in events {
        turns.last_at = Some(event.at);
        event.replay(directory, &mut turns);
        while let Some(memory) = turns.pop() {
            receiver.add_event(memory)?;
        }
    }
    turns.finish();
    while let Some(memory) = turns.pop() {
        receiver.add_event(memory)?;
    }
    Ok(())
}

impl SessionEvent {
    fn from_row(table: EventTable, row: &ForeignRow<'_>, started: Moment) -> Self {
        let text = match table {
            EventTable::ToolUse => row.text("tool_name"),
            EventTable::Summary => row.text("summary"),
            EventTable::Prompt | EventTable::Response => row.text("content"),
        };
        Self {
            at: row.time(&["timestamp", "created_at"], started),
            table,
            id: row.text("id"),
            text,
            input: row.text("tool_input"),
            response: row.text("tool_response"),
            is_failure: row.text("status") == "error",
        }
    }

    /// Gives the event to the builder as a hook would have got it.
    fn replay(self, directory: &str, turns: &mut TurnBuilder<'_>) {
        let Self { at, table, id, text, input, response, is_failure } = self;
        let from = |table: &str| Some(format!("{}/{table}/{id}", SOURCE.name));
        match table {
            EventTable::Prompt => {
                // The turn before belongs to its own events.
                turns.end_turn();
                turns.from = from("prompt");
                turns.add_raw_prompt(text, at);
            }
            EventTable::ToolUse => {
                turns.from = from("observation");
                let input = serde_json::from_str(&input).unwrap_or_default();
                turns.start_tools(vec![StartedTool { id: id.clone(), name: text, input }]);
                let result = match is_failure {
                    true => Err(ToolFailure::Failed(failure_text(response))),
                    false => Ok(serde_json::from_str(&response).unwrap_or_default()),
                };
                turns.finish_tool(FinishedTool { id, result }, Some(directory), at);
            }
            EventTable::Response => {
                turns.from = from("response");
                turns.add_answer(None, text, at);
                turns.end_turn();
            }
            EventTable::Summary => {
                turns.from = from("summary");
                turns.add_summary(text, at);
            }
        }
    }
}

/// The message of a failure, which is stored as JSON.
fn failure_text(response: String) -> String {
    let value: serde_json::Value = serde_json::from_str(&response).unwrap_or_default();
    let field = ["error", "stderr", "message"].iter().find_map(|name| value.get(name)?.as_str());
    field.or(value.as_str()).map(str::to_owned).unwrap_or(response)
}
