//! Separates open steps that one sentence lists: "Open: book the corrections, a monthly job, and the report".

use std::ops::Range;

use super::cues::{OPEN_STEP, introduces_steps, stated_kind};
use crate::model::word_list::WordList;

/// The fewest steps of a list, because two may be one step with a condition or a reason. Two with an article are two things.
const LEAST_STEPS: usize = 3;
const ARTICLES: [&str; 3] = [", and a ", ", and an ", ", and the "];

/// The fewest and the most characters of a step.
const SHORTEST_STEP: usize = 4;
const LONGEST_STEP: usize = 160;

/// Words that begin a clause which belongs to the step before it.
static CONTINUES: WordList =
    WordList::words("after as because before but if once otherwise since so until when where which while who whose");

/// Returns the places of the steps that a sentence lists after its lead, or the whole sentence if it is no such list.
pub(super) fn listed_steps(text: &str, sentence: Range<usize>) -> Vec<Range<usize>> {
    let whole = || vec![sentence.clone()];
    let Some((lead, list)) = text[sentence.clone()].split_once(": ") else { return whole() };
    if !introduces_steps(lead) && stated_kind(&text[sentence.clone()]) != Some(OPEN_STEP) {
        return whole();
    }
    let from = sentence.start + lead.len() + 2;
    let mut steps: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for end in separators(list).into_iter().chain([list.len()]) {
        let part = list[start..end].trim_matches([' ', ',', ';', '.']);
        let part = ["and ", "then ", "및 "].iter().find_map(|word| part.strip_prefix(word)).unwrap_or(part);
        let at = from + (part.as_ptr() as usize - list.as_ptr() as usize);
        let continues = part.split_whitespace().next().is_none_or(|word| CONTINUES.contains(word));
        match steps.last_mut().filter(|_| continues) {
            Some(step) => step.end = at + part.len(),
            None => steps.push(at..at + part.len()),
        }
        start = end;
    }
    let fits = |step: &Range<usize>| (SHORTEST_STEP..=LONGEST_STEP).contains(&text[step.clone()].chars().count());
    let are_two_things = steps.len() == 2 && ARTICLES.iter().any(|article| list.contains(article));
    if (steps.len() >= LEAST_STEPS || are_two_things) && steps.iter().all(fits) { steps } else { whole() }
}

/// Returns the places of semicolons, or else of commas, that are in no bracket and no code.
fn separators(list: &str) -> Vec<usize> {
    let of = |separator: char| -> Vec<usize> {
        let (mut depth, mut is_code) = (0_usize, false);
        let is_outside = |(at, c): (usize, char)| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '`' => is_code = !is_code,
                _ => {}
            }
            let is_separator = c == separator && list[at + 1..].starts_with(' ');
            (is_separator && depth == 0 && !is_code).then_some(at)
        };
        list.char_indices().filter_map(is_outside).collect()
    };
    let semicolons = of(';');
    if semicolons.is_empty() { of(',') } else { semicolons }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::commas(
        "Open points: book the corrections (one entry, per month), a job on day 2, and the VAT report.",
        &["book the corrections (one entry, per month)", "a job on day 2", "the VAT report"]
    )]
    #[case::semicolons("Still to do: a, b b; c with `x; y`; d d d", &["a, b b", "c with `x; y`", "d d d"])]
    #[case::reason(
        "Next: renew the key, since it ends in May, rotate the token, tell Kim",
        &["renew the key, since it ends in May", "rotate the token", "tell Kim"]
    )]
    #[case::korean("남은 일: 문서 정리, 키 교체, 배포 확인", &["문서 정리", "키 교체", "배포 확인"])]
    #[case::two_things("To do: encrypt the files, and a tray icon.", &["encrypt the files", "a tray icon"])]
    #[case::two("Next: renew the key, then rotate the token", &["Next: renew the key, then rotate the token"])]
    #[case::no_list("The order is: parse, sort, print", &["The order is: parse, sort, print"])]
    fn steps_of_a_list_are_separated(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = listed_steps(text, 0..text.len()).into_iter().map(|step| &text[step]).collect();
        assert_eq!(found, expected);
    }
}
