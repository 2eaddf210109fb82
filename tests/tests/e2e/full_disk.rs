//! Stores on read-only or full disks: memories can be read, and writes fail with the reason.
//!
//! Each disk is mounted in a mount namespace of one process. If that is not permitted, these tests are skipped.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use harness::proof::check_at_rest;
use harness::{Era, McpClient, ProgramOutput, Sandbox, eventually, fixtures_dir, report_skip, run_to_end, sandbox};
use rstest::rstest;
use rusqlite::Connection;
use serde_json::json;

/// Time limit for a server to notice a change.
const SEEN: Duration = Duration::from_secs(30);

const KEPT: &str = "Webhooks are acknowledged after the commit.";

/// Commands that prepare the disk of `$STORE` before the program starts.
const READ_ONLY: &str = "mount --bind \"$STORE\" \"$STORE\" && mount -o remount,bind,ro \"$STORE\"";
const FULL: &str = "cp -a \"$STORE\" \"$STORE.saved\" && mount -t tmpfs -o size=1m none \"$STORE\" && \
     cp -a \"$STORE.saved/.\" \"$STORE/\" && (cat /dev/zero > \"$STORE/filling\" || true) 2>/dev/null && \
     rm -r \"$STORE.saved\"";

/// Runs a program with another disk under the store.
fn with_disk(disk: &str, sandbox: &Sandbox, program: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &format!("{disk} && exec \"$@\""), "sh"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(sandbox.project()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("STORE", sandbox.store());
    command
}

fn run(disk: &str, sandbox: &Sandbox, mut program: Command, arguments: &[&str], input: &str) -> ProgramOutput {
    program.args(arguments);
    run_to_end(with_disk(disk, sandbox, &program), input, Duration::from_mins(1))
}

fn serve(disk: &str, sandbox: &Sandbox) -> McpClient {
    let mut program = sandbox.memory_command();
    program.arg("serve");
    McpClient::start(with_disk(disk, sandbox, &program), Era::Modern)
}

/// A store with one memory, or `None` if disks cannot be mounted.
fn store() -> Option<Sandbox> {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    for disk in [READ_ONLY, FULL] {
        let tried = with_disk(disk, &sandbox, &Command::new("true")).output();
        if !tried.as_ref().is_ok_and(|tried| tried.status.success()) {
            report_skip(format_args!("cannot mount a disk here: {tried:?}"));
            return None;
        }
    }
    Some(sandbox)
}

#[test]
fn a_read_only_store_is_read_and_says_why_it_is_not_written() {
    let Some(sandbox) = store() else { return };
    let found = run(READ_ONLY, &sandbox, sandbox.memory_command(), &["search", "webhooks commit"], "");
    assert!(found.assert_success().stdout.contains(KEPT), "{found:?}");
    assert!(found.stderr.contains("read-only: it cannot be written: Read-only file system"), "{found:?}");
    let refused = run(READ_ONLY, &sandbox, sandbox.memory_command(), &["save", "decision", "new"], "");
    assert!(refused.assert_code(1).stderr.contains("Read-only file system"), "{refused:?}");
    let event = sandbox.event("UserPromptSubmit").to_string();
    let hook = run(READ_ONLY, &sandbox, sandbox.hook_command("memory-prompt-save"), &[], &event);
    hook.assert_success().assert_no_stdout().assert_no_stderr();

    let mut client = serve(READ_ONLY, &sandbox);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let opened = client.call("memory_get", json!({ "id": found.expect_success()["results"][0]["id"] })).unwrap();
    assert!(opened.expect_success()["content"].as_str().unwrap().contains(KEPT));
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "new" })).unwrap();
    assert!(refused.expect_failure().contains("the store is read-only"), "{}", refused.text);
    client.call("memory_reindex", json!({ "full": true })).unwrap().expect_success();
    let problems = client.call("memory_stats", json!({})).unwrap().expect_success()["problems"].to_string();
    assert!(problems.contains("Read-only file system"), "{problems}");
    drop(client);
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!((&stats["memories"], &stats["problems"]), (&json!(1), &json!([])), "{stats:#}");
}

#[test]
fn full_disk_store_is_readable_and_reported() {
    let Some(sandbox) = store() else { return };
    let says = |text: &str| text.contains("no space is left") || text.contains("No space left on device");
    let found = run(FULL, &sandbox, sandbox.memory_command(), &["search", "webhooks commit"], "");
    assert!(found.assert_success().stdout.contains(KEPT), "{found:?}");
    assert!(says(&found.stderr), "{found:?}");
    let refused = run(FULL, &sandbox, sandbox.memory_command(), &["save", "decision", "new"], "");
    assert!(says(&refused.assert_code(1).stderr), "{refused:?}");
    let event = sandbox.event("UserPromptSubmit").to_string();
    let hook = run(FULL, &sandbox, sandbox.hook_command("memory-prompt-save"), &[], &event);
    hook.assert_success().assert_no_stdout().assert_no_stderr();

    let mut client = serve(FULL, &sandbox);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "new" })).unwrap();
    assert!(says(refused.expect_failure()), "{}", refused.text);
    let problems = client.call("memory_stats", json!({})).unwrap().expect_success()["problems"].to_string();
    assert!(says(&problems), "{problems}");
}

/// A disk with room, which the test fills while the server runs.
const SMALL: &str = "cp -a \"$STORE\" \"$STORE.saved\" && mount -t tmpfs -o size=4m none \"$STORE\" && \
     cp -a \"$STORE.saved/.\" \"$STORE/\" && rm -r \"$STORE.saved\"";

#[test]
fn server_reads_on_when_its_disk_fills_up() {
    let Some(sandbox) = store() else { return };
    let mut client = serve(SMALL, &sandbox);
    let search = |client: &mut McpClient, query: &str| {
        client.call("memory_search", json!({ "query": query })).unwrap().expect_success()["results"].to_string()
    };
    assert!(search(&mut client, "webhooks commit").contains(KEPT));
    let store = PathBuf::from(format!("/proc/{}/root{}", client.process_id(), sandbox.store().display()));
    let mut filling = fs::File::create(store.join("filling")).unwrap();
    while filling.write_all(&[0; 4096]).is_ok() {}
    // An open file would keep its space when it is deleted.
    drop(filling);
    let names = fs::read_dir(&store).unwrap().map(|item| item.unwrap().path());
    let log = names.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "md")).unwrap();
    // An editor that changes one word in place, which needs no space.
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(&log).unwrap().replace(from, to);
        fs::File::options().write(true).open(&log).unwrap().write_all(text.as_bytes()).unwrap();
    };
    edit("commit.", "commit!");
    let problems = |client: &mut McpClient| {
        client.call("memory_stats", json!({})).unwrap().expect_success()["problems"].to_string()
    };
    eventually(SEEN, || problems(&mut client).contains("recent changes are not searched yet"));
    assert!(search(&mut client, "webhooks commit").contains(KEPT));
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "long ".repeat(5_000) })).unwrap();
    assert!(refused.expect_failure().contains("No space left on device"), "{}", refused.text);
    fs::remove_file(store.join("filling")).unwrap();
    edit("commit!", "commit?");
    eventually(SEEN, || search(&mut client, "webhooks commit").contains("commit?"));
    eventually(SEEN, || problems(&mut client) == "[]");
}

/// A program whose files may have at most this number of blocks of 512 bytes.
#[cfg(unix)]
fn with_limit(blocks: u32, program: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("ulimit -f {blocks} && exec \"$@\""), "sh"]).arg(program.get_program());
    limited.args(program.get_args()).current_dir(program.get_current_dir().unwrap()).env_clear();
    limited.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}

#[cfg(unix)]
#[rstest]
fn limit_on_file_size_stops_no_reader(#[values(0, 1, 8, 64, 80, 128, 200, 300)] blocks: u32) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let deadline = Duration::from_mins(1);
    let limited = |arguments: &[&str]| {
        let mut program = sandbox.memory_command();
        program.args(arguments);
        run_to_end(with_limit(blocks, &program), "", deadline)
    };
    // The entry of the last hook is in the log without a row.
    for n in 0..4 {
        let event = sandbox.prompt_event(&format!("prompt {n} {}", "word ".repeat(3_000))).to_string();
        let hook = run_to_end(with_limit(blocks, &sandbox.hook_command("memory-prompt-save")), &event, deadline);
        hook.assert_success().assert_no_stdout().assert_no_stderr();
    }
    limited(&["list"]).assert_success();
    let found = limited(&["search", "webhooks commit"]);
    assert!(found.assert_success().stdout.contains(KEPT), "{found:?}");
    assert!(limited(&["list", "--type", "decision"]).stdout.contains(KEPT));
    limited(&["stats"]).assert_success();
    limited(&["doctor"]);
    let reasons = ["File too large", "disk I/O error", "disk is full", "read-only"];
    let saved = limited(&["save", "learning", "saved under a limit"]);
    assert!(saved.status.success() || reasons.iter().any(|reason| saved.stderr.contains(reason)), "{saved:?}");

    let mut server = sandbox.memory_command();
    server.arg("serve");
    let mut client = McpClient::start(with_limit(blocks, &server), Era::Modern);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert!(found.expect_success()["results"].to_string().contains(KEPT), "{found:?}");
    let saved = client.call("memory_save", json!({ "type": "learning", "content": "saved by a server" })).unwrap();
    assert!(!saved.is_error || reasons.iter().any(|reason| saved.text.contains(reason)), "{}", saved.text);
    client.call("memory_stats", json!({})).unwrap().expect_success();
    drop(client);

    // Without the limit, each entry gets its row.
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// Deletes the only memory on a full disk, and prints the remaining Markdown.
#[rstest]
#[case::delete(r#""$0" delete --all --yes "$("$0" list --json | grep -m 1 '"id"' | cut -d '"' -f 4)""#)]
#[case::forget(r#""$0" forget --query webhooks --all --yes"#)]
#[case::gc(r#""$0" gc --keep-bytes 1B --also decision --yes"#)]
#[case::reset(r#""$0" reset --all --yes"#)]
#[case::scrub(r#"printf 'redact = ["Webhooks[^<]*"]' > "$STORE/../memory.toml" && "$0" scrub --yes"#)]
fn full_disk_lets_memories_be_deleted(#[case] command: &str) {
    let Some(sandbox) = store() else { return };
    let mut shell = Command::new("sh");
    let memory = sandbox.memory_command();
    shell.args(["-c", &format!("{command} && {{ cat \"$STORE\"/20*.md; true; }}")]).arg(memory.get_program());
    shell.envs(memory.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = run(FULL, &sandbox, shell, &[], "");
    assert!(!done.assert_success().stdout.contains(&format!("- {KEPT}")), "{done:?}");
}

/// A disk with room for the store and `$ROOM` sixteenths of its database. Leaves a copy next to the store as `after`.
const NEARLY_FULL: &str = "cp -a \"$STORE\" \"$STORE.saved\" && size=$(stat -c %s \"$STORE/memory.db\") && \
     mount -t tmpfs -o size=$((size * 6)) none \"$STORE\" && cp -a \"$STORE.saved/.\" \"$STORE/\" && \
     left=$(df --output=avail --block-size=1 \"$STORE\" | tail -n 1) && \
     head -c $((left - size * ROOM / 16)) /dev/zero > \"$STORE/filling\" && \
     { \"$@\"; cp -a \"$STORE/.\" \"$STORE.saved/\"; mv \"$STORE.saved\" \"$STORE.after\"; exit; }";

#[test]
fn a_database_of_an_earlier_version_stays_as_it_is_without_room() {
    let Some(sandbox) = store() else { return };
    let fixture = fixtures_dir().join("stores/v4/memory.db");
    let path = sandbox.store().join("memory.db");
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.store().join(format!("memory.db{ending}")));
    }
    fs::copy(fixture, &path).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch(
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
         INSERT INTO memories (id, session_id, project_dir, type, content, content_hash, path, start_line, end_line,
             created_at, utc_offset)
         SELECT printf('%032x', i), 's', '', 'error', printf('text %d ', i) || hex(zeroblob(200)), 'h', '2026-02-01.md', i, i,
             '2026-01-28T00:00:00Z', 0 FROM n;
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    drop(db);
    let mut versions = BTreeSet::new();
    for room in (8..48).step_by(2) {
        let mut program = sandbox.memory_command();
        program.env("ROOM", room.to_string());
        run(NEARLY_FULL, &sandbox, program, &["stats"], "");
        let after = sandbox.store().with_extension("after");
        let names = fs::read_dir(&after).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let names: Vec<String> = names.filter(|name| name.contains("damaged") || name.contains(".tmp")).collect();
        assert_eq!(names, [""; 0], "{room}");
        let db = Connection::open(after.join("memory.db")).unwrap();
        let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        let rows: i64 =
            db.query_row("SELECT count(*) FROM memories WHERE id LIKE '000%'", [], |row| row.get(0)).unwrap();
        assert_eq!((sound.as_str(), rows), ("ok", 4000), "{room}");
        versions.insert(db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap());
        fs::remove_dir_all(after).unwrap();
    }
    assert_eq!(versions, [4, 9].into(), "there was no room and there was enough");
}
