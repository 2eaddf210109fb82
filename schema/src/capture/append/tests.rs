use std::fs;

use rstest::rstest;

use super::super::{Captured, Delivery, Destination, Draft, Prepared, commit, commit_all, prepare};
use crate::database::Patience;
use crate::forgotten;
use crate::memory::{Attributes, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;
use crate::store::{Filter, Row, Store, StoreError};

fn prepared(kind: MemoryType, second: i64, content: &str, destination: Destination) -> Prepared {
    let draft = Draft {
        session_id: format!("s{}", second / 100),
        kind,
        content: content.into(),
        at: Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap(),
        attributes: Attributes::default(),
        destination,
    };
    prepare(draft, &Screen::default()).unwrap()
}

fn store(project: &tempfile::TempDir) -> Store {
    Store::open(project.path(), Patience::Server).unwrap()
}

/// What a store holds, in its rows and its logs.
fn held(store: &Store) -> (Vec<Row>, Vec<String>) {
    let mut rows = store.rows().list(&Filter::default(), 100).unwrap();
    rows.sort_by_key(|row| row.seq);
    rows.iter_mut().for_each(|row| row.written_at = None);
    let logs = store.layout().markdown_files().unwrap();
    (rows, logs.iter().map(|path| fs::read_to_string(store.layout().file(path)).unwrap()).collect())
}

fn kind_of(captured: &Captured) -> std::mem::Discriminant<Captured> {
    std::mem::discriminant(captured)
}

fn id_of(captured: &Captured) -> Option<MemoryId> {
    match captured {
        Captured::Saved { id, .. } | Captured::Waiting { id, .. } => Some(id.clone()),
        Captured::Duplicate(row) => Some(row.memory.id.clone()),
        Captured::Forgotten => None,
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
fn what_is_kept_together_is_kept_as_one_after_the_other(#[case] said: &[(MemoryType, i64, &str)]) {
    let [one_by_one, together] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let memories: Vec<_> =
        said.iter().map(|(kind, at, text)| prepared(*kind, *at, text, Destination::DailyLog)).collect();
    let mut first = store(&one_by_one);
    let expected: Vec<_> = memories.iter().map(|memory| commit(&mut first, memory).unwrap()).collect();
    let mut second = store(&together);
    let outcomes = commit_all(&mut second, &memories);
    let ids = |captured: &[Captured]| captured.iter().map(|one| (kind_of(one), id_of(one))).collect::<Vec<_>>();
    assert_eq!(ids(&outcomes.into_iter().map(Result::unwrap).collect::<Vec<_>>()), ids(&expected));
    assert_eq!(held(&second), held(&first));
    let sessions = |store: &Store| store.rows().sessions(None, None).unwrap();
    assert_eq!(sessions(&second), sessions(&first));
    assert_eq!(second.changed_logs().unwrap(), first.changed_logs().unwrap());
}

#[test]
fn what_somebody_wrote_in_between_stays_and_rows_and_log_agree() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let memories: Vec<_> = (0..4).map(|n| prepared(L, n, &format!("fact {n}"), Destination::DailyLog)).collect();
    commit_all(&mut store, &memories[..2]);
    let path = store.layout().file(LOG);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "\nA person's line.\n").unwrap();
    let outcomes = commit_all(&mut store, &memories);
    let is_known = |outcome: &Result<Captured, StoreError>| matches!(outcome, Ok(Captured::Duplicate(_)));
    assert_eq!(outcomes.iter().map(is_known).collect::<Vec<_>>(), [true, true, false, false]);
    for path in store.changed_logs().unwrap() {
        store.sync_log(&path).unwrap();
    }
    let (rows, logs) = held(&store);
    assert_eq!(rows.len(), 4);
    assert!(logs[0].contains("A person's line."));
    let mut locator = store.locator();
    for row in rows {
        let line = logs[0].lines().nth(locator.lines(&row).0 - 1).unwrap();
        assert!(line.contains(&row.memory.content), "{line}");
    }
}

#[test]
fn what_a_crash_left_in_the_log_without_its_row_is_not_written_again() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let memories: Vec<_> = (0..4).map(|n| prepared(L, n, &format!("fact {n}"), Destination::DailyLog)).collect();
    commit_all(&mut store, &memories[..2]);
    let path = store.layout().file(LOG);
    let whole = {
        let elsewhere = tempfile::tempdir().unwrap();
        let mut other = Store::open(elsewhere.path(), Patience::Server).unwrap();
        commit_all(&mut other, &memories[..3]);
        fs::read(other.layout().file(LOG)).unwrap()
    };
    fs::write(&path, &whole).unwrap();
    commit_all(&mut store, &memories[2..]).into_iter().for_each(|outcome| drop(outcome.unwrap()));
    let (rows, logs) = held(&store);
    assert_eq!(rows.len(), 4);
    (0..4).for_each(|n| assert_eq!(logs[0].matches(&format!("fact {n}")).count(), 1, "{}", logs[0]));
}

#[test]
fn what_was_forgotten_stays_away_when_it_waited_among_others() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = |n: i64, delivery| Prepared { delivery, ..prepared(L, n, &format!("fact {n}"), Destination::DailyLog) };
    commit_all(&mut store, &[said(0, Delivery::Live), said(1, Delivery::Live)]);
    forgotten::add(store.layout(), ["fact 3"]).unwrap();
    let memories = [said(2, Delivery::Live), said(3, Delivery::Replay), said(4, Delivery::Replay)];
    let outcomes: Vec<_> = commit_all(&mut store, &memories).into_iter().map(Result::unwrap).collect();
    assert!(
        matches!(outcomes[..], [Captured::Saved { .. }, Captured::Forgotten, Captured::Saved { .. }]),
        "{outcomes:?}"
    );
    assert_eq!(held(&store).0.len(), 4);
}

#[test]
fn secrets_that_were_taken_out_of_what_is_kept_together_are_counted() {
    let project = tempfile::tempdir().unwrap();
    let mut store = store(&project);
    let said = |n: i64| Prepared { redactions: 2, ..prepared(L, n, &format!("fact {n}"), Destination::DailyLog) };
    commit_all(&mut store, &[said(0)]);
    commit_all(&mut store, &[said(1), said(2)]);
    assert_eq!(store.rows().meta("redactions").unwrap().as_deref(), Some("6"));
}
