//! A database with damaged pages is reset in place and rebuilt from Markdown without losing a memory.

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use harness::proof::{check_at_rest, texts_in_rows};
use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use rstest::rstest;
use serde_json::json;

const MEMORIES: usize = 80;

/// Time limit of embedding in parallel with other tests.
const VECTORS: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy)]
enum DamagePattern {
    Zeros,
    Text,
}

/// A store with many memories and notes, and checkpointed databases.
fn sandbox_with_memories() -> Sandbox {
    let sandbox = sandbox!();
    let mut log = String::from("# 2026-01-28\n\n## Learning\n\n");
    for n in 0..MEMORIES {
        log.push_str(&format!("- {} <!-- {{\"id\":\"{:032x}\"}} -->\n", memory(n), n + 1));
    }
    sandbox.write(".jikime/memory/2026-01-28.md", log);
    for n in 0..20 {
        sandbox
            .write(format!(".jikime/memory/note-{n}.md"), format!("# Note {n}\n\n{}", "Prose of a note. ".repeat(40)));
    }
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert!(!sandbox.store().join("memory.db-wal").exists());
    sandbox
}

fn memory(n: usize) -> String {
    format!("finding{n} about the scheduler,{}", format!(" detail{n} of part{}", n * 7).repeat(12))
}

/// Overwrites a quarter of the file from the given eighth; keeps the first page.
fn damage(sandbox: &Sandbox, name: &str, eighth: u64, filling: DamagePattern) {
    let path = sandbox.store().join(name);
    let length = fs::metadata(&path).unwrap().len();
    let start = (length * eighth / 8).max(4_096);
    let bytes = match filling {
        DamagePattern::Zeros => vec![0; (length / 4) as usize],
        DamagePattern::Text => b"garbage ".repeat((length / 32) as usize),
    };
    let bytes = &bytes[..bytes.len().min((length - start) as usize)];
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(start)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Everything is found, nothing waits, and the only problems are the repairs.
#[track_caller]
fn assert_whole(sandbox: &Sandbox, name: &str) {
    let mut client = sandbox.serve(Era::Modern);
    for n in 0..MEMORIES {
        is_found(&mut client, n);
        let opened = client.call("memory_get", json!({ "id": format!("{:032x}", n + 1) })).unwrap();
        assert!(opened.expect_success()["content"].as_str().is_some_and(|content| content.contains(&memory(n))));
    }
    // All damage was found by now. Idle steps recreate the vectors.
    eventually(VECTORS, || {
        let stats = client.call("memory_stats", json!({})).unwrap();
        stats.expect_success()["embedding"]["coverage"] == 1.0
    });
    let told: Vec<String> = (0..MEMORIES).step_by(8).filter_map(|n| is_found(&mut client, n)).collect();
    assert!(told.iter().flat_map(|text| text.split("; ")).all(|notice| notice.contains(name)), "{told:?}");
    let saved = client.call("memory_save", json!({ "type": "decision", "content": "One more for the road." })).unwrap();
    saved.expect_success();
    let stats = client.call("memory_stats", json!({})).unwrap();
    let stats = stats.expect_success();
    assert_eq!(stats["memories"], MEMORIES + 1, "{stats:#}");
    assert!(stats["chunks"].as_u64().unwrap() >= 20, "{stats:#}");
    assert!(!stats.to_string().contains("malformed"), "{stats:#}");
    // A full rebuild also checks unread pages.
    client.call("memory_reindex", json!({ "full": true })).unwrap().expect_success();
    drop(client);
    for name in ["memory.db", "index.db"] {
        let db = rusqlite::Connection::open(sandbox.store().join(name)).unwrap();
        let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{name}");
    }
}

/// The nth memory is the first hit for its own word. Returns the notice.
#[track_caller]
fn is_found(client: &mut McpClient, n: usize) -> Option<String> {
    let found = client.call("memory_search", json!({ "query": format!("finding{n}"), "minScore": 0 })).unwrap();
    let found = found.expect_success();
    assert_eq!(found["results"][0]["id"], format!("{:032x}", n + 1), "{n}: {found:#}");
    found["notice"].as_str().map(str::to_owned)
}

/// People delete a database but not the `-wal` and `-shm` files that running programs use.
#[rstest]
fn deleted_database_is_rebuilt_by_the_next_process(
    #[values(&["memory.db"], &["index.db"], &["memory.db", "index.db"])] names: &[&str],
) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let mut save = |text: &str| {
        client.call("memory_save", json!({ "type": "decision", "content": text })).unwrap().expect_success();
    };
    save("the walrus guards the vault");
    // Enough saves without a checkpoint to fill the write-ahead logs.
    (1..MEMORIES).for_each(|n| save(&memory(n)));
    names.iter().for_each(|name| fs::remove_file(sandbox.store().join(name)).unwrap());
    let saved = sandbox.run_cli(["save", "learning", "the otter is on leave"]);
    assert!(saved.assert_success().stderr.is_empty(), "{saved:?}");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.assert_success().stdout.contains("guards") && found.stderr.is_empty(), "{found:?}");
    save("the ocelot sleeps under the stairs");
    let found = client.call("memory_search", json!({ "query": "otter leave" })).unwrap();
    assert!(found.text.contains("on leave"), "{}", found.text);
    client.close();
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
    assert_eq!(texts_in_rows(&sandbox.store()).unwrap().len(), MEMORIES + 2);
}

fn copies(sandbox: &Sandbox) -> usize {
    let names = fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("memory.db.damaged-") && !name.ends_with("-wal")).count()
}

#[rstest]
fn server_rebuilds_a_damaged_database(
    #[values("memory.db", "index.db")] name: &str,
    #[values(0, 1, 2, 3, 4, 5, 6)] eighth: u64,
    #[values(DamagePattern::Zeros, DamagePattern::Text)] filling: DamagePattern,
) {
    let sandbox = sandbox_with_memories();
    damage(&sandbox, name, eighth, filling);
    assert_whole(&sandbox, name);
}

#[rstest]
fn command_line_rebuilds_a_damaged_database(
    #[values("memory.db", "index.db")] name: &str,
    #[values(0, 2, 4, 6)] eighth: u64,
) {
    let sandbox = sandbox_with_memories();
    damage(&sandbox, name, eighth, DamagePattern::Text);
    let mut warnings = String::new();
    for arguments in [vec!["save", "decision", "kept"], vec!["list"], vec!["stats"], vec!["index", "--full"]] {
        warnings.push_str(&sandbox.run_cli(arguments).assert_success().stderr);
    }
    let id = sandbox.run_cli(["list", "--limit", "1", "--json"]).assert_success().json()[0]["id"].clone();
    sandbox.run_cli(["forget", id.as_str().unwrap(), "--yes", "--keep-old-databases"]).assert_success();
    assert_eq!(copies(&sandbox), usize::from(name == "memory.db"), "{warnings}");
    assert!(name == "index.db" || warnings.contains("a copy of it is memory.db.damaged-"), "{warnings}");
    assert_whole(&sandbox, name);
}

#[rstest]
#[case("memory.db")]
#[case("index.db")]
fn indexing_in_full_leaves_no_damage(#[case] name: &str) {
    let sandbox = sandbox_with_memories();
    damage(&sandbox, name, 3, DamagePattern::Text);
    sandbox.run_cli(["index", "--full"]).assert_success();
    let check = |name| -> String {
        let db = rusqlite::Connection::open(sandbox.store().join(name)).unwrap();
        db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((check("memory.db").as_str(), check("index.db").as_str()), ("ok", "ok"));
    assert_whole(&sandbox, name);
}

#[test]
fn running_server_survives_damage() {
    for name in ["memory.db", "index.db"] {
        let sandbox = sandbox_with_memories();
        let mut client = sandbox.serve(Era::Legacy);
        client.call("memory_search", json!({ "query": "finding1" })).unwrap().expect_success();
        damage(&sandbox, name, 0, DamagePattern::Text);
        damage(&sandbox, name, 2, DamagePattern::Text);
        for n in 0..MEMORIES {
            let found = client.call("memory_search", json!({ "query": format!("finding{n}"), "minScore": 0 })).unwrap();
            assert_eq!(found.expect_success()["results"][0]["id"], format!("{:032x}", n + 1), "{n}");
        }
        let full = client.call("memory_reindex", json!({ "full": true })).unwrap();
        full.expect_success();
        drop(client);
        assert_whole(&sandbox, name);
    }
}

#[test]
fn events_during_damage_are_saved_later() {
    for eighth in [0, 1, 2, 4] {
        let sandbox = sandbox_with_memories();
        damage(&sandbox, "memory.db", eighth, DamagePattern::Text);
        damage(&sandbox, "memory.db", eighth + 2, DamagePattern::Text);
        let mut event = sandbox.event("UserPromptSubmit");
        for n in 0..3 {
            event["prompt"] = json!(format!("what is the walrus{n} for?"));
            sandbox.run_hook("memory-prompt-save", &event.to_string()).assert_success().assert_no_stdout();
        }
        let noted = fs::read_to_string(sandbox.store().join("hook.log")).unwrap_or_default();
        assert!(noted.matches("malformed").count() <= noted.lines().count(), "logged once: {noted}");
        for n in 0..3 {
            let found = sandbox
                .run_cli(["search", "--json", "--min-score", "0", &format!("walrus{n}")])
                .assert_success()
                .json();
            let first = found["results"][0]["snippet"].as_str().unwrap_or_default();
            assert!(first.contains(&format!("walrus{n}")), "{eighth}: {found:#}");
        }
        assert_eq!(sandbox.run_cli(["stats", "--json"]).assert_success().json()["queue"], 0);
        sandbox.run_cli(["list"]).assert_success();
        assert_eq!(sandbox.logs().matches("what is the walrus").count(), 3);
    }
}
