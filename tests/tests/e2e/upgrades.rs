//! Stores of all released versions, and programs of different versions on one store.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use harness::proof::{check_at_rest, texts_in_rows};
use harness::{Era, Sandbox, fixtures_dir, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

/// The current database version.
const LATEST: i64 = 9;

/// A project with a copy of a recorded store.
fn with_store(name: &str) -> Sandbox {
    let sandbox = sandbox!();
    copy(&fixtures_dir().join("stores").join(name), &sandbox.store());
    sandbox
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match item.path().is_dir() {
            true => copy(&item.path(), &to.join(item.file_name())),
            false => drop(fs::copy(item.path(), to.join(item.file_name())).unwrap()),
        }
    }
}

fn is_found(sandbox: &Sandbox, query: &str) -> bool {
    let found = sandbox.run_cli(["search", "--json", query]).assert_success().json();
    found["count"].as_u64().unwrap() > 0
}

/// Id and version of the database.
fn database(sandbox: &Sandbox) -> (String, i64) {
    let db = rusqlite::Connection::open(sandbox.store().join("memory.db")).unwrap();
    let instance = db.query_row("SELECT value FROM meta WHERE key = 'instance'", [], |row| row.get(0)).unwrap();
    (instance, db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap())
}

/// The memories, without the field that later versions added.
fn list(sandbox: &Sandbox) -> Value {
    let mut listed = sandbox.run_cli(["list", "--json", "--limit", "100"]).assert_success().json();
    let memories = listed.as_array_mut().unwrap().iter_mut().filter_map(Value::as_object_mut);
    memories.for_each(|memory| drop(memory.remove("done")));
    listed
}

#[rstest]
#[case("v4", 4)]
#[case("v5", 5)]
#[case("v6", 6)]
#[case("v7", 7)]
#[case("v8", 8)]
fn a_store_of_an_earlier_version_is_what_it_was(#[case] name: &str, #[case] version: i64) {
    let sandbox = with_store(name);
    let (instance, found) = database(&sandbox);
    assert_eq!(found, version);
    if version < LATEST {
        // A hook has no time for an upgrade, and loses nothing.
        sandbox.run_hook("memory-prompt-save", &sandbox.event("UserPromptSubmit").to_string()).assert_success();
        let spool = sandbox.store().join("spool");
        let waiting: Vec<_> = fs::read_dir(&spool).unwrap().map(Result::unwrap).collect();
        assert_eq!((waiting.len(), database(&sandbox).1), (1, version));
        fs::remove_file(waiting[0].path()).unwrap();
    }
    let listed = format!("stores/{name}.list.json");
    let expected: Value = serde_json::from_slice(&fs::read(fixtures_dir().join(listed)).unwrap()).unwrap();
    assert_eq!(list(&sandbox), expected);
    assert!(is_found(&sandbox, "토큰 캐시") && is_found(&sandbox, "walrus vault"));
    // Old rows have longer hashes and are still recognised.
    sandbox.run_cli(["save", "decision", "Cache JWT tokens in Redis, TTL five minutes."]).assert_success();
    assert_eq!(list(&sandbox), expected);
    sandbox.run_cli(["save", "decision", "And one more."]).assert_success();
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
    // The database was upgraded, not rebuilt.
    assert_eq!(database(&sandbox), (instance, LATEST));
}

#[test]
fn go_version_store_is_upgraded_with_a_backup() {
    let sandbox = with_store("go");
    let event = sandbox.event("UserPromptSubmit");
    // A hook has no time for an upgrade, and loses nothing.
    sandbox.run_hook("memory-prompt-save", &event.to_string()).assert_success().assert_no_stderr();
    assert_eq!(fs::read_dir(sandbox.store().join("spool")).unwrap().count(), 1);
    sandbox.run_cli(["index"]).assert_success();
    let texts: BTreeSet<String> = texts_in_rows(&sandbox.store()).unwrap().into_keys().collect();
    let expected = [
        "held by the log",
        "a decision held",
        "a decision that only\nthe database knows",
        "an answer",
        "of a type that is gone",
        event["prompt"].as_str().unwrap(),
    ];
    assert_eq!(texts, expected.map(str::to_owned).into());
    assert!(sandbox.store().join("memory.db.go-backup").exists());
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// The Go version stores local time as if it were UTC. Its logs have the local day.
#[test]
fn a_go_store_is_read_at_the_clock_of_its_logs() {
    let sandbox = sandbox!();
    let versions = fixtures_dir().join("stores/go-versions");
    fs::create_dir_all(sandbox.store()).unwrap();
    for name in ["2026-01-28.md", "MEMORY.md"] {
        fs::copy(versions.join(name), sandbox.store().join(name)).unwrap();
    }
    let db = rusqlite::Connection::open(sandbox.store().join("memory.db")).unwrap();
    for step in ["1.sql", "2.sql", "3.sql"] {
        db.execute_batch(&fs::read_to_string(versions.join(step)).unwrap()).unwrap();
    }
    // An hour at which UTC and local time are on different days.
    db.execute_batch(
        "UPDATE memories SET created_at = replace(created_at, 'T10', 'T01');
         UPDATE memories SET created_at = '2026-01-28 16:00:00' WHERE type = 'decision';",
    )
    .unwrap();
    drop(db);
    let log = sandbox.store().join("2026-01-28.md");
    let text = fs::read(&log).unwrap();
    fs::write(&log, String::from_utf8_lossy(&text).replace("- [10:", "- [01:")).unwrap();
    sandbox.run_cli(["index"]).assert_success();
    let listed = sandbox.run_cli(["list", "--json", "--limit", "100"]).assert_success().json();
    let of = |text: &str| {
        let memories = listed.as_array().unwrap().iter();
        let mut found = memories.filter(|memory| memory["content"].as_str().unwrap().contains(text));
        let first = found.next().unwrap_or_else(|| panic!("no {text:?} in {listed:#}"));
        assert!(found.next().is_none(), "{text:?} is there twice: {listed:#}");
        [&first["date"], &first["session_id"]].map(|text| text.as_str().unwrap().to_owned())
    };
    assert_eq!(of("Implement the watcher"), ["2026-01-28 01:30:15", "aaaa1111"]);
    assert_eq!(of("Only the database knows"), ["2026-01-29 01:00:00", ""]);
    assert_eq!(of("Gateway, service"), ["2026-01-27 09:30:00", ""]);
    assert!(is_found(&sandbox, "캐시") && is_found(&sandbox, "debounce"));
}

#[cfg(unix)]
#[test]
fn other_hook_version_loses_no_events() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    let sandbox = sandbox!();
    let client = sandbox.serve(Era::Modern);
    let connect = || UnixStream::connect(sandbox.socket()?).ok();
    let mut stream = harness::eventually_some(Duration::from_secs(20), connect);
    let mut said = |frame: Value| {
        stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        line
    };
    let memory = |text: &str| json!({ "session": "s", "type": "user_prompt", "at": "2026-01-28T10:30:00+09:00", "content": text, "redactions": 0 });
    // The format of version 1.
    assert_eq!(said(json!({ "v": 1, "capture": [memory("of the first version")] })), "{\"v\":1,\"captured\":true}\n");
    // A later version that only adds fields, and one with an incompatible format, which is refused so that the hook writes
    // directly.
    let mut added = memory("of a later version");
    added["mood"] = json!({ "good": true });
    assert_eq!(said(json!({ "v": 1, "capture": [added], "trace": 7 })), "{\"v\":1,\"captured\":true}\n");
    assert!(said(json!({ "v": 9, "capture": [memory("of another meaning")] })).contains("refused"));
    client.close();
    let texts: BTreeSet<String> = texts_in_rows(&sandbox.store()).unwrap().into_keys().collect();
    assert_eq!(texts, ["of the first version", "of a later version"].map(str::to_owned).into());
}
