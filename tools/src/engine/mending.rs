//! What is done when a database fails in the middle of something: it is done once more with what took its place, or with what is made
//! anew from Markdown.

use super::Engine;
use crate::error::ToolError;
use crate::index::Index;

impl Engine {
    /// Does something; when a database turns out to be damaged, makes that anew from Markdown and does it once more.
    pub(super) fn mending<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let outcome = match work(self) {
            // What was read while another index took the place of this one may be neither, and says nothing about either.
            Err(ToolError::Damaged(_) | ToolError::Unavailable(_)) if self.index.is_replaced_by_now() => {
                self.index.follow(&self.store)?;
                work(self)
            }
            outcome => outcome,
        };
        match outcome {
            Err(ToolError::Damaged(_)) => {
                self.mend()?;
                work(self)
            }
            outcome => outcome,
        }
    }

    /// What is not found may be hidden by a damaged page: SQLite does not notice each of them by itself.
    pub(super) fn doubting<T>(&self, outcome: Result<T, ToolError>) -> Result<T, ToolError> {
        if let Err(ToolError::NotFound(_)) = outcome {
            self.require_sound()?;
        }
        outcome
    }

    pub(super) fn require_sound(&self) -> Result<(), ToolError> {
        let damaged = [(self.store.is_sound(), "memory.db"), (self.index.is_sound(), "index.db")];
        damaged
            .iter()
            .find(|(is_sound, _)| !is_sound)
            .map_or(Ok(()), |(_, name)| Err(ToolError::Damaged(format!("{name} is damaged"))))
    }

    fn mend(&mut self) -> Result<(), ToolError> {
        let (rows, index) = (self.store.is_sound(), self.index.is_sound());
        // Damage that no look at the pages finds may be in either.
        let hidden = rows && index;
        if !rows || hidden {
            let known = self.store.notes().len();
            self.store.begin_anew()?;
            self.store.notes()[known..].iter().for_each(|note| self.news.add(note.clone()));
        }
        if !self.is_writable() {
            // Nor is the index changed then that others have over it.
            self.index = Index::in_memory(&self.store)?;
        } else if !index || hidden {
            self.index.begin_anew()?;
            self.news.add("index.db was damaged and has been made again".to_owned());
        }
        self.take_in(&mut |_| {}, &|| true, &|| true).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use schema::settings::{Provider, Settings};
    use schema::tool::ReindexInput;

    use super::*;

    #[test]
    fn what_failed_while_another_index_took_the_place_is_done_once_more_with_that() {
        let project = tempfile::tempdir().unwrap();
        let settings = Settings { embedding_provider: Provider::None, ..Settings::default() };
        let open = || Engine::open_with(project.path(), None, &settings).unwrap();
        let mut engine = open();
        for fault in [ToolError::Damaged, ToolError::Unavailable] {
            let mut attempts = 0;
            let before = format!("{:?}", engine.news);
            let is_current = engine.mending(|engine| {
                attempts += 1;
                if attempts > 1 {
                    return Ok(engine.is_current());
                }
                let full = ReindexInput { full: true, ..ReindexInput::default() };
                open().reindex(&full, &mut |_| {}, &|| true).unwrap();
                Err(fault("half of it was read from another one".to_owned()))
            });
            assert_eq!((is_current.unwrap(), attempts), (true, 2));
            assert_eq!(format!("{:?}", engine.news), before, "nothing was mended");
        }
        // Where none did it is told.
        let mut attempts = 0;
        let failed = engine.mending(|_| {
            attempts += 1;
            Err::<(), _>(ToolError::Unavailable("the disk is full".to_owned()))
        });
        assert!(matches!(failed, Err(ToolError::Unavailable(_))), "{failed:?}");
        assert_eq!(attempts, 1);
    }
}
