//! Repairs since opening, shared by all engines on a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAX_MESSAGES: usize = 32;

/// Repairs since opening: kept for the statistics and reported once.
#[derive(Debug, Clone, Default)]
pub(super) struct RepairMessages(Arc<Mutex<MessageList>>);

#[derive(Debug, Default)]
struct MessageList {
    messages: Vec<String>,
    /// How many of them were reported.
    reported: usize,
}

impl RepairMessages {
    pub(super) fn from_messages(messages: &[String]) -> Self {
        Self(Arc::new(Mutex::new(MessageList { messages: messages.to_vec(), reported: 0 })))
    }

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

    pub(super) fn all(&self) -> Vec<String> {
        self.lock().messages.clone()
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut list = self.lock();
        let known = list.messages.len();
        let before = std::mem::replace(&mut list.reported, known);
        list.messages[before..].to_vec()
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
    fn repeated_repairs_keep_the_messages_short() {
        let messages = RepairMessages::from_messages(&["opened".to_owned()]);
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
