//! A configured service: address, model and key.

use std::time::SystemTime;

use schema::privacy::redaction::redact;

use super::address::ServiceAddress;
use super::known_models::KnownModel;
use super::response::{self, ServiceError};
use super::split;
use super::{ApiKey, EmbeddingPurpose, HttpRequest, HttpResponse, gemini, openai};

/// Characters of a service's message that are shown.
const MAX_MESSAGE_CHARS: usize = 200;

/// Upper bound of a number's bytes in a response, with separators.
const BYTES_OF_A_NUMBER: usize = 32;

pub(super) const MAX_DIMS: usize = 8_192;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub(super) protocol: Protocol,
    pub(super) address: ServiceAddress,
    pub(super) name: String,
    pub(super) model: KnownModel,
    /// Known dimensions of its vectors.
    pub(super) dims: Option<usize>,
    /// Dimensions to request, if they differ from the model's own.
    pub(super) requested_dims: Option<usize>,
    pub(super) key: Option<ApiKey>,
    /// The environment variable of its key.
    pub(super) key_variable: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    OpenAi,
    /// A server that is compatible with OpenAI.
    OpenAiCompatible,
    Gemini,
}

impl Service {
    /// The provider's name in the settings.
    pub fn provider(&self) -> &'static str {
        match self.protocol {
            Protocol::OpenAi | Protocol::OpenAiCompatible => "openai",
            Protocol::Gemini => "gemini",
        }
    }

    pub fn model(&self) -> &str {
        &self.name
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        &self.address.host
    }

    /// Known dimensions; `None` until the first response.
    pub fn dims(&self) -> Option<usize> {
        self.dims
    }

    /// The most texts and tokens of one request.
    ///
    /// OpenAI documents 2,048 texts and 300,000 tokens, Gemini 100 texts; the tokens are what its smallest plan allows per
    /// minute. Local servers process texts one by one, so small batches avoid time-outs.
    pub(super) fn request_limits(&self) -> (usize, usize) {
        match self.protocol {
            Protocol::OpenAi => (2_048, 280_000),
            Protocol::Gemini => (100, 25_000),
            Protocol::OpenAiCompatible => (32, 16_000),
        }
    }

    /// Longest text in our estimated tokens, without the prefix. A tenth is reserved for estimation errors.
    pub(super) fn max_tokens(&self) -> usize {
        let before =
            split::estimate_tokens(self.model.before_document).max(split::estimate_tokens(self.model.before_query));
        self.model.max_tokens - self.model.max_tokens / 10 - before
    }

    pub(super) fn request(&self, texts: &[&str], purpose: EmbeddingPurpose) -> HttpRequest {
        let before = match purpose {
            EmbeddingPurpose::Document => self.model.before_document,
            EmbeddingPurpose::Query => self.model.before_query,
        };
        // NUL makes some servers fail.
        let texts: Vec<String> = texts.iter().map(|text| format!("{before}{text}").replace('\0', " ")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let base = &self.address.url;
        let (url, body, header) = match self.protocol {
            Protocol::OpenAi | Protocol::OpenAiCompatible => (
                format!("{base}/embeddings"),
                openai::request_body(&self.name, &texts, self.requested_dims),
                ("authorization", "Bearer "),
            ),
            Protocol::Gemini => (
                format!("{base}/models/{}:batchEmbedContents", self.name),
                gemini::request_body(&self.name, &texts, self.requested_dims, purpose),
                ("x-goog-api-key", ""),
            ),
        };
        let numbers = texts.len() * self.dims.unwrap_or(MAX_DIMS);
        HttpRequest {
            url,
            is_loopback: self.address.is_loopback,
            key: self.key.clone().map(|key| (header.0, header.1, key)),
            body,
            max_bytes: (numbers * BYTES_OF_A_NUMBER) as u64 + 64 * 1024,
        }
    }

    /// Extracts `count` vectors from a response.
    pub(super) fn parse_response(
        &self,
        reply: &HttpResponse,
        count: usize,
        now: SystemTime,
    ) -> Result<Vec<Vec<f32>>, ServiceError> {
        let parse = match self.protocol {
            Protocol::OpenAi | Protocol::OpenAiCompatible => openai::parse_vectors,
            Protocol::Gemini => gemini::parse_vectors,
        };
        response::parse_vectors(reply, parse, count, self.dims, now)
    }

    /// The start of a service's message, with the key and other secrets removed.
    pub(super) fn clean_message(&self, message: &str) -> String {
        let hidden = match &self.key {
            Some(key) => key.redact(message),
            None => message.to_owned(),
        };
        let text: String = redact(&hidden).text.chars().filter(|character| !character.is_control()).collect();
        match text.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{} …", text[..end].trim_end()),
            None => text.trim().trim_end_matches('.').to_owned(),
        }
    }
}
