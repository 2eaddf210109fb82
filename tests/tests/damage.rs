//! A database with damaged pages is reset in place and rebuilt from Markdown, and every memory is there afterwards.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use harness::proof::{at_rest, texts_in_rows};
use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use rstest::rstest;
use serde_json::json;

const MEMORIES: usize = 80;

/// How long vectors of all of them may take beside everything else that is tested.
const VECTORS: Duration = Duration::from_secs(60);

/// What a part of a file is overwritten with.
#[derive(Debug, Clone, Copy)]
enum Filling {
    Zeros,
    Text,
}

/// A store with many memories and notes, whose databases are whole files without a log beside them.
fn filled() -> Sandbox {
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
    sandbox.run_cli(["index", "--full"]).success();
    assert!(!sandbox.store().join("memory.db-wal").exists());
    sandbox
}

fn memory(n: usize) -> String {
    format!("finding{n} about the scheduler,{}", format!(" detail{n} of part{}", n * 7).repeat(12))
}

/// Overwrites a quarter of the file from one of its eighths on; the first page stays as it is.
fn damage(sandbox: &Sandbox, name: &str, eighth: u64, filling: Filling) {
    let path = sandbox.store().join(name);
    let length = fs::metadata(&path).unwrap().len();
    let start = (length * eighth / 8).max(4_096);
    let bytes = match filling {
        Filling::Zeros => vec![0; (length / 4) as usize],
        Filling::Text => b"garbage ".repeat((length / 32) as usize),
    };
    let bytes = &bytes[..bytes.len().min((length - start) as usize)];
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(start)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Everything is found, and nothing is waiting or wrong but what was mended.
#[track_caller]
fn is_whole(sandbox: &Sandbox, name: &str) {
    let mut client = sandbox.serve(Era::Modern);
    for n in 0..MEMORIES {
        is_found(&mut client, n);
        let opened = client.call("memory_get", json!({ "id": format!("{:032x}", n + 1) })).unwrap();
        assert!(opened.expect_success()["content"].as_str().is_some_and(|content| content.contains(&memory(n))));
    }
    // Whatever is damaged was met by now. Vectors of an index that was made anew come when nobody asks.
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
    // Pages that nobody has read yet are checked by a full rebuild.
    client.call("memory_reindex", json!({ "full": true })).unwrap().expect_success();
    drop(client);
    for name in ["memory.db", "index.db"] {
        let db = rusqlite::Connection::open(sandbox.store().join(name)).unwrap();
        let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{name}");
    }
}

/// The nth memory is the first that is found for its own word. Gives what is told beside.
#[track_caller]
fn is_found(client: &mut McpClient, n: usize) -> Option<String> {
    let found = client.call("memory_search", json!({ "query": format!("finding{n}"), "minScore": 0 })).unwrap();
    let found = found.expect_success();
    assert_eq!(found["results"][0]["id"], format!("{:032x}", n + 1), "{n}: {found:#}");
    found["notice"].as_str().map(str::to_owned)
}

/// People delete a database and not what lies beside it, which programs still use that had it open.
#[rstest]
fn a_database_that_is_deleted_under_a_server_is_made_anew_by_whoever_comes_next(
    #[values(&["memory.db"], &["index.db"], &["memory.db", "index.db"])] names: &[&str],
) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let mut save = |text: &str| {
        client.call("memory_save", json!({ "type": "decision", "content": text })).unwrap().expect_success();
    };
    save("the walrus guards the vault");
    // So many that the server did not come to tidying up, and the logs beside the databases are not empty.
    (1..MEMORIES).for_each(|n| save(&memory(n)));
    names.iter().for_each(|name| fs::remove_file(sandbox.store().join(name)).unwrap());
    let saved = sandbox.run_cli(["save", "learning", "the otter is on leave"]);
    assert!(saved.success().stderr.is_empty(), "{saved:?}");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.success().stdout.contains("guards") && found.stderr.is_empty(), "{found:?}");
    save("the ocelot sleeps under the stairs");
    let found = client.call("memory_search", json!({ "query": "otter leave" })).unwrap();
    assert!(found.text.contains("on leave"), "{}", found.text);
    client.close();
    assert_eq!(at_rest(&sandbox.store()), [""; 0]);
    assert_eq!(texts_in_rows(&sandbox.store()).unwrap().len(), MEMORIES + 2);
}

fn copies(sandbox: &Sandbox) -> usize {
    let names = fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("memory.db.damaged-") && !name.ends_with("-wal")).count()
}

#[rstest]
fn a_server_makes_a_damaged_database_anew(
    #[values("memory.db", "index.db")] name: &str,
    #[values(0, 1, 2, 3, 4, 5, 6)] eighth: u64,
    #[values(Filling::Zeros, Filling::Text)] filling: Filling,
) {
    let sandbox = filled();
    damage(&sandbox, name, eighth, filling);
    is_whole(&sandbox, name);
}

#[rstest]
fn the_command_line_makes_a_damaged_database_anew(
    #[values("memory.db", "index.db")] name: &str,
    #[values(0, 2, 4, 6)] eighth: u64,
) {
    let sandbox = filled();
    damage(&sandbox, name, eighth, Filling::Text);
    let mut warnings = String::new();
    for arguments in [vec!["save", "decision", "kept"], vec!["list"], vec!["stats"], vec!["index", "--full"]] {
        warnings.push_str(&sandbox.run_cli(arguments).success().stderr);
    }
    let id = sandbox.run_cli(["list", "--limit", "1", "--json"]).success().json()[0]["id"].clone();
    sandbox.run_cli(["forget", id.as_str().unwrap(), "--yes", "--keep-old-databases"]).success();
    assert_eq!(copies(&sandbox), usize::from(name == "memory.db"), "{warnings}");
    assert!(name == "index.db" || warnings.contains("a copy of it is memory.db.damaged-"), "{warnings}");
    is_whole(&sandbox, name);
}

#[rstest]
#[case("memory.db")]
#[case("index.db")]
fn indexing_in_full_leaves_no_damage(#[case] name: &str) {
    let sandbox = filled();
    damage(&sandbox, name, 3, Filling::Text);
    sandbox.run_cli(["index", "--full"]).success();
    let check = |name| -> String {
        let db = rusqlite::Connection::open(sandbox.store().join(name)).unwrap();
        db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((check("memory.db").as_str(), check("index.db").as_str()), ("ok", "ok"));
    is_whole(&sandbox, name);
}

#[test]
fn a_running_server_meets_damage_and_goes_on() {
    for name in ["memory.db", "index.db"] {
        let sandbox = filled();
        let mut client = sandbox.serve(Era::Legacy);
        client.call("memory_search", json!({ "query": "finding1" })).unwrap().expect_success();
        damage(&sandbox, name, 0, Filling::Text);
        damage(&sandbox, name, 2, Filling::Text);
        for n in 0..MEMORIES {
            let found = client.call("memory_search", json!({ "query": format!("finding{n}"), "minScore": 0 })).unwrap();
            assert_eq!(found.expect_success()["results"][0]["id"], format!("{:032x}", n + 1), "{n}");
        }
        let full = client.call("memory_reindex", json!({ "full": true })).unwrap();
        full.expect_success();
        drop(client);
        is_whole(&sandbox, name);
    }
}

#[test]
fn what_hooks_see_while_the_database_is_damaged_is_kept_by_whoever_comes_next() {
    for eighth in [0, 1, 2, 4] {
        let sandbox = filled();
        damage(&sandbox, "memory.db", eighth, Filling::Text);
        damage(&sandbox, "memory.db", eighth + 2, Filling::Text);
        let mut event = sandbox.event("UserPromptSubmit");
        for n in 0..3 {
            event["prompt"] = json!(format!("what is the walrus{n} for?"));
            sandbox.run_hook("memory-prompt-save", &event.to_string()).success().printed_nothing();
        }
        let noted = fs::read_to_string(sandbox.store().join("hook.log")).unwrap_or_default();
        assert!(noted.matches("malformed").count() <= noted.lines().count(), "told once: {noted}");
        for n in 0..3 {
            let found =
                sandbox.run_cli(["search", "--json", "--min-score", "0", &format!("walrus{n}")]).success().json();
            let first = found["results"][0]["snippet"].as_str().unwrap_or_default();
            assert!(first.contains(&format!("walrus{n}")), "{eighth}: {found:#}");
        }
        assert_eq!(sandbox.run_cli(["stats", "--json"]).success().json()["queue"], 0);
        sandbox.run_cli(["list"]).success();
        assert_eq!(sandbox.logs().matches("what is the walrus").count(), 3);
    }
}
