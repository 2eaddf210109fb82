//! What a service says when it refuses. Each has a shape of its own; none of them is relied upon.

use std::time::Duration;

use serde_json::Value;

/// A refusal in the service's words.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    /// For people; empty when there is none.
    pub(super) message: String,
    /// All of the answer in small letters, to look for words in.
    all: String,
    /// How long Gemini asks to be left alone.
    pub(super) pause: Option<Duration>,
}

/// Words by which services say that a text, or all texts of a request together, are too long.
const TOO_LONG: [&str; 12] = [
    "context length",
    "context size",
    "input length",
    "maximum number of tokens",
    "max_tokens_per_request",
    "payload size exceeds",
    "physical batch size",
    "reduce the length",
    "request too large",
    "token count exceeds",
    "token limit",
    "too long",
];

impl Complaint {
    /// Reads the body of an answer; one that is no JSON says nothing.
    pub(super) fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        // Gemini puts a list around some of them.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let places = [error.get("message"), Some(error), value.get("message"), value.get("detail")];
        let message = places.into_iter().flatten().find_map(Value::as_str).unwrap_or_default();
        Self {
            message: message.split_whitespace().collect::<Vec<_>>().join(" "),
            all: error.to_string().to_lowercase(),
            pause: retry_delay(error),
        }
    }

    pub(super) fn is_about_length(&self) -> bool {
        TOO_LONG.iter().any(|words| self.message.to_lowercase().contains(words))
            || self.all.contains("context_length_exceeded")
    }

    /// Whether a vector came out that is none and cannot be written as JSON.
    pub(super) fn is_about_no_number(&self) -> bool {
        self.all.contains("unsupported value: nan") || self.all.contains("unsupported value: +inf")
    }

    /// Gemini answers a wrong key with the status of a wrong request.
    pub(super) fn is_about_the_key(&self) -> bool {
        self.all.contains("api_key_invalid") || self.all.contains("api key not valid")
    }

    /// Whether it will not help to wait a minute.
    pub(super) fn is_about_a_used_up_quota(&self) -> bool {
        self.all.contains("insufficient_quota") || self.all.contains("perday")
    }
}

/// `retryDelay` such as `"47.4s"` among the details.
fn retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}
