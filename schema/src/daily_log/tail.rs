//! What has to be known of a log to put an entry at its end without reading it: of a busy day it has megabytes.

use super::LogKind;
use super::comment::SessionMark;
use super::edit::{Before, Splice, has_windows_lines, last_section};
use crate::memory::{Memory, MemoryType};

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    before: Before,
    section: LastSection,
}

/// Under what the last line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastSection {
    /// Under no heading: the log has events and prose only.
    None,
    /// Under the only heading of this type, with an entry or prose below it.
    Of(MemoryType),
    /// Anything else, behind which nothing is put without a look.
    Other,
}

impl Tail {
    /// The end of a log; `None` when its lines end as on Windows, or in another way that we would not write.
    pub fn of(log: &[u8]) -> Option<Self> {
        let ends_in_text = log.ends_with(b"\n") && !log.ends_with(b"\n\n") && !log.ends_with(b"\n\r\n");
        let is_plain = ends_in_text && !has_windows_lines(log);
        is_plain.then(|| Self { before: Before::of(log), section: last_section(log) })
    }

    /// The bytes of the log.
    pub fn length(&self) -> usize {
        self.before.length
    }

    /// Whether the log has sections, before which events are put.
    pub fn has_sections(&self) -> bool {
        self.section != LastSection::None
    }

    /// The change that puts an entry at the end, and the end after it; `None` when its place is elsewhere.
    pub fn extension(&self, memory: &Memory, kind: LogKind) -> Option<(Splice, Self)> {
        let is_event = kind != LogKind::LongTerm && memory.kind.is_session_data();
        let preamble = match (self.section, is_event) {
            (LastSection::None, true) => self.before.mark_for(memory),
            (LastSection::Of(kind), false) if kind == memory.kind => String::new(),
            _ => return None,
        };
        let (bytes, lines) = self.before.followed_by(&preamble, memory, kind);
        let mut before = self.before.clone();
        before.add(&bytes);
        let end = self.before.length;
        Some((Splice { start: end, end, bytes, lines }, Self { before, section: self.section }))
    }

    /// As one line of text, for [`Tail::parse`].
    pub fn to_text(&self) -> String {
        let section = match self.section {
            LastSection::None => "-",
            LastSection::Of(kind) => kind.as_str(),
            LastSection::Other => "?",
        };
        let mark = self.before.mark.as_ref().map(SessionMark::to_comment).unwrap_or_default();
        format!("{} {} {section} {mark}", self.before.length, self.before.lines)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(4, ' ');
        let (length, lines) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let section = match words.next()? {
            "-" => LastSection::None,
            "?" => LastSection::Other,
            kind => LastSection::Of(kind.parse().ok()?),
        };
        let mark = match words.next()? {
            "" => None,
            mark => Some(SessionMark::parse(mark)?),
        };
        Some(Self { before: Before::ending_in_text(length, lines, mark), section })
    }
}
