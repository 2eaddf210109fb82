//! Finds values that a sentence assigns to a name: `the password is hunter2`, `비밀번호를 hunter2로`, `das Passwort lautet hunter2`.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite, is_cjk};
use super::literals::{MAX_VALUE_LENGTH, PREVIEW, bare_value, quoted_value};
use super::names::ValueName;
use super::values::{self, AssignmentForm, CandidateValue, NameFamily};
use super::words::{CHANGES, DESCRIPTIONS, PARTICLES, VERBS};

/// Finds the value that follows a name in the same sentence, if it looks like a secret and not like an ordinary word.
pub(super) fn find_mentioned(
    site: &TriggerSite<'_>,
    name: &ValueName<'_>,
    family: NameFamily,
    mut cursor: TextCursor<'_>,
) -> Option<Range<usize>> {
    if matches!(family, NameFamily::Weak) || name.is_plural || !may_hold_secret(cursor.rest()) {
        return None;
    }
    let link = MentionLink::read(&mut cursor)?;
    cursor.take(2, |character| matches!(character, '(' | '「'));
    let literal = quoted_value(&cursor);
    let quoted = literal.is_some();
    let span = literal.unwrap_or_else(|| bare_value(&cursor, PREVIEW));
    let text = &site.text[span.clone()];
    let is_clear = match link {
        MentionLink::Verb => true,
        // `pass` alone is a verb, or means a run.
        _ if site.trigger == "pass" && !name.prefix.ends_with(char::is_alphanumeric) => false,
        MentionLink::Direct if quoted => true,
        MentionLink::Direct => values::is_strikingly_secret(text, family),
        MentionLink::Distant => {
            family == NameFamily::Password && (values::has_symbol(text) || is_about_change(site, name))
        }
    };
    let value = CandidateValue { text, is_quoted: quoted, form: AssignmentForm::Sentence, is_plural: false };
    let whole = || if quoted { span.clone() } else { bare_value(&cursor, MAX_VALUE_LENGTH) };
    (is_clear && values::is_secret(&value, family)).then(whole)
}

/// Whether a text can contain a secret. Names are frequent in prose about them, which rarely has a digit nearby.
fn may_hold_secret(text: &str) -> bool {
    text.as_bytes()
        .iter()
        .take(VALUE_DISTANCE)
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'!' | b'$' | b'%' | b'^'))
}

/// How far behind a name a value is looked for, in bytes.
const VALUE_DISTANCE: usize = 120;

/// Whether the words before a name announce a new value, as in `changed the password to …`.
fn is_about_change(site: &TriggerSite<'_>, name: &ValueName<'_>) -> bool {
    let before = &site.text[..name.start];
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(24))..];
    near.to_ascii_lowercase().split_whitespace().any(|word| CHANGES.contains(word))
}

/// The link between a name and its value.
enum MentionLink {
    /// A word or sign that assigns the value: `is`, `lautet`, `를`, `→`.
    Verb,
    /// Only blanks.
    Direct,
    /// Words that describe the name.
    Distant,
}

impl MentionLink {
    fn read(cursor: &mut TextCursor<'_>) -> Option<Self> {
        cursor.take(2, |character| matches!(character, '"' | '\'' | '`' | '*'));
        let mut is_told = PARTICLES.iter().any(|particle| cursor.eat(particle));
        let (mut words, mut is_apart) = (0, false);
        loop {
            let blanks = cursor.skip_blanks();
            is_apart |= blanks > 0;
            if blanks > 0 && ["-> ", "→", "—", "–", "- "].iter().any(|sign| cursor.eat(sign)) {
                is_told = true;
                continue;
            }
            let mut ahead = cursor.clone();
            let word = ahead.take(MAX_WORD_LENGTH, |character| character.is_alphabetic() && !is_cjk(character));
            let ends = !matches!(ahead.peek(), Some(' ' | ':'));
            if word.is_empty() || ends || blanks == 0 && !is_told && words == 0 {
                break;
            }
            if VERBS.contains(word) {
                is_told = true;
            } else if is_told || words == MAX_WORDS || DESCRIPTIONS.contains(word) {
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
            _ => Some(Self::Distant),
        }
    }
}

/// In bytes.
const MAX_WORD_LENGTH: usize = 24;
/// Enough for `the password for the new staging database is …`.
const MAX_WORDS: usize = 6;
