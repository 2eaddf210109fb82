//! Takes over the database of the Go version: what no log holds is written into the log of its day, then the tables give way
//! to ours. A copy of the database stays beside it.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use chrono::{NaiveDate, NaiveDateTime};
use rusqlite::types::Value;
use rusqlite::{Connection, Row as SqlRow};

use super::kind::{Contents, contents, create_tables};
use super::{Store, StoreError};
use crate::daily_log::{LogKind, Splice, insertion, parse};
use crate::database::Patience;
use crate::log_file;
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;

/// The copy of the database as it was.
const BACKUP: &str = "memory.db.go-backup";

/// A memory of the Go version and how often it was read.
struct Old {
    memory: Memory,
    access_count: i64,
}

/// Upgrades in place and answers what was done, in words.
pub(super) fn upgrade(store: &mut Store) -> Result<String, StoreError> {
    if store.patience == Patience::Hook {
        // A hook has no time for it. It spools, and the next server or command upgrades.
        return Err(StoreError::NeedsUpgrade);
    }
    let lock = store.lock()?;
    if contents(&store.db)? != Contents::GoVersion {
        return Ok("memory.db of the Go version was upgraded".to_owned());
    }
    back_up(store)?;
    let old = read_all(&store.db)?;
    let written = write_missing(store, &old)?;
    store.transact(|rows| {
        // The cache of paid embeddings stays: whoever embeds next takes it over.
        rows.0.execute_batch("DROP TABLE memories; DROP TABLE chunks; DROP TABLE IF EXISTS files;")?;
        rows.0.execute_batch("DROP TABLE IF EXISTS meta; DROP TABLE IF EXISTS sessions;")?;
        create_tables(rows.0)
    })?;
    drop(lock);
    for path in store.changed_logs()? {
        store.sync_log(&path)?;
    }
    keep_access_counts(store, &old)?;
    Ok(format!(
        "memory.db of the Go version was upgraded: {} memories, {written} of them written into their daily logs; \
         the old database is {BACKUP}",
        old.len()
    ))
}

fn back_up(store: &Store) -> Result<(), StoreError> {
    let (path, temporary) = (store.layout.file(BACKUP), store.layout.file(".go-backup.tmp"));
    if path.exists() {
        return Ok(());
    }
    store.db.backup("main", &temporary, None::<fn(rusqlite::backup::Progress)>)?;
    fs::rename(&temporary, &path).map_err(|source| store.io("write", &path, source))
}

fn read_all(db: &Connection) -> rusqlite::Result<Vec<Old>> {
    let mut columns = HashSet::new();
    db.pragma(None, "table_info", "memories", |row| {
        columns.insert(row.get::<_, String>("name")?);
        Ok(())
    })?;
    let wanted = ["id", "session_id", "type", "content", "metadata", "created_at", "access_count"];
    let list = wanted.map(|name| if columns.contains(name) { name } else { "NULL" }).join(", ");
    let mut statement = db.prepare(&format!("SELECT {list} FROM memories"))?;
    let mut old: Vec<Old> = statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
    old.sort_by_key(|old| old.memory.at);
    Ok(old)
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Old> {
    let text = |column: usize| -> rusqlite::Result<String> {
        Ok(match row.get::<_, Value>(column)? {
            Value::Text(text) => text,
            Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Null => String::new(),
        })
    };
    let at = moment(&row.get(5)?).unwrap_or_else(Moment::now);
    let (name, content, session_id) = (text(2)?, text(3)?, text(1)?);
    let mut metadata = match serde_json::from_str(&text(4)?) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let kind = name.parse().unwrap_or_else(|_| {
        metadata.insert("type".to_owned(), name.into());
        MemoryType::Learning
    });
    // A line of session data has no comment to carry the old id, so its id is derived, as it will be from the log.
    let derived = MemoryId::derive(&session_id, kind, &at, &content, 0);
    let given = MemoryId::parse(&text(0)?).filter(|_| !kind.is_session_data());
    let attributes = Attributes { metadata, ..Attributes::default() };
    let memory = Memory { id: given.unwrap_or(derived), session_id, kind, content, at, attributes };
    Ok(Old { memory, access_count: row.get::<_, Option<i64>>(6)?.unwrap_or_default() })
}

/// Reads a time however SQLite and Go may have written it: seconds or milliseconds since 1970, RFC 3339, or plain UTC.
fn moment(value: &Value) -> Option<Moment> {
    const MILLISECONDS: i64 = 100_000_000_000;
    match value {
        Value::Integer(number) if *number >= MILLISECONDS => Moment::from_unix(number / 1000, None),
        Value::Integer(number) => Moment::from_unix(*number, None),
        Value::Real(number) => Moment::from_unix(*number as i64, None),
        Value::Text(text) => {
            // Go prints its zone twice: "2026-01-28 10:30:15.9 +0900 KST".
            let zoned = |format| chrono::DateTime::parse_from_str(text, format).ok().map(|at| at.timestamp());
            let words: Vec<&str> = text.splitn(4, ' ').take(3).collect();
            let go = || chrono::DateTime::parse_from_str(&words.join(" "), "%Y-%m-%d %H:%M:%S%.f %z").ok();
            let plain = || {
                let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
                formats.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            };
            let seconds = zoned("%+")
                .or_else(|| zoned("%Y-%m-%d %H:%M:%S%.f%:z"))
                .or_else(|| go().map(|at| at.timestamp()))
                .or_else(|| plain().map(|at| at.and_utc().timestamp()))?;
            Moment::from_unix(seconds, None)
        }
        Value::Null | Value::Blob(_) => None,
    }
}

/// Writes the memories that their day's log does not hold, and answers how many these were.
fn write_missing(store: &Store, old: &[Old]) -> Result<usize, StoreError> {
    let mut days: BTreeMap<NaiveDate, Vec<&Memory>> = BTreeMap::new();
    for Old { memory, .. } in old {
        days.entry(memory.at.date()).or_default().push(memory);
    }
    let mut written = 0;
    for (day, memories) in days {
        let kind = LogKind::Daily(day);
        let mut missing = 0;
        log_file::change(&store.layout.file(&kind.file_name()), |bytes| {
            let parsed = parse(&String::from_utf8_lossy(bytes), kind);
            let held: HashSet<_> = parsed.entries.iter().map(|entry| said(&entry.memory)).collect();
            let mut file = bytes.to_vec();
            missing = 0;
            for memory in memories.iter().filter(|memory| !held.contains(&said(memory))) {
                file = insertion(&file, memory, kind).apply(&file);
                missing += 1;
            }
            (missing > 0).then_some(Splice { start: 0, end: bytes.len(), bytes: file, lines: 1..=1 })
        })?;
        written += missing;
    }
    Ok(written)
}

/// What tells whether a log holds a memory: its type and its words. The Go version folded line breaks in its logs.
fn said(memory: &Memory) -> (MemoryType, String) {
    (memory.kind, memory.content.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn keep_access_counts(store: &mut Store, old: &[Old]) -> Result<(), StoreError> {
    store.transact(|rows| {
        for Old { memory, access_count } in old.iter().filter(|old| old.access_count > 0) {
            if let Some(row) = rows.by_id(&memory.id)? {
                rows.set_access_count(row.seq, *access_count)?;
            }
        }
        Ok(())
    })
}
