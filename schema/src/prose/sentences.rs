//! Splits a text into sentences.

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
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

/// Returns a text in lower case, with plain apostrophes.
pub(crate) fn in_lower_case(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Whether the period after this text belongs to an abbreviation or to the number of a list item.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_number = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let starts_line = before.len() == word.len() || before[..before.len() - word.len()].ends_with('\n');
    let is_initial = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_uppercase());
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "No" | "Dr" | "Mr" | "Ms")
        || is_initial
        || is_number && starts_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_abbreviations_do_not_end_sentences() {
        assert_eq!(
            sentences("One. Two 1.5 e.g. this by R. Kim! 3\n1. item; a;b"),
            ["One.", " Two 1.5 e.g. this by R. Kim!", " 3\n", "1. item;", " a;b"]
        );
        assert_eq!(sentences(""), Vec::<&str>::new());
    }
}
