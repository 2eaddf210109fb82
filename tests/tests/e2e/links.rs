//! Links in a store are not followed: nothing outside is read or changed, and no event is lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use harness::{Era, Sandbox, sandbox};
use rstest::rstest;
use serde_json::json;

const OUTSIDE: &str =
    "## Convention\n\n- The walrus guards the vault. <!-- {\"id\":\"00000000000000000000000000000001\"} -->\n";
const KEPT: &str = "Webhooks are acknowledged after the commit.";

/// Today's log in the sandbox's time zone.
fn today(sandbox: &Sandbox) -> String {
    sandbox.run_cli(["save", "learning", "what tells the day"]).assert_success();
    let name = fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    name.into_iter().find(|name| name.starts_with("20")).unwrap()
}

/// Replaces a file of the store by a link to an outside file.
fn link(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let outside = sandbox.root().join("outside");
    fs::create_dir_all(&outside).unwrap();
    let target = outside.join("file.md");
    fs::write(&target, text).unwrap();
    put_link(&target, &sandbox.store().join(name));
    target
}

fn put_link(target: &Path, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    symlink(target, path).unwrap();
}

#[rstest]
#[case::long_term(true)]
#[case::daily(false)]
fn linked_log_is_neither_read_nor_written(#[case] long_term: bool) {
    let sandbox = sandbox!();
    let log = today(&sandbox);
    let name = if long_term { "MEMORY.md" } else { &log };
    let target = link(&sandbox, name, OUTSIDE);
    let mut client = sandbox.serve(Era::Modern);
    let refused = client.call("memory_load", json!({ "source": "full" })).unwrap();
    let refused = refused.expect_failure();
    assert!(refused.contains(name) && refused.contains("symbolic link"), "{refused}");
    let arguments = json!({ "type": "decision", "content": KEPT, "longTerm": long_term });
    let refused = client.call("memory_save", arguments).unwrap();
    let refused = refused.expect_failure();
    assert!(refused.contains(name) && refused.contains("symbolic link"), "{refused}");
    let found = client.call("memory_search", json!({ "query": "walrus vault" })).unwrap();
    assert_eq!(found.expect_success()["count"], 0);
    assert_eq!(fs::read_to_string(&target).unwrap(), OUTSIDE);
    drop(client);

    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stdout();
    assert_eq!(fs::read_to_string(&target).unwrap(), OUTSIDE);
    fs::remove_file(sandbox.store().join(name)).unwrap();
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!(stats["queue"], 0, "what waited is kept once the link is gone: {stats:#}");
    assert!(sandbox.logs().contains("**User Prompt**"));
}

#[test]
fn linked_database_is_refused_and_hooks_queue() {
    let sandbox = sandbox!();
    let outside = sandbox.root().join("outside.db");
    put_link(&outside, &sandbox.store().join("memory.db"));
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stdout();
    let log = sandbox.read(".jikime/memory/hook.log");
    assert!(log.contains("memory.db") && log.contains("symbolic link"), "{log}");
    let refused = sandbox.run_cli(["save", "decision", KEPT]);
    assert!(
        refused.assert_code(1).stderr.contains("memory.db") && refused.stderr.contains("symbolic link"),
        "{refused:?}"
    );
    assert!(!outside.exists());
    fs::remove_file(sandbox.store().join("memory.db")).unwrap();
    sandbox.run_cli(["stats"]).assert_success();
    assert!(sandbox.logs().contains("**User Prompt**"));
}

#[rstest]
#[case("index.db")]
#[case("memory.db-wal")]
#[case("index.db-wal")]
#[case("store.lock")]
#[case("index.lock")]
#[case("forgotten")]
#[case("hook.log")]
#[case("hook.times")]
#[case("MEMORY.md")]
fn no_file_of_ours_is_written_through_a_link(#[case] name: &str) {
    let sandbox = sandbox!();
    let outside = sandbox.root().join("outside");
    put_link(&outside, &sandbox.store().join(name));
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stdout();
    sandbox.run_hook("memory-prompt-save", "no json").assert_success().assert_no_stdout();
    for arguments in
        [vec!["save", "decision", KEPT], vec!["save", "--long-term", "decision", "x"], vec!["index", "--full"]]
    {
        sandbox.run_cli(arguments);
    }
    let mut client = sandbox.serve(Era::Modern);
    let stats = client.call("memory_stats", json!({})).unwrap();
    if let Some(id) = sandbox.run_cli(["list", "--json"]).stdout.split('"').nth(3) {
        sandbox.run_cli(["forget", id, "--all", "--yes"]);
    }
    drop(stats);
    assert!(!outside.exists(), "{name}");
}

#[rstest]
#[case::buffers("track")]
#[case::spool("spool")]
fn linked_store_directory_is_refused_by_name(#[case] name: &str) {
    let sandbox = sandbox!();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    put_link(&outside, &sandbox.store().join(name));
    let refused = sandbox.run_cli(["save", "decision", KEPT]);
    let names = |text: &str| text.contains(&format!("memory/{name} is a symbolic link"));
    assert!(names(&refused.assert_code(1).stderr), "{refused:?}");
    let refused = sandbox.serve(Era::Legacy).call("memory_stats", json!({})).unwrap();
    assert!(names(refused.expect_failure()));
    for (command, event) in [("memory-track", "PostToolUse.Edit"), ("memory-prompt-save", "UserPromptSubmit")] {
        sandbox.run_hook(command, &sandbox.event(event).to_string()).assert_success().assert_no_stdout();
    }
    assert!(names(&sandbox.read(".jikime/memory/hook.log")));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(sandbox.store().join(name)).unwrap();
    sandbox.run_cli(["stats"]).assert_success();
    // Without a spool the event could not be queued.
    assert_eq!(sandbox.logs().contains("**User Prompt**"), name == "track");
}

#[rstest]
#[case::outside(".jikime", "../outside")]
#[case::inside(".jikime/memory", "../src")]
fn linked_store_is_refused_with_a_notice(#[case] name: &str, #[case] target: &str) {
    let sandbox = sandbox!();
    let outside = sandbox.project().join(name).parent().unwrap().join(target);
    fs::create_dir_all(sandbox.project().join(name).parent().unwrap()).unwrap();
    fs::create_dir_all(&outside).unwrap();
    symlink(target, sandbox.project().join(name)).unwrap();
    let refused = sandbox.run_cli(["save", "decision", KEPT]);
    let names = |text: &str| text.contains(&format!("project/{name} is a symbolic link"));
    assert!(names(&refused.assert_code(1).stderr), "{refused:?}");
    let refused = sandbox.serve(Era::Legacy).call("memory_load", json!({})).unwrap();
    assert!(names(refused.expect_failure()));
    sandbox
        .run_hook("memory-prompt-save", &sandbox.event("UserPromptSubmit").to_string())
        .assert_success()
        .assert_no_stdout();
    let told = sandbox.run_hook("memory-load", &sandbox.event("SessionStart.startup").to_string());
    let told = told.assert_success().json()["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(names(&told), "{told}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn linked_project_settings_stop_capture() {
    let sandbox = sandbox!();
    let outside = sandbox.root().join("credentials");
    fs::write(&outside, "walrus_access_key = 1\n").unwrap();
    put_link(&outside, &sandbox.project().join(".jikime/memory.toml"));
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    let problems = stats["problems"].to_string();
    assert!(problems.contains("symbolic link") && !problems.contains("walrus"), "{problems}");
    sandbox.run_hook("memory-prompt-save", &sandbox.event("UserPromptSubmit").to_string()).assert_success();
    assert!(!sandbox.logs().contains("**User Prompt**"));
}

#[test]
fn a_folder_of_notes_that_becomes_a_link_takes_its_notes_along() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/notes/api.md", "The gateway allows forty requests.");
    sandbox.run_cli(["index"]).assert_success();
    let outside = sandbox.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("api.md"), "The walrus guards the vault.").unwrap();
    fs::remove_dir_all(sandbox.store().join("notes")).unwrap();
    symlink(&outside, sandbox.store().join("notes")).unwrap();
    for query in ["walrus vault", "gateway requests"] {
        let found = sandbox.run_cli(["search", "--json", query]).assert_success().json();
        assert_eq!(found["count"], 0, "{found:#}");
    }
}
