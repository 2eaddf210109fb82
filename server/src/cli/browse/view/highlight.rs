//! Finds the words of a query in a text, to show why an item is in the list.

use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use crate::cli::terminal_text::{display_width, fit_columns};

/// The style of a match. It also shows without colours.
const MATCH: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD.union(Modifier::UNDERLINED));

/// The shortest Korean word whose last syllable may be a particle.
const PARTICLE_LENGTH: usize = 3;

/// The places of the words in a text, ignoring case, in order and without overlaps.
pub(super) fn match_ranges(text: &str, words: &[String]) -> Vec<Range<usize>> {
    // A letter may have several lower-case letters.
    let letters: Vec<(char, usize, usize)> = text
        .char_indices()
        .flat_map(|(at, letter)| letter.to_lowercase().map(move |lower| (lower, at, at + letter.len_utf8())))
        .collect();
    let mut marked = vec![false; text.len()];
    for word in words {
        let exact = mark_word(&letters, word, &mut marked);
        if let Some(stem) = korean_stem(word).filter(|_| !exact) {
            mark_word(&letters, &stem, &mut marked);
        }
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for at in (0..text.len()).filter(|at| marked[*at]) {
        match ranges.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = at + 1,
            None => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// Marks the bytes of each occurrence, and returns whether there is one.
fn mark_word(letters: &[(char, usize, usize)], word: &str, marked: &mut [bool]) -> bool {
    let word: Vec<char> = word.chars().collect();
    let mut found = false;
    for part in letters.windows(word.len().max(1)) {
        if !word.is_empty() && part.iter().map(|(letter, ..)| letter).eq(&word) {
            marked[part[0].1..part[part.len() - 1].2].fill(true);
            found = true;
        }
    }
    found
}

/// A Korean word without its last syllable, which may be a particle: `웹훅을` matches `웹훅`.
fn korean_stem(word: &str) -> Option<String> {
    let is_korean = word.chars().all(|letter| ('가'..='힣').contains(&letter));
    let length = word.chars().count();
    (is_korean && length >= PARTICLE_LENGTH).then(|| word.chars().take(length - 1).collect())
}

/// A line with its matches in another style.
pub(super) fn highlighted(text: &str, words: &[String], style: Style) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut end = 0;
    for range in match_ranges(text, words) {
        if range.start > end {
            spans.push(Span::styled(text[end..range.start].to_owned(), style));
        }
        spans.push(Span::styled(text[range.clone()].to_owned(), style.patch(MATCH)));
        end = range.end;
    }
    if end < text.len() {
        spans.push(Span::styled(text[end..].to_owned(), style));
    }
    spans
}

/// The part of a line that fits and has the first match, which is cut off otherwise.
pub(super) fn part_with_match(text: &str, words: &[String], columns: usize) -> String {
    let Some(first) = match_ranges(text, words).into_iter().next() else { return fit_columns(text, columns) };
    // The ellipsis at the end needs a column.
    if display_width(text) <= columns || display_width(&text[..first.end]) < columns {
        return fit_columns(text, columns);
    }
    let room = columns / 3;
    let mut starts = text[..first.start].char_indices().map(|(at, _)| at);
    let start = starts.find(|at| display_width(&text[*at..first.start]) <= room).unwrap_or(first.start);
    fit_columns(&format!("…{}", text[start..].trim_start()), columns)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn words(query: &str) -> Vec<String> {
        query.split_whitespace().map(str::to_lowercase).collect()
    }

    #[rstest]
    #[case::any_case("Redis and REDIS", "redis", &["Redis", "REDIS"])]
    #[case::overlap("redisearch", "redis search", &["redisearch"])]
    #[case::particle("웹훅은 커밋한 다음", "웹훅을", &["웹훅"])]
    #[case::exact_korean("웹훅을 웹훅은", "웹훅을", &["웹훅을"])]
    #[case::longer_in_lower_case("İstanbul", "stan", &["stan"])]
    #[case::nothing("text", "", &[])]
    fn words_are_found_in_a_text(#[case] text: &str, #[case] query: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = match_ranges(text, &words(query)).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
        let spans = highlighted(text, &words(query), Style::new());
        assert_eq!(spans.iter().map(|span| span.content.as_ref()).collect::<String>(), text);
    }

    #[rstest]
    #[case::fits("a redis", "redis", 10, "a redis")]
    #[case::at_the_start("redis is far too long", "redis", 10, "redis is…")]
    #[case::late("a long sentence that says redis in the middle", "redis", 20, "…says redis in the…")]
    #[case::late_korean("결제 웹훅은 커밋한 다음에 확인 응답을 보낸다", "응답", 14, "…인 응답을 보…")]
    #[case::no_match("a long sentence", "redis", 8, "a long…")]
    fn line_shows_its_match(#[case] text: &str, #[case] query: &str, #[case] columns: usize, #[case] expected: &str) {
        let part = part_with_match(text, &words(query), columns);
        assert_eq!(part, expected);
        assert!(display_width(&part) <= columns);
    }
}
