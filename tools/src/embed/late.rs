//! An embedder that takes a while to open, or that may be away: it is opened when somebody can wait for it, again and again until
//! that succeeds.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{EmbedError, Embedded, Embedder, Identity, Vector, WorkPlace};

type Open = dyn Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync;

/// An embedder that is opened later.
pub(super) struct Late {
    opened: OnceLock<Arc<dyn Embedder>>,
    /// As far as it is known before.
    identity: Identity,
    open: Box<Open>,
}

impl Late {
    pub(super) fn new(
        identity: Identity,
        open: impl Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync + 'static,
    ) -> Self {
        Self { opened: OnceLock::new(), identity, open: Box::new(open) }
    }

    fn opened(&self) -> Result<&dyn Embedder, EmbedError> {
        let unopened = || {
            let Identity { provider, model, .. } = &self.identity;
            EmbedError::Unavailable(format!("the model {model} ({provider}) is not ready yet"))
        };
        self.opened.get().map(|embedder| &**embedder).ok_or_else(unopened)
    }
}

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Late").field("identity", &self.identity).field("opened", &self.opened).finish_non_exhaustive()
    }
}

impl Embedder for Late {
    fn identity(&self) -> &Identity {
        self.opened.get().map_or(&self.identity, |embedder| embedder.identity())
    }

    fn place(&self) -> WorkPlace {
        self.opened.get().map_or(WorkPlace::Elsewhere, |embedder| embedder.place())
    }

    fn readiness(&self) -> Result<(), EmbedError> {
        self.opened()?.readiness()
    }

    fn prepare(&self) -> Result<(), EmbedError> {
        if self.opened.get().is_none() {
            let opened = (self.open)()?;
            self.opened.get_or_init(|| opened);
        }
        self.opened()?.prepare()
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        self.opened()?.embed_documents(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.opened()?.embed_query(text)
    }
}
