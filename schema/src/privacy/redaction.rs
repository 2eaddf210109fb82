//! Replaces secrets in a text by placeholders such as `[redacted: github token]`, before the text is stored, logged or sent.
//!
//! Hooks that run for two milliseconds do this. One pass finds the triggers of all rules, and a rule runs, or compiles its pattern, only at
//! its triggers.

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

use find::{PLACEHOLDER_START, Secret, find_by_rule, outside_placeholders, secret_without_rule};

/// A text after redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'t> {
    /// The text, borrowed if nothing was replaced.
    pub text: Cow<'t, str>,
    /// The number of secrets that were replaced.
    pub count: usize,
}

/// Redacts secrets, with the built-in rules and the patterns of a project.
///
/// The default has no patterns and costs nothing to create.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    patterns: Vec<Regex>,
}

/// Redacts a text with the built-in rules; see [`Redactor::redact`].
pub fn redact(text: &str) -> RedactedText<'_> {
    Redactor::default().redact(text)
}

impl Redactor {
    /// Creates a redactor with additional patterns in the syntax of `regex-lite`. The first group of a match, or the whole match, becomes
    /// `[redacted: custom]`.
    ///
    /// Each invalid pattern becomes a message for people, and the redactor works without it.
    pub fn new(patterns: &[String]) -> (Self, Vec<String>) {
        let mut redactor = Self::default();
        let mut problems = Vec::new();
        for pattern in patterns {
            match compile(pattern) {
                Ok(regex) => redactor.patterns.push(regex),
                Err(reason) => problems.push(format!("invalid pattern {pattern:?} in `redact`: {reason}")),
            }
        }
        (redactor, problems)
    }

    /// Replaces each secret in a text with `[redacted: kind]`. The name and the punctuation around it stay.
    ///
    /// Redaction is idempotent: a second call finds nothing. It takes linear time.
    pub fn redact<'t>(&self, text: &'t str) -> RedactedText<'t> {
        let mut redacted = RedactedText { text: Cow::Borrowed(text), count: 0 };
        // A placeholder changes how the text before and after it is read, so a changed text is read again until nothing is found. Only a
        // text that is made for it has secrets in the second reading.
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

    /// Redacts a named value, as in JSON. The name can show that the value is a secret.
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

    /// Returns the secrets of one reading. Specific finders come first, so that they choose the label.
    fn find_secrets(&self, text: &str) -> Vec<Secret> {
        let mut secrets = find_by_rule(text);
        for finder in [tables::find_in_tables, unnamed::find_unnamed] {
            if secrets.is_empty() {
                secrets = finder(text);
            }
        }
        if secrets.is_empty() { self.find_by_pattern(text) } else { secrets }
    }

    /// Returns the matches of the patterns, without the placeholders in them.
    fn find_by_pattern(&self, text: &str) -> Vec<Secret> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let matches = self.patterns.iter().flat_map(|pattern| matches(pattern, text));
        let mut secrets: Vec<Secret> = matches
            .flat_map(|span| outside_placeholders(text, span))
            .map(|span| secret_without_rule("custom", span))
            .collect();
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

/// The maximum size of a compiled pattern, in bytes, so that a pattern in a cloned project cannot slow down hooks.
const SIZE_LIMIT: usize = 64 * 1024;

/// Compiles a pattern, or returns the reason why it is refused.
fn compile(pattern: &str) -> Result<Regex, String> {
    let regex = RegexBuilder::new(pattern).size_limit(SIZE_LIMIT).build().map_err(|error| error.to_string())?;
    if regex.is_match("") {
        return Err("it matches the empty string and therefore everywhere".to_owned());
    }
    Ok(regex)
}

/// Returns the matches of a pattern in order: the first group, or the whole match. Adjacent matches are merged.
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
