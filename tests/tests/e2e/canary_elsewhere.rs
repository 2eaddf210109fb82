//! Plants synthetic secrets outside of events: in imports, the command line, HTTP and Markdown by people. None may be
//! stored, printed or sent to a service. `scrub` removes older ones.

use std::fs;
use std::time::{Duration, SystemTime};

use harness::{
    Canary, Era, HttpServer, ProgramOutput, ProviderStandIn, Sandbox, assert_labels, assert_no_traces, canaries,
    eventually, find_traces, fixtures_dir, sandbox,
};
use rstest::rstest;
use serde_json::{Value, json};

/// Time limit of embedding.
const VECTORS: Duration = Duration::from_mins(1);

/// Placeholder for a secret in an export.
const PLACE: &str = "PLACE-OF-";

/// Runs a command, which must succeed and print no secret.
#[track_caller]
fn command(sandbox: &Sandbox, arguments: &[&str], canaries: &[Canary]) -> ProgramOutput {
    let outcome = sandbox.run_cli(arguments);
    outcome.assert_success();
    assert_eq!(find_traces(canaries, format!("{} {}", outcome.stdout, outcome.stderr).as_bytes()), [""; 0]);
    outcome
}

/// Runs all commands that print memories, and then searches all files.
#[track_caller]
fn look_everywhere(sandbox: &Sandbox, canaries: &[Canary]) {
    for arguments in [
        &["index"][..],
        &["search", "text of a canary that is kept"],
        &["list", "-n", "500", "--json"],
        &["export"],
        &["stats", "--json"],
        &["scrub", "--notes", "--dry-run"],
    ] {
        command(sandbox, arguments, canaries);
    }
    assert_no_traces(canaries, &sandbox.root());
}

/// Replaces a text in all strings.
fn put(value: &mut Value, place: &str, text: &str) {
    match value {
        Value::String(found) => *found = found.replace(place, text),
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, place, text)),
        Value::Object(fields) => fields.values_mut().for_each(|value| put(value, place, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn no_secret_of_the_command_line_leaves_a_trace() {
    let (sandbox, canaries) = (sandbox!(), canaries());
    for (n, canary) in canaries.iter().enumerate() {
        let text = format!("The text of canary {n} is kept: {}", canary.text);
        let metadata = json!({ "context": canary.text }).to_string();
        let ending: &[&str] = if n % 2 == 0 { &["--long-term"] } else { &[] };
        command(&sandbox, &[&["save", "decision", &text, "--metadata", &metadata], ending].concat(), &canaries);
        command(&sandbox, &["search", &text], &canaries);
    }
    look_everywhere(&sandbox, &canaries);
    assert_labels(&canaries, &(sandbox.logs() + &sandbox.read(".jikime/memory/MEMORY.md")));
}

#[rstest]
#[case("jsonl")]
#[case("json")]
#[case("md")]
fn no_secret_of_an_export_leaves_a_trace(#[case] format: &str) {
    let (sandbox, mut canaries) = (sandbox!(), canaries());
    // An entry of a log is one line.
    canaries.retain(|canary| format != "md" || !canary.text.contains('\n'));
    let elsewhere = sandbox!();
    for n in 0..canaries.len() {
        let (text, metadata) = (format!("Canary {n} is kept: {PLACE}{n}."), format!("{{\"context\":\"{PLACE}{n}.\"}}"));
        elsewhere.run_cli(["save", "learning", &text, "--metadata", &metadata]).assert_success();
    }
    let exported = elsewhere.run_cli(["export", "--format", format]).assert_success().stdout.clone();
    let put_all = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        canaries.iter().enumerate().for_each(|(n, canary)| put(&mut line, &format!("{PLACE}{n}."), &canary.text));
        line.to_string()
    };
    let planted = match format {
        "md" => {
            let texts = canaries.iter().enumerate();
            texts.fold(exported, |text, (n, canary)| text.replace(&format!("{PLACE}{n}."), &canary.text))
        }
        "json" => put_all(&exported),
        _ => exported.lines().map(|line| put_all(line) + "\n").collect(),
    };
    assert!(!planted.contains(PLACE) && find_traces(&canaries, planted.as_bytes()).len() >= canaries.len());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export");
    fs::write(&file, planted).unwrap();
    command(&sandbox, &["import", format, file.to_str().unwrap()], &canaries);
    look_everywhere(&sandbox, &canaries);
    assert_labels(&canaries, &sandbox.logs());
}

#[test]
fn no_secret_of_the_hosts_transcripts_and_notes_leaves_a_trace() {
    let (sandbox, canaries) = (sandbox!(), canaries());
    let project = sandbox.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = sandbox.home().join(".claude/projects").join(name);
    fs::create_dir_all(folder.join("memory")).unwrap();
    let recorded = fs::read_to_string(fixtures_dir().join("transcripts/tools.jsonl")).unwrap();
    let mut lines = recorded.replace("/home/dev/project", &project);
    let session = "0a1b2c3d-0000-4000-8000-000000000009";
    let common =
        json!({ "isSidechain": false, "cwd": project, "sessionId": session, "timestamp": "2026-01-28T03:35:06.280Z" });
    for (n, canary) in canaries.iter().enumerate() {
        let (prompt, answer) =
            (format!("Prompt {n}: use {}", canary.text), format!("We decided to keep {} there.", canary.text));
        let message = |role: &str, content: Value| json!({ "id": format!("m{n}"), "role": role, "content": content });
        for (kind, message) in [
            ("user", message("user", prompt.into())),
            ("assistant", message("assistant", json!([{ "type": "text", "text": answer }]))),
        ] {
            let mut line = common.clone();
            line["type"] = kind.into();
            line["uuid"] = format!("{kind}-{n}").into();
            line["message"] = message;
            lines.push_str(&format!("{line}\n"));
        }
        fs::write(folder.join(format!("memory/note_{n}.md")), format!("# Note {n}\n\nKept: {}\n", canary.text))
            .unwrap();
    }
    let transcript = folder.join(format!("{session}.jsonl"));
    fs::write(&transcript, lines).unwrap();
    // Old enough that no session continues.
    fs::File::options().append(true).open(transcript).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    command(&sandbox, &["import", "claude-code"], &canaries);
    command(&sandbox, &["import", "auto-memory"], &canaries);
    // The host's own files keep the secrets.
    fs::remove_dir_all(sandbox.home().join(".claude")).unwrap();
    look_everywhere(&sandbox, &canaries);
    assert!(sandbox.logs().contains("Prompt 1: use"), "{}", sandbox.logs());
    assert_labels(&canaries, &sandbox.logs());
}

#[test]
fn no_secret_that_is_saved_over_http_leaves_a_trace() {
    let (mut sandbox, canaries) = (sandbox!(), canaries());
    sandbox.set_variable("JIKIME_HTTP_TOKEN", "of-the-tests-only");
    let server = HttpServer::start(&sandbox, &[]);
    for (n, canary) in canaries.iter().enumerate() {
        let content = format!("The text of canary {n} is kept: {}", canary.text);
        for (tool, arguments) in [
            ("memory_save", json!({ "type": "decision", "content": content, "metadata": { "context": canary.text } })),
            ("memory_search", json!({ "query": content })),
        ] {
            let answer = server.ask("of-the-tests-only", "tools/call", json!({ "name": tool, "arguments": arguments }));
            assert_eq!(answer.message()["result"]["isError"], Value::Bool(false), "{}", answer.body);
            assert_eq!(find_traces(&canaries, answer.body.as_bytes()), [""; 0]);
        }
    }
    drop(server);
    look_everywhere(&sandbox, &canaries);
    assert_labels(&canaries, &sandbox.logs());
}

#[test]
fn no_secret_is_sent_to_a_service_that_makes_vectors() {
    let (mut sandbox, canaries) = (sandbox!(), canaries());
    let stand_in = ProviderStandIn::embedding(16);
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", format!("{}/v1", stand_in.url()));
    sandbox.set_variable("JIKIME_EMBEDDING_API_KEY", "of-the-tests-only");
    sandbox.set_variable("JIKIME_EMBEDDING_MODEL", "a-model");
    let mut client = sandbox.serve(Era::Modern);
    let mut note = String::from("# Mine\n\n");
    for (n, canary) in canaries.iter().enumerate() {
        let content = format!("The text of canary {n} is kept: {}", canary.text);
        client.call("memory_save", json!({ "type": "decision", "content": content })).unwrap().expect_success();
        client.call("memory_search", json!({ "query": content })).unwrap().expect_success();
        note.push_str(&format!("## Part {n}\n\nPeople wrote this down: {}\n\n", canary.text));
    }
    // People's notes keep the secrets, but must be redacted before sending.
    sandbox.write(".jikime/memory/note.md", note);
    client.call("memory_reindex", json!({})).unwrap().expect_success();
    eventually(VECTORS, || {
        let stats = client.call("memory_stats", json!({})).unwrap();
        stats.expect_success()["embedding"]["coverage"] == 1.0
    });
    let sent: String = stand_in.asked().iter().map(|asked| format!("{} {}\n", asked.target, asked.body)).collect();
    assert!(sent.contains("canary 3 is kept") && sent.contains("People wrote this down"), "{sent}");
    let unescaped = sent.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
    assert_eq!(find_traces(&canaries, format!("{sent}{unescaped}").as_bytes()), [""; 0]);
}

#[test]
fn scrub_leaves_no_trace_of_what_people_wrote_down() {
    let (sandbox, mut canaries) = (sandbox!(), canaries());
    // Private parts of a note belong to its author.
    canaries.retain(|canary| !canary.label.is_empty());
    let (mut log, mut notes) = (String::from("# 2026-01-28\n\n"), String::from("# Notes\n\n"));
    for (n, canary) in canaries.iter().enumerate() {
        let text = &canary.text;
        if !text.contains('\n') {
            log.push_str(&format!("- [10:30:15] **User Prompt**: the text of canary {n} is kept: {text}\n"));
        }
        notes.push_str(&format!("## Part {n}\n\nKept: {text}\n\n"));
    }
    sandbox.write(".jikime/memory/2026-01-28.md", log);
    sandbox.write(".jikime/memory/note.md", &notes);
    sandbox.write(".jikime/memory/MEMORY.md", notes);
    for arguments in [&["index"][..], &["search", "text of a canary that is kept"]] {
        sandbox.run_cli(arguments).assert_success();
    }
    let before = fs::read(sandbox.store().join("memory.db")).unwrap();
    assert!(!find_traces(&canaries, &before).is_empty(), "what people wrote was read");
    command(&sandbox, &["scrub", "--notes", "--yes"], &canaries);
    look_everywhere(&sandbox, &canaries);
    assert_labels(&canaries, &sandbox.read(".jikime/memory/MEMORY.md"));
    assert_labels(&canaries, &sandbox.read(".jikime/memory/note.md"));
}
