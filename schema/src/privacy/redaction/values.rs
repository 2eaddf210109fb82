//! Decides whether the value of a secret name is a secret, and not a reference, a placeholder, a type or a word.
//!
//! The more specific the name (`password` more than `token`) and the less the context looks like code, the less the value has to prove.

use super::cursor::is_cjk;
use super::entropy;
use super::words::{ALGORITHMS, DESCRIPTIONS, FILE_ENDINGS, OWNERS, SCHEMES, SENTENCE_WORDS, WORDS};
use crate::model::word_list::WordList;

/// The kind of value that a name announces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameFamily {
    /// Chosen by people, so any word can be a secret.
    Password,
    /// Chosen by people or made by machines.
    Secret,
    /// Made by machines. The name has many other uses.
    Token,
    /// Made by machines.
    Key,
    /// Any value. The name (`key`, `session`) mostly means something else.
    Weak,
}

/// The form of an assignment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AssignmentForm {
    /// `NAME=value`, `?name=value`, `--name=value`. Almost always a value.
    Shell,
    /// `--name value`. A sentence about the flag looks the same.
    Flag,
    /// A line of its own, as in YAML. A type or a remark looks the same.
    OwnLine,
    /// Anything else. An expression in code looks the same.
    Code,
    /// `the password is hunter2`. Most sentences continue with a remark.
    Sentence,
}

/// A value and its context.
pub(super) struct CandidateValue<'t> {
    pub(super) text: &'t str,
    pub(super) is_quoted: bool,
    pub(super) form: AssignmentForm,
    /// Whether the name is a plural, which more often names a count than a secret.
    pub(super) is_plural: bool,
}

/// Whether a value of this family is a secret.
pub(super) fn is_secret(value: &CandidateValue<'_>, family: NameFamily) -> bool {
    let text = value.text;
    // Checked first, because these names are frequent and hardly any of their values are random.
    if family == NameFamily::Weak && (value.form == AssignmentForm::Sentence || !entropy::is_random(text)) {
        return false;
    }
    if text.len() < min_length(family) || !is_literal(text) || is_placeholder(text) {
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

/// Whether a sentence about a password continues with the password and not with a remark: with a word that contains a digit and is not the
/// name of an algorithm, or with a long number.
fn is_mentioned_secret(value: &str, family: NameFamily) -> bool {
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
        && !ALGORITHMS.begins(&lower)
}

/// Whether a word after a name is clearly a secret, even without a verb between them.
pub(super) fn is_strikingly_secret(value: &str, family: NameFamily) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_inside =
        value.trim_end_matches(|character: char| character.is_ascii_digit()).bytes().any(|byte| byte.is_ascii_digit());
    match family {
        NameFamily::Password => digits > 1 || has_symbol(value) || is_inside && value.len() > 6,
        _ => entropy::is_random(value),
    }
}

/// Whether a word contains a symbol that hardly any word except a password contains.
pub(super) fn has_symbol(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && value.contains(['!', '$', '%', '^', '&', '*', '@', '#'])
        || value.trim_end_matches(['!', '%']).contains(['!', '$', '%', '^'])
}

/// Whether a value is a measure, such as `8-character`, `16bytes` or `3600s`.
fn is_measure(value: &str) -> bool {
    let unit = value.trim_start_matches(|character: char| character.is_ascii_digit());
    let unit_word = unit.trim_start_matches(['-', '_', '+']);
    unit.len() < value.len() && unit_word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether the value of a weak name is a hash or an id.
fn is_digest(value: &CandidateValue<'_>) -> bool {
    let text = value.text;
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_labelled = ["sha1", "sha2", "sha3", "sha5", "md5", "h1:", "w/", "blake"]
        .iter()
        .any(|label| text.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label)));
    // In environment variables and queries a hexadecimal value is likely a key, and elsewhere a hash.
    is_labelled || is_hexadecimal(text) && (text.contains('-') || value.form != AssignmentForm::Shell)
}

fn min_length(family: NameFamily) -> usize {
    if family == NameFamily::Password { 4 } else { 6 }
}

/// Whether the rest of a name makes it something about a secret, as in `token_count`, `password-reset` and `SECRET_NAME`.
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
    if suffix.rsplit_once('.').is_some_and(|(_, ending)| FILE_ENDINGS.contains(ending)) {
        return true;
    }
    words.iter().any(|word| DESCRIPTIONS.contains(&word.to_ascii_lowercase()))
}

/// Whether a value is neither empty, nor a reference, nor masked.
pub(super) fn is_literal(value: &str) -> bool {
    !is_reference(value) && !is_masked(value)
}

/// Whether a value is masked: `****`, `xxxx`, `…`, or a secret that was shortened with dots.
fn is_masked(value: &str) -> bool {
    let masks = |character: char| matches!(character, '*' | 'x' | 'X' | '.' | '•' | '●' | '-' | '_' | '#' | '?' | '…');
    value.chars().all(masks) || value.contains("...") || value.contains('…') || value.contains("***")
}

/// Whether a value refers to a secret: a variable, a template, a call, a member or a path.
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
                || value.split_once(':').is_some_and(|(scheme, _)| SCHEMES.contains(scheme))
                || is_call(value)
                || is_member(value)
                || is_path(value)
        }
    }
}

/// Returns the beginning of a long value, which is enough to judge it and keeps many checks cheap.
fn judged_head(value: &str) -> &str {
    value.char_indices().nth(256).map_or(value, |(end, _)| &value[..end])
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Whether a value is a call or an index, such as `getPassword()`, `env!("X")`, `os.environ["X"]` or `Option<String>`.
fn is_call(value: &str) -> bool {
    let value = judged_head(value);
    let name = value.trim_start_matches(|character| is_word_character(character) || matches!(character, '.' | ':'));
    let callee = &value[..value.len() - name.len()];
    let name = name.trim_start_matches(['!', '?']);
    callee.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.starts_with(['(', '[', '<'])
}

/// Whether a value is a member, such as `process.env.API_KEY`, `config.password` or `user?.token`. With digits it is a value, unless it
/// starts like a reference.
fn is_member(value: &str) -> bool {
    let value = value.trim_end_matches("()");
    let mut parts = judged_head(value).split('.').map(|part| part.trim_end_matches(['?', '!']));
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(is_word_character) && !part.starts_with(|c: char| c.is_ascii_digit())
    };
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let is_owner = OWNERS.contains(first) || !value.bytes().any(|byte| byte.is_ascii_digit());
    !rest.is_empty() && is_owner && is_name(first) && rest.into_iter().all(is_name)
}

/// Whether a value is a path, such as `/run/secrets/token`, `./token.txt`, `C:\keys` or `secrets/db.txt`.
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

/// Whether a value is a placeholder: a word that says there is no value, or what to put there.
///
/// `changeme` is one. Documentation prints it and it protects nothing, and it is worth remembering that a password was never set.
fn is_placeholder(value: &str) -> bool {
    static PLACEHOLDER_STARTS: WordList =
        WordList::words("your replace insert enter- enter_ put- xxxx required| nullable|");
    if value.len() > 64 {
        return false;
    }
    let value = value.to_lowercase();
    let is_word = |part: &str| WORDS.contains(part);
    value.split(['|', '/', ',', '!', '?', ':', ';']).all(|part| part.is_empty() || is_word(part))
        || PLACEHOLDER_STARTS.begins(&value)
        || value.ends_with("-here")
        || value.ends_with("_here")
        || is_version(&value)
        || is_number(&value)
        || is_sequence(&value)
}

/// Whether a value is a sequence such as `0123456789abcdef`, which examples and tests use for long values.
fn is_sequence(value: &str) -> bool {
    let follows = |pair: &[u8]| pair[1] == pair[0] + 1 || pair == b"9a";
    value.is_ascii() && value.len() >= 16 && value.as_bytes().windows(2).all(follows)
}

/// Whether a value is a hexadecimal constant such as `0x00a`.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix("0x").map(|digits| digits.trim_end_matches(['u', 'l']));
    digits.is_some_and(|digits| digits.len() <= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a value is a version such as `1.2.3` or `v0.9`, or a measure such as `0.12ms`.
fn is_version(value: &str) -> bool {
    let digits = value.strip_prefix('v').unwrap_or(value);
    let unit = digits.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let digits = if unit <= 2 { &digits[..digits.len() - unit] } else { digits };
    digits.contains('.') && digits.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether quoted words are a passphrase and not a sentence about one.
fn is_passphrase(value: &str) -> bool {
    let is_sentence =
        |word: &str| SENTENCE_WORDS.contains(word.to_lowercase().trim_matches(|c: char| !c.is_alphanumeric()));
    value.is_ascii() && value.len() <= 128 && !value.ends_with(':') && !value.split_whitespace().any(is_sentence)
}

/// Whether a value looks like an unquoted name or type in code.
fn is_expression(value: &str) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_name = value.chars().all(is_word_character);
    let is_compound = value.contains('_') || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let digits_at_end = value.bytes().rev().take_while(u8::is_ascii_digit).count();
    let only_numbered = value.bytes().filter(u8::is_ascii_digit).count() == digits_at_end && digits_at_end <= 2;
    is_name && is_compound && value.len() <= 40 && (!has_digit || only_numbered && value.contains('_'))
}

/// Whether a token or key can be made by a machine: letters and digits, or a long run of letters.
fn is_machine_made(value: &CandidateValue<'_>) -> bool {
    let text = value.text;
    // `other.colon2_token` and `FTS5_MAX_TOKEN` are names in code, although they contain digits.
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

/// Whether a person could have chosen this password or secret.
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
            begins_lower && !SENTENCE_WORDS.contains(text) && !text.starts_with('-')
        }
        (AssignmentForm::OwnLine, NameFamily::Password) => begins_lower && !echoes && !text.contains('_'),
        _ => false,
    }
}

/// Whether a run of base64 is not just a word: it contains a digit, or a capital that is not the first letter.
pub(super) fn is_mixed_base64(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) || value.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
}
