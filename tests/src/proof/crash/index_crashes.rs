//! Crashes during indexing, rebuilds, deletions, upgrades and imports.

use std::fmt::Write as _;
use std::fs;

use rusqlite::Connection;
use schema::model::moment::Moment;
use serde_json::json;

use super::crash_run::CrashRun;
use super::kill::KillTime;
use crate::fixtures::fixtures_dir;
use crate::proof::{SeededRandom, texts_in_rows};

const SESSION: &str = "5e55105e-0000-4000-8000-000000000001";

/// Writes a log with this many memories by hand and returns their texts.
fn write_log(field: &mut CrashRun, day: &str, memories: usize) -> Vec<String> {
    let mut text = format!("# {day}\n\n<!-- session {SESSION} +09:00 -->\n");
    let texts: Vec<String> = (0..memories).map(|n| format!("memory {n} of {day} names the part{n}")).collect();
    for (n, memory) in texts.iter().enumerate() {
        let _ = writeln!(text, "- [10:{:02}:{:02}] **User Prompt**: {memory}", n / 60 % 60, n % 60);
    }
    field.sandbox.write(format!(".jikime/memory/{day}.md"), text);
    texts.iter().for_each(|text| field.ledger.expect(text));
    texts
}

fn write_notes(field: &CrashRun, notes: usize) {
    for n in 0..notes {
        let text = format!("# Note {n}\n\n{}\n", "Prose that says where the ocelot sleeps. ".repeat(10));
        field.sandbox.write(format!(".jikime/memory/notes/{n}.md"), text);
    }
}

/// Kills indexing of a new store, and of one with many changes.
pub(super) fn crash_index(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let texts = write_log(field, "2026-01-28", 420);
    write_notes(field, 12);
    if random.once_in(2) {
        field.run_cli(&["index"], Some(blow));
        return;
    }
    field.run_cli(&["index"], None);
    let path = field.sandbox.store().join("2026-01-28.md");
    let mut changed = fs::read_to_string(&path).unwrap_or_default();
    for text in &texts {
        match random.below(4) {
            0 => {
                changed =
                    changed.lines().filter(|line| !line.ends_with(text.as_str())).fold(String::new(), append_line);
                field.ledger.expect_gone(text);
            }
            1 => {
                changed = changed.lines().fold(String::new(), |all, line| {
                    append_line(
                        all,
                        &if line.ends_with(text.as_str()) { format!("{line} (edited)") } else { line.to_owned() },
                    )
                });
                field.ledger.expect_gone(text);
                field.ledger.expect(&format!("{text} (edited)"));
            }
            _ => {}
        }
    }
    fs::write(&path, changed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    write_log(field, "2026-01-29", 40);
    write_notes(field, 20);
    field.run_cli(&["index"], Some(blow));
}

fn append_line(all: String, line: impl AsRef<str>) -> String {
    all + line.as_ref() + "\n"
}

/// Kills a rebuild. Everything found before must be found afterwards.
pub(super) fn crash_rebuild(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let texts = write_log(field, "2026-01-28", 120);
    write_notes(field, 12);
    field.run_cli(&["index"], None);
    if random.once_in(2) {
        let text = field.new_text();
        field.send_prompt(&text, None);
    }
    field.run_cli(&["index", "--full"], Some(blow));
    let wanted = random.pick(&texts.iter().collect::<Vec<_>>());
    let found = field.sandbox.run_cli(["search", "--json", wanted]);
    if !found.status.success() || !found.stdout.contains(wanted.as_str()) {
        field.add_finding(format!("{wanted:?} is not found: {} {}", found.stdout, found.stderr));
    }
}

/// Kills a deletion and repeats it.
pub(super) fn crash_forget(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let other = write_log(field, "2026-01-28", 30);
    for _ in 0..4 {
        let text = field.new_text();
        field.send_prompt(&text, None);
    }
    field.run_cli(&["index"], None);
    let gone: Vec<String> = if random.once_in(2) { vec![other[7].clone()] } else { other };
    let arguments: Vec<&str> = match gone.as_slice() {
        [one] => vec!["forget", "--query", one, "--yes"],
        _ => vec!["forget", "--session", SESSION, "--yes"],
    };
    gone.iter().for_each(|text| field.ledger.allow_gone(text));
    if !field.run_cli(&arguments, Some(blow)) {
        field.run_cli(&["index"], None);
        // Memories that are already deleted are no error, and the others must be deleted now.
        let left = texts_in_rows(&field.sandbox.store()).unwrap_or_default();
        if gone.iter().any(|text| left.contains_key(text)) {
            field.run_cli(&arguments, None);
        }
    }
    gone.iter().for_each(|text| field.ledger.expect_gone(text));
}

/// Kills an upgrade of a database of the Go version.
pub(super) fn crash_go_upgrade(field: &mut CrashRun, blow: &KillTime, _random: &mut SeededRandom) {
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
        field.ledger.expect(&text);
    }
    drop(db);
    field.run_cli(&["index"], Some(blow));
    let text = field.new_text();
    field.send_prompt(&text, None);
}

/// Kills an upgrade of an older database, which may have unindexed rows.
pub(super) fn crash_schema_upgrade(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let version = random.pick(&["v4", "v5"]);
    let stores = fixtures_dir().join("stores");
    for name in ["2026-01-28.md", "MEMORY.md", "memory.db"] {
        let held = fs::read(stores.join(version).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        field.sandbox.write(format!(".jikime/memory/{name}"), held);
    }
    let listed = fs::read(stores.join(format!("{version}.list.json"))).expect("a fixture");
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed).expect("what a list answered");
    listed.iter().filter_map(|memory| memory["content"].as_str()).for_each(|text| field.ledger.expect(text));
    if random.once_in(2) {
        // The hook has no time for an upgrade, so this is queued on disk.
        let text = field.new_text();
        field.send_prompt(&text, None);
    }
    field.run_cli(&["index"], Some(blow));
    let text = field.new_text();
    field.send_prompt(&text, None);
}

/// Kills an import and repeats it.
pub(super) fn crash_import(field: &mut CrashRun, blow: &KillTime, _random: &mut SeededRandom) {
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
    texts.iter().for_each(|text| field.ledger.allow(text));
    let arguments = ["import", "claude-code", "--from", &path];
    if field.run_cli(&arguments, Some(blow)) || field.run_cli(&arguments, None) {
        texts.iter().for_each(|text| field.ledger.expect(text));
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
