//! Cleans all text that leaves the program: to a model, to a terminal, as JSON. Stored text does not change.
//!
//! Invisible characters, and characters that reorder text, are removed. Tags that a host would take for its own become harmless but stay
//! readable: their `<` becomes `‹`.

use std::borrow::Cow;

use serde_json::Value;

use super::private_tags::is_invisible;
use crate::model::word_list::WordList;

/// Tags of hosts and our own, in lower case and with `-` for `_`.
static TAGS: WordList = WordList::words(
    "additional-data command-args command-contents command-message command-name environment-context function-calls \
     function-results ide-diagnostics ide-opened-file ide-selection invoke memory-context new-diagnostics \
     persisted-output subagent-notification system-message system-notification system-prompt system-reminder \
     system-warning task-notification teammate-message tool-call tool-calls tool-response tool-result tool-use \
     tool-use-error turn-aborted user-instructions user-memory-input user-query",
);

/// Prefixes of other host tags, and the suffix of hook tags.
const FAMILIES: [&str; 3] = ["local-command-", "bash-", "antml:"];
const HOOK_SUFFIX: &str = "-hook";

/// Tag names that are common in code, as in `#include <memory>` and `Box<system>`. Code keeps them.
const WORDS: [&str; 5] = ["memory", "system", "instructions", "human", "assistant"];

/// The most tag characters of a flag emoji, such as `gbsct` for Scotland.
const MAX_FLAG_LENGTH: usize = 6;

/// Removes invisible characters and host tags from a text. Line feeds, tabs, code, emoji and joiners within words stay.
pub fn clean_text(text: &str) -> Cow<'_, str> {
    match strip_unseen(text) {
        Cow::Borrowed(text) => escape_host_tags(text),
        Cow::Owned(text) => Cow::Owned(escape_host_tags(&text).into_owned()),
    }
}

/// Cleans a text and joins it into one line with single spaces.
pub fn clean_line(text: &str) -> String {
    clean_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cleans all strings in a JSON value, including names.
pub fn clean_json(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(clean_json).collect(),
        Value::Object(fields) => {
            let clean = |(name, value): (String, Value)| (clean_text(&name).into_owned(), clean_json(value));
            fields.into_iter().map(clean).collect()
        }
        other => other,
    }
}

/// Escapes the characters in JSON that [`clean_text`] would remove or change. The JSON parses to the same value and shows nothing
/// invisible.
pub fn escape_json_text(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for (at, c) in json.char_indices() {
        let is_harmful = is_unseen(c) && c != '\n' || matches!(c, '\u{2028}' | '\u{2029}');
        if is_harmful || c == '<' && is_host_tag(&json[..at], &json[at + 1..]) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Cleans a text for a model and labels it as data.
pub fn label_as_data(source: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = clean_text(text);
    format!(
        "<memory-context source=\"{source}\">\nFrom the record of earlier work in this project; it may be out of \
         date.\n{}\n</memory-context>",
        text.trim_end_matches('\n')
    )
}

fn strip_unseen(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_ordinary) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = rest.clone().next();
        let last = kept.chars().next_back();
        match c {
            '\n' | '\t' => kept.push(c),
            '\r' if next == Some('\n') => {}
            // Some programs end a line at these characters, and others do not show them. A line feed would break JSON.
            '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => kept.push(' '),
            '\u{1F3F4}' => {
                kept.push(c);
                let letters: String = rest.clone().take_while(|c| matches!(c, '\u{E0061}'..='\u{E007A}')).collect();
                let count = letters.chars().count();
                if (1..=MAX_FLAG_LENGTH).contains(&count) && rest.clone().nth(count) == Some('\u{E007F}') {
                    kept.extend(rest.by_ref().take(count + 1));
                }
            }
            '\u{200C}' | '\u{200D}' if last.is_some_and(is_joined_script) => kept.push(c),
            '\u{200D}' if last.is_some_and(ends_emoji) && next.is_some_and(is_emoji) => kept.push(c),
            '\u{FE0E}' | '\u{FE0F}' if last.is_some_and(is_emoji) => kept.push(c),
            '\u{FE0F}' if matches!(last, Some('0'..='9' | '#' | '*')) && next == Some('\u{20E3}') => kept.push(c),
            // These select the form of a Mongolian letter.
            '\u{180B}'..='\u{180D}' if matches!(last, Some('\u{1820}'..='\u{18AA}')) => kept.push(c),
            _ if is_unseen(c) => {}
            _ => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// Whether a character is never removed or replaced. Most texts have only such characters: ASCII, Latin letters, Korean, Japanese and
/// Chinese.
fn is_ordinary(c: char) -> bool {
    matches!(c, '\n' | '\t' | ' '..='~' | '\u{C0}'..='\u{24F}' | '\u{3041}'..='\u{30FF}')
        || matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Whether a character is invisible: default ignorable in Unicode, a control, or a change of the writing direction.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || matches!(c, '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}')
}

/// Whether a character belongs to a script in which joiners shape words: Arabic and Syriac, the scripts of India and its neighbours, and
/// Mongolian.
fn is_joined_script(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{8FF}' | '\u{900}'..='\u{DFF}' | '\u{F00}'..='\u{109F}' | '\u{1780}'..='\u{17FF}')
        || matches!(c, '\u{1820}'..='\u{18AA}' | '\u{1A20}'..='\u{1CFF}' | '\u{A8E0}'..='\u{A8FF}')
        || matches!(c, '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}' | '\u{11000}'..='\u{1193F}')
}

/// Whether a character is, or can be, shown as an emoji.
fn is_emoji(c: char) -> bool {
    matches!(c, '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21FF}')
        || matches!(c, '\u{2300}'..='\u{23FF}' | '\u{24C2}' | '\u{25A0}'..='\u{27BF}' | '\u{2934}' | '\u{2935}')
        || matches!(c, '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}')
        || matches!(c, '\u{1F000}'..='\u{1FAFF}')
}

fn ends_emoji(c: char) -> bool {
    is_emoji(c) || matches!(c, '\u{FE0F}' | '\u{E007F}')
}

fn escape_host_tags(text: &str) -> Cow<'_, str> {
    let mut tags =
        text.match_indices('<').map(|(at, _)| at).filter(|at| is_host_tag(&text[..*at], &text[at + 1..])).peekable();
    if tags.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let (mut inert, mut done) = (String::with_capacity(text.len() + 16), 0);
    for at in tags {
        inert.push_str(&text[done..at]);
        inert.push('‹');
        done = at + 1;
    }
    Cow::Owned(inert + &text[done..])
}

/// Whether a `<` between these two texts starts a host tag.
fn is_host_tag(before: &str, after: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    // `<|im_start|>`, a token that some models are trained on.
    if let Some((token, _)) = after.strip_prefix('|').and_then(|rest| rest.split_once("|>")) {
        return !token.is_empty() && token.chars().all(is_of_name);
    }
    let start = after.trim_start();
    let (is_end, start) = start.strip_prefix('/').map_or((false, start), |rest| (true, rest.trim_start()));
    let (name, rest) = start.split_at(start.find(|c| !is_of_name(c)).unwrap_or(start.len()));
    // In JSON, a backslash after a name escapes a line feed.
    if !rest.is_empty() && !rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '\\')) {
        return false;
    }
    let folded = name.to_ascii_lowercase().replace('_', "-");
    if TAGS.contains(&folded)
        || FAMILIES.iter().any(|family| folded.starts_with(family))
        || folded.ends_with(HOOK_SUFFIX)
    {
        return true;
    }
    let is_code = !is_end && (before.ends_with(is_of_name) || before.trim_end().ends_with("include"));
    WORDS.contains(&name) && rest.trim_start().starts_with('>') && !is_code
}

#[cfg(test)]
mod tests;
