//! Splits a message into sentences, each with the line that introduces it. Understands Markdown, not meaning.

use std::ops::Range;

use crate::model::word_list::WordList;

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
pub struct Sentence {
    pub range: Range<usize>,
    pub place: Place,
    /// The number of its paragraph or item.
    pub passage: usize,
    /// For an item of a list, the sentence before the list.
    pub lead: Option<usize>,
}

/// Words with a full stop that ends no sentence.
static ABBREVIATIONS: WordList = WordList::words("e.g. i.e. vs. etc. cf. approx. no. fig. resp. incl. dr. mr. ms. st.");
const BULLETS: [&str; 5] = ["- ", "* ", "+ ", "• ", "– "];

/// From this length in characters, a line without a full stop counts as wrapped, and the next one continues it.
const WRAPPED: usize = 60;

/// Splits a message into sentences. Skips fenced code, block quotes, tables, HTML and pasted output.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut reader = SentenceSplitter { text, ..SentenceSplitter::default() };
    let mut fence: Option<&str> = None;
    let mut start = 0;
    let mut pasted = pasted_lines(text).into_iter();
    for line in text.split_inclusive('\n') {
        let is_pasted = pasted.next().unwrap_or_default();
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

/// Returns for each line whether it is pasted from a log, a stack trace or a terminal.
///
/// If most lines of a block look like output, so are the others between them.
fn pasted_lines(text: &str) -> Vec<bool> {
    let lines: Vec<&str> = text.split_inclusive('\n').map(str::trim).collect();
    let mut pasted = Vec::with_capacity(lines.len());
    for block in lines.chunk_by(|a, b| a.is_empty() == b.is_empty()) {
        let alike: Vec<usize> = (0..block.len()).filter(|at| resembles_output(block[*at])).collect();
        let log = match alike[..] {
            [first, .., last] if alike.len() * 2 >= last + 1 - first => first..last + 1,
            _ => 0..0,
        };
        pasted.extend((0..block.len()).map(|at| log.contains(&at) || is_output(block[at])));
    }
    pasted
}

/// Whether a line looks like output, although a sentence may begin the same way: a commit, a record, a message of a tool.
fn resembles_output(line: &str) -> bool {
    static STARTS: WordList = WordList::phrases(
        "commit |Author: |Date: |diff --git|npm |error|warning: |test |Compiling |FAIL|PASS|✓|✗|{\"|++|--",
    );
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_commit = (7..=40).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_hexdigit())
        && first.bytes().any(|byte| byte.is_ascii_digit());
    let is_syslog = MONTHS.contains(&first) && second.bytes().all(|byte| byte.is_ascii_digit()) && !second.is_empty();
    let has_level = line.split_whitespace().take(4).any(is_level);
    let fields = line.split_whitespace().filter(|word| word.contains('=') && !word.starts_with('=')).count();
    is_output(line) || is_commit || is_syslog || has_level || fields >= 2 || STARTS.begins(line)
}

fn is_level(word: &str) -> bool {
    let level = word.trim_matches(['[', ']', ':', '|']);
    ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"].contains(&level)
}

/// Whether a line is surely pasted from a log, a stack trace or a terminal.
fn is_output(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_time =
        first.len() >= 8 && first.bytes().filter(u8::is_ascii_digit).count() >= 6 && first.contains([':', '-']);
    let is_frame = line.starts_with("at ") && line.ends_with(')') || line.starts_with("File \"");
    is_level(first)
        || is_time
        || is_frame
        || line.starts_with("Traceback ")
        || line.starts_with("$ ")
        || line.starts_with("= note: ")
        || line.contains("Exception: ")
}

#[derive(Default)]
struct SentenceSplitter<'a> {
    text: &'a str,
    found: Vec<Sentence>,
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
            self.found.push(Sentence { range, place, passage: self.passages, lead });
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
        if (is_followed_by_space || matches!(c, '。' | '？')) && !is_abbreviation(&passage[start..end]) {
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

fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches('(').to_lowercase();
    let is_initial = word.len() == 2 && word.as_bytes()[0].is_ascii_alphabetic() && word.ends_with('.') && word != "i.";
    is_initial || ABBREVIATIONS.contains(&word)
}

fn push(passage: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let text = &passage[range.clone()];
    let start = range.start + (text.len() - text.trim_start().len());
    let end = range.start + text.trim_end().len();
    if passage.get(start..end).is_some_and(|text| text.chars().any(char::is_alphanumeric)) {
        found.push(start..end);
    }
}
