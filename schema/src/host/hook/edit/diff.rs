//! Compares the texts of an edit, and selects the changed lines to show.

use super::symbol::{indent, is_definition};

/// Texts of at most this many lines are compared line by line. In longer ones, everything between the common start and end counts as
/// changed.
const COMPARED_LINES: usize = 240;

/// The longest summary of one edit, in characters.
pub(super) const LONGEST_SUMMARY: usize = 400;

/// The longest shown line in characters, and the text before a difference in the middle of a long one.
const LONGEST_LINE: usize = 160;
const LONGEST_LEAD: usize = 40;

/// The length of the mark, a space and the previous newline.
const MARK_LENGTH: usize = 3;

/// The most characters of removed lines if there are added ones.
const LONGEST_REMOVED: usize = 120;

/// The changed lines of an edit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Changed<'t> {
    /// The lines of the edit before the first change.
    pub(super) before: Vec<&'t str>,
    pub(super) removed: Vec<&'t str>,
    pub(super) added: Vec<&'t str>,
}

impl Changed<'_> {
    /// Returns the indentation of the first changed line.
    pub(super) fn indent(&self) -> usize {
        self.first_line().map_or(0, indent)
    }

    /// Whether the first changed line is itself a definition.
    pub(super) fn holds_definition(&self) -> bool {
        self.first_line().is_some_and(is_definition)
    }

    fn first_line(&self) -> Option<&str> {
        self.added.iter().chain(&self.removed).copied().find(|line| !line.trim().is_empty())
    }
}

/// Compares two texts.
pub(super) fn changed<'t>(old: &'t str, new: &'t str) -> Changed<'t> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let before = old[..start].to_vec();
    if a.len().max(b.len()) > COMPARED_LINES {
        return Changed { before, removed: a.to_vec(), added: b.to_vec() };
    }
    let (kept_of_old, kept_of_new): (Vec<usize>, Vec<usize>) = common(a, b).into_iter().unzip();
    let without = |lines: &[&'t str], kept: &[usize]| {
        lines.iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, line)| *line).collect()
    };
    Changed { before, removed: without(a, &kept_of_old), added: without(b, &kept_of_new) }
}

/// Returns the positions of a longest common sequence of lines.
fn common(a: &[&str], b: &[&str]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut longest = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Returns the changed lines in at most [`LONGEST_SUMMARY`] characters, with `- ` before removed and `+ ` before added ones.
pub(super) fn shown<'t>(changed: &Changed<'t>) -> Option<String> {
    let trimmed = |lines: &[&'t str]| -> Vec<&'t str> {
        lines.iter().map(|line| line.trim()).filter(|line| says_something(line)).collect()
    };
    let (removed, added) = (trimmed(&changed.removed), trimmed(&changed.added));
    // Skip lines that only moved.
    let gone: Vec<&str> = removed.iter().copied().filter(|line| !added.contains(line)).collect();
    let come: Vec<&str> = added.iter().copied().filter(|line| !removed.contains(line)).collect();
    let pairs_up = gone.len() == come.len();
    let mut text = String::new();
    let reserved = if come.is_empty() { LONGEST_SUMMARY } else { LONGEST_REMOVED };
    add(&mut text, '-', &gone, |at| come.get(at).filter(|_| pairs_up), reserved);
    add(&mut text, '+', &come, |at| gone.get(at).filter(|_| pairs_up), LONGEST_SUMMARY);
    (!text.is_empty()).then_some(text)
}

/// Returns lines of a new file, with their indentation, in at most [`LONGEST_SUMMARY`] characters.
pub(super) fn head_of_file(lines: &[&str]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    let mut text = String::new();
    add(&mut text, '+', &lines, |_| None, LONGEST_SUMMARY);
    (!text.is_empty()).then_some(text)
}

/// Returns how many characters a shown line of a new file takes.
pub(super) fn shown_length(line: &str) -> usize {
    line.trim_end().chars().count().min(LONGEST_LINE) + MARK_LENGTH
}

pub(super) fn says_something(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Adds lines until the text is `limit` characters long.
fn add<'l>(text: &mut String, mark: char, lines: &[&str], other: impl Fn(usize) -> Option<&'l &'l str>, limit: usize) {
    for (at, line) in lines.iter().enumerate() {
        let used = text.chars().count();
        let Some(left) = limit.checked_sub(used + MARK_LENGTH).filter(|left| *left >= 8) else { break };
        let line = window(line, other(at).copied(), left.min(LONGEST_LINE));
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{mark} {line}"));
    }
}

/// Returns the part of a line that differs from another one, with at most `most` characters.
fn window(line: &str, other: Option<&str>, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let same = other.map_or(0, |other| line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count());
    let start = if same > most / 2 { same.saturating_sub(LONGEST_LEAD) } else { 0 };
    let lead = if start > 0 { "…" } else { "" };
    let kept: String = line.chars().skip(start).take(most.saturating_sub(2)).collect();
    let is_whole = line.chars().count() <= start + most.saturating_sub(2);
    format!("{lead}{kept}{}", if is_whole { "" } else { "…" })
}
