//! Values that are secret because of the name they are given: `password=…`, `"api_key": "…"`, `--token …`, `비밀번호: …`.
//!
//! Reads the name, the separator and the value; whether the value looks like a secret is decided in `values`.

use std::ops::Range;

use super::cursor::Cursor;
use super::rule::Site;
use super::values::{self, Family, Form, Value};
use super::words::{self, HARMLESS_KEYS};

pub(super) fn password(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Password)
}

pub(super) fn secret(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Secret)
}

pub(super) fn token(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Token)
}

pub(super) fn key(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Key)
}

/// A name that holds other things more often than secrets: only a random value is one.
pub(super) fn weak(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Weak)
}

fn assigned(site: &Site<'_>, family: Family) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(site.text, site.behind());
    let name = Name::read(site, &mut cursor)?;
    let closers = cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '*' | ']' | '\\' | ')'));
    let blanks = cursor.skip_blanks();
    let separator = match Separator::read(&name, closers, blanks, family, &mut cursor) {
        Some(separator) => separator,
        None if family == Family::Password
            && closers.is_empty()
            && follows_plainly(site, &name, blanks, &mut cursor) =>
        {
            Separator::Verb
        }
        None => return None,
    };
    let spaced = cursor.skip_blanks() + blanks > 0;
    if separator == Separator::Colon {
        skip_declared_type(&mut cursor);
    }
    let literal = quoted_value(&cursor);
    let quoted = literal.is_some();
    let span = literal.unwrap_or_else(|| bare_value(&cursor, PREVIEW));
    let form = form(site, &name, &separator, spaced, &span);
    let behind = &site.text[span.end..];
    if separator == Separator::Tag && !behind.starts_with("</") {
        return None;
    }
    // `$self->password` is read to the `-`, because a bare value ends at `>`.
    if !quoted && site.text[span.clone()].ends_with('-') && behind.starts_with('>') {
        return None;
    }
    let value = Value { text: &site.text[span.clone()], quoted, form, plural: name.plural };
    let whole = || if quoted { span.clone() } else { bare_value(&cursor, LONGEST_VALUE) };
    values::is_secret(&value, family).then(whole)
}

/// Whether a value follows without a sign between: on the next line below a name that stands alone, or behind a Korean name.
fn follows_plainly(site: &Site<'_>, name: &Name<'_>, blanks: usize, cursor: &mut Cursor<'_>) -> bool {
    let before = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '#']);
    let mut ahead = cursor.clone();
    let is_below = (ahead.eat("\r\n") || ahead.eat("\n"))
        && name.prefix.trim_start_matches('-').is_empty()
        && (before.is_empty() || before.ends_with('\n'));
    let is_korean = blanks > 0 && site.trigger.starts_with(is_hangul);
    if is_below {
        let line = ahead.rest().lines().next().unwrap_or_default().trim();
        *cursor = ahead;
        return !line.contains(char::is_whitespace) && values::is_told(line, Family::Password);
    }
    let word = &site.text[bare_value(cursor, PREVIEW)];
    // One digit makes a name such as `oauth2`, which such sentences are about.
    is_korean && word.bytes().filter(u8::is_ascii_digit).count() > 2 && values::is_told(word, Family::Password)
}

/// The name around a trigger.
struct Name<'t> {
    /// What stands before the trigger in the same word.
    prefix: &'t str,
    is_upper: bool,
    plural: bool,
    is_flag: bool,
    start: usize,
}

impl<'t> Name<'t> {
    /// Reads to the end of the name; `None` when it names something about a secret rather than the secret.
    fn read(site: &Site<'t>, cursor: &mut Cursor<'t>) -> Option<Self> {
        let before = &site.text.as_bytes()[..site.at];
        let length = before.iter().rev().take(LONGEST_AFFIX).take_while(|byte| is_name(char::from(**byte))).count();
        let start = site.at - length;
        let prefix = &site.text[start..site.at];
        let found = &site.text[site.at..site.behind()];
        let suffix = cursor.take(LONGEST_AFFIX, is_name);
        let plural = matches!(suffix, "s" | "S");
        if !(plural || Self::is_separate(found, suffix)) || values::describes(suffix) || !Self::may_follow(prefix, site)
        {
            return None;
        }
        let is_upper = !site.text[start..cursor.at()].bytes().any(|byte| byte.is_ascii_lowercase());
        Some(Self { prefix, is_upper, plural, is_flag: prefix.starts_with('-'), start })
    }

    /// Whether a suffix is a word of its own: `password2`, `tokenProd`, `SECRET_KEY`, but not `tokenizer`.
    fn is_separate(found: &str, suffix: &str) -> bool {
        suffix.chars().next().is_none_or(|first| {
            matches!(first, '_' | '-' | '.')
                || first.is_ascii_digit()
                || first.is_ascii_uppercase() && found.ends_with(|last: char| last.is_ascii_lowercase())
        })
    }

    /// Short triggers are parts of ordinary words (`compass`, `bypass`), and `pass` alone is one unless `=` follows.
    fn may_follow(prefix: &str, site: &Site<'_>) -> bool {
        let last = prefix.chars().next_back();
        let begins_word = last.is_none_or(|last| !last.is_ascii_alphanumeric())
            || last.is_some_and(|last| last.is_ascii_lowercase()) && site.text.as_bytes()[site.at].is_ascii_uppercase();
        match site.trigger {
            "pass" => begins_word && (!prefix.is_empty() || site.text[site.behind()..].starts_with('=')),
            "pwd" | "비번" => begins_word,
            "key" | "auth" | "session" | "signature" => begins_word && !Self::is_harmless(prefix),
            _ => !["max_", "min_", "num_", "max-", "min-", "no-"]
                .iter()
                .any(|word| prefix.to_ascii_lowercase().ends_with(word)),
        }
    }

    /// Whether the words before `key` or `signature` say that it is none to hide: `cache_key`, `public-key`.
    fn is_harmless(prefix: &str) -> bool {
        let prefix = prefix.to_ascii_lowercase();
        let mut parts = prefix.split(|character: char| !character.is_ascii_alphanumeric());
        parts.any(|part| words::has(HARMLESS_KEYS, part))
    }
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

const LONGEST_AFFIX: usize = 48;

/// What stands between a name and its value.
#[derive(PartialEq, Eq)]
enum Separator {
    Equals,
    Colon,
    /// `--password hunter2`
    Blank,
    /// `PASSWORD 'hunter2'` of SQL
    BlankBeforeQuote,
    /// `<password>hunter2</password>`
    Tag,
    /// `the password is hunter2`, `비밀번호는 hunter2`
    Verb,
}

impl Separator {
    fn read(name: &Name<'_>, closers: &str, blanks: usize, family: Family, cursor: &mut Cursor<'_>) -> Option<Self> {
        let says = closers.is_empty() && Self::is_verb(blanks, cursor);
        let separator = if ["===", "==", "=>", "=", ":=", "?=", "!==", "!=", "＝"].iter().any(|sign| cursor.eat(sign))
        {
            Self::Equals
        } else if cursor.eat(":") || cursor.eat("：") {
            // The colon of `Type::name` separates no value.
            if cursor.peek() == Some(':') {
                return None;
            }
            Self::Colon
        } else if says {
            Self::Verb
        } else if blanks > 0 && closers.is_empty() && name.is_flag {
            Self::Blank
        } else if blanks > 0 && closers.is_empty() && family == Family::Password && cursor.peek() == Some('\'') {
            Self::BlankBeforeQuote
        } else if closers.is_empty() && cursor.eat(">") {
            return Some(Self::Tag);
        } else {
            return None;
        };
        // Markdown closes its emphasis behind the colon: `**Password:** hunter2`.
        if cursor.rest().starts_with("** ") {
            cursor.eat("**");
        }
        Some(separator)
    }

    /// Moves past `is`, or past the particle of a Korean topic or subject, when a value can follow it.
    fn is_verb(blanks: usize, cursor: &mut Cursor<'_>) -> bool {
        let mut ahead = cursor.clone();
        let found = if blanks > 0 {
            ahead.eat_ignoring_case("is ")
        } else {
            ["는 ", "은 ", "가 ", "이 ", "는", "은"].iter().any(|particle| ahead.eat(particle))
        };
        let found = found && (blanks > 0 || !ahead.peek().is_none_or(is_hangul));
        if found {
            *cursor = ahead;
        }
        found
    }
}

/// Moves from `password: &str = "…"` to its literal.
fn skip_declared_type(cursor: &mut Cursor<'_>) {
    let mut ahead = cursor.clone();
    ahead.take(48, |character| character.is_ascii_alphanumeric() || "_<>&'[] .?|*".contains(character));
    if ahead.eat("=") {
        ahead.skip_blanks();
        if quoted_value(&ahead).is_some() {
            *cursor = ahead;
        }
    }
}

/// The inside of the string literal that stands here, which may itself stand in an escaped string.
fn quoted_value(cursor: &Cursor<'_>) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    let mut prefixed = cursor.clone();
    prefixed.take(2, |character| matches!(character, 'b' | 'r' | 'u' | 'f' | '@'));
    if matches!(prefixed.peek(), Some('"' | '\'')) {
        cursor = prefixed;
    }
    let escape = cursor.take(3, |character| character == '\\');
    let quote = cursor.peek().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    cursor.take(1, |character| character == quote);
    let start = cursor.at();
    let mut escaped = false;
    for (index, character) in cursor.rest().char_indices().take(LONGEST_VALUE) {
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

/// Longer values are cut here; a password has long ended, and what a longer token leaves behind is no token.
const LONGEST_VALUE: usize = 4096;

/// How much of a bare value is looked at to decide. A text of names without end would otherwise be read 4,096 times.
const PREVIEW: usize = 256;

/// A value without quotes: to the next space, without the punctuation of the text around it.
fn bare_value(cursor: &Cursor<'_>, limit: usize) -> Range<usize> {
    let mut cursor = cursor.clone();
    cursor.take(3, |character| matches!(character, '"' | '\'' | '`' | '\\'));
    let start = cursor.at();
    let run = cursor.take(limit, |character| {
        !character.is_whitespace() && !matches!(character, '"' | '\'' | '`' | '<' | '>') && !is_hangul(character)
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
            // A literal `\n` or `\"` belongs to the string around this text.
            '\\' => rest.is_empty() || rest.starts_with(['n', 'r', 't', '\\']),
            _ => false,
        };
        if ends {
            end = index;
            break;
        }
    }
    let value = run[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '|', '*', '…', '。']);
    // A mask of stars, and a password that ends in `!`, are not punctuation.
    let value = if value.is_empty() { &run[..end] } else { value };
    let kept = run[..end].len() - value.len();
    let bangs = run[value.len()..value.len() + kept].bytes().take_while(|byte| matches!(byte, b'!' | b'*')).count();
    start..start + value.len() + bangs
}

fn begins_assignment(text: &str) -> bool {
    let name = text.bytes().take(LONGEST_AFFIX).take_while(|byte| is_name(char::from(*byte)) || *byte == b' ').count();
    text.is_empty() || name > 0 && matches!(text.as_bytes().get(name), Some(b'=' | b':'))
}

pub(super) fn is_hangul(character: char) -> bool {
    matches!(character, '가'..='힣' | 'ㄱ'..='ㆎ')
}

/// How the assignment is written, which says how much a plain word is worth.
fn form(site: &Site<'_>, name: &Name<'_>, separator: &Separator, spaced: bool, span: &Range<usize>) -> Form {
    let before = site.text[..name.start].chars().next_back();
    let line_start = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '"']).chars().next_back();
    let next = site.text[span.end..].chars().next();
    let ends_line = matches!(next, None | Some('\n' | '\r' | '\\'));
    match separator {
        Separator::Blank => Form::Flag,
        Separator::Tag => Form::Shell,
        Separator::Verb => Form::Sentence,
        Separator::Equals if name.is_flag && !spaced => Form::Shell,
        Separator::Equals if !spaced && (name.is_upper || matches!(before, Some('?' | '&' | ';'))) => Form::Shell,
        Separator::Equals if !spaced && matches!(next, None | Some(' ' | '\n' | '\r' | '&' | ';')) => Form::Line,
        _ if ends_line && matches!(line_start, None | Some('\n')) && !name.prefix.contains('(') => Form::Line,
        _ => Form::Code,
    }
}
