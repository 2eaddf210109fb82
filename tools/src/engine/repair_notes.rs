//! Repairs since opening, shared by all engines on a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NOTES: usize = 32;

/// Repairs since opening: kept for the statistics and reported once.
#[derive(Debug, Clone, Default)]
pub(super) struct RepairNotes(Arc<Mutex<NoteList>>);

#[derive(Debug, Default)]
struct NoteList {
    notes: Vec<String>,
    /// How many of them were reported.
    reported: usize,
}

impl RepairNotes {
    pub(super) fn from_notes(notes: &[String]) -> Self {
        Self(Arc::new(Mutex::new(NoteList { notes: notes.to_vec(), reported: 0 })))
    }

    /// Adds a note. A repeated note moves to the end and is reported again; the oldest are dropped beyond the limit.
    pub(super) fn add(&self, note: String) {
        let mut notes = self.lock();
        let known = notes.notes.iter().position(|known| *known == note);
        if let Some(at) = known.or((notes.notes.len() >= NOTES).then_some(0)) {
            notes.notes.remove(at);
            notes.reported -= usize::from(at < notes.reported);
        }
        notes.notes.push(note);
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().notes.clone()
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut notes = self.lock();
        let known = notes.notes.len();
        let before = std::mem::replace(&mut notes.reported, known);
        notes.notes[before..].to_vec()
    }

    /// A panic in another thread leaves the list valid.
    fn lock(&self) -> MutexGuard<'_, NoteList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_repairs_keep_the_news_short() {
        let news = RepairNotes::from_notes(&["opened".to_owned()]);
        assert_eq!(news.take(), ["opened"]);
        for n in 0..1_000 {
            news.add(format!("repaired part {n}"));
            assert_eq!(news.take(), [format!("repaired part {n}")]);
            news.add("made again".to_owned());
            assert_eq!(news.take(), ["made again"], "a repeated note is reported again");
        }
        assert_eq!(news.all().len(), NOTES);
        assert_eq!(news.all().iter().filter(|note| *note == "made again").count(), 1);
    }
}
