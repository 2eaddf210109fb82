//! Finds secrets for which a pattern would be too slow or impossible: passwords in URLs, and tokens that are recognized by their parts and
//! not by their prefix.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite};
use super::literals::{bare_value, quoted_value};
use super::values::{self, AssignmentForm, CandidateValue, NameFamily};

/// Finds the password in `scheme://user:password@host`, or a long random user without a password.
pub(super) fn find_url_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let start = site.trigger_end();
    let mut cursor = TextCursor::new(site.text, start);
    let authority = cursor.take(MAX_AUTHORITY_LENGTH, |character| {
        !character.is_whitespace() && !matches!(character, '/' | '"' | '\'' | '`' | '<' | '>' | '\\' | ',' | ')')
    });
    let login = &authority[..authority.rfind('@')?];
    let Some(colon) = login.find(':') else {
        let is_token =
            login.len() >= MIN_LONE_USER_LENGTH && values::is_mixed_base64(login) && !values::is_reference(login);
        return is_token.then(|| start..start + login.len());
    };
    let password = &login[colon + 1..];
    values::is_literal(password).then(|| start + colon + 1..start + login.len())
}

/// Lengths in bytes.
const MAX_AUTHORITY_LENGTH: usize = 1024;
const MIN_LONE_USER_LENGTH: usize = 20;

/// Finds a Telegram bot token after the number of the bot. The number stays.
pub(super) fn find_telegram_token(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let digits = site.text.as_bytes()[..site.at].iter().rev().take_while(|byte| byte.is_ascii_digit()).take(13).count();
    let start = site.at + 1;
    let token = TextCursor::new(site.text, start).take(48, is_base64_url);
    let is_token =
        (8..=12).contains(&digits) && (33..=37).contains(&token.len()) && site.text[site.at..].starts_with(":AA");
    is_token.then(|| start..start + token.len())
}

/// Finds a Twilio API key: `SK` and 32 hexadecimal digits, as a word of its own.
pub(super) fn find_twilio_key(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    if site.text[..site.at].ends_with(is_base64_url) || !site.text[site.at..].starts_with("SK") {
        return None;
    }
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let digits = cursor.take(33, |character| matches!(character, '0'..='9' | 'a'..='f'));
    let ends = !cursor.peek().is_some_and(is_base64_url);
    (digits.len() == 32 && ends).then(|| site.at..cursor.at())
}

/// Finds an Azure client secret: three characters, a digit, `Q~` and the rest. The text before `Q~` stays.
pub(super) fn find_azure_secret(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let before = site.text.as_bytes()[..site.at].iter().rev();
    let start =
        before.take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-')).count();
    let follows_digit = site.text[..site.at].ends_with(|last: char| last.is_ascii_digit());
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let rest = cursor.take(48, |character| is_base64_url(character) || matches!(character, '~' | '.'));
    (start == 4 && follows_digit && (31..=40).contains(&rest.len())).then(|| site.at..cursor.at())
}

/// Finds a personal access token of Airtable: `pat`, its number, a dot and 64 hexadecimal digits.
pub(super) fn find_airtable_token(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let is_number = cursor.take(15, |character| character.is_ascii_alphanumeric()).len() == 14 && cursor.eat(".");
    let begins = is_number && !site.text[..site.at].ends_with(is_base64_url);
    let digits = if begins { cursor.take(64, |character| character.is_ascii_hexdigit()).len() } else { 0 };
    (digits == 64).then(|| site.at..cursor.at())
}

/// Finds the password in `creds: admin / hunter2` and `credentials are admin:hunter2`.
pub(super) fn find_login_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.at);
    let name = cursor.take(MAX_NAME_LENGTH, |character| character.is_ascii_alphabetic());
    cursor.skip_blanks();
    let is_named =
        ["cred", "creds", "credential", "credentials", "login"].iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_told = is_named && [":", "=", "are ", "is "].iter().any(|sign| cursor.eat(sign));
    cursor.skip_blanks();
    let user = cursor.take(MAX_NAME_LENGTH, |character| is_base64_url(character) || matches!(character, '.' | '@'));
    cursor.skip_blanks();
    if !is_told || user.is_empty() || !(cursor.eat(":") || cursor.eat("/")) {
        return None;
    }
    cursor.skip_blanks();
    let span = bare_value(&cursor, MAX_NAME_LENGTH);
    if_plausible_password(site, span)
}

/// Finds the password in the arguments of `auth("ann", "hunter2")`: the last one that looks like a password.
pub(super) fn find_argument_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let mut password = None;
    for place in 0..4 {
        let Some(argument) = quoted_value(&cursor) else { break };
        if place > 0 {
            password = if_plausible_password(site, argument.clone()).or(password);
        }
        cursor = TextCursor::new(site.text, argument.end + 1);
        cursor.take(3, |character| matches!(character, ',' | ' '));
    }
    password
}

fn if_plausible_password(site: &TriggerSite<'_>, span: Range<usize>) -> Option<Range<usize>> {
    let value = CandidateValue {
        text: &site.text[span.clone()],
        is_quoted: false,
        form: AssignmentForm::Sentence,
        is_plural: false,
    };
    let is_host = value.text.contains(['.', '/']) && !values::has_symbol(value.text);
    (!is_host && values::is_secret(&value, NameFamily::Password)).then_some(span)
}

/// Finds the seed phrase of a wallet: twelve or more lower-case words.
pub(super) fn find_seed_phrase(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    cursor.take(MAX_NAME_LENGTH, |character| !character.is_ascii_alphabetic() && !matches!(character, '.' | '<'));
    if cursor.eat("is ") {
        cursor.take(2, |character| !character.is_ascii_alphabetic());
    }
    let start = cursor.at();
    let phrase = cursor
        .take(MAX_PHRASE_LENGTH, |character| character.is_ascii_lowercase() || character.is_whitespace())
        .trim_end();
    let words = phrase.split_whitespace();
    let is_phrase =
        (12..=25).contains(&words.clone().count()) && words.into_iter().all(|word| (3..=8).contains(&word.len()));
    is_phrase.then(|| start..start + phrase.len())
}

/// Lengths in bytes.
const MAX_NAME_LENGTH: usize = 64;
const MAX_PHRASE_LENGTH: usize = 256;

fn is_base64_url(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}
