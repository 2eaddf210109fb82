//! An embedder that opens slowly or may be unavailable: `prepare` opens it, and retries until that succeeds.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{EmbedError, Embedder, EmbeddingLocation, EmbeddingResult, ModelIdentity, Vector};

type OpenEmbedder = dyn Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync;

pub(super) struct LazyEmbedder {
    opened: OnceLock<Arc<dyn Embedder>>,
    /// May be incomplete until it is open.
    identity: ModelIdentity,
    open: Box<OpenEmbedder>,
}

impl LazyEmbedder {
    pub(super) fn new(
        identity: ModelIdentity,
        open: impl Fn() -> Result<Arc<dyn Embedder>, EmbedError> + Send + Sync + 'static,
    ) -> Self {
        Self { opened: OnceLock::new(), identity, open: Box::new(open) }
    }

    fn open_embedder(&self) -> Result<&dyn Embedder, EmbedError> {
        let unopened = || {
            let ModelIdentity { provider, model, .. } = &self.identity;
            EmbedError::Unavailable(format!("the model {model} ({provider}) is not ready yet"))
        };
        self.opened.get().map(|embedder| &**embedder).ok_or_else(unopened)
    }
}

impl fmt::Debug for LazyEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyEmbedder")
            .field("identity", &self.identity)
            .field("opened", &self.opened)
            .finish_non_exhaustive()
    }
}

impl Embedder for LazyEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.opened.get().map_or(&self.identity, |embedder| embedder.identity())
    }

    fn location(&self) -> EmbeddingLocation {
        self.opened.get().map_or(EmbeddingLocation::Remote, |embedder| embedder.location())
    }

    fn readiness(&self) -> Result<(), EmbedError> {
        self.open_embedder()?.readiness()
    }

    fn prepare(&self) -> Result<(), EmbedError> {
        if self.opened.get().is_none() {
            let opened = (self.open)()?;
            self.opened.get_or_init(|| opened);
        }
        self.open_embedder()?.prepare()
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError> {
        self.open_embedder()?.embed_documents(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.open_embedder()?.embed_query(text)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.open_embedder()?.embed_queries(texts)
    }
}
