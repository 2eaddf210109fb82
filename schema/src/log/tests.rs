mod foreign;

use std::collections::HashSet;

use chrono::NaiveDate;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;

const DAY: &str = "2026-01-28";

fn day() -> LogKind {
    LogKind::from_path("2026-01-28.md").unwrap()
}

fn memory(session: &str, kind: MemoryType, time: &str, content: &str) -> Memory {
    let at = Moment::parse_rfc3339(&format!("{DAY}T{time}+09:00")).unwrap();
    Memory {
        id: MemoryId::derive(session, kind, &at, content, 0),
        session_id: session.to_owned(),
        kind,
        content: content.to_owned(),
        at,
        attributes: MemoryAttributes::default(),
    }
}

/// Writes a memory and returns the number of its first line.
fn write(file: &mut Vec<u8>, memory: &Memory, kind: LogKind) -> usize {
    match kind {
        LogKind::Daily(day) => {
            let added = LogEnd::from_tail(LogTail::whole(file)).append_entry(memory, day);
            file.extend(added);
        }
        LogKind::LongTerm => *file = insert_long_term(file, memory),
        LogKind::Team => file.extend(render_shared(memory).as_bytes()),
    }
    *find_lines(file, memory, &kind.file_name(), kind).unwrap().start()
}

fn text(file: &[u8]) -> &str {
    std::str::from_utf8(file).unwrap()
}

fn memories(parsed: &ParsedLog) -> Vec<Memory> {
    parsed.entries.iter().map(|entry| entry.memory.clone()).collect()
}

#[test]
fn log_is_readable_for_people() {
    let mut file = Vec::new();
    let mut decision =
        memory("4f368b8b", MemoryType::Decision, "10:32:10", "Cache JWT tokens in Redis, TTL five minutes.");
    decision.attributes.metadata.insert("context".into(), "SPEC-001".into());
    for memory in [
        &memory("4f368b8b", MemoryType::UserPrompt, "10:30:15", "Implement the watcher"),
        &decision,
        &memory("4f368b8b", MemoryType::ErrorFix, "10:33:00", "Wrong flag:\n\n```sh\ncargo run --locked\n```"),
        &memory("4f368b8b", MemoryType::AssistantResponse, "10:30:45", "I will create watcher.rs\n\nand test it."),
        &memory("77aa", MemoryType::Error, "10:31:02", "Exit code 3"),
        &memory("4f368b8b", MemoryType::Learning, "10:34:00", "notify watches directories"),
    ] {
        write(&mut file, memory, day());
    }
    insta::assert_snapshot!(text(&file), @r##"
    # 2026-01-28

    <!-- session 4f368b8b +09:00 -->
    - [10:30:15] **User Prompt**: Implement the watcher

    ## Decision

    - Cache JWT tokens in Redis, TTL five minutes. <!-- {"id":"a032fb5ebec2042b436da1173bb09b5a","at":"2026-01-28T10:32:10+09:00","session":"4f368b8b","metadata":{"context":"SPEC-001"}} -->

    ## Error Fix

    - Wrong flag:

      ```sh
      cargo run --locked
      ```
      <!-- {"id":"c0ff8924807b1b25a6039922bf67831c","at":"2026-01-28T10:33:00+09:00","session":"4f368b8b"} -->

    ## Log

    <!-- session 4f368b8b +09:00 -->
    - [10:30:45] **Assistant Response**: I will create watcher.rs

      and test it.

    <!-- session 77aa +09:00 -->
    - [10:31:02] **Error**: Exit code 3

    ## Learning

    - notify watches directories <!-- {"id":"91d4960a80b59aeb998cd9b87a24a9b3","at":"2026-01-28T10:34:00+09:00","session":"4f368b8b"} -->
    "##);
    assert_eq!(memories(&parse(text(&file), day())).len(), 6);
    assert_eq!(parse(text(&file), day()).prose, Vec::<usize>::new());
}

#[rstest]
#[case::heading("## Decision\n# 2026-01-28")]
#[case::fence("```rust\nfn main() {}\n```")]
#[case::comment_end("a --> b <!-- {\"id\":\"x\"} -->")]
#[case::session_mark("x\n<!-- session evil +00:00 -->")]
#[case::list_markers("- [10:00:00] **User Prompt**: y\n- z\n* w\n1. v")]
#[case::windows_lines("a\r\nb\r\n")]
#[case::emoji("한글 👩‍👩‍👧 끝")]
#[case::control("\u{0}\u{1b}[31mred\u{7}\u{85}")]
#[case::blank("  \n\t\n")]
#[case::wide_blank("\u{2000}")]
#[case::references("&#13; &#38;#13; &amp;")]
#[case::clock("[10:00:00] then this")]
#[case::indented("    four\n  two\n\ttab")]
#[case::many_newlines("\n\n\na\n\n\n\nb\n\n\n")]
fn hostile_text_survives_in_every_type(#[case] content: &str) {
    for kind in MemoryType::ALL {
        assert_round_trip(&[memory("s", kind, "10:00:00", content), memory("s", kind, "10:00:01", "after")]);
    }
}

fn assert_round_trip(written: &[Memory]) {
    for log in [day(), LogKind::LongTerm] {
        let mut file = Vec::new();
        let mut lines = Vec::new();
        for memory in written {
            if log == LogKind::LongTerm && memory.kind.is_event() {
                continue;
            }
            lines.push((memory.clone(), write(&mut file, memory, log)));
        }
        let parsed = parse(text(&file), log);
        let mut found = memories(&parsed);
        let mut expected: Vec<Memory> = lines.iter().map(|(memory, _)| memory.clone()).collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        expected.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(found, expected, "{}", text(&file));
        let last = lines.last().map(|(memory, line)| (memory.id.clone(), *line));
        let entry = parsed.entries.iter().find(|entry| Some(&entry.memory.id) == last.as_ref().map(|(id, _)| id));
        assert_eq!(entry.map(|entry| entry.start_line), last.map(|(_, line)| line), "{}", text(&file));
    }
}

fn any_memory() -> impl Strategy<Value = (usize, String, u32, String, MemoryAttributes)> {
    let content = prop_oneof![any::<String>(), "[-#*<>!& \\n\\r\\t\\[\\]0-9:a`~{}\"]{0,60}"];
    let content = content.prop_map(|text| if text.is_empty() { " ".to_owned() } else { text });
    let attributes =
        (proptest::option::of(0u8..4), any::<bool>(), proptest::option::of("[a-f0-9]{8}"), any::<String>()).prop_map(
            |(importance, pinned, supersedes, note)| MemoryAttributes {
                importance,
                pinned,
                supersedes: supersedes.as_deref().and_then(MemoryId::parse),
                done: false,
                origin: (!note.is_empty()).then(|| note.clone()),
                auto: pinned,
                source: supersedes.as_deref().and_then(MemoryId::parse),
                also: (!note.trim().is_empty()).then(|| note.clone()),
                metadata: serde_json::Map::from_iter([("note".to_owned(), note.into())]),
            },
        );
    (0usize..14, "[a-z-]{0,9}", 0u32..86_400, content, attributes)
}

proptest! {
    #[test]
    fn written_memories_are_read_back_exactly(drawn in proptest::collection::vec(any_memory(), 1..8)) {
        let mut written: Vec<Memory> = Vec::new();
        for (kind, session, second, content, attributes) in drawn {
            let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
            let mut memory = memory(&session, MemoryType::ALL[kind], &time, &content);
            memory.attributes = attributes;
            memory.attributes.done = memory.kind == MemoryType::Task && second % 2 == 0;
            if !written.iter().any(|other| other.id == memory.id) {
                written.push(memory);
            }
        }
        assert_round_trip(&written);
    }

    #[test]
    fn parser_accounts_for_every_line_of_any_text(text in "([-#*] |  |## Decision|<!-- session s -->|- \\[10:00:00\\] \\*\\*Error\\*\\*: |\\PC{0,5}|\n){0,30}") {
        let parsed = parse(&text, day());
        for entry in &parsed.entries {
            prop_assert!(!parsed.prose.iter().any(|line| (entry.start_line..=entry.end_line).contains(line)));
        }
    }

    #[test]
    fn append_keeps_all_entries_whatever_tail_was_read(
        start in "(# 2026-01-28\n|\n|## Decision\n|## Ours\n|## Log\n|<!-- session s \\+09:00 -->\n|- x\n|y\n|\r\n){0,6}y?",
        drawn in proptest::collection::vec(any_memory(), 1..5),
        skipped in any::<prop::sample::Index>(),
    ) {
        let mut file = start.into_bytes();
        for (n, (of, session, _, content, attributes)) in drawn.into_iter().enumerate() {
            let mut memory = memory(&session, MemoryType::ALL[of], &format!("10:00:{n:02}"), &content);
            memory.attributes = attributes;
            let before = parse(text(&file), day());
            let rest = skipped.index(file.len().max(1));
            let tail = LogTail { bytes: &file[rest..], is_whole: rest == 0 };
            let added = LogEnd::from_tail(tail).append_entry(&memory, NaiveDate::from_ymd_opt(2026, 1, 28).unwrap());
            file.extend(added);
            let after = parse(&String::from_utf8_lossy(&file), day());
            // Lines after an unterminated last line may parse differently.
            let is_kept = after.entries.starts_with(&before.entries);
            prop_assert!(is_kept && after.entries.last().map(|entry| &entry.memory.content) == Some(&memory.content), "{}", text(&file));
        }
    }

    #[test]
    fn half_written_entry_is_completed(
        (of, session, _, content, attributes) in any_memory(),
        before in "(# 2026-01-28\n\n)?(## Decision\n\n- x\n|## Log\n\n)?",
        cut in any::<prop::sample::Index>(),
    ) {
        let day = NaiveDate::from_ymd_opt(2026, 1, 28).unwrap();
        let mut memory = memory(&session, MemoryType::ALL[of], "10:00:00", &content);
        memory.attributes = attributes;
        let added = LogEnd::from_tail(LogTail::whole(before.as_bytes())).append_entry(&memory, day);
        let whole = [before.as_bytes(), &added].concat();
        let half = &whole[..before.len() + cut.index(added.len())];
        let rest = complete_interrupted(LogTail::whole(half), &memory, day);
        match half.is_empty() || half.ends_with(b"\n") {
            true => prop_assert_eq!(rest, None),
            false => prop_assert_eq!([half, &rest.unwrap()].concat(), whole),
        }
    }

    #[test]
    fn removing_an_entry_leaves_the_others_unchanged(drawn in proptest::collection::vec(any_memory(), 2..6), pick in any::<prop::sample::Index>()) {
        let mut file = Vec::new();
        for (n, (kind, session, _, content, _)) in drawn.iter().enumerate() {
            write(&mut file, &memory(session, MemoryType::ALL[*kind], &format!("10:00:{n:02}"), content), day());
        }
        let mut before = parse(text(&file), day());
        let entry = before.entries.remove(pick.index(before.entries.len()));
        let at = parse(text(&file), day()).entries.iter().position(|other| *other == entry).unwrap();
        let after = remove_entries(&file, &parse(text(&file), day()), &HashSet::from([at]));
        prop_assert_eq!(memories(&parse(text(&after), day())), memories(&before));
    }
}

fn after_removal(file: &str, kind: LogKind) -> String {
    let parsed = parse(file, kind);
    let gone = parsed.entries.iter().position(|entry| entry.memory.content == "gone").unwrap();
    String::from_utf8(remove_entries(file.as_bytes(), &parsed, &HashSet::from([gone]))).unwrap()
}

#[rstest]
#[case::the_only_section("# 2026-01-28\n")]
#[case::after_events("# 2026-01-28\n\n- [10:00:00] **Error**: x\n")]
#[case::before_another("# 2026-01-28\n\nnote\n\n## Learning\n\n- kept\n")]
#[case::between("## Convention\n\n- kept\n\n\n## Notes\n\nmine")]
#[case::windows_lines("# 2026-01-28\r\n\r\nnote\r\n\r\n## Learning\r\n\r\n- kept\r\n")]
#[case::beside_one_more("# 2026-01-28\n\n## Decision\n\n- kept\n\n## Learning\n")]
fn added_and_removed_entry_leaves_no_trace(#[case] file: &str) {
    let with = insert_long_term(file.as_bytes(), &memory("s", MemoryType::Decision, "10:00:00", "gone"));
    assert_eq!(after_removal(&String::from_utf8(with).unwrap(), LogKind::LongTerm), file);
}

#[rstest]
#[case::with_prose("## Decision\n\nWhy we decide.\n\n- gone\n", "## Decision\n\nWhy we decide.\n\n")]
#[case::with_prose_below("## Decision\n\n- gone\n\n### More\n", "## Decision\n\n\n### More\n")]
#[case::with_a_mark("## Decision\n\n<!-- keep -->\n- gone\n", "## Decision\n\n<!-- keep -->\n")]
#[case::written_otherwise("## DECISION\n\n- gone\n", "## DECISION\n\n")]
#[case::empty_before("## Learning\n\n## Decision\n\n- gone\n\n## Error Fix\n", "## Learning\n\n## Error Fix\n")]
fn foreign_and_non_empty_headings_stay(#[case] file: &str, #[case] left: &str) {
    assert_eq!(after_removal(file, day()), left);
}
