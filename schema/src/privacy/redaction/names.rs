//! Parses the name of a value: the word around a trigger, and whether it names a secret or something about a secret.

use super::cursor::{TextCursor, TriggerSite};
use super::values;
use super::words::{HARMLESS_KEYS, KEY_OWNERS, PASS_OWNERS, SETTERS};
use crate::model::word_list::WordList;

/// The name around a trigger.
pub(super) struct ValueName<'t> {
    /// The part of the word before the trigger.
    pub(super) prefix: &'t str,
    pub(super) is_upper: bool,
    pub(super) is_plural: bool,
    pub(super) is_flag: bool,
    /// Whether it is just `pass` or `pw`, which also have other meanings.
    pub(super) is_short: bool,
    /// Whether it is the name of a function that looks up a secret: `get_secret("name")`.
    pub(super) is_lookup: bool,
    pub(super) start: usize,
}

impl<'t> ValueName<'t> {
    /// Reads to the end of the name. Returns `None` if it names something about a secret and not the secret itself.
    pub(super) fn read(site: &TriggerSite<'t>, cursor: &mut TextCursor<'t>) -> Option<Self> {
        let before = &site.text.as_bytes()[..site.at];
        let length = before.iter().rev().take(MAX_AFFIX_LENGTH).take_while(|byte| is_name(char::from(**byte))).count();
        let start = site.at - length;
        let prefix = &site.text[start..site.at];
        let found = &site.text[site.at..site.trigger_end()];
        let suffix = cursor.take(MAX_AFFIX_LENGTH, is_name);
        let plural = matches!(suffix, "s" | "S");
        if !(plural || Self::is_separate(found, suffix))
            || values::is_describing_suffix(suffix)
            || !Self::may_follow(prefix, site)
        {
            return None;
        }
        let is_upper = !site.text[start..cursor.at()].bytes().any(|byte| byte.is_ascii_lowercase());
        let is_short = matches!(site.trigger, "pass" | "pw")
            && suffix.is_empty()
            && !prefix.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
        let is_word = matches!(site.trigger, "pw" | "psk") && suffix.contains(|next: char| !next.is_ascii_digit());
        if is_word || is_short && site.text[..start].ends_with('@') {
            return None;
        }
        let lower = prefix.to_ascii_lowercase();
        let is_asked = ["get", "find", "read", "load", "fetch", "by"].iter().any(|verb| lower.contains(verb))
            || suffix.contains('.');
        Some(Self {
            prefix,
            is_upper,
            is_plural: plural,
            is_flag: prefix.starts_with('-'),
            is_short,
            is_lookup: is_asked,
            start,
        })
    }

    /// Whether the command before the name sets variables: `set -x NAME value`, `ENV NAME value`.
    pub(super) fn is_set_by_command(&self, site: &TriggerSite<'_>) -> bool {
        let mut words =
            self.line_before(site).split_ascii_whitespace().rev().filter(|word| !word.starts_with(['-', '/']));
        (self.is_upper || !self.prefix.is_empty()) && words.next().is_some_and(|word| SETTERS.contains(word))
    }

    /// Whether the line starts with such a command and is not a sentence.
    pub(super) fn is_command(&self, site: &TriggerSite<'_>) -> bool {
        let first = self
            .line_before(site)
            .split_ascii_whitespace()
            .find(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic()));
        first.is_some_and(|word| SETTERS.contains(word) || matches!(word, "aws" | "npm" | "launchctl"))
    }

    fn line_before<'s>(&self, site: &TriggerSite<'s>) -> &'s str {
        TextCursor::last_line(&site.text[..self.start])
    }

    /// Whether a suffix is a separate word: `password2`, `tokenProd`, `SECRET_KEY`, but not `tokenizer`.
    fn is_separate(found: &str, suffix: &str) -> bool {
        suffix.chars().next().is_none_or(|first| {
            matches!(first, '_' | '-' | '.')
                || first.is_ascii_digit()
                || first.is_ascii_uppercase() && found.ends_with(|last: char| last.is_ascii_lowercase())
        })
    }

    /// Whether a trigger can follow a prefix. Short triggers are often parts of ordinary words (`compass`, `bypass`), unless the word
    /// before them says otherwise.
    fn may_follow(prefix: &str, site: &TriggerSite<'_>) -> bool {
        let last = prefix.chars().next_back();
        let begins_word = last.is_none_or(|last| !last.is_ascii_alphanumeric())
            || last.is_some_and(|last| last.is_ascii_lowercase()) && site.text.as_bytes()[site.at].is_ascii_uppercase();
        let lower = prefix.to_ascii_lowercase();
        let is_owned = |owners: &WordList| {
            let owner = lower.rsplit(|character: char| !character.is_ascii_alphanumeric()).next().unwrap_or_default();
            owners.contains(owner)
        };
        let follows_harmless = ["public ", "Public "].iter().any(|word| site.text[..site.at].ends_with(word));
        match site.trigger {
            "pass" => begins_word || is_owned(&PASS_OWNERS),
            "pwd" | "pw" | "비번" | "clave" => begins_word,
            "key" => begins_word && !Self::is_harmless(&lower) && !follows_harmless || is_owned(&KEY_OWNERS),
            "auth" | "session" | "signature" => begins_word && !Self::is_harmless(&lower),
            _ => !["max_", "min_", "num_", "max-", "min-", "no-"].iter().any(|word| lower.ends_with(word)),
        }
    }

    /// Whether the word before `key` makes it the name of a secret, as in `api_key` and `Access Key`.
    pub(super) fn is_owned_key(&self, site: &TriggerSite<'_>) -> bool {
        if site.trigger != "key" {
            return true;
        }
        let before = site.text[..site.at].trim_end_matches([' ', '_', '-', '.']);
        let start = before.len() - before.bytes().rev().take(16).take_while(u8::is_ascii_alphanumeric).count();
        let word = &before[start..];
        let hump = word.rfind(|character: char| character.is_ascii_uppercase()).filter(|_| !self.is_upper).unwrap_or(0);
        [word, &word[hump..]].iter().any(|word| KEY_OWNERS.contains(&word.to_ascii_lowercase()))
    }

    /// Whether the words before `key` or `signature` make it the name of something public, as in `cache_key` and `public-key`.
    fn is_harmless(prefix: &str) -> bool {
        let mut parts = prefix.split(|character: char| !character.is_ascii_alphanumeric());
        parts.any(|part| HARMLESS_KEYS.contains(part))
    }
}

pub(super) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
}

/// In bytes.
pub(super) const MAX_AFFIX_LENGTH: usize = 48;
