//! One service as it is to be asked: where, which model, with which key.

use std::time::SystemTime;

use schema::redaction::redact;

use super::address::Address;
use super::model::Model;
use super::parts;
use super::reading::{self, Fault};
use super::{Key, Purpose, RemoteError, Reply, Request, gemini, openai};

/// Characters of a service's words that are told.
const TOLD: usize = 200;

/// Bytes of a number in an answer at most, with all that stands around it.
const BYTES_OF_A_NUMBER: usize = 32;

/// Dimensions of a model at most.
pub(super) const MOST_DIMS: usize = 8_192;

/// What is asked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub(super) protocol: Protocol,
    pub(super) address: Address,
    pub(super) name: String,
    pub(super) model: Model,
    /// Dimensions of its vectors, where that is known.
    pub(super) dims: Option<usize>,
    /// Dimensions that it is asked for, where they are not the model's own.
    pub(super) asked_dims: Option<usize>,
    pub(super) key: Option<Key>,
    /// Where its key comes from, or would.
    pub(super) key_variable: &'static str,
}

/// The words in which is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// OpenAI itself.
    OpenAi,
    /// Another service or a program that speaks like it.
    LikeOpenAi,
    Gemini,
}

/// What fits into one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) texts: usize,
    pub(super) tokens: usize,
}

impl Service {
    /// The name in settings of who makes the vectors.
    pub fn provider(&self) -> &'static str {
        match self.protocol {
            Protocol::OpenAi | Protocol::LikeOpenAi => "openai",
            Protocol::Gemini => "gemini",
        }
    }

    /// The provider's name of the model.
    pub fn model(&self) -> &str {
        &self.name
    }

    /// The host that texts are sent to, with its port.
    pub fn host(&self) -> &str {
        &self.address.host
    }

    /// Dimensions of its vectors; `None` until an answer tells.
    pub fn dims(&self) -> Option<usize> {
        self.dims
    }

    pub(super) fn set_dims(&mut self, dims: usize) {
        self.dims = Some(dims);
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn key_variable(&self) -> &'static str {
        self.key_variable
    }

    /// What one request may hold. OpenAI documents 2,048 texts and 300,000 tokens, Gemini 100 texts; its tokens are those that
    /// the smallest plan allows in a minute. Programs on a desk do one text after the other, and should not run into time-outs.
    pub(super) fn limits(&self) -> Limits {
        match self.protocol {
            Protocol::OpenAi => Limits { texts: 2_048, tokens: 280_000 },
            Protocol::Gemini => Limits { texts: 100, tokens: 25_000 },
            Protocol::LikeOpenAi => Limits { texts: 32, tokens: 16_000 },
        }
    }

    /// Tokens of one text at most, as we count them, after what is put before it. A tenth is left for counting wrongly.
    pub(super) fn most_tokens(&self) -> usize {
        let before = parts::tokens(self.model.before_document).max(parts::tokens(self.model.before_query));
        self.model.tokens - self.model.tokens / 10 - before
    }

    pub(super) fn request(&self, texts: &[&str], purpose: Purpose) -> Request {
        let before = match purpose {
            Purpose::Document => self.model.before_document,
            Purpose::Query => self.model.before_query,
        };
        // No tokeniser knows what to do with it, and some servers fail over it.
        let texts: Vec<String> = texts.iter().map(|text| format!("{before}{text}").replace('\0', " ")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let base = &self.address.url;
        let (url, body, header) = match self.protocol {
            Protocol::OpenAi | Protocol::LikeOpenAi => (
                format!("{base}/embeddings"),
                openai::body(&self.name, &texts, self.asked_dims),
                ("authorization", "Bearer "),
            ),
            Protocol::Gemini => (
                format!("{base}/models/{}:batchEmbedContents", self.name),
                gemini::body(&self.name, &texts, self.asked_dims, purpose),
                ("x-goog-api-key", ""),
            ),
        };
        let numbers = texts.len() * self.dims.unwrap_or(MOST_DIMS);
        Request {
            url,
            is_loopback: self.address.is_loopback,
            key: self.key.clone().map(|key| (header.0, header.1, key)),
            body,
            most_bytes: (numbers * BYTES_OF_A_NUMBER) as u64 + 64 * 1024,
        }
    }

    /// The vectors of as many texts in an answer.
    pub(super) fn read(&self, reply: &Reply, count: usize, now: SystemTime) -> Result<Vec<Vec<f32>>, Fault> {
        let parse = match self.protocol {
            Protocol::OpenAi | Protocol::LikeOpenAi => openai::vectors,
            Protocol::Gemini => gemini::vectors,
        };
        reading::vectors(reply, parse, count, self.dims, now)
    }

    pub(super) fn error(&self, fault: Fault) -> RemoteError {
        RemoteError::new(self, fault)
    }

    /// The beginning of what a service says, without the key and without other secrets.
    pub(super) fn clean(&self, message: &str) -> String {
        let hidden = match &self.key {
            Some(key) => key.hide(message),
            None => message.to_owned(),
        };
        let text: String = redact(&hidden).text.chars().filter(|character| !character.is_control()).collect();
        match text.char_indices().nth(TOLD) {
            Some((end, _)) => format!("{} …", text[..end].trim_end()),
            None => text.trim().trim_end_matches('.').to_owned(),
        }
    }
}
