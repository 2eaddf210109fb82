//! What an answer is: vectors that can be used, or a fault and whether it passes.

use std::time::{Duration, SystemTime};

use super::complaint::Complaint;
use super::patience::asked_pause;
use super::{Outage, Reply};

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    Outage(Outage),
    /// Too many requests, or a fault of theirs.
    Busy {
        status: u16,
        message: String,
        pause: Option<Duration>,
    },
    /// Nothing more for today, or until somebody pays.
    QuotaUsedUp(String),
    /// A text, or all of them together.
    TooLong(String),
    KeyRefused(u16),
    Forbidden(String),
    NotFound(String),
    Redirected(Option<String>),
    Refused {
        status: u16,
        message: String,
    },
    /// It was answered, and not with what was asked for.
    Unusable(String),
    /// Vectors of another length than the model's: theirs, ours.
    WrongDimensions(usize, usize),
}

impl From<Outage> for Fault {
    fn from(outage: Outage) -> Self {
        Self::Outage(outage)
    }
}

impl Fault {
    /// Whether the same request may well be answered soon.
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Outage(outage) => *outage != Outage::TooMuch,
            Self::Busy { .. } => true,
            _ => false,
        }
    }

    /// Whether it may be the fault of one text, while others are taken.
    pub(super) fn may_be_of_a_text(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::TooLong(_) => true,
            Self::Unusable(what) => what == NO_NUMBERS,
            _ => false,
        }
    }

    /// How long the service asks to be left alone.
    pub(super) fn asked_pause(&self) -> Option<Duration> {
        match self {
            Self::Busy { pause, .. } => *pause,
            _ => None,
        }
    }
}

/// Where it stopped being vectors is not told: what stands there may be anything.
const NO_NUMBERS: &str = "something else than vectors of numbers";

/// The vectors of an answer, as many and as long as they must be, every value of them a number.
pub(super) fn vectors(
    reply: &Reply,
    parse: impl Fn(&[u8]) -> serde_json::Result<Vec<Vec<f32>>>,
    count: usize,
    dims: Option<usize>,
    now: SystemTime,
) -> Result<Vec<Vec<f32>>, Fault> {
    if !(200..300).contains(&reply.status) {
        return Err(refusal(reply, &Complaint::read(&reply.body), now));
    }
    let vectors = parse(&reply.body).map_err(|error| no_vectors(reply, &error, now))?;
    if vectors.len() != count {
        return Err(Fault::Unusable(format!("{} vectors for {count} texts", vectors.len())));
    }
    let dims = dims.or_else(|| vectors.first().map(Vec::len)).unwrap_or_default();
    match vectors.iter().find(|vector| vector.len() != dims || dims == 0) {
        Some(vector) => Err(Fault::WrongDimensions(vector.len(), dims)),
        None if vectors.iter().flatten().all(|value| value.is_finite()) => Ok(vectors),
        None => Err(Fault::Unusable(NO_NUMBERS.to_owned())),
    }
}

/// What an answer is that was meant to be one and holds no vectors.
fn no_vectors(reply: &Reply, error: &serde_json::Error, now: SystemTime) -> Fault {
    let complaint = Complaint::read(&reply.body);
    if !complaint.message.is_empty() {
        return refusal(reply, &complaint, now);
    }
    let body = reply.body.trim_ascii_start();
    Fault::Unusable(match body.first() {
        None => "nothing".to_owned(),
        Some(b'<') => "a web page instead of JSON".to_owned(),
        Some(_) if error.is_eof() => "half of an answer".to_owned(),
        Some(_) => NO_NUMBERS.to_owned(),
    })
}

fn refusal(reply: &Reply, complaint: &Complaint, now: SystemTime) -> Fault {
    let (status, message) = (reply.status, complaint.message.clone());
    let is_about_length = complaint.is_about_length();
    match status {
        413 => Fault::TooLong(message),
        // Ollama, when a model makes a vector of a text that is none.
        500 if complaint.is_about_no_number() => Fault::Unusable(NO_NUMBERS.to_owned()),
        // llama.cpp says it with 500, and OpenAI with 429 when a request is above what it allows in a minute.
        200 | 400 | 422 | 429 | 500 if is_about_length => Fault::TooLong(message),
        401 => Fault::KeyRefused(status),
        400 | 403 if complaint.is_about_the_key() => Fault::KeyRefused(status),
        402 => Fault::QuotaUsedUp(message),
        429 if complaint.is_about_a_used_up_quota() => Fault::QuotaUsedUp(message),
        403 => Fault::Forbidden(message),
        404 => Fault::NotFound(message),
        300..=399 => Fault::Redirected(reply.header("location").map(str::to_owned)),
        408 | 425 | 429 | 500..=599 => {
            let pause = asked_pause(reply, now).or(complaint.pause);
            Fault::Busy { status, message, pause }
        }
        _ => Fault::Refused { status, message },
    }
}
