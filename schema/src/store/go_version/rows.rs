//! Reads the memories, project knowledge and session history of the Go version as memories.
//!
//! Any column can have any value. A value that cannot be read is skipped, and the memory stays.

use chrono::{DateTime, NaiveDateTime};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;

/// A memory of the Go version, cleaned for storing.
pub(super) struct GoMemory {
    pub(super) memory: Memory,
    /// The text in a log of the Go version, which redacted nothing.
    pub(super) raw: String,
    pub(super) time: GoTime,
    /// The id of the row. Events have none, because their lines carry no id.
    given_id: Option<MemoryId>,
    pub(super) access_count: i64,
    pub(super) redactions: usize,
}

/// The time in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoTime {
    At(Moment),
    /// `2026-01-28T10:30:15Z`: the Go version writes the local time like this, although `Z` means UTC.
    Clock(NaiveDateTime),
    Unreadable,
}

impl GoTime {
    /// Returns the moment, with a clock as the local time of this machine.
    fn moment(self) -> Option<Moment> {
        match self {
            Self::At(at) => Some(at),
            Self::Clock(clock) => Some(local_moment(clock)),
            Self::Unreadable => None,
        }
    }
}

impl GoMemory {
    /// Takes over what the log has of this memory, and decides its id.
    pub(super) fn complete_from_log(&mut self, in_log: Option<&Memory>) {
        if let Some(in_log) = in_log {
            let is_completed = !in_log.kind.is_event() && !has_derived_id(in_log);
            if is_completed {
                self.given_id = Some(in_log.id.clone());
            }
            if is_completed || in_log.kind.is_event() || self.time == GoTime::Unreadable {
                self.memory.at = in_log.at;
                self.time = GoTime::At(in_log.at);
            }
            for (name, value) in &in_log.attributes.metadata {
                self.memory.attributes.metadata.entry(name).or_insert_with(|| value.clone());
            }
            let metadata = std::mem::take(&mut self.memory.attributes.metadata);
            self.memory.attributes = MemoryAttributes { metadata, ..in_log.attributes.clone() };
        }
        self.memory.id = self.given_id.clone().unwrap_or_else(|| {
            let Memory { session_id, kind, at, content, .. } = &self.memory;
            MemoryId::derive(session_id, *kind, at, content, 0)
        });
    }

    /// Interprets the clock as UTC, or as the local time of this machine.
    pub(super) fn set_clock(&mut self, is_utc: bool) {
        if let GoTime::Clock(clock) = self.time {
            self.memory.at = if is_utc { utc_moment(clock) } else { local_moment(clock) };
        }
    }
}

pub(super) fn local_moment(clock: NaiveDateTime) -> Moment {
    Moment::from_local_unknown(clock.date(), clock.time())
}

pub(super) fn utc_moment(clock: NaiveDateTime) -> Moment {
    let utc = clock.and_utc().timestamp();
    Moment::from_unix(utc, None).unwrap_or_else(|| local_moment(clock))
}

/// Whether the id of an entry is derived from its text, because no comment has one.
fn has_derived_id(memory: &Memory) -> bool {
    /// The most entries with the same text under the heading of a day.
    const SAME: u32 = 100;
    let Memory { id, session_id, kind, at, content, .. } = memory;
    (0..SAME).any(|ordinal| MemoryId::derive(session_id, *kind, at, content, ordinal) == *id)
}

/// Reads all memories, oldest first.
pub(super) fn read_memories(db: &Connection, sanitizer: &Sanitizer) -> rusqlite::Result<Vec<GoMemory>> {
    let memories = ["id", "session_id", "type", "content", "metadata", "created_at", "access_count"];
    let mut old: Vec<GoMemory> = Vec::new();
    for [id, session, name, content, metadata, created, count] in table(db, "memories", memories)? {
        let metadata = serde_json::from_str(&metadata).unwrap_or_default();
        let parts = GoColumns { id, session, name, content, metadata, time: parse_time(&created) };
        old.extend(
            parts.into_memory(sanitizer).map(|old| GoMemory { access_count: count.parse().unwrap_or_default(), ..old }),
        );
    }
    let knowledge = ["id", "knowledge_type", "content", "file_path", "created_at", "updated_at"];
    for [id, name, content, file, created, updated] in table(db, "project_knowledge", knowledge)? {
        let mut metadata = Map::new();
        insert_text(&mut metadata, "file", file);
        let session = String::new();
        let time = first_time([&updated, &created]);
        old.extend(GoColumns { id, session, name, content, metadata, time }.into_memory(sanitizer));
    }
    let sessions = ["session_id", "summary", "topics", "files_modified", "model", "started_at", "ended_at"];
    for [session, summary, topics, files, model, started, ended] in table(db, "session_history", sessions)? {
        let mut metadata = Map::new();
        let mut lines = vec![summary];
        for (field, label, list) in [("topics", "Topics", topics), ("files", "Files", files)] {
            let list: Vec<String> = serde_json::from_str(&list).unwrap_or_default();
            if !list.is_empty() {
                lines.push(format!("{label}: {}", list.join(", ")));
                metadata.insert(field.to_owned(), list.into());
            }
        }
        lines.retain(|line| !line.trim().is_empty());
        let time = first_time([&ended, &started]);
        insert_text(&mut metadata, "model", model);
        let started = parse_time(&started).moment().map(|at| at.rfc3339()).unwrap_or_default();
        insert_text(&mut metadata, "started_at", started);
        let (id, name) = (String::new(), MemoryType::SessionSummary.to_string());
        old.extend(GoColumns { id, session, name, content: lines.join("\n"), metadata, time }.into_memory(sanitizer));
    }
    old.sort_by_key(|old| old.memory.at);
    Ok(old)
}

fn insert_text(metadata: &mut Map<String, Value>, name: &str, text: String) {
    if !text.is_empty() {
        metadata.insert(name.to_owned(), text.into());
    }
}

/// The columns of a row.
struct GoColumns {
    id: String,
    session: String,
    name: String,
    content: String,
    metadata: Map<String, Value>,
    time: GoTime,
}

impl GoColumns {
    /// Returns `None` if the text is blank or entirely private.
    fn into_memory(mut self, sanitizer: &Sanitizer) -> Option<GoMemory> {
        let kind = self.name.parse().unwrap_or_else(|_| {
            insert_text(&mut self.metadata, "type", self.name);
            MemoryType::Learning
        });
        // The Go version writes this if the host did not name the session.
        let session = if self.session == "unknown" { String::new() } else { self.session };
        let (session, content) = (sanitizer.clean(&session), sanitizer.clean(&self.content));
        let (metadata, in_metadata) = sanitizer.clean_fields(self.metadata);
        let redactions = content.count + session.count + in_metadata;
        let at = self.time.moment().unwrap_or_else(Moment::now);
        let given = MemoryId::parse(&self.id).filter(|_| !kind.is_event()).map(|id| id.original());
        let (session_id, content) = (session.text.into_owned(), content.text.into_owned());
        let id = MemoryId::derive(&session_id, kind, &at, &content, 0);
        let attributes = MemoryAttributes { metadata, ..MemoryAttributes::default() };
        let memory = Memory { id, session_id, kind, content, at, attributes };
        let is_blank = memory.content.trim().is_empty();
        let old = GoMemory { memory, raw: self.content, time: self.time, given_id: given, access_count: 0, redactions };
        (!is_blank).then_some(old)
    }
}

/// Reads columns of a table as texts. Missing values and columns are empty; a missing table has no rows.
fn table<const N: usize>(db: &Connection, name: &str, wanted: [&str; N]) -> rusqlite::Result<Vec<[String; N]>> {
    let mut columns = Vec::new();
    db.pragma(None, "table_info", name, |row| {
        columns.push(row.get::<_, String>("name")?);
        Ok(())
    })?;
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let list = wanted.map(|name| if columns.iter().any(|column| column == name) { name } else { "NULL" }).join(", ");
    let mut statement = db.prepare(&format!("SELECT {list} FROM {name}"))?;
    let mut rows = statement.query([])?;
    let mut read = Vec::new();
    while let Some(row) = rows.next()? {
        let mut texts = [const { String::new() }; N];
        for (column, text) in texts.iter_mut().enumerate() {
            *text = match row.get_ref(column)? {
                // The Go version cuts long texts at any byte, which may split a character.
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Null => String::new(),
            };
        }
        read.push(texts);
    }
    Ok(read)
}

fn first_time(texts: [&str; 2]) -> GoTime {
    texts.into_iter().map(parse_time).find(|time| *time != GoTime::Unreadable).unwrap_or(GoTime::Unreadable)
}

/// Parses any form in which SQLite or Go may have written a time: seconds or milliseconds since 1970, RFC 3339, or plain UTC.
fn parse_time(text: &str) -> GoTime {
    if let Ok(clock) = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%SZ") {
        return GoTime::Clock(clock);
    }
    let zoned = |format| DateTime::parse_from_str(text, format).ok().map(|at| at.timestamp());
    // Go prints the zone twice: "2026-01-28 10:30:15.9 +0900 KST".
    let words: Vec<&str> = text.splitn(4, ' ').take(3).collect();
    let go = || DateTime::parse_from_str(&words.join(" "), "%Y-%m-%d %H:%M:%S%.f %z").ok();
    let plain = |format| NaiveDateTime::parse_from_str(text, format).ok();
    let seconds = parse_epoch(text.trim())
        .or_else(|| zoned("%+"))
        .or_else(|| zoned("%Y-%m-%d %H:%M:%S%.f%:z"))
        .or_else(|| go().map(|at| at.timestamp()))
        .or_else(|| plain("%Y-%m-%d %H:%M:%S%.f").map(|at| at.and_utc().timestamp()))
        .or_else(|| plain("%Y-%m-%dT%H:%M:%S%.f").map(|at| at.and_utc().timestamp()));
    seconds.and_then(|seconds| Moment::from_unix(seconds, None)).map_or(GoTime::Unreadable, GoTime::At)
}

fn parse_epoch(text: &str) -> Option<i64> {
    /// The year 5138 in seconds. A larger number is in milliseconds or in a smaller unit.
    const MILLISECONDS: i64 = 100_000_000_000;
    let mut number = text
        .parse::<i64>()
        .ok()
        .or_else(|| text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number as i64))?;
    while number >= MILLISECONDS {
        number /= 1000;
    }
    Some(number)
}
