//! Finds private keys in PEM and PuTTY format: the whole block, or the available part of a truncated one.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite};
use super::values;

/// Finds the block after `-----BEGIN `, if it is a private key with content.
pub(super) fn find_block(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let label = cursor.take(MAX_LABEL_LENGTH, |character| matches!(character, 'A'..='Z' | '0'..='9' | ' '));
    if !(label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK")) || !cursor.eat(DASHES) {
        return None;
    }
    let body = cursor.at();
    let unterminated = body + key_lines_length(cursor.rest());
    // Between its markers a key may be wrapped in any quoting. A sentence that quotes both markers contains no run of this length.
    let end = find_end_marker(site.text, body).filter(|end| {
        let is_bare = unterminated > body && site.text[unterminated..end.start].chars().all(is_filler);
        is_bare || has_key_run(&site.text[body..end.start])
    });
    match end {
        Some(end) => Some(site.at..end.end),
        None => (unterminated > body).then_some(site.at..unterminated),
    }
}

/// Finds the lines after `Private-Lines: 14` in a PuTTY key.
pub(super) fn find_putty_key(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    cursor.skip_blanks();
    cursor.take(4, |character| character.is_ascii_digit());
    let length = key_lines_length(cursor.rest());
    let start = cursor.at() + cursor.rest().len() - cursor.rest().trim_start().len();
    (length > 0).then(|| start..cursor.at() + length)
}

const DASHES: &str = "-----";
const MAX_LABEL_LENGTH: usize = 40;
const MAX_BODY_LENGTH: usize = 64 * 1024;
/// Shorter runs of base64 characters are words.
const MIN_RUN_LENGTH: usize = 24;
/// After whole lines of a key, a shorter run can be the rest of it.
const MIN_REST_LENGTH: usize = 12;

/// Returns the `-----END …-----` of a body, unless it is too far away or another block begins first.
fn find_end_marker(text: &str, body: usize) -> Option<Range<usize>> {
    let within = &text.as_bytes()[body..text.len().min(body + MAX_BODY_LENGTH)];
    let start = body + within.windows(DASHES.len()).position(|window| window == DASHES.as_bytes())?;
    let mut cursor = TextCursor::new(text, start + DASHES.len());
    if !cursor.eat("END ") {
        return None;
    }
    cursor.take(MAX_LABEL_LENGTH, |character| matches!(character, 'A'..='Z' | '0'..='9' | ' '));
    cursor.eat(DASHES);
    Some(start..cursor.at())
}

fn has_key_run(body: &str) -> bool {
    body.split(|character| !is_base64(character)).any(|run| run.len() >= MIN_RUN_LENGTH)
}

/// Returns the length in bytes of the lines at the start of a text that can only be key material.
///
/// A line ends at a line break or, in quoted text, at an escaped `\n`. Quotes and `+` around a line are ignored.
fn key_lines_length(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let raw = rest[..line_length(rest.as_bytes())].trim_end_matches(is_around_a_line);
        let line = raw.trim_start_matches(is_around_a_line);
        let is_key = line.chars().all(is_base64) && (end > 0 || line.is_empty() || is_key_start(line));
        if !is_key && (end > 0 || !is_header(line)) {
            // Other text may follow the last line of a truncated key.
            let run = line.find(|character| !is_base64(character)).unwrap_or(line.len());
            if end > 0 && run >= MIN_REST_LENGTH && values::is_mixed_base64(&line[..run]) {
                end = at + (raw.len() - line.len()) + run;
            }
            break;
        }
        if is_key && !line.is_empty() {
            // The line break is not included, because it belongs to the text after the key.
            end = at + raw.len();
        }
        at += line_length(rest.as_bytes());
        at += match text.as_bytes()[at..] {
            [b'\n', ..] => 1,
            [b'\\', b'n' | b'r' | b'\\', ..] => 2,
            _ => break,
        };
    }
    end
}

fn line_length(text: &[u8]) -> usize {
    let ends = |at: usize| matches!(text[at], b'\n' | b'\\') || text[at..].starts_with(DASHES.as_bytes());
    (0..text.len()).find(|&at| ends(at)).unwrap_or(text.len())
}

fn is_around_a_line(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '+' | ',' | '>' | '|')
}

/// Whether a character may be between the last line of a key and its end marker: line breaks, escaped line breaks and quotes.
fn is_filler(character: char) -> bool {
    is_around_a_line(character) || matches!(character, '\\' | 'n' | 'r')
}

/// Whether a first line is more than a word of a sentence that quotes the header.
fn is_key_start(line: &str) -> bool {
    line.bytes().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Whether a line is a header of an encrypted key or of PGP armour, for example `DEK-Info: AES-128-CBC,3F`.
fn is_header(line: &str) -> bool {
    ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"].iter().any(|name| line.starts_with(name))
}

fn is_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=')
}
