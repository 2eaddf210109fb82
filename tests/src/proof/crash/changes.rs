//! Crashes while what is there is indexed, rebuilt, forgotten, taken over or taken in.

use std::fmt::Write as _;
use std::fs;

use rusqlite::Connection;
use schema::moment::Moment;
use serde_json::json;

use super::attempt::Blow;
use super::field::Field;
use crate::fixtures::fixtures_dir;
use crate::proof::{Random, texts_in_rows};

const SESSION: &str = "5e55105e-0000-4000-8000-000000000001";

/// Writes a log with so many memories by hand, and gives their texts.
fn log(field: &mut Field, day: &str, memories: usize) -> Vec<String> {
    let mut text = format!("# {day}\n\n<!-- session {SESSION} +09:00 -->\n");
    let texts: Vec<String> = (0..memories).map(|n| format!("memory {n} of {day} names the part{n}")).collect();
    for (n, memory) in texts.iter().enumerate() {
        let _ = writeln!(text, "- [10:{:02}:{:02}] **User Prompt**: {memory}", n / 60 % 60, n % 60);
    }
    field.sandbox.write(format!(".jikime/memory/{day}.md"), text);
    texts.iter().for_each(|text| field.ledger.keep(text));
    texts
}

fn notes(field: &Field, notes: usize) {
    for n in 0..notes {
        let text = format!("# Note {n}\n\n{}\n", "Prose that says where the ocelot sleeps. ".repeat(10));
        field.sandbox.write(format!(".jikime/memory/notes/{n}.md"), text);
    }
}

/// Indexing is killed, of a new store and of one in which people changed, added and deleted much.
pub(super) fn index(field: &mut Field, blow: &Blow, random: &mut Random) {
    let texts = log(field, "2026-01-28", 420);
    notes(field, 12);
    if random.once_in(2) {
        field.cli(&["index"], Some(blow));
        return;
    }
    field.cli(&["index"], None);
    let path = field.sandbox.store().join("2026-01-28.md");
    let mut changed = fs::read_to_string(&path).unwrap_or_default();
    for text in &texts {
        match random.below(4) {
            0 => {
                changed = changed.lines().filter(|line| !line.ends_with(text.as_str())).fold(String::new(), join);
                field.ledger.forget(text);
            }
            1 => {
                changed = changed.lines().fold(String::new(), |all, line| {
                    join(all, &if line.ends_with(text.as_str()) { format!("{line} (edited)") } else { line.to_owned() })
                });
                field.ledger.forget(text);
                field.ledger.keep(&format!("{text} (edited)"));
            }
            _ => {}
        }
    }
    fs::write(&path, changed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    log(field, "2026-01-29", 40);
    notes(field, 20);
    field.cli(&["index"], Some(blow));
}

fn join(all: String, line: impl AsRef<str>) -> String {
    all + line.as_ref() + "\n"
}

/// A rebuild is killed; what was found before is found afterwards.
pub(super) fn rebuild(field: &mut Field, blow: &Blow, random: &mut Random) {
    let texts = log(field, "2026-01-28", 120);
    notes(field, 12);
    field.cli(&["index"], None);
    if random.once_in(2) {
        let text = field.text();
        field.prompt(&text, None);
    }
    field.cli(&["index", "--full"], Some(blow));
    let wanted = random.one(&texts.iter().collect::<Vec<_>>());
    let found = field.sandbox.run_cli(["search", "--json", wanted]);
    if !found.status.success() || !found.stdout.contains(wanted.as_str()) {
        field.find(format!("{wanted:?} is not found: {} {}", found.stdout, found.stderr));
    }
}

/// Forgetting is killed, and done again.
pub(super) fn forget(field: &mut Field, blow: &Blow, random: &mut Random) {
    let other = log(field, "2026-01-28", 30);
    for _ in 0..4 {
        let text = field.text();
        field.prompt(&text, None);
    }
    field.cli(&["index"], None);
    let gone: Vec<String> = if random.once_in(2) { vec![other[7].clone()] } else { other };
    let arguments: Vec<&str> = match gone.as_slice() {
        [one] => vec!["forget", "--query", one, "--yes"],
        _ => vec!["forget", "--session", SESSION, "--yes"],
    };
    gone.iter().for_each(|text| field.ledger.try_to_forget(text));
    if !field.cli(&arguments, Some(blow)) {
        field.cli(&["index"], None);
        // What is gone already is no error, and what is left goes now.
        let left = texts_in_rows(&field.sandbox.store()).unwrap_or_default();
        if gone.iter().any(|text| left.contains_key(text)) {
            field.cli(&arguments, None);
        }
    }
    gone.iter().for_each(|text| field.ledger.forget(text));
}

/// An upgrade of a database of the Go version is killed.
pub(super) fn upgrade(field: &mut Field, blow: &Blow, _random: &mut Random) {
    field.sandbox.write(
        ".jikime/memory/2026-01-28.md",
        "# 2026-01-28\n\n- [10:30:15] **User Prompt**: held by the log 3\n\n## Decision\n\n- held by the log 4\n",
    );
    let db = Connection::open(field.sandbox.store().join("memory.db")).expect("a new database");
    db.execute_batch(GO_TABLES).expect("tables");
    for n in 0..60 {
        let kind = ["user_prompt", "decision", "assistant_response"][n % 3];
        let text = if n == 3 || n == 4 { format!("held by the log {n}") } else { format!("row {n} of the Go version") };
        let day = 28 + n / 40;
        let at = format!("2026-01-{day}T01:30:{:02}Z", n % 40);
        let sql = "INSERT INTO memories VALUES (?1, 's', '/p', ?2, ?3, 'h', NULL, NULL, ?4, ?4, 7)";
        db.execute(sql, [&format!("go-{n}"), kind, &text, &at]).expect("a row");
        field.ledger.keep(&text);
    }
    drop(db);
    field.cli(&["index"], Some(blow));
    let text = field.text();
    field.prompt(&text, None);
}

/// An upgrade of a database of an earlier version is killed, which may hold what no index has seen yet.
pub(super) fn upgrade_of_earlier_version(field: &mut Field, blow: &Blow, random: &mut Random) {
    let version = random.one(&["v4", "v5"]);
    let stores = fixtures_dir().join("stores");
    for name in ["2026-01-28.md", "MEMORY.md", "memory.db"] {
        let held = fs::read(stores.join(version).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        field.sandbox.write(format!(".jikime/memory/{name}"), held);
    }
    let listed = fs::read(stores.join(format!("{version}.list.json"))).expect("a fixture");
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed).expect("what a list answered");
    listed.iter().filter_map(|memory| memory["content"].as_str()).for_each(|text| field.ledger.keep(text));
    if random.once_in(2) {
        // A hook has no time for it: this waits in the spool.
        let text = field.text();
        field.prompt(&text, None);
    }
    field.cli(&["index"], Some(blow));
    let text = field.text();
    field.prompt(&text, None);
}

/// Taking in a transcript is killed, and done again.
pub(super) fn import(field: &mut Field, blow: &Blow, _random: &mut Random) {
    let mut transcript = String::new();
    let mut texts = Vec::new();
    for n in 0..520_usize {
        let at = Moment::from_unix(1_769_563_800 + n as i64 * 90, Some(0)).expect("a moment").utc();
        let text = format!("{} {n} of the transcript", ["question", "answer"][n % 2]);
        let message = match n % 2 {
            0 => json!({ "content": text }),
            _ => json!({
                "id": format!("m{n}"), "stop_reason": "end_turn", "content": [{ "type": "text", "text": text }],
            }),
        };
        let kind = ["user", "assistant"][n % 2];
        let line = json!({
            "type": kind, "message": message, "timestamp": at, "sessionId": SESSION,
        });
        let _ = writeln!(transcript, "{line}");
        texts.push(text);
    }
    let path = field.sandbox.root().join("transcript.jsonl");
    fs::write(&path, transcript).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let path = path.to_string_lossy().into_owned();
    texts.iter().for_each(|text| field.ledger.try_to_keep(text));
    let arguments = ["import", "claude-code", "--from", &path];
    if field.cli(&arguments, Some(blow)) || field.cli(&arguments, None) {
        texts.iter().for_each(|text| field.ledger.keep(text));
    }
}

const GO_TABLES: &str = "
    CREATE TABLE memories (id TEXT PRIMARY KEY, session_id TEXT, project_dir TEXT, type TEXT, content TEXT,
        content_hash TEXT, metadata TEXT, embedding BLOB, created_at, accessed_at, access_count INTEGER);
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, path TEXT, start_line INTEGER, end_line INTEGER, text TEXT, hash TEXT,
        heading TEXT, embedding BLOB);
    CREATE TABLE files (path TEXT PRIMARY KEY, hash TEXT, mtime INTEGER, size INTEGER, indexed_at TEXT);
    CREATE TABLE embedding_cache (content_hash TEXT, provider TEXT, model TEXT, embedding BLOB, dims INTEGER,
        created_at TEXT, PRIMARY KEY (content_hash, provider, model));";
