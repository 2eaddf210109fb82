//! Repairs since opening, and why the last refresh failed. Shared by all engines on a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAX_MESSAGES: usize = 32;

/// Repairs since opening, and the current problem: kept for the statistics and reported once.
#[derive(Debug, Clone, Default)]
pub(super) struct RepairMessages(Arc<Mutex<MessageList>>);

#[derive(Debug, Default)]
struct MessageList {
    messages: Vec<String>,
    /// How many of them were reported.
    reported: usize,
    /// Why files and rows are not in sync.
    problem: Option<String>,
    is_problem_reported: bool,
}

impl RepairMessages {
    /// Adds a message. A repeated message moves to the end and is reported again; the oldest are dropped beyond the limit.
    pub(super) fn add(&self, message: String) {
        let mut list = self.lock();
        let known = list.messages.iter().position(|known| *known == message);
        if let Some(at) = known.or((list.messages.len() >= MAX_MESSAGES).then_some(0)) {
            list.messages.remove(at);
            list.reported -= usize::from(at < list.reported);
        }
        list.messages.push(message);
    }

    /// Sets the outcome of a refresh. A problem is reported after each refresh that failed because of it.
    pub(super) fn set_problem(&self, problem: Option<String>) {
        let mut list = self.lock();
        (list.problem, list.is_problem_reported) = (problem, false);
    }

    pub(super) fn all(&self) -> Vec<String> {
        let list = self.lock();
        list.messages.iter().chain(&list.problem).cloned().collect()
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut list = self.lock();
        let known = list.messages.len();
        let before = std::mem::replace(&mut list.reported, known);
        let problem = list.problem.clone().filter(|_| !list.is_problem_reported);
        list.is_problem_reported = true;
        list.messages[before..].iter().cloned().chain(problem).collect()
    }

    /// A panic in another thread leaves the list valid.
    fn lock(&self) -> MutexGuard<'_, MessageList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_is_reported_until_a_refresh_succeeds() {
        let messages = RepairMessages::default();
        messages.add("opened".to_owned());
        let problem = "the disk is full";
        messages.set_problem(Some(problem.to_owned()));
        assert_eq!((messages.take(), messages.take()), (vec!["opened".to_owned(), problem.to_owned()], vec![]));
        messages.set_problem(Some(problem.to_owned()));
        assert_eq!(
            (messages.take(), messages.all()),
            (vec![problem.to_owned()], vec!["opened".to_owned(), problem.to_owned()])
        );
        messages.set_problem(None);
        assert_eq!((messages.take(), messages.all()), (vec![], vec!["opened".to_owned()]));
    }

    #[test]
    fn repeated_repairs_keep_the_messages_short() {
        let messages = RepairMessages::default();
        messages.add("opened".to_owned());
        assert_eq!(messages.take(), ["opened"]);
        for n in 0..1_000 {
            messages.add(format!("repaired part {n}"));
            assert_eq!(messages.take(), [format!("repaired part {n}")]);
            messages.add("made again".to_owned());
            assert_eq!(messages.take(), ["made again"], "a repeated message is reported again");
        }
        assert_eq!(messages.all().len(), MAX_MESSAGES);
        assert_eq!(messages.all().iter().filter(|message| *message == "made again").count(), 1);
    }
}
