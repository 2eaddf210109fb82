//! What one server hands to another: memories that its host has it save. Of all servers of a store the one that answers the queue
//! writes them, so that what several hosts save at once is kept under one lock and in one transaction.
//!
//! Lines of the queue like those of hooks. An older server refuses them, and the memories are kept without it.

use serde::{Deserialize, Serialize};

use crate::capture::{Captured, Delivery, Prepared};
use crate::memory::MemoryId;
use crate::parcel::Parcel;
use crate::store::Place;

/// The version of this reader, and the lowest one that may understand the lines of this program.
const VERSION: u32 = 1;

/// What became of a memory that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub id: MemoryId,
    pub place: Place,
    /// Whether it was remembered already.
    pub was_known: bool,
}

#[derive(Serialize, Deserialize)]
struct RequestLine {
    v: u32,
    save: Vec<Parcel>,
}

#[derive(Serialize, Deserialize)]
struct ReplyLine {
    v: u32,
    saved: Vec<Saved>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    id: String,
    path: String,
    start_line: usize,
    end_line: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    known: bool,
}

/// The line that asks to have memories kept, all of them.
pub fn request(memories: &[Prepared]) -> String {
    line(&RequestLine { v: VERSION, save: memories.iter().map(Parcel::of).collect() })
}

/// The memories of such a line; `None` of any other.
pub fn requested(line: &[u8]) -> Option<Vec<Prepared>> {
    let RequestLine { v, save } = serde_json::from_slice(line).ok()?;
    let memories = save.into_iter().map(|parcel| parcel.open(Delivery::Live));
    (v <= VERSION).then(|| memories.collect())?
}

/// The line that says what became of them.
pub fn reply(kept: Vec<Kept>) -> String {
    let saved = kept.into_iter().map(|Kept { id, place, was_known }| Saved {
        id: id.to_string(),
        path: place.path,
        start_line: place.start_line,
        end_line: place.end_line,
        known: was_known,
    });
    line(&ReplyLine { v: VERSION, saved: saved.collect() })
}

/// What became of them by such a line; `None` of any other, also of one that refuses.
pub fn replied(line: &[u8]) -> Option<Vec<Kept>> {
    let ReplyLine { v, saved } = serde_json::from_slice(line).ok()?;
    let kept = saved.into_iter().map(|Saved { id, path, start_line, end_line, known }| {
        let place = Place { path, start_line, end_line };
        Some(Kept { id: MemoryId::parse(&id)?, place, was_known: known })
    });
    (v <= VERSION).then(|| kept.collect())?
}

impl Kept {
    /// What capture made of a memory; `None` when it was deleted on purpose and stays so.
    pub fn of(captured: Captured) -> Option<Self> {
        match captured {
            Captured::Saved { id, place } => Some(Self { id, place, was_known: false }),
            Captured::Duplicate(row) => Some(Self { id: row.memory.id, place: row.place, was_known: true }),
            Captured::Forgotten => None,
        }
    }
}

fn line(frame: &impl Serialize) -> String {
    let mut line = serde_json::to_string(frame).expect("a frame is made of texts, numbers and lists");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Destination, Draft, prepare};
    use crate::memory::{Attributes, MemoryType};
    use crate::moment::Moment;
    use crate::queue::Request;
    use crate::screen::Screen;

    fn prepared(content: &str) -> Prepared {
        let draft = Draft {
            session_id: "s".into(),
            kind: MemoryType::Decision,
            content: content.into(),
            at: Moment::from_unix(1_769_563_815, Some(32_400)).unwrap(),
            attributes: Attributes { pinned: true, ..Attributes::default() },
            destination: Destination::DailyLog,
        };
        prepare(draft, &Screen::default()).unwrap()
    }

    #[test]
    fn memories_and_what_became_of_them_come_back_from_one_line_each() {
        let memories = vec![prepared("한글\n\"quoted\""), prepared("two")];
        let line = request(&memories);
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        assert_eq!(requested(line.as_bytes()), Some(memories));
        let kept = |id: &str, was_known| Kept {
            id: MemoryId::parse(id).unwrap(),
            place: Place { path: "2026-01-28.md".into(), start_line: 3, end_line: 4 },
            was_known,
        };
        let line = reply(vec![kept("ab", false), kept("cd", true)]);
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        assert_eq!(replied(line.as_bytes()), Some(vec![kept("ab", false), kept("cd", true)]));
    }

    #[test]
    fn other_lines_are_told_apart_and_an_older_server_refuses() {
        let hook = Request::Capture(vec![prepared("one")]).to_line();
        assert_eq!(requested(hook.as_bytes()), None);
        assert_eq!(requested(br#"{"v":2,"save":[]}"#), None);
        assert_eq!(replied(br#"{"v":1,"refused":"no"}"#), None);
        assert_eq!(replied(br#"{"v":2,"saved":[]}"#), None);
        assert!(Request::parse(request(&[prepared("one")]).as_bytes()).is_err());
    }
}
