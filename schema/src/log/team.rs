//! The files of a team: `team/AUTHOR.md`, one for each author, in the repository and merged by git's `union` driver.
//!
//! Each record is one physical line, because a union merge puts lines of both sides in any order. A record is a memory that the author
//! shares, or a note about a shared memory of anybody. docs/dev/storage.md has the grammar.

use serde::{Deserialize, Serialize};

use super::LogEntry;
use super::comment::EntryFields;
use super::escape::{escape, unescape};
use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::sharing::{EXPIRES, TAGS, TEAM_DIR};

/// The longest line, in bytes. A text has at most 64 KB.
const LINE_LIMIT: usize = 96 * 1024;

/// The largest file that is read, in bytes: about 12,000 memories of one author.
pub const TEAM_FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// A member's decision about a shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamAction {
    /// It holds for everybody.
    Approve,
    /// It holds no longer.
    Retire,
    /// Its text must be in no store.
    Forget,
}

/// A line `<!-- team {"about":"ID","act":"approve","at":"…"} -->`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamNote {
    pub about: MemoryId,
    pub act: TeamAction,
    pub at: Moment,
}

/// The records of one author.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TeamFile {
    pub entries: Vec<LogEntry>,
    pub notes: Vec<TeamNote>,
    /// The numbers of all other lines with text, from 1, without headings. They are no notes of the user, so nothing reads them.
    pub unknown: Vec<usize>,
}

const NOTE: &str = "<!-- team ";

impl TeamNote {
    fn parse(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields {
            about: String,
            act: TeamAction,
            at: String,
        }
        let json = line.strip_prefix(NOTE)?.strip_suffix(" -->")?;
        let Fields { about, act, at } = serde_json::from_str(json).ok()?;
        Some(Self { about: MemoryId::parse(&about)?, act, at: Moment::parse_rfc3339(&at)? })
    }

    /// Formats the note as a line. Its time, which is only for people, is in UTC, so that it does not reveal the author's time zone.
    pub fn render(&self) -> String {
        let Self { about, act, at } = self;
        let json = serde_json::json!({"about": about.as_str(), "act": act, "at": at.in_utc().rfc3339()});
        format!("{NOTE}{json} -->\n")
    }
}

impl TeamFile {
    /// Parses a file.
    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim_end();
            if let Some(memory) = parse_entry(line) {
                file.entries.push(LogEntry { memory, start_line: number, end_line: number });
            } else if let Some(note) = TeamNote::parse(line) {
                file.notes.push(note);
            } else if !line.is_empty() && !line.starts_with("# ") {
                file.unknown.push(number);
            }
        }
        file
    }
}

fn parse_entry(line: &str) -> Option<Memory> {
    let (label, rest) = line.strip_prefix("- **")?.split_once("**: ")?;
    let kind = MemoryType::from_label(label).filter(|kind| kind.is_shareable())?;
    let (text, json) = rest.strip_suffix(" -->")?.rsplit_once(" <!-- ")?;
    let fields = EntryFields::parse(json)?;
    let content = unescape(text).into_owned();
    let at = fields.at(None)?;
    let (id, attributes) = (fields.id?, shared_attributes(fields.attributes));
    // An approval is about a text, so nobody may give another text its id.
    let fits = !content.trim().is_empty()
        && line.len() <= LINE_LIMIT
        && at.offset_seconds() == 0
        && id == shared_id(kind, &at, &content);
    fits.then(|| Memory { id, session_id: String::new(), kind, content, at, attributes })
}

/// Returns the id of a shared memory. It depends on no session or place, and differs from the id of the private memory.
pub fn shared_id(kind: MemoryType, at: &Moment, content: &str) -> MemoryId {
    MemoryId::derive(TEAM_DIR, kind, &at.in_utc(), content, 0)
}

/// Formats a shared memory as one line. Nothing of its session, branch or machine is written.
pub fn render_shared(memory: &Memory) -> String {
    let attributes = shared_attributes(memory.attributes.clone());
    let memory = Memory { session_id: String::new(), at: memory.at.in_utc(), attributes, ..memory.clone() };
    let text = escape(&memory.content).replace('\n', "&#10;");
    format!("- **{}**: {text} {}\n", memory.kind.label(), EntryFields::for_section(&memory).to_comment())
}

/// Returns the attributes that a team shares.
fn shared_attributes(attributes: MemoryAttributes) -> MemoryAttributes {
    let MemoryAttributes { supersedes, also, mut metadata, .. } = attributes;
    metadata.retain(|name, _| [TAGS, EXPIRES].contains(&name.as_str()));
    MemoryAttributes { supersedes, also, metadata, ..MemoryAttributes::default() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    fn memory(content: &str) -> Memory {
        let at = Moment::parse_rfc3339("2026-01-28T10:30:15+09:00").unwrap();
        let at = Moment::from_unix(at.unix(), Some(0)).unwrap();
        let id = shared_id(MemoryType::Decision, &at, content);
        let metadata =
            Map::from_iter([(TAGS.to_owned(), vec!["build"].into()), (EXPIRES.to_owned(), "2027-01-01".into())]);
        let attributes = MemoryAttributes { also: Some("빌드".to_owned()), metadata, ..MemoryAttributes::default() };
        Memory {
            id,
            session_id: String::new(),
            kind: MemoryType::Decision,
            content: content.to_owned(),
            at,
            attributes,
        }
    }

    #[test]
    fn shared_memory_is_one_line_without_its_origin() {
        let mut private = memory("Use pnpm\nfor all packages");
        private.session_id = "de026739".to_owned();
        private.attributes.metadata.insert("branch".to_owned(), "secret-plan".into());
        private.attributes.importance = Some(3);
        insta::assert_snapshot!(render_shared(&private), @r#"- **Decision**: Use pnpm&#10;for all packages <!-- {"id":"8473114796b33d8eb6625b514fffdb4a","at":"2026-01-28T01:30:15+00:00","also":"빌드","metadata":{"expires":"2027-01-01","tags":["build"]}} -->"#);
    }

    #[test]
    fn lines_that_are_no_records_are_unknown() {
        let text = format!(
            "# minji\n\n{}- **Task**: not shareable <!-- {{\"id\":\"a\",\"at\":\"2026-01-28T10:30:15Z\"}} -->\n- **Decision**: no id\n<<<<<<< ours\n{}{}",
            render_shared(&memory("one")),
            render_shared(&memory("one")).replace("one", "another text"),
            "<!-- team {\"about\":\"a\",\"act\":\"praise\",\"at\":\"2026-01-28T10:30:15Z\"} -->\n",
        );
        let parsed = TeamFile::parse(&text);
        assert_eq!((parsed.entries.len(), parsed.notes.len(), parsed.unknown), (1, 0, vec![4, 5, 6, 7, 8]));
    }

    proptest! {
        #[test]
        fn any_text_round_trips_as_one_line(content in "(\\PC|\\s|-->|<!--|&#10;|\\*\\*: ){1,80}") {
            prop_assume!(!content.trim().is_empty());
            let shared = memory(&content);
            let line = render_shared(&shared);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let parsed = TeamFile::parse(&line);
            prop_assert_eq!(parsed.entries.into_iter().map(|entry| entry.memory).collect::<Vec<_>>(), vec![shared]);
        }
    }
}
