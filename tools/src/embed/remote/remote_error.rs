//! Errors of a service, with the next step for the user.

use std::time::Duration;

use super::NetworkError;
use super::response::ServiceError;
use super::service::Service;

/// Pause after a transient error, unless the service names another.
const SHORT_COOLDOWN: Duration = Duration::from_secs(30);

/// Pause after an error that a person has to fix. Not endless, because that may happen while the server runs.
const LONG_COOLDOWN: Duration = Duration::from_mins(10);

/// The longest pause that a service may request.
const MAX_COOLDOWN: Duration = Duration::from_hours(1);

/// Why a service returned no vectors. The message has no key in it, and equal errors have equal messages, so that callers
/// can report each once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    message: String,
    cooldown: Duration,
}

impl RemoteError {
    /// Pause before the next request.
    pub fn cooldown(&self) -> Duration {
        self.cooldown
    }

    pub(super) fn from_settings(message: String) -> Self {
        Self { message, cooldown: LONG_COOLDOWN }
    }

    pub(super) fn new(service: &Service, error: ServiceError) -> Self {
        let rest = match &error {
            ServiceError::Busy { pause, .. } => pause.unwrap_or(SHORT_COOLDOWN).clamp(SHORT_COOLDOWN, MAX_COOLDOWN),
            error if error.is_transient() => SHORT_COOLDOWN,
            _ => LONG_COOLDOWN,
        };
        let remedy = find_remedy(service, &error).map_or_else(
            || "search uses the built-in model until a later attempt succeeds".to_owned(),
            |remedy| format!("{remedy}, or set JIKIME_EMBEDDING_PROVIDER=local"),
        );
        let what = describe_error(service, error);
        Self { message: format!("{} at {} {what}; {remedy}", service.provider(), service.host()), cooldown: rest }
    }
}

fn describe_error(service: &Service, error: ServiceError) -> String {
    let said = |message: &str| match service.clean_message(message) {
        message if message.is_empty() => String::new(),
        message => format!(": {message}"),
    };
    let variable = service.key_variable;
    match error {
        ServiceError::Network(NetworkError::Unreachable(cause)) => format!("cannot be reached{}", said(&cause)),
        ServiceError::Network(NetworkError::TimedOut) => "does not answer in time".to_owned(),
        ServiceError::Network(NetworkError::Broken(cause)) => format!("closed the connection early{}", said(&cause)),
        ServiceError::Network(NetworkError::TooLarge) => "returned too large a response".to_owned(),
        ServiceError::Busy { status: 429, .. } => "limits the request rate (429)".to_owned(),
        ServiceError::Busy { status, message, .. } => format!("failed ({status}){}", said(&message)),
        ServiceError::QuotaExhausted(message) => format!("reports that the quota is used up{}", said(&message)),
        ServiceError::TooLong(message) => format!("rejects even a short text as too long{}", said(&message)),
        ServiceError::KeyRefused(status) if service.key.is_some() => {
            format!("rejects the key in {variable} ({status})")
        }
        ServiceError::KeyRefused(status) => format!("requires a key ({status})"),
        ServiceError::Forbidden(message) => format!("denies access with the key in {variable} (403){}", said(&message)),
        ServiceError::NotFound(message) => format!("has no model {} (404){}", service.model(), said(&message)),
        ServiceError::Redirected(place) => {
            let place = place.map(|place| format!(" to {}", service.clean_message(&place))).unwrap_or_default();
            format!("redirects{place}, which is not followed")
        }
        ServiceError::Refused { status, message } => format!("rejects the request ({status}){}", said(&message)),
        ServiceError::Unusable(what) => format!("returned {what}"),
        ServiceError::WrongDimensions(theirs, ours) => {
            format!("returned vectors with {theirs} dimensions instead of {ours}")
        }
    }
}

/// The next step of a person who wants to keep the service; `None` if waiting may be enough.
fn find_remedy(service: &Service, error: &ServiceError) -> Option<String> {
    let variable = service.key_variable;
    match error {
        error if error.is_transient() => None,
        ServiceError::QuotaExhausted(_) => Some("check the plan and billing".to_owned()),
        ServiceError::KeyRefused(_) if service.key.is_some() => Some("set a valid key and restart the host".to_owned()),
        ServiceError::KeyRefused(_) => Some(format!("set {variable} and restart the host")),
        ServiceError::Forbidden(_) => Some("change its permissions or use another key".to_owned()),
        ServiceError::WrongDimensions(..) => {
            Some(format!("set JIKIME_EMBEDDING_DIMENSIONS to the dimensions of {}", service.model()))
        }
        _ => Some("check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL".to_owned()),
    }
}
