//! Imports of transcripts and notes of Claude Code, and of exports.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use harness::{Sandbox, eventually, fixtures_dir, run_to_end, sandbox};
use schema::model::moment::Moment;
use serde_json::{Value, json};

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// The host's folder for the sandbox's project.
fn host_folder(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = sandbox.home().join(".claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Copies recorded transcripts, including subagents', as if they were of this project.
fn place_fixtures(sandbox: &Sandbox) -> usize {
    let folder = host_folder(sandbox);
    let project = sandbox.project().to_string_lossy().into_owned();
    let mut count = 0;
    for item in fs::read_dir(fixtures_dir().join("transcripts")).unwrap() {
        let path = item.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let text = fs::read_to_string(&path).unwrap().replace("/home/dev/project", &project);
            let copy = folder.join(path.file_name().unwrap());
            fs::write(&copy, text).unwrap();
            // Old enough that no session continues.
            fs::File::options().append(true).open(copy).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
            count += 1;
        }
    }
    let agents = folder.join("subagent/subagents");
    fs::create_dir_all(&agents).unwrap();
    for item in fs::read_dir(fixtures_dir().join("transcripts/subagent/subagents")).unwrap() {
        let path = item.unwrap().path();
        fs::copy(&path, agents.join(path.file_name().unwrap())).unwrap();
    }
    count
}

fn import(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let outcome = sandbox.run_cli(["import", "--json"].iter().chain(arguments));
    outcome.assert_success().assert_no_stderr();
    outcome.json()
}

fn kept(summary: &Value) -> u64 {
    summary["kept"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

/// All lines of an export, in any order.
fn exported(sandbox: &Sandbox) -> BTreeSet<String> {
    let outcome = sandbox.run_cli(["export"]);
    outcome.assert_success().assert_no_stderr();
    outcome.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn recorded_sessions_are_imported_once() {
    let sandbox = sandbox!();
    let transcripts = place_fixtures(&sandbox) as u64;
    let told = import(&sandbox, &["claude-code", "--dry-run"]);
    assert!(!sandbox.store().exists(), "a dry run creates no store");
    let first = import(&sandbox, &["claude-code"]);
    assert_eq!((&told["kept"], &told["sessions"]), (&first["kept"], &first["sessions"]));
    assert_eq!((first["files"].as_u64(), first["problems"].as_array().map(Vec::len)), (Some(transcripts), Some(0)));
    for (kind, least) in [
        ("user_prompt", 8),
        ("assistant_response", 7),
        ("tool_usage", 2),
        ("error", 1),
        ("subagent_result", 2),
        ("session_summary", 2),
    ] {
        assert!(first["kept"][kind].as_u64().unwrap_or_default() >= least, "{kind}: {first:#}");
    }
    let logs = sandbox.logs();
    assert!(
        logs.contains("probe: PROBE-REPORT-1: hello.txt says hello.") && logs.contains("Files modified: notes.txt"),
        "{logs}"
    );
    for injected in ["system-reminder", "task-notification", "local-command", "CTX-AFTER-COMPACT"] {
        assert!(!logs.contains(injected), "{injected} in {logs}");
    }
    let found = sandbox.run_cli(["search", "--json", "which files were modified, notes.txt?"]).json();
    assert!(found["results"].as_array().unwrap().iter().any(|hit| hit["type"] == "tool_usage"), "{found:#}");

    let before = exported(&sandbox);
    let second = import(&sandbox, &["claude-code"]);
    assert_eq!((kept(&second), second["unchanged"].as_u64()), (0, Some(transcripts)), "{second:#}");
    let third = import(&sandbox, &["claude-code", "--again"]);
    assert_eq!((kept(&third), third["already_known"].as_u64()), (0, Some(kept(&first))), "{third:#}");
    assert_eq!((exported(&sandbox), sandbox.logs()), (before, logs));
}

#[test]
fn setup_reports_earlier_sessions() {
    let sandbox = sandbox!().installed();
    let hint = "jikime-memory import claude-code";
    assert!(!sandbox.run_cli(["init", "--yes"]).assert_success().stdout.contains(hint));
    place_fixtures(&sandbox);
    assert!(sandbox.run_cli(["init", "--yes"]).assert_success().stdout.contains(hint));
}

#[test]
fn empty_export_is_reported_and_importable() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Keep it small"]).assert_success();
    for format in ["jsonl", "json", "md"] {
        let exported = sandbox.run_cli(["export", "--session", "zzz", "--format", format]);
        assert!(exported.assert_success().stderr.contains("No memories match"), "{exported:?}");
        let file = sandbox.write("nothing", &exported.stdout);
        assert_eq!(kept(&import(&sandbox, &[format, file.to_str().unwrap()])), 0, "{format}");
    }
}

#[test]
fn reset_or_manual_deletion_allows_reimport() {
    let sandbox = sandbox!();
    place_fixtures(&sandbox);
    let first = kept(&import(&sandbox, &["claude-code"]));
    sandbox.run_cli(["reset", "--all", "--purge", "--yes"]).assert_success();
    hook_prompt(&sandbox);
    assert_eq!(kept(&import(&sandbox, &["claude-code"])), first, "after a reset");
    for item in fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().path()) {
        if item.extension().is_some_and(|ending| ending == "md") {
            fs::remove_file(item).unwrap();
        }
    }
    assert_eq!(kept(&import(&sandbox, &["claude-code"])), first, "after the logs were deleted by hand");
}

/// A session that continues after a reset.
fn hook_prompt(sandbox: &Sandbox) {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = json!("begin anew");
    sandbox.run_hook("memory-prompt-save", &event.to_string()).assert_success();
}

#[test]
fn interrupted_import_resumes_to_the_same_result() {
    let whole = sandbox!();
    let fixture = fixtures_dir().join("transcripts/tools.jsonl");
    let bytes = fs::read(&fixture).unwrap();
    let path = |sandbox: &Sandbox| sandbox.root().join("transcript.jsonl");
    fs::write(path(&whole), &bytes).unwrap();
    import(&whole, &["claude-code", "--from", path(&whole).to_str().unwrap()]);
    for cut in [0, 1, bytes.len() / 3, bytes.len() / 2, bytes.len() - 40, bytes.len() - 1] {
        let sandbox = sandbox!();
        let place = path(&sandbox);
        fs::write(&place, &bytes[..cut]).unwrap();
        import(&sandbox, &["claude-code", "--from", place.to_str().unwrap()]);
        fs::write(&place, &bytes).unwrap();
        import(&sandbox, &["claude-code", "--from", place.to_str().unwrap()]);
        assert_eq!(exported(&sandbox), exported(&whole), "cut after {cut} bytes");
    }
}

#[test]
fn killed_import_resumes() {
    let (killed, whole) = (sandbox!(), sandbox!());
    let line = |n: usize| {
        let (kind, time) =
            (["user", "assistant"][n % 2], Moment::from_unix(1_769_563_800 + n as i64 * 90, Some(0)).unwrap().utc());
        let message = match n % 2 {
            0 => json!({ "content": format!("question {n} {}", "of many words ".repeat(20)) }),
            _ => {
                json!({ "id": format!("m{n}"), "stop_reason": "end_turn", "content": [{ "type": "text", "text": format!("answer {n}") }] })
            }
        };
        format!("{}\n", json!({ "type": kind, "message": message, "timestamp": time, "sessionId": SESSION }))
    };
    let text: String = (0..2_000).map(line).collect();
    for sandbox in [&killed, &whole] {
        sandbox.write(".jikime/memory.toml", "conclusions = false\n");
        fs::write(sandbox.root().join("long.jsonl"), &text).unwrap();
    }
    let place = killed.root().join("long.jsonl").to_string_lossy().into_owned();
    let mut command = killed.memory_command();
    command.args(["import", "claude-code", "--from", &place]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    eventually(Duration::from_secs(30), || !killed.logs().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let summary = import(&killed, &["claude-code", "--from", &place]);
    assert!(kept(&summary) + summary["already_known"].as_u64().unwrap() == 2_000, "{summary:#}");
    import(&whole, &["claude-code", "--from", whole.root().join("long.jsonl").to_str().unwrap()]);
    assert_eq!(exported(&killed), exported(&whole));
}

/// A session as the host records it: lines of its transcript, and hook events.
struct HostSession {
    lines: Vec<Value>,
    events: Vec<(&'static str, Value)>,
    project: String,
}

impl HostSession {
    fn new(sandbox: &Sandbox) -> Self {
        Self { lines: Vec::new(), events: Vec::new(), project: sandbox.project().to_string_lossy().into_owned() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "what calls it reads better")]
    fn line(&mut self, kind: &str, message: Value) {
        let (time, cwd) = (Moment::now().utc(), &self.project);
        self.lines
            .push(json!({ "type": kind, "message": message, "timestamp": time, "cwd": cwd, "sessionId": SESSION }));
    }

    #[expect(clippy::needless_pass_by_value, reason = "what calls it reads better")]
    fn event(&mut self, command: &'static str, name: &str, fields: Value) {
        let mut event = json!({ "session_id": SESSION, "cwd": self.project, "hook_event_name": name });
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.events.push((command, event));
    }

    fn prompt(&mut self, text: &str) {
        self.line("user", json!({ "role": "user", "content": text }));
        self.event("memory-prompt-save", "UserPromptSubmit", json!({ "prompt": text }));
    }

    fn tool(&mut self, name: &str, input: &Value, failure: Option<&str>) {
        let id = format!("toolu_{}", self.lines.len());
        let block = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        self.line("assistant", json!({ "id": format!("msg_{id}"), "stop_reason": "tool_use", "content": block }));
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "is_error": failure.is_some(), "content": failure.unwrap_or("done") }]);
        self.line("user", json!({ "role": "user", "content": result }));
        let fields = json!({ "tool_name": name, "tool_input": input, "error": failure });
        self.event("memory-track", if failure.is_some() { "PostToolUseFailure" } else { "PostToolUse" }, fields);
    }

    fn answer(&mut self, text: &str) {
        let id = format!("msg_{}", self.lines.len());
        let content = json!([{ "type": "text", "text": text }]);
        self.line("assistant", json!({ "id": id, "stop_reason": "end_turn", "content": content }));
        self.event("memory-complete", "Stop", json!({ "last_assistant_message": text }));
    }

    fn write(&self, sandbox: &Sandbox) {
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(host_folder(sandbox).join(format!("{SESSION}.jsonl")), text).unwrap();
    }
}

fn some_session(sandbox: &Sandbox) -> HostSession {
    let mut session = HostSession::new(sandbox);
    let file = |name: &str| json!({ "file_path": format!("{}/{name}", session_project(sandbox)), "content": "x" });
    session.prompt("웹훅이 두 번 처리되는 문제를 고쳐줘");
    session.tool("Edit", &file("src/webhook.rs"), None);
    session.tool("Bash", &json!({ "command": "cargo test -p billing" }), Some("Exit code 101\nassertion failed"));
    session.tool("Bash", &json!({ "command": "git commit -am 'fix'" }), None);
    session.answer("The acknowledgement waits for the commit now.");
    session.prompt("and the password is hunter2hunter2? DB_PASSWORD=hunter2hunter2");
    session.tool("Write", &file("target/debug/x"), None);
    session.answer("Never mind.");
    session
}

fn session_project(sandbox: &Sandbox) -> String {
    sandbox.project().to_string_lossy().into_owned()
}

#[test]
fn a_session_that_hooks_captured_is_not_doubled() {
    let sandbox = sandbox!();
    let session = some_session(&sandbox);
    for (command, event) in &session.events {
        sandbox.run_hook(command, &event.to_string()).assert_success().assert_no_stderr();
    }
    let captured = exported(&sandbox);
    assert!(captured.len() >= 6, "{captured:#?}");
    session.write(&sandbox);
    let summary = import(&sandbox, &["claude-code"]);
    assert_eq!(kept(&summary), 0, "{summary:#}\n{}", sandbox.logs());
    assert_eq!(exported(&sandbox), captured);
}

#[test]
fn import_matches_what_hooks_would_save() {
    let (live, late) = (sandbox!(), sandbox!());
    let contents = |sandbox: &Sandbox| -> BTreeSet<(String, String)> {
        let of = |line: &String| {
            let memory: Value = serde_json::from_str(line).unwrap();
            (memory["type"].as_str().unwrap().to_owned(), memory["content"].as_str().unwrap().to_owned())
        };
        exported(sandbox).iter().map(of).collect()
    };
    for (command, event) in &some_session(&live).events {
        live.run_hook(command, &event.to_string()).assert_success();
    }
    let session = some_session(&late);
    // One event reached a hook.
    let (command, event) = &session.events[0];
    late.run_hook(command, &event.to_string()).assert_success();
    session.write(&late);
    let summary = import(&late, &["claude-code"]);
    assert_eq!(summary["already_known"], 1, "{summary:#}");
    assert_eq!(contents(&late), contents(&live));
    assert!(!late.logs().contains("hunter2"), "{}", late.logs());
}

#[test]
fn forgotten_memory_is_not_imported_again() {
    let sandbox = sandbox!();
    let session = some_session(&sandbox);
    session.write(&sandbox);
    import(&sandbox, &["claude-code"]);
    sandbox.run_cli(["forget", "--query", "acknowledgement", "--yes"]).assert_success();
    let summary = import(&sandbox, &["claude-code", "--again"]);
    assert_eq!((kept(&summary), summary["forgotten_before"].as_u64()), (0, Some(1)), "{summary:#}");
    sandbox.run_cli(["forget", "--session", SESSION, "--all", "--yes"]).assert_success();
    let summary = import(&sandbox, &["claude-code", "--again"]);
    assert_eq!(kept(&summary), 0, "{summary:#}");
    assert_eq!(sandbox.logs(), "");
}

#[test]
fn unreadable_lines_are_reported_and_the_rest_imported() {
    let sandbox = sandbox!();
    some_session(&sandbox).write(&sandbox);
    let folder = host_folder(&sandbox);
    fs::write(folder.join("torn.jsonl"), "{\"type\":\"user\",\"mess").unwrap();
    fs::write(folder.join("other.jsonl"), "\u{0}not json\n\n[]\n{\"type\":\"user\",\"schema\":99}\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(folder.join("torn.jsonl"), folder.join("link.jsonl")).unwrap();
        fs::create_dir(folder.join("folder.jsonl")).unwrap();
    }
    let outcome = sandbox.run_cli(["import", "claude-code", "--json"]);
    outcome.assert_success();
    let summary = outcome.json();
    assert!(kept(&summary) >= 6, "{outcome:#?}");
    let told = ["lines_not_understood", "torn", "still_open"].map(|count| summary[count].as_u64());
    // Invalid JSON, and a list instead of an object. The torn end belongs to a session that is over.
    assert_eq!(told, [Some(2), Some(1), Some(0)], "{summary:#}");
    let text = sandbox.run_cli(["import", "claude-code", "--again"]).assert_success().stdout.clone();
    assert!(text.contains("2  unknown lines") && text.contains("1  file ends in the middle of"), "{text}");
    #[cfg(unix)]
    assert!(outcome.stderr.contains("1 link was not followed"), "{outcome:#?}");
    let nowhere = sandbox.run_cli(["import", "claude-code", "--from", "no/such/folder"]);
    assert!(nowhere.assert_code(1).stderr.contains("no/such/folder"), "{nowhere:#?}");
    let empty = sandbox!();
    for kind in ["claude-code", "auto-memory"] {
        let outcome = empty.run_cli(["import", kind, "--json"]);
        assert_eq!(kept(&outcome.assert_success().json()), 0);
        assert!(outcome.stderr.contains("--from") && !empty.store().exists(), "{outcome:#?}");
    }
    let mut off = sandbox!();
    off.set_variable("JIKIME_CAPTURE", "off");
    some_session(&off).write(&off);
    assert!(off.run_cli(["import", "claude-code"]).assert_code(1).stderr.contains("capture is off"));
}

#[test]
fn projects_with_a_memory_get_their_own_sessions() {
    let sandbox = sandbox!();
    some_session(&sandbox).write(&sandbox);
    let other = sandbox.root().join("other");
    fs::create_dir_all(other.join(".jikime/memory")).unwrap();
    fs::create_dir_all(other.join("below")).unwrap();
    let folder = sandbox.home().join(".claude/projects/-some-name");
    fs::create_dir_all(&folder).unwrap();
    let line = json!({
        "type": "user", "message": { "content": "a prompt elsewhere" }, "timestamp": "2026-01-28T01:30:15Z",
        "cwd": other.join("below"), "sessionId": "elsewhere",
    });
    fs::write(folder.join("elsewhere.jsonl"), format!("{line}\n")).unwrap();
    let nothing = sandbox.run_cli(["--project", other.to_str().unwrap(), "export"]);
    assert_eq!(nothing.assert_success().stdout, "");
    let summaries = import(&sandbox, &["claude-code", "--all"]);
    assert_eq!(summaries.as_array().map(Vec::len), Some(2), "{summaries:#}");
    assert!(!sandbox.logs().contains("a prompt elsewhere"));
    // Works without a project, for example in the home directory.
    let mut at_home = sandbox.memory_command();
    at_home.current_dir(sandbox.home()).args(["import", "claude-code", "--all", "--again", "--json"]);
    let summaries = run_to_end(at_home, "", Duration::from_mins(1)).assert_success().json();
    let of_other = summaries.as_array().unwrap().iter().find(|summary| summary["project"] == json!(other)).unwrap();
    assert_eq!((summaries.as_array().map(Vec::len), &of_other["already_known"]), (Some(2), &json!(1)), "{summaries:#}");
    let there = sandbox.run_cli(["--project", other.to_str().unwrap(), "export"]);
    assert!(there.stdout.contains("a prompt elsewhere"), "{there:#?}");
}

#[test]
fn changed_host_note_replaces_its_old_text() {
    let sandbox = sandbox!();
    let folder = host_folder(&sandbox).join("memory");
    fs::create_dir_all(&folder).unwrap();
    let note = |text: &str| {
        let head = "---\nname: tests\ndescription: how tests run\ntype: feedback\n---\n\n";
        fs::write(folder.join("feedback_tests.md"), format!("{head}{text}\n")).unwrap();
    };
    fs::write(folder.join("MEMORY.md"), "- [Tests](feedback_tests.md) — how tests run\n").unwrap();
    note("Run nextest.");
    assert_eq!(import(&sandbox, &["auto-memory"])["kept"], json!({ "convention": 1 }));
    assert_eq!(kept(&import(&sandbox, &["auto-memory"])), 0);
    fs::write(folder.join("latin.md"), b"caf\xe9\n").unwrap();
    let told = sandbox.run_cli(["import", "auto-memory"]);
    assert!(told.assert_success().stderr.contains("latin.md is not UTF-8; skipped"), "{told:#?}");
    assert!(!told.stdout.contains("; 0 B"), "{told:#?}");
    fs::remove_file(folder.join("latin.md")).unwrap();
    note("Run nextest with two threads.");
    assert_eq!(kept(&import(&sandbox, &["auto-memory"])), 1);
    let memories: Vec<Value> = exported(&sandbox).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let new = memories.iter().find(|memory| memory["content"] == "Run nextest with two threads.").unwrap();
    let old = memories.iter().find(|memory| memory["content"] == "Run nextest.").unwrap();
    assert_eq!((&new["supersedes"], &new["origin"]), (&old["id"], &json!("auto-memory")));
    assert!(
        fs::read_to_string(folder.join("feedback_tests.md")).unwrap().contains("two threads"),
        "notes are only read"
    );
}

#[test]
fn an_export_makes_the_same_store_elsewhere() {
    let one = sandbox!();
    place_fixtures(&one);
    import(&one, &["claude-code"]);
    let saved = |text: &str, more: &[&str]| {
        let outcome = one.run_cli(["save", "--json", "decision", text].iter().chain(more));
        outcome.assert_success().json()["id"].as_str().unwrap().to_owned()
    };
    let old = saved("Cache tokens in Redis", &["--metadata", "{\"context\":\"SPEC-1\"}"]);
    let new = saved("Cache tokens in memory", &["--supersedes", &old]);
    let long = saved("Webhooks wait for the commit", &["--long-term"]);
    one.run_cli(["pin", &old]).assert_success();
    one.run_cli(["promote", &new]).assert_success();
    // A copied line before the one that owns its id.
    let logs = one.logs();
    let copied = logs.lines().find(|line| line.contains("\"context\":\"SPEC-1\"")).unwrap();
    one.write(".jikime/memory/MEMORY.md", one.read(".jikime/memory/MEMORY.md") + "\n" + copied + "\n");
    let has_copy = |line: &String| line.contains(&format!("{old}."));
    assert!(exported(&one).iter().any(has_copy), "{:#?}", exported(&one));
    for format in ["jsonl", "json", "md"] {
        let other = sandbox!();
        let file = one.root().join("memories").with_extension(format);
        let file = file.to_str().unwrap();
        one.run_cli(["export", "--format", format, "--out", file]).assert_success().assert_no_stdout();
        let told = import(&other, &[format, file, "--dry-run"]);
        assert!(kept(&told) as usize == exported(&one).len() && !other.store().exists(), "{told:#}");
        assert_eq!(kept(&import(&other, &[format, file])) as usize, exported(&one).len());
        assert_eq!(exported(&other), exported(&one), "{format}");
        assert_eq!(kept(&import(&other, &[format, file])), 0);
        let long_term = other.read(".jikime/memory/MEMORY.md");
        assert!(long_term.contains(&long) && long_term.contains(&new), "{long_term}");
        other.run_cli(["forget", "--query", "Webhooks wait", "--yes"]).assert_success();
        assert_eq!(import(&other, &[format, file])["forgotten_before"], 1, "{format}");
    }
    let other = sandbox!();
    one.write(".jikime/memory/MEMORY.md", one.read(".jikime/memory/MEMORY.md") + "\n## Ours\n\nTabs, not spaces.\n");
    let folder = other.run_cli(["import", "md", one.project().to_str().unwrap()]);
    assert!(folder.assert_success().stderr.contains("skipped 1 line that people wrote"), "{folder:#?}");
    assert_eq!(exported(&other), exported(&one));

    let only = one.run_cli(["export", "--format", "json", "--type", "decision", "--since", "2026-01-01"]).json();
    assert_eq!(only["memories"].as_array().map(Vec::len), Some(4));
    let text = one.run_cli(["export", "--format", "md", "--type", "decision"]);
    assert!(text.assert_success().stdout.starts_with("# Memory\n\n## Decision\n\n- "), "{text:#?}");
    let broken = other.root().join("broken.jsonl");
    fs::write(&broken, "no json\n").unwrap();
    let empty = sandbox!();
    for (format, told) in [("jsonl", "line 1: "), ("json", "line 1 column 2"), ("md", "start with # Memory")] {
        let refused = empty.run_cli(["import", format, broken.to_str().unwrap()]);
        assert!(
            refused.assert_code(1).stderr.contains(told) && refused.stderr.contains("other formats"),
            "{refused:#?}"
        );
    }
    let refused = empty.run_cli(["import", "json", empty.root().to_str().unwrap()]);
    assert!(refused.assert_code(1).stderr.contains("is a folder"), "{refused:#?}");
}
