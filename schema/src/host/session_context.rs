//! Records which memories a session was given: by its brief, with a prompt, or as hits of searches. A session gets no memory twice unless
//! it asks.
//!
//! `track/SESSION.given` has a line for each memory: how it was given, when, and its id. A line `compacted` says that the context before it
//! is gone, a line `reminded` that the model was asked to save memories, a line `agreed` that a prompt only agreed, and a line `began` has
//! the branch and commit at the start of the session.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde_json::Value;

use crate::files::layout::Layout;
use crate::files::store_file::{self, options_for_private};
use crate::host::session_record::SessionMetadata;
use crate::intake::queue::RecalledMemory;
use crate::model::moment::Moment;
use crate::store::StoreError;

/// The extension of the file, which is next to the session's buffer.
pub(crate) const GIVEN: &str = "given";

/// The beginnings of lines that are about no memory. That of the start continues with JSON.
const COMPACTED: &str = "compacted";
const BEGAN: &str = "began";
const REMINDED: &str = "reminded";
const AGREED: &str = "agreed";

/// The size in bytes from which the file no longer grows. The session may then get memories again.
const LARGEST_FILE: u64 = 1024 * 1024;

/// How a session got a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    Brief,
    /// With a prompt.
    Recall,
    /// As a hit of `memory_search`.
    Search,
}

impl Given {
    pub fn name(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Recall => "recall",
            Self::Search => "search",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        [Self::Brief, Self::Recall, Self::Search].into_iter().find(|given| given.name() == name)
    }
}

/// A memory that a session was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenMemory {
    pub how: Given,
    pub at: Moment,
    pub id: String,
}

/// Returns what a session was given, in order, or nothing if its record cannot be read.
pub fn given_memories(layout: &Layout, session_id: &str) -> Vec<GivenMemory> {
    let given = |line| {
        let (how, at, id) = parse_line(line)?;
        Some(GivenMemory { how: Given::of_name(how)?, at, id: id?.to_owned() })
    };
    read_of(layout, session_id).lines().filter_map(given).collect()
}

/// Returns the first word of a line, its time and the rest.
fn parse_line(line: &str) -> Option<(&str, Moment, Option<&str>)> {
    let mut words = line.splitn(3, ' ');
    Some((words.next()?, Moment::parse_rfc3339(words.next()?)?, words.next()))
}

/// Records that a session was given these memories.
pub fn record_given<'i>(
    layout: &Layout,
    session_id: &str,
    how: Given,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<(), StoreError> {
    let at = Moment::now().rfc3339();
    let lines: String = ids.into_iter().map(|id| format!("{} {at} {id}\n", how.name())).collect();
    append(layout, session_id, &lines)
}

/// Records that the context of a session was compacted, so that it may get the same memories again.
pub fn record_compaction(layout: &Layout, session_id: &str) -> Result<(), StoreError> {
    append(layout, session_id, &format!("{COMPACTED} {}\n", Moment::now().rfc3339()))
}

/// Returns whether a session was not reminded yet to save memories, and records that it is now.
pub fn take_reminder(layout: &Layout, session_id: &str) -> Result<bool, StoreError> {
    let (mut file, text) = open_and_read(layout, session_id)?;
    if text.len() as u64 >= LARGEST_FILE || text.lines().any(|line| line.starts_with(REMINDED)) {
        return Ok(false);
    }
    let written = file.write_all(format!("{REMINDED} {}\n", Moment::now().rfc3339()).as_bytes());
    written.map(|()| true).map_err(io_error(layout, session_id))
}

/// Records the branch, the commit and the model at the start of a session.
pub fn record_start(layout: &Layout, session_id: &str, start: &SessionMetadata) -> Result<(), StoreError> {
    let json = Value::Object(start.fields());
    append(layout, session_id, &format!("{BEGAN} {} {json}\n", Moment::now().rfc3339()))
}

/// Records that a prompt of a session only agreed.
pub fn record_acknowledgement(layout: &Layout, session_id: &str) -> Result<(), StoreError> {
    append(layout, session_id, &format!("{AGREED} {}\n", Moment::now().rfc3339()))
}

/// Returns how many prompts of a session only agreed.
pub fn count_acknowledgements(layout: &Layout, session_id: &str) -> u64 {
    read_of(layout, session_id).lines().filter(|line| line.starts_with(AGREED)).count() as u64
}

/// Whether the start of a session is recorded.
pub fn has_recorded_start(layout: &Layout, session_id: &str) -> bool {
    read_of(layout, session_id).lines().any(|line| line.starts_with(BEGAN))
}

/// Returns the record of a session's first start, or an empty one if it cannot be read.
pub fn recorded_start(layout: &Layout, session_id: &str) -> SessionMetadata {
    let text = read_of(layout, session_id);
    let json = text.lines().find_map(|line| line.strip_prefix(BEGAN)?.splitn(3, ' ').nth(2));
    let fields = json.and_then(|json| serde_json::from_str(json).ok());
    fields.as_ref().map(SessionMetadata::of).unwrap_or_default()
}

/// Returns the memories that the session was not given yet, and records them as given.
pub fn take_unshown(
    layout: &Layout,
    session_id: &str,
    memories: Vec<RecalledMemory>,
) -> Result<Vec<RecalledMemory>, StoreError> {
    if memories.is_empty() {
        return Ok(memories);
    }
    let (mut file, text) = open_and_read(layout, session_id)?;
    let known = known(&text);
    let is_full = text.len() as u64 >= LARGEST_FILE;
    let new: Vec<_> = memories.into_iter().filter(|memory| !known.contains(memory.id.as_str())).collect();
    let at = Moment::now().rfc3339();
    let recorded = new.iter().filter(|_| !is_full);
    let lines: String = recorded.map(|memory| format!("{} {at} {}\n", Given::Recall.name(), memory.id)).collect();
    file.write_all(lines.as_bytes()).map(|()| new).map_err(io_error(layout, session_id))
}

/// When memories were given, in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenTimes {
    /// The first record of all sessions. Nothing is known about the time before.
    pub since: Option<i64>,
    /// The last time of each memory.
    pub last: HashMap<String, i64>,
}

/// Returns when memories were given in all sessions whose records exist. A file that cannot be read is skipped.
pub fn given_times(layout: &Layout) -> GivenTimes {
    let mut times = GivenTimes::default();
    let files = fs::read_dir(layout.track_dir()).into_iter().flatten().filter_map(|item| Some(item.ok()?.path()));
    for path in files.filter(|path| path.extension().is_some_and(|ending| ending == GIVEN)) {
        for (how, at, id) in read(&path).lines().filter_map(parse_line) {
            let at = at.unix();
            times.since = Some(times.since.map_or(at, |since| since.min(at)));
            if let Some(id) = id.filter(|_| how != BEGAN) {
                let last = times.last.entry(id.to_owned()).or_insert(at);
                *last = at.max(*last);
            }
        }
    }
    times
}

/// Returns the ids in the session's context.
fn known(text: &str) -> HashSet<&str> {
    let since = text.rfind(&format!("\n{COMPACTED} ")).unwrap_or(0);
    let lines = text[since..].lines().filter(|line| !line.starts_with(BEGAN));
    lines.filter_map(|line| line.split(' ').nth(2)).collect()
}

fn append(layout: &Layout, session_id: &str, lines: &str) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut file = open(layout, session_id)?;
    if file.metadata().map_err(io_error(layout, session_id))?.len() < LARGEST_FILE {
        file.write_all(lines.as_bytes()).map_err(io_error(layout, session_id))?;
    }
    Ok(())
}

fn read_of(layout: &Layout, session_id: &str) -> String {
    read(&layout.session_file(session_id, GIVEN))
}

/// Returns the text of a record, or nothing if it cannot be read.
fn read(path: &Path) -> String {
    let text = store_file::open(path).and_then(|file| io::read_to_string(file.take(LARGEST_FILE)));
    text.unwrap_or_default()
}

fn open_and_read(layout: &Layout, session_id: &str) -> Result<(File, String), StoreError> {
    let mut file = open(layout, session_id)?;
    let text = io::read_to_string((&mut file).take(LARGEST_FILE));
    text.map(|text| (file, text)).map_err(io_error(layout, session_id))
}

fn open(layout: &Layout, session_id: &str) -> Result<File, StoreError> {
    let path = layout.session_file(session_id, GIVEN);
    let opened = options_for_private().read(true).append(true).create(true).open(&path);
    opened.and_then(|file| file.lock().map(|()| file)).map_err(io_error(layout, session_id))
}

fn io_error(layout: &Layout, session_id: &str) -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io("record given memories in", layout.session_file(session_id, GIVEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(project: &tempfile::TempDir) -> Layout {
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        layout
    }

    fn recalled(layout: &Layout, session: &str, ids: &[&str]) -> Vec<String> {
        let memory =
            |id: &&str| RecalledMemory { id: (*id).into(), path: "MEMORY.md".into(), date: None, text: "x".into() };
        let found = take_unshown(layout, session, ids.iter().map(memory).collect()).unwrap();
        found.into_iter().map(|memory| memory.id).collect()
    }

    #[test]
    fn memory_is_given_once_in_a_session() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        assert_eq!(recalled(&layout, "s", &["a", "b"]), ["a", "b"]);
        assert_eq!(recalled(&layout, "s", &["b", "c"]), ["c"]);
        assert_eq!(recalled(&layout, "other", &["b"]), ["b"]);
        assert_eq!(recalled(&layout, "s", &["a", "c"]), Vec::<String>::new());
    }

    #[test]
    fn memories_of_brief_and_searches_are_not_repeated() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        record_given(&layout, "s", Given::Brief, ["a"]).unwrap();
        record_given(&layout, "s", Given::Search, ["b"]).unwrap();
        assert_eq!(recalled(&layout, "s", &["a", "b", "c"]), ["c"]);
        record_compaction(&layout, "s").unwrap();
        assert_eq!(recalled(&layout, "s", &["a", "c"]), ["a", "c"], "a compaction removed them from the context");
    }

    #[test]
    fn start_of_a_session_is_read_back() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        assert_eq!(recorded_start(&layout, "s"), SessionMetadata::default());
        let start =
            SessionMetadata { branch: Some("fix a".into()), model: Some("m".into()), ..SessionMetadata::default() };
        record_start(&layout, "s", &start).unwrap();
        record_start(&layout, "s", &SessionMetadata::default()).unwrap();
        record_given(&layout, "s", Given::Brief, ["a"]).unwrap();
        assert_eq!(recorded_start(&layout, "s"), start);
        assert_eq!(recalled(&layout, "s", &["a", "b"]), ["b"]);
    }
}
