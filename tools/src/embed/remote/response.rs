//! Interprets a response: usable vectors, or a transient or permanent error.

use std::time::{Duration, SystemTime};

use schema::model::word_list::WordList;
use serde_json::Value;

use super::retry::requested_pause;
use super::{HttpResponse, NetworkError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServiceError {
    Network(NetworkError),
    /// Rate limit or server error.
    Busy {
        status: u16,
        message: String,
        pause: Option<Duration>,
    },
    /// Daily or paid quota is used up.
    QuotaExhausted(String),
    /// One text or the whole request is too long.
    TooLong(String),
    KeyRefused(u16),
    Forbidden(String),
    NotFound(String),
    Redirected(Option<String>),
    Refused {
        status: u16,
        message: String,
    },
    /// A successful response without usable vectors.
    Unusable(String),
    /// Received and expected dimensions.
    WrongDimensions(usize, usize),
}

impl From<NetworkError> for ServiceError {
    fn from(error: NetworkError) -> Self {
        Self::Network(error)
    }
}

impl ServiceError {
    /// Whether a retry may help.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Network(error) => *error != NetworkError::TooLarge,
            Self::Busy { .. } => true,
            _ => false,
        }
    }

    /// Whether one text may be the cause.
    pub(super) fn may_be_text_specific(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::TooLong(_) => true,
            Self::Unusable(what) => what == NOT_VECTORS,
            _ => false,
        }
    }

    pub(super) fn requested_pause(&self) -> Option<Duration> {
        match self {
            Self::Busy { pause, .. } => *pause,
            _ => None,
        }
    }
}

/// The content is not quoted, because it may be anything.
const NOT_VECTORS: &str = "no valid vectors";

/// Checks count and dimensions, and that each value is finite.
pub(super) fn parse_vectors(
    reply: &HttpResponse,
    parse: impl Fn(&[u8]) -> serde_json::Result<Vec<Vec<f32>>>,
    count: usize,
    dims: Option<usize>,
    now: SystemTime,
) -> Result<Vec<Vec<f32>>, ServiceError> {
    if !(200..300).contains(&reply.status) {
        return Err(error_of_refusal(reply, &ErrorBody::read(&reply.body), now));
    }
    let vectors = parse(&reply.body).map_err(|error| error_without_vectors(reply, &error, now))?;
    if vectors.len() != count {
        return Err(ServiceError::Unusable(format!("{} vectors for {count} texts", vectors.len())));
    }
    let dims = dims.or_else(|| vectors.first().map(Vec::len)).unwrap_or_default();
    match vectors.iter().find(|vector| vector.len() != dims || dims == 0) {
        Some(vector) => Err(ServiceError::WrongDimensions(vector.len(), dims)),
        None if vectors.iter().flatten().all(|value| value.is_finite()) => Ok(vectors),
        None => Err(ServiceError::Unusable(NOT_VECTORS.to_owned())),
    }
}

/// Classifies a response that should have vectors and has none.
fn error_without_vectors(reply: &HttpResponse, error: &serde_json::Error, now: SystemTime) -> ServiceError {
    let complaint = ErrorBody::read(&reply.body);
    if !complaint.message.is_empty() {
        return error_of_refusal(reply, &complaint, now);
    }
    let body = reply.body.trim_ascii_start();
    ServiceError::Unusable(match body.first() {
        None => "nothing".to_owned(),
        Some(b'<') => "a web page instead of JSON".to_owned(),
        Some(_) if error.is_eof() => "an incomplete response".to_owned(),
        Some(_) => NOT_VECTORS.to_owned(),
    })
}

fn error_of_refusal(reply: &HttpResponse, complaint: &ErrorBody, now: SystemTime) -> ServiceError {
    let (status, message) = (reply.status, complaint.message.clone());
    let is_about_length = complaint.is_too_long();
    match status {
        413 => ServiceError::TooLong(message),
        // Ollama, if the model's vector is not finite.
        500 if complaint.is_invalid_number() => ServiceError::Unusable(NOT_VECTORS.to_owned()),
        // llama.cpp reports it with 500, and OpenAI with 429 if the request exceeds the limit per minute.
        200 | 400 | 422 | 429 | 500 if is_about_length => ServiceError::TooLong(message),
        401 => ServiceError::KeyRefused(status),
        400 | 403 if complaint.is_invalid_key() => ServiceError::KeyRefused(status),
        402 => ServiceError::QuotaExhausted(message),
        429 if complaint.is_quota_exhausted() => ServiceError::QuotaExhausted(message),
        403 => ServiceError::Forbidden(message),
        404 => ServiceError::NotFound(message),
        300..=399 => ServiceError::Redirected(reply.header("location").map(str::to_owned)),
        408 | 425 | 429 | 500..=599 => {
            let pause = requested_pause(reply, now).or(complaint.pause);
            ServiceError::Busy { status, message, pause }
        }
        _ => ServiceError::Refused { status, message },
    }
}

/// A service's error message. Formats differ, so every field is optional.
#[derive(Debug, Default)]
struct ErrorBody {
    /// Human-readable; may be empty.
    message: String,
    /// The whole body in lower case, for keyword checks.
    all: String,
    /// Gemini's requested delay.
    pause: Option<Duration>,
}

/// Phrases by which services report that a text or a request is too long.
static TOO_LONG: WordList = WordList::phrases(
    "context length|context size|input length|maximum number of tokens|max_tokens_per_request|payload size exceeds|\
     physical batch size|reduce the length|request too large|token count exceeds|token limit|too long",
);

impl ErrorBody {
    /// Reads a body; invalid JSON gives no message.
    fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        // Gemini wraps some errors in a list.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let places = [error.get("message"), Some(error), value.get("message"), value.get("detail")];
        let message = places.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
        Self {
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
            all: error.to_string().to_lowercase(),
            pause: parse_retry_delay(error),
        }
    }

    fn is_too_long(&self) -> bool {
        TOO_LONG.occurs_in(&self.message.to_lowercase()) || self.all.contains("context_length_exceeded")
    }

    /// Whether the model produced an invalid vector that JSON cannot express.
    fn is_invalid_number(&self) -> bool {
        self.all.contains("unsupported value: nan") || self.all.contains("unsupported value: +inf")
    }

    /// Gemini reports an invalid key as a bad request.
    fn is_invalid_key(&self) -> bool {
        self.all.contains("api_key_invalid") || self.all.contains("api key not valid")
    }

    /// Whether waiting a minute is useless.
    fn is_quota_exhausted(&self) -> bool {
        self.all.contains("insufficient_quota") || self.all.contains("perday")
    }
}

/// `retryDelay`, such as `"47.4s"`, in the details.
fn parse_retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
