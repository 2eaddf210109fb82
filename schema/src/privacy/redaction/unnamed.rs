//! Finds secrets without a name: the secret next to the id of an AWS key, and tokens of services without a rule.

use std::ops::Range;

use super::entropy;
use super::find::{PLACEHOLDER_START, Secret, secret_without_rule};

/// Returns texts that look like secrets by themselves, in order.
pub(super) fn find_unnamed(text: &str) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = token_words(text).filter_map(|word| find_service_token(text, word)).collect();
    secrets.extend(find_aws_secrets(text));
    secrets.extend(find_discord_tokens(text));
    secrets.sort_by_key(Secret::precedence);
    secrets.dedup_by(|next, before| next.span.start < before.span.end);
    secrets
}

/// Returns the runs of letters, digits, `-` and `_` that are long enough for a token.
fn token_words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = 0;
    (0..=bytes.len()).filter_map(move |at| {
        if bytes.get(at).is_some_and(|byte| is_token_byte(*byte)) {
            return None;
        }
        let word = start..at;
        start = at + 1;
        (word.len() > MIN_TOKEN_LENGTH).then_some(word)
    })
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Returns a word such as `abc_…`: a lower-case prefix of a service and a long random run.
fn find_service_token(text: &str, word: Range<usize>) -> Option<Secret> {
    let value = &text[word.clone()];
    let is_known = ["AZDO", "JQQJ99"].iter().any(|mark| value.len() == 84 && value.contains(mark))
        || value.starts_with(['1', '2']) && (47..=50).contains(&value.len()) && value.find('_') == Some(27);
    if is_known && is_token(value) {
        return Some(secret_without_rule("token", word));
    }
    let prefix = value.find(['-', '_']).filter(|length| (2..=MAX_PREFIX_LENGTH).contains(length))?;
    let is_prefix = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_digest = ["sha", "md5", "blake", "nonce"].iter().any(|name| value.starts_with(name));
    let begins = value.as_bytes()[0].is_ascii_lowercase() && value.bytes().take(prefix).all(is_prefix);
    // In base64 and in URLs a run can start like that by chance.
    let follows = text[..word.start].ends_with(['/', '+', '=', '%', '.']) && !text[..word.start].ends_with('=');
    let tail = value.rsplit(['-', '_']).next().unwrap_or_default();
    let is_token = is_token(&value[prefix + 1..]) || is_token(tail) || is_one_case(tail);
    (begins && !is_digest && !follows && is_token).then(|| secret_without_rule("token", word))
}

/// Whether a run mixes upper case, lower case and digits as only a machine does.
fn is_token(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count() * MIN_SHARE >= value.len();
    value.len() >= MIN_TOKEN_LENGTH
        && count(u8::is_ascii_uppercase)
        && count(u8::is_ascii_lowercase)
        && count(u8::is_ascii_digit)
        && entropy::is_random(value)
}

/// Whether a run consists of digits and letters of one case, and is not a hexadecimal hash.
fn is_one_case(value: &str) -> bool {
    let is_case = |is: fn(&u8) -> bool| value.bytes().all(|byte| is(&byte) || byte.is_ascii_digit());
    let beyond_hex = value.bytes().filter(|byte| byte.to_ascii_lowercase() > b'f').count();
    let groups = value.split(|character: char| !character.is_ascii_digit()).filter(|group| !group.is_empty()).count();
    value.len() >= MIN_TOKEN_LENGTH
        && (is_case(u8::is_ascii_lowercase) || is_case(u8::is_ascii_uppercase))
        && groups * 12 >= value.len()
        && beyond_hex * 4 >= value.len()
}

/// Longer than ids of models, charges and chats, which have up to 29 characters after their prefix.
const MIN_TOKEN_LENGTH: usize = 32;
const MAX_PREFIX_LENGTH: usize = 10;
/// At least one of 16 characters must be of each kind. Of 62 random ones about ten are digits.
const MIN_SHARE: usize = 16;

/// Finds AWS secret keys: 40 characters of base64 near the id of the key, which has already been replaced by a placeholder.
fn find_aws_secrets(text: &str) -> impl Iterator<Item = Secret> {
    let id = format!("{PLACEHOLDER_START}aws access key]");
    let behind: Vec<usize> = text.match_indices(&id).map(|(at, id)| at + id.len()).collect();
    behind.into_iter().filter_map(|start| {
        let reach = &text[start..text.floor_char_boundary(start + AWS_REACH)];
        let is_base64 = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/');
        let run = reach.split(|character| !is_base64(character)).find(|run| {
            run.len() == 40 && entropy::is_random(run) && run.bytes().any(|byte| byte.is_ascii_uppercase())
        })?;
        let at = start + (run.as_ptr() as usize - reach.as_ptr() as usize);
        Some(secret_without_rule("aws secret key", at..at + run.len()))
    })
}

const AWS_REACH: usize = 240;

/// Finds Discord bot tokens: a number in base64, a six-character timestamp and a signature, separated by dots.
fn find_discord_tokens(text: &str) -> impl Iterator<Item = Secret> {
    let bytes = text.as_bytes();
    text.match_indices('.').filter_map(move |(at, _)| {
        let run =
            |from: usize| bytes[from..].iter().take(MAX_PART_LENGTH).take_while(|byte| is_token_byte(**byte)).count();
        if bytes.get(at + 7) != Some(&b'.') || run(at + 1) != 6 {
            return None;
        }
        let number = bytes[..at].iter().rev().take(MAX_PART_LENGTH).take_while(|byte| is_token_byte(**byte)).count();
        let signature = run(at + 8);
        let is_token = (23..=28).contains(&number) && (27..=45).contains(&signature);
        let is_token = is_token && entropy::is_random(&text[at + 8..at + 8 + signature]);
        is_token.then(|| secret_without_rule("discord token", at - number..at + 8 + signature))
    })
}

/// In bytes.
const MAX_PART_LENGTH: usize = 48;
