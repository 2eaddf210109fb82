//! A key of a service, which is shown nowhere.

use std::fmt;

/// As many characters of a key in a row are taken out of what is told: services like to repeat a part of it.
const TELLING: usize = 6;

/// A key. Nothing that can be printed holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key as it can stand in a header; `None` for anything else.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_key = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_key.then(|| Self(text.to_owned()))
    }

    /// The key itself, for the header and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text without the key and without parts of it.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            match self.longest_part_at_the_start(rest) {
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

    fn longest_part_at_the_start(&self, text: &str) -> usize {
        let common = |part: &[u8]| part.iter().zip(text.as_bytes()).take_while(|(left, right)| left == right).count();
        let key = self.0.as_bytes();
        let longest = (0..key.len()).map(|start| common(&key[start..])).max().unwrap_or_default();
        // A key that is shorter than what counts as a part of one is still a key.
        if longest >= TELLING.min(key.len()) { longest } else { 0 }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
