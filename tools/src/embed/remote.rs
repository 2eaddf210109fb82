//! Embeddings from a service: OpenAI, Gemini, or a server that is compatible with OpenAI. Handles batches, retries and
//! errors.
//!
//! Knows nothing of sockets: the server provides a [`Network`].

mod address;
mod api_key;
mod choose_service;
mod gemini;
mod known_models;
mod network;
mod openai;
mod remote_error;
mod response;
mod retry;
mod service;
mod split;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use schema::privacy::sanitizer::Sanitizer;

use super::{EmbedError, Embedder, EmbeddingLocation, EmbeddingResult, ModelIdentity, Vector};
use response::ServiceError;
use split::{DirectionSum, TextPart, batch_parts, split_text};

pub use address::is_loopback;
pub use api_key::ApiKey;
pub use choose_service::choose_service;
pub use known_models::EmbeddingPurpose;
pub use network::{HttpRequest, HttpResponse, Network, NetworkError};
pub use remote_error::RemoteError;
pub use retry::RetryPolicy;
pub use service::Service;

/// A text that no service should refuse. It shows whether a refusal concerns one text or every request.
const PROBE_TEXT: &str = "memory";

/// An embedding service, and the limits learned from its answers.
#[derive(Debug)]
pub struct RemoteEmbedder {
    service: Service,
    identity: ModelIdentity,
    network: Arc<dyn Network>,
    documents: RetryPolicy,
    query: RetryPolicy,
    /// Last check: nothing leaves unredacted.
    sanitizer: Sanitizer,
    learned: Mutex<LearnedLimits>,
}

#[derive(Debug)]
struct LearnedLimits {
    /// Greatest size of a text in our estimated tokens.
    max_tokens: usize,
    cooldown: Option<Cooldown>,
}

/// A pause after a failure.
#[derive(Debug)]
struct Cooldown {
    started: SystemTime,
    length: Duration,
    error: RemoteError,
}

impl RemoteEmbedder {
    /// Opens a service. It sends a request only if the model's dimensions are unknown.
    pub fn open(service: Service, network: Arc<dyn Network>) -> Result<Self, RemoteError> {
        Self::open_with(service, network, RetryPolicy::FOR_DOCUMENTS, RetryPolicy::FOR_QUERY)
    }

    /// Opens a service with other time limits.
    pub fn open_with(
        service: Service,
        network: Arc<dyn Network>,
        documents: RetryPolicy,
        query: RetryPolicy,
    ) -> Result<Self, RemoteError> {
        let identity = ModelIdentity {
            provider: service.provider().to_owned(),
            model: service.model().to_owned(),
            dims: service.dims().unwrap_or_default(),
        };
        let learned = Mutex::new(LearnedLimits { max_tokens: service.max_tokens(), cooldown: None });
        let mut remote =
            Self { service, identity, network, documents, query, sanitizer: Sanitizer::default(), learned };
        if remote.service.dims().is_none() {
            let vectors = remote
                .send_with_retries(&["dimensions"], EmbeddingPurpose::Query)
                .map_err(|error| RemoteError::new(&remote.service, error))?;
            let dims = vectors.first().map_or(0, Vec::len);
            remote.service.dims = Some(dims);
            remote.identity.dims = dims;
        }
        Ok(remote)
    }

    /// Embeds texts in order. A text without words gets no vector. A text too long for the model is sent in parts, and its
    /// vector is their mean, weighted by length. A refused text does not block the others.
    ///
    /// Always redacts secrets and private parts, but does not know a project's own patterns.
    ///
    /// After a failure it returns the same error without a request until [`RemoteError::cooldown`] has passed.
    pub fn embed(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Vec<EmbeddingResult>, RemoteError> {
        if let Some(error) = self.cooldown_error() {
            return Err(error);
        }
        self.embed_in_batches(texts, purpose).map_err(|error| {
            let error = RemoteError::new(&self.service, error);
            let rest = Cooldown { started: self.network.now(), length: error.cooldown(), error: error.clone() };
            self.lock_learned().cooldown = Some(rest);
            error
        })
    }

    fn embed_in_batches(
        &self,
        texts: &[&str],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingResult>, ServiceError> {
        let texts: Vec<String> = texts.iter().map(|text| self.sanitizer.clean(text).text.into_owned()).collect();
        let (most_texts, most_per_request) = self.service.request_limits();
        let most_tokens = self.lock_learned().max_tokens;
        let parts: Vec<TextPart<'_>> = texts
            .iter()
            .enumerate()
            .flat_map(|(text, words)| split_text(words, most_tokens).map(move |words| TextPart { text, words }))
            .collect();
        let mut waiting: VecDeque<_> = batch_parts(&parts, most_texts, most_per_request).map(<[_]>::to_vec).collect();
        let mut sums: Vec<DirectionSum> = texts.iter().map(|_| DirectionSum::default()).collect();
        let mut refused: HashSet<usize> = HashSet::new();
        // Whether the service accepted any text.
        let mut takes_some = false;
        while let Some(mut batch) = waiting.pop_front() {
            batch.retain(|part| !refused.contains(&part.text));
            if batch.is_empty() {
                continue;
            }
            let words: Vec<&str> = batch.iter().map(|part| part.words).collect();
            let error = match self.send_with_retries(&words, purpose) {
                Ok(vectors) => {
                    takes_some = true;
                    batch.iter().zip(&vectors).for_each(|(part, vector)| sums[part.text].add(part, vector));
                    continue;
                }
                Err(error) => error,
            };
            let smaller = match self.split_batch(&error, &batch) {
                Some(smaller) => smaller,
                None if !error.may_be_text_specific() => return Err(error),
                None if !takes_some && self.send_with_retries(&[PROBE_TEXT], purpose).is_err() => return Err(error),
                None => {
                    takes_some = true;
                    refused.extend(batch.iter().map(|part| part.text).filter(|_| batch.len() == 1));
                    split_in_halves(&batch)
                }
            };
            smaller.into_iter().rev().for_each(|batch| waiting.push_front(batch));
        }
        let of_text = |(text, sum): (usize, DirectionSum)| match refused.contains(&text) {
            true => EmbeddingResult::Refused,
            false => sum.into_vector().into(),
        };
        Ok(sums.into_iter().enumerate().map(of_text).collect())
    }

    /// Splits an oversized batch: first into fewer texts, then a text into more parts. Learns the limit for later texts.
    /// `None` if the error cannot be about length.
    fn split_batch<'t>(&self, error: &ServiceError, batch: &[TextPart<'t>]) -> Option<Vec<Vec<TextPart<'t>>>> {
        if !matches!(error, ServiceError::TooLong(_)) {
            return None;
        }
        let [part] = *batch else { return Some(split_in_halves(batch)) };
        let half = split::estimate_tokens(part.words).div_ceil(2);
        if half < split::MIN_TOKENS {
            return None;
        }
        let mut learned = self.lock_learned();
        learned.max_tokens = learned.max_tokens.min(half);
        Some(split_text(part.words, half).map(|words| vec![TextPart { words, ..part }]).collect())
    }

    /// Sends one request, with retries.
    fn send_with_retries(&self, texts: &[&str], purpose: EmbeddingPurpose) -> Result<Vec<Vec<f32>>, ServiceError> {
        let retry = match purpose {
            EmbeddingPurpose::Document => &self.documents,
            EmbeddingPurpose::Query => &self.query,
        };
        let request = self.service.request(texts, purpose);
        let start = self.network.now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let spent = self.network.now().duration_since(start).unwrap_or_default();
            let within = retry.request_timeout.min(retry.total_timeout.saturating_sub(spent));
            let reply = self.network.post(&request, within).map_err(ServiceError::from);
            let parse = |reply| self.service.parse_response(&reply, texts.len(), self.network.now());
            let error = match reply.and_then(parse) {
                Ok(vectors) => return Ok(vectors),
                Err(error) if !error.is_transient() => return Err(error),
                Err(error) => error,
            };
            let spent = self.network.now().duration_since(start).unwrap_or_default();
            match retry.next_pause(attempt, error.requested_pause(), spent, self.network.random()) {
                Some(pause) => self.network.pause(pause),
                None => return Err(error),
            }
        }
    }

    fn cooldown_error(&self) -> Option<RemoteError> {
        let now = self.network.now();
        let mut learned = self.lock_learned();
        // A clock that was set back must not extend the pause.
        learned.cooldown.take_if(|rest| now.duration_since(rest.started).map_or(true, |passed| passed >= rest.length));
        learned.cooldown.as_ref().map(|rest| rest.error.clone())
    }

    fn lock_learned(&self) -> std::sync::MutexGuard<'_, LearnedLimits> {
        // A panic elsewhere leaves the data valid.
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn split_in_halves<'t>(batch: &[TextPart<'t>]) -> Vec<Vec<TextPart<'t>>> {
    let (left, right) = batch.split_at(batch.len() / 2);
    vec![left.to_vec(), right.to_vec()]
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn location(&self) -> EmbeddingLocation {
        EmbeddingLocation::Remote
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError> {
        Ok(self.embed(texts, EmbeddingPurpose::Document)?)
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(self.embed_queries(&[text])?.pop().flatten())
    }

    /// One request for all. If the service rejects the question itself, that is an error.
    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let embedded = self.embed(texts, EmbeddingPurpose::Query)?;
        match embedded.first() {
            Some(EmbeddingResult::Refused) => Err(EmbedError::Refused(self.service.provider())),
            _ => Ok(embedded.into_iter().map(EmbeddingResult::into_vector).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
