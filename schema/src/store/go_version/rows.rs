//! The rows of the Go version as memories: those of its memories, its project knowledge and its session history.
//!
//! Any value can be in any column: what cannot be read is left out, and the memory stays.

use chrono::{DateTime, NaiveDateTime};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Map, Value};

use super::derived;
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;

/// A memory of the Go version, fit to be stored.
pub(super) struct Old {
    pub(super) memory: Memory,
    /// Its text in a log of the Go version, which knew no redaction.
    pub(super) raw: String,
    pub(super) time: Time,
    /// The id of its row, unless it is an event: the line of an event carries none.
    given: Option<MemoryId>,
    pub(super) access_count: i64,
    pub(super) redactions: usize,
}

/// What a row says of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    At(Moment),
    /// `2026-01-28T10:30:15Z`: the Go version writes the local clock so, with a letter as if it were UTC.
    Clock(NaiveDateTime),
    Unreadable,
}

impl Old {
    /// Fills in what a log and a clock say of it.
    pub(super) fn complete(&mut self, in_log: Option<&Memory>) {
        if let Some(in_log) = in_log {
            let is_completed = !in_log.kind.is_session_data() && !is_derived(in_log);
            if is_completed {
                self.given = Some(in_log.id.clone());
            }
            if is_completed || in_log.kind.is_session_data() || self.time == Time::Unreadable {
                self.memory.at = in_log.at;
                self.time = Time::At(in_log.at);
            }
            let Attributes { metadata, .. } = &in_log.attributes;
            for (name, value) in metadata {
                self.memory.attributes.metadata.entry(name).or_insert_with(|| value.clone());
            }
            let metadata = std::mem::take(&mut self.memory.attributes.metadata);
            self.memory.attributes = Attributes { metadata, ..in_log.attributes.clone() };
        }
        self.memory.id = self.given.clone().unwrap_or_else(|| derived(&self.memory));
    }

    /// The local clock of this machine as its time, or UTC.
    pub(super) fn set_clock(&mut self, is_utc: bool) {
        if let Time::Clock(clock) = self.time {
            self.memory.at = if is_utc { of_utc(clock) } else { of_local(clock) };
        }
    }
}

pub(super) fn of_local(clock: NaiveDateTime) -> Moment {
    Moment::from_local_unknown(clock.date(), clock.time())
}

pub(super) fn of_utc(clock: NaiveDateTime) -> Moment {
    let utc = clock.and_utc().timestamp();
    Moment::from_unix(utc, None).unwrap_or_else(|| of_local(clock))
}

/// Whether the id of an entry is made of its text, because no comment says it.
fn is_derived(memory: &Memory) -> bool {
    /// Entries of one text below the heading of a day.
    const SAME: u32 = 100;
    let Memory { id, session_id, kind, at, content, .. } = memory;
    (0..SAME).any(|ordinal| MemoryId::derive(session_id, *kind, at, content, ordinal) == *id)
}

/// Everything that is remembered, the oldest first.
pub(super) fn read(db: &Connection, screen: &Screen) -> rusqlite::Result<Vec<Old>> {
    let memories = ["id", "session_id", "type", "content", "metadata", "created_at", "access_count"];
    let mut old: Vec<Old> = Vec::new();
    for [id, session, name, content, metadata, created, count] in table(db, "memories", memories)? {
        let parts = Parts { id, session, name, content, metadata: object(&metadata), time: time(&created) };
        old.extend(parts.old(screen).map(|old| Old { access_count: count.parse().unwrap_or_default(), ..old }));
    }
    let knowledge = ["id", "knowledge_type", "content", "file_path", "created_at", "updated_at"];
    for [id, name, content, file, created, updated] in table(db, "project_knowledge", knowledge)? {
        let mut metadata = Map::new();
        insert(&mut metadata, "file", file);
        let session = String::new();
        old.extend(Parts { id, session, name, content, metadata, time: first_time([&updated, &created]) }.old(screen));
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
        insert(&mut metadata, "model", model);
        let started = match self::time(&started) {
            Time::At(at) => at.rfc3339(),
            Time::Clock(clock) => of_local(clock).rfc3339(),
            Time::Unreadable => String::new(),
        };
        insert(&mut metadata, "started_at", started);
        let (id, name) = (String::new(), MemoryType::SessionSummary.to_string());
        old.extend(Parts { id, session, name, content: lines.join("\n"), metadata, time }.old(screen));
    }
    old.sort_by_key(|old| old.memory.at);
    Ok(old)
}

fn insert(metadata: &mut Map<String, Value>, name: &str, text: String) {
    if !text.is_empty() {
        metadata.insert(name.to_owned(), text.into());
    }
}

/// A row whose columns were read.
struct Parts {
    id: String,
    session: String,
    name: String,
    content: String,
    metadata: Map<String, Value>,
    time: Time,
}

impl Parts {
    /// `None` for a blank text, and for one that was private as a whole.
    fn old(mut self, screen: &Screen) -> Option<Old> {
        let kind = self.name.parse().unwrap_or_else(|_| {
            insert(&mut self.metadata, "type", self.name);
            MemoryType::Learning
        });
        // Its name of a session that the host did not tell.
        let session = if self.session == "unknown" { String::new() } else { self.session };
        let (session, content) = (screen.clean(&session), screen.clean(&self.content));
        let (metadata, in_metadata) = screen.clean_fields(self.metadata);
        let redactions = content.count + session.count + in_metadata;
        let at = match self.time {
            Time::At(at) => at,
            Time::Clock(clock) => of_local(clock),
            Time::Unreadable => Moment::now(),
        };
        let given = MemoryId::parse(&self.id).filter(|_| !kind.is_session_data()).map(|id| id.claim());
        let (session_id, content) = (session.text.into_owned(), content.text.into_owned());
        let id = MemoryId::derive(&session_id, kind, &at, &content, 0);
        let memory =
            Memory { id, session_id, kind, content, at, attributes: Attributes { metadata, ..Attributes::default() } };
        let is_blank = memory.content.trim().is_empty();
        let old = Old { memory, raw: self.content, time: self.time, given, access_count: 0, redactions };
        (!is_blank).then_some(old)
    }
}

/// Columns of a table as texts, empty where there is no value, no such column or no such table.
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
                // It cuts long texts wherever the byte is, so that they may end in half a character.
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

fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}

fn first_time<const N: usize>(texts: [&str; N]) -> Time {
    texts.into_iter().map(time).find(|time| *time != Time::Unreadable).unwrap_or(Time::Unreadable)
}

/// Reads a time however SQLite and Go may have written it: seconds or milliseconds since 1970, RFC 3339, or plain UTC.
fn time(text: &str) -> Time {
    if let Ok(clock) = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%SZ") {
        return Time::Clock(clock);
    }
    let zoned = |format| DateTime::parse_from_str(text, format).ok().map(|at| at.timestamp());
    // Go prints its zone twice: "2026-01-28 10:30:15.9 +0900 KST".
    let words: Vec<&str> = text.splitn(4, ' ').take(3).collect();
    let go = || DateTime::parse_from_str(&words.join(" "), "%Y-%m-%d %H:%M:%S%.f %z").ok();
    let plain = |format| NaiveDateTime::parse_from_str(text, format).ok();
    let seconds = since_1970(text.trim())
        .or_else(|| zoned("%+"))
        .or_else(|| zoned("%Y-%m-%d %H:%M:%S%.f%:z"))
        .or_else(|| go().map(|at| at.timestamp()))
        .or_else(|| plain("%Y-%m-%d %H:%M:%S%.f").map(|at| at.and_utc().timestamp()))
        .or_else(|| plain("%Y-%m-%dT%H:%M:%S%.f").map(|at| at.and_utc().timestamp()));
    seconds.and_then(|seconds| Moment::from_unix(seconds, None)).map_or(Time::Unreadable, Time::At)
}

fn since_1970(text: &str) -> Option<i64> {
    /// As seconds, in the year 5138: a larger number counts thousandths or less.
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
