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
            let added = LogEnd::from_tail(LogTail::Whole(file)).append_entry(memory, day);
            file.extend(added);
        }
        LogKind::LongTerm => *file = insert_long_term(file, memory),
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
            let tail = if rest == 0 { LogTail::Whole(&file) } else { LogTail::Part(&file[rest..]) };
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
        let added = LogEnd::from_tail(LogTail::Whole(before.as_bytes())).append_entry(&memory, day);
        let whole = [before.as_bytes(), &added].concat();
        let half = &whole[..before.len() + cut.index(added.len())];
        let rest = complete_interrupted(LogTail::Whole(half), &memory, day);
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

#[test]
fn go_log_without_comments_is_parsed() {
    let log = "# 2026-01-28\n\n- [10:30:15] **User Prompt**: Implement the watcher\nwith tests\n- [10:30:45] **Tool Usage**: \
               Files modified: a.rs\n\n## Decision\n\n- Use Redis\n- [10:40:00] Use SQLite\n\n## Notes\n\n- mine\n";
    let parsed = parse(log, day());
    let found: Vec<_> =
        parsed.entries.iter().map(|e| (e.memory.kind, e.memory.at.time(), e.memory.content.as_str())).collect();
    assert_eq!(
        found,
        [
            (MemoryType::UserPrompt, "10:30:15".to_owned(), "Implement the watcher\nwith tests"),
            (MemoryType::ToolUsage, "10:30:45".to_owned(), "Files modified: a.rs"),
            (MemoryType::Decision, "00:00:00".to_owned(), "Use Redis"),
            (MemoryType::Decision, "10:40:00".to_owned(), "Use SQLite"),
        ]
    );
    assert_eq!(parsed.prose, [12, 14], "the foreign section is prose");
}

#[test]
fn hand_edit_keeps_id_of_decision_but_not_of_prompt() {
    let mut file = Vec::new();
    let prompt = memory("s", MemoryType::UserPrompt, "10:00:00", "use redis");
    let decision = memory("s", MemoryType::Decision, "10:00:01", "cache in redis");
    write(&mut file, &prompt, day());
    write(&mut file, &decision, day());
    let edited = text(&file).replace("redis", "valkey");
    let found = memories(&parse(&edited, day()));
    assert_eq!(found[0].content, "use valkey");
    assert_ne!(found[0].id, prompt.id);
    assert_eq!(found[1].content, "cache in valkey");
    assert_eq!(found[1].id, decision.id);
}

#[test]
fn copied_entry_gets_its_own_id() {
    let mut file = Vec::new();
    let decision = memory("s", MemoryType::Decision, "10:00:01", "cache in redis");
    write(&mut file, &decision, day());
    let line = text(&file).lines().last().unwrap().to_owned();
    let found = memories(&parse(&format!("{}{line}\n", text(&file)), day()));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].id, decision.id);
    assert_ne!(found[1].id, decision.id);
}

#[test]
fn log_with_windows_lines_and_bom_parses_the_same() {
    let mut file = Vec::new();
    write(&mut file, &memory("s", MemoryType::UserPrompt, "10:00:00", "one\n\ntwo"), day());
    write(&mut file, &memory("s", MemoryType::Decision, "10:00:01", "three\nfour"), day());
    let windows = format!("\u{feff}{}", text(&file).replace('\n', "\r\n"));
    assert_eq!(memories(&parse(&windows, day())), memories(&parse(text(&file), day())));
}

#[test]
fn only_our_entries_in_long_term_file_are_memories() {
    let mut file = b"# My project\n\nWe ship on Tuesdays.\n\n## Decision\n\n- written by hand\n".to_vec();
    write(&mut file, &memory("s", MemoryType::Decision, "10:00:00", "saved by an agent"), LogKind::LongTerm);
    let parsed = parse(text(&file), LogKind::LongTerm);
    assert_eq!(memories(&parsed).len(), 1);
    assert_eq!(parsed.prose, [1, 3, 5, 7]);
}

#[test]
fn invalid_utf8_stays_when_an_entry_is_added() {
    let mut file = b"# 2026-01-28\n\n- [10:00:00] **User Prompt**: caf\xe9\n\n## Decision\n\n- old\n".to_vec();
    write(&mut file, &memory("s", MemoryType::UserPrompt, "10:00:01", "new"), day());
    assert!(file.windows(4).any(|bytes| bytes == b"caf\xe9"));
    assert_eq!(memories(&parse(&String::from_utf8_lossy(&file), day())).len(), 3);
}

#[rstest]
#[case::short(r#""at":"10:00:01+09:00""#, day())]
#[case::short_without_offset(r#""at":"10:00:01""#, day())]
#[case::whole(r#""at":"2026-01-28T10:00:01+09:00""#, day())]
#[case::moved_to_another_day(r#""at":"2026-01-28T10:00:01+09:00""#, LogKind::from_path("2026-02-03.md").unwrap())]
#[case::moved_to_long_term_memory(r#""at":"2026-01-28T10:00:01+09:00""#, LogKind::LongTerm)]
fn moved_entry_keeps_its_time(#[case] at: &str, #[case] kind: LogKind) {
    let log = |id: &str| format!("## Decision\n\n- use redis <!-- {{{id}{at},\"session\":\"s\"}} -->\n");
    let found = memories(&parse(&log(r#""id":"d1","#), kind));
    assert_eq!(found[0].at.local_second(), "2026-01-28T10:00:01");
    if kind != LogKind::LongTerm {
        let derived = memory("s", MemoryType::Decision, "10:00:01", "use redis").id;
        assert_eq!(memories(&parse(&log(""), kind))[0].id, derived, "whichever form, the id is the same");
    }
}

fn moment() -> Moment {
    Moment::parse_rfc3339("2026-01-28T10:00:01+09:00").unwrap()
}

#[rstest]
#[case::importance_in_words(r#""importance":"high""#)]
#[case::importance_null(r#""importance":null"#)]
#[case::importance_with_a_point(r#""importance":1.5"#)]
#[case::type_of_a_later_version(r#""type":"newtype""#)]
#[case::metadata_as_text(r#""metadata":"x""#)]
#[case::pinned_as_text(r#""pinned":"yes""#)]
#[case::supersedes_as_number(r#""supersedes":7"#)]
#[case::the_same_twice(r#""origin":1,"origin":2"#)]
#[case::unknown(r#""mood":{"a":[1,2,{"b":null}]}"#)]
#[case::far_too_deep(&format!("\"metadata\":{}1{}", "{\"a\":".repeat(500), "}".repeat(500)))]
fn invalid_field_does_not_affect_others(#[case] field: &str) {
    let fields = format!(r#"{{"id":"d1","at":"2026-01-28T10:00:01+09:00",{field},"session":"s"}}"#);
    for kind in [day(), LogKind::LongTerm] {
        let found = memories(&parse(&format!("## Decision\n\n- use redis <!-- {fields} -->\n"), kind));
        let expected = Memory {
            id: MemoryId::parse("d1").unwrap(),
            at: moment(),
            ..memory("s", MemoryType::Decision, "10:00:01", "use redis")
        };
        assert_eq!(found, [expected]);
    }
}

#[rstest]
#[case::too_much("300", 3)]
#[case::too_little("-1", 0)]
fn importance_out_of_range_is_clamped(#[case] written: &str, #[case] read: u8) {
    let log = format!("## Decision\n\n- use redis <!-- {{\"id\":\"d1\",\"importance\":{written}}} -->\n");
    assert_eq!(memories(&parse(&log, day()))[0].attributes.importance, Some(read));
}

#[test]
fn metadata_at_the_depth_limit_is_read() {
    let deep = format!("{}1{}", "{\"a\":".repeat(126), "}".repeat(126));
    let log = format!("## Decision\n\n- use redis <!-- {{\"id\":\"d1\",\"metadata\":{deep}}} -->\n");
    let found = memories(&parse(&log, day()));
    assert_eq!(serde_json::to_string(&found[0].attributes.metadata).unwrap(), deep);
}

#[test]
fn emptied_entry_is_neither_memory_nor_prose() {
    let log = "# 2026-01-28\n\n- [10:00:00] **User Prompt**: \n- [10:00:01] **Error**: x\n\n## Decision\n\n\
               -  <!-- {\"id\":\"d1\"} -->\n- \n\n  <!-- {\"id\":\"d2\"} -->\n- kept\n";
    let parsed = parse(log, day());
    let found: Vec<_> = parsed.entries.iter().map(|entry| entry.memory.content.as_str()).collect();
    assert_eq!((found, parsed.prose), (vec!["x", "kept"], vec![]));
}

#[test]
fn addition_to_a_log_with_windows_lines_has_them_too() {
    let mut plain = b"# 2026-01-28\n\nnote\n".to_vec();
    let mut windows = b"# 2026-01-28\r\n\r\nnote\r\n".to_vec();
    for memory in [
        memory("s", MemoryType::Decision, "10:00:01", "three\nfour\r\n"),
        memory("s", MemoryType::UserPrompt, "10:00:00", "one\n\ntwo"),
        memory("s", MemoryType::Learning, "10:00:02", "five"),
    ] {
        write(&mut windows, &memory, day());
        write(&mut plain, &memory, day());
    }
    assert_eq!(text(&windows), text(&plain).replace('\n', "\r\n"));
}

#[test]
fn event_line_without_id_is_an_event_anywhere() {
    let log = "# 2026-01-28\n\n<!-- session s +09:00 -->\n\n## Decision\n\n- Use Redis\n- [10:35:20] **User Prompt**: Check the build\n\
               - [10:35:30] **User Prompt**: a decision <!-- {\"id\":\"d1\",\"at\":\"10:35:30\"} -->\n\n## Ours\n\n- ours\n- [10:36:00] **Error**: x\n  y\n\n\
               ## Log\n\n- [10:37:00] **User Prompt**: more\n- ours\n";
    let parsed = parse(log, day());
    let found: Vec<_> = parsed.entries.iter().map(|e| (e.memory.kind, e.memory.content.as_str())).collect();
    assert_eq!(
        found,
        [
            (MemoryType::Decision, "Use Redis"),
            (MemoryType::UserPrompt, "Check the build"),
            (MemoryType::Decision, "[10:35:30] **User Prompt**: a decision"),
            (MemoryType::Error, "x\ny"),
            (MemoryType::UserPrompt, "more\n- ours"),
        ]
    );
    assert_eq!(parsed.entries[1].memory.session_id, "s");
    assert_eq!(parsed.prose, [11, 13], "a heading of somebody's own and what stands below it");
}

#[rstest]
#[case::open("- [ ] Write the docs <!-- {\"id\":\"t1\"} -->", false)]
#[case::done("- [x] Write the docs <!-- {\"id\":\"t1\"} -->", true)]
#[case::done_by_hand("- [X] Write the docs", true)]
#[case::without_a_box("* Write the docs", false)]
fn task_is_a_checkbox(#[case] line: &str, #[case] done: bool) {
    let found = memories(&parse(&format!("## Task\n\n{line}\n"), day()));
    assert_eq!((found[0].kind, found[0].content.as_str()), (MemoryType::Task, "Write the docs"));
    assert_eq!(found[0].attributes.done, done);
}

#[rstest]
#[case("- [ ]")]
#[case("- [ ] ")]
#[case("- [x]")]
fn checkbox_without_text_is_not_a_task(#[case] line: &str) {
    assert_eq!(memories(&parse(&format!("## Task\n\n{line}\n"), day())), []);
}

#[test]
fn go_metadata_in_parentheses_is_read() {
    let entries = "- [10:00:00] **User Prompt**: one ({\"context\":\"SPEC-001\"})\n- [10:00:01] **Error**: f({x})\n\n## Decision\n\n\
                   - use (redis) ({\"context\":\"a ({b})\"})\n- of ours ({\"a\":1}) <!-- {\"id\":\"d1\"} -->\n";
    let found = memories(&parse(entries, day()));
    let told: Vec<_> = found.iter().map(|m| (m.content.as_str(), m.attributes.metadata.len())).collect();
    assert_eq!(told, [("one", 1), ("f({x})", 0), ("use (redis)", 1), ("of ours ({\"a\":1})", 0)]);
    let ours = format!("<!-- session s +09:00 -->\n{entries}");
    assert_eq!(memories(&parse(&ours, day()))[0].content, "one ({\"context\":\"SPEC-001\"})");
}

#[test]
fn note_is_neither_entry_nor_prose() {
    let log = "- [10:00:00] **Error**: x\n<!-- note {\"about\":\"d1\",\"resolved\":true} -->\n\n## Decision\n\n- y\n\
               <!-- note {\"later\":1} -->\n";
    let parsed = parse(log, day());
    let found: Vec<_> = parsed.entries.iter().map(|entry| entry.memory.content.as_str()).collect();
    assert_eq!((found, parsed.prose), (vec!["x", "y"], vec![]));
}

#[rstest]
#[case("2026-01-28.md", true)]
#[case("2026-01-28.2.md", true)]
#[case("2026-01-28.9.md", true)]
#[case("2026-01-28.1.md", false)]
#[case("2026-01-28.10.md", false)]
#[case("2026-01-28.02.md", false)]
#[case("2026-1-28.md", false)]
#[case("notes/2026-01-28.md", false)]
fn day_has_up_to_nine_files(#[case] path: &str, #[case] is_log: bool) {
    assert_eq!(LogKind::from_path(path).is_some(), is_log);
    assert_eq!(day().file_names().contains(&path.to_owned()), is_log);
}
