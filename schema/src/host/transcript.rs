//! Reads transcripts of Claude Code tolerantly: who said what, and when.
//!
//! The format is internal to the host and changes without notice. So a line that cannot be parsed is skipped, and no line takes more than
//! [`LINE_LIMIT`] of memory.

pub mod line;
pub mod line_reader;
mod questions;

use std::io;
use std::path::Path;

use memchr::memmem;

use crate::host::choice::LastTurn;
use crate::intake::prepare::Draft;
use crate::model::memory::{MemoryType, UNFINISHED};
use crate::model::moment::Moment;
use crate::prose::small_talk::is_informative;
pub use line::TranscriptThread;
use line::{LineContent, TranscriptLine};
pub use line_reader::LINE_LIMIT;
use line_reader::{BackwardLines, ForwardLines};
pub use questions::picked_options;

/// How far from the end the last answer is searched, in bytes.
const ANSWER_REACH: u64 = 4 * 1024 * 1024;

/// How far from the end the model is searched, in bytes. Lines of bookkeeping have up to 90 kB.
const MODEL_REACH: u64 = 512 * 1024;

/// How far from the end the last compaction is searched, in bytes: more than the context of any model takes on disk.
const COMPACTION_REACH: u64 = 64 * 1024 * 1024;

/// The place where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    Start,
    /// After the last compaction, or at the start without one. If a file has over 64 MB and no compaction in its last 64 MB, only
    /// these are read.
    LastCompaction,
}

/// An utterance in the main thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Utterance {
    /// A request of a person.
    Prompt { text: String, at: Moment },
    /// An answer of the model: its text blocks, with a blank line between them.
    Answer { text: String, at: Moment },
    /// The summary of the conversation before a compaction.
    Summary { text: String, at: Moment },
}

/// Returns the last answer of a thread: its text blocks, with a blank line between them.
///
/// Returns `None` if the last turn has no answer yet, or if the last 4 MB have none. The answer of an earlier turn does not count. If the
/// model said nothing after its tool calls, its text before or between them counts.
pub fn last_answer(path: &Path, thread: TranscriptThread) -> io::Result<Option<String>> {
    let mut lines = BackwardLines::open(path, ANSWER_REACH)?;
    let mut texts: Vec<String> = Vec::new();
    let mut answer = None;
    while let Some((_, bytes)) = lines.next()? {
        match TranscriptLine::parse(&bytes).map_or(LineContent::Nothing, |line| line.content(thread)) {
            LineContent::Answer { id, text } if texts.is_empty() => {
                texts.push(text);
                // Without an id it is unknown which lines belong together.
                if id.is_none() {
                    break;
                }
                answer = id;
            }
            LineContent::Answer { id, text } if id == answer => texts.push(text),
            LineContent::Answer { .. } | LineContent::Prompt(_) | LineContent::MachinePrompt => break,
            LineContent::Summary(_) | LineContent::Compaction | LineContent::Nothing => {}
        }
    }
    texts.reverse();
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// Returns the prompt of the last turn and its last answer, each empty without one.
///
/// A prompt at the very end of the file that equals `next` belongs to the next turn and is skipped.
pub fn last_turn(path: &Path, next: &str) -> io::Result<LastTurn> {
    let mut lines = BackwardLines::open(path, ANSWER_REACH)?;
    let (mut texts, mut answer): (Vec<String>, Option<String>) = (Vec::new(), None);
    let mut asked = String::new();
    while let Some((_, bytes)) = lines.next()? {
        match TranscriptLine::parse(&bytes).map_or(LineContent::Nothing, |line| line.content(TranscriptThread::Main)) {
            LineContent::Answer { id, text } if texts.is_empty() => {
                texts.push(text);
                answer = id;
            }
            LineContent::Answer { id, text } if id.is_some() && id == answer => texts.push(text),
            LineContent::Prompt(text) if texts.is_empty() && text == next.trim() => {}
            LineContent::Prompt(text) => {
                asked = text;
                break;
            }
            LineContent::MachinePrompt | LineContent::Compaction => break,
            LineContent::Answer { .. } | LineContent::Summary(_) | LineContent::Nothing => {}
        }
    }
    texts.reverse();
    Ok(LastTurn { prompt: asked, answer: texts.join("\n\n") })
}

/// How far from the end the texts of a turn are searched, and how many bytes of text are returned.
const TURN_REACH: u64 = 2 * 1024 * 1024;
pub const TURN_TEXTS: usize = 256 * 1024;

/// The longest line that is searched for a text, in bytes. Longer ones are results of tools.
const TEXT_LINE: usize = 512 * 1024;

/// The texts of a turn without its prompt, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnTexts {
    /// The model's texts in the main thread.
    pub texts: Vec<String>,
    /// The decisions of a person who picked options.
    pub picked: Vec<String>,
    /// When the last text was said.
    pub at: Option<Moment>,
}

impl TurnTexts {
    /// Returns a memory of the last informative text of a turn without an end. It has the time of the last text, or `at` if that is unknown
    /// or later.
    pub fn unfinished(&self, session_id: &str, at: Moment) -> Option<Draft> {
        let text = self.texts.iter().rev().find(|text| is_informative(text))?;
        let at = self.at.map_or(at, |said| said.min(at));
        let mut draft = Draft::new(session_id, MemoryType::AssistantResponse, text.as_str(), at);
        draft.attributes.metadata.insert(UNFINISHED.to_owned(), true.into());
        Some(draft)
    }
}

/// Returns what was said since the last prompt, and not before `since`, if that is given. The turn may still be going on.
///
/// A prompt at the very end of the file that equals `next` belongs to the next turn and is skipped.
pub fn texts_of_turn(path: &Path, since: Option<Moment>, next: Option<&str>) -> io::Result<TurnTexts> {
    let mut lines = BackwardLines::open(path, TURN_REACH)?;
    let (mut said, mut length, mut last_id) = (TurnTexts::default(), 0, None);
    while let Some((_, bytes)) = lines.next()? {
        // Skip most lines without parsing them.
        let speaks = [&b"\"assistant\""[..], b"\"user\""].iter().any(|who| memmem::find(&bytes, who).is_some());
        let is_result = speaks && memmem::find(&bytes, b"\"tool_result\"").is_some();
        if is_result {
            said.picked.extend(picked_options(&bytes).into_iter().rev());
        }
        if !speaks || is_result || bytes.len() > TEXT_LINE {
            continue;
        }
        let Some(line) = TranscriptLine::parse(&bytes) else { continue };
        if since.zip(line.moment()).is_some_and(|(since, moment)| moment < since) {
            break;
        }
        match line.content(TranscriptThread::Main) {
            LineContent::Answer { text, id } => {
                length += text.len();
                if length > TURN_TEXTS {
                    break;
                }
                // The lines of one answer have the same id.
                match said.texts.last_mut().filter(|_| id.is_some() && id == last_id) {
                    Some(later) => *later = format!("{text}\n\n{later}"),
                    None => said.texts.push(text),
                }
                last_id = id;
                said.at = said.at.or_else(|| line.moment());
            }
            LineContent::Prompt(text) if said.texts.is_empty() && next.is_some_and(|next| next.trim() == text) => {}
            LineContent::Prompt(_) | LineContent::MachinePrompt | LineContent::Compaction => break,
            // Without the start of the turn, a command may begin it.
            LineContent::Nothing if since.is_none() && line.is_command() => break,
            LineContent::Nothing | LineContent::Summary(_) => {}
        }
    }
    said.texts.reverse();
    said.picked.reverse();
    Ok(said)
}

/// Returns the model that answered last, if the last 512 kB name it.
pub fn last_model(path: &Path) -> io::Result<Option<String>> {
    last_value(path, |line| line.model().map(str::to_owned))
}

/// Returns the tokens of the last answer's context, if the last 512 kB name them.
pub fn last_context_tokens(path: &Path) -> io::Result<Option<u64>> {
    last_value(path, TranscriptLine::context_tokens)
}

fn last_value<T>(path: &Path, value: impl Fn(&TranscriptLine) -> Option<T>) -> io::Result<Option<T>> {
    let mut lines = BackwardLines::open(path, MODEL_REACH)?;
    while let Some((_, bytes)) = lines.next()? {
        if let Some(found) = TranscriptLine::parse(&bytes).as_ref().and_then(&value) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the utterances of the main thread in order, with one line of the file in memory at a time.
///
/// Skips lines without a time. An error while reading ends the iteration, as an incomplete last line does.
pub fn utterances(path: &Path, since: ReadFrom) -> io::Result<Utterances> {
    let start = match since {
        ReadFrom::Start => 0,
        ReadFrom::LastCompaction => last_compaction_offset(path)?,
    };
    Ok(Utterances { lines: ForwardLines::open(path, start)?, open: None, next: None, done: false })
}

/// Returns the offset after the last compaction, or of the first line in reach.
fn last_compaction_offset(path: &Path) -> io::Result<u64> {
    let mut lines = BackwardLines::open(path, COMPACTION_REACH)?;
    while let Some((start, bytes)) = lines.next()? {
        // Skip most lines without parsing them.
        let candidate = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("compact_boundary"));
        let content =
            candidate.then(|| TranscriptLine::parse(&bytes)).flatten().map(|line| line.content(TranscriptThread::Main));
        if matches!(content, Some(LineContent::Compaction)) {
            return Ok(start + bytes.len() as u64);
        }
    }
    Ok(lines.reach_start())
}

/// The iterator that [`utterances`] returns.
#[derive(Debug)]
pub struct Utterances {
    lines: ForwardLines,
    /// The answer that is being read.
    open: Option<OpenAnswer>,
    /// The utterance after an answer that has just ended.
    next: Option<Utterance>,
    done: bool,
}

#[derive(Debug)]
struct OpenAnswer {
    id: Option<String>,
    text: String,
    at: Moment,
}

impl OpenAnswer {
    fn close(self) -> Utterance {
        Utterance::Answer { text: self.text, at: self.at }
    }
}

impl Utterances {
    /// Adds a line, and returns the utterance that it completes.
    fn add_line(&mut self, line: &TranscriptLine) -> Option<Utterance> {
        let at = line.moment()?;
        match line.content(TranscriptThread::Main) {
            LineContent::Answer { id, text } => self.add_answer(id, text, at),
            LineContent::Prompt(text) => self.close_before(Utterance::Prompt { text, at }),
            LineContent::Summary(text) => self.close_before(Utterance::Summary { text, at }),
            LineContent::MachinePrompt | LineContent::Compaction => self.open.take().map(OpenAnswer::close),
            LineContent::Nothing => None,
        }
    }

    fn add_answer(&mut self, id: Option<String>, text: String, at: Moment) -> Option<Utterance> {
        match &mut self.open {
            Some(open) if open.id.is_some() && open.id == id => {
                if open.text.len() + text.len() < LINE_LIMIT {
                    open.text.push_str("\n\n");
                    open.text.push_str(&text);
                }
                None
            }
            open => open.replace(OpenAnswer { id, text, at }).map(OpenAnswer::close),
        }
    }

    fn close_before(&mut self, said: Utterance) -> Option<Utterance> {
        match self.open.take() {
            None => Some(said),
            Some(open) => {
                self.next = Some(said);
                Some(open.close())
            }
        }
    }
}

impl Iterator for Utterances {
    type Item = Utterance;

    fn next(&mut self) -> Option<Utterance> {
        if let Some(said) = self.next.take() {
            return Some(said);
        }
        while !self.done {
            let said = match self.lines.next_line() {
                Ok(Some(bytes)) => TranscriptLine::parse(bytes),
                Ok(None) | Err(_) => {
                    self.done = true;
                    return self.open.take().map(OpenAnswer::close);
                }
            };
            if let Some(said) = said.and_then(|line| self.add_line(&line)) {
                return Some(said);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
