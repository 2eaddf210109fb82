//! Checks a store at rest: its databases are sound, rows and index are in sync with the Markdown, and no files are left
//! over.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags};
use schema::log::{LogKind, parse};

use super::ledger::shorten;
use crate::canaries::files_below;

/// Returns findings about a store that no process uses.
pub fn check_at_rest(store: &Path) -> Vec<String> {
    let mut findings = find_leftovers(store);
    match check_databases(store) {
        Ok(found) => findings.extend(found),
        Err(error) => findings.push(format!("a database cannot be read: {error}")),
    }
    findings
}

/// Counts each text in the rows of a store, without conclusions, which may repeat it.
pub fn texts_in_rows(store: &Path) -> rusqlite::Result<BTreeMap<String, usize>> {
    let db = open_database(&store.join("memory.db"))?;
    let mut statement = db.prepare("SELECT content, count(*) FROM memories WHERE NOT auto GROUP BY content")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))?.collect()
}

/// Makes temporary spool files old enough to count as abandoned.
pub fn age_temporary_files(store: &Path) {
    let then = SystemTime::now() - Duration::from_mins(5);
    let listing = fs::read_dir(store.join("spool")).into_iter().flatten().filter_map(Result::ok);
    for item in listing.filter(|item| item.file_name().to_string_lossy().starts_with('.')) {
        let opened = File::options().write(true).open(item.path());
        opened.and_then(|file| file.set_modified(then)).expect("the test can change the file's time");
    }
}

fn open_database(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    db.busy_timeout(Duration::from_secs(10))?;
    Ok(db)
}

/// Returns unknown files, and queued memories.
fn find_leftovers(store: &Path) -> Vec<String> {
    let names = files_below(store).into_iter().filter_map(|path| Some(path.strip_prefix(store).ok()?.to_owned()));
    let names = names.map(|name| name.to_string_lossy().replace('\\', "/"));
    names.filter(|name| !is_of_a_store(name)).map(|name| format!("left behind: {name}")).collect()
}

fn is_of_a_store(name: &str) -> bool {
    let is_database = ["memory.db", "index.db"]
        .iter()
        .any(|database| name.strip_prefix(database).is_some_and(|ending| ["", "-wal", "-shm"].contains(&ending)));
    let is_lock = !name.contains('/') && name.ends_with(".lock");
    let is_note = name.ends_with(".md") && !name.split('/').any(|part| part.starts_with('.'));
    let is_known = [".gitignore", "forgotten", "hook.log", "hook.times", "memory.db.go-backup"].contains(&name);
    let is_record = name.starts_with("track/") || name.starts_with("log/");
    is_database || is_lock || is_note || is_known || is_record
}

fn check_databases(store: &Path) -> rusqlite::Result<Vec<String>> {
    let (memory, index) = (open_database(&store.join("memory.db"))?, open_database(&store.join("index.db"))?);
    let mut findings = Vec::new();
    for (db, name) in [(&memory, "memory.db"), (&index, "index.db")] {
        let said: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        if said != "ok" {
            findings.push(format!("integrity_check of {name}: {said}"));
        }
    }
    findings.extend(compare_rows_and_logs(store, &memory)?);
    findings.extend(compare_rows_and_index(&memory, &index)?);
    Ok(findings)
}

/// Returns the differences between logs and rows.
fn compare_rows_and_logs(store: &Path, memory: &Connection) -> rusqlite::Result<Vec<String>> {
    type Found = BTreeMap<(String, String), i64>;
    let mut differences = Found::new();
    let mut statement = memory.prepare("SELECT path, content FROM memories WHERE waiting = 0")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for row in rows {
        *differences.entry(row?).or_default() -= 1;
    }
    for path in files_below(store) {
        let name = path.strip_prefix(store).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(kind) = LogKind::from_path(&name) else { continue };
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
        for entry in parse(&text, kind).entries {
            *differences.entry((name.clone(), entry.memory.content)).or_default() += 1;
        }
    }
    let told = |((path, text), count): ((String, String), i64)| match count {
        0 => None,
        1.. => Some(format!("in {path} but in no row: {}", shorten(&text))),
        _ => Some(format!("in a row but not in {path}: {}", shorten(&text))),
    };
    Ok(differences.into_iter().filter_map(told).collect())
}

/// Returns the differences between the full-text table and the memories and chunks.
fn compare_rows_and_index(memory: &Connection, index: &Connection) -> rusqlite::Result<Vec<String>> {
    let numbers = |db: &Connection, sql: &str| -> rusqlite::Result<Vec<i64>> {
        db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    let mut expected = numbers(memory, "SELECT seq * 2 FROM memories")?;
    expected.extend(numbers(index, "SELECT id * 2 + 1 FROM chunks")?);
    expected.sort_unstable();
    let mut found = numbers(index, "SELECT document FROM fulltext_documents")?;
    found.sort_unstable();
    let mut findings = Vec::new();
    if expected != found {
        findings.push(format!("{} documents should be indexed, but {} are", expected.len(), found.len()));
    }
    for (what, sql) in FULL_TEXT {
        let wrong: i64 = index.query_row(sql, [], |row| row.get(0))?;
        if wrong > 0 {
            findings.push(format!("the full text: {wrong} {what}"));
        }
    }
    Ok(findings)
}

/// Invalid states of the full-text tables, with the queries that count them.
const FULL_TEXT: [(&str, &str); 3] = [
    (
        "wrong totals",
        "SELECT count(*) FROM fulltext_totals WHERE documents <> (SELECT count(*) FROM fulltext_documents)
             OR tokens <> (SELECT coalesce(sum(length), 0) FROM fulltext_documents)",
    ),
    (
        "documents in no segment",
        "SELECT count(*) FROM fulltext_documents WHERE length > 0 AND NOT EXISTS
             (SELECT 1 FROM fulltext_segments JOIN fulltext_postings ON segment = id
              WHERE state = 1 AND number BETWEEN first AND last)",
    ),
    (
        "documents in several segments",
        "SELECT count(*) FROM fulltext_segments one JOIN fulltext_segments other ON one.id < other.id
         WHERE one.state = 1 AND other.state = 1 AND one.first <= other.last AND other.first <= one.last",
    ),
];
