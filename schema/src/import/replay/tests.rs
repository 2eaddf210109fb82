use std::fs;

use super::*;
use crate::memory::MemoryType::{AssistantResponse, Error, SessionSummary, SubagentResult, ToolUsage, UserPrompt};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts")
}

fn replayed(path: &Path, ending: Ending) -> Vec<(MemoryType, String)> {
    let screen = Screen::default();
    let mut replay = Replay::open(path, Path::new("/home/dev/project"), &screen, ending).unwrap();
    let mut found = Vec::new();
    while let Some(draft) = replay.next_memory().unwrap() {
        found.push((draft.kind, draft.content));
    }
    found
}

fn of(name: &str) -> Vec<(MemoryType, String)> {
    replayed(&fixtures().join(name), Ending::Over)
}

fn texts(expected: &[(MemoryType, &str)]) -> Vec<(MemoryType, String)> {
    expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

#[rstest::rstest]
#[case::now("tools.jsonl", "Exit code 3\nout\nerr")]
#[case::of_january("2.1.20/tools.jsonl", "Exit code 3\nerr\n\nout")]
fn a_turn_is_its_prompt_its_failures_what_it_changed_and_its_answer(#[case] name: &str, #[case] error: &str) {
    let failure = format!("Bash failed: echo out; echo err >&2; exit 3\n{error}");
    let expected = [
        (UserPrompt, "RIG-PROMPT-1 please write notes"),
        (Error, failure.as_str()),
        (ToolUsage, "Files modified: notes.txt"),
        (AssistantResponse, "All done: the notes are written and remembered."),
    ];
    assert_eq!(of(name), texts(&expected));
}

#[test]
fn lines_of_unknown_kinds_are_understood_and_torn_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let unknown =
        r#"{"type":"api-request-blob","body":{"messages":[{"role":"user","content":7}]},"message":["assistant"]}"#;
    fs::write(&path, format!("{unknown}\n{{\"type\":\"user\", torn\nno json\n{unknown}\n")).unwrap();
    let screen = Screen::default();
    let mut replay = Replay::open(&path, folder.path(), &screen, Ending::Over).unwrap();
    assert_eq!(replay.next_memory().unwrap(), None);
    assert_eq!((replay.not_understood(), replay.is_torn()), (2, false));
}

#[rstest::rstest]
#[case::now("compaction-manual.jsonl")]
#[case::of_january("2.1.20/compaction-manual.jsonl")]
fn a_compaction_leaves_its_summary_as_hooks_are_told_it(#[case] name: &str) {
    let summary = "1. Primary Request and Intent:\n   RIG-SUMMARY the user asked what hello.txt says; it says hello.";
    let mut found = of(name);
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
    let found = of("compaction-auto.jsonl");
    let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [UserPrompt, SessionSummary, AssistantResponse], "{found:?}");
    assert_eq!(found[2].1, "All steps done after the compaction.");
}

#[test]
fn subagents_report_and_the_end_of_one_in_the_background_is_no_prompt() {
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
    assert_eq!(replayed(&session.with_extension("jsonl"), Ending::Over), texts(&expected));
}

#[rstest::rstest]
#[case::refused("permission-refused.jsonl", "go RIG-PERM", Some("Commands: touch made-by-bash.txt"))]
#[case::failed("api-error.jsonl", "go RIG-ERROR", None)]
fn a_turn_that_did_not_end_has_no_answer(#[case] name: &str, #[case] prompt: &str, #[case] used: Option<&str>) {
    let mut expected = vec![(UserPrompt, prompt)];
    expected.extend(used.map(|used| (ToolUsage, used)));
    assert_eq!(of(name), texts(&expected));
}

#[test]
fn a_transcript_that_is_cut_anywhere_gives_a_part_of_the_whole() {
    let whole = fs::read(fixtures().join("tools.jsonl")).unwrap();
    let all = of("tools.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.jsonl");
    for cut in (0..whole.len()).step_by(997) {
        fs::write(&path, &whole[..cut]).unwrap();
        let found = replayed(&path, Ending::Open);
        assert!(found.iter().all(|memory| all.contains(memory)), "{cut}: {found:?}");
    }
}

#[test]
fn what_is_no_transcript_or_of_a_version_to_come_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.jsonl");
    let lines = "null\n[1]\n{\"type\":\"user\"}\n{\"type\":\"assistant\",\"message\":7,\"timestamp\":\"2026-01-28T01:30:15Z\"}\n\
                 {\"kind\":\"turn\",\"by\":\"user\",\"say\":\"hello\"}\n\u{0}\u{1}\n{\"type\":\"user\",\"message\":{\"content\":[1,null]}}";
    fs::write(&path, lines).unwrap();
    assert_eq!(replayed(&path, Ending::Over), []);
}
