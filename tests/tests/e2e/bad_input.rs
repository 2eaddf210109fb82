//! Bad input gets a clear error and loses nothing: the same server continues and finds its memories.

use std::fs;
use std::time::Duration;

use harness::{Era, McpClient, Sandbox, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const KEPT: &str = "Webhooks are acknowledged after the commit.";

fn serve(sandbox: &Sandbox) -> McpClient {
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    sandbox.serve(Era::Legacy)
}

fn assert_still_works(client: &mut McpClient) {
    let result = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(result.expect_success()["results"][0]["snippet"], KEPT);
}

#[rstest]
#[case::empty_query("memory_search", json!({"query": " "}), "query is empty")]
#[case::no_query("memory_search", json!({}), "arguments: missing field `query`")]
#[case::number_as_query("memory_search", json!({"query": 5}), "query: invalid type: integer `5`")]
#[case::score_of_seven("memory_search", json!({"query": "x", "minScore": 7}), "from 0 to 1")]
#[case::no_results("memory_search", json!({"query": "x", "maxResults": 0}), "from 1 to 50")]
#[case::unknown_type("memory_search", json!({"query": "x", "type": "idea"}), "`error_fix`")]
#[case::unknown_field("memory_search", json!({"query": "x", "limit": 3}), "`maxResults`")]
#[case::no_date("memory_search", json!({"query": "x", "since": "last week"}), "2026-01-28")]
#[case::path_outside("memory_search", json!({"query": "x", "path": "../../etc"}), "folder of the store")]
#[case::absolute_path("memory_search", json!({"query": "x", "path": "/etc"}), "folder of the store")]
#[case::no_time("memory_search", json!({"query": "x", "since": "2026-02-01", "until": "2026-01-01"}), "later than until")]
#[case::half_a_result("memory_search", json!({"query": "x", "maxResults": 2.5}), "2.5 is not a whole number")]
#[case::metadata("memory_save", json!({"type": "decision", "content": "x", "metadata": "{"}), "not JSON")]
#[case::large_metadata("memory_save", json!({"type": "decision", "content": "x", "metadata": {"a": "x".repeat(3_000_000)}}), "at most 16384")]
#[case::deep_metadata("memory_save", json!({"type": "decision", "content": "x", "metadata": "{\"a\":".repeat(100) + "1" + &"}".repeat(100)}), "nested deeper than 16 levels")]
#[case::blank("memory_save", json!({"type": "decision", "content": "\n"}), "content is empty")]
#[case::five_megabytes("memory_save", json!({"type": "decision", "content": "x".repeat(5_000_000)}), "5000000 bytes")]
#[case::unknown_kind("memory_save", json!({"type": "thought", "content": "x"}), "`preference`")]
#[case::no_such_memory("memory_save", json!({"type": "decision", "content": "x", "supersedes": "abc"}), "no memory")]
#[case::parent("memory_get", json!({"path": "../../../etc/passwd"}), "without \"..\"")]
#[case::absolute("memory_get", json!({"path": "/etc/passwd"}), "relative to the project")]
#[case::windows("memory_get", json!({"path": "C:\\secrets.md"}), "relative to the project")]
#[case::directory("memory_get", json!({"path": ".jikime/memory"}), "directory")]
#[case::missing("memory_get", json!({"path": "missing.md"}), "no file .jikime/memory/missing.md")]
#[case::database("memory_get", json!({"path": ".jikime/memory/memory.db"}), "only Markdown")]
#[case::line_zero("memory_get", json!({"path": "MEMORY.md", "from": 0}), "count from 1")]
#[case::both("memory_get", json!({"path": "MEMORY.md", "id": "x"}), "not both")]
#[case::neither("memory_get", json!({}), "id of a search hit")]
#[case::reindex_outside("memory_reindex", json!({"path": "../x.md"}), "without \"..\"")]
#[case::stats_with_arguments("memory_stats", json!({"verbose": true}), "unknown field `verbose`")]
fn a_call_that_cannot_be_done_says_how_to_mend_it(#[case] tool: &str, #[case] arguments: Value, #[case] says: &str) {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    let result = client.call(tool, arguments).unwrap();
    let text = result.expect_failure();
    assert!(text.contains(says), "{text}");
    assert!(text.starts_with(tool), "{text}");
    assert_still_works(&mut client);
}

#[rstest]
#[case::one_megabyte("commit ".repeat(150_000))]
#[case::quotes("\"commit".to_owned())]
#[case::operators("webhooks NEAR(commit, 3) AND NOT acknowledged*".to_owned())]
#[case::columns("title:webhooks -body:commit ^after (".to_owned())]
#[case::nul("webhooks\0commit".to_owned())]
#[case::sql("webhooks'; DROP TABLE memories; --".to_owned())]
fn query_has_no_operators(#[case] query: String) {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    let result = client.call("memory_search", json!({ "query": query, "minScore": 0 })).unwrap();
    assert_eq!(result.expect_success()["results"][0]["snippet"], KEPT);
}

#[test]
fn empty_results_give_the_reason() {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    for (query, reason) in [("!?*", "no letters or digits"), ("zebra", "shares a word")] {
        let result = client.call("memory_search", json!({ "query": query })).unwrap();
        let output = result.expect_success();
        assert_eq!((&output["results"], &output["count"]), (&json!([]), &json!(0)));
        assert!(output["notice"].as_str().unwrap().contains(reason), "{output:#}");
    }
}

#[test]
fn empty_filtered_search_names_its_filter() {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    for (name, value) in [("type", json!("learning")), ("since", json!("2099-01-01")), ("path", json!("notes"))] {
        let arguments = json!({ "query": "webhooks commit", "maxResults": 3.0, name: value });
        let result = client.call("memory_search", arguments).unwrap();
        let notice = result.expect_success()["notice"].as_str().unwrap().to_owned();
        assert!(notice.contains(&format!("within {name}; omit that")), "{notice}");
    }
}

#[test]
fn lines_past_the_end_are_answered_with_where_the_end_is() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/MEMORY.md", "one\ntwo\nthree\n");
    let mut client = serve(&sandbox);
    let beyond = client.call("memory_get", json!({ "path": "MEMORY.md", "from": 9 })).unwrap();
    let beyond = beyond.expect_success();
    assert_eq!((&beyond["content"], &beyond["total_lines"]), (&json!(""), &json!(3)));
    assert_eq!((&beyond["start_line"], &beyond["end_line"]), (&json!(4), &json!(3)));
    let notice = beyond["notice"].as_str().unwrap();
    assert!(notice.ends_with("but the file ends at line 3"), "{notice}");
    let over = client.call("memory_get", json!({ "path": "MEMORY.md", "from": 2, "lines": 9 })).unwrap();
    let over = over.expect_success();
    assert_eq!(
        (&over["content"], &over["end_line"]),
        (&json!(schema::privacy::output_text::label_as_data("memory_get", "two\nthree")), &json!(3))
    );
    assert_eq!(over["notice"], "the file ends at line 3");
}

#[test]
fn control_characters_and_secrets_are_removed() {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    let secret = format!("gh{}_{}", "p", "a1B2".repeat(9));
    let content = format!("nul \0 and bell \u{7}, password={secret}");
    let saved = client.call("memory_save", json!({ "type": "learning", "content": content })).unwrap();
    let id = saved.expect_success()["id"].clone();
    let kept = client.call("memory_get", json!({ "id": id })).unwrap().expect_success()["content"].clone();
    let kept = kept.as_str().unwrap();
    assert!(kept.contains("\nnul  and bell , password=[redacted: "), "{kept:?}");
    assert!(!sandbox.logs().contains(&secret) && !sandbox.logs().contains('\0'));
}

#[test]
fn invalid_utf8_is_read_and_reported_everywhere() {
    let sandbox = sandbox!();
    // "## 배포" in CP949, as Korean editors save it.
    let prose = b"## \xb9\xe8\xc6\xf7\n\n\xb9\xe8\xc6\xf7 with helm upgrade, weekly.\n";
    sandbox.write(".jikime/memory/notes/deploy.md", prose);
    sandbox
        .write(".jikime/memory/MEMORY.md", b"# Memory\n\n## \xb9\xe8\xc6\xf7\n\nNever run helm upgrade on Fridays.\n");
    sandbox.write(".jikime/memory/fine.md", "A note with the sign \u{FFFD} in it, about the espresso machine.");
    let mut client = serve(&sandbox);
    let says = |output: &Value, name: &str| {
        let notice = output["notice"].as_str().unwrap_or_default();
        assert!(notice.contains(&format!(".jikime/memory/{name} is not UTF-8 text")), "{output:#}");
        assert!(notice.contains("save it as UTF-8"), "{output:#}");
    };
    let mut call = |tool, arguments| client.call(tool, arguments).unwrap().expect_success().clone();
    let opened = call("memory_get", json!({ "path": "notes/deploy.md" }));
    says(&opened, "notes/deploy.md");
    assert!(opened["content"].as_str().unwrap().contains("with helm upgrade"), "{opened:#}");
    let past = call("memory_get", json!({ "path": "notes/deploy.md", "from": 99 }));
    says(&past, "notes/deploy.md");
    says(&call("memory_load", json!({})), "MEMORY.md");
    let found = call("memory_search", json!({ "query": "helm upgrade", "minScore": 0 }));
    assert_eq!(found["count"], 2, "{found:#}");
    says(&found, "notes/deploy.md");
    says(&found, "MEMORY.md");
    for hit in found["results"].as_array().unwrap() {
        let opened = call("memory_get", json!({ "id": hit["id"] }));
        says(&opened, hit["path"].as_str().unwrap().strip_prefix(".jikime/memory/").unwrap());
    }
    let espresso = call("memory_search", json!({ "query": "espresso machine", "minScore": 0 }));
    assert_eq!((&espresso["count"], &espresso["notice"]), (&json!(1), &Value::Null), "{espresso:#}");
    let problems = call("memory_stats", json!({}))["problems"].to_string();
    assert!(problems.contains(".jikime/memory/MEMORY.md, .jikime/memory/notes/deploy.md; save as UTF-8"), "{problems}");
    let saved = call("memory_save", json!({ "type": "decision", "content": "Kept beside.", "longTerm": true }));
    assert_eq!(saved["saved"], true);
    let bytes = fs::read(sandbox.store().join("MEMORY.md")).unwrap();
    assert!(bytes.windows(4).any(|bytes| bytes == b"\xb9\xe8\xc6\xf7"), "what people wrote stays as it is");
    assert_still_works(&mut client);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_store_is_neither_opened_nor_indexed() {
    let sandbox = sandbox!();
    let outside = sandbox.write("secret.md", "The vault code is written on the walrus.");
    fs::create_dir_all(sandbox.store()).unwrap();
    std::os::unix::fs::symlink(outside, sandbox.store().join("link.md")).unwrap();
    std::os::unix::fs::symlink(sandbox.project(), sandbox.store().join("folder")).unwrap();
    let mut client = serve(&sandbox);
    for path in ["link.md", "folder/secret.md"] {
        let refused = client.call("memory_get", json!({ "path": path })).unwrap();
        assert!(refused.expect_failure().contains("out of the store"), "{path}");
    }
    let found = client.call("memory_search", json!({ "query": "walrus vault code" })).unwrap();
    assert_eq!(found.expect_success()["count"], 0);
}

#[test]
fn a_database_full_of_garbage_is_copied_rebuilt_and_reported() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.store().join(format!("memory.db{ending}")));
    }
    for name in ["memory.db", "index.db"] {
        sandbox.write(format!(".jikime/memory/{name}"), "garbage ".repeat(4_000));
    }
    let mut client = sandbox.serve(Era::Modern);
    assert_still_works(&mut client);
    let stats = client.call("memory_stats", json!({})).unwrap();
    let problems = stats.expect_success()["problems"].to_string();
    assert!(problems.contains("a copy of it is memory.db.damaged-"), "{problems}");
}

#[test]
fn newer_store_is_read_only_and_queues_events() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let db = rusqlite::Connection::open(sandbox.store().join("memory.db")).unwrap();
    db.pragma_update(None, "user_version", 77).unwrap();
    db.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    drop(db);
    let log = sandbox.logs();
    let database = fs::read(sandbox.store().join("memory.db")).unwrap();

    let mut client = sandbox.serve(Era::Modern);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    let found = found.expect_success();
    assert_eq!(found["results"][0]["snippet"], KEPT);
    assert!(found["notice"].as_str().unwrap().contains("read-only"), "{found:#}");
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "new" })).unwrap();
    assert!(refused.expect_failure().contains("update jikime-memory"));
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stdout();
    assert_eq!(sandbox.logs(), log);
    assert_eq!(client.call("memory_stats", json!({})).unwrap().expect_success()["queue"], 1);
    // Locks and errors may be written, but not memories, notes and databases.
    sandbox
        .run_hook("memory-track", &sandbox.event("PostToolUse.Edit").to_string())
        .assert_success()
        .assert_no_stdout();
    sandbox.run_cli(["save", "--long-term", "decision", "new"]).assert_code(1);
    sandbox.run_cli(["index", "--full"]).assert_success();
    drop(client);
    assert_eq!(fs::read(sandbox.store().join("memory.db")).unwrap(), database);
    let mut names: Vec<String> = fs::read_dir(sandbox.store())
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("20") && !name.starts_with("index.db"))
        .collect();
    names.sort();
    let may_be = [
        "hook.log",
        "hook.times",
        "log",
        "queue.lock",
        "index.lock",
        "store.lock",
        ".gitignore",
        "memory.db",
        "spool",
        "track",
    ];
    assert!(names.iter().all(|name| may_be.contains(&name.as_str())), "{names:?}");
}

#[test]
fn huge_long_term_memory_is_cut_but_fully_searched() {
    let sandbox = sandbox!();
    let mut text = String::from("# Memory\n\n");
    for n in 0..200_000 {
        text.push_str(&format!("- line {n} of a very long memory with many words that are all alike, alas\n"));
        if n % 50 == 0 {
            text.push_str(&format!("\n## Part {n}\n\n"));
        }
    }
    text.push_str("\n## The needle\n\nThe ocelot sleeps under the stairs of the test bench.\n");
    text.push_str(&"padding ".repeat((20_000_000 - text.len().min(20_000_000)) / 8));
    sandbox.write(".jikime/memory/MEMORY.md", &text);
    let mut client = sandbox.serve(Era::Modern);
    let loaded = client.call("memory_load", json!({})).unwrap();
    let loaded = loaded.expect_success();
    assert_eq!(loaded["truncated"], true);
    assert!(loaded["content"].as_str().unwrap().len() <= 40_000);
    assert!(loaded["notice"].as_str().unwrap().contains("open them with memory_get"), "{}", loaded["notice"]);
    // If indexing takes longer than a search waits, the notice says so and a later search finds it.
    harness::eventually(Duration::from_mins(5), || {
        let found = client.call("memory_search", json!({ "query": "where does the ocelot sleep?" })).unwrap();
        let found = found.expect_success();
        let is_found = found["results"][0]["snippet"].as_str().is_some_and(|snippet| snippet.contains("ocelot"));
        assert!(is_found || found["notice"].as_str().unwrap().contains("indexing is in progress"), "{found}");
        is_found
    });
}

#[test]
fn a_wrong_tool_and_a_wrong_method_do_not_end_the_server() {
    let sandbox = sandbox!();
    let mut client = serve(&sandbox);
    assert_eq!(client.call("memory_dance", json!({})).unwrap_err().code, -32602);
    assert_eq!(client.request("no/such/method", json!({})).unwrap_err().code, -32601);
    client.send_line("this is not a message");
    assert_still_works(&mut client);
}

/// Regression: times whose UTC year does not have four digits, and values of wrong types, broke all tools.
#[test]
fn odd_fields_of_logs_are_reported_and_nothing_fails() {
    let sandbox = sandbox!();
    let odd = |id: &str, fields: &str| format!("- cache {id} <!-- {{\"id\":\"{id}\",{fields}}} -->\n");
    let first = odd("a1", "\"at\":\"0000-01-01T00:00:00+14:00\",\"session\":\"s\"");
    let last = odd("a2", "\"at\":\"9999-12-31T23:59:59-12:00\",\"session\":\"s\"");
    sandbox.write(".jikime/memory/2026-01-28.md", format!("# 2026-01-28\n\n## Decision\n\n{first}{last}"));
    let typed = odd("a3", "\"at\":[],\"importance\":\"high\",\"pinned\":1e999,\"metadata\":\"none\",\"session\":\"s\"");
    sandbox.write(".jikime/memory/MEMORY.md", format!("# Memory\n\n{typed}"));
    let listed = sandbox.run_cli(["list", "--json"]).assert_success().json();
    assert_eq!(listed["memories"].as_array().or(listed.as_array()).unwrap().len(), 3, "{listed:#}");
    for arguments in [&["search", "cache"][..], &["sessions"], &["stats"], &["timeline"], &["index", "--full"]] {
        sandbox.run_cli(arguments).assert_success().assert_no_stderr();
    }
    let told = sandbox.run_cli(["doctor"]).stdout;
    for place in ["2026-01-28.md:5 at", "2026-01-28.md:6 at", "MEMORY.md:3 at, importance, pinned, metadata"] {
        assert!(told.contains(place), "{told}");
    }
    let exported = sandbox.run_cli(["export"]).assert_success().stdout.replace("\"id\":", "\"pinned\":\"yes\",\"id\":");
    let file = sandbox.write("odd.jsonl", exported);
    let other = sandbox!();
    let imported = other.run_cli(["import", "jsonl", &file.to_string_lossy()]);
    assert!(imported.assert_success().stderr.contains("line 1 pinned: not valid"), "{imported:#?}");
    assert_eq!(
        other.run_cli(["list", "--json"]).assert_success().json().as_array().map(Vec::len),
        listed.as_array().map(Vec::len)
    );
    for store in [sandbox.store(), other.store()] {
        let names = fs::read_dir(store).unwrap().map(|item| item.unwrap().file_name().to_string_lossy().into_owned());
        assert_eq!(names.filter(|name| name.contains("damaged")).collect::<Vec<_>>(), [""; 0]);
    }
}
