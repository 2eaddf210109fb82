//! Values that a sentence gives to a name: `the password is hunter2`, `비밀번호를 hunter2로`, `das Passwort lautet hunter2`.

use std::ops::Range;

use super::assignments::{LONGEST_VALUE, PREVIEW, bare_value, is_cjk, quoted_value};
use super::cursor::Cursor;
use super::names::Name;
use super::rule::Site;
use super::values::{self, Family, Form, Value};
use super::words::{self, CHANGES, DESCRIPTIONS, PARTICLES, VERBS};

/// The value that follows a name in the same sentence, when it looks like a secret rather than the next word.
pub(super) fn value(site: &Site<'_>, name: &Name<'_>, family: Family, mut cursor: Cursor<'_>) -> Option<Range<usize>> {
    if matches!(family, Family::Weak) || name.plural || !may_hold_secret(cursor.rest()) {
        return None;
    }
    let link = Link::read(&mut cursor)?;
    cursor.take(2, |character| matches!(character, '(' | '「'));
    let literal = quoted_value(&cursor);
    let quoted = literal.is_some();
    let span = literal.unwrap_or_else(|| bare_value(&cursor, PREVIEW));
    let text = &site.text[span.clone()];
    let is_clear = match link {
        Link::Verb => true,
        // `pass` alone is a verb, and a turn.
        _ if site.trigger == "pass" && !name.prefix.ends_with(char::is_alphanumeric) => false,
        Link::Direct if quoted => true,
        Link::Direct => values::is_striking(text, family),
        Link::Remote => family == Family::Password && (values::has_symbol(text) || is_changed(site, name)),
    };
    let value = Value { text, quoted, form: Form::Sentence, plural: false };
    let whole = || if quoted { span.clone() } else { bare_value(&cursor, LONGEST_VALUE) };
    (is_clear && values::is_secret(&value, family)).then(whole)
}

/// Whether a secret can follow at all. Names are frequent in prose about them, which mostly holds no digit nearby.
fn may_hold_secret(text: &str) -> bool {
    text.as_bytes().iter().take(REACH).any(|byte| byte.is_ascii_digit() || matches!(byte, b'!' | b'$' | b'%' | b'^'))
}

const REACH: usize = 120;

/// Whether the words before a name say that it gets a new value: `changed the password to …`.
fn is_changed(site: &Site<'_>, name: &Name<'_>) -> bool {
    let before = &site.text[..name.start];
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(24))..];
    near.to_ascii_lowercase().split_whitespace().any(|word| words::has(CHANGES, word))
}

/// What stands between a name and its value.
enum Link {
    /// A word or a sign that says what the name is: `is`, `lautet`, `를`, `→`.
    Verb,
    /// Nothing.
    Direct,
    /// Words that say whose it is.
    Remote,
}

impl Link {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        cursor.take(2, |character| matches!(character, '"' | '\'' | '`' | '*'));
        let mut is_told = PARTICLES.split(' ').any(|particle| cursor.eat(particle));
        let (mut words, mut is_apart) = (0, false);
        loop {
            let blanks = cursor.skip_blanks();
            is_apart |= blanks > 0;
            if blanks > 0 && ["-> ", "→", "—", "–", "- "].iter().any(|sign| cursor.eat(sign)) {
                is_told = true;
                continue;
            }
            let mut ahead = cursor.clone();
            let word = ahead.take(LONGEST_WORD, |character| character.is_alphabetic() && !is_cjk(character));
            let ends = !matches!(ahead.peek(), Some(' ' | ':'));
            if word.is_empty() || ends || blanks == 0 && !is_told && words == 0 {
                break;
            }
            if words::has(VERBS, word) {
                is_told = true;
            } else if is_told || words == MOST_WORDS || words::has(DESCRIPTIONS, word) {
                return None;
            } else {
                words += 1;
            }
            *cursor = ahead;
            is_told |= cursor.eat(":");
        }
        if is_told {
            let _ = cursor.eat(":") && cursor.skip_blanks() > 0 || cursor.eat("\n");
        }
        match words {
            _ if is_told => Some(Self::Verb),
            0 => is_apart.then_some(Self::Direct),
            _ => Some(Self::Remote),
        }
    }
}

const LONGEST_WORD: usize = 24;
/// `the password for the new staging database is …`
const MOST_WORDS: usize = 6;
