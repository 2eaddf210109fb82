#[cfg(unix)]
use std::path::PathBuf;

use rstest::rstest;
use serde_json::{Value, json};

use super::super::tool_use::{COMMAND_LIMIT, READ_REPORT, ToolChange};
use super::*;
use crate::model::failure::Attempt;
use crate::privacy::redaction::redact;

fn event_of(payload: &Value) -> Option<EventKind> {
    event_with_sanitizer(payload, &Sanitizer::default())
}

fn event_with_sanitizer(payload: &Value, sanitizer: &Sanitizer) -> Option<EventKind> {
    let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
    HostEvent::from_payload(&payload, Path::new("/p"), sanitizer).map(|occurrence| occurrence.kind)
}

#[rstest]
#[case::user(json!({"prompt": "fix it", "source": "user"}), true)]
#[case::older_host(json!({"prompt": "fix it"}), true)]
#[case::slash_command(json!({"prompt": "/review the parser"}), true)]
#[case::wake_up(json!({"prompt": "fix it", "source": "loop_wakeup"}), false)]
#[case::notification(json!({"prompt": "<task-notification>\n<task-id>a</task-id>"}), false)]
#[case::command_output(json!({"prompt": "<local-command-stdout>x</local-command-stdout>"}), false)]
#[case::no_prompt(json!({}), false)]
#[case::of_another_type(json!({"prompt": {"text": "fix it"}}), false)]
#[case::beside_another_type(json!({"prompt": "fix it", "error": ["x"], "is_interrupt": "no"}), true)]
fn only_prompts_of_people_are_recorded(#[case] mut fields: Value, #[case] remembered: bool) {
    fields["hook_event_name"] = "UserPromptSubmit".into();
    assert_eq!(event_of(&fields).is_some(), remembered);
}

#[rstest]
#[case::edit("Edit", json!({"file_path": "/p/src/a.rs"}), Some(file("src/a.rs")))]
#[case::outside("Write", json!({"file_path": "/etc/hosts"}), Some(file("/etc/hosts")))]
#[case::notebook("NotebookEdit", json!({"notebook_path": "/p/n.ipynb"}), Some(file("n.ipynb")))]
#[case::dependency("Write", json!({"file_path": "/p/node_modules/x/a.js"}), None)]
#[case::module("Edit", json!({"file_path": "/p/src/build/mod.rs"}), Some(file("src/build/mod.rs")))]
#[case::own_store("Write", json!({"file_path": "/p/.jikime/memory/MEMORY.md"}), None)]
#[case::build("Bash", json!({"command": "cargo test\n"}), Some(ToolChange::Command("cargo test".into())))]
#[case::read("Read", json!({"file_path": "/p/a"}), None)]
fn only_changes_are_tracked(#[case] tool: &str, #[case] input: Value, #[case] expected: Option<ToolChange>) {
    let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input}));
    let used = |event| match event {
        EventKind::ToolUse(used) => used.changed,
        other => panic!("{other:?} is not the use of a tool"),
    };
    assert_eq!(found.map(used), expected.map(Some));
}

fn file(path: &str) -> ToolChange {
    ToolChange::File { path: path.into(), change: None }
}

#[test]
fn file_named_like_a_secret_is_shown_within_the_project() {
    let path = format!("/p/keys/gh{}_{}.txt", "p", "A1b2".repeat(9));
    let input = json!({"file_path": path});
    let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": input}));
    let Some(EventKind::ToolUse(ToolUse { attempt, changed, .. })) = found else { panic!("{found:?}") };
    let shown = "keys/[redacted: github token].txt";
    assert_eq!((attempt.input.as_deref(), changed), (Some(shown), Some(file(shown))));
}

#[test]
fn only_opened_files_bring_back_memories() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("src")).unwrap();
    std::fs::write(home.path().join("src/a.rs"), "").unwrap();
    let opened = |path: &str| {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": home.path(),
            "tool_input": {"file_path": path}});
        let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
        HostEvent::from_payload(&payload, home.path(), &Sanitizer::default()).map(|event| event.kind)
    };
    assert_eq!(opened("src/a.rs"), Some(EventKind::FileOpen("src/a.rs".into())));
    for path in ["src", "", ".", "/etc/hosts"] {
        assert_eq!(opened(path), None, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn link_to_an_ignored_or_secret_file_shows_only_its_path() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("p");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(project.join(".gitignore"), "local.toml\n").unwrap();
    for name in ["local.toml", ".env", "plain.toml"] {
        std::fs::write(project.join(name), "b").unwrap();
        std::os::unix::fs::symlink(name, project.join(format!("{name}.link"))).unwrap();
    }
    std::os::unix::fs::symlink(&project, home.path().join("link")).unwrap();
    let shown = |project: &Path, file: PathBuf| {
        let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit",
            "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"}});
        let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
        match HostEvent::from_payload(&payload, project, &Sanitizer::default()).unwrap().kind {
            EventKind::ToolUse(ToolUse { changed: Some(ToolChange::File { change, .. }), .. }) => change.is_some(),
            other => panic!("{other:?} is not the use of a file"),
        }
    };
    let by_link = home.path().join("link");
    for name in ["local.toml", "local.toml.link", ".env.link"] {
        assert!(!shown(&project, project.join(name)), "{name}");
        assert!(!shown(&by_link, project.join(name)) && !shown(&project, by_link.join(name)), "{name} by a link");
    }
    assert!(shown(&project, project.join("plain.toml.link")));
}

#[test]
fn read_only_command_is_an_attempt_without_change() {
    let input = json!({"command": "cat notes.txt; echo BASH-OK"});
    let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": input}));
    let attempt = Attempt { tool: "Bash".into(), input: Some("cat notes.txt; echo BASH-OK".into()), passed: false };
    assert_eq!(found, Some(EventKind::ToolUse(ToolUse { attempt, changed: None, is_success_known: true })));
}

#[rstest]
#[case::agreement("ok, go on", Some(EventKind::Acknowledgement("ok, go on".into())))]
#[case::command_of_the_host("/clear", Some(EventKind::Acknowledgement("/clear".into())))]
#[case::question("ok?", Some(EventKind::Prompt("ok?".into())))]
fn agreement_is_an_acknowledgement(#[case] prompt: &str, #[case] expected: Option<EventKind>) {
    assert_eq!(event_of(&json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt})), expected);
}

#[rstest]
#[case::named(json!({"session_id": "s1", "transcript_path": "/h/t2.jsonl"}), "s1")]
#[case::by_its_transcript(json!({"transcript_path": "/h/t2.jsonl"}), "t2")]
#[case::empty(json!({"session_id": " ", "transcript_path": "/h/t2.jsonl"}), "t2")]
#[case::by_nothing(json!({}), "")]
fn session_without_id_is_named_after_its_transcript(#[case] mut fields: Value, #[case] session: &str) {
    fields["hook_event_name"] = "SessionEnd".into();
    let payload = HookPayload::parse(fields.to_string().as_bytes()).unwrap();
    let occurrence = HostEvent::from_payload(&payload, Path::new("/p"), &Sanitizer::default()).unwrap();
    assert_eq!(occurrence.session_id, session);
}

#[test]
fn exit_code_that_is_an_answer_is_not_a_failure() {
    let failure = |command: &str, error: &str| {
        event_of(&json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": command}, "error": error}))
    };
    assert_eq!(failure("grep -rn foo src", "Exit code 1"), None);
    assert!(failure("grep -rn foo nothing", "Exit code 2\ngrep: nothing: No such file or directory").is_some());
}

#[rstest]
#[case::plain("Two steps were done.", "Two steps were done.")]
#[case::as_the_host_sends_it("<analysis>\nthinking\n</analysis>\n\n<summary>\n1. Done\n</summary>", "1. Done")]
#[case::without_end("<analysis>a</analysis> rest", "rest")]
fn summary_is_stored_without_its_analysis(#[case] text: &str, #[case] summary: &str) {
    let event = event_of(&json!({"hook_event_name": "PostCompact", "compact_summary": text}));
    assert_eq!(event, Some(EventKind::Summary(summary.into())));
}

#[rstest]
#[case::probe(json!({"agent_type": "probe", "last_assistant_message": "done"}), true)]
#[case::without_type(json!({"agent_type": "", "last_assistant_message": "done"}), false)]
#[case::older_host(json!({"agent_transcript_path": "/p/agent.jsonl"}), true)]
fn only_subagents_with_a_task_report(#[case] mut fields: Value, #[case] remembered: bool) {
    fields["hook_event_name"] = "SubagentStop".into();
    assert_eq!(event_of(&fields).is_some(), remembered);
}

#[test]
fn summary_is_known_before_the_session_continues() {
    let message = "<analysis>\nthinking\n</analysis>\n\n<summary>\n1. Next: ship it\n</summary>";
    let event =
        event_of(&json!({"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": message}));
    assert_eq!(event, Some(EventKind::Summary("1. Next: ship it".to_owned())));
}

#[test]
fn output_of_a_piped_test_run_says_whether_it_passed() {
    for (stderr, expected) in [("", true), ("error: test failed, to rerun pass `--lib`", false)] {
        let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_input": {"command": "cargo test | tail -1"},
            "tool_response": {"stdout": "test result: ok. 3 passed; 0 failed; 0 ignored", "stderr": stderr}});
        let Some(EventKind::ToolUse(used)) = event_of(&payload) else { panic!("no use of a tool") };
        assert_eq!(used.attempt.passed, expected);
    }
}

#[test]
fn failure_names_its_attempt_and_interrupt_is_ignored() {
    let mut payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
        "tool_input": {"command": "make"}, "error": "Exit code 2\nno rule"});
    let expected = "Bash failed: make\nExit code 2\nno rule";
    assert_eq!(event_of(&payload), Some(EventKind::Failure(expected.into())));
    payload["is_interrupt"] = true.into();
    assert_eq!(event_of(&payload), None);
}

#[rstest]
#[case::edit("PostToolUse", "Edit", json!({"file_path": "/p/secrets/a"}))]
#[case::relative("PostToolUse", "Write", json!({"file_path": "../secrets/a"}))]
#[case::notebook("PostToolUse", "NotebookEdit", json!({"notebook_path": "/p/secrets/n.ipynb"}))]
#[case::command("PostToolUse", "Bash", json!({"command": "rm -r ../secrets"}))]
#[case::failed_read("PostToolUseFailure", "Read", json!({"file_path": "/p/secrets/a"}))]
#[case::failed_search("PostToolUseFailure", "Grep", json!({"pattern": "x", "path": "/p/secrets"}))]
#[case::failed_command("PostToolUseFailure", "Bash", json!({"command": "cat /p/secrets/a"}))]
#[case::failed_other_tool("PostToolUseFailure", "mcp__fs__read", json!({"paths": ["/p/a", "/p/secrets/a"]}))]
fn use_of_an_excluded_file_leaves_no_trace(#[case] event: &str, #[case] tool: &str, #[case] input: Value) {
    let payload =
        json!({"hook_event_name": event, "tool_name": tool, "tool_input": input, "cwd": "/p/app", "error": "no"});
    let (sanitizer, _) = Sanitizer::new(&[], &["/secrets/**".into()]);
    assert_eq!(event_with_sanitizer(&payload, &sanitizer), None);
    assert!(event_of(&payload).is_some(), "without the glob it is remembered");
}

#[test]
fn failure_that_names_an_excluded_file_leaves_no_trace() {
    let payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "cwd": "/p",
        "tool_input": {"command": "make"}, "error": "Exit code 2\ncat: secrets/a: No such file or directory"});
    let (sanitizer, _) = Sanitizer::new(&[], &["secrets/**".into()]);
    assert_eq!(event_with_sanitizer(&payload, &sanitizer), None);
    assert!(event_of(&payload).is_some(), "without the glob it is remembered");
}

#[test]
fn text_is_not_cut_within_a_secret() {
    let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
    for at in COMMAND_LIMIT - 40..COMMAND_LIMIT {
        let command = format!("make {} {token} and what follows it", "x".repeat(at));
        let used = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
        let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": command}, "error": format!("{}{command}", "y ".repeat(READ_REPORT - 60))});
        for payload in [used, failed] {
            let event = format!("{:?}", event_of(&payload).unwrap());
            // Even a text that is not cut is cleaned later.
            assert!(!redact(&event).text.contains("A1b2"), "{event}");
        }
    }
}
