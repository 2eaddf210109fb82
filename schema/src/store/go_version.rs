//! Takes over the database of the Go version: what no log holds is written into the log of its day, what a log holds gets its
//! session and metadata there, then the tables give way to ours. A copy of the database stays beside it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use chrono::{NaiveDate, NaiveDateTime};
use rusqlite::types::Value;
use rusqlite::{Connection, Row as SqlRow};

use super::kind::{self, Contents, contents};
use super::{Store, StoreError};
use crate::crash;
use crate::daily_log::{Entry, LogKind, Splice, adopt, insertion, parse};
use crate::database;
use crate::log_file;
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;
use crate::settings;

/// The copy of the database as it was.
const BACKUP: &str = "memory.db.go-backup";

/// A memory of the Go version, fit to be kept, and what else is known of it.
struct Old {
    memory: Memory,
    /// What a log of the Go version, which knew no redaction, would hold of it.
    said: Said,
    /// Whether its own date could be read.
    dated: bool,
    access_count: i64,
    redactions: usize,
}

/// What tells whether a log holds a memory: its type and its words. The Go version folded line breaks in its logs.
type Said = (MemoryType, String);

fn said(kind: MemoryType, content: &str) -> Said {
    (kind, content.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Upgrades in place and answers what was done, in words.
pub(super) fn upgrade(store: &mut Store) -> Result<String, StoreError> {
    let lock = store.lock()?;
    if contents(&store.db)? != Contents::GoVersion {
        return Ok("memory.db of the Go version was upgraded".to_owned());
    }
    back_up(store)?;
    crash::point("upgrade.backed-up");
    let screen = settings::load(store.layout()).screen;
    let mut old = read_all(&store.db, &screen)?;
    date(store, &mut old)?;
    let written = write_logs(store, &mut old)?;
    crash::point("upgrade.logged");
    let redactions = old.iter().map(|old| old.redactions).sum();
    // Nothing of it stays, whatever else it holds: triggers of a stranger would act on our rows.
    database::reset(&store.layout.memory_db(), Some(&store.db), store.patience)?;
    kind::create(&mut store.db)?;
    store.db.note_schema()?;
    if redactions > 0 {
        store.transact(|rows| rows.count("redactions", redactions))?;
    }
    drop(lock);
    crash::point("upgrade.tables");
    for path in store.changed_logs()? {
        store.sync_log(&path)?;
    }
    keep_access_counts(store, &old)?;
    Ok(report(&old, written, redactions))
}

fn report(old: &[Old], written: usize, redactions: usize) -> String {
    let mut text = format!(
        "memory.db of the Go version was upgraded: {} memories, {written} of them written into their daily logs",
        old.len()
    );
    let undated = old.iter().filter(|old| !old.dated).count();
    if undated > 0 {
        text.push_str(&format!("; {undated} had no readable date and are dated today"));
    }
    if redactions > 0 {
        text.push_str(&format!("; secrets taken out: {redactions}"));
    }
    text + &format!("; the old database, as it was, is {BACKUP}")
}

fn back_up(store: &Store) -> Result<(), StoreError> {
    let (path, temporary) = (store.layout.file(BACKUP), store.layout.file(".go-backup.tmp"));
    if path.exists() {
        return Ok(());
    }
    store.db.backup("main", &temporary, None::<fn(rusqlite::backup::Progress)>)?;
    crash::point("upgrade.copied");
    fs::rename(&temporary, &path).map_err(|source| store.io("write", &path, source))
}

fn read_all(db: &Connection, screen: &Screen) -> rusqlite::Result<Vec<Old>> {
    let mut columns = HashSet::new();
    db.pragma(None, "table_info", "memories", |row| {
        columns.insert(row.get::<_, String>("name")?);
        Ok(())
    })?;
    let wanted = ["id", "session_id", "type", "content", "metadata", "created_at", "access_count"];
    let list = wanted.map(|name| if columns.contains(name) { name } else { "NULL" }).join(", ");
    let mut statement = db.prepare(&format!("SELECT {list} FROM memories"))?;
    let mut old = Vec::new();
    for read in statement.query_map([], |row| read(row, screen))? {
        // What is blank, or was nothing but private, is no memory.
        old.extend(Some(read?).filter(|old| !old.memory.content.trim().is_empty()));
    }
    old.sort_by_key(|old| old.memory.at);
    Ok(old)
}

fn read(row: &SqlRow<'_>, screen: &Screen) -> rusqlite::Result<Old> {
    let text = |column: usize| -> rusqlite::Result<String> {
        Ok(match row.get::<_, Value>(column)? {
            Value::Text(text) => text,
            Value::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Null => String::new(),
        })
    };
    let at = moment(&row.get(5)?);
    let name = text(2)?;
    let mut metadata = match serde_json::from_str(&text(4)?) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let kind = name.parse().unwrap_or_else(|_| {
        metadata.insert("type".to_owned(), name.into());
        MemoryType::Learning
    });
    let (session, content) = (text(1)?, text(3)?);
    let (session, cleaned) = (screen.clean(&session), screen.clean(&content));
    let (metadata, in_metadata) = screen.clean_fields(metadata);
    let redactions = cleaned.count + session.count + in_metadata;
    let said = said(kind, &content);
    let (dated, at) = (at.is_some(), at.unwrap_or_else(Moment::now));
    let (session_id, content) = (session.text.into_owned(), cleaned.text.into_owned());
    let id = match MemoryId::parse(&text(0)?) {
        Some(given) if !kind.is_session_data() => given.claim(),
        _ => MemoryId::derive(&session_id, kind, &at, &content, 0),
    };
    let attributes = Attributes { metadata, ..Attributes::default() };
    let memory = Memory { id, session_id, kind, content, at, attributes };
    let access_count = row.get::<_, Option<i64>>(6)?.unwrap_or_default();
    Ok(Old { memory, said, dated, access_count, redactions })
}

/// The id of a line that has no comment to carry the old one.
fn derived(memory: &Memory) -> MemoryId {
    MemoryId::derive(&memory.session_id, memory.kind, &memory.at, &memory.content, 0)
}

/// Reads a time however SQLite and Go may have written it: seconds or milliseconds since 1970, RFC 3339, or plain UTC.
fn moment(value: &Value) -> Option<Moment> {
    match value {
        Value::Integer(number) => since_1970(*number),
        Value::Real(number) => since_1970(*number as i64),
        Value::Text(text) if text.trim().parse::<f64>().is_ok() => since_1970(text.trim().parse::<f64>().ok()? as i64),
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

fn since_1970(mut number: i64) -> Option<Moment> {
    /// As seconds, in the year 5138: what is more was counted in thousandths or less.
    const MILLISECONDS: i64 = 100_000_000_000;
    while number >= MILLISECONDS {
        number /= 1000;
    }
    Moment::from_unix(number, None)
}

/// Gives memories whose own date cannot be read that of a log that holds them.
fn date(store: &Store, old: &mut [Old]) -> Result<(), StoreError> {
    if old.iter().all(|old| old.dated) {
        return Ok(());
    }
    let mut known = HashMap::new();
    let listing = store.layout.markdown_files();
    for path in listing.map_err(|source| store.io("list", store.layout.dir(), source))? {
        if let Some(kind @ LogKind::Daily(_)) = LogKind::of(&path) {
            let bytes = log_file::read(&store.layout.file(&path))?;
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            known.extend(
                parsed.entries.iter().map(|entry| (said(entry.memory.kind, &entry.memory.content), entry.memory.at)),
            );
        }
    }
    for Old { memory, said, dated, .. } in old.iter_mut().filter(|old| !old.dated) {
        let Some(at) = known.get(said) else { continue };
        let given = memory.id != derived(memory);
        memory.at = *at;
        if !given {
            memory.id = derived(memory);
        }
        *dated = true;
    }
    Ok(())
}

/// Brings the logs in step with the memories: those that their day's log holds get their session and metadata there, the
/// others are written into it. Answers how many these were.
fn write_logs(store: &Store, old: &mut [Old]) -> Result<usize, StoreError> {
    let mut days: BTreeMap<NaiveDate, Vec<&mut Old>> = BTreeMap::new();
    for old in old {
        days.entry(old.memory.at.date()).or_default().push(old);
    }
    let mut written = 0;
    for (day, mut memories) in days {
        let kind = LogKind::Daily(day);
        let mut missing = 0;
        log_file::change(&store.layout.file(&kind.file_name()), |bytes| {
            let parsed = parse(&String::from_utf8_lossy(bytes), kind);
            let held = held(&parsed.entries, &mut memories);
            let whole = held.iter().filter_map(|(place, index)| Some(((*place)?, &memories[*index].memory))).collect();
            let mut file = adopt(bytes, kind, &parsed, &whole);
            missing = 0;
            for (_, index) in held.iter().filter(|(place, _)| place.is_none()) {
                file = insertion(&file, &memories[*index].memory, kind).apply(&file);
                missing += 1;
            }
            (file != bytes).then_some(Splice { start: 0, end: bytes.len(), bytes: file, lines: 1..=1 })
        })?;
        written += missing;
    }
    Ok(written)
}

/// Which entry of a log each memory of its day is, or none. Every entry is one memory: who said "yes" twice is held twice.
fn held(entries: &[Entry], memories: &mut [&mut Old]) -> Vec<(Option<usize>, usize)> {
    let mut by_words: HashMap<Said, Vec<usize>> = HashMap::new();
    for (place, entry) in entries.iter().enumerate() {
        by_words.entry(said(entry.memory.kind, &entry.memory.content)).or_default().push(place);
    }
    let mut taken = HashSet::new();
    let mut held = Vec::with_capacity(memories.len());
    for (index, Old { memory, said: as_it_was, .. }) in memories.iter_mut().map(|old| &mut **old).enumerate() {
        // In its own words, or without what was taken out when an upgrade before this one did not come to its end.
        let candidates =
            [as_it_was.clone(), said(memory.kind, &memory.content)].into_iter().flat_map(|said| by_words.get(&said));
        let free = candidates.flatten().copied().filter(|place| !taken.contains(place));
        let far = |place: &usize| (entries[*place].memory.at.unix() - memory.at.unix()).abs();
        let place = free.min_by_key(far);
        if let Some(place) = place {
            taken.insert(place);
            complete(memory, &entries[place].memory);
        }
        held.push((place, index));
    }
    held
}

/// Takes over what the log says of a memory and the database does not.
fn complete(memory: &mut Memory, in_log: &Memory) {
    if in_log.id != derived(in_log) && !in_log.kind.is_session_data() {
        memory.id = in_log.id.clone();
    }
    let attributes = in_log.attributes.clone();
    for (name, value) in attributes.metadata {
        memory.attributes.metadata.entry(name).or_insert(value);
    }
    memory.attributes = Attributes { metadata: std::mem::take(&mut memory.attributes.metadata), ..attributes };
}

fn keep_access_counts(store: &mut Store, old: &[Old]) -> Result<(), StoreError> {
    store.transact(|rows| {
        for Old { memory, access_count, .. } in old.iter().filter(|old| old.access_count > 0) {
            if let Some(row) = rows.by_id(&memory.id)? {
                rows.set_access_count(row.seq, *access_count)?;
            }
        }
        Ok(())
    })
}
