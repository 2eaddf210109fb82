//! Patterns of a project's own, for secrets that only it knows.

use std::ops::Range;

use regex_lite::{Regex, RegexBuilder};

/// A pattern that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} of `redact` is not used: {reason}")]
pub struct PatternError {
    /// The pattern as it was given.
    pub pattern: String,
    /// What is wrong with it, in words.
    pub reason: String,
}

/// A pattern's program is no larger than this in bytes, so that one of a cloned project cannot hold up its hooks.
const SIZE_LIMIT: usize = 64 * 1024;

pub(super) fn compile(pattern: &str) -> Result<Regex, PatternError> {
    let refused = |reason: String| PatternError { pattern: pattern.to_owned(), reason };
    let regex =
        RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).build().map_err(|error| refused(error.to_string()))?;
    if regex.is_match("") {
        return Err(refused("it matches the empty text, and so every place of every text".to_owned()));
    }
    Ok(regex)
}

/// What a pattern matches, in order: its first group, or all of it. Matches that touch are one.
pub(super) fn matches(regex: &Regex, text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for captures in regex.captures_iter(text) {
        let Some(part) = captures.get(1).or_else(|| captures.get(0)).filter(|part| !part.is_empty()) else { continue };
        match found.last_mut() {
            Some(last) if last.end == part.start() => last.end = part.end(),
            _ => found.push(part.range()),
        }
    }
    found
}
