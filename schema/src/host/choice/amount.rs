//! Corrects an amount of a picked option that the rest of the prompt changes: "Both. Budget at 5 %" against an option with 10 %.

use std::ops::Range;

use crate::prose::sentences::sentences;
use crate::prose::terms::{TokenKind, is_hangul, terms, tokens};

/// A number with its unit, or with the word that it counts.
struct Amount {
    unit: String,
    at: Range<usize>,
}

/// Returns an option with the amounts that `rest` gives instead.
///
/// Only a sentence with one amount and without terms of its own changes one, so that a remark about something else does not.
pub(super) fn corrected(option: String, rest: &str) -> String {
    sentences(rest).into_iter().fold(option, |option, sentence| with_amount_of(&option, sentence).unwrap_or(option))
}

fn with_amount_of(option: &str, sentence: &str) -> Option<String> {
    let given = only(amounts(sentence).into_iter())?;
    let replaced = only(amounts(option).into_iter().filter(|amount| amount.unit == given.unit))?;
    let (named, known) = (terms(sentence), terms(option));
    let is_about_option = named.iter().all(|term| *term == given.unit || known.contains(term));
    let Range { start, end } = replaced.at;
    is_about_option.then(|| [&option[..start], &sentence[given.at], &option[end..]].concat())
}

/// Returns the only item.
pub(super) fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let item = items.next()?;
    items.next().is_none().then_some(item)
}

fn amounts(text: &str) -> Vec<Amount> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset) {
        let digits = text[start..].find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
        let number_end = digits.map_or(text.len(), |length| start + length);
        // `HTTP/2`, `v1.5` and `p-95` are names.
        let is_part_of_name =
            text[..start].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'));
        at = number_end;
        if let Some((unit, end)) = unit_after(text, start, number_end).filter(|_| !is_part_of_name) {
            found.push(Amount { unit, at: start..end });
            at = end;
        }
    }
    found
}

/// Returns the unit of the number at `start`, and where it ends.
fn unit_after(text: &str, start: usize, number_end: usize) -> Option<(String, usize)> {
    let rest = text[number_end..].strip_prefix(' ').unwrap_or(&text[number_end..]);
    let from = text.len() - rest.len();
    if rest.starts_with('%') {
        return Some(("%".to_owned(), from + 1));
    }
    if rest.starts_with(is_hangul) {
        // A particle may follow the unit: `5분으로`.
        let mut ends = rest.char_indices().map(|(at, c)| from + at + c.len_utf8()).take(2);
        return ends.find_map(|end| Some((unit_of(&text[start..end])?, end)));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).map_or(text.len(), |length| from + length);
    Some((unit_of(&text[start..end])?, end))
}

/// Returns the normalized unit of an amount.
fn unit_of(amount: &str) -> Option<String> {
    match tokens(amount).as_slice() {
        [number, counted] if matches!(number.kind, TokenKind::Quantity(_)) && counted.is_term() => {
            Some(counted.text.clone())
        }
        [number] if matches!(number.kind, TokenKind::Quantity(_)) && !number.text.is_empty() => {
            Some(number.text.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::percentage("a budget of 10 % of calls", "Budget at 5 % though.", "a budget of 5 % of calls")]
    #[case::attached("a budget of 10% of calls", "But 5%.", "a budget of 5% of calls")]
    #[case::other_unit_of_time("retry for 2 minutes", "At most 30 seconds.", "retry for 30 seconds")]
    #[case::count("3 retries with backoff", "Make it 5 retries.", "5 retries with backoff")]
    #[case::korean("캐시를 10분 보관한다", "5분으로 하자", "캐시를 5분 보관한다")]
    #[case::second_sentence("a TTL of 10 minutes", "It is simple. TTL of 5 minutes.", "a TTL of 5 minutes")]
    #[case::about_something_else(
        "a budget of 10 % of calls",
        "Payments fail 5 % of the time.",
        "a budget of 10 % of calls"
    )]
    #[case::other_unit("a budget of 10 % of calls", "At most 5 minutes.", "a budget of 10 % of calls")]
    #[case::which_of_two("10 % of reads, 20 % of writes", "At 5 %.", "10 % of reads, 20 % of writes")]
    #[case::two_given("a budget of 10 % of calls", "5 % now and 8 % in May.", "a budget of 10 % of calls")]
    #[case::name("HTTP/2 streams", "Only 3 streams.", "HTTP/2 streams")]
    fn rest_corrects_the_amount(#[case] option: &str, #[case] rest: &str, #[case] expected: &str) {
        assert_eq!(corrected(option.to_owned(), rest), expected);
    }
}
