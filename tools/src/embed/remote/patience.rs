//! How long a fault is borne with: how often something is tried, how long is waited in between, and what a service says of that.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, NaiveDateTime};

use super::Reply;

/// How long one request may take with all its repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often it is sent at most.
    pub tries: u32,
    /// The first pause, which doubles from one to the next.
    pub first_pause: Duration,
    /// A service that asks for a longer pause is asked later, by whoever asks then.
    pub longest_pause: Duration,
    /// One answer.
    pub answer: Duration,
    /// All of it.
    pub total: Duration,
}

impl Patience {
    /// For texts, which nobody waits for.
    pub const DOCUMENTS: Self = Self {
        tries: 5,
        first_pause: Duration::from_secs(1),
        longest_pause: Duration::from_secs(20),
        answer: Duration::from_secs(30),
        total: Duration::from_secs(60),
    };

    /// For a question, whose answer somebody waits for, and that can be answered by text alone.
    pub const QUERY: Self = Self {
        tries: 2,
        first_pause: Duration::from_millis(200),
        longest_pause: Duration::from_secs(1),
        answer: Duration::from_secs(4),
        total: Duration::from_secs(5),
    };

    /// How long to wait after an attempt that failed, or `None` to give up. `chance`, from 0 to 1, keeps clients that failed
    /// together from coming back together.
    pub(super) fn pause(
        &self,
        attempt: u32,
        asked: Option<Duration>,
        spent: Duration,
        chance: f64,
    ) -> Option<Duration> {
        let doubled = self.first_pause.saturating_mul(2u32.saturating_pow(attempt - 1));
        let own = doubled.min(self.longest_pause).mul_f64(0.5 + chance / 2.0);
        let pause = match asked {
            Some(asked) if asked > self.longest_pause => return None,
            Some(asked) => asked.saturating_add(self.first_pause.mul_f64(chance)),
            None => own,
        };
        (attempt < self.tries && spent.saturating_add(pause) < self.total).then_some(pause)
    }
}

/// How long a service asks to be left alone: a number of seconds or a date, or the milliseconds of OpenAI.
pub(super) fn asked_pause(reply: &Reply, now: SystemTime) -> Option<Duration> {
    let milliseconds = reply.header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return Duration::try_from_secs_f64(milliseconds / 1_000.0).ok();
    }
    let text = reply.header("retry-after")?.trim();
    match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => Some(http_date(text)?.duration_since(now).unwrap_or_default()),
    }
}

/// A date in one of the three forms of RFC 9110, 5.6.7.
fn http_date(text: &str) -> Option<SystemTime> {
    let current = || DateTime::parse_from_rfc2822(text).ok().map(|date| date.to_utc());
    let old = |format| NaiveDateTime::parse_from_str(text, format).ok().map(|date| date.and_utc());
    let date = current().or_else(|| old("%A, %d-%b-%y %H:%M:%S GMT")).or_else(|| old("%a %b %e %H:%M:%S %Y"));
    date.map(SystemTime::from)
}
