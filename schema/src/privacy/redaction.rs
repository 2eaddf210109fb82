//! Secrets in a text become labels such as `[redacted: github token]` before the text is stored, logged or sent anywhere.
//!
//! Runs inside hooks that live for two milliseconds: one pass looks for the triggers of all rules, and a rule does its
//! work, or compiles its pattern, only where one of its triggers stands.

mod assignments;
mod commands;
mod credentials;
mod cursor;
mod entropy;
mod find;
mod headers;
mod literals;
mod mentions;
mod names;
mod private_keys;
mod rule;
mod rules;
mod tables;
mod triggers;
mod unnamed;
mod values;
mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use regex_lite::{Regex, RegexBuilder};

use find::{PLACEHOLDER_START, Secret, custom_secret, find_by_rule, outside_placeholders};

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'t> {
    /// The text, borrowed when nothing had to be replaced.
    pub text: Cow<'t, str>,
    /// How many secrets were replaced.
    pub count: usize,
}

/// What takes secrets out: the rules that everybody has, and the patterns of a project.
///
/// The default has no patterns and costs nothing to make.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    patterns: Vec<Regex>,
}

/// Replaces every secret in a text by the rules that everybody has; see [`Redactor::redact`].
pub fn redact(text: &str) -> RedactedText<'_> {
    Redactor::default().redact(text)
}

impl Redactor {
    /// A redactor with patterns of its own, in the syntax of `regex-lite`. What the first group of one matches, or all that
    /// it matches, becomes `[redacted: custom]`.
    ///
    /// A pattern that cannot be used is told beside the redactor, which works without it.
    pub fn new(patterns: &[String]) -> (Self, Vec<PatternError>) {
        let mut redactor = Self::default();
        let mut errors = Vec::new();
        for pattern in patterns {
            match compile(pattern) {
                Ok(regex) => redactor.patterns.push(regex),
                Err(error) => errors.push(error),
            }
        }
        (redactor, errors)
    }

    /// Replaces every secret in a text with `[redacted: kind]`; the name and the punctuation around it stay.
    ///
    /// Redacting the result again changes nothing and counts 0. Time is linear in the length of the text.
    pub fn redact<'t>(&self, text: &'t str) -> RedactedText<'t> {
        let mut redacted = RedactedText { text: Cow::Borrowed(text), count: 0 };
        // A placeholder may end what stood before it and begin what stands after it, so a text that changed is read again
        // until nothing is found. The second reading finds nothing unless a text was made to defeat this.
        for _ in 0..MAX_READINGS {
            let secrets = self.find_secrets(&redacted.text);
            if secrets.is_empty() {
                break;
            }
            redacted.count += secrets.len();
            redacted.text = Cow::Owned(replace_secrets(&redacted.text, &secrets));
        }
        redacted
    }

    /// Replaces every secret in a value that stands under a name, as in JSON: the name may be what makes it one.
    pub fn redact_named<'t>(&self, name: &str, value: &'t str) -> RedactedText<'t> {
        let plain = self.redact(value);
        if plain.count > 0 || value.contains(['"', '\\', '\n']) {
            return plain;
        }
        let (before, after) = (format!("\"{name}\": \""), "\"");
        let assigned = format!("{before}{value}{after}");
        let redacted = self.redact(&assigned);
        match redacted.text.strip_prefix(&before).and_then(|rest| rest.strip_suffix(after)) {
            Some(rest) if redacted.count > 0 => {
                RedactedText { text: Cow::Owned(rest.to_owned()), count: redacted.count }
            }
            _ => plain,
        }
    }

    /// The secrets of one reading. What is known comes first, so that it keeps its name.
    fn find_secrets(&self, text: &str) -> Vec<Secret> {
        let mut secrets = find_by_rule(text);
        for finder in [tables::find_in_tables, unnamed::find_unnamed] {
            if secrets.is_empty() {
                secrets = finder(text);
            }
        }
        if secrets.is_empty() { self.find_by_pattern(text) } else { secrets }
    }

    /// What the patterns match, without the placeholders in it.
    fn find_by_pattern(&self, text: &str) -> Vec<Secret> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let matches = self.patterns.iter().flat_map(|pattern| matches(pattern, text));
        let mut secrets: Vec<Secret> =
            matches.flat_map(|span| outside_placeholders(text, span)).map(custom_secret).collect();
        secrets.sort_by_key(Secret::precedence);
        let mut end = 0;
        secrets.retain_mut(|secret| {
            secret.span.start = secret.span.start.max(end);
            end = end.max(secret.span.end);
            !secret.span.is_empty()
        });
        secrets
    }
}

const MAX_READINGS: usize = 8;

fn replace_secrets(text: &str, secrets: &[Secret]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        replaced.push_str(&text[copied..secret.span.start]);
        replaced.push_str(PLACEHOLDER_START);
        replaced.push_str(secret.kind);
        replaced.push(']');
        copied = secret.span.end;
    }
    replaced.push_str(&text[copied..]);
    replaced
}

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

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    let refused = |reason: String| PatternError { pattern: pattern.to_owned(), reason };
    let regex =
        RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).build().map_err(|error| refused(error.to_string()))?;
    if regex.is_match("") {
        return Err(refused("it matches the empty text, and so every place of every text".to_owned()));
    }
    Ok(regex)
}

/// What a pattern matches, in order: its first group, or all of it. Matches that touch are one.
fn matches(regex: &Regex, text: &str) -> Vec<Range<usize>> {
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
