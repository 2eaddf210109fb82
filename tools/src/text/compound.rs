//! Splits identifiers, paths, error codes and versions into parts, and joins the parts.
//!
//! `getUserName`, `get_user_name` and `get-user-name` have the same parts and joined form, so each finds the others.

use std::ops::Range;

use super::fold;

/// Longest token in characters. Longer ones, mostly encoded data, are truncated, and longer compounds are not joined.
pub(crate) const MAX_TOKEN_LENGTH: usize = 64;

/// A piece's role in its compound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceRole {
    /// A word without parts, or all parts joined.
    Whole,
    /// Some parts joined: a file name in a path, an identifier in a file name.
    Group,
    Part,
}

/// Calls `sink` with the folded pieces of a run of letters, their byte ranges, and their roles.
pub(crate) fn visit_pieces(run: &str, folded: &mut String, mut sink: impl FnMut(&str, Range<usize>, PieceRole)) {
    if run.len() <= MAX_TOKEN_LENGTH && run.bytes().all(|b| b.is_ascii_lowercase()) {
        return sink(run, 0..run.len(), PieceRole::Whole);
    }
    if run.len() <= MAX_TOKEN_LENGTH && is_single_part(run) {
        folded.clear();
        fold::fold_into(run, folded);
        return sink(folded, 0..run.len(), PieceRole::Whole);
    }
    if let Some((letter, sign)) =
        [("++", "plusplus"), ("#", "sharp")].iter().find_map(|(sign, spoken)| Some((run.strip_suffix(sign)?, spoken)))
    {
        return sink(&(letter.to_ascii_lowercase() + sign), 0..run.len(), PieceRole::Whole);
    }
    let parts = split_parts(run);
    let mut emit = |range: &[WordPart], role| {
        folded.clear();
        for part in range {
            fold::fold_into(&run[part.range.clone()], folded);
        }
        if let Some((end, _)) = folded.char_indices().nth(MAX_TOKEN_LENGTH) {
            folded.truncate(end);
        }
        if let (Some(first), Some(last), false) = (range.first(), range.last(), folded.is_empty()) {
            sink(folded, first.range.start..last.range.end, role);
        }
    };
    for part in &parts {
        emit(std::slice::from_ref(part), if parts.len() == 1 { PieceRole::Whole } else { PieceRole::Part });
    }
    for level in [PartBoundary::Case, PartBoundary::Word, PartBoundary::Dot, PartBoundary::Path] {
        for group in parts.chunk_by(|_, next| next.joint <= level) {
            // Skips groups of a lower level, and groups that nobody would type.
            let made_here = group.iter().skip(1).any(|part| part.joint == level);
            let bytes = group.iter().map(|part| part.range.len()).sum::<usize>();
            if made_here && bytes <= MAX_TOKEN_LENGTH {
                emit(group, if group.len() == parts.len() { PieceRole::Whole } else { PieceRole::Group });
            }
        }
    }
}

/// Whether a run is an ASCII word with at most its first letter in upper case, or a number. This is the common case.
fn is_single_part(run: &str) -> bool {
    run.bytes().all(|b| b.is_ascii_alphanumeric()) && !run.bytes().skip(1).any(|b| b.is_ascii_uppercase())
}

/// The joint before a part, from tightest to loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PartBoundary {
    Case,
    Word,
    Dot,
    Path,
}

#[derive(Debug)]
struct WordPart {
    range: Range<usize>,
    joint: PartBoundary,
}

fn split_parts(run: &str) -> Vec<WordPart> {
    let mut parts = Vec::new();
    let mut joint = PartBoundary::Path;
    let mut start = 0;
    for (i, c) in run.char_indices() {
        let separator = match c {
            '_' | '-' | '\u{2010}' | '\u{2011}' => PartBoundary::Word,
            '.' => PartBoundary::Dot,
            '/' | '\\' | ':' => PartBoundary::Path,
            _ => continue,
        };
        if start < i {
            add_part(run, start..i, joint, &mut parts);
            joint = separator;
        }
        start = i + c.len_utf8();
    }
    add_part(run, start..run.len(), joint, &mut parts);
    parts
}

/// Adds the text between two separators, split at its humps.
fn add_part(run: &str, range: Range<usize>, joint: PartBoundary, parts: &mut Vec<WordPart>) {
    let text = strip_english_ending(&run[range.clone()]);
    let elided = elided_length(text);
    let (text, range) = (&text[elided..], range.start + elided..range.end);
    let mut humps = if text.len() <= MAX_TOKEN_LENGTH { hump_offsets(text) } else { Vec::new() };
    if humps.len() > MAX_HUMPS {
        humps.clear();
    }
    let mut joint = joint;
    let mut from = 0;
    for to in humps.into_iter().chain([text.len()]) {
        parts.push(WordPart { range: range.start + from..range.start + to, joint });
        (from, joint) = (to, PartBoundary::Case);
    }
}

/// Names have no more humps than this. Encoded data changes case at every other letter.
const MAX_HUMPS: usize = 10;

/// Byte offsets at which a name such as `parseHTTPResponse` begins a new part.
fn hump_offsets(text: &str) -> Vec<usize> {
    if text.chars().all(|c| !c.is_uppercase()) {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let lower = |i: usize| chars.get(i).is_some_and(|(_, c)| c.is_lowercase());
    let plural =
        |i: usize| matches!(chars.get(i), Some((_, 's'))) && chars.get(i + 1).is_none_or(|(_, c)| c.is_uppercase());
    (1..chars.len())
        .filter(|&i| {
            let (before, here) = (chars[i - 1].1, chars[i].1);
            let ends_acronym = lower(i + 1) && !plural(i + 1);
            here.is_uppercase()
                && (before.is_lowercase() || ((before.is_uppercase() || before.is_numeric()) && ends_acronym))
        })
        .map(|i| chars[i].0)
        .collect()
}

/// Removes English endings after an apostrophe: `Mary's`, `we'll`, `I'd`.
fn strip_english_ending(text: &str) -> &str {
    let Some((at, apostrophe)) = text.char_indices().rfind(|(_, c)| matches!(c, '\'' | '\u{2019}')) else {
        return text;
    };
    let ending = text[at + apostrophe.len_utf8()..].to_ascii_lowercase();
    if matches!(ending.as_str(), "s" | "d" | "m" | "ll" | "ve" | "re") { &text[..at] } else { text }
}

/// Length of a French article or pronoun that lost its vowel: `l'image`, `d'utilisateur`, `qu'elle`.
fn elided_length(text: &str) -> usize {
    let Some((at, apostrophe)) = text.char_indices().find(|(_, c)| matches!(c, '\'' | '\u{2019}')) else { return 0 };
    let length = at + apostrophe.len_utf8();
    let is_article =
        matches!(text[..at].to_ascii_lowercase().as_str(), "l" | "d" | "n" | "s" | "j" | "c" | "m" | "t" | "qu");
    if is_article && text[length..].chars().nth(1).is_some() { length } else { 0 }
}
