//! A question whose vector is made before the search, by whoever can wait for it, while other searches go on.

use std::sync::Arc;

use super::{EmbedError, Embedded, Embedder, Identity, Meaning, Vector, WorkPlace};

/// A question that may be sent: cleaned, and no longer than it need be.
#[derive(Debug)]
pub struct Question {
    meaning: Meaning,
    text: String,
}

/// The vector of a question, or why there is none.
#[derive(Debug, Clone)]
pub struct Asked(Result<Vector, String>);

impl Question {
    pub(crate) fn new(meaning: &Meaning, text: String) -> Self {
        Self { meaning: meaning.clone(), text }
    }

    /// Asks for the vector, which takes some seconds at most.
    pub fn ask(&self) -> Asked {
        Asked(self.meaning.embedder.embed_query(&self.text).map_err(|error| self.meaning.told(&error)))
    }
}

impl Meaning {
    /// The answer without asking: nobody is ready, or there is nothing yet that a vector could be compared with.
    pub(crate) fn unasked(&self) -> Asked {
        match self.trouble.tell() {
            Some(told) => Asked(Err(told)),
            None => Asked(self.embedder.readiness().map(|()| None).map_err(|error| error.to_string())),
        }
    }

    /// The same with the answer to the one question that is asked.
    pub(crate) fn with(&self, asked: Asked) -> Self {
        let embedder = Arc::new(Beforehand { embedder: Arc::clone(&self.embedder), asked: asked.0 });
        Self { embedder, ..self.clone() }
    }

    fn told(&self, error: &EmbedError) -> String {
        // That is wrong with one question, and with nothing that lasts.
        if matches!(error, EmbedError::Refused(_)) {
            return error.to_string();
        }
        self.trouble.met(error);
        self.trouble.tell().unwrap_or_else(|| error.to_string())
    }
}

/// An embedder that knows the one question already.
#[derive(Debug)]
struct Beforehand {
    embedder: Arc<dyn Embedder>,
    asked: Result<Vector, String>,
}

impl Beforehand {
    fn answer(&self) -> Result<&Vector, EmbedError> {
        self.asked.as_ref().map_err(|told| EmbedError::Unavailable(told.clone()))
    }
}

impl Embedder for Beforehand {
    fn identity(&self) -> &Identity {
        self.embedder.identity()
    }

    fn place(&self) -> WorkPlace {
        self.embedder.place()
    }

    fn readiness(&self) -> Result<(), EmbedError> {
        self.answer().map(drop)
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        self.embedder.embed_documents(texts)
    }

    fn embed_query(&self, _text: &str) -> Result<Vector, EmbedError> {
        self.answer().cloned()
    }
}
