//! Finds passwords and cookies in command arguments, such as `curl -u user:password` and `mysql -ppassword`.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite};
use super::entropy;
use super::headers::find_cookie_pairs;
use super::values;

/// The beginnings of options that take a password.
pub(super) const OPTIONS: &[&str] =
    &["-u", "-p", "-a", "-k", "-w", "-n", "/p:", "--user", "--proxy-user", "--auth", "--body", "pass:"];

/// Finds the password in an option of the program that the command runs.
pub(super) fn find_option_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let (option, takes) = option_at(site)?;
    read_argument(TextCursor::new(site.text, site.at + option.len()), takes)
}

/// Finds the cookies in `curl -b name=value`.
pub(super) fn find_curl_cookies(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let is_option = begins_word(site) && site.text[site.at..].starts_with("-b") && is_run_by(site.context, &["curl"]);
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    cursor.take(1, |character| matches!(character, ' ' | '='));
    cursor.take(3, |character| matches!(character, '\\' | '"' | '\''));
    is_option.then(|| find_cookie_pairs(&cursor, false)).flatten()
}

/// Finds the password in `htpasswd -b [file] user password`.
pub(super) fn find_htpasswd_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let rest = &site.text[site.trigger_end()..];
    let line = &rest[..rest.find(['\n', '|', ';', '&', '>', '`']).unwrap_or(rest.len())];
    let start = |word: &str| site.trigger_end() + (word.as_ptr() as usize - rest.as_ptr() as usize);
    let (mut flags, mut operands) = (String::new(), Vec::new());
    for word in line.split_whitespace() {
        match word.strip_prefix('-').filter(|_| operands.is_empty()) {
            Some(options) => flags.push_str(options),
            None => operands.push(word),
        }
    }
    // Without a file there is one argument less.
    let place = if flags.contains('n') || operands.len() == 2 { 1 } else { 2 };
    // In a sentence about the command, more words follow.
    let is_command = rest.starts_with(' ') && flags.contains('b') && operands.len() == place + 1;
    let password = operands.get(place).filter(|_| is_command)?.trim_matches(['"', '\'']);
    // The stretch ends early if the password was replaced already.
    let is_gone = line.len() == rest.len() && line.ends_with(char::is_whitespace);
    (!is_gone && values::is_literal(password)).then(|| start(password)..start(password) + password.len())
}

/// Finds the value in `kubectl create secret … --from-literal=name=value`.
pub(super) fn find_kubectl_literal(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    cursor.take(1, |character| matches!(character, ' ' | '='));
    cursor.take(2, |character| matches!(character, '\\' | '"' | '\''));
    let name = cursor.take(MAX_ARGUMENT_LENGTH, |character| !character.is_whitespace() && character != '=');
    let is_named = ["pw", "pass", "passwd", "pwd"].iter().any(|word| name.to_ascii_lowercase().ends_with(word));
    if !cursor.eat("=") || !is_named && !is_run_by(site.context, &["secret"]) {
        return None;
    }
    read_argument(cursor, OptionValue::AttachedPassword)
}

/// Finds the password in `echo hunter2 | sudo -S …` and in `echo ann:hunter2 | chpasswd`.
pub(super) fn find_piped_password(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let rest = &site.text[site.trigger_end()..];
    let near = &rest[..rest.floor_char_boundary(MAX_COMMAND_LENGTH)];
    let (said, reader) = near[..near.find('\n').unwrap_or(near.len())].split_once('|')?;
    let takes = match reader {
        _ if reader.contains("chpasswd") => OptionValue::Login(':'),
        _ if ["sudo -S", "-stdin", "--stdin", "su -", "cryptsetup"].iter().any(|taker| reader.contains(taker)) => {
            OptionValue::Password
        }
        _ => return None,
    };
    let start = site.trigger_end() + said.len() - said.trim_start_matches(['-', 'n', 'e', ' ']).len();
    read_argument(TextCursor::new(&site.text[..site.trigger_end() + said.trim_end().len()], start), takes)
}

/// Finds the token in `vault login …` and `wandb login …`.
pub(super) fn find_login_token(site: &TriggerSite<'_>) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    cursor.eat("s.");
    let token = cursor.take(MAX_ARGUMENT_LENGTH, |character| character.is_ascii_alphanumeric());
    let ends = cursor.peek().is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | '`' | ';' | '&'));
    (token.len() >= MIN_TOKEN_LENGTH && ends && entropy::is_random(token)).then(|| site.trigger_end()..cursor.at())
}

/// In bytes.
const MIN_TOKEN_LENGTH: usize = 24;

/// The kind of value that an option takes.
#[derive(Clone, Copy)]
enum OptionValue {
    /// `-p password` or `-ppassword`
    Password,
    /// Only `-ppassword`. With a space, the program asks for the password.
    AttachedPassword,
    /// `-u user:password`
    Login(char),
}

/// Returns the option at a site, if the program of the command has that option.
fn option_at(site: &TriggerSite<'_>) -> Option<(&'static str, OptionValue)> {
    const USER: OptionValue = OptionValue::Login(':');
    const TABLE: &[(&str, OptionValue, &[&str])] = &[
        ("--user", USER, &["curl"]),
        ("--proxy-user", USER, &["curl"]),
        ("--auth", USER, &["http", "https"]),
        ("-u", USER, &["curl"]),
        ("-U", USER, &["curl"]),
        ("-U", OptionValue::Login('%'), &["smbclient"]),
        ("-a", USER, &["http", "https"]),
        ("-a", OptionValue::Password, &["redis-cli"]),
        ("-k", OptionValue::Password, &["openssl"]),
        ("-w", OptionValue::Password, &["ldapsearch"]),
        ("-P", OptionValue::Password, &["sqlcmd", "zip", "unzip", "mosquitto_pub", "mosquitto_sub", "ssh-keygen"]),
        ("-N", OptionValue::Password, &["ssh-keygen"]),
        (
            "-p",
            OptionValue::AttachedPassword,
            &["mysql", "mysqldump", "mysqladmin", "mariadb", "7z", "7za", "rar", "unrar"],
        ),
        ("/p:", OptionValue::AttachedPassword, &["xfreerdp", "wfreerdp", "mstsc"]),
        ("--body", OptionValue::Password, &["secret"]),
        // `docker login`, `helm registry login` and similar commands.
        ("-p", OptionValue::Password, &["login", "sshpass", "mongosh", "mongodump", "twine"]),
        ("pass:", OptionValue::AttachedPassword, &["openssl"]),
    ];
    if !begins_word(site) {
        return None;
    }
    let here = &site.text[site.at..];
    let stands_here = |option: &str| {
        let rest = here.strip_prefix(option);
        rest.is_some_and(|rest| !option.starts_with("--") || rest.starts_with(['=', ' ']))
    };
    let mut found = TABLE.iter().filter(|(option, ..)| stands_here(option));
    found.find(|(.., programs)| is_run_by(site.context, programs)).map(|(option, takes, _)| (*option, *takes))
}

fn begins_word(site: &TriggerSite<'_>) -> bool {
    site.context.ends_with(char::is_whitespace)
}

/// Whether the command before a site runs one of these programs. Lines that end in a backslash continue.
fn is_run_by(context: &str, programs: &[&str]) -> bool {
    let near = &context[context.ceil_char_boundary(context.len().saturating_sub(MAX_COMMAND_LENGTH))..];
    let is_break = |(at, _): &(usize, &str)| !near[..*at].ends_with('\\');
    let line = near.rmatch_indices('\n').find(is_break).map_or(near, |(at, _)| &near[at..]);
    let command = line.rsplit(['|', ';']).next().and_then(|part| part.rsplit("&&").next()).unwrap_or(line);
    command
        .split(|character: char| character.is_whitespace() || matches!(character, '/' | '"' | '\'' | '`' | '('))
        .any(|word| programs.contains(&word))
}

/// In bytes.
const MAX_COMMAND_LENGTH: usize = 512;

fn read_argument(mut cursor: TextCursor<'_>, takes: OptionValue) -> Option<Range<usize>> {
    if !matches!(takes, OptionValue::AttachedPassword) {
        cursor.take(1, |character| matches!(character, ' ' | '='));
    }
    cursor.take(2, |character| character == '\\');
    let quote = cursor.peek().filter(|quote| matches!(quote, '"' | '\''));
    cursor.take(1, |character| Some(character) == quote);
    let start = cursor.at();
    let value = cursor.take(MAX_ARGUMENT_LENGTH, |character| match quote {
        Some(quote) => character != quote && character != '\n',
        None => !character.is_whitespace() && !matches!(character, '"' | '\'' | '`'),
    });
    let value = value.trim_end_matches('\\');
    let (user, password) = match takes {
        OptionValue::Login(separator) => value.split_once(separator)?,
        OptionValue::Password | OptionValue::AttachedPassword => ("", value),
    };
    if password.is_empty() {
        // Some services expect a key as the user name, without a password.
        return (user.len() >= MIN_LONE_USER_LENGTH && values::is_mixed_base64(user))
            .then(|| start..start + user.len());
    }
    let is_secret = !password.starts_with('-') && values::is_literal(password);
    is_secret.then(|| start + value.len() - password.len()..start + value.len())
}

/// Lengths in bytes.
const MAX_ARGUMENT_LENGTH: usize = 256;
const MIN_LONE_USER_LENGTH: usize = 16;
