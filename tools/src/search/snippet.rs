//! Snippets: a few words around a document's best match, on one line.

use schema::privacy::output_text::clean_line;

use super::query::Query;
use super::term_matcher::{TermHit, TermMatcher};

/// At most `max_chars` characters around the densest match, including a `…` for omitted text. Whitespace becomes one space,
/// and control characters are removed.
pub fn snippet(body: &str, query: &Query, max_chars: usize) -> String {
    let line = clean_line(body);
    let starts: Vec<usize> = line.char_indices().map(|(i, _)| i).collect();
    if starts.len() <= max_chars {
        return line;
    }
    // Two characters are reserved for the ellipses.
    let Some(room) = max_chars.checked_sub(2).filter(|room| *room > 0) else {
        return line.chars().take(max_chars).collect();
    };
    let matches: Vec<LineMatch> = find_matches(&line, &starts, query);
    let (from, to) = best_window(&matches, starts.len(), room);
    let from = window_start(&line, &starts, from, matches.iter().map(|found| found.start).find(|start| *start >= from));
    let to = window_end(&line, &starts, from, to);
    let byte = |at: usize| starts.get(at).copied().unwrap_or(line.len());
    let before = if from > 0 { "…" } else { "" };
    let after = if to < starts.len() { "…" } else { "" };
    format!("{before}{}{after}", line[byte(from)..byte(to)].trim())
}

/// A term in the line; positions in characters.
#[derive(Debug, Clone, Copy)]
struct LineMatch {
    term: usize,
    start: usize,
    end: usize,
}

fn find_matches(line: &str, starts: &[usize], query: &Query) -> Vec<LineMatch> {
    let mut matches = Vec::new();
    let place = |byte: usize| starts.partition_point(|start| *start < byte);
    TermMatcher::new(query).visit(line, |TermHit { term, start, end, .. }| {
        matches.push(LineMatch { term, start: place(start), end: place(end) });
    });
    matches
}

/// The window of `room` characters with the most distinct terms, then the most occurrences.
fn best_window(matches: &[LineMatch], length: usize, room: usize) -> (usize, usize) {
    let mut counts = vec![0usize; matches.iter().map(|found| found.term + 1).max().unwrap_or(0)];
    let mut distinct = 0;
    let mut last = 0;
    let mut best = (0, 0..0);
    for (first, found) in matches.iter().enumerate() {
        while let Some(next) = matches.get(last).filter(|next| next.end <= found.start + room) {
            distinct += usize::from(counts[next.term] == 0);
            counts[next.term] += 1;
            last += 1;
        }
        if (distinct, last.saturating_sub(first)) > (best.0, best.1.len()) {
            best = (distinct, first..last);
        }
        if last > first {
            counts[found.term] -= 1;
            distinct -= usize::from(counts[found.term] == 0);
        } else {
            last = first + 1;
        }
    }
    let (start, end) = match matches.get(best.1) {
        Some([first, .., last]) => (first.start, last.end),
        Some([only]) => (only.start, only.end),
        _ => (0, 0),
    };
    // The remaining room goes around the match, more of it after.
    let before = room.saturating_sub(end - start) / 3;
    let from = start.saturating_sub(before).min(length - room);
    (from, from + room)
}

/// How many characters a cut may move to a space.
const SLACK: usize = 24;

/// Moves the start to the beginning of a word, but not past the first match.
fn window_start(line: &str, starts: &[usize], from: usize, first_match: Option<usize>) -> usize {
    if from == 0 {
        return 0;
    }
    let limit = first_match.unwrap_or(usize::MAX).min(from + SLACK);
    let at = |i: usize| starts.get(i).and_then(|start| line[*start..].chars().next());
    let word = (from..=limit).take_while(|i| *i < starts.len()).find(|i| at(i - 1) == Some(' '));
    word.unwrap_or_else(|| (from..limit).find(|i| at(*i).is_none_or(|c| !is_combining(c))).unwrap_or(from))
}

/// Moves the end back to the end of a word.
fn window_end(line: &str, starts: &[usize], from: usize, to: usize) -> usize {
    if to >= starts.len() {
        return starts.len();
    }
    let at = |i: usize| line[starts[i]..].chars().next();
    let lowest = to.saturating_sub(SLACK).max(from + 1);
    let word = (lowest..=to).rev().find(|i| at(*i) == Some(' '));
    word.unwrap_or_else(|| (lowest..=to).rev().find(|i| at(*i).is_none_or(|c| !is_combining(c))).unwrap_or(to))
}

/// Whether a character modifies the previous one: marks, joiners, variants, skin tones, trailing Hangul letters.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{200D}' | '\u{1160}'..='\u{11FF}' | '\u{1F3FB}'..='\u{1F3FF}')
        || unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests;
