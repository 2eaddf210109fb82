//! The headers of HTTP that carry secrets: `Authorization`, and cookies in both directions.

use std::ops::Range;

use super::cursor::Cursor;
use super::rule::Site;
use super::values;

/// The credentials of an `Authorization` header, or what follows `Bearer`.
pub(super) fn authorization(site: &Site<'_>) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(site.text, site.behind());
    let mut shortest = SHORTEST_BEARER;
    if site.trigger == "authorization" {
        begin_value(&mut cursor)?;
        shortest = SHORTEST_RAW;
        for scheme in ["bearer ", "basic ", "token ", "apikey ", "bot ", "ssws ", "key "] {
            if cursor.eat_ignoring_case(scheme) {
                shortest = SHORTEST_WITH_SCHEME;
            }
        }
    }
    cursor.skip_blanks();
    let start = cursor.at();
    let value = cursor.take(usize::MAX, |character| {
        character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '~' | '+' | '/' | '-')
    });
    let value = value.trim_end_matches('.');
    let mut end = Cursor::new(site.text, start + value.len());
    end.take(2, |character| character == '=');
    (value.len() >= shortest && values::is_mixed(value) && !values::is_reference(value)).then(|| start..end.at())
}

const SHORTEST_BEARER: usize = 12;
const SHORTEST_RAW: usize = 16;
const SHORTEST_WITH_SCHEME: usize = 6;

/// The cookies of a `Cookie` header or of `document.cookie = …`, all of them; of a `Set-Cookie` header the value alone.
pub(super) fn cookie(site: &Site<'_>) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(site.text, site.behind());
    let is_flag = site.text[..site.at].ends_with("--");
    if !(is_flag && cursor.skip_blanks() > 0) {
        begin_value(&mut cursor)?;
    } else {
        cursor.take(1, |character| matches!(character, '"' | '\''));
    }
    let is_set = site.text[..site.at].to_ascii_lowercase().ends_with("set-");
    cookies(&cursor, is_set)
}

/// The `name=value; name=value` that stands here, when one of the values could be a secret.
pub(super) fn cookies(cursor: &Cursor<'_>, only_first: bool) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    let mut span: Option<Range<usize>> = None;
    loop {
        let start = cursor.at();
        let name =
            cursor.take(LONGEST_COOKIE_NAME, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$'));
        if name.is_empty() || !cursor.eat("=") {
            break;
        }
        let value_start = cursor.at();
        let value =
            cursor.take(usize::MAX, |c| !c.is_whitespace() && !matches!(c, ';' | '"' | '\'' | '`' | '\\' | ',' | '<'));
        let could_be_secret =
            value.len() >= SHORTEST_COOKIE && !values::is_reference(value) && !values::is_masked(value);
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

const LONGEST_COOKIE_NAME: usize = 64;
const SHORTEST_COOKIE: usize = 5;

/// Moves from behind a header's name to its value, whatever a program puts between them.
fn begin_value(cursor: &mut Cursor<'_>) -> Option<()> {
    let closers = cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | ']' | '*'));
    cursor.skip_blanks();
    // `setHeader("Cookie", "…")`; without quotes the comma stands between arguments.
    let is_argument = !closers.is_empty() && cursor.eat(",");
    if !(is_argument || cursor.eat(":") || cursor.eat("=>") || cursor.eat("=")) {
        return None;
    }
    cursor.skip_blanks();
    cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | '*'));
    cursor.skip_blanks();
    Some(())
}
