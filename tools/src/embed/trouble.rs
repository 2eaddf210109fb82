//! What is wrong with who makes the vectors: told in full once, and in short for as long as it stays the same.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schema::causes::chain;

use super::EmbedError;

/// What is wrong, if anything is. Shared by all who search.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<Told>>);

#[derive(Debug)]
struct Told {
    message: String,
    /// Whether somebody who searched was told.
    is_told: bool,
}

impl Trouble {
    /// Notes what went wrong, and says whether that is news.
    pub fn met(&self, error: &EmbedError) -> bool {
        let message = chain(error);
        let mut told = self.told();
        let is_news = told.as_ref().is_none_or(|told| told.message != message);
        if is_news {
            *told = Some(Told { message, is_told: false });
        }
        is_news
    }

    /// It works again.
    pub fn is_over(&self) {
        *self.told() = None;
    }

    /// What is wrong, in full.
    pub fn message(&self) -> Option<String> {
        self.told().as_ref().map(|told| told.message.clone())
    }

    /// What is wrong, for somebody who searches: in full the first time.
    pub(super) fn tell(&self) -> Option<String> {
        let mut told = self.told();
        let told = told.as_mut()?;
        match std::mem::replace(&mut told.is_told, true) {
            false => Some(told.message.clone()),
            true => Some("embedding still fails; memory_stats says why".to_owned()),
        }
    }

    fn told(&self) -> MutexGuard<'_, Option<Told>> {
        // A message is whole whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_in_full_once_and_again_when_it_comes_back() {
        let trouble = Trouble::default();
        let fault = |text: &str| EmbedError::Unavailable(text.to_owned());
        assert!(trouble.met(&fault("no key")));
        assert_eq!(trouble.tell().as_deref(), Some("no key"));
        assert!(!trouble.met(&fault("no key")));
        assert_eq!(trouble.tell().as_deref(), Some("embedding still fails; memory_stats says why"));
        assert_eq!(trouble.message().as_deref(), Some("no key"));
        assert!(trouble.met(&fault("no model")));
        assert_eq!(trouble.tell().as_deref(), Some("no model"));
        trouble.is_over();
        assert_eq!((trouble.tell(), trouble.message()), (None, None));
        assert!(trouble.met(&fault("no model")));
        assert_eq!(trouble.tell().as_deref(), Some("no model"));
    }
}
