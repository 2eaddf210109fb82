//! Embeddings made by a service: OpenAI, Gemini, or whatever speaks like OpenAI. What is sent, in which portions, what is
//! expected back, and how long a fault is borne with.
//!
//! Knows nothing of sockets: whoever serves brings a [`Network`].

mod address;
mod choice;
mod complaint;
mod error;
mod gemini;
mod key;
mod model;
mod network;
mod openai;
mod parts;
mod patience;
mod reading;
mod service;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use schema::screen::Screen;

use super::{EmbedError, Embedded, Embedder, Identity, Vector, WorkPlace};
use parts::{Part, Sum, batches, split};
use reading::Fault;

pub use choice::choose;
pub use error::RemoteError;
pub use key::Key;
pub use network::{Network, Outage, Reply, Request};
pub use patience::Patience;
pub use service::Service;

/// What is sent to tell a text that a service refuses from a request that it refuses whatever the text. Nobody has anything against it.
const HARMLESS: &str = "memory";

/// What a vector is for: many models make another one of a question than of a text that may answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Document,
    Query,
}

/// A service that makes vectors, and what was learned of it.
#[derive(Debug)]
pub struct Remote {
    service: Service,
    identity: Identity,
    network: Arc<dyn Network>,
    documents: Patience,
    query: Patience,
    /// The last door: nothing goes out that was not cleaned.
    screen: Screen,
    learned: Mutex<Learned>,
}

#[derive(Debug)]
struct Learned {
    /// Tokens of a text at most, as we count them.
    most_tokens: usize,
    rest: Option<Rest>,
}

/// A time in which a service that failed is left alone.
#[derive(Debug)]
struct Rest {
    since: SystemTime,
    length: Duration,
    error: RemoteError,
}

impl Remote {
    /// Takes up a service. Nothing is sent, unless only an answer can tell how many dimensions the model has.
    pub fn open(service: Service, network: Arc<dyn Network>) -> Result<Self, RemoteError> {
        Self::open_with(service, network, Patience::DOCUMENTS, Patience::QUERY)
    }

    /// The same with other limits on how long is waited.
    pub fn open_with(
        service: Service,
        network: Arc<dyn Network>,
        documents: Patience,
        query: Patience,
    ) -> Result<Self, RemoteError> {
        let identity = Identity {
            provider: service.provider().to_owned(),
            model: service.model().to_owned(),
            dims: service.dims().unwrap_or_default(),
        };
        let learned = Mutex::new(Learned { most_tokens: service.most_tokens(), rest: None });
        let mut remote = Self { service, identity, network, documents, query, screen: Screen::default(), learned };
        if remote.service.dims().is_none() {
            let vectors = remote.send(&["dimensions"], Purpose::Query).map_err(|fault| remote.error(fault))?;
            let dims = vectors.first().map_or(0, Vec::len);
            remote.service.set_dims(dims);
            remote.identity.dims = dims;
        }
        Ok(remote)
    }

    /// Vectors of texts in their order, each of length 1, and none of a text without words. A text that is longer than the model
    /// reads is sent in parts, and its vector is their mean, weighted by their lengths. One that the service refuses holds up no
    /// other.
    ///
    /// Secrets and private parts are taken out of whatever is given. What else a project wants to be taken out is not known here.
    ///
    /// After a failure the service is left alone for [`RemoteError::rest`], and the same error is given without asking.
    pub fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedded>, RemoteError> {
        if let Some(error) = self.resting() {
            return Err(error);
        }
        self.embed_in_batches(texts, purpose).map_err(|fault| {
            let error = self.error(fault);
            let rest = Rest { since: self.network.now(), length: error.rest(), error: error.clone() };
            self.learned().rest = Some(rest);
            error
        })
    }

    fn embed_in_batches(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Embedded>, Fault> {
        let texts: Vec<String> = texts.iter().map(|text| self.screen.clean(text).text.into_owned()).collect();
        let limits = self.service.limits();
        let most_tokens = self.learned().most_tokens;
        let parts: Vec<Part<'_>> = texts
            .iter()
            .enumerate()
            .flat_map(|(text, words)| split(words, most_tokens).map(move |words| Part { text, words }))
            .collect();
        let mut waiting: VecDeque<_> = batches(&parts, limits.texts, limits.tokens).map(<[_]>::to_vec).collect();
        let mut sums: Vec<Sum> = texts.iter().map(|_| Sum::default()).collect();
        let mut refused: HashSet<usize> = HashSet::new();
        // Whether the service takes texts at all.
        let mut takes_some = false;
        while let Some(mut batch) = waiting.pop_front() {
            batch.retain(|part| !refused.contains(&part.text));
            if batch.is_empty() {
                continue;
            }
            let words: Vec<&str> = batch.iter().map(|part| part.words).collect();
            let fault = match self.send(&words, purpose) {
                Ok(vectors) => {
                    takes_some = true;
                    batch.iter().zip(&vectors).for_each(|(part, vector)| sums[part.text].add(part, vector));
                    continue;
                }
                Err(fault) => fault,
            };
            let smaller = match self.smaller(&fault, &batch) {
                Some(smaller) => smaller,
                None if !fault.may_be_of_a_text() => return Err(fault),
                None if !takes_some && self.send(&[HARMLESS], purpose).is_err() => return Err(fault),
                None => {
                    takes_some = true;
                    refused.extend(batch.iter().map(|part| part.text).filter(|_| batch.len() == 1));
                    halves(&batch)
                }
            };
            smaller.into_iter().rev().for_each(|batch| waiting.push_front(batch));
        }
        let of_text = |(text, sum): (usize, Sum)| match refused.contains(&text) {
            true => Embedded::Refused,
            false => sum.direction().into(),
        };
        Ok(sums.into_iter().enumerate().map(of_text).collect())
    }

    /// What a service finds too long, in smaller batches: first fewer texts, then a text in more parts. Later texts are split
    /// so that it does not happen again. `None` when it cannot be the length.
    fn smaller<'t>(&self, fault: &Fault, batch: &[Part<'t>]) -> Option<Vec<Vec<Part<'t>>>> {
        if !matches!(fault, Fault::TooLong(_)) {
            return None;
        }
        let [part] = *batch else { return Some(halves(batch)) };
        let half = parts::tokens(part.words).div_ceil(2);
        if half < parts::FEWEST_TOKENS {
            return None;
        }
        let mut learned = self.learned();
        learned.most_tokens = learned.most_tokens.min(half);
        Some(split(part.words, half).map(|words| vec![Part { words, ..part }]).collect())
    }

    /// One request, again and again for as long as that makes sense.
    fn send(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, Fault> {
        let patience = match purpose {
            Purpose::Document => &self.documents,
            Purpose::Query => &self.query,
        };
        let request = self.service.request(texts, purpose);
        let start = self.network.now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let spent = self.network.now().duration_since(start).unwrap_or_default();
            let within = patience.answer.min(patience.total.saturating_sub(spent));
            let outcome = self.network.post(&request, within).map_err(Fault::from);
            let fault = match outcome.and_then(|reply| self.service.read(&reply, texts.len(), self.network.now())) {
                Ok(vectors) => return Ok(vectors),
                Err(fault) => fault,
            };
            let spent = self.network.now().duration_since(start).unwrap_or_default();
            match fault.passes().then(|| patience.pause(attempt, fault.asked_pause(), spent, self.network.chance())) {
                Some(Some(pause)) => self.network.pause(pause),
                _ => return Err(fault),
            }
        }
    }

    fn resting(&self) -> Option<RemoteError> {
        let now = self.network.now();
        let mut learned = self.learned();
        // A clock that was set back must not make a rest longer.
        learned.rest.take_if(|rest| now.duration_since(rest.since).map_or(true, |passed| passed >= rest.length));
        learned.rest.as_ref().map(|rest| rest.error.clone())
    }

    fn error(&self, fault: Fault) -> RemoteError {
        self.service.error(fault)
    }

    fn learned(&self) -> std::sync::MutexGuard<'_, Learned> {
        // What was learned is whole whoever panicked.
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn halves<'t>(batch: &[Part<'t>]) -> Vec<Vec<Part<'t>>> {
    let (left, right) = batch.split_at(batch.len() / 2);
    vec![left.to_vec(), right.to_vec()]
}

impl Embedder for Remote {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> WorkPlace {
        WorkPlace::Elsewhere
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        Ok(self.embed(texts, Purpose::Document)?)
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        match self.embed(&[text], Purpose::Query)?.pop() {
            Some(Embedded::Refused) => Err(EmbedError::Refused(self.service.provider())),
            embedded => Ok(embedded.and_then(Embedded::vector)),
        }
    }
}

#[cfg(test)]
mod tests;
