//! An API key that is never printed.

use std::fmt;

/// Bytes from which a part of the key is removed from messages, because services repeat parts of it.
const MIN_PART_LENGTH: usize = 6;

#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key that is valid in a header.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_key = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// The key itself, only for the header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Removes the key and its parts from a text.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.key_prefix_length(rest) {
                0 => {
                    clean.push(first);
                    rest = &rest[first.len_utf8()..];
                }
                length => {
                    clean.push_str("[key]");
                    rest = &rest[length..];
                }
            }
        }
        clean
    }

    fn key_prefix_length(&self, text: &str) -> usize {
        let common = |part: &[u8]| part.iter().zip(text.as_bytes()).take_while(|(left, right)| left == right).count();
        let key = self.0.as_bytes();
        let longest = (0..key.len()).map(|start| common(&key[start..])).max().unwrap_or_default();
        // A key shorter than this is still a key.
        if longest >= MIN_PART_LENGTH.min(key.len()) { longest } else { 0 }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
