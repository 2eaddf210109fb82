//! Texts on their way to who makes their vectors elsewhere. An errand knows nothing of the store, so that any thread can run it.

use schema::lock::FileLock;

use crate::embed::{EmbedError, Embedded, Identity, Meaning};

/// Something to be done where nobody waits: making an embedder ready, or having vectors made.
#[derive(Debug)]
pub struct Errand {
    meaning: Meaning,
    /// None: it has to be made ready first.
    texts: Vec<([u8; 32], String)>,
    /// Held so that no other process has the same vectors made.
    _lock: Option<FileLock>,
}

/// What came of texts, by their hashes.
#[derive(Debug)]
pub struct Made {
    pub(super) identity: Identity,
    pub(super) vectors: Vec<([u8; 32], Embedded)>,
}

impl Errand {
    pub(super) fn prepare(meaning: Meaning) -> Self {
        Self { meaning, texts: Vec::new(), _lock: None }
    }

    pub(super) fn embed(meaning: Meaning, texts: Vec<([u8; 32], String)>, lock: FileLock) -> Self {
        Self { meaning, texts, _lock: Some(lock) }
    }

    /// Runs it, which may take a minute. What goes wrong is noted, and is news when it is another fault than before.
    pub fn run(self) -> Result<Made, Failed> {
        let outcome = self.outcome();
        if outcome.is_ok() {
            self.meaning.trouble.is_over();
        }
        outcome.map_err(|error| Failed { is_news: self.meaning.trouble.met(&error), error })
    }

    fn outcome(&self) -> Result<Made, EmbedError> {
        let embedder = &self.meaning.embedder;
        embedder.prepare()?;
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = if texts.is_empty() { Vec::new() } else { embedder.embed_documents(&texts)? };
        if vectors.len() != texts.len() {
            return Err(EmbedError::Unavailable(format!("{} vectors came for {} texts", vectors.len(), texts.len())));
        }
        let hashes = self.texts.iter().map(|(hash, _)| *hash);
        Ok(Made { identity: embedder.identity().clone(), vectors: hashes.zip(vectors).collect() })
    }
}

impl Made {
    /// How many of the texts whoever makes the vectors refuses.
    pub fn refused(&self) -> usize {
        self.vectors.iter().filter(|(_, embedded)| *embedded == Embedded::Refused).count()
    }
}

/// An errand that came to nothing.
#[derive(Debug)]
pub struct Failed {
    pub error: EmbedError,
    /// Whether it failed otherwise than the last time.
    pub is_news: bool,
}
