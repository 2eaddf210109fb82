//! claude-mem: observations, summaries of sessions and prompts in one SQLite database for all projects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::model::memory::MemoryType;

use super::foreign::{ForeignMemory, ImportScope, Receiver, Source, SourceError, changed_at, join_parts, kind_named};
use super::foreign_database::{ForeignDatabase, ForeignRow};

pub(super) const SOURCE: Source = Source { name: "claude-mem", program: "claude-mem", places, read };

/// The subtitle that the program gives to every memory that a model saved.
const EMPTY_SUBTITLE: &str = "Manual memory";

/// The start of the ids of sessions that the program makes up for memories without one.
const MANUAL: &str = "manual-";

/// Observations that the program keeps away from models.
const SENSITIVE: &str = "sensitive";

const TIMES: [&str; 2] = ["created_at_epoch", "created_at"];

/// The parts of a summary, by column.
const SUMMARY: [(&str, &str); 6] = [
    ("request", "Request"),
    ("investigated", "Investigated"),
    ("learned", "Learned"),
    ("completed", "Completed"),
    ("next_steps", "Next steps"),
    ("notes", "Notes"),
];

/// The session and the project of the host, by the ids that claude-mem uses.
#[derive(Default)]
struct SessionsById {
    /// The host's session by the id of its memory.
    by_memory: HashMap<String, String>,
    project: HashMap<String, String>,
}

fn places(home: &Path, _: &ImportScope<'_>) -> Vec<PathBuf> {
    let folder = environment::path("CLAUDE_MEM_DATA_DIR").unwrap_or_else(|| home.join(".claude-mem"));
    vec![folder.join("claude-mem.db")]
}

fn read(path: &Path, scope: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let db = ForeignDatabase::open(path, SOURCE.program, &["observations", "user_prompts"])?;
    let sessions = read_sessions(&db)?;
    let fallback = changed_at(path);
    let columns = ["id", "content_session_id", "prompt_text", TIMES[0], TIMES[1]];
    db.for_each_row("user_prompts", &columns, |row| {
        let session_id = row.text("content_session_id");
        let project = sessions.project.get(&session_id).cloned().unwrap_or_default();
        let content = row.text("prompt_text");
        let memory = memory(row, "prompt", MemoryType::UserPrompt, session_id, content, fallback);
        send(memory, &[&project], scope, receiver)
    })?;
    let columns = [
        "id",
        "memory_session_id",
        "project",
        "merged_into_project",
        "type",
        "title",
        "subtitle",
        "narrative",
        "text",
        "facts",
        "concepts",
        "files_modified",
        TIMES[0],
        TIMES[1],
    ];
    let mut sensitive = 0;
    db.for_each_row("observations", &columns, |row| {
        if row.text("type") == SENSITIVE {
            sensitive += 1;
            return Ok(());
        }
        let kind = kind_named(&row.text("type")).unwrap_or(MemoryType::Learning);
        let memory = memory(row, "observation", kind, sessions.host_session(row), observation_text(row), fallback);
        let memory = ForeignMemory { tags: row.list("concepts"), ..memory };
        send(memory, &[&row.text("project"), &row.text("merged_into_project")], scope, receiver)
    })?;
    let mut columns = vec!["id", "memory_session_id", "project", "merged_into_project", TIMES[0], TIMES[1]];
    columns.extend(SUMMARY.map(|(column, _)| column));
    db.for_each_row("session_summaries", &columns, |row| {
        let parts = SUMMARY.map(|(column, name)| (name, row.text(column)));
        let lines = parts.iter().filter(|(_, text)| !text.trim().is_empty());
        let lines: Vec<String> = lines.map(|(name, text)| format!("{name}: {}", text.trim())).collect();
        let session = sessions.host_session(row);
        let memory = memory(row, "summary", MemoryType::SessionSummary, session, lines.join("\n"), fallback);
        send(memory, &[&row.text("project"), &row.text("merged_into_project")], scope, receiver)
    })?;
    if sensitive > 0 {
        receiver.skip(format!("{}: {sensitive} of type \"sensitive\" skipped", path.display()));
    }
    Ok(())
}

fn read_sessions(db: &ForeignDatabase) -> Result<SessionsById, SourceError> {
    let mut sessions = SessionsById::default();
    db.for_each_row("sdk_sessions", &["content_session_id", "memory_session_id", "project"], |row| {
        let host = row.text("content_session_id");
        sessions.by_memory.insert(row.text("memory_session_id"), host.clone());
        sessions.project.insert(host, row.text("project"));
        Ok(())
    })?;
    Ok(sessions)
}

impl SessionsById {
    fn host_session(&self, row: &ForeignRow<'_>) -> String {
        let id = row.text("memory_session_id");
        if id.starts_with(MANUAL) {
            return String::new();
        }
        self.by_memory.get(&id).cloned().unwrap_or(id)
    }
}

fn memory(
    row: &ForeignRow<'_>,
    table: &str,
    kind: MemoryType,
    session_id: String,
    content: String,
    fallback: schema::model::moment::Moment,
) -> ForeignMemory {
    let id = format!("{table}/{}", row.text("id"));
    let memory = ForeignMemory::new(id, kind, content, row.time(&TIMES, fallback));
    ForeignMemory { session_id, is_numbered: true, ..memory }
}

/// Title, narrative, facts and files as a text.
fn observation_text(row: &ForeignRow<'_>) -> String {
    let subtitle = row.text("subtitle");
    let subtitle = if subtitle == EMPTY_SUBTITLE { "" } else { &subtitle };
    let facts: Vec<String> = row.list("facts").iter().map(|fact| format!("- {fact}")).collect();
    let files = row.list("files_modified").join(", ");
    let files = if files.is_empty() { files } else { format!("Files: {files}") };
    let head = join_parts([row.text("title").as_str(), subtitle], "\n");
    let (narrative, text, facts) = (row.text("narrative"), row.text("text"), facts.join("\n"));
    join_parts([head.as_str(), &narrative, &text, &facts, &files], "\n\n")
}

fn send(
    memory: ForeignMemory,
    projects: &[&str],
    scope: &ImportScope<'_>,
    receiver: &mut dyn Receiver,
) -> Result<(), SourceError> {
    if projects.iter().any(|project| scope.includes_project(project)) {
        return receiver.add(memory);
    }
    receiver.skip_other_project();
    Ok(())
}
