use std::fs;

use rstest::rstest;

use super::super::{CaptureOutcome, commit, commit_all};
use crate::files::database::LockTimeout;
use crate::intake::prepare::{Delivery, Destination, Draft, PreparedMemory, prepare};
use crate::model::memory::{MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;
use crate::store::forgotten;
use crate::store::{EntryState, MemoryFilter, MemoryRow, Store, StoreError};

fn prepared(kind: MemoryType, second: i64, content: &str, destination: Destination) -> PreparedMemory {
    let draft = Draft {
        destination,
        ..Draft::new(
            format!("s{}", second / 100),
            kind,
            content,
            Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap(),
        )
    };
    prepare(draft, &Sanitizer::default()).unwrap()
}

fn store(project: &tempfile::TempDir) -> Store {
    Store::open(project.path(), LockTimeout::Server).unwrap()
}

/// Returns the rows and logs of a store.
fn contents(store: &Store) -> (Vec<MemoryRow>, Vec<String>) {
    let mut rows = store.rows().list(&MemoryFilter::default(), 100).unwrap();
    rows.sort_by_key(|row| row.seq);
    rows.iter_mut().for_each(|row| row.entry = EntryState::Found);
    let logs = store.layout().markdown_files().unwrap();
    (rows, logs.iter().map(|path| fs::read_to_string(store.layout().store_path(path)).unwrap()).collect())
}

fn outcome_kind(captured: &CaptureOutcome) -> std::mem::Discriminant<CaptureOutcome> {
    std::mem::discriminant(captured)
}

fn id_of(captured: &CaptureOutcome) -> Option<MemoryId> {
    match captured {
        CaptureOutcome::Saved { id, .. } | CaptureOutcome::Waiting { id, .. } => Some(id.clone()),
        CaptureOutcome::Duplicate(row) => Some(row.memory.id.clone()),
        CaptureOutcome::Forgotten => None,
    }
}

const LOG: &str = "2026-01-28.md";
const L: MemoryType = MemoryType::Learning;
const P: MemoryType = MemoryType::UserPrompt;
const DAY: i64 = 86_400;

#[rstest]
#[case::of_one_section(&[(L, 0, "one"), (L, 1, "two"), (L, 2, "three\nin two lines")])]
#[case::said_twice(&[(L, 0, "one"), (L, 1, "two"), (L, 2, "one"), (P, 3, "hi"), (P, 4, "hi"), (L, 5, "three")])]
#[case::of_several_sections(&[(L, 0, "one"), (MemoryType::Decision, 1, "two"), (L, 2, "three"), (P, 3, "four")])]
#[case::of_several_sessions(&[(P, 0, "one"), (P, 150, "two"), (P, 151, "three"), (P, 250, "four")])]
#[case::of_several_days(&[(L, 0, "one"), (L, 1, "two"), (L, DAY, "three"), (L, DAY + 1, "four"), (L, 3, "five")])]
fn batch_is_stored_like_single_captures(#[case] said: &[(MemoryType, i64, &str)]) {
    let [one_by_one, together] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let memories: Vec<_> =
        said.iter().map(|(kind, at, text)| prepared(*kind, *at, text, Destination::DailyLog)).collect();
    let mut first = store(&one_by_one);
    let expected: Vec<_> = memories.iter().map(|memory| commit(&mut first, memory).unwrap()).collect();
    let mut second = store(&together);
    let outcomes = commit_all(&mut second, &memories);
    let ids =
        |captured: &[CaptureOutcome]| captured.iter().map(|one| (outcome_kind(one), id_of(one))).collect::<Vec<_>>();
    assert_eq!(ids(&outcomes.into_iter().map(Result::unwrap).collect::<Vec<_>>()), ids(&expected));
    assert_eq!(contents(&second), contents(&first));
    let sessions = |store: &Store| store.rows().sessions(None, None).unwrap();
    assert_eq!(sessions(&second), sessions(&first));
    assert_eq!(second.changed_logs().unwrap(), first.changed_logs().unwrap());
}

#[test]
fn concurrent_edit_stays_and_rows_match_the_log() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let memories: Vec<_> = (0..4).map(|n| prepared(L, n, &format!("fact {n}"), Destination::DailyLog)).collect();
    commit_all(&mut store, &memories[..2]);
    let path = store.layout().store_path(LOG);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "\nA person's line.\n").unwrap();
    let outcomes = commit_all(&mut store, &memories);
    let is_known = |outcome: &Result<CaptureOutcome, StoreError>| matches!(outcome, Ok(CaptureOutcome::Duplicate(_)));
    assert_eq!(outcomes.iter().map(is_known).collect::<Vec<_>>(), [true, true, false, false]);
    for path in store.changed_logs().unwrap() {
        store.sync_log(&path).unwrap();
    }
    let (rows, logs) = contents(&store);
    assert_eq!(rows.len(), 4);
    assert!(logs[0].contains("A person's line."));
    let mut locator = store.locator();
    for row in rows {
        let line = logs[0].lines().nth(locator.find_lines(&row).0 - 1).unwrap();
        assert!(line.contains(&row.memory.content), "{line}");
    }
}

#[test]
fn entry_left_by_a_crash_is_not_written_again() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let memories: Vec<_> = (0..4).map(|n| prepared(L, n, &format!("fact {n}"), Destination::DailyLog)).collect();
    commit_all(&mut store, &memories[..2]);
    let path = store.layout().store_path(LOG);
    let whole = {
        let elsewhere = tempfile::tempdir().unwrap();
        let mut other = Store::open(elsewhere.path(), LockTimeout::Server).unwrap();
        commit_all(&mut other, &memories[..3]);
        fs::read(other.layout().store_path(LOG)).unwrap()
    };
    fs::write(&path, &whole).unwrap();
    commit_all(&mut store, &memories[2..]).into_iter().for_each(|outcome| drop(outcome.unwrap()));
    let (rows, logs) = contents(&store);
    assert_eq!(rows.len(), 4);
    (0..4).for_each(|n| assert_eq!(logs[0].matches(&format!("fact {n}")).count(), 1, "{}", logs[0]));
}

#[test]
fn forgotten_memory_in_a_batch_stays_away() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said =
        |n: i64, delivery| PreparedMemory { delivery, ..prepared(L, n, &format!("fact {n}"), Destination::DailyLog) };
    commit_all(&mut store, &[said(0, Delivery::Live), said(1, Delivery::Live)]);
    forgotten::add_texts(store.layout(), ["fact 3"]).unwrap();
    let memories = [said(2, Delivery::Live), said(3, Delivery::Replay), said(4, Delivery::Replay)];
    let outcomes: Vec<_> = commit_all(&mut store, &memories).into_iter().map(Result::unwrap).collect();
    assert!(
        matches!(outcomes[..], [CaptureOutcome::Saved { .. }, CaptureOutcome::Forgotten, CaptureOutcome::Saved { .. }]),
        "{outcomes:?}"
    );
    assert_eq!(contents(&store).0.len(), 4);
}

#[test]
fn redactions_in_a_batch_are_counted() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = |n: i64| PreparedMemory { redactions: 2, ..prepared(L, n, &format!("fact {n}"), Destination::DailyLog) };
    commit_all(&mut store, &[said(0)]);
    commit_all(&mut store, &[said(1), said(2)]);
    assert_eq!(store.rows().meta("redactions").unwrap().as_deref(), Some("6"));
}
