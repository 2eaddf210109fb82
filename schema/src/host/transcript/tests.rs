use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use tempfile::NamedTempFile;

use super::*;

const AT: &str = "2026-11-21T03:34:46.494Z";

fn fixture_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts").join(name)
}

fn transcript_file(content: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_ref()).unwrap();
    file
}

fn prompt_line(text: &str) -> String {
    json!({"type": "user", "timestamp": AT, "message": {"role": "user", "content": text}}).to_string() + "\n"
}

fn answer_line(id: &str, text: &str) -> String {
    let content = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]);
    json!({"type": "assistant", "timestamp": AT, "message": {"id": id, "model": "m", "content": content}}).to_string()
        + "\n"
}

fn compaction_line() -> String {
    json!({"type": "system", "subtype": "compact_boundary", "timestamp": AT}).to_string() + "\n"
}

fn utterances_in(path: &Path, since: ReadFrom) -> Vec<String> {
    let show = |said| match said {
        Utterance::Prompt { text, .. } => format!("> {text}"),
        Utterance::Answer { text, .. } => text,
        Utterance::Summary { text, .. } => format!("= {}", text.split_whitespace().next().unwrap_or_default()),
    };
    utterances(path, since).unwrap().map(show).collect()
}

fn last_answer_in(content: impl AsRef<[u8]>) -> Option<String> {
    last_answer(transcript_file(content).path(), TranscriptThread::Main).unwrap()
}

#[rstest]
#[case("tools.jsonl", Some("All done: the notes are written and remembered."))]
#[case("resumed.jsonl", Some("RESUMED-ANSWER"))]
#[case("after-clear.jsonl", Some("ANSWER-THREE: a fresh session after clear."))]
#[case("compaction-auto.jsonl", Some("All steps done after the compaction."))]
#[case("compaction-manual.jsonl", Some("ANSWER-TWO: still here after the compaction."))]
#[case("subagent.jsonl", Some("Both probes have reported."))]
#[case("api-error.jsonl", None)]
#[case("permission-refused.jsonl", None)]
#[case("2.1.20/tools.jsonl", Some("All done: the notes are written and remembered."))]
#[case("2.1.20/compaction-manual.jsonl", Some("ANSWER-TWO: still here after the compaction."))]
#[case("subagent/subagents/agent-a46ea06864737adc0.jsonl", None)]
fn last_answer_of_recorded_sessions_is_found(#[case] name: &str, #[case] expected: Option<&str>) {
    assert_eq!(last_answer(&fixture_path(name), TranscriptThread::Main).unwrap().as_deref(), expected);
}

#[test]
fn subagent_report_is_the_last_answer_in_its_file() {
    let report = |name| last_answer(&fixture_path(name), TranscriptThread::Subagent).unwrap();
    let (one, two) = (
        report("subagent/subagents/agent-abd22294f4fc16f75.jsonl"),
        report("subagent/subagents/agent-a46ea06864737adc0.jsonl"),
    );
    assert_eq!(one.as_deref(), Some("PROBE-REPORT-1: hello.txt says hello."));
    assert_eq!(two.as_deref(), Some("PROBE-REPORT-2: nothing more to say."));
}

#[rstest]
#[case("tools.jsonl", &["> RIG-PROMPT-1 please write notes", "I will write a file.", "All done: the notes are written and remembered."])]
#[case("resumed.jsonl", &["> RIG-HELLO", "HELLO-ANSWER", "> RIG-AGAIN", "RESUMED-ANSWER"])]
#[case("subagent.jsonl", &["> RIG-PROMPT-5 probe hello twice", "I will send a probe and wait.", "And one in the background.", "The second probe is still out.", "Both probes have reported."])]
#[case("compaction-auto.jsonl", &["> RIG-PROMPT-6 do two steps", "Step one.", "Step two.", "= This", "All steps done after the compaction."])]
#[case("compaction-manual.jsonl", &["> what does hello.txt say? RIG-TUI-1", "Let me look.", "ANSWER-ONE: it says hello.", "= This", "> and now? RIG-TUI-2", "ANSWER-TWO: still here after the compaction."])]
#[case("2.1.20/compaction-manual.jsonl", &["> what does hello.txt say? RIG-TUI-1", "Let me look.", "ANSWER-ONE: it says hello.", "= This", "> and now? RIG-TUI-2", "ANSWER-TWO: still here after the compaction."])]
#[case("permission-refused.jsonl", &["> go RIG-PERM"])]
#[case("api-error.jsonl", &["> go RIG-ERROR"])]
fn utterances_of_recorded_sessions_are_in_order(#[case] name: &str, #[case] expected: &[&str]) {
    assert_eq!(utterances_in(&fixture_path(name), ReadFrom::Start), expected);
}

#[test]
fn reading_from_last_compaction_skips_earlier_text() {
    let after = utterances_in(&fixture_path("compaction-manual.jsonl"), ReadFrom::LastCompaction);
    assert_eq!(after, ["= This", "> and now? RIG-TUI-2", "ANSWER-TWO: still here after the compaction."]);
    let never = utterances_in(&fixture_path("resumed.jsonl"), ReadFrom::LastCompaction);
    assert_eq!(never, utterances_in(&fixture_path("resumed.jsonl"), ReadFrom::Start));
    let talk = prompt_line("about \"subtype\":\"compact_boundary\"") + &answer_line("a", "yes");
    assert_eq!(
        utterances_in(transcript_file(talk).path(), ReadFrom::LastCompaction).len(),
        2,
        "words about it are no compaction"
    );
    let twice =
        prompt_line("one") + &compaction_line() + &prompt_line("two") + &compaction_line() + &prompt_line("three");
    assert_eq!(utterances_in(transcript_file(twice).path(), ReadFrom::LastCompaction), ["> three"]);
}

#[test]
fn lines_with_one_id_are_one_answer() {
    let lines = prompt_line("q") + &answer_line("a", "one") + &answer_line("a", "two");
    assert_eq!(last_answer_in(&lines).as_deref(), Some("one\n\ntwo"));
    assert_eq!(utterances_in(transcript_file(&lines).path(), ReadFrom::Start), ["> q", "one\n\ntwo"]);
    assert_eq!(last_answer_in(lines + &prompt_line("next")), None);
}

#[rstest]
#[case::bookkeeping(json!({"type": "brand-new", "message": 7}))]
#[case::command(json!({"type": "user", "timestamp": AT, "message": {"content": "<command-name>/clear</command-name>"}}))]
#[case::output(json!({"type": "user", "timestamp": AT, "message": {"content": "<local-command-stdout>x</local-command-stdout>"}}))]
#[case::reminder(json!({"type": "user", "timestamp": AT, "message": {"content": "<system-reminder>\nx\n</system-reminder>"}}))]
#[case::meta(json!({"type": "user", "isMeta": true, "timestamp": AT, "message": {"content": "x"}}))]
#[case::sidechain(json!({"type": "assistant", "isSidechain": true, "timestamp": AT, "message": {"id": "z", "content": [{"type": "text", "text": "x"}]}}))]
#[case::synthetic(json!({"type": "assistant", "timestamp": AT, "message": {"id": "z", "model": "<synthetic>", "content": [{"type": "text", "text": "x"}]}}))]
#[case::api_error(json!({"type": "assistant", "isApiErrorMessage": true, "timestamp": AT, "message": {"id": "z", "content": "x"}}))]
#[case::tool(json!({"type": "user", "timestamp": AT, "message": {"content": [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "x"}]}}))]
#[case::interrupt(json!({"type": "user", "timestamp": AT, "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}}))]
#[case::odd_content(json!({"type": "assistant", "timestamp": AT, "message": {"id": 5, "content": {"a": 1}}}))]
fn lines_of_the_host_have_no_content(#[case] line: serde_json::Value) {
    let lines = prompt_line("q") + &answer_line("a", "yes") + &line.to_string() + "\n";
    assert_eq!(last_answer_in(&lines).as_deref(), Some("yes"));
    assert_eq!(utterances_in(transcript_file(&lines).path(), ReadFrom::Start), ["> q", "yes"]);
}

#[test]
fn unexpected_types_and_injected_text_are_skipped() {
    let content = json!([{"type": "text", "text": "<memory-context a=\"b\">\nold\n</memory-context>\nfix it"}, {"type": "image"}]);
    let line = json!({"type": "user", "origin": 3, "isMeta": "no", "promptSource": [], "timestamp": AT, "message": {"content": content}});
    assert_eq!(utterances_in(transcript_file(line.to_string()).path(), ReadFrom::Start), ["> fix it"]);
}

#[test]
fn utterances_have_the_times_of_their_lines() {
    let file = transcript_file(prompt_line("q"));
    let Some(Utterance::Prompt { at, .. }) = utterances(file.path(), ReadFrom::Start).unwrap().next() else {
        panic!("no prompt")
    };
    assert_eq!(at.utc(), "2026-11-21T03:34:46Z");
}

#[test]
fn lines_over_the_limit_are_skipped_from_either_end() {
    let long = prompt_line(&"x".repeat(LINE_LIMIT + 1));
    let lines = prompt_line("q") + &answer_line("a", "yes") + &long + &prompt_line("r");
    let file = transcript_file(&lines);
    assert_eq!(utterances_in(file.path(), ReadFrom::Start), ["> q", "yes", "> r"]);
    assert_eq!(utterances_in(file.path(), ReadFrom::LastCompaction), ["> q", "yes", "> r"]);
    assert_eq!(last_answer_in(prompt_line("q") + &answer_line("a", "yes") + &long), None, "it is out of reach");
}

#[test]
fn blocks_end_anywhere_within_a_line() {
    for padding in [65_400, 65_450, 65_500, 65_536, 65_600, 131_000, 131_072] {
        let lines = prompt_line("q")
            + &answer_line("a", &"가".repeat(padding / 3))
            + &answer_line("a", "end")
            + &compaction_line()
            + &answer_line("b", "");
        let text = last_answer_in(&lines).unwrap();
        assert_eq!(text.len(), padding / 3 * 3 + 5, "{padding}");
    }
}

#[rstest]
#[case::before_the_prompt_is_written("", ("which store?", "Redis or Postgres?"))]
#[case::after_it("3. Redis", ("which store?", "Redis or Postgres?"))]
#[case::unanswered("and then?", ("and then?", ""))]
fn last_turn_is_the_one_before_a_prompt(#[case] last: &str, #[case] (asked, answered): (&str, &str)) {
    let mut content = [
        prompt_line("hello"),
        answer_line("a", "Hi."),
        prompt_line("which store?"),
        answer_line("b", "I look at both."),
        answer_line("c", "Redis or Postgres?"),
    ]
    .concat();
    if !last.is_empty() {
        content += &prompt_line(last);
    }
    let found = last_turn(transcript_file(content).path(), "3. Redis").unwrap();
    assert_eq!(found, LastTurn { prompt: asked.to_owned(), answer: answered.to_owned() });
}

#[test]
fn turn_has_its_texts_and_the_picked_options() {
    let questions = json!([{"question": "Which store?", "options": [{"label": "Redis", "description": "Fast"}]}]);
    let picked = json!({"type": "user", "timestamp": AT, "message": {"content": [{"type": "tool_result"}]},
        "toolUseResult": {"questions": questions, "answers": {"Which store?": "Redis"}}});
    let content = [
        prompt_line("move the cache"),
        answer_line("a", "I need to know."),
        picked.to_string() + "\n",
        answer_line("b", "Redis it is."),
    ];
    let said = texts_of_turn(transcript_file(content.concat()).path(), None, None).unwrap();
    assert_eq!(said.texts, ["I need to know.", "Redis it is."]);
    assert_eq!(said.picked, ["Chosen: Redis, fast (asked: Which store?)"]);
}

#[test]
fn turn_has_its_texts_since_it_began() {
    let begun = Moment::parse_rfc3339(AT).unwrap();
    let earlier = answer_line("a", "It is done.").replace("2026-11-21", "2026-11-20");
    let command = prompt_line("<command-name>/cost</command-name>");
    let file = transcript_file(
        [earlier, answer_line("b", "The lock leaks."), answer_line("b", "So it hangs."), command].concat(),
    );
    let said = texts_of_turn(file.path(), Some(begun), None).unwrap();
    assert_eq!((said.texts, said.at), (vec!["The lock leaks.\n\nSo it hangs.".to_owned()], Some(begun)));
    assert_eq!(texts_of_turn(file.path(), None, None).unwrap().texts, Vec::<String>::new());
}

#[test]
fn missing_transcript_is_an_error() {
    last_answer(Path::new("no such file"), TranscriptThread::Main).unwrap_err();
    utterances(Path::new("no such file"), ReadFrom::LastCompaction).unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_transcript_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let file = transcript_file(bytes);
        last_answer(file.path(), TranscriptThread::Main).unwrap();
        for since in [ReadFrom::Start, ReadFrom::LastCompaction] {
            utterances(file.path(), since).unwrap().for_each(drop);
        }
    }

    #[test]
    fn truncated_transcript_gives_a_prefix_of_utterances(share in 0.0..1.0_f64) {
        for name in ["compaction-manual.jsonl", "subagent.jsonl", "2.1.20/tools.jsonl"] {
            let whole = fs::read(fixture_path(name)).unwrap();
            let cut = transcript_file(&whole[..(whole.len() as f64 * share) as usize]);
            let (all, some) = (utterances_in(&fixture_path(name), ReadFrom::Start), utterances_in(cut.path(), ReadFrom::Start));
            prop_assert!(some.len() <= all.len());
            for (n, (part, full)) in some.iter().zip(&all).enumerate() {
                // Lines of the last answer may be missing.
                prop_assert!(part == full || (n + 1 == some.len() && full.starts_with(part.as_str())));
            }
        }
    }
}
