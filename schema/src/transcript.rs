//! A tolerant reader of Claude Code's transcripts: who said what, and when.
//!
//! The host calls the format internal and changes it at will. So a line that is not understood says nothing, and no
//! line, however long, is held in memory beyond [`LINE_LIMIT`].

pub(crate) mod line;
pub(crate) mod lines;

use std::io;
use std::path::Path;

use crate::moment::Moment;
use line::{Heard, Line};
use lines::{Backward, Forward};

/// The longest line that is read, in bytes. Only pasted images and whole files make longer ones.
pub const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// How far from the end the last answer is looked for, in bytes.
const ANSWER_REACH: u64 = 4 * 1024 * 1024;

/// How far from the end the last compaction is looked for, in bytes: more than any model's context takes on disk.
const COMPACTION_REACH: u64 = 64 * 1024 * 1024;

/// Whose words count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// The conversation with the user. What subagents said in the same file is left out.
    Main,
    /// A subagent, in whose own file every line is marked as a sidechain.
    Subagent,
}

/// Where reading begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Start,
    /// After the last compaction, or from the start when there was none. Of a file over 64 MB whose last compaction
    /// is farther from the end than that, only those last 64 MB are read.
    LastCompaction,
}

/// One thing that was said in the main thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// What a person asked for.
    Prompt { text: String, at: Moment },
    /// What the model said at once: the text blocks of one answer, with a blank line between them.
    Answer { text: String, at: Moment },
    /// What a compaction left of the conversation before it.
    Summary { text: String, at: Moment },
}

/// The last answer of a thread: its text blocks, with a blank line between them.
///
/// `None` when the turn that began last has no answer yet (an earlier turn's answer is not taken for it), or when none
/// is found in the last 4 MB. What the model said before or between tool calls counts when it said nothing afterwards.
pub fn last_answer(path: &Path, thread: Thread) -> io::Result<Option<String>> {
    let mut lines = Backward::open(path, ANSWER_REACH)?;
    let mut texts: Vec<String> = Vec::new();
    let mut answer = None;
    while let Some((_, bytes)) = lines.next()? {
        match Line::parse(&bytes).map_or(Heard::Nothing, |line| line.heard(thread)) {
            Heard::Answer { id, text } if texts.is_empty() => {
                texts.push(text);
                // Without an id nothing tells which lines belong together.
                if id.is_none() {
                    break;
                }
                answer = id;
            }
            Heard::Answer { id, text } if id == answer => texts.push(text),
            Heard::Answer { .. } | Heard::Prompt(_) | Heard::MachinePrompt => break,
            Heard::Summary(_) | Heard::Compaction | Heard::Nothing => {}
        }
    }
    texts.reverse();
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// What was said in the main thread, in order, one line of the file in memory at a time.
///
/// Lines without a time are left out. A fault while reading ends the iteration, as a torn last line does.
pub fn turns(path: &Path, since: Since) -> io::Result<Turns> {
    let start = match since {
        Since::Start => 0,
        Since::LastCompaction => after_last_compaction(path)?,
    };
    Ok(Turns { lines: Forward::open(path, start)?, open: None, next: None, done: false })
}

/// The offset behind the last compaction, or of the first line in reach.
fn after_last_compaction(path: &Path) -> io::Result<u64> {
    let mut lines = Backward::open(path, COMPACTION_REACH)?;
    while let Some((start, bytes)) = lines.next()? {
        // Most lines are told apart without parsing them.
        let candidate = std::str::from_utf8(&bytes).is_ok_and(|text| text.contains("compact_boundary"));
        let heard = candidate.then(|| Line::parse(&bytes)).flatten().map(|line| line.heard(Thread::Main));
        if matches!(heard, Some(Heard::Compaction)) {
            return Ok(start + bytes.len() as u64);
        }
    }
    Ok(lines.floor())
}

/// The iterator that [`turns`] answers.
#[derive(Debug)]
pub struct Turns {
    lines: Forward,
    /// The answer whose lines are being read.
    open: Option<Open>,
    /// What was read while an answer was open.
    next: Option<Said>,
    done: bool,
}

#[derive(Debug)]
struct Open {
    id: Option<String>,
    text: String,
    at: Moment,
}

impl Open {
    fn close(self) -> Said {
        Said::Answer { text: self.text, at: self.at }
    }
}

impl Turns {
    /// Takes in a line, and answers what it completes.
    fn hear(&mut self, line: &Line) -> Option<Said> {
        let at = line.at()?;
        match line.heard(Thread::Main) {
            Heard::Answer { id, text } => self.answer(id, text, at),
            Heard::Prompt(text) => self.close_with(Said::Prompt { text, at }),
            Heard::Summary(text) => self.close_with(Said::Summary { text, at }),
            Heard::MachinePrompt | Heard::Compaction => self.open.take().map(Open::close),
            Heard::Nothing => None,
        }
    }

    fn answer(&mut self, id: Option<String>, text: String, at: Moment) -> Option<Said> {
        match &mut self.open {
            Some(open) if open.id.is_some() && open.id == id => {
                if open.text.len() + text.len() < LINE_LIMIT {
                    open.text.push_str("\n\n");
                    open.text.push_str(&text);
                }
                None
            }
            open => open.replace(Open { id, text, at }).map(Open::close),
        }
    }

    fn close_with(&mut self, said: Said) -> Option<Said> {
        match self.open.take() {
            None => Some(said),
            Some(open) => {
                self.next = Some(said);
                Some(open.close())
            }
        }
    }
}

impl Iterator for Turns {
    type Item = Said;

    fn next(&mut self) -> Option<Said> {
        if let Some(said) = self.next.take() {
            return Some(said);
        }
        while !self.done {
            let said = match self.lines.next() {
                Ok(Some(bytes)) => Line::parse(bytes),
                Ok(None) | Err(_) => {
                    self.done = true;
                    return self.open.take().map(Open::close);
                }
            };
            if let Some(said) = said.and_then(|line| self.hear(&line)) {
                return Some(said);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
