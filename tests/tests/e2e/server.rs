//! The MCP server as a host sees it: its description, results that match its schemas, and shutdown.

use std::fs;
use std::time::Duration;

use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use rstest::rstest;
use schema::files::layout::Layout;
use schema::files::lock::FileLock;
use schema::tool::MEMORY_FIRST;
use serde_json::{Value, json};

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
fn the_greeting_carries_the_rules_and_the_list_the_six_tools(#[case] era: Era) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(era);
    assert_eq!(client.greeting()["instructions"], MEMORY_FIRST);
    let tools = client.tools();
    let seen: Vec<Value> = tools
        .iter()
        .map(|tool| json!([tool["name"], tool["title"], tool["annotations"]["readOnlyHint"], tool["_meta"]]))
        .collect();
    let at_hand = json!({ "anthropic/alwaysLoad": true });
    let long = json!({ "anthropic/maxResultSizeChars": 200_000 });
    assert_eq!(
        seen,
        [
            json!(["memory_search", "Search memory", true, at_hand]),
            json!(["memory_get", "Open a memory", true, long]),
            json!(["memory_load", "Load memory", true, long]),
            json!(["memory_save", "Save a memory", false, at_hand]),
            json!(["memory_stats", "Memory statistics", true, null]),
            json!(["memory_reindex", "Rebuild the index", false, null]),
        ]
    );
    for tool in &tools {
        let hints = &tool["annotations"];
        assert_eq!((&hints["destructiveHint"], &hints["idempotentHint"]), (&json!(false), &json!(true)), "{tool:#}");
        assert_eq!(hints["openWorldHint"], false, "{tool:#}");
    }
}

/// For an unknown version the server offers the newest of this era, and the host decides.
#[rstest]
#[case::the_first("2024-11-05", "2024-11-05")]
#[case::of_march("2025-03-26", "2025-03-26")]
#[case::of_june("2025-06-18", "2025-06-18")]
#[case::of_november("2025-11-25", "2025-11-25")]
#[case::unknown("1999-12-31", "2025-11-25")]
fn a_host_is_greeted_in_the_version_that_it_speaks(#[case] asked: &str, #[case] answered: &str) {
    let sandbox = sandbox!();
    let mut command = sandbox.memory_command();
    command.arg("serve");
    let mut client = McpClient::start_silently(command, Era::Legacy);
    let params =
        json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
    let greeting = client.request("initialize", params).unwrap();
    assert_eq!(greeting["protocolVersion"], answered, "{greeting:#}");
    client.notify("notifications/initialized", Value::Null);
    let found = client.call("memory_search", json!({ "query": "anything" })).unwrap();
    assert_eq!(found.expect_success()["results"], json!([]));
    assert_eq!(client.tools().len(), 6);
}

#[test]
fn moved_project_is_not_recreated_at_its_old_place() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let save = |text: &str| json!({ "type": "decision", "content": text });
    client.call("memory_save", save("Before the move.")).unwrap().expect_success();
    let moved = sandbox.root().join("moved");
    fs::rename(sandbox.project(), &moved).unwrap();
    for (tool, arguments) in [("memory_save", save("After the move.")), ("memory_search", json!({ "query": "move" }))] {
        let refused = client.call(tool, arguments).unwrap();
        assert!(refused.expect_failure().contains("if the project was moved"), "{}", refused.text);
    }
    drop(client);
    assert!(!sandbox.project().exists());
    fs::rename(moved, sandbox.project()).unwrap();
    assert!(sandbox.logs().contains("Before the move.") && !sandbox.logs().contains("After the move."));
}

#[test]
fn results_match_their_schemas_and_have_short_text() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/notes/api.md", "# API\n\n## Limits\n\nThe gateway allows forty requests a second.\n");
    let mut client = sandbox.serve(Era::Modern);
    let schemas = client.tools();
    let mut call = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments).unwrap();
        let schema = schemas.iter().find(|listed| listed["name"] == tool).unwrap();
        let validator = jsonschema::validator_for(&schema["outputSchema"]).unwrap();
        let output = result.expect_success().clone();
        let errors: Vec<String> = validator.iter_errors(&output).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{tool}: {output:#}");
        assert!(!result.text.is_empty() && !result.text.starts_with('{'), "{tool}: {}", result.text);
        (output, result.text)
    };
    let saved = call(
        "memory_save",
        json!({ "type": "decision", "content": "Requests are limited per key.", "metadata": { "context": "SPEC-7" } }),
    );
    let old = saved.0["id"].clone();
    call(
        "memory_save",
        json!({ "type": "decision", "content": "Requests are limited per tenant.", "supersedes": old }),
    );
    let (found, text) = call("memory_search", json!({ "query": "requests limited", "explain": true }));
    let flags: Vec<&Value> = found["results"].as_array().unwrap().iter().map(|hit| &hit["flags"]).collect();
    assert_eq!(flags.last(), Some(&&json!(["superseded"])), "what was replaced comes last: {found:#}");
    assert!(found["results"].as_array().unwrap().iter().any(|hit| hit["heading"] == "API > Limits"), "{found:#}");
    assert!(text.contains("[decision] 20") && text.contains(".jikime/memory/notes/api.md:"), "{text}");
    let spec = call("memory_search", json!({ "query": "SPEC-7", "type": "decision" })).0;
    assert_eq!(spec["results"][0]["id"], old, "metadata is searched as well");
    call("memory_get", json!({ "id": old }));
    call("memory_get", json!({ "path": ".jikime/memory/notes/api.md", "from": 3 }));
    call("memory_load", json!({ "source": "full" }));
    call("memory_stats", json!({}));
    call("memory_reindex", json!({ "full": true }));
}

#[test]
fn a_host_is_greeted_while_another_process_holds_the_index() {
    let sandbox = sandbox!();
    let layout = Layout::new(&sandbox.project());
    layout.create_dirs_and_gitignore().unwrap();
    let lock = FileLock::acquire(&layout.index_lock(), Duration::from_secs(5)).unwrap();
    // The engine waits for the lock to create its index; the protocol does not wait for the engine.
    let mut client = sandbox.serve(Era::Modern);
    assert_eq!(client.tools().len(), 6);
    drop(lock);
    assert_eq!(client.call("memory_stats", json!({})).unwrap().expect_success()["memories"], 0);
}

#[test]
fn progress_covers_files_and_vectors_on_request() {
    let sandbox = sandbox!();
    for n in 0..5 {
        sandbox.write(
            format!(".jikime/memory/note-{n}.md"),
            format!("# Note {n}\n\nWhat note {n} says is long enough to keep.\n"),
        );
    }
    let mut client = sandbox.serve(Era::Legacy);
    client.call("memory_reindex", json!({ "full": true })).unwrap().expect_success();
    let steps: Vec<(u64, u64)> = client
        .notifications("notifications/progress")
        .iter()
        .map(|step| (step["progress"].as_f64().unwrap() as u64, step["total"].as_f64().unwrap() as u64))
        .collect();
    // Frequent progress is throttled; the last step is sent, and before the response.
    assert!(steps.is_sorted_by(|one, next| one < next), "{steps:?}");
    let &(done, total) = steps.last().unwrap();
    assert!(done == total && total >= 5, "{steps:?}");
}

#[test]
fn no_progress_without_request() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/note.md", "# Note\n\nWhat the note says is long enough to keep.\n");
    let mut client = sandbox.serve(Era::Modern);
    client.request("tools/call", json!({ "name": "memory_reindex", "arguments": { "full": true } })).unwrap();
    client.call("memory_stats", json!({})).unwrap();
    assert!(client.notifications("notifications/progress").is_empty());
}

/// Creates a store that is slow to index, and returns its number of files.
fn many_notes(sandbox: &Sandbox) -> usize {
    for n in 0..1_500 {
        let text = format!("The note {n} says this and that of its subject. ").repeat(60);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("# Note {n}\n\n{text}\n"));
    }
    1_500
}

#[test]
fn cancelled_call_stops() {
    let sandbox = sandbox!();
    let files = many_notes(&sandbox);
    let mut client = sandbox.serve(Era::Legacy);
    client.call("memory_reindex", json!({})).unwrap().expect_success();
    let before = client.notifications("notifications/progress").len();
    let rebuild = client.send_call("memory_reindex", json!({ "full": true }));
    eventually(Duration::from_mins(1), || client.notifications("notifications/progress").len() > before);
    client.cancel(rebuild);
    // The save waits for the worker, which is free before all files are done.
    let save = json!({ "type": "learning", "content": "A rebuild was taken back." });
    client.call("memory_save", save).unwrap().expect_success();
    let steps = client.notifications("notifications/progress").split_off(before);
    let last = steps.last().unwrap()["progress"].as_f64().unwrap();
    assert!(last < files as f64, "{last} of {files} files were done");
    let found = client.call("memory_search", json!({ "query": "note 7 subject" })).unwrap();
    assert_ne!(found.expect_success()["count"], 0, "the index is as good as before");
}

#[test]
fn next_server_continues_interrupted_indexing() {
    let sandbox = sandbox!();
    let files = many_notes(&sandbox);
    let client = sandbox.serve(Era::Modern);
    eventually(Duration::from_mins(1), || sandbox.store().join("index.db").exists());
    let closed = client.close();
    assert!(closed.status.success(), "{closed:?}");
    let mut next = sandbox.serve(Era::Modern);
    eventually(Duration::from_mins(2), || {
        next.call("memory_stats", json!({})).unwrap().expect_success()["files"] == files
    });
}

#[test]
fn saves_survive_end_of_input_during_indexing() {
    let sandbox = sandbox!();
    many_notes(&sandbox);
    let mut client = sandbox.serve(Era::Modern);
    client.send_call("memory_save", json!({ "type": "learning", "content": "Said at the very end." }));
    let closed = client.close();
    assert!(closed.status.success(), "{closed:?}");
    assert!(sandbox.logs().contains("Said at the very end."));
}

#[cfg(unix)]
#[test]
fn requests_before_a_signal_are_answered() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    client.call("memory_stats", json!({})).unwrap();
    let saved = client.send_call("memory_save", json!({ "type": "learning", "content": "Said before the signal." }));
    eventually(Duration::from_secs(20), || sandbox.logs().contains("Said before the signal."));
    let process = client.process_id().to_string();
    std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap();
    assert!(client.answer(saved).is_ok());
    assert!(wait_without_closing(client).status.success());
}

#[test]
fn running_calls_finish_before_shutdown() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    let arguments = json!({ "type": "learning", "content": "The last thing said is kept." });
    client.send_call("memory_save", arguments);
    let closed = client.close();
    assert!(closed.status.success(), "{closed:?}");
    assert!(sandbox.logs().contains("The last thing said is kept."));
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_with_status_zero() {
    let sandbox = sandbox!();
    for signal in ["-TERM", "-INT"] {
        let client = sandbox.serve(Era::Modern);
        let process = client.process_id().to_string();
        std::process::Command::new("kill").args([signal, &process]).status().unwrap();
        let closed: harness::ServerExit = wait_without_closing(client);
        assert!(closed.status.success(), "{signal}: {closed:?}");
    }
}

#[cfg(unix)]
fn wait_without_closing(mut client: McpClient) -> harness::ServerExit {
    harness::eventually(Duration::from_secs(10), || !client.is_running());
    client.close()
}

#[test]
fn two_servers_on_one_store_find_what_the_other_saves() {
    let sandbox = sandbox!();
    let (mut one, mut other) = (sandbox.serve(Era::Legacy), sandbox.serve(Era::Modern));
    for n in 0..20 {
        let writer = if n % 2 == 0 { &mut one } else { &mut other };
        let arguments = json!({ "type": "learning", "content": format!("finding{n} about the scheduler") });
        writer.call("memory_save", arguments).unwrap().expect_success();
    }
    for n in 0..20 {
        let reader = if n % 2 == 0 { &mut other } else { &mut one };
        let found = reader.call("memory_search", json!({ "query": format!("finding{n}") })).unwrap();
        assert!(found.expect_success()["count"].as_u64().unwrap() >= 1, "finding{n}");
    }
}

#[test]
fn a_host_without_a_project_has_a_memory_of_the_user() {
    let sandbox = sandbox!();
    // The working directory of desktop hosts.
    let start = |arguments: &[&str]| {
        let mut command = sandbox.memory_command();
        command.args(arguments).current_dir(sandbox.home());
        command
    };
    let mut client = McpClient::start(start(&["serve", "--personal"]), Era::Legacy);
    let saved = client.call("memory_save", json!({ "type": "preference", "content": "Tea, not coffee." })).unwrap();
    assert_eq!(saved.expect_success()["saved"], true);
    let stats = client.call("memory_stats", json!({})).unwrap();
    let place = stats.expect_success()["project"].as_str().unwrap().replace('\\', "/");
    assert!(place.ends_with("/jikime-memory/personal") && place.contains("/home/"), "{place}");
    client.close();
    assert!(!sandbox.store().exists() && !sandbox.home().join(".jikime").exists());
    let found = harness::run_to_end(start(&["search", "--personal", "--json", "tea"]), "", Duration::from_mins(1));
    assert_eq!(found.assert_success().json()["count"], 1);
    let both = harness::run_to_end(start(&["stats", "--personal", "--project", "."]), "", Duration::from_mins(1));
    both.assert_code(2);
}

#[test]
fn answers_fit_the_token_limit_and_report_cuts() {
    let sandbox = sandbox!();
    let line = "기억은 마크다운으로 남는다, and every line of it says about as much as this one.\n";
    sandbox.write(".jikime/memory/MEMORY.md", format!("# Memory\n\n{}", line.repeat(3_000)));
    sandbox.write(".jikime/memory/notes/long.md", line.repeat(3_000));
    let mut client = sandbox.serve(Era::Modern);
    let size = |output: &Value| output.to_string().len();
    let mut call = |tool: &str, arguments: Value| client.call(tool, arguments).unwrap().expect_success().clone();
    for explain in [false, true] {
        let question = json!({ "query": "마크다운 every line", "maxResults": 50, "minScore": 0, "explain": explain });
        let found = call("memory_search", question);
        assert!(size(&found) <= 4_000, "{} bytes", size(&found));
    }
    for (tool, arguments) in
        [("memory_get", json!({ "path": "notes/long.md" })), ("memory_load", json!({ "source": "full" }))]
    {
        let output = call(tool, arguments.clone());
        assert!((20_000..40_000).contains(&size(&output)), "{tool}: {} bytes", size(&output));
        let notice = output["notice"].as_str().unwrap();
        assert!(notice.contains("maxTokens"), "{tool}: {notice}");
        for (tokens, at_most) in [(500, 3_000), (20_000, 90_000)] {
            let mut arguments = arguments.clone();
            arguments["maxTokens"] = tokens.into();
            let output = call(tool, arguments);
            assert!((at_most / 3..at_most).contains(&size(&output)), "{tool} {tokens}: {} bytes", size(&output));
        }
    }
    let none = client.call("memory_get", json!({ "path": "MEMORY.md", "maxTokens": 0 })).unwrap();
    assert!(none.expect_failure().contains("use 1 or more"));
}

#[test]
fn logs_hold_nothing_of_what_is_remembered() {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_LOG", "debug");
    let mut client = sandbox.serve(Era::Modern);
    let content = "The walrus guards the vault.";
    client.call("memory_save", json!({ "type": "decision", "content": content })).unwrap().expect_success();
    client.call("memory_search", json!({ "query": "walrus vault" })).unwrap().expect_success();
    let closed = client.close();
    assert!(!closed.stderr.contains("walrus"), "{}", closed.stderr);
}
