//! Texts that arrive again, and entries that were written in part.

use super::*;
use crate::intake::prepare::Destination;

#[test]
fn repeated_event_is_one_memory_and_one_entry() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let first = id(capture(&mut store, draft(MemoryType::UserPrompt, 0, "hello")).unwrap());
    let again = id(capture(&mut store, draft(MemoryType::UserPrompt, 0, "hello")).unwrap());
    assert_eq!(first, again);
    assert_eq!(count_entries(&store), 1);
}

#[test]
fn repeats_of_a_failure_in_one_second_are_counted() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let failed = || draft(MemoryType::Error, 0, "Bash failed: make\nno rule");
    let first = id(capture(&mut store, failed()).unwrap());
    for _ in 0..3 {
        assert_eq!(id(capture(&mut store, failed()).unwrap()), first);
    }
    let repeats = |store: &Store| store.rows().by_id(&first).unwrap().unwrap().state.repeats;
    assert_eq!(repeats(&store), 3);
    let log = LogKind::Daily(failed().at.date()).file_name();
    store.sync_log(&log).unwrap();
    assert_eq!(repeats(&store), 3, "the log has them too");
    let replayed = PreparedMemory { delivery: Delivery::Replay, ..prepare(failed()).unwrap() };
    commit(&mut store, &replayed).unwrap();
    assert_eq!(repeats(&store), 3, "the replay is known");
}

#[rstest]
#[case::event(MemoryType::UserPrompt)]
#[case::conclusion(MemoryType::Decision)]
fn event_sent_again_after_a_crash_is_one_entry(#[case] kind: MemoryType) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = |second| draft(kind, second, "- hello\n<!-- there -->");
    let first = id(capture(&mut store, said(0)).unwrap());
    lose_row(&mut store, &first);
    // A second later: the id that follows from the time is another one.
    assert_eq!(id(capture(&mut store, said(1)).unwrap()), first);
    assert_eq!((store.rows().count_after(0).unwrap(), count_entries(&store)), (1, 1));
    lose_row(&mut store, &first);
    capture(&mut store, said(REPEAT_SECONDS + 1)).unwrap();
    assert_eq!(count_entries(&store), 2, "it was said again");
}

#[rstest]
#[case::event(MemoryType::UserPrompt, Destination::DailyLog)]
#[case::conclusion(MemoryType::Decision, Destination::DailyLog)]
#[case::long_term(MemoryType::Decision, Destination::LongTerm)]
fn deleted_entry_returns_when_its_event_comes_again(#[case] kind: MemoryType, #[case] destination: Destination) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = || Draft { destination, ..draft(kind, 0, "hello") };
    let first = capture(&mut store, said()).unwrap();
    let Some(CaptureOutcome::Saved { path, .. }) = &first else { panic!("{first:?}") };
    // The file is longer than before and was saved long ago. Nobody has read it since.
    save_aged(&store.layout().store_path(path), "# 2026-01-28\n\n".to_owned() + &"A line of a person.\n".repeat(20));
    store
        .with_transaction(|rows| rows.0.execute_batch("UPDATE memories SET written_at = written_at - 3600000"))
        .unwrap();
    let twice = [prepare(said()).unwrap(), prepare(said()).unwrap()];
    let again = commit_all(&mut store, &twice).into_iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(again[0], first.unwrap());
    assert!(matches!(again[1], CaptureOutcome::Duplicate(_)), "{again:?}");
    assert_eq!((store.rows().count_after(0).unwrap(), count_entries(&store)), (1, 1));
    let prompts = store.rows().sessions(None, None).unwrap()[0].prompts;
    assert_eq!(prompts, u64::from(kind == MemoryType::UserPrompt));
}

#[rstest]
#[case::prompt_within_a_minute(MemoryType::UserPrompt, 59, 1)]
#[case::prompt_after_a_minute(MemoryType::UserPrompt, 61, 2)]
#[case::decision_a_day_later(MemoryType::Decision, 86_400, 1)]
fn repeated_text_is_one_memory_for_a_while(#[case] kind: MemoryType, #[case] later: i64, #[case] memories: usize) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    capture(&mut store, draft(kind, 0, "the same")).unwrap();
    capture(&mut store, draft(kind, later, "the same")).unwrap();
    assert_eq!(count_entries(&store), memories);
}

#[rstest]
#[case::in_the_same_second(0)]
#[case::within_a_minute(30)]
#[case::an_hour_later(3600)]
fn logged_text_is_saved_to_long_term_memory_once(#[case] later: i64) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let logged = draft(MemoryType::Decision, 0, "use redis");
    let kept = Draft { destination: Destination::LongTerm, ..draft(MemoryType::Decision, later, "use redis") };
    let first = id(capture(&mut store, logged.clone()).unwrap());
    let Some(CaptureOutcome::Saved { id: second, path }) = capture(&mut store, kept.clone()).unwrap() else {
        panic!("it is in no file of long-term memory yet")
    };
    assert_eq!(path, "MEMORY.md");
    assert_ne!(first, second);
    for seconds in [0, 1, 2, 3600] {
        for draft in [&kept, &logged] {
            let at = Moment::from_unix(draft.at.unix() + seconds, Some(32_400)).unwrap();
            let again = capture(&mut store, Draft { at, ..draft.clone() }).unwrap().unwrap();
            assert!(matches!(again, CaptureOutcome::Duplicate(_)), "{again:?}");
        }
    }
    for path in store.changed_logs().unwrap() {
        store.sync_log(&path).unwrap();
    }
    assert_eq!(store.rows().by_id(&first).unwrap().unwrap().path, "2026-01-28.md");
    assert_eq!(store.rows().by_id(&second).unwrap().unwrap().path, "MEMORY.md");
    assert_eq!(count_entries(&store), 2);
}

#[rstest]
#[case::daily(Destination::DailyLog)]
#[case::long_term(Destination::LongTerm)]
fn confirmation_by_another_session_is_in_markdown(#[case] destination: Destination) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = Draft { destination, ..draft(MemoryType::Decision, 0, "use redis") };
    let first = id(capture(&mut store, said).unwrap());
    let again = Draft::new("s2", MemoryType::Decision, "use redis", draft(MemoryType::Decision, 3600, "").at);
    for _ in 0..2 {
        capture(&mut store, Draft { destination, ..again.clone() }).unwrap();
    }
    assert_eq!((spool::count(store.layout()), store.rows().notes_about(&first).unwrap().len()), (0, 1));
    for path in ["MEMORY.md", "2026-01-28.md"] {
        store.sync_log(path).unwrap();
    }
    assert!(store.rows().last_confirmation(&first).unwrap().is_some());
}

#[test]
fn conclusion_in_a_hand_edited_file_is_a_duplicate() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let (log, copy) = ("2026-01-28.md", "2026-01-29.md");
    id(capture(&mut store, draft(MemoryType::Decision, 0, "use redis")).unwrap());
    let copied = fs::read_to_string(store.layout().store_path(log)).unwrap();
    save_aged(&store.layout().store_path(log), "## Decision\n\n- Use cargo.\n");
    save_aged(&store.layout().store_path(copy), format!("{copied}{}\n", copied.lines().last().unwrap()));
    let add_prose = |store: &Store, name: &str| {
        let text = fs::read_to_string(store.layout().store_path(name)).unwrap();
        save_aged(&store.layout().store_path(name), text + "\nA word of prose.\n");
        assert!(store.is_stale(name).unwrap());
    };
    for path in store.changed_logs().unwrap() {
        store.sync_log(&path).unwrap();
    }
    for text in ["Use cargo.", "use redis"] {
        add_prose(&store, log);
        add_prose(&store, copy);
        let again = capture(&mut store, draft(MemoryType::Decision, 7200, text)).unwrap().unwrap();
        assert!(matches!(again, CaptureOutcome::Duplicate(_)), "{again:?}");
    }
    // A file that cannot be read is assumed to still have its entries.
    fs::remove_file(store.layout().store_path(copy)).unwrap();
    fs::create_dir(store.layout().store_path(copy)).unwrap();
    let again = capture(&mut store, draft(MemoryType::Decision, 7300, "use redis")).unwrap().unwrap();
    assert!(matches!(again, CaptureOutcome::Duplicate(_)), "{again:?}");
}

#[test]
fn repeated_answer_without_a_prompt_is_a_duplicate() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    for (kind, second, content) in [
        (MemoryType::UserPrompt, 0, "go on"),
        (MemoryType::AssistantResponse, 10, "All done."),
        (MemoryType::AssistantResponse, 500, "All done."),
        (MemoryType::UserPrompt, 600, "and now?"),
        (MemoryType::AssistantResponse, 700, "All done."),
        // Also if the clock goes back in between.
        (MemoryType::UserPrompt, 200, "and before?"),
        (MemoryType::AssistantResponse, 300, "All done."),
    ] {
        capture(&mut store, draft(kind, second, content)).unwrap();
    }
    assert_eq!(count_entries(&store), 6);
}

#[test]
fn repeated_capture_restores_a_missing_row() {
    let project = tempfile::tempdir().unwrap();
    let mut first = store(&project);
    let saved = id(capture(&mut first, draft(MemoryType::UserPrompt, 0, "hello")).unwrap());
    lose_row(&mut first, &saved);
    let again = capture(&mut first, draft(MemoryType::UserPrompt, 0, "hello")).unwrap();
    assert_eq!(id(again), saved);
    assert_eq!(count_entries(&first), 1);
    assert_eq!(line_of(&first, &saved), 4);
}

#[rstest]
#[case::event(MemoryType::UserPrompt)]
#[case::conclusion(MemoryType::Decision)]
fn entry_without_row_is_found_before_many_others(#[case] kind: MemoryType) {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    id(capture(&mut store, draft(kind, 0, "one")).unwrap());
    let crashed = prepare(draft(kind, 1, "two")).unwrap();
    let path = store.layout().store_path("2026-01-28.md");
    let text = fs::read(&path).unwrap();
    fs::write(&path, with_entry(&text, &crashed.to_memory())).unwrap();
    for n in 3..6 {
        id(capture(&mut store, draft(kind, n, &format!("text {n}"))).unwrap());
    }
    let saved = commit(&mut store, &crashed).unwrap();
    assert_eq!((id(Some(saved)), count_entries(&store)), (crashed.to_memory().id, 5));
    store.sync_log("2026-01-28.md").unwrap();
    assert_eq!(store.rows().list(&MemoryFilter::default(), 10).unwrap().len(), 5);
}

#[rstest]
#[case::event(MemoryType::UserPrompt)]
#[case::conclusion(MemoryType::Decision)]
fn repeated_capture_completes_a_half_written_entry(#[case] kind: MemoryType) {
    let crashed = prepare(draft(kind, 1, "two lines, 한글\nand one more")).unwrap();
    for first in [None, Some(MemoryType::UserPrompt), Some(kind)] {
        let project = tempfile::tempdir().unwrap();
        let mut store = store(&project);
        first.map(|kind| id(capture(&mut store, draft(kind, 0, "one")).unwrap()));
        let path = store.layout().store_path("2026-01-28.md");
        let before = fs::read(&path).unwrap_or_default();
        let whole = with_entry(&before, &crashed.to_memory());
        for length in (before.len()..whole.len()).filter(|length| *length > 0 && whole[length - 1] != b'\n') {
            save_aged(&path, &whole[..length]);
            // The half may be read in between. A conclusion without its comment would then count as a person's.
            if length % 2 == 0 && kind.is_event() {
                store.sync_log("2026-01-28.md").unwrap();
            }
            let saved = id(Some(commit(&mut store, &crashed).unwrap()));
            let log = String::from_utf8(fs::read(&path).unwrap()).unwrap();
            assert_eq!(log.trim_end(), String::from_utf8_lossy(&whole).trim_end(), "cut at {length}");
            assert!(line_of(&store, &saved) > 0);
            for path in store.changed_logs().unwrap() {
                store.sync_log(&path).unwrap();
            }
            assert_eq!(
                store.rows().list(&MemoryFilter::default(), 10).unwrap().len(),
                1 + usize::from(first.is_some())
            );
            save_aged(&path, &before);
            store.sync_log("2026-01-28.md").unwrap();
        }
    }
}
