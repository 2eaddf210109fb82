//! Logs that people edited, and lines that other versions wrote.

use super::*;

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
    let texts: Vec<_> = found.iter().map(|m| (m.content.as_str(), m.attributes.metadata.len())).collect();
    assert_eq!(texts, [("one", 1), ("f({x})", 0), ("use (redis)", 1), ("of ours ({\"a\":1})", 0)]);
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
