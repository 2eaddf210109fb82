use std::fs;

use proptest::prelude::*;
use rstest::rstest;
use rusqlite::Connection;

use super::*;
use crate::capture::{Captured, Destination, Draft};
use crate::daily_log::{LONG_TERM_FILE, LogKind, parse};
use crate::forget::forget;
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::screen::Screen;

const LOG: &str = "2026-01-28.md";

fn at(time: &str) -> Moment {
    Moment::parse_rfc3339(&format!("2026-01-28T{time}+09:00")).unwrap()
}

fn capture(store: &mut Store, draft: Draft) -> Result<Option<Captured>, StoreError> {
    crate::capture::capture(store, draft, &Screen::default())
}

fn draft(kind: MemoryType, time: &str, content: &str) -> Draft {
    Draft {
        session_id: "s1".into(),
        kind,
        content: content.into(),
        at: at(time),
        attributes: Attributes::default(),
        destination: Destination::DailyLog,
    }
}

fn open(project: &Path) -> Store {
    Store::open(project, Patience::Server).unwrap()
}

fn sync(store: &mut Store) -> SyncReport {
    let mut total = SyncReport::default();
    for path in store.changed_logs().unwrap() {
        let report = store.sync_log(&path).unwrap();
        total.added += report.added;
        total.changed += report.changed;
        total.removed += report.removed;
    }
    total
}

fn all(store: &Store) -> Vec<Memory> {
    let rows = store.rows().list(&Filter::default(), 10_000).unwrap();
    let mut memories: Vec<Memory> = rows.into_iter().map(|row| row.memory).collect();
    memories.sort_by(|a, b| a.id.cmp(&b.id));
    memories
}

fn filled(project: &Path) -> Store {
    let mut store = open(project);
    for (n, kind) in MemoryType::ALL.into_iter().enumerate() {
        capture(&mut store, draft(kind, &format!("10:00:{n:02}"), &format!("text {n} of {kind}\n\nmore"))).unwrap();
    }
    store
}

#[test]
fn the_rows_come_back_from_markdown_alone() {
    let project = tempfile::tempdir().unwrap();
    let store = filled(project.path());
    let before = all(&store);
    assert_eq!(before.len(), 11);
    drop(store);
    fs::remove_file(Layout::new(project.path()).memory_db()).unwrap();
    let mut store = open(project.path());
    assert_eq!(sync(&mut store).added, 11);
    assert_eq!(all(&store), before);
}

#[test]
fn places_are_right_after_later_captures_moved_the_lines() {
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    sync(&mut store);
    let text = fs::read_to_string(store.layout().file(LOG)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for row in store.rows().list(&Filter::default(), 100).unwrap() {
        let first = row.memory.content.lines().next().unwrap();
        assert!(lines[row.place.start_line - 1].contains(first), "{row:?}");
        assert!(!lines[row.place.end_line - 1].is_empty(), "{row:?}");
    }
    assert_eq!(sync(&mut store), SyncReport::default(), "nothing is left to do");
}

#[test]
fn an_edit_by_hand_changes_the_memory_and_a_deleted_line_removes_it() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let decision = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    let prompt = saved(capture(&mut store, draft(MemoryType::UserPrompt, "10:00:01", "why?")).unwrap());
    sync(&mut store);
    let path = store.layout().file(LOG);
    let text = fs::read_to_string(&path).unwrap();
    let edited: Vec<&str> = text.lines().filter(|line| !line.contains("why?")).collect();
    fs::write(&path, edited.join("\n").replace("use redis", "use valkey")).unwrap();
    assert_eq!(sync(&mut store), SyncReport { added: 0, changed: 1, removed: 1 });
    assert_eq!(store.rows().by_id(&decision).unwrap().unwrap().memory.content, "use valkey");
    assert_eq!(store.rows().by_id(&prompt).unwrap(), None);
    fs::remove_file(&path).unwrap();
    assert_eq!(sync(&mut store).removed, 1);
}

fn saved(captured: Option<Captured>) -> MemoryId {
    match captured {
        Some(Captured::Saved { id, .. }) => id,
        other => panic!("not saved: {other:?}"),
    }
}

#[test]
fn an_entry_moved_to_long_term_memory_keeps_its_id_and_a_copied_one_gets_its_own() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let id = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    sync(&mut store);
    let log = store.layout().file(LOG);
    let text = fs::read_to_string(&log).unwrap();
    let line = text.lines().find(|line| line.contains("use redis")).unwrap();
    fs::write(store.layout().file(LONG_TERM_FILE), format!("## Decision\n\n{line}\n")).unwrap();
    assert_eq!(sync(&mut store).added, 1, "a copy is a second memory");
    assert_eq!(sync(&mut store), SyncReport::default());
    fs::write(store.layout().file(LONG_TERM_FILE), "").unwrap();
    assert_eq!(sync(&mut store).removed, 1);
    fs::write(store.layout().file(LONG_TERM_FILE), format!("## Decision\n\n{line}\n")).unwrap();
    fs::write(&log, text.replace(line, "")).unwrap();
    sync(&mut store);
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().place.path, LONG_TERM_FILE);
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn a_forgotten_memory_is_out_of_log_and_rows() {
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    let gone = all(&store).remove(3);
    assert!(forget(&mut store, &gone.id).unwrap().is_some());
    assert!(forget(&mut store, &gone.id).unwrap().is_none());
    sync(&mut store);
    assert_eq!(all(&store).len(), 10);
    assert!(crate::forgotten::holds(store.layout(), &gone.content).unwrap());
}

#[rstest]
#[case::garbage(b"this is no database, whatever its name says. ".repeat(100))]
#[case::torn([b"SQLite format 3\0".to_vec(), vec![0xff; 5000]].concat())]
fn a_damaged_database_is_set_aside_and_rebuilt(#[case] bytes: Vec<u8>) {
    let project = tempfile::tempdir().unwrap();
    let before = all(&filled(project.path()));
    let layout = Layout::new(project.path());
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(layout.file(&format!("memory.db{ending}")));
    }
    fs::write(layout.memory_db(), &bytes).unwrap();
    let mut store = open(project.path());
    assert!(store.notes()[0].contains("set aside as memory.db.damaged-"), "{:?}", store.notes());
    sync(&mut store);
    assert_eq!(all(&store), before);
    let aside = fs::read_dir(layout.dir()).unwrap().filter_map(Result::ok).map(|item| item.path());
    let aside: Vec<_> = aside.filter(|path| path.to_string_lossy().contains("damaged-")).collect();
    assert_eq!(fs::read(&aside[0]).unwrap(), bytes, "what was there is kept");
}

#[test]
fn a_store_of_a_newer_version_is_read_from_its_markdown_and_left_alone() {
    let project = tempfile::tempdir().unwrap();
    let before = all(&filled(project.path()));
    let layout = Layout::new(project.path());
    let db = Connection::open(layout.memory_db()).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    drop(db);
    let listing = || {
        let mut files: Vec<_> = fs::read_dir(layout.dir()).unwrap().map(|item| item.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).ok())).collect::<Vec<_>>()
    };
    let files = listing();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(all(&store), before);
    assert!(matches!(store.access(), Access::ReadOnly(ReadOnlyReason::Newer(99))));
    let refused = capture(&mut store, draft(MemoryType::Decision, "11:00:00", "x")).unwrap_err();
    assert!(refused.to_string().contains("update jikime-memory"), "{refused}");
    drop(store);
    assert_eq!(listing(), files, "no file was written");
}

#[test]
fn a_database_of_the_go_version_is_upgraded_and_nothing_is_lost() {
    let project = tempfile::tempdir().unwrap();
    let layout = Layout::new(project.path());
    layout.create().unwrap();
    fs::write(
        layout.file(LOG),
        "# 2026-01-28\n\n- [10:30:15] **User Prompt**: held by the log\n\n## Decision\n\n- a decision held\n",
    )
    .unwrap();
    let db = Connection::open(layout.memory_db()).unwrap();
    db.execute_batch(GO_TABLES).unwrap();
    let local = Moment::from_local_unknown(at("10:30:15").date(), chrono::NaiveTime::from_hms_opt(10, 30, 15).unwrap());
    for (id, kind, content, created) in [
        ("go-1", "user_prompt", "held by the log", local.utc()),
        ("go-2", "decision", "a decision held", local.utc()),
        ("go-3", "decision", "a decision that only\nthe database knows", local.utc()),
        ("go-4", "assistant_response", "an answer", local.unix().to_string()),
        ("go-5", "insight", "of a type that is gone", "2026-01-29 10:30:15.5 +0900 KST".to_owned()),
    ] {
        db.execute(
            "INSERT INTO memories VALUES (?1, 's', '/p', ?2, ?3, 'h', '{\"a\":1}', x'0000803f', ?4, ?4, 7)",
            [id, kind, content, &created],
        )
        .unwrap();
    }
    db.execute("INSERT INTO embedding_cache VALUES ('h', 'openai', 'm', x'0000803f', 1, '2026')", []).unwrap();
    drop(db);
    assert!(matches!(Store::open(project.path(), Patience::Hook), Err(StoreError::NeedsUpgrade)));

    let mut store = open(project.path());
    assert!(store.notes()[0].contains("5 memories, 3 of them written"), "{:?}", store.notes());
    assert_eq!(sync(&mut store), SyncReport::default());
    let memories = all(&store);
    assert_eq!(memories.len(), 5, "{memories:#?}");
    let go3 = store.rows().by_id(&MemoryId::parse("go-3").unwrap()).unwrap().unwrap();
    assert_eq!(go3.memory.content, "a decision that only\nthe database knows");
    assert_eq!(go3.access_count, 7);
    let cached: i64 = store.db.query_row("SELECT count(*) FROM embedding_cache", [], |row| row.get(0)).unwrap();
    assert_eq!(cached, 1, "paid embeddings stay");
    let backup = Connection::open(layout.file("memory.db.go-backup")).unwrap();
    let kept: i64 = backup.query_row("SELECT count(*) FROM memories", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 5);
}

const LOGS: [&str; 4] = ["2026-01-27.md", LOG, "2026-02-03.md", LONG_TERM_FILE];

/// What a person does to a line: from which log, which line of it, into which log, and where there.
type Deed = (usize, usize, usize, usize, usize);

/// Three logs and long-term memory, as they are before anybody touches them: a prompt and three decisions each.
fn pages() -> Vec<Vec<String>> {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    for (day, n) in LOGS.iter().zip(0..) {
        for content in ["a", "b", "c"] {
            let long_term = *day == LONG_TERM_FILE;
            let date = if long_term { "2026-01-28" } else { day.trim_end_matches(".md") };
            let mut said = draft(MemoryType::Decision, "10:00:00", content);
            said.at = Moment::parse_rfc3339(&format!("{date}T10:00:0{n}+09:00")).unwrap();
            said.destination = if long_term { Destination::LongTerm } else { Destination::DailyLog };
            capture(&mut store, said.clone()).unwrap();
            if content == "a" && !long_term {
                capture(&mut store, Draft { kind: MemoryType::UserPrompt, ..said }).unwrap();
            }
        }
    }
    let read =
        |path: &&str| fs::read_to_string(store.layout().file(path)).unwrap().lines().map(str::to_owned).collect();
    LOGS.iter().map(read).collect()
}

fn do_it(pages: &mut [Vec<String>], (what, from, line, to, place): Deed) {
    let lines: Vec<usize> = (0..pages[from].len()).filter(|at| pages[from][*at].starts_with("- ")).collect();
    let Some(&at) = lines.get(line % lines.len().max(1)) else { return };
    let text = pages[from][at].clone();
    let heading = |page: &[String]| page.iter().position(|line| line.starts_with("## ")).unwrap_or(page.len());
    match what {
        // An edit of the text, of the day, of the id, without the comment, or of the whole line away.
        0 => pages[from][at] = text.replacen("- ", &format!("- edit{place} "), 1),
        1 => pages[from][at] = text.replace("2026-01-28T", "2026-02-03T"),
        2 => pages[from][at] = text.replace("\"id\":\"", "\"id\":\"f"),
        3 => pages[from][at] = text.split(" <!--").next().unwrap().to_owned(),
        4 => drop(pages[from].remove(at)),
        // A copy or a move, to the part of the log that it came from.
        _ => {
            if what % 2 == 0 {
                pages[from].remove(at);
            }
            let (start, end) = match heading(&pages[to]) {
                heading if text.starts_with("- [") => (0, heading),
                heading => (heading + 1, pages[to].len()),
            };
            let start = start.min(end);
            pages[to].insert(start + place % (end - start + 1), text);
        }
    }
}

fn with_places(store: &Store) -> Vec<(Memory, i32, Place)> {
    let mut rows = store.rows().list(&Filter::default(), 10_000).unwrap();
    rows.sort_by(|a, b| a.memory.id.cmp(&b.memory.id));
    rows.into_iter().map(|row| (row.memory.clone(), row.memory.at.offset_seconds(), row.place)).collect()
}

fn rebuilt(pages: &[Vec<String>]) -> Vec<(Memory, i32, Place)> {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    write_pages(&store, pages);
    sync(&mut store);
    with_places(&store)
}

fn write_pages(store: &Store, pages: &[Vec<String>]) {
    for (path, lines) in LOGS.iter().zip(pages) {
        fs::write(store.layout().file(path), lines.join("\n")).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_people_copy_move_edit_and_delete_a_rebuild_comes_to_the_same(
        turns in proptest::collection::vec(
            (
                proptest::collection::vec((0usize..13, 0usize..4, 0usize..6, 0usize..4, 0usize..8), 1..5),
                Just(LOGS.to_vec()).prop_shuffle(),
            ),
            1..5,
        ),
    ) {
        let project = tempfile::tempdir().unwrap();
        let mut store = open(project.path());
        let mut pages = pages();
        write_pages(&store, &pages);
        sync(&mut store);
        for (deeds, order) in turns {
            deeds.into_iter().for_each(|deed| do_it(&mut pages, deed));
            write_pages(&store, &pages);
            for path in order {
                store.sync_log(path).unwrap();
            }
            let entries: usize = LOGS.iter().zip(&pages).map(|(path, lines)| {
                parse(&lines.join("\n"), LogKind::of(path).unwrap()).entries.len()
            }).sum();
            prop_assert_eq!(all(&store).len(), entries, "every entry is a memory");
            prop_assert_eq!(with_places(&store), rebuilt(&pages), "{:#?}", pages);
        }
    }
}

#[rstest]
#[case::into_an_earlier_log("2026-01-27.md")]
#[case::into_a_later_log("2026-02-03.md")]
#[case::into_long_term_memory(LONG_TERM_FILE)]
fn the_entry_in_the_log_of_its_day_keeps_the_id_whatever_is_copied_where(#[case] other: &str) {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let id = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    let text = fs::read_to_string(store.layout().file(LOG)).unwrap();
    let line = text.lines().last().unwrap();
    fs::write(store.layout().file(other), format!("## Decision\n\n{line}\n")).unwrap();
    fs::write(store.layout().file(LOG), format!("{text}{line}\n")).unwrap();
    sync(&mut store);
    let before = with_places(&store);
    assert_eq!(before.len(), 3);
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().place.path, LOG);
    drop(store);
    fs::remove_file(Layout::new(project.path()).memory_db()).unwrap();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(with_places(&store), before);
    store.distrust_rows().unwrap();
    assert_eq!(sync(&mut store), SyncReport::default());

    // Who is left has the id.
    let copy = id.of_copy(other);
    assert!(forget(&mut store, &copy).unwrap().is_some());
    sync(&mut store);
    assert!(!fs::read_to_string(store.layout().file(other)).unwrap().contains("redis"));
    assert_eq!(all(&store).len(), 2);
    fs::write(store.layout().file(other), format!("## Decision\n\n{line}\n")).unwrap();
    sync(&mut store);
    for _ in 0..2 {
        let here = store.rows().by_path(LOG).unwrap().remove(0);
        forget(&mut store, &here.memory.id).unwrap();
        sync(&mut store);
    }
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().place.path, other);
    assert_eq!(all(&store).len(), 1);
}

/// A store with a database of the Go version: id, session, type, content, metadata and time of each row.
fn go_store(project: &Path, rows: &[[&str; 6]]) -> Layout {
    let layout = Layout::new(project);
    layout.create().unwrap();
    let db = Connection::open(layout.memory_db()).unwrap();
    db.execute_batch(GO_TABLES).unwrap();
    for row in rows {
        let sql = "INSERT INTO memories VALUES (?1, ?2, '/p', ?3, ?4, 'h', ?5, NULL, ?6, ?6, 7)";
        db.execute(sql, row).unwrap();
    }
    layout
}

/// A time on this machine's clock, as the Go version kept it.
fn here(time: &str) -> String {
    let time = chrono::NaiveTime::parse_from_str(time, "%H:%M:%S").unwrap();
    Moment::from_local_unknown(at("10:00:00").date(), time).rfc3339()
}

#[test]
fn what_the_go_version_kept_goes_through_the_screen_and_long_texts_stay_whole() {
    let project = tempfile::tempdir().unwrap();
    let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
    let long = format!("{}end", "word ".repeat(40_000));
    let private = format!("<private>diary</private>stays Falcon {token}");
    let metadata = format!("{{\"note\":\"{token}\"}}");
    let time = here("10:00:00");
    let layout = go_store(
        project.path(),
        &[
            ["g1", "s1", "decision", &private, &metadata, &time],
            ["g2", "s1", "assistant_response", &long, "", &time],
            ["g3", "s1", "user_prompt", "<private>all of it</private>", "", &time],
        ],
    );
    fs::write(layout.settings(), "redact = [\"Falcon\"]\n").unwrap();
    let store = open(project.path());
    let text = fs::read_to_string(layout.file(LOG)).unwrap();
    assert!(!text.contains(&token) && !text.contains("diary") && !text.contains("Falcon"), "{}", &text[..500]);
    assert!(text.contains("- stays [redacted: custom] [redacted: github token]"));
    assert!(text.contains(&long));
    assert_eq!(all(&store).len(), 2);
    assert_eq!(store.rows().meta("redactions").unwrap().as_deref(), Some("3"));
    assert!(store.notes()[0].contains("; secrets taken out: 3"), "{:?}", store.notes());
}

#[test]
fn a_row_that_a_log_of_the_go_version_holds_gives_the_line_what_it_lacks() {
    let project = tempfile::tempdir().unwrap();
    let times = ["10:30:15", "10:31:00", "10:31:05", "10:32:10", "10:33:00"].map(here);
    let layout = go_store(
        project.path(),
        &[
            ["g1", "s1", "user_prompt", "Implement the watcher", "", &times[0]],
            ["g2", "s2", "user_prompt", "yes", "{\"n\":1}", &times[1]],
            ["g3", "s2", "user_prompt", "yes", "", &times[2]],
            ["g4", "s1", "decision", "Use Redis", "{\"context\":\"SPEC-001\"}", &times[3]],
            ["g5", "s1", "learning", "two\nlines", "", &times[4]],
        ],
    );
    let log = "# 2026-01-28\n\nA note.\n- [10:30:15] **User Prompt**: Implement the watcher\n\
               - [10:30:20] **Error**: only here\n- [10:31:00] **User Prompt**: yes\n\n## Decision\n\n- Use Redis\n\
               - only here too\n\n## Learning\n\n- two lines\n\n## Mine\n\n- x\n";
    fs::write(layout.file(LOG), log).unwrap();
    let store = open(project.path());
    assert!(store.notes()[0].contains("5 memories, 1 of them written into"), "{:?}", store.notes());
    let rows = store.rows().list(&Filter::default(), 100).unwrap();
    let mut found: Vec<_> = rows
        .iter()
        .map(|row| {
            let Memory { session_id, content, at, attributes, .. } = &row.memory;
            let metadata = serde_json::to_string(&attributes.metadata).unwrap();
            (at.time(), session_id.as_str(), content.as_str(), metadata, row.access_count)
        })
        .collect();
    found.sort();
    let row = |time: &str, session, content, metadata: &str, count| {
        (time.to_owned(), session, content, metadata.to_owned(), count)
    };
    assert_eq!(
        found,
        [
            row("00:00:00", "", "only here too", "{}", 0),
            row("10:30:15", "s1", "Implement the watcher", "{}", 7),
            row("10:30:20", "", "only here", "{}", 0),
            row("10:31:00", "s2", "yes", "{\"n\":1}", 7),
            row("10:31:05", "s2", "yes", "{}", 7),
            row("10:32:10", "s1", "Use Redis", "{\"context\":\"SPEC-001\"}", 7),
            row("10:33:00", "s1", "two\nlines", "{}", 7),
        ]
    );
    let decision = rows.iter().find(|row| row.memory.content == "Use Redis").unwrap();
    assert_eq!(decision.memory.id.as_str(), "g4");
    let text = fs::read_to_string(layout.file(LOG)).unwrap();
    for kept in ["# 2026-01-28\n\nA note.\n", "\n- [10:30:20] **Error**: only here\n", "\n\n## Mine\n\n- x\n"] {
        assert!(text.contains(kept), "{text}");
    }

    let before = all(&store);
    drop(store);
    fs::remove_file(layout.memory_db()).unwrap();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(all(&store), before, "Markdown carries it");
}

#[test]
fn an_upgrade_that_was_interrupted_writes_nothing_twice() {
    let project = tempfile::tempdir().unwrap();
    let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
    let (prompt, decision) = (format!("my token\n{token}"), format!("use {token}"));
    let rows: [[&str; 6]; 3] = [
        ["g1", "s1", "user_prompt", &prompt, "{\"a\":1}", "1769563815"],
        ["g2", "s1", "decision", &decision, "{\"a\":1}", "1769563816000"],
        ["g3", "", "decision", "undated", "", "some day"],
    ];
    let layout = go_store(project.path(), &rows);
    let before = all(&open(project.path()));
    let logs = || {
        let files = layout.markdown_files().unwrap();
        files
            .into_iter()
            .map(|path| (path.clone(), fs::read_to_string(layout.file(&path)).unwrap()))
            .collect::<Vec<_>>()
    };
    let written = logs();
    assert_eq!(written.len(), 2, "{written:?}");
    fs::remove_file(layout.memory_db()).unwrap();
    go_store(project.path(), &rows);
    let store = open(project.path());
    assert_eq!(logs(), written);
    assert_eq!(all(&store), before);
}

#[rstest]
#[case::seconds("1769563815")]
#[case::milliseconds("1769563815123")]
#[case::microseconds("1769563815123456")]
#[case::nanoseconds("1769563815123456789")]
#[case::with_a_fraction("1769563815.25")]
fn digits_in_a_text_are_a_time_of_the_go_version(#[case] time: &str) {
    let project = tempfile::tempdir().unwrap();
    go_store(project.path(), &[["g1", "s1", "decision", "Use Redis", "", time]]);
    let store = open(project.path());
    assert_eq!(all(&store)[0].at.unix(), 1_769_563_815);
    assert!(!store.notes()[0].contains("dated"), "{:?}", store.notes());
}

#[test]
fn rows_without_a_readable_date_take_that_of_their_log_or_are_counted() {
    let project = tempfile::tempdir().unwrap();
    let rows: [[&str; 6]; 2] =
        [["g1", "s1", "decision", "in a log", "", "some day"], ["g2", "s1", "decision", "nowhere", "", ""]];
    let layout = go_store(project.path(), &rows);
    fs::write(layout.file(LOG), "# 2026-01-28\n\n## Decision\n\n- [10:40:00] in a log\n").unwrap();
    let store = open(project.path());
    let found = store.rows().by_id(&MemoryId::parse("g1").unwrap()).unwrap().unwrap();
    assert_eq!(found.memory.at.local_second(), "2026-01-28T10:40:00");
    assert_eq!(all(&store).len(), 2);
    assert!(store.notes()[0].contains("; 1 had no readable date and are dated today"), "{:?}", store.notes());
}

const GO_TABLES: &str = "
    CREATE TABLE memories (id TEXT PRIMARY KEY, session_id TEXT, project_dir TEXT, type TEXT, content TEXT,
        content_hash TEXT, metadata TEXT, embedding BLOB, created_at, accessed_at, access_count INTEGER);
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, path TEXT, start_line INTEGER, end_line INTEGER, text TEXT, hash TEXT,
        heading TEXT, embedding BLOB);
    CREATE TABLE files (path TEXT PRIMARY KEY, hash TEXT, mtime INTEGER, size INTEGER, indexed_at TEXT);
    CREATE TABLE embedding_cache (content_hash TEXT, provider TEXT, model TEXT, embedding BLOB, dims INTEGER,
        created_at TEXT, PRIMARY KEY (content_hash, provider, model));";

#[test]
fn a_session_row_tells_what_happened_in_it() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    for (kind, time, content) in [
        (MemoryType::UserPrompt, "10:00:00", "Implement the watcher\nplease"),
        (MemoryType::ToolUsage, "10:00:05", "Files modified: src/a.rs, src/b.rs\nCommands: cargo test"),
        (MemoryType::ToolUsage, "10:00:09", "Files modified: src/b.rs"),
        (MemoryType::Error, "10:00:10", "Exit code 3"),
    ] {
        capture(&mut store, draft(kind, time, content)).unwrap();
    }
    let row: String = store
        .db
        .query_row(
            "SELECT concat_ws(' | ', title, started_at, duration, prompts, files, tools, errors) FROM sessions WHERE id = 's1'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(row, r#"Implement the watcher | 2026-01-28T01:00:00Z | 10 | 1 | ["src/a.rs","src/b.rs"] | 4 | 1"#);
}

/// What is said in the order it happened, and what comes late, gives the row that the memories alone give.
#[test]
fn a_session_row_is_the_same_however_it_came_about() {
    use MemoryType::{AssistantResponse, Error, SessionSummary, ToolUsage, UserPrompt};
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let row = |store: &Store| -> String {
        let sql = "SELECT concat_ws(' | ', id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary) FROM sessions";
        store.db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    for (kind, time, content) in [
        (AssistantResponse, "10:00:00", "Hello"),
        (UserPrompt, "10:00:01", "Implement the watcher"),
        (Error, "10:00:02", "Exit code 3"),
        (UserPrompt, "10:00:01", "At the same moment"),
        (ToolUsage, "10:00:05", "Files modified: src/a.rs"),
        (UserPrompt, "09:59:00", "Said before, told late"),
        (SessionSummary, "10:01:00", "All of it"),
        (UserPrompt, "10:02:00", "And on"),
        (AssistantResponse, "10:02:00", "Done"),
    ] {
        capture(&mut store, draft(kind, time, content)).unwrap();
        let added = row(&store);
        store.transact(|rows| rows.refresh_session("s1")).unwrap();
        assert_eq!(added, row(&store), "after {content}");
    }
}
