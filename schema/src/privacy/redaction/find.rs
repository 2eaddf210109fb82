//! Finds secrets by the rules, without touching placeholders.

use std::cmp::Reverse;
use std::ops::Range;

use super::cursor::TriggerSite;
use super::rules::RULES;
use super::triggers::{TriggerEntry, trigger_matches};

/// The span of a secret, its kind, and the index of the rule that found it.
pub(super) struct Secret {
    pub(super) span: Range<usize>,
    pub(super) kind: &'static str,
    pub(super) rule: usize,
}

/// Returns a secret that no rule found.
pub(super) fn secret_without_rule(kind: &'static str, span: Range<usize>) -> Secret {
    Secret { span, kind, rule: RULES.len() }
}

impl Secret {
    /// Orders secrets: the earliest start wins, then the longest, then the first rule, because specific rules come first.
    pub(super) fn precedence(&self) -> (usize, Reverse<usize>, usize) {
        (self.span.start, Reverse(self.span.end), self.rule)
    }
}

pub(super) fn find_by_rule(text: &str) -> Vec<Secret> {
    let mut secrets = Vec::new();
    // Nothing matches in or across a placeholder. This makes redaction idempotent.
    let mut start = 0;
    while let Some(placeholder) = next_placeholder(text, start) {
        find_in_stretch(text, start..placeholder.start, &mut secrets);
        start = placeholder.end;
    }
    find_in_stretch(text, start..text.len(), &mut secrets);
    secrets
}

pub(super) const PLACEHOLDER_START: &str = "[redacted: ";

/// In bytes.
pub(super) const MAX_KIND_LENGTH: usize = 32;

/// Returns the parts of a span that are outside placeholders.
pub(super) fn outside_placeholders(text: &str, span: Range<usize>) -> Vec<Range<usize>> {
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

/// Finds the secrets of a text without placeholders, in order and without overlap.
///
/// No secret starts before its trigger, so the best one so far is final when the next trigger is after its start.
fn find_in_stretch(text: &str, stretch: Range<usize>, secrets: &mut Vec<Secret>) {
    let mut start = stretch.start;
    let mut best: Option<Secret> = None;
    for (offset, TriggerEntry { trigger, rule }) in trigger_matches(&text[stretch.clone()]) {
        let at = stretch.start + offset;
        if let Some(found) = best.take_if(|found| found.span.start < at) {
            start = found.span.end;
            secrets.push(found);
        }
        if at < start {
            continue;
        }
        let site = TriggerSite { text: &text[start..stretch.end], context: &text[..at], at: at - start, trigger };
        let Some(span) = RULES[rule].secret_at(&site) else { continue };
        let span = start + span.start..start + span.end;
        let found = Secret { span, kind: RULES[rule].kind, rule };
        if best.as_ref().is_none_or(|best| found.precedence() < best.precedence()) {
            best = Some(found);
        }
    }
    secrets.extend(best);
}

fn next_placeholder(text: &str, from: usize) -> Option<Range<usize>> {
    let mut from = from;
    loop {
        let start = from + text[from..].find(PLACEHOLDER_START)?;
        let kind = start + PLACEHOLDER_START.len();
        let is_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b' ';
        let length = text.as_bytes()[kind..].iter().take(MAX_KIND_LENGTH).take_while(|byte| is_kind(byte)).count();
        if length > 0 && text.as_bytes().get(kind + length) == Some(&b']') {
            return Some(start..kind + length + 1);
        }
        from = kind;
    }
}
