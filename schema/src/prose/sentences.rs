//! Splits a text into sentences.

/// Words with a full stop that ends no sentence, in any case; and those that are other words in small letters.
const ABBREVIATIONS: [&str; 9] = ["e.g", "i.e", "etc", "vs", "cf", "approx", "fig", "resp", "incl"];
const CAPITALISED: [&str; 5] = ["No", "Dr", "Mr", "Ms", "St"];

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
            '.' | '!' | '?' => {
                bytes.get(end).is_none_or(u8::is_ascii_whitespace) && !ends_with_abbreviation(&text[..end])
            }
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

/// Whether the last full stop of this text belongs to an abbreviation, or to the number or letter of a list item.
pub(crate) fn ends_with_abbreviation(text: &str) -> bool {
    let Some(before) = text.strip_suffix('.') else { return false };
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let starts_line = before.len() == word.len() || before[..before.len() - word.len()].ends_with('\n');
    let is_number = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A small letter elsewhere is a unit: "It takes 3 s."
    let is_initial = is_letter && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_listed = ABBREVIATIONS.iter().any(|listed| listed.eq_ignore_ascii_case(word)) || CAPITALISED.contains(&word);
    is_listed || is_initial || starts_line && (is_number || is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_abbreviations_do_not_end_sentences() {
        assert_eq!(
            sentences("One. Two 1.5 e.g. this by R. Kim, Fig. 3! 3 s. 3\n1. item;\na. b;c"),
            ["One.", " Two 1.5 e.g. this by R. Kim, Fig. 3!", " 3 s.", " 3\n", "1. item;", "\n", "a. b;c"]
        );
        assert_eq!(sentences(""), Vec::<&str>::new());
    }
}
