//! Finds the span of a value: within quotes, or up to the next blank.

use std::ops::Range;

use super::cursor::{TextCursor, is_cjk};
use super::names::{MAX_AFFIX_LENGTH, is_name};

/// Returns the span inside a string literal. The literal may itself be in an escaped string.
pub(super) fn quoted_value(cursor: &TextCursor<'_>) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    let mut prefixed = cursor.clone();
    prefixed.take(2, |character| matches!(character, 'b' | 'r' | 'u' | 'f' | '@'));
    if matches!(prefixed.peek(), Some('"' | '\'')) {
        cursor = prefixed;
    }
    let escape = cursor.take(3, |character| character == '\\');
    let quote = cursor.peek().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    cursor.take(1, |character| character == quote);
    let fence = ["\"\"", "''"].into_iter().find(|rest| rest.starts_with(quote) && cursor.rest().starts_with(rest));
    if let Some(inside) = fence.and_then(|fence| fenced_value(&cursor, quote, fence)) {
        return Some(inside);
    }
    let start = cursor.at();
    let mut escaped = false;
    for (index, character) in cursor.rest().char_indices().take(MAX_VALUE_LENGTH) {
        match character {
            '\n' => return None,
            _ if character == quote && (!escaped || !escape.is_empty()) => {
                let inside = start..start + index;
                let closing = &cursor.rest()[..index];
                return Some(if closing.ends_with(escape) { inside.start..inside.end - escape.len() } else { inside });
            }
            _ => escaped = character == '\\' && !escaped,
        }
    }
    None
}

/// Returns the span of a value without quotes: up to the next blank, without surrounding punctuation.
pub(super) fn bare_value(cursor: &TextCursor<'_>, limit: usize) -> Range<usize> {
    let mut cursor = cursor.clone();
    cursor.take(3, |character| matches!(character, '"' | '\'' | '`' | '\\'));
    let start = cursor.at();
    let run = cursor.take(limit, |character| {
        !character.is_whitespace()
            && !matches!(character, '"' | '\'' | '`' | '<' | '>' | '。' | '、' | '」')
            && !is_cjk(character)
    });
    let mut end = run.len();
    let mut open = 0_u32;
    for (index, character) in run.char_indices() {
        let rest = &run[index + character.len_utf8()..];
        let ends = match character {
            '(' | '[' | '{' => {
                open += 1;
                false
            }
            ')' | ']' | '}' if open > 0 => {
                open -= 1;
                false
            }
            ')' | ']' | '}' => true,
            '&' | ';' | ',' | '|' => begins_assignment(rest),
            // An escaped `\n` or `\"` belongs to the string around this text.
            '\\' => rest.is_empty() || rest.starts_with(['n', 'r', 't', '\\']),
            _ => false,
        };
        if ends {
            end = index;
            break;
        }
    }
    let value = run[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '|', '*', '…', '。']);
    // A mask of asterisks, and the `!` at the end of a password, are not punctuation.
    let value = if value.is_empty() { &run[..end] } else { value };
    let bangs = run[value.len()..end].bytes().take_while(|byte| matches!(byte, b'!' | b'*')).count();
    start..start + value.len() + bangs
}

/// The length at which values are cut, in bytes. A password is shorter, and the rest of a longer token is useless.
pub(super) const MAX_VALUE_LENGTH: usize = 4096;

/// The length of a bare value that is inspected, in bytes. Otherwise a text with very many names would be read 4,096 times.
pub(super) const PREVIEW: usize = 256;

/// Returns the span inside `"""…"""`, without blanks at both ends. The first quote was already read.
fn fenced_value(cursor: &TextCursor<'_>, quote: char, fence: &str) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    cursor.eat(fence);
    let reach = cursor.rest().floor_char_boundary(MAX_VALUE_LENGTH);
    let inside = &cursor.rest()[..reach];
    let end = inside.match_indices(quote).find(|(at, _)| inside[at + 1..].starts_with(fence))?.0;
    let start = cursor.at() + inside[..end].len() - inside[..end].trim_start().len();
    Some(start..start + inside[..end].trim().len())
}

fn begins_assignment(text: &str) -> bool {
    let name =
        text.bytes().take(MAX_AFFIX_LENGTH).take_while(|byte| is_name(char::from(*byte)) || *byte == b' ').count();
    text.is_empty() || name > 0 && matches!(text.as_bytes().get(name), Some(b'=' | b':'))
}
