//! Sentences of a text, and those of a prompt that change something.

use super::Statement;
use crate::prose::small_talk::is_one_off;

/// Returns the statements in a prompt that give something up or change it, even if the prompt is no conclusion: "no, back to TOML".
pub fn reversals(prompt: &str) -> Vec<Statement> {
    let plain = sentences(prompt).into_iter().filter(|sentence| is_plain(sentence));
    plain.map(Statement::of).filter(|statement| !statement.given_up.is_empty() || statement.changes).collect()
}

/// Whether a sentence of a prompt is no question, condition or one-off, and does not only order to stop or to remove something.
fn is_plain(sentence: &str) -> bool {
    const UNSURE: [&str; 17] = [
        "if ",
        "should we",
        "could we",
        "what about",
        "how about",
        "maybe",
        "perhaps",
        "might",
        "thinking of",
        "would it",
        "할까",
        "될까",
        "면 어때",
        "어떨까",
        "어떻게 생각",
        "싶은데",
        "고민",
    ];
    let folded = sentence.trim().to_lowercase();
    let is_order = ["stop", "drop", "remove", "delete"].iter().any(|verb| folded.starts_with(verb));
    !folded.ends_with(['?', '？'])
        && !is_order
        && !is_one_off(&folded)
        && !UNSURE.iter().any(|word| folded.contains(word))
}

/// Splits a text into sentences. Each includes the space before it.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '\n' | '。' | '！' | '？' => true,
            ';' => bytes.get(end).is_some_and(u8::is_ascii_whitespace),
            '.' | '!' | '?' => bytes.get(end).is_none_or(u8::is_ascii_whitespace) && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if is_end {
            parts.push(&text[start..end]);
            start = end;
        }
    }
    parts.push(&text[start..]);
    let mut joined: Vec<&str> = Vec::with_capacity(parts.len());
    for part in parts {
        if !part.is_empty() {
            joined.push(part);
        }
    }
    joined
}

/// Whether the period after this text belongs to an abbreviation or to the number of a list item.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_number = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let starts_line = before.len() == word.len() || before[..before.len() - word.len()].ends_with('\n');
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "No" | "Dr" | "Mr" | "Ms")
        || is_number && starts_line
}
