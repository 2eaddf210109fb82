//! The main job with the real programs: events sent by a host are found by any host, also after both databases were
//! deleted.

use std::fs;

use harness::{Era, McpClient, Sandbox, fixtures_dir, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

/// Memories of the recorded events: a question, the type, and a part of the answer.
const REMEMBERED: [(&str, &str, &str); 5] = [
    ("the RIG-HELLO prompt", "user_prompt", "RIG-HELLO"),
    ("what was asked with the rigcmd command?", "user_prompt", "/rigcmd with args"),
    ("which files were modified, notes.txt?", "tool_usage", "notes.txt"),
    ("exit code 3 of the failed bash command", "error", "exit 3"),
    ("the second probe", "assistant_response", "The second probe is still out."),
];

fn send_recorded_events(sandbox: &Sandbox) {
    for (command, event) in [
        ("memory-prompt-save", "UserPromptSubmit"),
        ("memory-prompt-save", "UserPromptSubmit.slash-command"),
        ("memory-prompt-save", "UserPromptSubmit.task-notification"),
        ("memory-track", "PostToolUse.Edit"),
        ("memory-track", "PostToolUse.Write"),
        ("memory-track", "PostToolUse.Bash"),
        ("memory-track", "PostToolUse.Read"),
        ("memory-track", "PostToolUse.mcp__mini__recall"),
        ("memory-track", "PostToolUseFailure.Bash"),
        ("memory-complete", "Stop"),
        ("memory-complete", "Stop.background"),
    ] {
        let outcome = sandbox.run_hook(command, &sandbox.event(event).to_string());
        outcome.assert_success().assert_no_stdout().assert_no_stderr();
    }
    // Ends the turn of the session that used tools.
    let mut stop = sandbox.event("Stop");
    stop["session_id"] = sandbox.event("PostToolUse.Edit")["session_id"].clone();
    stop["last_assistant_message"] = "The notes are written.".into();
    sandbox.run_hook("memory-complete", &stop.to_string()).assert_success().assert_no_stderr();
}

fn search(client: &mut McpClient, query: &str) -> Value {
    let result = client.call("memory_search", json!({ "query": query })).unwrap();
    result.expect_success().clone()
}

fn found(client: &mut McpClient) -> Vec<Value> {
    let mut all = Vec::new();
    for (question, kind, text) in REMEMBERED {
        let mut output = search(client, question);
        // It says how many vectors are missing, which depends on the time.
        output.as_object_mut().unwrap().remove("notice");
        let hits = output["results"].as_array().unwrap();
        let hit = hits.iter().find(|hit| hit["type"] == kind && hit["snippet"].as_str().unwrap().contains(text));
        let hit = hit.unwrap_or_else(|| panic!("{question:?} does not find {text:?}: {output:#}"));
        let by_id = client.call("memory_get", json!({ "id": hit["id"] })).unwrap().expect_success().clone();
        assert!(by_id["content"].as_str().unwrap().contains(text), "{by_id:#}");
        let lines = hit["end_line"].as_i64().unwrap() - hit["start_line"].as_i64().unwrap() + 1;
        let arguments = json!({ "path": hit["path"], "from": hit["start_line"], "lines": lines });
        let by_path = client.call("memory_get", arguments).unwrap().expect_success().clone();
        assert!(by_path["content"].as_str().unwrap().contains(text), "{by_path:#}");
        all.push(output);
    }
    all
}

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
fn recorded_events_survive_deleted_databases(#[case] era: Era) {
    let sandbox = sandbox!();
    send_recorded_events(&sandbox);
    let mut client = sandbox.serve(era);
    let before = found(&mut client);
    let closed = client.close();
    assert!(closed.status.success(), "{closed:?}");

    for name in ["memory.db", "index.db"] {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(sandbox.store().join(format!("{name}{ending}")));
        }
    }
    let mut client = sandbox.serve(era);
    assert_eq!(found(&mut client), before);
}

#[test]
fn capture_is_found_at_once_by_a_running_server() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    assert_eq!(search(&mut client, "the RIG-HELLO prompt")["count"], 0);
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stderr();
    assert_eq!(search(&mut client, "the RIG-HELLO prompt")["count"], 1);
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stderr();
    assert_eq!(search(&mut client, "the RIG-HELLO prompt")["count"], 1, "the same event twice is one memory");
}

#[test]
fn a_session_begins_with_what_earlier_ones_concluded() {
    let sandbox = sandbox!();
    let start = sandbox.event("SessionStart.startup").to_string();
    sandbox.run_hook("memory-load", &start).assert_success().assert_no_stdout().assert_no_stderr();
    assert!(!sandbox.store().exists(), "a project without a memory is left as it is");

    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).assert_success();
    for source in ["startup", "resume", "clear", "compact", "fork"] {
        let start = sandbox.event(&format!("SessionStart.{source}")).to_string();
        let answer = sandbox.run_hook("memory-load", &start).assert_success().assert_no_stderr().json();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        let context = output["additionalContext"].as_str().unwrap();
        assert!(context.starts_with(&format!("<memory-context project=\"project\" source=\"{source}\">")), "{context}");
        assert!(context.contains("Webhooks are acknowledged after the commit."), "{context}");
    }
}

#[test]
fn reports_summaries_and_pending_changes_are_saved() {
    let sandbox = sandbox!();
    let edit = sandbox.event("PostToolUse.Edit");
    let mut end = sandbox.event("SessionEnd.other");
    end["session_id"] = edit["session_id"].clone();
    let summary = "<analysis>\nthinking\n</analysis>\n<summary>\n1. Request: two steps.\n7. Pending Tasks:\n   - tell Kim\n</summary>";
    let mut stopped = sandbox.event("SubagentStop.compaction");
    stopped["last_assistant_message"] = summary.into();
    let mut compacted = sandbox.event("PostCompact.auto");
    compacted["compact_summary"] = summary.into();
    for (command, event) in [
        ("memory-subagent", sandbox.event("SubagentStop")),
        ("memory-subagent", stopped),
        ("memory-compact", compacted),
        ("memory-track", edit),
        ("memory-save", end),
    ] {
        sandbox.run_hook(command, &event.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
    }
    let listed = sandbox.run_cli(["list", "--json"]).assert_success().json();
    let mut kept: Vec<(&str, &str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|memory| (memory["type"].as_str().unwrap(), memory["content"].as_str().unwrap()))
        .collect();
    kept.sort_unstable();
    assert_eq!(
        kept,
        [
            ("session_summary", "1. Request: two steps.\n7. Pending Tasks:\n   - tell Kim"),
            ("session_summary", "Changed: notes.txt"),
            ("subagent_result", "probe: PROBE-REPORT-1: hello.txt says hello."),
            ("task", "tell Kim"),
            ("tool_usage", "Files modified: notes.txt\n- two\n+ three"),
        ]
    );
}

#[test]
fn interrupted_changes_are_saved_at_next_prompt() {
    let sandbox = sandbox!();
    let edit = sandbox.event("PostToolUse.Edit");
    let mut prompt = sandbox.event("UserPromptSubmit");
    prompt["session_id"] = edit["session_id"].clone();
    sandbox.run_hook("memory-track", &edit.to_string()).assert_success().assert_no_stderr();
    sandbox.run_hook("memory-prompt-save", &prompt.to_string()).assert_success().assert_no_stderr();
    assert!(sandbox.logs().contains("**Tool Usage**: Files modified: notes.txt"), "{}", sandbox.logs());
}

#[test]
fn decision_is_saved_before_compaction() {
    let sandbox = sandbox!();
    let line = |kind: &str, text: &str| {
        json!({ "type": kind, "timestamp": "2026-01-28T01:30:15Z", "message": { "role": kind, "content": text } })
            .to_string()
    };
    let transcript = [
        line("user", "How should we store sessions?"),
        line("assistant", "We decided to keep sessions in Redis because the database is too slow for them."),
    ];
    let mut event = sandbox.event("PreCompact.auto");
    event["transcript_path"] = sandbox.write("transcript.jsonl", transcript.join("\n") + "\n").to_string_lossy().into();
    for _ in 0..2 {
        sandbox.run_hook("memory-flush", &event.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
    }
    let listed = sandbox.run_cli(["list", "--json", "--type", "decision"]).assert_success().json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    assert_eq!(listed[0]["date"], "2026-01-28 10:30:15");
}

#[test]
fn conclusion_before_compaction_names_its_prompt() {
    let sandbox = sandbox!();
    let asked = "Please change the queue of the mailer.";
    let prompt = sandbox.prompt_event(asked);
    sandbox.run_hook("memory-prompt-save", &prompt.to_string()).assert_success();
    let line = |kind: &str, text: &str| {
        json!({ "type": kind, "timestamp": "2026-01-28T01:30:15Z", "message": { "role": kind, "content": text } })
            .to_string()
    };
    let said = line("assistant", "We decided to use SQS for the mailer queue instead of RabbitMQ.");
    let mut event = sandbox.event("PreCompact.auto");
    event["session_id"] = prompt["session_id"].clone();
    let transcript = sandbox.write("transcript.jsonl", line("user", asked) + "\n" + &said + "\n");
    event["transcript_path"] = transcript.to_string_lossy().into();
    sandbox.run_hook("memory-flush", &event.to_string()).assert_success();
    let listed = sandbox.run_cli(["list", "--json"]).assert_success().json();
    let id_of = |kind: &str| listed.as_array().unwrap().iter().find(|row| row["type"] == kind).unwrap()["id"].clone();
    let shown = sandbox.run_cli(["show", "--json", id_of("decision").as_str().unwrap()]).assert_success().json();
    assert_eq!(shown["memory"]["source"], id_of("user_prompt"), "{shown:#}");
}

#[test]
fn prompt_of_an_older_host_is_saved() {
    let sandbox = sandbox!();
    let event = sandbox.event("2.1.20/UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stderr();
    let mut stop = sandbox.event("2.1.20/Stop");
    stop["transcript_path"] = fixtures_dir().join("transcripts/2.1.20/tools.jsonl").to_string_lossy().into();
    sandbox.run_hook("memory-complete", &stop.to_string()).assert_success().assert_no_stderr();
    assert!(sandbox.logs().contains("**Assistant Response**: All done"), "{}", sandbox.logs());
    assert!(sandbox.logs().contains("**User Prompt**: RIG-HELLO"), "{}", sandbox.logs());
}

#[rstest]
#[case::not_json("memory-track", "{", true)]
#[case::nothing("memory-complete", "", true)]
#[case::no_object("memory-prompt-save", "[1, 2]", false)]
#[case::no_event("memory-flush", "{}", false)]
fn a_hook_ends_well_whatever_it_is_given(#[case] command: &str, #[case] input: &str, #[case] is_fault: bool) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).assert_success();
    sandbox.run_hook(command, input).assert_success().assert_no_stdout().assert_no_stderr();
    let problems = sandbox.run_cli(["stats", "--json"]).assert_success().json()["problems"].to_string();
    assert_eq!(problems.contains("hook: "), is_fault, "{problems}");
}

#[test]
fn hook_command_defaults_to_the_event() {
    let sandbox = sandbox!();
    for event in ["PostToolUse.Edit", "Stop", "SessionEnd.other", "PostToolUse.Read"] {
        let mut event = sandbox.event(event);
        event["session_id"] = "one".into();
        sandbox.run_hook("", &event.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
    }
    assert!(sandbox.logs().contains("**Tool Usage**: Files modified: notes.txt"), "{}", sandbox.logs());
    assert!(sandbox.logs().contains("**Assistant Response**"), "{}", sandbox.logs());
}

#[test]
fn unknown_hook_command_is_reported() {
    let outcome = sandbox!().run_hook("memory-dance", "{}");
    outcome.assert_success().assert_no_stdout();
    assert_eq!(outcome.stderr, "jikime-hook: unknown command \"memory-dance\"; --help lists the commands\n");
}

#[test]
fn no_capture_without_history() {
    let mut sandbox = sandbox!();
    sandbox.set_variable("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1");
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stdout().assert_no_stderr();
    assert_eq!(sandbox.logs(), "");
}

#[test]
fn hooks_at_once_on_a_cold_store_lose_nothing() {
    let sandbox = sandbox!();
    std::thread::scope(|scope| {
        for n in 0..24 {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let mut event = sandbox.event("UserPromptSubmit");
                event["prompt"] = format!("prompt number {n}").into();
                sandbox.run_hook("memory-prompt-save", &event.to_string()).assert_success().assert_no_stdout();
            });
        }
    });
    // The next process that opens the store saves queued events.
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!((&stats["memories"], &stats["queue"]), (&json!(24), &json!(0)), "{stats:#}");
}

#[test]
fn metadata_is_shown_with_its_memory() {
    let sandbox = sandbox!();
    let saved = ["save", "decision", "Redis for tokens", "--metadata", r#"{"context": "SPEC-001"}"#, "--json"];
    let saved = sandbox.run_cli(saved).assert_success().json();
    let shown = sandbox.run_cli(["show", saved["id"].as_str().unwrap(), "--json"]).assert_success().json();
    assert_eq!(shown["memory"]["metadata"], json!({ "context": "SPEC-001" }));
    let text = sandbox.run_cli(["show", saved["id"].as_str().unwrap()]).assert_success().stdout.clone();
    assert!(text.contains("decision, 20") && text.contains("SPEC-001"), "{text}");
}

#[test]
fn looking_for_a_memory_makes_none() {
    let sandbox = sandbox!();
    for command in [&["search", "redis"][..], &["list"], &["stats"], &["load"]] {
        let outcome = sandbox.run_cli(command);
        outcome.assert_code(1);
        assert!(outcome.stderr.contains("has no memory yet; jikime-memory init creates one"), "{outcome:?}");
    }
    assert!(!sandbox.project().join(".jikime").exists());
}

#[test]
fn demo_hides_a_secret_and_finds_the_decision() {
    let sandbox = sandbox!();
    let shown = sandbox.run_cli(["demo"]).assert_success().assert_no_stderr().stdout.clone();
    let parts: Vec<&str> = (2..=4).map(|n| shown.split(&format!("\n{n}. ")).nth(1).unwrap_or_default()).collect();
    assert!(parts[0].contains("postgres://app:[redacted: password]@db"), "{shown}");
    assert!(!parts[0].contains("s3cr3t"), "{shown}");
    assert!(parts[1].contains("Last session:") && parts[1].contains("Webhooks run twice"), "{shown}");
    let hit = parts[2].lines().nth(2).unwrap_or_default();
    assert!(hit.contains("  decision  "), "{hit:?} in {shown}");
    let mut left = fs::read_dir(sandbox.root().join("tmp")).unwrap().map(|item| item.unwrap().file_name());
    assert!(left.all(|name| !name.to_string_lossy().starts_with("jikime-memory-demo")), "{shown}");
}
