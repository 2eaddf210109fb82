//! Identifiers, paths, error codes and versions: their parts, and the same parts joined.
//!
//! `getUserName`, `get_user_name` and `get-user-name` share the joined form and the parts, so each finds the others.

use std::ops::Range;

use super::{LONGEST_TOKEN, fold};

/// What a piece is to the compound it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A word without parts, or all parts of a compound joined.
    Whole,
    /// Some parts joined: a file name within a path, an identifier within a file name.
    Group,
    Part,
}

/// Calls `sink` with the folded pieces of a run of letters, their bytes in the run, and their role.
pub(crate) fn visit(run: &str, folded: &mut String, mut sink: impl FnMut(&str, Range<usize>, Role)) {
    if run.len() <= LONGEST_TOKEN && run.bytes().all(|b| b.is_ascii_lowercase()) {
        return sink(run, 0..run.len(), Role::Whole);
    }
    if run.len() <= LONGEST_TOKEN && is_one_part(run) {
        folded.clear();
        fold::fold_into(run, folded);
        return sink(folded, 0..run.len(), Role::Whole);
    }
    if let Some((letter, sign)) =
        [("++", "plusplus"), ("#", "sharp")].iter().find_map(|(sign, spoken)| Some((run.strip_suffix(sign)?, spoken)))
    {
        return sink(&(letter.to_ascii_lowercase() + sign), 0..run.len(), Role::Whole);
    }
    let parts = parts(run);
    let mut emit = |range: &[Part], role| {
        folded.clear();
        for part in range {
            fold::fold_into(&run[part.range.clone()], folded);
        }
        truncate(folded);
        if let (Some(first), Some(last), false) = (range.first(), range.last(), folded.is_empty()) {
            sink(folded, first.range.start..last.range.end, role);
        }
    };
    for part in &parts {
        emit(std::slice::from_ref(part), if parts.len() == 1 { Role::Whole } else { Role::Part });
    }
    for level in [Joint::Case, Joint::Word, Joint::Dot, Joint::Path] {
        for group in parts.chunk_by(|_, next| next.joint <= level) {
            // A group that a lower level has already made is left out, and so is one that no one would type.
            let made_here = group.iter().skip(1).any(|part| part.joint == level);
            let bytes = group.iter().map(|part| part.range.len()).sum::<usize>();
            if made_here && bytes <= LONGEST_TOKEN {
                emit(group, if group.len() == parts.len() { Role::Whole } else { Role::Group });
            }
        }
    }
}

/// Whether a run is a word of ASCII with at most its first letter in upper case, or a number: most runs that are no plain word.
fn is_one_part(run: &str) -> bool {
    run.bytes().all(|b| b.is_ascii_alphanumeric()) && !run.bytes().skip(1).any(|b| b.is_ascii_uppercase())
}

/// What stands before a part, from the tightest to the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Joint {
    Case,
    Word,
    Dot,
    Path,
}

#[derive(Debug)]
struct Part {
    range: Range<usize>,
    joint: Joint,
}

fn parts(run: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut joint = Joint::Path;
    let mut start = 0;
    for (i, c) in run.char_indices() {
        let separator = match c {
            '_' | '-' | '\u{2010}' | '\u{2011}' => Joint::Word,
            '.' => Joint::Dot,
            '/' | '\\' | ':' => Joint::Path,
            _ => continue,
        };
        if start < i {
            leaf(run, start..i, joint, &mut parts);
            joint = separator;
        }
        start = i + c.len_utf8();
    }
    leaf(run, start..run.len(), joint, &mut parts);
    parts
}

/// Adds what stands between two separators, by its humps when it has some.
fn leaf(run: &str, range: Range<usize>, joint: Joint, parts: &mut Vec<Part>) {
    let text = without_ending(&run[range.clone()]);
    let mut humps = if text.len() <= LONGEST_TOKEN { humps(text) } else { Vec::new() };
    if humps.len() > MOST_HUMPS {
        humps.clear();
    }
    let mut joint = joint;
    let mut from = 0;
    for to in humps.into_iter().chain([text.len()]) {
        parts.push(Part { range: range.start + from..range.start + to, joint });
        (from, joint) = (to, Joint::Case);
    }
}

/// Encoded data changes case at every other letter; names of more humps than this are not names.
const MOST_HUMPS: usize = 10;

/// Byte offsets at which a name such as `parseHTTPResponse` begins a new part.
fn humps(text: &str) -> Vec<usize> {
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

/// Leaves out the English endings that an apostrophe marks: `Mary's`, `we'll`, `I'd`.
fn without_ending(text: &str) -> &str {
    let Some((at, apostrophe)) = text.char_indices().rfind(|(_, c)| matches!(c, '\'' | '\u{2019}')) else {
        return text;
    };
    let ending = text[at + apostrophe.len_utf8()..].to_ascii_lowercase();
    if matches!(ending.as_str(), "s" | "d" | "m" | "ll" | "ve" | "re") { &text[..at] } else { text }
}

fn truncate(folded: &mut String) {
    if let Some((end, _)) = folded.char_indices().nth(LONGEST_TOKEN) {
        folded.truncate(end);
    }
}
