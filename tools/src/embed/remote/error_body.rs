//! Parses a service's error message. Formats differ, so every field is optional.

use std::time::Duration;

use schema::model::word_list::WordList;
use serde_json::Value;

#[derive(Debug, Default)]
pub(super) struct ErrorBody {
    /// Human-readable; may be empty.
    pub(super) message: String,
    /// The whole body in lower case, for keyword checks.
    all: String,
    /// Gemini's requested delay.
    pub(super) pause: Option<Duration>,
}

/// Phrases by which services report that a text or a request is too long.
static TOO_LONG: WordList = WordList::phrases(
    "context length|context size|input length|maximum number of tokens|max_tokens_per_request|payload size exceeds|\
     physical batch size|reduce the length|request too large|token count exceeds|token limit|too long",
);

impl ErrorBody {
    /// Reads a body; invalid JSON gives no message.
    pub(super) fn read(body: &[u8]) -> Self {
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

    pub(super) fn is_too_long(&self) -> bool {
        TOO_LONG.occurs_in(&self.message.to_lowercase()) || self.all.contains("context_length_exceeded")
    }

    /// Whether the model produced an invalid vector that JSON cannot express.
    pub(super) fn is_invalid_number(&self) -> bool {
        self.all.contains("unsupported value: nan") || self.all.contains("unsupported value: +inf")
    }

    /// Gemini reports an invalid key as a bad request.
    pub(super) fn is_invalid_key(&self) -> bool {
        self.all.contains("api_key_invalid") || self.all.contains("api key not valid")
    }

    /// Whether waiting a minute is useless.
    pub(super) fn is_quota_exhausted(&self) -> bool {
        self.all.contains("insufficient_quota") || self.all.contains("perday")
    }
}

/// `retryDelay`, such as `"47.4s"`, in the details.
fn parse_retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
