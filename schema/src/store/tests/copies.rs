//! Entries that people copy, move, edit and delete.

use super::*;

const LOGS: [&str; 4] = ["2026-01-27.md", LOG, "2026-02-03.md", LONG_TERM_FILE];

/// A person's edit of a line: its kind, the log and the line it takes, and the log and the place it goes to.
type UserEdit = (usize, usize, usize, usize, usize);

/// Three logs and long-term memory before any edit: a prompt and three decisions each.
fn sample_logs() -> Vec<Vec<String>> {
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
        |path: &&str| fs::read_to_string(store.layout().store_path(path)).unwrap().lines().map(str::to_owned).collect();
    LOGS.iter().map(read).collect()
}

fn apply_edit(pages: &mut [Vec<String>], (what, from, line, to, place): UserEdit) {
    let lines: Vec<usize> = (0..pages[from].len()).filter(|at| pages[from][*at].starts_with("- ")).collect();
    let Some(&at) = lines.get(line % lines.len().max(1)) else { return };
    let text = pages[from][at].clone();
    let heading = |page: &[String]| page.iter().position(|line| line.starts_with("## ")).unwrap_or(page.len());
    match what {
        // Edits the text, the day or the id, removes the comment, or deletes the line.
        0 => pages[from][at] = text.replacen("- ", &format!("- edit{place} "), 1),
        1 => pages[from][at] = text.replace("2026-01-28T", "2026-02-03T"),
        2 => pages[from][at] = text.replace("\"id\":\"", "\"id\":\"f"),
        3 => pages[from][at] = text.split(" <!--").next().unwrap().to_owned(),
        4 => drop(pages[from].remove(at)),
        // Copies or moves the line to the same part of another log.
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

fn with_lines(store: &Store) -> Vec<(Memory, i32, String, (usize, usize))> {
    let mut rows = store.rows().list(&MemoryFilter::default(), 10_000).unwrap();
    rows.sort_by(|a, b| a.memory.id.cmp(&b.memory.id));
    let mut locator = store.locator();
    let with_lines = |row: MemoryRow| {
        (row.memory.clone(), row.memory.at.offset_seconds(), row.path.clone(), locator.find_lines(&row))
    };
    rows.into_iter().map(with_lines).collect()
}

fn rebuilt(pages: &[Vec<String>]) -> Vec<(Memory, i32, String, (usize, usize))> {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    write_pages(&store, pages);
    sync(&mut store);
    with_lines(&store)
}

fn write_pages(store: &Store, pages: &[Vec<String>]) {
    for (path, lines) in LOGS.iter().zip(pages) {
        save_aged(&store.layout().store_path(path), lines.join("\n"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rebuild_after_any_edits_gives_the_same_rows(
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
        let mut pages = sample_logs();
        write_pages(&store, &pages);
        sync(&mut store);
        for (deeds, order) in turns {
            deeds.into_iter().for_each(|deed| apply_edit(&mut pages, deed));
            write_pages(&store, &pages);
            for path in order {
                store.sync_log(path).unwrap();
            }
            let entries: usize = LOGS.iter().zip(&pages).map(|(path, lines)| {
                parse(&lines.join("\n"), LogKind::from_path(path).unwrap()).entries.len()
            }).sum();
            prop_assert_eq!(all_memories(&store).len(), entries, "every entry is a memory");
            prop_assert_eq!(with_lines(&store), rebuilt(&pages), "{:#?}", pages);
        }
    }
}

#[rstest]
#[case::into_an_earlier_log("2026-01-27.md")]
#[case::into_a_later_log("2026-02-03.md")]
#[case::into_long_term_memory(LONG_TERM_FILE)]
fn entry_in_the_log_of_its_day_keeps_the_id(#[case] other: &str) {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let id = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    let text = fs::read_to_string(store.layout().store_path(LOG)).unwrap();
    let line = text.lines().last().unwrap();
    save_aged(&store.layout().store_path(other), format!("## Decision\n\n{line}\n"));
    save_aged(&store.layout().store_path(LOG), format!("{text}{line}\n"));
    sync(&mut store);
    let before = with_lines(&store);
    assert_eq!(before.len(), 3);
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().path, LOG);
    drop(store);
    fs::remove_file(Layout::new(project.path()).memory_db()).unwrap();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(with_lines(&store), before);
    assert_eq!(sync_all(&mut store), SyncReport::default());

    // The remaining one gets the id.
    let copy = id.for_copy(other);
    assert!(forget(&mut store, &copy));
    sync(&mut store);
    assert!(!fs::read_to_string(store.layout().store_path(other)).is_ok_and(|text| text.contains("redis")));
    assert_eq!(all_memories(&store).len(), 2);
    // A forgotten copy that comes back is skipped until its hash is gone.
    save_aged(&store.layout().store_path(other), format!("## Decision\n\n{line}\n"));
    sync(&mut store);
    assert_eq!(all_memories(&store).len(), 2);
    fs::remove_file(store.layout().forgotten_file()).unwrap();
    sync_all(&mut store);
    for _ in 0..2 {
        let here = store.rows().by_path(LOG).unwrap().remove(0);
        forget(&mut store, &here.memory.id);
        sync(&mut store);
    }
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().path, other);
    assert_eq!(all_memories(&store).len(), 1);
}
