//! Counts right answers of a server that returns only text.

use std::time::{Duration, Instant};

use super::server::MemoryServer;
use crate::evaluation::{EvalGroup, EvalQuestion, EvalSet};
use crate::peer::{DocumentMarks, PeerError};

/// Documents of an answer in which newer and older statements are compared.
const COMPARED: usize = 10;

/// Counts of the answers to a set of questions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetrievalCounts {
    /// Stores that were measured in time, and all.
    pub stores: (usize, usize),
    pub questions: usize,
    /// Answers that begin with a right document.
    pub right_first: usize,
    /// Answers with a right document among the first five.
    pub right_in_five: usize,
    /// Answers without any document of the store.
    pub empty: usize,
    /// Answers in which the newest rule comes before those that it amends, and all questions about amended rules.
    pub newest_first: (usize, usize),
}

impl RetrievalCounts {
    /// Counts an answer whose documents are shown in this order.
    fn count(&mut self, question: &EvalQuestion, shown: &[&[String]]) {
        let first_of = |ids: &[String]| shown.iter().position(|hit| hit.iter().any(|id| ids.contains(id)));
        let right = first_of(&question.relevant);
        self.questions += 1;
        self.right_first += usize::from(right == Some(0));
        self.right_in_five += usize::from(right.is_some_and(|place| place < 5));
        self.empty += usize::from(shown.is_empty());
        if !question.newer.is_empty() && !question.older.is_empty() {
            let newer = first_of(&question.newer).filter(|place| *place < COMPARED);
            let is_first = newer.is_some_and(|newer| first_of(&question.older).is_none_or(|older| newer < older));
            self.newest_first.0 += usize::from(is_first);
            self.newest_first.1 += 1;
        }
    }
}

/// Asks the questions of a set, each in the store of its group. Stops before the next store when the limit is over.
pub fn measure_retrieval(server: &MemoryServer, set: &EvalSet, limit: Duration) -> Result<RetrievalCounts, PeerError> {
    let started = Instant::now();
    let mut counts = RetrievalCounts { stores: (0, set.groups.len()), ..RetrievalCounts::default() };
    for group in &set.groups {
        match ask_all(server, set, group, limit.saturating_sub(started.elapsed()), &mut counts) {
            Err(PeerError::TooSlow { .. }) => break,
            asked => asked?,
        }
        counts.stores.0 += 1;
    }
    Ok(counts)
}

fn ask_all(
    server: &MemoryServer,
    set: &EvalSet,
    group: &EvalGroup,
    limit: Duration,
    counts: &mut RetrievalCounts,
) -> Result<(), PeerError> {
    let marks = DocumentMarks::new(group.documents.iter().map(|document| (&*document.id, &*document.text)));
    let mut open = server.open_filled(group, set.shape, limit)?;
    let mut of_group = *counts;
    for question in group.questions.iter().filter(|question| !question.relevant.is_empty()) {
        let answer = open.ask(&question.text)?;
        of_group.count(question, &marks.shown_in(&answer));
    }
    *counts = of_group;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(relevant: &[&str], newer: &[&str], older: &[&str]) -> EvalQuestion {
        let ids = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        EvalQuestion {
            text: String::new(),
            relevant: ids(relevant),
            class: String::new(),
            also: Vec::new(),
            newer: ids(newer),
            older: ids(older),
        }
    }

    #[test]
    fn answers_are_counted_by_their_order() {
        let ids = ["a", "b", "c", "d", "e", "f"].map(|id| vec![id.to_owned()]);
        let all: Vec<&[String]> = ids.iter().map(Vec::as_slice).collect();
        let mut counts = RetrievalCounts::default();
        counts.count(&question(&["a"], &[], &[]), &all);
        counts.count(&question(&["e", "x"], &["e"], &["f"]), &all);
        counts.count(&question(&["f"], &["f"], &["a"]), &all);
        counts.count(&question(&["f"], &["f"], &["x"]), &[]);
        let expected = RetrievalCounts {
            stores: (0, 0),
            questions: 4,
            right_first: 1,
            right_in_five: 2,
            empty: 1,
            newest_first: (1, 3),
        };
        assert_eq!(counts, expected);
    }
}
