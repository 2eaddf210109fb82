//! Splits a message into sentences, each with the line that introduces it. Understands Markdown, not meaning.

use std::ops::Range;

use super::pasted_output::pasted_lines;
use crate::prose::sentences::ends_with_abbreviation;

/// The kind of passage that a sentence is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Prose,
    Item,
    /// An item with an unticked box.
    OpenItem,
    TickedItem,
    /// A heading. It only gives context and concludes nothing.
    Heading,
}

impl Place {
    pub(super) fn is_item(self) -> bool {
        matches!(self, Self::Item | Self::OpenItem | Self::TickedItem)
    }
}

/// A sentence, as bytes of its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSentence {
    pub range: Range<usize>,
    pub place: Place,
    /// The number of its paragraph or item.
    pub passage: usize,
    /// For an item of a list, the sentence before the list.
    pub lead: Option<usize>,
}

const BULLETS: [&str; 5] = ["- ", "* ", "+ ", "• ", "– "];

/// From this length in characters, a line without a full stop counts as wrapped, and the next one continues it.
const WRAPPED: usize = 60;

/// Splits a message into sentences. Skips fenced code, block quotes, tables, HTML and pasted output.
pub fn placed_sentences(text: &str) -> Vec<PlacedSentence> {
    let mut reader = SentenceSplitter { text, ..SentenceSplitter::default() };
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for (line, is_pasted) in text.split_inclusive('\n').zip(pasted_lines(text)) {
        let trimmed = line.trim();
        let at = start + (line.len() - line.trim_start().len());
        start += line.len();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if let Some(open) = fence {
            if mark == Some(open) {
                fence = None;
            }
            continue;
        }
        if let Some(mark) = mark {
            reader.end_passage();
            // A fence may open and close on one line.
            fence = (!trimmed[mark.len()..].contains(mark)).then_some(mark);
        } else if trimmed.is_empty() || trimmed.starts_with(['>', '|', '<']) || is_pasted {
            reader.end_passage();
        } else {
            reader.read_line(at, line, trimmed);
        }
    }
    reader.end_passage();
    reader.found
}

#[derive(Default)]
struct SentenceSplitter<'a> {
    text: &'a str,
    found: Vec<PlacedSentence>,
    passages: usize,
    open: Option<(Range<usize>, Place)>,
    lead: Option<usize>,
}

impl SentenceSplitter<'_> {
    fn read_line(&mut self, at: usize, line: &str, trimmed: &str) {
        let end = at + trimmed.len();
        let heading = trimmed.len() - trimmed.trim_start_matches(['#', ' ']).len();
        if trimmed.starts_with('#') {
            self.end_passage();
            self.open = Some((at + heading..end, Place::Heading));
            self.end_passage();
            return;
        }
        let (place, marker) = marker(trimmed);
        if marker == trimmed.len() {
            return;
        }
        if let Some((range, open)) = self.open.as_mut().filter(|_| place == Place::Prose) {
            let last = self.text[range.clone()].rsplit('\n').next().unwrap_or_default();
            let is_wrapped = last.chars().count() >= WRAPPED || (open.is_item() && line.starts_with("  "));
            if is_wrapped && !last.ends_with(['.', '!', '?', ':']) {
                range.end = end;
                return;
            }
        }
        self.end_passage();
        self.open = Some((at + marker..end, place));
    }

    fn end_passage(&mut self) {
        let Some((range, place)) = self.open.take() else { return };
        let lead = self.lead.filter(|_| place.is_item());
        let before = self.found.len();
        for part in split(&self.text[range.clone()]) {
            let range = range.start + part.start..range.start + part.end;
            self.found.push(PlacedSentence { range, place, passage: self.passages, lead });
        }
        if self.found.len() > before && !place.is_item() {
            self.lead = Some(self.found.len() - 1);
        }
        self.passages += 1;
    }
}

/// Returns the kind of item that a line begins, and the length of its marker in bytes.
fn marker(line: &str) -> (Place, usize) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let bullet = BULLETS.into_iter().find(|mark| line.starts_with(mark)).map(str::len);
    let is_number = (1..=3).contains(&digits) && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    let Some(marker) = bullet.or(is_number.then_some(digits + 2)) else { return (Place::Prose, 0) };
    let rest = &line[marker..];
    let place = match rest.get(..3) {
        Some("[ ]") => Place::OpenItem,
        Some("[x]" | "[X]") => Place::TickedItem,
        _ => return (Place::Item, marker),
    };
    (place, marker + 3 + (rest[3..].len() - rest[3..].trim_start().len()))
}

/// Splits a passage into sentences. A full stop before a space ends one even before a lower-case letter, because people do not capitalise
/// in chats.
fn split(passage: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    // The mark that closes open inline code or an open quotation. No sentence ends inside.
    let mut closing = None;
    let mut characters = passage.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if closing == Some(c) {
            closing = None;
        } else if closing.is_none() {
            closing = closing_mark(c).filter(|mark| passage[at + c.len_utf8()..].contains(*mark));
        }
        if closing.is_some() || !ends(c) {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((at, c)) = characters.next_if(|(_, c)| ends(*c) || matches!(c, ')' | '"' | '”' | '*' | '\'')) {
            end = at + c.len_utf8();
        }
        let is_followed_by_space = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if (is_followed_by_space || matches!(c, '。' | '？')) && !ends_with_abbreviation(&passage[start..end]) {
            push(passage, start..end, &mut found);
            start = end;
        }
    }
    push(passage, start..passage.len(), &mut found);
    found
}

fn closing_mark(c: char) -> Option<char> {
    match c {
        '`' | '"' => Some(c),
        '“' => Some('”'),
        _ => None,
    }
}

fn ends(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '。' | '？')
}

fn push(passage: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let text = &passage[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    let end = range.start + text.trim_end().len();
    if passage.get(start..end).is_some_and(|text| text.chars().any(char::is_alphanumeric)) {
        found.push(start..end);
    }
}
