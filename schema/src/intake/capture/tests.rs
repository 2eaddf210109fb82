mod duplicates;

use std::fs;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::*;
use crate::files::database::LockTimeout;
use crate::intake::drain::drain;
use crate::intake::forget::forget_rows;
use crate::intake::prepare::{Destination, METADATA_DEPTH, METADATA_LIMIT, TEXT_LIMIT};
use crate::intake::spool;
use crate::log::log_file::tests::save_aged;
use crate::log::{LogEnd, LogTail, parse};
use crate::store::{MemoryFilter, SyncReport};

fn capture(store: &mut Store, draft: Draft) -> Result<Option<CaptureOutcome>, StoreError> {
    crate::intake::capture::capture(store, draft, &Sanitizer::default())
}

fn prepare(draft: Draft) -> Option<PreparedMemory> {
    crate::intake::prepare::prepare(draft, &Sanitizer::default())
}

fn draft(kind: MemoryType, second: i64, content: &str) -> Draft {
    Draft::new("s1", kind, content, Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap())
}

fn store(project: &tempfile::TempDir) -> Store {
    Store::open(project.path(), LockTimeout::Server).unwrap()
}

fn id(captured: Option<CaptureOutcome>) -> MemoryId {
    match captured.unwrap() {
        CaptureOutcome::Saved { id, .. } | CaptureOutcome::Waiting { id, .. } => id,
        CaptureOutcome::Duplicate(row) => row.memory.id,
        CaptureOutcome::Forgotten => panic!("forgotten"),
    }
}

fn forget(store: &mut Store, id: &MemoryId) {
    let row = store.rows().by_id(id).unwrap().unwrap();
    forget_rows(store, &[row]).unwrap();
}

/// Deletes a row, as if the process that wrote the entry had been killed before it wrote the row.
fn lose_row(store: &mut Store, id: &MemoryId) {
    let row = store.rows().by_id(id).unwrap().unwrap();
    let lose = |rows: Rows<'_>| rows.delete(row.seq).and_then(|()| rows.delete_log_state(&row.path));
    store.with_transaction(lose).unwrap();
}

fn line_of(store: &Store, id: &MemoryId) -> usize {
    store.locator().find_lines(&store.rows().by_id(id).unwrap().unwrap()).0
}

/// Returns the log of a memory's day with the entry appended.
fn with_entry(log: &[u8], memory: &Memory) -> Vec<u8> {
    [log, &LogEnd::from_tail(LogTail::whole(log)).append_entry(memory, memory.at.date())].concat()
}

fn count_entries(store: &Store) -> usize {
    let files = store.layout().markdown_files().unwrap();
    let of_file = |path: &String| {
        let text = fs::read_to_string(store.layout().store_path(path)).unwrap();
        parse(&text, LogKind::from_path(path).unwrap()).entries.len()
    };
    files.iter().map(of_file).sum()
}

#[test]
fn text_is_cleaned_again_after_trimming() {
    let sanitizer = Sanitizer::default();
    let kept = prepare(draft(MemoryType::UserPrompt, 0, "password = \"hunter <private>")).unwrap();
    let content = &kept.draft().content;
    assert_eq!((content.as_str(), kept.redactions()), ("password = \"[redacted: password]", 1));
    assert_eq!(sanitizer.clean(content).text.as_ref(), content);
}

#[test]
fn half_written_entry_does_not_change_the_previous_one() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let first = id(capture(&mut store, draft(MemoryType::UserPrompt, 0, "one")).unwrap());
    let path = store.layout().store_path("2026-01-28.md");
    let before = fs::read_to_string(&path).unwrap();
    let half = "- [10:30:16] **Assistant Response**: an answer";
    for length in 4..half.len() {
        for end in ["", "\n- [10:30:17] **User Prompt**: two\n"] {
            save_aged(&path, format!("{before}{}{end}", &half[..length]));
            store.sync_log("2026-01-28.md").unwrap();
            let row = store.rows().by_id(&first).unwrap();
            assert_eq!(row.map(|row| row.memory.content).as_deref(), Some("one"), "{length} bytes of it");
        }
    }
}

#[test]
fn located_lines_match_the_log() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let kinds = [MemoryType::UserPrompt, MemoryType::UserPrompt, MemoryType::Decision, MemoryType::Learning];
    for n in 0..12 {
        id(capture(&mut store, draft(kinds[n as usize / 3], n, &format!("text {n}\n  and more"))).unwrap());
        if n == 7 {
            let path = store.layout().store_path("2026-01-28.md");
            fs::write(&path, fs::read_to_string(&path).unwrap() + "A line of a person.\n").unwrap();
        }
    }
    let rows = store.rows().by_path("2026-01-28.md").unwrap();
    let log = fs::read_to_string(store.layout().store_path("2026-01-28.md")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    for row in &rows {
        let first = row.memory.content.lines().next().unwrap();
        assert!(lines[store.locator().find_lines(row).0 - 1].contains(first), "{row:?} {log}");
    }
    assert_eq!((rows.len(), store.sync_log("2026-01-28.md").unwrap().added), (12, 0));
}

/// Lines of a log that we would not write: prose, entries of people, headings, sessions in another zone, and Windows line endings.
const ANY_LINE: &str = "(- \\[10:00:0[0-3]\\] \\*\\*(Error|User Prompt)\\*\\*: x|- x|- \\[09:00:00\\] y|  more|## Decision|## Mine|\
                        <!-- session [st] (\\+09:00|\\+01:00) -->|prose|)\r?\n";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn rows_match_any_log_after_any_capture(
        before in proptest::string::string_regex(&format!("({ANY_LINE}){{0,9}}")).unwrap(),
        captured in proptest::collection::vec((0..4_usize, 0..3_usize, 0..3_i64), 1..6),
    ) {
        let project = tempfile::tempdir().unwrap();
        let mut store = store(&project);
        let name = "2026-01-28.md";
        if !before.is_empty() {
            save_aged(&store.layout().store_path(name), &before);
        }
        store.sync_log(name).unwrap();
        let kinds = [MemoryType::UserPrompt, MemoryType::Error, MemoryType::Decision, MemoryType::Learning];
        for (n, (kind, session, second)) in captured.into_iter().enumerate() {
            let offset = [32_400, 3_600, 32_400][session];
            let at = Moment::from_unix(1_769_563_815 + second * 61, Some(offset)).unwrap();
            let draft = Draft { at, session_id: session.to_string(), ..draft(kinds[kind], 0, &format!("text {n}\nand more")) };
            let (said, was_synced) = (prose_in(&store, name), store.synced_log(name).unwrap());
            id(capture(&mut store, draft).unwrap());
            // After a capture to a synchronised log, a reader need not look for prose again.
            if store.synced_log(name).unwrap().is_some() && was_synced.is_some() {
                prop_assert_eq!(prose_in(&store, name), said);
            }
            if !store.is_stale(name).unwrap() {
                let kept = store.rows().by_path(name).unwrap();
                let report = store.sync_log(name).unwrap();
                let log = fs::read_to_string(store.layout().store_path(name)).unwrap();
                prop_assert_eq!(report, SyncReport::default(), "{}", log);
                prop_assert_eq!(store.rows().by_path(name).unwrap(), kept, "{}", log);
            } else {
                store.sync_log(name).unwrap();
            }
        }
    }
}

/// Returns the prose that somebody wrote into a log.
fn prose_in(store: &Store, name: &str) -> Vec<String> {
    let log = fs::read_to_string(store.layout().store_path(name)).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    let prose = parse(&log, LogKind::from_path(name).unwrap()).prose.into_iter().map(|number| lines[number - 1].trim());
    prose.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn missing_row_is_repaired_with_old_time_format() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let saved = id(capture(&mut store, draft(MemoryType::Decision, 0, "use redis")).unwrap());
    lose_row(&mut store, &saved);
    let log = store.layout().store_path("2026-01-28.md");
    let text = fs::read_to_string(&log).unwrap();
    save_aged(&log, text.replace("\"at\":\"2026-01-28T", "\"at\":\""));
    assert_eq!(id(capture(&mut store, draft(MemoryType::Decision, 0, "use redis")).unwrap()), saved);
    assert_eq!(count_entries(&store), 1);
}

#[test]
fn nothing_secret_or_private_reaches_any_file() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let secret = format!("gh{}_{}", "p", "A1b2".repeat(9));
    let mut said = draft(MemoryType::Decision, 0, &format!("token {secret} <private>my diary</private> stays 한글"));
    said.attributes.metadata.insert("note".into(), format!("also {secret}").into());
    spool::write_memory(store.layout(), &prepare(said.clone()).unwrap()).unwrap();
    let saved = id(capture(&mut store, said).unwrap());
    let content = store.rows().by_id(&saved).unwrap().unwrap().memory.content;
    assert!(content.ends_with("stays 한글") && content.contains("[redacted: "), "{content}");
    assert_eq!(store.rows().meta("redactions").unwrap().as_deref(), Some("2"));
    let mut pending = vec![store.layout().store_dir().to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        for hidden in [secret.as_bytes(), b"my diary"] {
            assert!(!bytes.windows(hidden.len()).any(|window| window == hidden), "{path:?}");
        }
    }
}

#[test]
fn private_or_blank_text_is_not_captured() {
    for content in ["", " \n\t", "<private>all of it</private>"] {
        assert_eq!(prepare(draft(MemoryType::UserPrompt, 0, content)), None, "{content:?}");
    }
}

#[test]
fn text_over_the_limit_keeps_its_start_and_end() {
    let text = format!("start{}끝", "가".repeat(TEXT_LIMIT));
    let prepared = prepare(draft(MemoryType::UserPrompt, 0, &text)).unwrap();
    let content = &prepared.draft().content;
    assert!(content.len() <= TEXT_LIMIT && content.starts_with("start가") && content.ends_with("가끝"));
    assert!(content.contains("characters left out …]"));
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }))
}

#[rstest]
#[case::small(json!({ "context": "SPEC-001", "list": [[1], {}] }), None)]
#[case::deep(nested(METADATA_DEPTH), None)]
#[case::too_deep(nested(METADATA_DEPTH + 1), Some("nested deeper than 16 levels"))]
#[case::far_too_deep(nested(126), Some("nested deeper than 16 levels"))]
#[case::long(json!({ "note": "x".repeat(METADATA_LIMIT - 11) }), None)]
#[case::too_long(json!({ "note": "x".repeat(METADATA_LIMIT - 10) }), Some("16385 bytes, at most 16384 are kept"))]
fn metadata_is_limited_in_size_and_depth(#[case] metadata: Value, #[case] reason: Option<&str>) {
    let Value::Object(metadata) = metadata else { unreachable!("it is written as an object") };
    let mut said = draft(MemoryType::Decision, 0, "use redis");
    said.attributes.metadata = metadata.clone();
    let kept = prepare(said).unwrap().draft().attributes.metadata.clone();
    let expected = reason.map(|reason| Map::from_iter([("metadata_left_out".to_owned(), reason.into())]));
    assert_eq!(kept, expected.unwrap_or(metadata));
}

#[test]
fn decomposed_text_is_stored_composed() {
    let prepared = prepare(draft(MemoryType::UserPrompt, 0, "\u{1112}\u{1161}\u{11ab}글")).unwrap();
    assert_eq!(prepared.draft().content, "한글");
}

#[test]
fn spooled_memory_is_stored_once_unless_forgotten() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    for (second, text) in [(0, "one"), (1, "two")] {
        let prepared = prepare(draft(MemoryType::UserPrompt, second, text)).unwrap();
        spool::write_memory(store.layout(), &prepared).unwrap();
        spool::write_memory(store.layout(), &prepared).unwrap();
    }
    fs::write(store.layout().spool_dir().join("broken.json"), "{").unwrap();
    assert_eq!(drain(&mut store, 10).unwrap(), 2);
    assert_eq!(spool::count(store.layout()), 0);
    assert!(store.layout().spool_dir().join("broken.unreadable").exists());

    let one = store.rows().list(&MemoryFilter::default(), 10).unwrap().pop().unwrap().memory.id;
    forget(&mut store, &one);
    spool::write_memory(store.layout(), &prepare(draft(MemoryType::UserPrompt, 0, "one")).unwrap()).unwrap();
    assert_eq!(drain(&mut store, 10).unwrap(), 0);
    capture(&mut store, draft(MemoryType::UserPrompt, 100, "one")).unwrap();
    assert_eq!(count_entries(&store), 2, "what is said again is kept again");
}

#[test]
fn concurrent_captures_in_a_new_store_are_all_stored() {
    let project = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..24 {
            let project = &project;
            scope.spawn(move || {
                let mut store = store(project);
                capture(&mut store, draft(MemoryType::UserPrompt, n, &format!("prompt {n}"))).unwrap();
            });
        }
    });
    let store = store(&project);
    assert_eq!(store.rows().list(&MemoryFilter::default(), 100).unwrap().len(), 24);
    assert_eq!(count_entries(&store), 24);
}

#[rstest]
#[case::event(MemoryType::UserPrompt, Destination::DailyLog)]
#[case::conclusion(MemoryType::Decision, Destination::DailyLog)]
#[case::long_term(MemoryType::Decision, Destination::LongTerm)]
fn save_after_forget_survives_a_rebuild(
    #[case] kind: MemoryType,
    #[case] destination: Destination,
    #[values(false, true)] together: bool,
) {
    let project = tempfile::tempdir().unwrap();
    let mut kept = store(&project);
    capture(&mut kept, draft(MemoryType::Learning, -5, "stays")).unwrap();
    let said = || Draft { destination, ..draft(kind, 0, "said again") };
    let first = id(capture(&mut kept, said()).unwrap());
    for _ in 0..2 {
        forget(&mut kept, &first);
        assert!(!rebuilt_ids(&kept).contains(&first));
        let again = match together {
            true => commit_all(&mut kept, &[prepare(said()).unwrap()]).remove(0).unwrap(),
            false => capture(&mut kept, said()).unwrap().unwrap(),
        };
        assert_eq!(id(Some(again)), first);
        assert!(rebuilt_ids(&kept).contains(&first), "saved again");
        let replayed = PreparedMemory { delivery: Delivery::Replay, ..prepare(said()).unwrap() };
        assert_eq!(commit(&mut kept, &replayed).unwrap(), CaptureOutcome::Forgotten);
    }
}

/// Returns the ids of a store that is rebuilt from the same Markdown.
fn rebuilt_ids(store: &Store) -> Vec<MemoryId> {
    let project = tempfile::tempdir().unwrap();
    let mut other = Store::open(project.path(), LockTimeout::Server).unwrap();
    for name in store.layout().markdown_files().unwrap().into_iter().chain(["forgotten".to_owned()]) {
        fs::copy(store.layout().store_path(&name), other.layout().store_path(&name)).unwrap();
    }
    for path in other.all_logs().unwrap() {
        other.sync_log(&path).unwrap();
    }
    other.rows().inserted_after(0, 10).unwrap().into_iter().map(|row| row.memory.id).collect()
}
