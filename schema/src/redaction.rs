//! Secrets in a text become labels such as `[redacted: github token]` before the text is stored, logged or sent anywhere.
//!
//! Runs inside hooks that live for two milliseconds: one pass looks for the triggers of all rules, and a rule does its
//! work, or compiles its pattern, only where one of its triggers stands.

mod assignments;
mod commands;
mod credentials;
mod cursor;
mod entropy;
mod extra;
mod headers;
mod loose;
mod mentions;
mod names;
mod private_keys;
mod rule;
mod rules;
mod tables;
mod triggers;
mod values;
mod words;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use regex_lite::Regex;

pub use extra::PatternError;
use rule::Site;
use rules::RULES;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
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
pub fn redact(text: &str) -> Redacted<'_> {
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
            match extra::compile(pattern) {
                Ok(regex) => redactor.patterns.push(regex),
                Err(error) => errors.push(error),
            }
        }
        (redactor, errors)
    }

    /// Replaces every secret in a text with `[redacted: kind]`; the name and the punctuation around it stay.
    ///
    /// Redacting the result again changes nothing and counts 0. Time is linear in the length of the text.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        let mut redacted = Redacted { text: Cow::Borrowed(text), count: 0 };
        // A placeholder may end what stood before it and begin what stands after it, so a text that changed is read again
        // until nothing is found. The second reading finds nothing unless a text was made to defeat this.
        for _ in 0..MAX_READINGS {
            let secrets = self.find_any(&redacted.text);
            if secrets.is_empty() {
                break;
            }
            redacted.count += secrets.len();
            redacted.text = Cow::Owned(replace(&redacted.text, &secrets));
        }
        redacted
    }

    /// Replaces every secret in a value that stands under a name, as in JSON: the name may be what makes it one.
    pub fn redact_named<'t>(&self, name: &str, value: &'t str) -> Redacted<'t> {
        let plain = self.redact(value);
        if plain.count > 0 || value.contains(['"', '\\', '\n']) {
            return plain;
        }
        let (before, after) = (format!("\"{name}\": \""), "\"");
        let assigned = format!("{before}{value}{after}");
        let redacted = self.redact(&assigned);
        match redacted.text.strip_prefix(&before).and_then(|rest| rest.strip_suffix(after)) {
            Some(rest) if redacted.count > 0 => Redacted { text: Cow::Owned(rest.to_owned()), count: redacted.count },
            _ => plain,
        }
    }

    /// The secrets of one reading. What is known comes first, so that it keeps its name.
    fn find_any(&self, text: &str) -> Vec<Secret> {
        let mut secrets = find(text);
        for finder in [tables::secrets, loose::secrets] {
            if secrets.is_empty() {
                secrets = finder(text);
            }
        }
        if secrets.is_empty() { self.find_custom(text) } else { secrets }
    }

    /// What the patterns match, without the placeholders in it.
    fn find_custom(&self, text: &str) -> Vec<Secret> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let matches = self.patterns.iter().flat_map(|pattern| extra::matches(pattern, text));
        let mut secrets: Vec<Secret> = matches.flat_map(|span| outside_placeholders(text, span)).map(custom).collect();
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
const PLACEHOLDER_START: &str = "[redacted: ";
const LONGEST_KIND: usize = 32;

/// Where a secret stands, what it is called, and the index of the rule that found it.
struct Secret {
    span: Range<usize>,
    kind: &'static str,
    rule: usize,
}

fn custom(span: Range<usize>) -> Secret {
    Secret { span, kind: "custom", rule: RULES.len() }
}

impl Secret {
    /// The earliest start wins, then the longest, then the rule that comes first because it knows more.
    fn precedence(&self) -> (usize, Reverse<usize>, usize) {
        (self.span.start, Reverse(self.span.end), self.rule)
    }
}

fn find(text: &str) -> Vec<Secret> {
    let mut secrets = Vec::new();
    // A placeholder is a wall: nothing is matched in it or across it. That is what makes redaction idempotent.
    let mut start = 0;
    while let Some(placeholder) = next_placeholder(text, start) {
        find_between(text, start..placeholder.start, &mut secrets);
        start = placeholder.end;
    }
    find_between(text, start..text.len(), &mut secrets);
    secrets
}

/// Finds the secrets of one stretch of text, in order and without overlap.
///
/// No secret starts before its trigger, so the best one so far is final when the next trigger stands behind its start.
fn find_between(text: &str, stretch: Range<usize>, secrets: &mut Vec<Secret>) {
    let mut start = stretch.start;
    let mut best: Option<Secret> = None;
    for occurrence in triggers::occurrences(&text[stretch.clone()]) {
        let at = stretch.start + occurrence.at;
        if let Some(found) = best.take_if(|found| found.span.start < at) {
            start = found.span.end;
            secrets.push(found);
        }
        if at < start {
            continue;
        }
        let trigger = occurrence.trigger;
        let site = Site { text: &text[start..stretch.end], context: &text[..at], at: at - start, trigger };
        let rule = &RULES[occurrence.rule];
        let Some(span) = rule.secret_at(&site) else { continue };
        let span = start + span.start..start + span.end;
        let found = Secret { span, kind: rule.kind, rule: occurrence.rule };
        if best.as_ref().is_none_or(|best| found.precedence() < best.precedence()) {
            best = Some(found);
        }
    }
    secrets.extend(best);
}

/// The parts of a span between the placeholders in it.
fn outside_placeholders(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut from, mut start) = (0, span.start);
    while let Some(placeholder) = next_placeholder(text, from).filter(|found| found.start < span.end) {
        from = placeholder.end;
        if placeholder.end > start {
            parts.push(start..placeholder.start.max(start));
            start = placeholder.end;
        }
    }
    parts.push(start.min(span.end)..span.end);
    parts.retain(|part| !part.is_empty());
    parts
}

fn next_placeholder(text: &str, from: usize) -> Option<Range<usize>> {
    let mut from = from;
    loop {
        let start = from + text[from..].find(PLACEHOLDER_START)?;
        let kind = start + PLACEHOLDER_START.len();
        let is_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b' ';
        let length = text.as_bytes()[kind..].iter().take(LONGEST_KIND).take_while(|byte| is_kind(byte)).count();
        if length > 0 && text.as_bytes().get(kind + length) == Some(&b']') {
            return Some(start..kind + length + 1);
        }
        from = kind;
    }
}

fn replace(text: &str, secrets: &[Secret]) -> String {
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
