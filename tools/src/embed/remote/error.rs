//! Why a service made no vectors, in words that say what to do.

use std::time::Duration;

use super::Outage;
use super::reading::Fault;
use super::service::Service;

/// What passes by itself is asked for again after this time, unless the service names another.
const SHORT_REST: Duration = Duration::from_secs(30);

/// What somebody has to mend. Not for ever: a bill is paid and a model pulled while a server runs.
const LONG_REST: Duration = Duration::from_secs(600);

/// A service that asks for more is asked again all the same.
const LONGEST_REST: Duration = Duration::from_secs(3_600);

/// Why there are no vectors of a service. The message has no key in it and stays the same for as long as the fault does, so that
/// whoever tells it can tell it once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    message: String,
    rest: Duration,
}

impl RemoteError {
    /// How long the service is left alone.
    pub fn rest(&self) -> Duration {
        self.rest
    }

    /// What the settings ask for cannot be.
    pub(super) fn settings(message: String) -> Self {
        Self { message, rest: LONG_REST }
    }

    pub(super) fn new(service: &Service, fault: Fault) -> Self {
        let rest = match &fault {
            Fault::Busy { pause, .. } => pause.unwrap_or(SHORT_REST).clamp(SHORT_REST, LONGEST_REST),
            fault if fault.passes() => SHORT_REST,
            _ => LONG_REST,
        };
        let (what, remedy) = tell(service, fault);
        let remedy = remedy.unwrap_or_else(|| "search goes by text, and it is asked again later".to_owned());
        Self { message: format!("{} at {} {what}; {remedy}", service.provider(), service.host()), rest }
    }
}

const INSTEAD: &str = "or set JIKIME_EMBEDDING_PROVIDER=local";
const CHECK: &str = "check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL";

/// What happened, and what a person can do about it.
fn tell(service: &Service, fault: Fault) -> (String, Option<String>) {
    let said = |message: &str| match service.clean(message) {
        message if message.is_empty() => String::new(),
        message => format!(": {message}"),
    };
    let variable = service.key_variable();
    match fault {
        Fault::Outage(Outage::Unreachable(cause)) => (format!("cannot be reached{}", said(&cause)), None),
        Fault::Outage(Outage::Slow) => ("does not answer in time".to_owned(), None),
        Fault::Outage(Outage::Broken(cause)) => (format!("broke off in the middle{}", said(&cause)), None),
        Fault::Outage(Outage::TooMuch) => {
            ("answers with far more than vectors".to_owned(), Some(format!("{CHECK}, {INSTEAD}")))
        }
        Fault::Busy { status: 429, .. } => ("lets no more requests through for now (429)".to_owned(), None),
        Fault::Busy { status, message, .. } => (format!("is in trouble ({status}){}", said(&message)), None),
        Fault::QuotaUsedUp(message) => (
            format!("says that the quota is used up{}", said(&message)),
            Some(format!("see to its plan and billing, {INSTEAD}")),
        ),
        Fault::TooLong(message) => {
            (format!("finds even a short text too long{}", said(&message)), Some(format!("{CHECK}, {INSTEAD}")))
        }
        Fault::KeyRefused(status) if service.has_key() => (
            format!("refuses the key of {variable} ({status})"),
            Some(format!("put a valid key there and start again, {INSTEAD}")),
        ),
        Fault::KeyRefused(status) => {
            (format!("wants a key ({status})"), Some(format!("put it into {variable} and start again, {INSTEAD}")))
        }
        Fault::Forbidden(message) => (
            format!("does not permit this with the key of {variable} (403){}", said(&message)),
            Some(format!("permit it there or use another key, {INSTEAD}")),
        ),
        Fault::NotFound(message) => {
            (format!("knows no model {} (404){}", service.model(), said(&message)), Some(format!("{CHECK}, {INSTEAD}")))
        }
        Fault::Redirected(place) => {
            let place = place.map(|place| format!(" to {}", service.clean(&place))).unwrap_or_default();
            (format!("points{place}, where nothing is sent"), Some(format!("{CHECK}, {INSTEAD}")))
        }
        Fault::Refused { status, message } => {
            (format!("refuses the request ({status}){}", said(&message)), Some(format!("{CHECK}, {INSTEAD}")))
        }
        Fault::Unusable(what) => (format!("answers with {what}"), Some(format!("{CHECK}, {INSTEAD}"))),
        Fault::WrongDimensions(theirs, ours) => (
            format!("answers with vectors of {theirs} dimensions instead of {ours}"),
            Some(format!("set JIKIME_EMBEDDING_DIMENSIONS to what {} makes, {INSTEAD}", service.model())),
        ),
    }
}
