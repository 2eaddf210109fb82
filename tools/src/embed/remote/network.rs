//! What a provider needs of the world outside: a way to post, a clock, chance. The server brings it; tests bring another.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, SystemTime};

use super::Key;

/// The world as a provider sees it.
pub trait Network: fmt::Debug + Send + Sync {
    /// Posts JSON and gives what came back, whatever its status. Follows no redirect, and takes at most `within` from the first
    /// try to connect to the last byte.
    fn post(&self, request: &Request, within: Duration) -> Result<Reply, Outage>;

    /// The time.
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Waits.
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    /// A number from 0 to 1 that nobody can foresee.
    fn chance(&self) -> f64 {
        // The standard library seeds every such state anew; that is chance enough to keep clients apart.
        f64::from(RandomState::new().hash_one(0) as u32) / f64::from(u32::MAX)
    }
}

/// What is posted.
#[derive(Debug)]
pub struct Request {
    pub url: String,
    /// Whether it stays on this machine, where no proxy belongs in between.
    pub is_loopback: bool,
    /// The header that carries the key, what stands before the key in it, and the key.
    pub key: Option<(&'static str, &'static str, Key)>,
    /// JSON.
    pub body: String,
    /// Bytes of an answer at most.
    pub most_bytes: u64,
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    /// Names are in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header, whose name is given in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why nothing whole came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outage {
    /// No connection, and why.
    Unreachable(String),
    /// No answer in time.
    Slow,
    /// The connection ended in the middle, and how.
    Broken(String),
    /// The answer is longer than any that was asked for.
    TooMuch,
}
