//! Whether a value that stands behind the name of a secret is one, or a reference, a placeholder, a type, a word.
//!
//! The more a name says (`password` more than `token`) and the less the place looks like a program, the less is asked
//! of the value.

use super::cursor::is_cjk;
use super::entropy;
use super::words::{self, ALGORITHMS, DESCRIPTIONS, FILE_ENDINGS, OWNERS, SCHEMES, SENTENCE_WORDS, WORDS};

/// What the name of a value says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameFamily {
    /// Chosen by people, so that any word can be one.
    Password,
    /// Either.
    Secret,
    /// Made by machines; the name has many other uses.
    Token,
    /// Made by machines.
    Key,
    /// Anything; the name (`key`, `session`) is used for much else.
    Weak,
}

/// How a value is assigned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignmentForm {
    /// `NAME=value`, `?name=value`, `--name=value`: hardly anything but a value can stand here.
    Shell,
    /// `--name value`: a sentence about the flag looks the same.
    Flag,
    /// A line of its own, as in YAML: a type or a remark looks the same.
    OwnLine,
    /// Anything else: an expression of a program looks the same.
    Code,
    /// `the password is hunter2`: most sentences go on with what is true of it.
    Sentence,
}

/// A value and what is known of its place.
pub(super) struct CandidateValue<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
    pub(super) form: AssignmentForm,
    /// Whether the name is a plural, which announces a count more often than a secret.
    pub(super) is_plural: bool,
}

/// Whether a value of this family is a secret.
pub(super) fn is_secret(value: &CandidateValue<'_>, family: NameFamily) -> bool {
    let text = value.text;
    // First, because the names are frequent and hardly any of their values passes.
    if family == NameFamily::Weak && (value.form == AssignmentForm::Sentence || !entropy::is_random(text)) {
        return false;
    }
    if text.len() < min_length(family) || is_masked(text) || is_reference(text) || is_placeholder(text) {
        return false;
    }
    if text.contains(char::is_whitespace) {
        return matches!(family, NameFamily::Password | NameFamily::Secret) && !value.is_plural && is_passphrase(text);
    }
    if !text.bytes().any(|byte| byte.is_ascii_digit()) && text.chars().any(is_cjk) {
        return false;
    }
    if !value.is_quoted && value.form != AssignmentForm::Shell && is_expression(text) {
        return false;
    }
    if family == NameFamily::Weak {
        return !is_digest(value);
    }
    if value.form == AssignmentForm::Sentence && !is_mentioned_secret(text, family) {
        return false;
    }
    if value.is_plural || matches!(family, NameFamily::Token | NameFamily::Key) {
        return is_machine_made(value);
    }
    is_human_chosen(value, family)
}

/// Whether a sentence that says what a password is goes on with it rather than with a remark: a word with a digit, which
/// no algorithm is called, or a number of some length.
pub(super) fn is_mentioned_secret(value: &str, family: NameFamily) -> bool {
    let is_chosen = matches!(family, NameFamily::Password | NameFamily::Secret);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == value.len() {
        return family == NameFamily::Password && (6..=12).contains(&digits);
    }
    let lower = value.to_ascii_lowercase();
    value.len() >= if is_chosen { 6 } else { 16 }
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && (digits > 0 || is_chosen && has_symbol(value))
        && !is_measure(&lower)
        && !ALGORITHMS.split_ascii_whitespace().any(|name| lower.starts_with(name))
}

/// Whether a word behind a name is a secret although no verb says so.
pub(super) fn is_strikingly_secret(value: &str, family: NameFamily) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_inside =
        value.trim_end_matches(|character: char| character.is_ascii_digit()).bytes().any(|byte| byte.is_ascii_digit());
    match family {
        NameFamily::Password => digits > 1 || has_symbol(value) || is_inside && value.len() > 6,
        _ => entropy::is_random(value),
    }
}

/// Whether a word holds a sign that hardly any word but a password does.
pub(super) fn has_symbol(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && value.contains(['!', '$', '%', '^', '&', '*', '@', '#'])
        || value.trim_end_matches(['!', '%']).contains(['!', '$', '%', '^'])
}

/// `8-character`, `16bytes`, `3600s`
fn is_measure(value: &str) -> bool {
    let unit = value.trim_start_matches(|character: char| character.is_ascii_digit());
    let unit_word = unit.trim_start_matches(['-', '_', '+']);
    unit.len() < value.len() && unit_word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a value of a weak name is the hash of something or the number of a thing.
fn is_digest(value: &CandidateValue<'_>) -> bool {
    let text = value.text;
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_labelled = ["sha1", "sha2", "sha3", "sha5", "md5", "h1:", "w/", "blake"]
        .iter()
        .any(|label| text.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label)));
    // In an environment or a query a hexadecimal key is handed over; elsewhere it is what something hashes to.
    is_labelled || is_hexadecimal(text) && (text.contains('-') || value.form != AssignmentForm::Shell)
}

fn min_length(family: NameFamily) -> usize {
    if family == NameFamily::Password { 4 } else { 6 }
}

/// Whether the rest of a name makes it something about a secret: `token_count`, `password-reset`, `SECRET_NAME`.
pub(super) fn is_describing_suffix(suffix: &str) -> bool {
    let mut word = String::new();
    let mut words = Vec::new();
    for character in suffix.chars() {
        if !character.is_ascii_alphanumeric()
            || character.is_ascii_uppercase() && word.ends_with(|last: char| last.is_ascii_lowercase())
        {
            words.push(std::mem::take(&mut word));
        }
        if character.is_ascii_alphanumeric() {
            word.push(character);
        }
    }
    words.push(word);
    if suffix.rsplit_once('.').is_some_and(|(_, ending)| words::list_contains(FILE_ENDINGS, ending)) {
        return true;
    }
    words.iter().any(|word| words::list_contains(DESCRIPTIONS, &word.to_ascii_lowercase()))
}

/// Whether a value is only a mask: `****`, `xxxx`, `…`, or a secret that was shortened with dots.
pub(super) fn is_masked(value: &str) -> bool {
    let masks = |character: char| matches!(character, '*' | 'x' | 'X' | '.' | '•' | '●' | '-' | '_' | '#' | '?' | '…');
    value.chars().all(masks) || value.contains("...") || value.contains('…') || value.contains("***")
}

/// Whether a value says where the secret is instead of being it: a variable, a template, a call, a member, a path.
pub(super) fn is_reference(value: &str) -> bool {
    let mut characters = value.chars();
    let Some(first) = characters.next() else { return true };
    let rest = characters.as_str();
    let is_word = !rest.is_empty() && rest.chars().all(is_word_character);
    match first {
        '$' if rest.starts_with(['{', '(', '[']) || is_word && !rest.starts_with(|c: char| c.is_ascii_digit()) => true,
        '$' if rest.trim_start_matches(is_word_character).starts_with('/') => true,
        '&' if rest.starts_with(['[', '\'']) => true,
        '$' if rest.starts_with("env:") || rest.starts_with("this") => true,
        '<' | '{' | '[' | '(' | '`' => true,
        '%' => value.len() < 4 || value.ends_with('%') || rest.starts_with(['(', '{', 's']),
        '#' => rest.starts_with('{'),
        '!' | '&' | '@' | '*' | ':' => {
            let is_plain = is_word && !rest.bytes().any(|byte| byte.is_ascii_digit());
            is_plain || is_call(rest) || is_member(rest) || rest.starts_with("lt;") || rest.starts_with("#x3")
        }
        // A pattern between slashes is code.
        '/' if rest.starts_with('^') || rest.contains('[') => true,
        '.' | '~' | '/' => is_path(value),
        _ => {
            ["${", "{{", "#{", "%(", "://", "::", "<%"].iter().any(|sign| judged_head(value).contains(sign))
                || value.split_once(':').is_some_and(|(scheme, _)| words::list_contains(SCHEMES, scheme))
                || is_call(value)
                || is_member(value)
                || is_path(value)
        }
    }
}

/// Long values are judged by how they begin, so that looking at many of them stays cheap.
fn judged_head(value: &str) -> &str {
    value.char_indices().nth(256).map_or(value, |(end, _)| &value[..end])
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// `getPassword()`, `env!("X")`, `os.environ["X"]`, `Option<String>`
fn is_call(value: &str) -> bool {
    let value = judged_head(value);
    let name = value.trim_start_matches(|character| is_word_character(character) || matches!(character, '.' | ':'));
    let callee = &value[..value.len() - name.len()];
    let name = name.trim_start_matches(['!', '?']);
    callee.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.starts_with(['(', '[', '<'])
}

/// `process.env.API_KEY`, `config.password`, `user?.token`; digits make it a value unless it begins like a reference.
fn is_member(value: &str) -> bool {
    let value = value.trim_end_matches("()");
    let mut parts = judged_head(value).split('.').map(|part| part.trim_end_matches(['?', '!']));
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(is_word_character) && !part.starts_with(|c: char| c.is_ascii_digit())
    };
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let is_owner = words::list_contains(OWNERS, first) || !value.bytes().any(|byte| byte.is_ascii_digit());
    !rest.is_empty() && is_owner && is_name(first) && rest.into_iter().all(is_name)
}

/// `/run/secrets/token`, `./token.txt`, `C:\keys`, `secrets/db.txt`
fn is_path(value: &str) -> bool {
    let is_plain = |character: char| is_word_character(character) || matches!(character, '/' | '.' | '-' | '~' | '@');
    let value = judged_head(value);
    let is_rooted = value.starts_with("./") || value.starts_with("../") || value.starts_with("~/");
    let slashes = value.matches('/').count();
    let has_extension = value.rsplit_once('.').is_some_and(|(_, extension)| (1..=5).contains(&extension.len()));
    let has_drive = matches!(value.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let is_absolute = value.starts_with('/') && (slashes > 1 || !value.bytes().any(|byte| byte.is_ascii_digit()));
    has_drive || value.chars().all(is_plain) && (is_rooted || is_absolute || slashes > 0 && has_extension)
}

/// Words that stand where a value would, and markers that say what to put there.
///
/// `changeme` is among them: it is what documentation prints, it protects nothing, and that a password was never set is
/// worth remembering.
fn is_placeholder(value: &str) -> bool {
    if value.len() > 64 {
        return false;
    }
    let value = value.to_lowercase();
    let is_word = |part: &str| words::list_contains(WORDS, part);
    value.split(['|', '/', ',', '!', '?', ':', ';']).all(|part| part.is_empty() || is_word(part))
        || ["your", "replace", "insert", "enter-", "enter_", "put-", "required|", "nullable|", "xxxx"]
            .iter()
            .any(|start| value.starts_with(start))
        || value.ends_with("-here")
        || value.ends_with("_here")
        || is_version(&value)
        || is_number(&value)
        || is_sequence(&value)
}

/// `0123456789abcdef`: what examples and tests put in the place of a value of 16 characters or more.
fn is_sequence(value: &str) -> bool {
    let follows = |pair: &[u8]| pair[1] == pair[0] + 1 || pair == b"9a";
    value.is_ascii() && value.len() >= 16 && value.as_bytes().windows(2).all(follows)
}

/// `0x00a`: a constant of a program.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix("0x").map(|digits| digits.trim_end_matches(['u', 'l']));
    digits.is_some_and(|digits| digits.len() <= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `1.2.3`, `v0.9`, and measures such as `0.12ms`.
fn is_version(value: &str) -> bool {
    let digits = value.strip_prefix('v').unwrap_or(value);
    let unit = digits.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let digits = if unit <= 2 { &digits[..digits.len() - unit] } else { digits };
    digits.contains('.') && digits.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether words in quotes are a passphrase rather than a sentence about one.
fn is_passphrase(value: &str) -> bool {
    let is_sentence = |word: &str| {
        words::list_contains(SENTENCE_WORDS, word.to_lowercase().trim_matches(|c: char| !c.is_alphanumeric()))
    };
    value.is_ascii() && value.len() <= 128 && !value.ends_with(':') && !value.split_whitespace().any(is_sentence)
}

/// Names, types and member accesses as programs write them without quotes.
fn is_expression(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_name = value.chars().all(is_word_character);
    let is_compound = value.contains('_') || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let digits_at_end = value.bytes().rev().take_while(u8::is_ascii_digit).count();
    let only_numbered = value.bytes().filter(u8::is_ascii_digit).count() == digits_at_end && digits_at_end <= 2;
    is_name && is_compound && value.len() <= 40 && (!has_digit || only_numbered && value.contains('_'))
}

/// Whether a token or a key could have been made by a machine: letters and digits, or a long run of letters.
fn is_machine_made(value: &CandidateValue<'_>) -> bool {
    let text = value.text;
    // `other.colon2_token`, `FTS5_MAX_TOKEN`: a name of a program, though there is a digit in it.
    if !value.is_quoted
        && value.form == AssignmentForm::Code
        && text.contains(['_', '.', '-'])
        && !entropy::is_alternating(text)
    {
        return false;
    }
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_assigned = value.form == AssignmentForm::Shell && !value.is_plural;
    match (letters, digits) {
        (0, digits) => digits >= 16 || is_assigned && digits >= 12,
        (_, 0) => {
            letters == text.len() && letters >= if value.is_quoted { 20 } else { 32 } || is_assigned && text.len() >= 8
        }
        _ => !value.is_plural || text.len() >= 16,
    }
}

/// Whether a password or a secret could have been chosen by a person for this place.
fn is_human_chosen(value: &CandidateValue<'_>, family: NameFamily) -> bool {
    let text = value.text;
    let is_word = text.chars().all(|character| character.is_alphabetic() || matches!(character, '_' | '-' | '.'));
    if !is_word {
        return value.form != AssignmentForm::Flag || !text.starts_with('-');
    }
    let echoes = ["pass", "pwd", "secret", "token"].iter().any(|name| text.to_ascii_lowercase().contains(name));
    let begins_lower = text.starts_with(|first: char| first.is_ascii_lowercase());
    match (value.form, family) {
        (AssignmentForm::Shell, _) => true,
        (_, NameFamily::Password) if value.is_quoted => !echoes,
        (_, _) if value.is_quoted => text.len() >= if text.contains(['-', '_', '.']) { 16 } else { 12 },
        (AssignmentForm::Flag, NameFamily::Password) => {
            begins_lower && !words::list_contains(SENTENCE_WORDS, text) && !text.starts_with('-')
        }
        (AssignmentForm::OwnLine, NameFamily::Password) => begins_lower && !echoes && !text.contains('_'),
        _ => false,
    }
}

/// Whether a run of base64 is more than a word: a digit, or a capital that does not begin it.
pub(super) fn is_mixed_base64(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}
