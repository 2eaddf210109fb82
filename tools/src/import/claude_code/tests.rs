use std::fs;

use schema::model::memory::MemoryType;
use schema::model::memory::MemoryType::{
    AssistantResponse, Error, SessionSummary, SubagentResult, ToolUsage, UserPrompt,
};

use super::*;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts")
}

fn replay(path: &Path, ending: TranscriptEnd) -> Vec<(MemoryType, String)> {
    let loaded = LoadedSettings::default();
    let mut replay = ClaudeCodeReplay::open(path, Path::new("/home/dev/project"), &loaded, ending).unwrap();
    let mut found = Vec::new();
    while let Some(memory) = replay.next_memory().unwrap() {
        let draft = memory.draft().clone();
        found.push((draft.kind, draft.content));
    }
    found
}

fn replay_fixture(name: &str) -> Vec<(MemoryType, String)> {
    replay(&fixtures().join(name), TranscriptEnd::Complete)
}

fn texts(expected: &[(MemoryType, &str)]) -> Vec<(MemoryType, String)> {
    expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

#[rstest::rstest]
#[case::now("tools.jsonl", "Exit code 3\nout\nerr")]
#[case::of_january("2.1.20/tools.jsonl", "Exit code 3\nerr\nout")]
fn a_turn_has_prompt_failures_changes_and_answer(#[case] name: &str, #[case] error: &str) {
    let failure = format!("Bash failed: echo out; echo err >&2; exit 3\n{error}");
    let expected = [
        (UserPrompt, "RIG-PROMPT-1 please write notes"),
        (ToolUsage, "Files modified: notes.txt\n+ one\n+ two\n- two\n+ three"),
        (Error, failure.as_str()),
        (AssistantResponse, "All done: the notes are written and remembered."),
    ];
    assert_eq!(replay_fixture(name), texts(&expected));
}

#[test]
fn lines_of_unknown_kinds_are_understood_and_torn_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let unknown =
        r#"{"type":"api-request-blob","body":{"messages":[{"role":"user","content":7}]},"message":["assistant"]}"#;
    fs::write(&path, format!("{unknown}\n{{\"type\":\"user\", torn\nno json\n{unknown}\n")).unwrap();
    let loaded = LoadedSettings::default();
    let mut replay = ClaudeCodeReplay::open(&path, folder.path(), &loaded, TranscriptEnd::Complete).unwrap();
    assert_eq!(replay.next_memory().unwrap(), None);
    assert_eq!((replay.state().unreadable_lines, replay.state().is_torn), (2, false));
}

#[rstest::rstest]
#[case::now("compaction-manual.jsonl")]
#[case::of_january("2.1.20/compaction-manual.jsonl")]
fn compaction_summary_matches_the_hook(#[case] name: &str) {
    let summary = "1. Primary Request and Intent:\n   RIG-SUMMARY the user asked what hello.txt says; it says hello.";
    let mut found = replay_fixture(name);
    found.sort();
    let mut expected = texts(&[
        (UserPrompt, "what does hello.txt say? RIG-TUI-1"),
        (AssistantResponse, "ANSWER-ONE: it says hello."),
        (SessionSummary, summary),
        (UserPrompt, "and now? RIG-TUI-2"),
        (AssistantResponse, "ANSWER-TWO: still here after the compaction."),
    ]);
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_compaction_in_the_middle_of_a_turn_does_not_end_it() {
    let found = replay_fixture("compaction-auto.jsonl");
    let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [UserPrompt, SessionSummary, AssistantResponse], "{found:?}");
    assert_eq!(found[2].1, "All steps done after the compaction.");
}

#[test]
fn end_of_background_subagent_is_no_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("952e6901-b456-41f4-bf59-82087a8092fd");
    fs::create_dir_all(session.join("subagents")).unwrap();
    fs::copy(fixtures().join("subagent.jsonl"), session.with_extension("jsonl")).unwrap();
    for item in fs::read_dir(fixtures().join("subagent/subagents")).unwrap() {
        let item = item.unwrap();
        fs::copy(item.path(), session.join("subagents").join(item.file_name())).unwrap();
    }
    let expected = [
        (UserPrompt, "RIG-PROMPT-5 probe hello twice"),
        (SubagentResult, "probe: PROBE-REPORT-1: hello.txt says hello."),
        (SubagentResult, "probe: PROBE-REPORT-2: nothing more to say."),
        (AssistantResponse, "The second probe is still out."),
        (AssistantResponse, "Both probes have reported."),
    ];
    assert_eq!(replay(&session.with_extension("jsonl"), TranscriptEnd::Complete), texts(&expected));
}

#[rstest::rstest]
#[case::refused("permission-refused.jsonl", "go RIG-PERM", Some("Commands: touch made-by-bash.txt"))]
#[case::failed("api-error.jsonl", "go RIG-ERROR", None)]
fn a_turn_that_did_not_end_has_no_answer(#[case] name: &str, #[case] prompt: &str, #[case] used: Option<&str>) {
    let mut expected = vec![(UserPrompt, prompt)];
    expected.extend(used.map(|used| (ToolUsage, used)));
    assert_eq!(replay_fixture(name), texts(&expected));
}

#[test]
fn truncated_transcript_gives_a_prefix() {
    let whole = fs::read(fixtures().join("tools.jsonl")).unwrap();
    let all = replay_fixture("tools.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.jsonl");
    for cut in (0..whole.len()).step_by(997) {
        fs::write(&path, &whole[..cut]).unwrap();
        let found = replay(&path, TranscriptEnd::Growing);
        assert!(found.iter().all(|memory| all.contains(memory)), "{cut}: {found:?}");
    }
}

#[test]
fn foreign_or_newer_transcript_gives_no_memories() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.jsonl");
    let lines = "null\n[1]\n{\"type\":\"user\"}\n{\"type\":\"assistant\",\"message\":7,\"timestamp\":\"2026-01-28T01:30:15Z\"}\n\
                 {\"kind\":\"turn\",\"by\":\"user\",\"say\":\"hello\"}\n\u{0}\u{1}\n{\"type\":\"user\",\"message\":{\"content\":[1,null]}}";
    fs::write(&path, lines).unwrap();
    assert_eq!(replay(&path, TranscriptEnd::Complete), []);
}
