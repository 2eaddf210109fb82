//! Progress and cancellation of work that may take long.

use std::fmt;

use crate::error::ToolError;

/// Progress of indexing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexProgress {
    /// Finished files, then passages that have a vector.
    pub done: usize,
    /// All files; while vectors are made, plus the passages that wait for one.
    pub total: usize,
    /// The last finished file, relative to the project, or what is being counted.
    pub path: String,
}

/// The path of [`IndexProgress`] while memories are counted.
pub(crate) const MEMORIES: &str = "memories";

/// Receives the progress of long work, and stops it. The default receives nothing and never stops.
pub struct Control<'a> {
    progress: Box<dyn FnMut(IndexProgress) + 'a>,
    cancelled: Box<dyn Fn() -> bool + 'a>,
    yields: Box<dyn Fn() -> bool + 'a>,
}

impl Default for Control<'_> {
    fn default() -> Self {
        Self { progress: Box::new(|_| {}), cancelled: Box::new(|| false), yields: Box::new(|| false) }
    }
}

impl<'a> Control<'a> {
    pub fn with_progress(self, progress: impl FnMut(IndexProgress) + 'a) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// Stops the work also if `cancelled` returns true.
    pub fn cancelled_if(self, cancelled: impl Fn() -> bool + 'a) -> Self {
        let earlier = self.cancelled;
        Self { cancelled: Box::new(move || earlier() || cancelled()), ..self }
    }

    /// Does not wait for another program if `yields` returns true.
    pub fn yielding_if(self, yields: impl Fn() -> bool + 'a) -> Self {
        Self { yields: Box::new(yields), ..self }
    }

    /// The same without progress, for a part of the work.
    pub(crate) fn without_progress(&self) -> Control<'_> {
        Control::default().cancelled_if(&self.cancelled).yielding_if(&self.yields)
    }

    pub(crate) fn report(&mut self, done: usize, total: usize, path: impl Into<String>) {
        (self.progress)(IndexProgress { done, total, path: path.into() });
    }

    pub fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    pub(crate) fn check(&self) -> Result<(), ToolError> {
        if self.is_cancelled() { Err(ToolError::Interrupted) } else { Ok(()) }
    }

    /// Whether the work may wait for another program that indexes or writes a log.
    pub(crate) fn may_wait(&self) -> bool {
        !self.is_cancelled() && !(self.yields)()
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Control").finish_non_exhaustive()
    }
}
