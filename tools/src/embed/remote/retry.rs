//! Retry policy: number of attempts, pauses, and delays that a service requests.

use std::time::{Duration, SystemTime};

use super::HttpResponse;

/// Time limits of one request with its retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    pub max_tries: u32,
    /// Doubles after each attempt.
    pub first_pause: Duration,
    /// If a service requests a longer pause, this request fails and a later one tries again.
    pub max_pause: Duration,
    /// Limit for one attempt.
    pub request_timeout: Duration,
    /// Limit for all attempts.
    pub total_timeout: Duration,
}

impl RetryPolicy {
    /// For documents, which run in the background.
    pub const FOR_DOCUMENTS: Self = Self {
        max_tries: 5,
        first_pause: Duration::from_secs(1),
        max_pause: Duration::from_secs(20),
        request_timeout: Duration::from_secs(30),
        total_timeout: Duration::from_mins(1),
    };

    /// For a question: a user waits, and text search is the fallback.
    pub const FOR_QUERY: Self = Self {
        max_tries: 2,
        first_pause: Duration::from_millis(200),
        max_pause: Duration::from_secs(1),
        request_timeout: Duration::from_secs(4),
        total_timeout: Duration::from_secs(5),
    };

    /// Pause after a failed attempt, or `None` to give up. `chance`, from 0 to 1, spreads clients that failed together.
    pub(super) fn next_pause(
        &self,
        attempt: u32,
        asked: Option<Duration>,
        spent: Duration,
        chance: f64,
    ) -> Option<Duration> {
        let doubled = self.first_pause.saturating_mul(2u32.saturating_pow(attempt - 1));
        let own = doubled.min(self.max_pause).mul_f64(0.5 + chance / 2.0);
        let pause = match asked {
            Some(asked) if asked > self.max_pause => return None,
            Some(asked) => asked.saturating_add(self.first_pause.mul_f64(chance)),
            None => own,
        };
        (attempt < self.max_tries && spent.saturating_add(pause) < self.total_timeout).then_some(pause)
    }
}

/// The delay that a service requests: seconds, a date, or OpenAI's milliseconds.
pub(super) fn requested_pause(reply: &HttpResponse, now: SystemTime) -> Option<Duration> {
    let milliseconds = reply.header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    let text = reply.header("retry-after")?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default()),
    }
}
