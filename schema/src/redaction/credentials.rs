//! Secrets that are known by where they stand rather than by a name or a prefix: in the authority of an address, in a
//! header, on a command line, between the parts of a bot's token.

use std::ops::Range;

use super::cursor::Cursor;
use super::rules::Site;
use super::values;

/// The password in `scheme://user:password@host`, or a long random user that stands there alone.
pub(super) fn address(site: &Site<'_>) -> Option<Range<usize>> {
    let start = site.behind();
    let mut cursor = Cursor::new(site.text, start);
    let authority = cursor.take(LONGEST_AUTHORITY, |character| {
        !character.is_whitespace() && !matches!(character, '/' | '"' | '\'' | '`' | '<' | '>' | '\\' | ',' | ')')
    });
    let login = &authority[..authority.rfind('@')?];
    let Some(colon) = login.find(':') else {
        let is_token = login.len() >= SHORTEST_LONE_USER && values::is_mixed(login) && !values::is_reference(login);
        return is_token.then(|| start..start + login.len());
    };
    let password = &login[colon + 1..];
    let is_secret = !password.is_empty() && !values::is_reference(password) && !values::is_masked(password);
    is_secret.then(|| start + colon + 1..start + login.len())
}

const LONGEST_AUTHORITY: usize = 1024;
const SHORTEST_LONE_USER: usize = 20;

/// The credentials of an `Authorization` header, or what follows `Bearer`.
pub(super) fn authorization(site: &Site<'_>) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(site.text, site.behind());
    let mut shortest = SHORTEST_BEARER;
    if site.trigger == "authorization" {
        cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | ']' | '*'));
        cursor.skip_blanks();
        if !(cursor.eat(":") || cursor.eat("=>") || cursor.eat("=") || cursor.eat(",")) {
            return None;
        }
        cursor.skip_blanks();
        cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '\\' | '*'));
        cursor.skip_blanks();
        shortest = SHORTEST_RAW;
        for scheme in ["bearer ", "basic ", "token ", "apikey ", "bot "] {
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

/// The password of `curl -u user:password` and `sshpass -p password`.
pub(super) fn command(site: &Site<'_>) -> Option<Range<usize>> {
    let line = Cursor::new(site.text, site.behind()).take(LONGEST_COMMAND, |character| character != '\n');
    let is_curl = site.trigger == "curl ";
    let options: &[&str] = if is_curl { &["-u ", "-u", "--user ", "--user="] } else { &["-p ", "-p"] };
    let words = line.split_inclusive(' ').scan(site.behind(), |at, word| {
        let start = *at;
        *at += word.len();
        Some((start, word))
    });
    for (start, word) in words {
        if !options.iter().any(|option| word.starts_with(option.trim_end())) {
            continue;
        }
        let option = options.iter().find(|option| word.starts_with(**option))?;
        let mut cursor = Cursor::new(site.text, start + option.len());
        cursor.take(1, |character| matches!(character, '"' | '\''));
        if is_curl {
            cursor.take(64, |character| !character.is_whitespace() && !matches!(character, ':' | '"' | '\''));
            if !cursor.eat(":") {
                return None;
            }
        }
        let start = cursor.at();
        let value = cursor.take(256, |character| !character.is_whitespace() && !matches!(character, '"' | '\'' | '`'));
        let is_secret = !value.is_empty() && !values::is_reference(value) && !values::is_masked(value);
        return is_secret.then(|| start..start + value.len());
    }
    None
}

const LONGEST_COMMAND: usize = 256;

/// The part of a Telegram bot's token behind the bot's number, which stays.
pub(super) fn telegram(site: &Site<'_>) -> Option<Range<usize>> {
    let digits = site.text.as_bytes()[..site.at].iter().rev().take_while(|byte| byte.is_ascii_digit()).take(13).count();
    let start = site.at + 1;
    let token = Cursor::new(site.text, start).take(48, is_base64_url);
    let is_token =
        (8..=12).contains(&digits) && (33..=37).contains(&token.len()) && site.text[site.at..].starts_with(":AA");
    is_token.then(|| start..start + token.len())
}

/// A Discord bot's token: the bot's number in base64, a time and a signature, with dots between them.
pub(super) fn discord(site: &Site<'_>) -> Option<Range<usize>> {
    if site.text[..site.at].ends_with(is_base64_url) {
        return None;
    }
    let mut cursor = Cursor::new(site.text, site.at);
    let is_number = (23..=28).contains(&cursor.take(29, is_base64_url).len()) && cursor.eat(".");
    let is_time = is_number && (5..=7).contains(&cursor.take(8, is_base64_url).len()) && cursor.eat(".");
    (is_time && (27..=45).contains(&cursor.take(46, is_base64_url).len())).then(|| site.at..cursor.at())
}

/// A Twilio API key: `SK` and 32 hexadecimal digits, alone in its word.
pub(super) fn twilio(site: &Site<'_>) -> Option<Range<usize>> {
    if site.text[..site.at].ends_with(is_base64_url) || !site.text[site.at..].starts_with("SK") {
        return None;
    }
    let mut cursor = Cursor::new(site.text, site.behind());
    let digits = cursor.take(33, |character| matches!(character, '0'..='9' | 'a'..='f'));
    let ends = !cursor.peek().is_some_and(is_base64_url);
    (digits.len() == 32 && ends).then(|| site.at..cursor.at())
}

fn is_base64_url(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_')
}
