//! Summarises a session from its memories, without a language model.
//!
//! The brief shows the result, and the end of a session stores it as a `session_summary`.

mod turn_record;

use std::path::Path;

use serde_json::{Map, Value};

use crate::files::project::{Head, head_of};
use crate::intake::prepare::Draft;
use crate::model::memory::{MemoryAttributes, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::model::tool_usage;
use crate::privacy::output_text::clean_line;
use crate::privacy::sanitizer::Sanitizer;
use crate::prose::gist::{gist, shortened};
use crate::prose::tasks;
use crate::prose::terms::terms;
use crate::store::{ACKNOWLEDGEMENTS, MemoryFilter, MemoryRow, Rows};
use turn_record::LONGEST_OUTCOME;
pub use turn_record::TurnRecord;

/// The labels of the lines of a summary, without the colon, and that of the changed files.
pub const SUMMARY_LABELS: [&str; 8] =
    ["Outcome", "Unfinished", "Answered", "Open", CHANGED_LABEL, "Ran", "Failed", "About"];
pub const CHANGED_LABEL: &str = "Changed";

/// How many memories of a session are read, the last ones.
const READ_MEMORIES: usize = 240;

/// The longest title and command, in characters.
const LONGEST_TITLE: usize = 120;
const LONGEST_COMMAND: usize = 80;

/// The most files that are named for the resolution of a failure.
const MOST_FIXED_FILES: usize = 3;

/// From this many distinctive terms, a prompt counts as a request even without an answer.
const LEAST_ASKED_TERMS: usize = 5;

/// How many sessions are checked for a missing summary.
const CHECKED_SESSIONS: usize = 3;

/// One session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    pub id: String,
    pub started: Moment,
    /// The first prompt that asked for something.
    pub title: Option<String>,
    /// The answer of the last turn that changed files, or else the last answer, and when it was given.
    pub outcome: Option<(String, (i64, i64))>,
    /// The beginnings of prompts and answers, first turn first.
    pub turns: Vec<TurnRecord>,
    /// The reports of subagents, and when they were given.
    pub reports: Vec<(String, (i64, i64))>,
    /// Tasks that are still open.
    pub open_steps: Vec<String>,
    pub files: Vec<String>,
    pub commands: Vec<String>,
    /// Failures, and what resolved them.
    pub failures: Vec<FailureRecord>,
    pub has_conclusions: bool,
    pub metadata: SessionMetadata,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRecord {
    pub text: String,
    /// The files whose change resolved it, perhaps none that are known, or `None` while it is open.
    pub resolved_by: Option<String>,
}

/// Where and with which model a session ran, and how it ended, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionMetadata {
    pub model: Option<String>,
    pub branch: Option<String>,
    pub commit: Option<String>,
    /// The branch at the start of the session, if it was another one.
    pub start_branch: Option<String>,
    pub start_commit: Option<String>,
    pub end_reason: Option<String>,
    /// The number of prompts that only agreed and are no memories.
    pub acknowledgements: u64,
}

impl SessionMetadata {
    /// Returns it without secrets: the host or a transcript names the model, and a person names the branch.
    #[must_use]
    pub fn cleaned(mut self, sanitizer: &Sanitizer) -> Self {
        for (_, text) in self.texts() {
            *text = text.take().map(|text| sanitizer.clean(&text).text.into_owned());
        }
        self
    }

    /// Returns the branch and commit in the directory of a session.
    pub fn checked_out(directory: &Path) -> Self {
        let Head { branch, commit } = head_of(directory);
        Self { branch, commit, ..Self::default() }
    }

    /// Returns the metadata at the end of a session that began at `start`.
    #[must_use]
    pub fn begun_at(self, start: Self) -> Self {
        let start_branch = start.branch.filter(|branch| self.branch.as_ref() != Some(branch));
        let start_commit = start.commit.filter(|commit| self.commit.as_ref() != Some(commit));
        Self { model: self.model.or(start.model), start_branch, start_commit, ..self }
    }

    pub(crate) fn of(metadata: &Map<String, Value>) -> Self {
        let acknowledgements = metadata.get(ACKNOWLEDGEMENTS).and_then(Value::as_u64).unwrap_or_default();
        let mut known = Self { acknowledgements, ..Self::default() };
        for (name, text) in known.texts() {
            *text = metadata.get(name).and_then(Value::as_str).map(clean_line);
        }
        known
    }

    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut copy = self.clone();
        let fields = copy.texts().into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.take()?.into())));
        let agreed = (self.acknowledgements > 0).then(|| (ACKNOWLEDGEMENTS.to_owned(), self.acknowledgements.into()));
        fields.chain(agreed).collect()
    }

    /// Returns the texts with their names in metadata.
    fn texts(&mut self) -> [(&'static str, &mut Option<String>); 6] {
        [
            ("model", &mut self.model),
            ("branch", &mut self.branch),
            ("commit", &mut self.commit),
            ("start_branch", &mut self.start_branch),
            ("start_commit", &mut self.start_commit),
            ("end_reason", &mut self.end_reason),
        ]
    }
}

/// Returns the summary of a session that ends at this moment, or `None` if there is nothing to summarise or nothing new since the last
/// summary, neither in the session nor in its metadata.
pub fn closing_summary(
    rows: Rows<'_>,
    session_id: &str,
    metadata: &SessionMetadata,
    at: Moment,
) -> rusqlite::Result<Option<Draft>> {
    let Some(record) = SessionRecord::compose(rows, session_id)? else { return Ok(None) };
    let earlier = composed_summaries(rows, session_id)?.into_iter().next();
    let Some(content) = record.summary() else { return Ok(None) };
    let metadata = metadata.fields();
    let is_same = |earlier: &MemoryRow| {
        let known = SessionMetadata::of(&earlier.memory.attributes.metadata);
        earlier.memory.content == content && known == SessionMetadata::of(&metadata)
    };
    if earlier.as_ref().is_some_and(is_same) {
        return Ok(None);
    }
    let supersedes = earlier.map(|row| row.memory.id);
    Ok(Some(Draft {
        attributes: MemoryAttributes { supersedes, metadata, auto: true, ..MemoryAttributes::default() },
        ..Draft::new(session_id, MemoryType::SessionSummary, content, at)
    }))
}

/// Returns summaries of the last sessions that have none and whose last memory is older than `before`: their host did not report their end.
pub fn missing_summaries(rows: Rows<'_>, session_id: &str, before: Moment) -> rusqlite::Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for id in rows.last_sessions(session_id, CHECKED_SESSIONS)? {
        let session = rows.session(&id)?.filter(|session| session.summary.is_none() && session.ended < before);
        if let Some(session) = session {
            drafts.extend(closing_summary(rows, &id, &SessionMetadata::default(), session.ended)?);
        }
    }
    Ok(drafts)
}

/// Returns the changed files that a summary names.
pub fn changed_files(summary: &str) -> impl Iterator<Item = &str> {
    let files = summary.lines().find_map(|line| line.strip_prefix(CHANGED_LABEL)?.strip_prefix(": "));
    let files = files.into_iter().flat_map(|files| files.split(", "));
    // "a.rs and 3 more"
    files.map(|file| {
        file.strip_suffix(" more").and_then(|file| file.rsplit_once(" and ")).map_or(file, |(file, _)| file)
    })
}

impl SessionRecord {
    /// Composes the record of a session, or returns `None` if the session has no memories.
    pub fn compose(rows: Rows<'_>, session_id: &str) -> rusqlite::Result<Option<Self>> {
        let filter = MemoryFilter { session_id: Some(session_id.to_owned()), ..MemoryFilter::default() };
        let mut memories = rows.list(&filter, READ_MEMORIES)?;
        memories.reverse();
        let Some(session) = rows.session(session_id)? else { return Ok(None) };
        let turns = turn_record::turns_of(&memories);
        let is_whole = memories.len() < READ_MEMORIES;
        let first_asked = turns.first().map(|turn| shortened(&turn.asked, LONGEST_TITLE)).filter(|_| is_whole);
        let title = first_asked.or(session.title);
        let answer = |turn: &TurnRecord| Some((turn.answered.clone()?, turn.order));
        let outcome = turns.iter().rev().filter(|turn| turn.has_changes).find_map(answer);
        let outcome = outcome.or_else(|| turns.iter().rev().find_map(answer)).or_else(|| written_summary(&memories));
        let of_kind = |kind: MemoryType| memories.iter().filter(move |row| row.memory.kind == kind);
        let mut commands: Vec<String> = Vec::new();
        for command in of_kind(MemoryType::ToolUsage).flat_map(|row| tool_usage::commands(&row.memory.content)) {
            let command = shortened(command, LONGEST_COMMAND);
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        let open = memories.iter().filter(|row| row.is_open_task());
        let is_conclusion =
            |row: &MemoryRow| !row.memory.kind.is_event() && row.memory.kind != MemoryType::SessionSummary;
        let metadata = of_kind(MemoryType::SessionSummary).next_back().map(|row| &row.memory.attributes.metadata);
        Ok(Some(Self {
            id: session.id,
            started: session.started,
            title,
            outcome,
            reports: of_kind(MemoryType::SubagentResult)
                .filter_map(|row| Some((gist(&row.memory.content, LONGEST_OUTCOME)?, row.order())))
                .collect(),
            open_steps: open.map(|row| tasks::in_one_line(&row.memory.content)).collect(),
            files: session.files,
            commands,
            failures: of_kind(MemoryType::Error).map(|row| failure(row, &memories)).collect(),
            has_conclusions: memories.iter().any(is_conclusion),
            metadata: metadata.map(SessionMetadata::of).unwrap_or_default(),
            turns,
        }))
    }

    /// Whether something was done, answered or concluded. People do not count greetings and thanks as a session.
    pub fn is_real(&self) -> bool {
        let is_answered = |turn: &TurnRecord| turn.answered.is_some() || terms(&turn.asked).len() >= LEAST_ASKED_TERMS;
        !self.files.is_empty()
            || !self.commands.is_empty()
            || !self.failures.is_empty()
            || self.has_conclusions
            || self.turns.iter().any(is_answered)
            || self.unfinished().is_some()
    }

    /// Returns the text of the summary that is stored at the end of the session.
    pub fn summary(&self) -> Option<String> {
        if !self.is_real() {
            return None;
        }
        let [outcome, unfinished, answered, open, changed, ran, failed, about] = SUMMARY_LABELS;
        let mut lines: Vec<String> = Vec::new();
        lines.extend(self.title.as_deref().map(|title| shortened(title, LONGEST_TITLE)));
        let mut line = |label: &str, text: String| {
            if !text.is_empty() {
                lines.push(format!("{label}: {text}"));
            }
        };
        line(outcome, self.outcome.as_ref().map(|(text, _)| text.clone()).unwrap_or_default());
        line(unfinished, self.unfinished().map(|(text, _)| text.to_owned()).unwrap_or_default());
        line(answered, self.first_answer().unwrap_or_default().to_owned());
        line(open, listed(&self.open_steps, 5, "; "));
        line(changed, listed(&self.files, 12, ", "));
        line(ran, listed(&self.commands, 6, "; "));
        let failures: Vec<String> = self.failures.iter().map(FailureRecord::describe).collect();
        line(failed, listed(&failures, 4, "; "));
        line(about, turn_record::topics(&self.turns).join(", "));
        Some(lines.join("\n"))
    }

    /// Returns the last informative text of the last turn, if it had no end.
    pub(crate) fn unfinished(&self) -> Option<(&str, (i64, i64))> {
        self.turns.last()?.unfinished.as_ref().map(|(text, order)| (text.as_str(), *order))
    }

    /// Returns the first answer, which often names the cause of a problem, unless it is the outcome.
    fn first_answer(&self) -> Option<&str> {
        // Of a long session, only the last turns are read.
        let begins = |turn: &&TurnRecord| self.title.as_ref() == Some(&shortened(&turn.asked, LONGEST_TITLE));
        self.turns.first().filter(begins)?;
        let first = self.turns.iter().find(|turn| turn.answered.is_some())?;
        let is_outcome = self.outcome.as_ref().is_some_and(|(_, order)| *order == first.order);
        first.answered.as_deref().filter(|_| !is_outcome)
    }
}

impl FailureRecord {
    fn describe(&self) -> String {
        match self.resolved_by.as_deref() {
            None => format!("{} (open)", self.text),
            Some("") => format!("{} (resolved)", self.text),
            Some(by) => format!("{} (resolved: {by})", self.text),
        }
    }
}

/// Returns the summaries that were composed from the memories of a session, newest first.
pub fn composed_summaries(rows: Rows<'_>, session_id: &str) -> rusqlite::Result<Vec<MemoryRow>> {
    let filter = MemoryFilter {
        kind: Some(MemoryType::SessionSummary),
        session_id: Some(session_id.to_owned()),
        ..MemoryFilter::default()
    };
    Ok(rows.list(&filter, READ_MEMORIES)?.into_iter().filter(|row| row.memory.is_composed_summary()).collect())
}

/// Returns a summary that a model or a person wrote, for a session without an answer.
fn written_summary(memories: &[MemoryRow]) -> Option<(String, (i64, i64))> {
    let is_written =
        |row: &&MemoryRow| row.memory.kind == MemoryType::SessionSummary && !row.memory.is_composed_summary();
    let row = memories.iter().rfind(is_written)?;
    Some((gist(&row.memory.content, LONGEST_OUTCOME)?, row.order()))
}

/// Returns a failure of a session, and the files that were changed between it and the success that resolved it.
fn failure(row: &MemoryRow, memories: &[MemoryRow]) -> FailureRecord {
    let text = shortened(&row.memory.content, 2 * LONGEST_COMMAND);
    let settled_by = row.state.settled_by.as_deref();
    let entry = memories.iter().find(|memory| settled_by == Some(memory.memory.id.as_str()));
    let failed = (row.state.repeated_at.map_or(row.memory.at.unix(), |at| at.unix()), row.seq);
    let is_between = |memory: &&MemoryRow| {
        memory.memory.kind == MemoryType::ToolUsage
            && entry.is_some_and(|entry| failed < memory.order() && memory.order() <= entry.order())
    };
    let mut files: Vec<&str> = Vec::new();
    for file in memories.iter().filter(is_between).flat_map(|memory| tool_usage::files(&memory.memory.content)) {
        if files.len() < MOST_FIXED_FILES && !files.contains(&file) {
            files.push(file);
        }
    }
    FailureRecord { text, resolved_by: (row.state.phase != Phase::Open).then(|| files.join(", ")) }
}

/// Joins the first items, and says how many more there are.
pub(crate) fn listed(items: &[String], most: usize, separator: &str) -> String {
    let shown = items.iter().take(most).map(|item| clean_line(item)).collect::<Vec<_>>().join(separator);
    let more = items.len().saturating_sub(most);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests;
