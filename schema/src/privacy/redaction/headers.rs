//! Finds secrets in HTTP headers: `Authorization`, and cookies in both directions.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite};
use super::values;

/// Finds the credentials of an `Authorization` header, or the text after `Bearer`.
pub(super) fn find_authorization(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let mut shortest = MIN_BEARER_LENGTH;
    if site.trigger == "authorization" {
        skip_to_value(&mut cursor)?;
        shortest = MIN_RAW_LENGTH;
        for scheme in ["bearer ", "basic ", "token ", "apikey ", "bot ", "ssws ", "key "] {
            if cursor.eat_ignoring_case(scheme) {
                shortest = MIN_LENGTH_WITH_SCHEME;
            }
        }
    }
    cursor.skip_blanks();
    let start = cursor.at();
    let value = cursor.take(usize::MAX, |character| {
        character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '~' | '+' | '/' | '-')
    });
    let value = value.trim_end_matches('.');
    let mut end = TextCursor::new(site.text, start + value.len());
    end.take(2, |character| character == '=');
    (value.len() >= shortest && values::is_mixed_base64(value) && !values::is_reference(value)).then(|| start..end.at())
}

/// Lengths in bytes.
const MIN_BEARER_LENGTH: usize = 12;
const MIN_RAW_LENGTH: usize = 16;
const MIN_LENGTH_WITH_SCHEME: usize = 6;

/// Finds all cookies of a `Cookie` header or of `document.cookie = …`. In a `Set-Cookie` header it finds only the value.
pub(super) fn find_cookies(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let is_flag = site.text[..site.at].ends_with("--");
    if !(is_flag && cursor.skip_blanks() > 0) {
        skip_to_value(&mut cursor)?;
    } else {
        cursor.take(1, |character| matches!(character, '"' | '\''));
    }
    let is_set = site.text[..site.at].to_ascii_lowercase().ends_with("set-");
    find_cookie_pairs(&cursor, is_set)
}

/// Finds `name=value; name=value` if one of the values could be a secret.
pub(super) fn find_cookie_pairs(cursor: &TextCursor<'_>, only_first: bool) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    let mut span: Option<Range<usize>> = None;
    loop {
        let start = cursor.at();
        let name =
            cursor.take(MAX_COOKIE_NAME_LENGTH, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$'));
        if name.is_empty() || !cursor.eat("=") {
            break;
        }
        let value_start = cursor.at();
        let value =
            cursor.take(usize::MAX, |c| !c.is_whitespace() && !matches!(c, ';' | '"' | '\'' | '`' | '\\' | ',' | '<'));
        let could_be_secret = value.len() >= MIN_COOKIE_LENGTH && values::is_literal(value);
        if only_first {
            return could_be_secret.then(|| value_start..cursor.at());
        }
        span = match span {
            Some(span) => Some(span.start..cursor.at()),
            None if could_be_secret => Some(start..cursor.at()),
            None => None,
        };
        if !cursor.eat(";") {
            break;
        }
        cursor.skip_blanks();
    }
    span
}

/// In bytes.
const MAX_COOKIE_NAME_LENGTH: usize = 64;
const MIN_COOKIE_LENGTH: usize = 5;

/// Moves from the name of a header to its value.
fn skip_to_value(cursor: &mut TextCursor<'_>) -> Option<()> {
    let closers = cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | ']' | '*'));
    cursor.skip_blanks();
    // `setHeader("Cookie", "…")`. Without quotes, a comma separates other arguments.
    let is_argument = !closers.is_empty() && cursor.eat(",");
    if !(is_argument || cursor.eat(":") || cursor.eat("=>") || cursor.eat("=")) {
        return None;
    }
    cursor.skip_blanks();
    cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | '*'));
    cursor.skip_blanks();
    Some(())
}
