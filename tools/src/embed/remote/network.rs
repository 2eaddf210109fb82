//! A provider's access to HTTP, a clock and randomness. The server implements it; tests replace it.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use super::ApiKey;

pub trait Network: fmt::Debug + Send + Sync {
    /// Posts JSON and returns the response, whatever its status. Follows no redirect. `within` limits the whole request,
    /// including the connection.
    fn post(&self, request: &HttpRequest, within: Duration) -> Result<HttpResponse, NetworkError>;

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// A random number from 0 to 1.
    fn random(&self) -> f64 {
        // The standard library seeds each `RandomState` randomly, which is enough to spread clients.
        f64::from(RandomState::new().hash_one(0) as u32) / f64::from(u32::MAX)
    }
}

#[derive(Debug)]
pub struct HttpRequest {
    pub url: String,
    /// Whether it stays on this machine; then no proxy is used.
    pub is_loopback: bool,
    /// Header name, prefix of its value, and the key.
    pub key: Option<(&'static str, &'static str, ApiKey)>,
    /// JSON.
    pub body: String,
    /// Largest response in bytes.
    pub max_bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub struct HttpResponse {
    pub status: u16,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// The value of a header; `name` must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no complete response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkError {
    Unreachable(String),
    TimedOut,
    Broken(String),
    /// The response exceeds the limit.
    TooLarge,
}
