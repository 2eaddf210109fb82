//! Forgotten memories leave no trace; cleanup, scrub and reset delete exactly what was requested.

use std::fs;
use std::time::Duration;

use harness::{Era, Sandbox, eventually, files_below, sandbox};
use rusqlite::Connection;
use serde_json::{Value, json};

/// A unique word.
const WORD: &str = "zebrafinch";

fn save(sandbox: &Sandbox, kind: &str, text: &str) -> String {
    let outcome = sandbox.run_cli(["save", "--json", kind, text]);
    outcome.assert_success().json()["id"].as_str().unwrap().to_owned()
}

fn hook(sandbox: &Sandbox, command: &str, name: &str, fields: &Value) {
    let mut event = json!({ "session_id": "s-1", "cwd": sandbox.project(), "hook_event_name": name });
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    sandbox.run_hook(command, &event.to_string()).assert_success().assert_no_stderr();
}

/// Files of the store that contain a text, ignoring case.
fn files_containing(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_lowercase().contains(&text.to_lowercase());
    let files = files_below(&sandbox.store()).into_iter();
    files.filter(|path| holds(&fs::read(path).unwrap())).map(|path| path.display().to_string()).collect()
}

/// Number of segments with a word.
fn known_words(sandbox: &Sandbox, word: &str) -> i64 {
    let index = Connection::open(sandbox.store().join("index.db")).unwrap();
    index.query_row("SELECT count(*) FROM fulltext_postings WHERE term = ?1", [word], |row| row.get(0)).unwrap()
}

fn cached_vectors(sandbox: &Sandbox) -> i64 {
    let index = Connection::open(sandbox.store().join("index.db")).unwrap();
    index.query_row("SELECT count(*) FROM embedding_cache", [], |row| row.get(0)).unwrap()
}

#[test]
fn no_file_of_the_store_holds_what_was_forgotten() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    for n in 0..30 {
        let text = format!("the {WORD} of number {n} flies {}", "far and wide ".repeat(40));
        client.call("memory_save", json!({ "type": "learning", "content": text })).unwrap().expect_success();
        client.call("memory_save", json!({ "type": "decision", "content": format!("stay {n}") })).unwrap();
    }
    hook(&sandbox, "memory-prompt-save", "UserPromptSubmit", &json!({ "prompt": format!("feed the {WORD}") }));
    let input = json!({ "tool_name": "Edit", "tool_input": { "file_path": format!("src/{WORD}.rs") } });
    hook(&sandbox, "memory-track", "PostToolUse", &input);
    fs::write(sandbox.store().join("memory.db.damaged-20260128T103015"), format!("old pages of the {WORD}")).unwrap();
    fs::write(sandbox.store().join(".2026-01-28.md.1.tmp"), format!("half of the {WORD}")).unwrap();
    fs::write(sandbox.store().join("spool/x.unreadable"), format!("{{\"content\":\"feed the {WORD}\"")).unwrap();
    client.call("memory_search", json!({ "query": WORD })).unwrap().expect_success();
    eventually(Duration::from_secs(20), || cached_vectors(&sandbox) >= 60);
    assert!(
        files_containing(&sandbox, WORD).len() >= 5 && known_words(&sandbox, WORD) >= 1,
        "{:?}",
        files_containing(&sandbox, WORD)
    );

    let refused = sandbox.run_cli(["forget", "--query", WORD]);
    assert!(refused.assert_code(1).stderr.contains("--yes"), "{refused:#?}");
    let told = sandbox.run_cli(["forget", "--query", WORD, "--dry-run", "--json"]).json();
    assert_eq!((told["memories"].as_u64(), told["dry_run"].as_bool()), (Some(31), Some(true)));
    assert!(!files_containing(&sandbox, WORD).is_empty());

    let done = sandbox.run_cli(["forget", "--query", "ZebraFinch", "--yes"]);
    assert!(done.assert_success().stdout.contains("Deleted 31 memories"), "{done:#?}");
    assert_eq!(files_containing(&sandbox, WORD), Vec::<String>::new());
    assert_eq!((known_words(&sandbox, WORD), cached_vectors(&sandbox) <= 30), (0, true));
    let found = client.call("memory_search", json!({ "query": WORD })).unwrap().expect_success().clone();
    assert!(!found.to_string().contains("flies"), "{found:#}");
    let stats = client.call("memory_stats", json!({})).unwrap().expect_success().clone();
    assert_eq!(stats["memories"], 30, "{stats:#}");
    assert!(client.close().status.success());
    assert_eq!(files_containing(&sandbox, WORD), Vec::<String>::new(), "nor after the server's end");
}

#[test]
fn empty_selection_needs_explicit_everything() {
    let sandbox = sandbox!();
    save(&sandbox, "decision", "Cache tokens in Redis");
    let pinned = save(&sandbox, "learning", "Redis forgets when it is full");
    hook(&sandbox, "memory-prompt-save", "UserPromptSubmit", &json!({ "prompt": "look at src/redis/pool.rs" }));
    hook(&sandbox, "memory-prompt-save", "UserPromptSubmit", &json!({ "prompt": "and at docs" }));
    let meant = |arguments: &[&str]| {
        let outcome = sandbox.run_cli(["forget", "--dry-run", "--json"].iter().chain(arguments));
        outcome.assert_success().json()["memories"].as_u64().unwrap()
    };
    for (arguments, count) in [
        (&["--query", "redis"][..], 3),
        (&["--query", "redis", "--type", "decision,learning"], 2),
        (&["--session", "s-1"], 2),
        (&["--session", "s-"], 2),
        (&["--session", "t"], 0),
        (&["--path", "src/redis"], 1),
        (&["--path", "*.rs"], 1),
        (&["--before", "2020-01-01"], 0),
        (&["--until", "2020-01-01"], 0),
        (&["--since", "2020-01-01"], 4),
        (&["--since", "1d", "--before", "2999-01-01", "--type", "decision"], 1),
        (&[&pinned], 1),
        (&["--before", "2999-01-01"], 4),
        (&["--id", &pinned[..8]], 1),
        (&["--all"], 4),
    ] {
        assert_eq!(meant(arguments), count, "{arguments:?}");
    }
    for arguments in
        [&["--yes"][..], &["--before", "2999-01-01", "--yes"], &["--query", " ", "--yes"], &["--id", "none"]]
    {
        sandbox.run_cli(["forget"].iter().chain(arguments)).assert_code(1);
    }
    assert_eq!(meant(&["--all"]), 4, "what was refused changed nothing");
    let told = |arguments: &[&str]| sandbox.run_cli(["forget", "--dry-run"].iter().chain(arguments)).stdout.clone();
    assert!(told(&["--before", "2999-01-01"]).contains("needs --all"), "{}", told(&["--before", "2999-01-01"]));
    assert!(!told(&["--all"]).contains("needs --all") && !told(&["--query", "redis"]).contains("needs --all"));
    sandbox.run_cli(["forget", "--all", "--yes"]).assert_success();
    assert_eq!((meant(&["--all"]), sandbox.logs()), (0, String::new()));
    // A person may save it again; only imports are refused.
    save(&sandbox, "decision", "Cache tokens in Redis");
    assert_eq!(meant(&["--all"]), 1);
}

#[test]
fn a_deleted_memory_leaves_no_copy_either() {
    let sandbox = sandbox!();
    save(&sandbox, "decision", "stays");
    let id = save(&sandbox, "decision", &format!("the {WORD} flies"));
    sandbox.run_cli(["search", WORD]).assert_success();
    let little = sandbox.run_cli(["forget", &id[..3], "--yes"]);
    assert!(little.assert_code(1).stderr.contains("4 characters"), "{}", little.stderr);
    assert!(sandbox.run_cli(["delete", &id]).assert_code(1).stderr.contains("--yes"));
    sandbox.run_cli(["delete", &id[..8], "--yes"]).assert_success();
    assert_eq!((files_containing(&sandbox, WORD), known_words(&sandbox, WORD)), (Vec::new(), 0));
}

#[test]
fn scrubbing_takes_out_what_is_a_secret_now() {
    let sandbox = sandbox!();
    save(&sandbox, "decision", &format!("the code name is {WORD}"));
    hook(&sandbox, "memory-prompt-save", "UserPromptSubmit", &json!({ "prompt": format!("greet {WORD}") }));
    sandbox.write(".jikime/memory/note.md", format!("# Mine\n\n{WORD} is ours\n"));
    sandbox.run_cli(["search", WORD]).assert_success();
    sandbox.write(".jikime/memory.toml", format!("redact = ['{WORD}']\n"));
    let told = sandbox.run_cli(["scrub", "--dry-run", "--json"]).json();
    assert_eq!(told["findings"].as_array().map(Vec::len), Some(3), "{told:#}");
    assert!(sandbox.logs().contains(WORD));
    let refused = sandbox.run_cli(["scrub"]);
    assert!(refused.assert_code(1).stderr.contains("Remove 2 secrets from 1 file for good?"), "{refused:#?}");
    assert!(refused.stdout.contains(":5  custom") && !refused.stdout.contains("note.md"), "{refused:#?}");
    assert!(sandbox.logs().contains(WORD));
    let done = sandbox.run_cli(["scrub", "--yes"]);
    let text = &done.assert_success().stdout;
    assert!(text.contains("note.md:3  custom  (still there)") && !text.contains(WORD), "{done:#?}");
    let left = files_containing(&sandbox, WORD);
    // The note and its index.
    assert!(left.iter().all(|path| path.ends_with("note.md") || path.contains("index.db")), "{left:?}");
    sandbox.run_cli(["scrub", "--notes", "--yes"]).assert_success();
    assert_eq!((files_containing(&sandbox, WORD), known_words(&sandbox, WORD)), (Vec::new(), 0));
    assert!(sandbox.logs().contains("greet [redacted: custom]"));
    assert!(sandbox.run_cli(["scrub"]).stdout.contains("No secrets found"));
}

/// A store with an old memory of each type.
fn old_store(sandbox: &Sandbox) {
    let kinds = [
        "user_prompt",
        "assistant_response",
        "tool_usage",
        "error",
        "subagent_result",
        "decision",
        "learning",
        "error_fix",
        "session_summary",
        "preference",
        "convention",
        "architecture",
        "pattern",
        "task",
    ];
    let line = |(n, kind): (usize, &&str)| {
        let id = format!("{n:032x}");
        json!({ "id": id, "type": kind, "at": "2020-01-28T10:30:15+09:00", "session": "old", "content": format!("old {kind}") })
            .to_string()
    };
    let lines: Vec<String> = kinds.iter().enumerate().map(line).collect();
    let path = sandbox.root().join("old.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    sandbox.run_cli(["import", "jsonl", path.to_str().unwrap()]).assert_success();
}

#[test]
fn a_log_that_comes_back_does_not_bring_back_what_was_forgotten() {
    let sandbox = sandbox!();
    save(&sandbox, "decision", &format!("the {WORD} flies"));
    save(&sandbox, "learning", "it stays");
    let logs = || files_below(&sandbox.store()).into_iter().filter(|path| path.extension().is_some_and(|e| e == "md"));
    let log = logs().next().unwrap();
    let before = fs::read_to_string(&log).unwrap();
    sandbox.run_cli(["forget", "--query", WORD, "--yes"]).assert_success();
    fs::write(&log, &before).unwrap();
    for rebuilt in [false, true] {
        if rebuilt {
            sandbox.run_cli(["index", "--full"]).assert_success();
        }
        let left = sandbox.run_cli(["export"]).assert_success().stdout.clone();
        assert!(left.contains("it stays") && !left.contains(WORD), "{rebuilt}: {left}");
        let found = sandbox.run_cli(["search", WORD, "--json"]).stdout;
        assert!(!found.contains("flies"), "{rebuilt}: {found}");
        let told = sandbox.run_cli(["doctor"]).stdout;
        assert!(told.contains("logs contain deleted memories again") && told.contains(".md:"), "{told}");
    }
    // Manually added text is intentional.
    fs::write(&log, format!("{before}\n## Learning\n\n- the {WORD} flies\n")).unwrap();
    let left = sandbox.run_cli(["export"]).assert_success().stdout.clone();
    assert_eq!(left.matches(WORD).count(), 1, "{left}");
}

#[test]
fn clearing_spares_what_was_decided() {
    let sandbox = sandbox!();
    old_store(&sandbox);
    save(&sandbox, "learning", "new");
    assert!(sandbox.run_cli(["gc"]).assert_success().stdout.contains("nothing is deleted"));
    sandbox.run_cli(["gc", "--older-than", "soon"]).assert_code(2);
    let told = sandbox.run_cli(["gc", "--older-than", "180d", "--dry-run", "--json"]).json();
    assert_eq!(told["memories"], 8, "{told:#}");
    sandbox.run_cli(["gc", "--older-than", "180d", "--yes"]).assert_success();
    let left = sandbox.run_cli(["export"]).stdout;
    for (text, is_left) in [("old decision", true), ("old convention", true), ("old error", false), ("new", true)] {
        assert_eq!(left.contains(text), is_left, "{text}: {left}");
    }
    sandbox.run_cli(["gc", "--older-than", "1y", "--also", "decision", "--yes"]).assert_success();
    assert!(!sandbox.run_cli(["export"]).stdout.contains("old decision"));
}

#[test]
fn cleanup_follows_user_settings_not_project() {
    let mut sandbox = sandbox!();
    old_store(&sandbox);
    sandbox.write(".jikime/memory.toml", "gc_older_than = \"1d\"\n");
    let client = sandbox.serve(Era::Modern);
    assert!(client.close().status.success());
    assert_eq!(sandbox.run_cli(["export"]).stdout.lines().count(), 14);
    sandbox.set_variable("JIKIME_GC_OLDER_THAN", "180d");
    let client = sandbox.serve(Era::Modern);
    eventually(Duration::from_secs(20), || !sandbox.logs().contains("old error"));
    assert!(client.close().status.success());
    assert_eq!(sandbox.run_cli(["export"]).stdout.lines().count(), 6);
}

#[test]
fn forgetting_all_leaves_prose_unless_it_is_purged() {
    let sandbox = sandbox!();
    save(&sandbox, "decision", &format!("the {WORD} flies"));
    sandbox.write(".jikime/memory/note.md", "mine\n");
    sandbox.run_cli(["save", "decision", "long-term", "--long-term"]).assert_success();
    let long_term = sandbox.read(".jikime/memory/MEMORY.md") + "\n## Ours\n\nour words\n";
    sandbox.write(".jikime/memory/MEMORY.md", long_term);
    sandbox.write(".jikime/memory/2020-01-28.md", "# 2020-01-28\n\nmy own words\n\n## Decision\n\n- noted too\n");
    let input = json!({ "tool_name": "Edit", "tool_input": { "file_path": format!("src/{WORD}.rs") } });
    hook(&sandbox, "memory-track", "PostToolUse", &input);
    fs::write(sandbox.store().join("spool/x.unreadable"), format!("half of another {WORD}")).unwrap();
    fs::write(sandbox.store().join("memory.db.damaged-20260128T103015"), format!("old pages of the {WORD}")).unwrap();
    sandbox.run_cli(["list"]).assert_success();
    for (arguments, said) in [
        (&["reset"][..], "--all"),
        (&["reset", "--all"], "cannot ask \"Delete 3 memories for good?\" without a terminal"),
        (&["forget", "--purge", "--query", WORD, "--all"], "--purge needs --all"),
    ] {
        let refused = sandbox.run_cli(arguments);
        assert!(refused.assert_code(1).stderr.contains(said), "{refused:#?}");
    }
    sandbox.run_cli(["reset", "--all", "--yes"]).assert_success();
    assert_eq!(files_containing(&sandbox, WORD), Vec::<String>::new());
    assert_eq!(sandbox.logs(), "# 2020-01-28\n\nmy own words\n");
    let long_term = sandbox.read(".jikime/memory/MEMORY.md");
    assert!(long_term.contains("our words") && !long_term.contains("long-term"), "{long_term}");
    save(&sandbox, "decision", "begins anew");
    sandbox.run_cli(["forget", "--all", "--purge", "--yes"]).assert_success();
    let left: Vec<String> = files_below(&sandbox.store()).iter().map(|path| path.display().to_string()).collect();
    assert!(!left.iter().any(|path| path.ends_with(".md") || path.ends_with("forgotten")), "{left:?}");
    assert_eq!(sandbox.run_cli(["export"]).assert_success().stdout, "");
}
