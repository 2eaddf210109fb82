//! Writes notes into the logs of their days, in the same way as memories.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::log_writer::{LogWriter, WriteTarget};
use crate::files::layout::Layout;
use crate::intake::spool;
use crate::log::LogKind;
use crate::model::state_note::StateNote;
use crate::store::{Rows, Store, StoreError};

/// How many notes were saved, and how many wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoteCounts {
    pub saved: usize,
    /// In the spool, because another program is writing their log.
    pub waiting: usize,
}

/// Appends notes to the logs of their days, or spools them while another program is writing these. Idempotent.
pub fn append_notes(store: &mut Store, notes: &[StateNote]) -> Result<NoteCounts, StoreError> {
    store.require_writable()?;
    let mut by_day: BTreeMap<_, Vec<&StateNote>> = BTreeMap::new();
    for note in notes {
        by_day.entry(note.at.date()).or_default().push(note);
    }
    let mut counts = NoteCounts::default();
    for (day, notes) in by_day {
        let _lock = store.lock()?;
        let layout = store.layout().clone();
        let more = store.with_log_transaction(|rows| append_to_day(rows, &layout, day, &notes))?;
        counts = NoteCounts { saved: counts.saved + more.saved, waiting: counts.waiting + more.waiting };
    }
    Ok(counts)
}

/// Appends notes to the log of a day, or spools them while another program is writing it. The caller holds the store lock and a transaction.
pub(super) fn append_to_day(
    rows: Rows<'_>,
    layout: &Layout,
    day: NaiveDate,
    notes: &[&StateNote],
) -> Result<NoteCounts, StoreError> {
    let WriteTarget::Write(mut log) = LogWriter::choose_file(rows, layout, LogKind::Daily(day))? else {
        notes.iter().try_for_each(|note| spool::write_note(layout, note))?;
        return Ok(NoteCounts { saved: 0, waiting: notes.len() });
    };
    let mut saved = 0;
    for note in notes {
        saved += usize::from(log.add_note(rows, (*note).clone())?);
    }
    log.write(rows)?;
    Ok(NoteCounts { saved, waiting: 0 })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::files::database::LockTimeout;
    use crate::intake::capture::capture;
    use crate::intake::drain::drain;
    use crate::intake::prepare::Draft;
    use crate::model::memory::{MemoryId, MemoryType};
    use crate::model::moment::Moment;
    use crate::model::state_note::{MemoryState, Phase, Settlement, StateChange};
    use crate::privacy::sanitizer::Sanitizer;

    const LOG: &str = "2026-01-28.md";

    fn at(second: i64) -> Moment {
        Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap()
    }

    fn failure(store: &mut Store) -> MemoryId {
        let draft = Draft::new("s", MemoryType::Error, "Bash failed: make\nno rule", at(0));
        capture(store, draft, &Sanitizer::default()).unwrap();
        store.rows().inserted_after(0, 10).unwrap().swap_remove(0).memory.id
    }

    fn resolved(about: &MemoryId, second: i64) -> StateNote {
        let change = StateChange::Resolved(Settlement::by("Makefile"));
        StateNote { about: about.clone(), at: at(second), change }
    }

    fn state(store: &Store, id: &MemoryId) -> MemoryState {
        store.rows().by_id(id).unwrap().unwrap().state
    }

    #[test]
    fn note_changes_state_once_directly_or_from_its_log() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let id = failure(&mut store);
        let notes = [StateNote { change: StateChange::Repeated(1), ..resolved(&id, 5) }, resolved(&id, 9)];
        for saved in [2, 0] {
            assert_eq!(append_notes(&mut store, &notes).unwrap(), NoteCounts { saved, waiting: 0 });
        }
        let expected = MemoryState {
            phase: Phase::Resolved,
            settled_by: Some("Makefile".to_owned()),
            settled_at: Some(at(9)),
            repeats: 1,
            repeated_at: Some(at(5)),
        };
        assert_eq!(state(&store, &id), expected);
        assert!(store.changed_logs().unwrap().is_empty(), "the log is not read again");
        let text = std::fs::read_to_string(store.layout().store_path(LOG)).unwrap();
        insta::assert_snapshot!(text, @r#"
        # 2026-01-28

        <!-- session s +00:00 -->
        - [01:30:00] **Error**: Bash failed: make
          no rule
        <!-- note {"about":"291177cc416671de25f7694feec801de","at":"2026-01-28T01:30:05+00:00","repeated":true} -->
        <!-- note {"about":"291177cc416671de25f7694feec801de","at":"2026-01-28T01:30:09+00:00","resolved":"Makefile"} -->
        "#);
        let other = tempfile::tempdir().unwrap();
        let mut other = Store::open(other.path(), LockTimeout::Server).unwrap();
        std::fs::write(other.layout().store_path(LOG), &text).unwrap();
        other.sync_log(LOG).unwrap();
        assert_eq!(state(&other, &id), expected);
    }

    #[rstest]
    #[case::directly(false)]
    #[case::through_the_spool(true)]
    fn notes_of_one_second_count_in_the_order_of_the_log(#[case] is_busy: bool) {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let id = failure(&mut store);
        let undone = StateNote { change: StateChange::Resolved(Settlement::Undone), ..resolved(&id, 9) };
        let log = store.layout().store_path(LOG);
        let whole = std::fs::read(&log).unwrap();
        if is_busy {
            std::fs::write(&log, b"").unwrap();
        }
        for change in [&resolved(&id, 9), &undone] {
            append_notes(&mut store, std::slice::from_ref(change)).unwrap();
        }
        if is_busy {
            std::fs::write(&log, whole).unwrap();
            assert_eq!(drain(&mut store, 9).unwrap(), 2);
        }
        assert_eq!(state(&store, &id).phase, Phase::Open);
        let text = std::fs::read_to_string(&log).unwrap();
        let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("<!-- note")).collect();
        let swapped = text.replace(&notes.join("\n"), &[notes[1], notes[0]].join("\n"));
        // A new store, and one that knows the other order.
        let other = tempfile::tempdir().unwrap();
        let mut other = Store::open(other.path(), LockTimeout::Server).unwrap();
        for (text, phase) in [(&text, Phase::Open), (&swapped, Phase::Resolved), (&text, Phase::Open)] {
            std::fs::write(other.layout().store_path(LOG), text).unwrap();
            other.sync_log(LOG).unwrap();
            assert_eq!(state(&other, &id).phase, phase);
        }
    }

    #[test]
    fn state_follows_its_note_and_waits_for_its_memory() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let id = failure(&mut store);
        // A day later, in another log.
        let later = "2026-01-29.md";
        append_notes(&mut store, &[resolved(&id, 86_400)]).unwrap();
        let text = |name: &str| std::fs::read_to_string(store.layout().store_path(name)).unwrap();
        let other = tempfile::tempdir().unwrap();
        let mut other = Store::open(other.path(), LockTimeout::Server).unwrap();
        let mut sync = |name: &str, text: &str| {
            std::fs::write(other.layout().store_path(name), text).unwrap();
            other.sync_log(name).unwrap();
            other.rows().by_id(&id).unwrap().map(|row| row.state)
        };
        assert_eq!(sync(later, &text(later)), None);
        assert_eq!(sync(LOG, &text(LOG)).unwrap().phase, Phase::Resolved);
        // Same length: a shorter file counts as being written.
        assert_eq!(sync(later, &text(later).replace("<!-- note", "<!-- none")), Some(MemoryState::default()));
    }

    #[test]
    fn note_for_a_log_being_written_is_spooled() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let id = failure(&mut store);
        let (log, spool) = (store.layout().store_path(LOG), store.layout().clone());
        let whole = std::fs::read(&log).unwrap();
        // An editor truncates a file before it writes.
        std::fs::write(&log, b"").unwrap();
        assert_eq!(append_notes(&mut store, &[resolved(&id, 9)]).unwrap(), NoteCounts { saved: 0, waiting: 1 });
        assert_eq!((drain(&mut store, 9).unwrap(), spool::count(&spool)), (0, 1));
        std::fs::write(&log, whole).unwrap();
        assert_eq!((drain(&mut store, 9).unwrap(), spool::count(&spool)), (1, 0));
        assert_eq!(state(&store, &id).phase, Phase::Resolved);
    }
}
