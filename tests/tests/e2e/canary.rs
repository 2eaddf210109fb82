//! Plants synthetic secrets in all texts of all events. Then searches everything that the programs left behind or sent to a
//! server.

use std::fs;

use harness::{
    Canary, Era, Sandbox, assert_labels, assert_no_traces, canaries, files_below, find_traces, fixtures_dir, sandbox,
};
use rstest::rstest;
use serde_json::{Value, json};

/// Commands of the hooks client by the start of an event's name.
const COMMANDS: [(&str, &str); 8] = [
    ("UserPromptSubmit", "memory-prompt-save"),
    ("PostToolUse", "memory-track"),
    ("Stop", "memory-complete"),
    ("SubagentStop", "memory-subagent"),
    ("PreCompact", "memory-flush"),
    ("PostCompact", "memory-compact"),
    ("SessionEnd", "memory-save"),
    ("SessionStart", "memory-load"),
];

/// Fields that identify an event and therefore stay unchanged.
const KEPT: [&str; 7] =
    ["hook_event_name", "tool_name", "session_id", "transcript_path", "agent_transcript_path", "cwd", "source"];

/// Whether the store is writable, or events are queued on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryWay {
    Direct,
    Spool,
}

#[rstest]
#[case::direct(DeliveryWay::Direct)]
#[case::spool(DeliveryWay::Spool)]
fn no_secret_of_an_event_leaves_a_trace(#[case] way: DeliveryWay) {
    let sandbox = sandbox!();
    let canaries = canaries();
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).assert_success();
    let version = (way == DeliveryWay::Spool).then(|| sandbox.set_version(77));
    send_everything(&sandbox, &canaries);
    assert_no_traces(&canaries, &sandbox.root());
    if let Some(version) = version {
        assert!(fs::read_dir(sandbox.store().join("spool")).unwrap().count() > canaries.len(), "the spool was the way");
        sandbox.set_version(version);
    }
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!(stats["queue"], 0, "{stats:#}");
    assert_no_traces(&canaries, &sandbox.root());
    assert_labels(&canaries, &sandbox.logs());
}

#[cfg(unix)]
#[test]
fn no_secret_of_an_event_is_sent_to_a_server() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use harness::eventually;

    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_RECALL", "on");
    let canaries = canaries();
    let server = sandbox.serve(Era::Modern);
    eventually(Duration::from_secs(20), || sandbox.socket().is_some());
    let path = sandbox.socket().unwrap();
    server.kill();
    fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let ended = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        let stand_in = scope.spawn(|| {
            let mut sent = Vec::new();
            loop {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                if ended.load(Ordering::SeqCst) {
                    return sent;
                }
                let start = sent.len();
                let _ = stream.read_until(b'\n', &mut sent);
                let asks = sent[start..].starts_with(b"{\"v\":1,\"recall\"");
                let answer = if asks { "{\"v\":1,\"recalled\":[]}\n" } else { "{\"v\":1,\"captured\":true}\n" };
                let _ = stream.get_mut().write_all(answer.as_bytes());
                let _ = stream.read_to_end(&mut sent);
            }
        });
        send_everything(&sandbox, &canaries);
        ended.store(true, Ordering::SeqCst);
        UnixStream::connect(&path).unwrap();
        stand_in.join().unwrap()
    });
    let read = String::from_utf8(sent).unwrap();
    let unescaped = read.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    assert_eq!(find_traces(&canaries, format!("{read}{unescaped}").as_bytes()), [""; 0]);
    for kind in ["\"capture\"", "\"recall\"", "\"user_prompt\"", "\"error\"", "\"decision\"", "\"tool_usage\""] {
        assert!(read.contains(kind), "nothing of {kind} was sent");
    }
    assert_labels(&canaries, &read);
    assert_no_traces(&canaries, &sandbox.root());
}

#[test]
fn no_secret_that_is_saved_over_mcp_leaves_a_trace() {
    let sandbox = sandbox!();
    let canaries = canaries();
    let mut client = sandbox.serve(Era::Modern);
    for (n, canary) in canaries.iter().enumerate() {
        let text = &canary.text;
        let metadata = json!({ "context": text, "note": { "list": [text] }, text.as_str(): true });
        let long_term = n % 2 == 0;
        for metadata in [metadata.clone(), metadata.to_string().into()] {
            let content =
                format!("Canary {n} is kept as {} text: {text}", if metadata.is_object() { "one" } else { "another" });
            let arguments =
                json!({ "type": "decision", "content": content, "metadata": metadata, "longTerm": long_term });
            let answer = client.call("memory_save", arguments).unwrap();
            let saved = answer.expect_success()["id"].clone();
            let kept = client.call("memory_get", json!({ "id": saved })).unwrap();
            assert_eq!(find_traces(&canaries, format!("{:?} {:?}", answer.raw, kept.raw).as_bytes()), [""; 0]);
        }
    }
    client.call("memory_reindex", json!({})).unwrap().expect_success();
    let found = client.call("memory_search", json!({ "query": "canary kept text", "maxResults": 50 })).unwrap();
    assert!(found.expect_success()["count"].as_u64().unwrap() > 10);
    let loaded = client.call("memory_load", json!({ "source": "full" })).unwrap();
    let stats = client.call("memory_stats", json!({})).unwrap();
    let said = format!("{:?} {:?} {:?} {}", found.raw, loaded.raw, stats.raw, client.close().stderr);
    assert_eq!(find_traces(&canaries, said.as_bytes()), [""; 0]);
    assert_no_traces(&canaries, &sandbox.root());
    assert_labels(&canaries, &(sandbox.logs() + &sandbox.read(".jikime/memory/MEMORY.md")));
}

#[test]
fn a_payload_that_cannot_be_read_is_not_quoted() {
    let sandbox = sandbox!();
    let canaries = canaries();
    let all = joined(&canaries);
    for payload in [
        json!({ "hook_event_name": "UserPromptSubmit", "is_interrupt": all }).to_string(),
        json!({ "hook_event_name": "UserPromptSubmit", "prompt": [all] }).to_string(),
        json!({ "hook_event_name": all, "session_id": all }).to_string(),
        format!("{{\"prompt\": {all}"),
        all.clone(),
    ] {
        hook(&sandbox, "memory-prompt-save", &payload, &canaries);
    }
    assert_no_traces(&canaries, &sandbox.root());
}

fn send_everything(sandbox: &Sandbox, canaries: &[Canary]) {
    send_all_at_once(sandbox, canaries);
    std::thread::scope(|scope| {
        for part in canaries.chunks(canaries.len().div_ceil(4)) {
            scope.spawn(move || part.iter().for_each(|canary| send_alone(sandbox, canary, canaries)));
        }
    });
    send_transcripts(sandbox, canaries);
}

/// Sends all recorded events with all canaries in each text.
fn send_all_at_once(sandbox: &Sandbox, canaries: &[Canary]) {
    let recorded = fixtures_dir().join("hooks");
    let mut names: Vec<String> = files_below(&recorded)
        .iter()
        .map(|path| path.strip_prefix(&recorded).unwrap().with_extension("").to_string_lossy().replace('\\', "/"))
        .collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let mut event = sandbox.event(&name);
        plant(&mut event, &joined(canaries));
        hook(sandbox, command_of(&name), &event.to_string(), canaries);
    }
}

/// Sends one canary in texts that are truncated, and in names of files and sessions.
fn send_alone(sandbox: &Sandbox, canary: &Canary, canaries: &[Canary]) {
    let text = &canary.text;
    let send = |name: &str, changes: Value| {
        let mut event = sandbox.event(name);
        for (field, value) in changes.as_object().unwrap() {
            event[field.as_str()] = value.clone();
        }
        hook(sandbox, command_of(name), &event.to_string(), canaries);
    };
    // The cut is at another place of the secret each time.
    let padding = "x".repeat(150 + text.len() * 7 % 90);
    let command = format!("make {text} {padding} {text}");
    let error = format!("{} {text} {} {text}", "y ".repeat(900 + text.len() * 3 % 100), "z ".repeat(30));
    let path = sandbox.project().join(format!("notes {text}"));
    send("PostToolUse.Bash", json!({ "tool_input": { "command": command } }));
    send("PostToolUse.Edit", json!({ "tool_input": { "file_path": path }, "session_id": text }));
    let tool = format!("mcp {text}");
    send(
        "PostToolUseFailure.Bash",
        json!({ "tool_name": tool, "tool_input": { "command": command }, "error": error, "cwd": path }),
    );
    send("UserPromptSubmit", json!({ "prompt": format!("Use {text}, please."), "session_id": text }));
}

/// Sends transcripts with canaries for the events whose text is only there.
fn send_transcripts(sandbox: &Sandbox, canaries: &[Canary]) {
    let folder = tempfile::tempdir().unwrap();
    let all = joined(canaries);
    for name in ["tools", "subagent", "compaction-auto"] {
        let lines = fs::read_to_string(fixtures_dir().join("transcripts").join(format!("{name}.jsonl"))).unwrap();
        let mut planted = String::new();
        for line in lines.lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            plant_words(&mut line, &all);
            planted.push_str(&format!("{line}\n"));
        }
        for (n, part) in canaries.chunks(4).enumerate() {
            let text: Vec<String> =
                part.iter().map(|canary| format!("We decided to keep {} for the cache.", canary.text)).collect();
            let line = json!({ "type": "assistant", "isSidechain": false, "timestamp": "2026-11-21T03:35:06.280Z",
                "message": { "id": format!("msg_{n}"), "role": "assistant", "content": [{ "type": "text", "text": text.join("\n\n") }] } });
            planted.push_str(&format!("{line}\n"));
        }
        let path = folder.path().join(format!("{name}.jsonl"));
        fs::write(&path, planted).unwrap();
        for (event, field) in [
            ("PreCompact.auto", "transcript_path"),
            ("Stop", "transcript_path"),
            ("SubagentStop", "agent_transcript_path"),
        ] {
            let mut payload = sandbox.event(event);
            payload[field] = path.to_string_lossy().into();
            payload["last_assistant_message"] = Value::Null;
            hook(sandbox, command_of(event), &payload.to_string(), canaries);
        }
    }
}

fn command_of(event: &str) -> &'static str {
    let name = event.rsplit('/').next().unwrap();
    COMMANDS.iter().find(|(start, _)| name.starts_with(start)).unwrap().1
}

/// Runs a hook, which must succeed and print no secret.
#[track_caller]
fn hook(sandbox: &Sandbox, command: &str, payload: &str, canaries: &[Canary]) {
    let outcome = sandbox.run_hook(command, payload);
    outcome.assert_success();
    assert_eq!(
        find_traces(canaries, format!("{} {}", outcome.stdout, outcome.stderr).as_bytes()),
        [""; 0],
        "{command}"
    );
}

fn joined(canaries: &[Canary]) -> String {
    canaries.iter().map(|canary| canary.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn plant(value: &mut Value, text: &str) {
    match value {
        Value::String(found) => *found = format!("{found}\n{text}"),
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, text)),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| !KEPT.contains(&name.as_str()))
                .for_each(|(_, value)| plant(value, text));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Plants a text in the words of a transcript's line and keeps its structure.
fn plant_words(value: &mut Value, text: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| plant_words(item, text)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(found) if matches!(name.as_str(), "text" | "content" | "thinking" | "command") => {
                        *found = format!("{found}\n{text}");
                    }
                    other => plant_words(other, text),
                }
            }
        }
        _ => {}
    }
}
