//! Memories in files for others: one line of JSON each, from which the same store is made again, or Markdown to read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bulk::{Arrival, Exact};
use crate::capture::{Destination, Draft, prepare};
use crate::daily_log::{LONG_TERM_FILE, LogKind, insert_all};
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;
use crate::store::Row;

/// A memory as a line of JSON has it. Fields of a later version are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exported {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// RFC 3339 at the offset of the place where it was noted.
    pub at: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session: String,
    pub content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<u8>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The file of the store that holds it.
    #[serde(default)]
    pub path: String,
}

/// A line that is no memory.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is not the JSON of a memory: {0}")]
    Json(String),
    #[error("{0:?} is no id")]
    Id(String),
    #[error("{0:?} is no time such as 2026-01-28T10:30:15+09:00")]
    Time(String),
}

impl Exported {
    pub fn of(row: &Row) -> Self {
        let Memory { id, session_id, kind, content, at, attributes } = row.memory.clone();
        Self {
            id: id.to_string(),
            kind,
            at: at.rfc3339(),
            session: session_id,
            content,
            importance: attributes.importance,
            pinned: attributes.pinned,
            supersedes: attributes.supersedes.map(|id| id.to_string()),
            origin: attributes.origin,
            metadata: attributes.metadata,
            path: row.place.path.clone(),
        }
    }

    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, Unreadable> {
        serde_json::from_slice(line).map_err(|error| Unreadable::Json(error.to_string()))
    }

    /// The memory on its way in: cleaned like all that comes in, and `None` when nothing is left of it.
    pub fn arrival(self, screen: &Screen) -> Result<Option<Arrival>, Unreadable> {
        let id = MemoryId::parse(&self.id).ok_or(Unreadable::Id(self.id))?;
        let at = Moment::parse_rfc3339(&self.at).ok_or(Unreadable::Time(self.at))?;
        let day = LogKind::Daily(at.date());
        let log = match LogKind::of(&self.path) {
            // An event says its time only: it belongs to its own day.
            Some(LogKind::Daily(_)) if self.kind.is_session_data() => day,
            Some(log) => log,
            None => day,
        };
        let destination = if log == LogKind::LongTerm { Destination::LongTerm } else { Destination::DailyLog };
        let attributes = Attributes {
            importance: self.importance.map(|importance| importance.min(3)),
            pinned: self.pinned,
            supersedes: self.supersedes.as_deref().and_then(MemoryId::parse),
            origin: self.origin,
            metadata: self.metadata,
        };
        let draft =
            Draft { session_id: self.session, kind: self.kind, content: self.content, at, attributes, destination };
        Ok(prepare(draft, screen).map(|prepared| Arrival { prepared, exact: Some(Exact { id, log }) }))
    }
}

/// Memories as Markdown, written like the logs that hold them: long-term memory first, then day by day.
pub fn markdown(rows: &[Row]) -> String {
    let mut logs: BTreeMap<(bool, String), Vec<&Memory>> = BTreeMap::new();
    for row in rows {
        let name = match LogKind::of(&row.place.path) {
            Some(_) => row.place.path.clone(),
            None => LogKind::Daily(row.memory.at.date()).file_name(),
        };
        logs.entry((name != LONG_TERM_FILE, name)).or_default().push(&row.memory);
    }
    let text = |((_, name), memories): (&(bool, String), &Vec<&Memory>)| {
        let kind = LogKind::of(name).unwrap_or(LogKind::LongTerm);
        String::from_utf8_lossy(&insert_all(b"", memories, kind).0).into_owned()
    };
    logs.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bulk::{BATCH, Bulk, Effect};
    use crate::capture::capture;
    use crate::database::Patience;
    use crate::store::Store;

    fn store() -> (tempfile::TempDir, Store) {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        (project, store)
    }

    fn rows(store: &Store) -> Vec<Row> {
        store.rows().after(0, 10_000).unwrap()
    }

    /// What an export says of a store, in an order that does not depend on how it was filled.
    fn exported(store: &Store) -> Vec<Exported> {
        let mut exported: Vec<Exported> = rows(store).iter().map(Exported::of).collect();
        exported.sort_by(|a, b| a.id.cmp(&b.id));
        exported
    }

    fn import(store: &mut Store, lines: &[Vec<u8>]) -> crate::bulk::Outcome {
        let mut bulk = Bulk::new(store, Effect::Keep).unwrap();
        for lines in lines.chunks(BATCH) {
            let arrival = |line: &Vec<u8>| Exported::parse(line).unwrap().arrival(&Screen::default()).unwrap();
            bulk.keep(store, lines.iter().filter_map(arrival).collect()).unwrap();
        }
        for path in store.changed_logs().unwrap() {
            store.sync_log(&path).unwrap();
        }
        bulk.outcome
    }

    fn draft() -> impl Strategy<Value = Draft> {
        let content = prop_oneof!["[a-zA-Z가-힣 \n\t`<>&#;:-]{1,60}", "same", "- \\[10:30:15\\] \\*\\*Error\\*\\*: x"];
        let metadata = prop_oneof![
            Just(serde_json::Map::new()),
            Just(serde_json::Map::from_iter([("context".to_owned(), "SPEC-1 --> <b>".into())]))
        ];
        (0..11usize, content, 0..3usize, 0..400_000i64, any::<bool>(), 0..3usize, metadata).prop_map(
            |(kind, content, session, second, pinned, importance, metadata)| {
                let kind = MemoryType::ALL[kind];
                let long_term = pinned && !kind.is_session_data();
                let attributes = Attributes {
                    importance: [None, Some(0), Some(3)][importance],
                    pinned,
                    supersedes: (importance == 1).then(|| MemoryId::parse("0af3").unwrap()),
                    origin: (importance == 2).then(|| "auto-memory".to_owned()),
                    metadata,
                };
                Draft {
                    session_id: ["", "a", "b-2"][session].to_owned(),
                    kind,
                    content,
                    at: Moment::from_unix(1_769_563_800 + second / 2, Some(9 * 3600)).unwrap(),
                    attributes,
                    destination: if long_term { Destination::LongTerm } else { Destination::DailyLog },
                }
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        #[test]
        fn what_is_exported_and_imported_is_the_same_store(drafts in proptest::collection::vec(draft(), 1..40)) {
            let (_first, mut store) = store();
            for draft in drafts {
                capture(&mut store, draft, &Screen::default()).unwrap();
            }
            for path in store.changed_logs().unwrap() {
                store.sync_log(&path).unwrap();
            }
            let all = rows(&store);
            let lines: Vec<Vec<u8>> =
                all.iter().map(|row| serde_json::to_vec(&Exported::of(row)).unwrap()).collect();
            let (_second, mut other) = self::store();
            prop_assert_eq!(import(&mut other, &lines).total(), all.len());
            prop_assert_eq!(exported(&other), exported(&store));
            let again = import(&mut other, &lines);
            prop_assert_eq!((again.total(), again.known), (0, all.len()));
            // Markdown is the truth: made anew from it, the rows are the same.
            other.distrust_rows().unwrap();
            for path in other.changed_logs().unwrap() {
                other.sync_log(&path).unwrap();
            }
            prop_assert_eq!(exported(&other), exported(&store));
        }
    }

    #[test]
    fn a_line_that_is_no_memory_is_refused_by_what_is_wrong_with_it() {
        let line =
            |id: &str, at: &str| format!("{{\"id\":\"{id}\",\"type\":\"error\",\"at\":\"{at}\",\"content\":\"x\"}}");
        let read = |line: String| Exported::parse(line.as_bytes()).and_then(|line| line.arrival(&Screen::default()));
        assert!(matches!(read("{".into()), Err(Unreadable::Json(_))));
        assert!(matches!(read(line("a b", "2026-01-28T10:30:15Z")), Err(Unreadable::Id(_))));
        assert!(matches!(read(line("a", "yesterday")), Err(Unreadable::Time(_))));
        assert!(read(line("a", "2026-01-28T10:30:15Z")).unwrap().is_some());
    }
}
