//! The frames of the queue: one line for a request, one line for its reply.
//!
//! A frame has the lowest version of a reader that understands it, and older readers refuse it. Unknown fields are ignored, so a new field
//! does not raise the version, but a new meaning does. A refused client goes on without the server.

use serde::{Deserialize, Serialize};

use crate::intake::prepare::{Delivery, PreparedMemory};
use crate::intake::wire_memory::WireMemory;

/// The longest line in bytes, including its end.
pub const LINE_LIMIT: usize = 1024 * 1024;

/// The version of this reader.
const VERSION: u32 = 1;

/// The lowest version of a reader that understands the frames of this program.
const NEEDED: u32 = 1;

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueRequest {
    /// Store these memories, all of them.
    Capture(Vec<PreparedMemory>),
    /// Find the memories that fit this text best, for this session.
    Recall { query: String, session_id: String },
}

/// A reply of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueReply {
    /// Everything is stored.
    Captured,
    Recalled(Vec<RecalledMemory>),
    /// Nothing was done, for this reason.
    Refused(String),
}

/// A memory that fits a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecalledMemory {
    pub id: String,
    /// The file, relative to the project.
    pub path: String,
    /// Local date and time, if there is one.
    #[serde(default)]
    pub date: Option<String>,
    pub text: String,
}

/// The part of a line that is the same in every version.
#[derive(Deserialize)]
struct FrameVersion {
    v: u32,
}

#[derive(Serialize, Deserialize)]
struct RequestLine {
    v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capture: Option<Vec<WireMemory>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recall: Option<RecallLine>,
}

#[derive(Serialize, Deserialize)]
struct RecallLine {
    query: String,
    session: String,
}

#[derive(Serialize, Deserialize)]
struct ReplyLine {
    v: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    captured: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recalled: Option<Vec<RecalledMemory>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl QueueRequest {
    pub fn to_line(&self) -> String {
        let mut line = RequestLine { v: NEEDED, capture: None, recall: None };
        match self {
            Self::Capture(memories) => line.capture = Some(memories.iter().map(WireMemory::from_prepared).collect()),
            Self::Recall { query, session_id } => {
                line.recall = Some(RecallLine { query: query.clone(), session: session_id.clone() });
            }
        }
        to_line(&line)
    }

    /// Parses a line, or returns the reason why it cannot.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let to_error = |error| format!("invalid request: {error}");
        let FrameVersion { v } = serde_json::from_slice(line).map_err(to_error)?;
        if v > VERSION {
            return Err(format!("a request for version {v}, which version {VERSION} may not understand"));
        }
        match serde_json::from_slice(line).map_err(to_error)? {
            RequestLine { capture: Some(sent), .. } => {
                let memories = sent.into_iter().map(|memory| memory.into_prepared(Delivery::Live));
                memories.collect::<Option<_>>().map(Self::Capture).ok_or_else(|| "a memory without a time".to_owned())
            }
            RequestLine { recall: Some(RecallLine { query, session }), .. } => {
                Ok(Self::Recall { query, session_id: session })
            }
            RequestLine { .. } => Err(format!("unknown request; this is version {VERSION}")),
        }
    }
}

impl QueueReply {
    pub fn to_line(&self) -> String {
        let mut line = ReplyLine { v: NEEDED, captured: false, recalled: None, refused: None };
        match self {
            Self::Captured => line.captured = true,
            Self::Recalled(memories) => line.recalled = Some(memories.clone()),
            Self::Refused(why) => line.refused = Some(why.clone()),
        }
        to_line(&line)
    }

    /// Parses a line, or returns `None` if it is no known reply.
    pub fn parse(line: &[u8]) -> Option<Self> {
        match serde_json::from_slice(line).ok()? {
            ReplyLine { v, .. } if v > VERSION => None,
            ReplyLine { captured: true, .. } => Some(Self::Captured),
            ReplyLine { recalled: Some(memories), .. } => Some(Self::Recalled(memories)),
            ReplyLine { refused, .. } => refused.map(Self::Refused),
        }
    }
}

fn to_line(frame: &impl Serialize) -> String {
    let mut line = serde_json::to_string(frame).expect("a frame is made of texts, numbers and lists");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::intake::prepare::{Destination, Draft, prepare};
    use crate::model::memory::{MemoryAttributes, MemoryId, MemoryType};
    use crate::model::moment::Moment;
    use crate::privacy::sanitizer::Sanitizer;

    fn prepared(session_id: &str, content: &str, long_term: bool) -> Option<PreparedMemory> {
        let draft = Draft {
            session_id: session_id.to_owned(),
            kind: MemoryType::Decision,
            content: content.to_owned(),
            at: Moment::from_unix(1_769_563_815, Some(32_400)).unwrap(),
            attributes: MemoryAttributes { importance: Some(3), ..MemoryAttributes::default() },
            destination: if long_term { Destination::LongTerm } else { Destination::DailyLog },
        };
        prepare(draft, &Sanitizer::default())
    }

    proptest! {
        #[test]
        fn any_request_round_trips_in_one_line(session in "\\PC{0,40}", texts in prop::collection::vec("(\\PC|\\s){0,200}", 0..4)) {
            let memories = texts.iter().enumerate().filter_map(|(n, text)| prepared(&session, text, n % 2 == 0)).collect();
            for request in [
                QueueRequest::Capture(memories),
                QueueRequest::Recall { query: texts.concat(), session_id: session.clone() },
            ] {
                let line = request.to_line();
                prop_assert_eq!(line.find('\n'), Some(line.len() - 1));
                prop_assert_eq!(QueueRequest::parse(line.as_bytes()), Ok(request));
            }
        }

        #[test]
        fn number_in_metadata_round_trips_exactly(fraction in any::<f64>().prop_filter("JSON has no other", |x| x.is_finite())) {
            let attributes = MemoryAttributes {
                metadata: serde_json::Map::from_iter([("took".into(), fraction.into())]),
                ..MemoryAttributes::default()
            };
            let draft = Draft { attributes, ..prepared("s", "kept", true).unwrap().draft().clone() };
            let request = QueueRequest::Capture(vec![prepare(draft, &Sanitizer::default()).unwrap()]);
            prop_assert_eq!(QueueRequest::parse(request.to_line().as_bytes()), Ok(request));
        }

        #[test]
        fn any_bytes_are_parsed_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = QueueRequest::parse(&bytes);
            let _ = QueueReply::parse(&bytes);
        }
    }

    #[test]
    fn replies_round_trip_in_one_line() {
        let found =
            RecalledMemory { id: "ab".into(), path: "MEMORY.md".into(), date: None, text: "한글\n\"quoted\"".into() };
        for reply in [
            QueueReply::Captured,
            QueueReply::Recalled(vec![found]),
            QueueReply::Recalled(vec![]),
            QueueReply::Refused("no".into()),
        ] {
            let line = reply.to_line();
            assert_eq!(line.find('\n'), Some(line.len() - 1));
            assert_eq!(QueueReply::parse(line.as_bytes()), Some(reply));
        }
    }

    #[test]
    fn unknown_fields_are_ignored_unlike_unknown_requests() {
        let line = br#"{"v":1,"recall":{"query":"q","session":"s","limit":9},"colour":"red"}"#;
        assert_eq!(QueueRequest::parse(line), Ok(QueueRequest::Recall { query: "q".into(), session_id: "s".into() }));
        let unknown = QueueRequest::parse(br#"{"v":1,"forget":{"id":"x"}}"#).unwrap_err();
        assert_eq!(unknown, "unknown request; this is version 1");
        let of_an_earlier_server = QueueRequest::parse(br#"{"v":1,"save":[]}"#);
        assert_eq!(of_an_earlier_server, Err("unknown request; this is version 1".to_owned()));
        assert_eq!(QueueReply::parse(br#"{"v":1,"captured":true,"later":true}"#), Some(QueueReply::Captured));
        assert_eq!(QueueReply::parse(br#"{"v":1,"later":true}"#), None);
    }

    #[test]
    fn frame_of_a_later_version_is_refused() {
        for line in [r#"{"v":2,"recall":{"query":"q","session":"s"}}"#, r#"{"v":2,"recall":["q"],"capture":7}"#] {
            let refused = QueueRequest::parse(line.as_bytes()).unwrap_err();
            assert_eq!(refused, "a request for version 2, which version 1 may not understand");
        }
        assert_eq!(QueueReply::parse(br#"{"v":2,"captured":true}"#), None);
        assert!(QueueRequest::parse(br#"{"recall":{"query":"q","session":"s"}}"#).is_err(), "of no version");
    }

    #[test]
    fn all_attributes_of_a_memory_are_sent() {
        let other = MemoryId::parse(&"ab".repeat(16)).unwrap();
        let attributes = MemoryAttributes {
            importance: Some(2),
            pinned: true,
            done: true,
            supersedes: Some(other),
            origin: Some("import".into()),
            auto: true,
            source: MemoryId::parse("0af3"),
            also: Some("토큰 캐시".into()),
            metadata: serde_json::Map::from_iter([("context".into(), "SPEC-001".into())]),
        };
        let draft = Draft { attributes, ..prepared("s", "kept", true).unwrap().draft().clone() };
        let request = QueueRequest::Capture(vec![prepare(draft, &Sanitizer::default()).unwrap()]);
        assert_eq!(QueueRequest::parse(request.to_line().as_bytes()), Ok(request));
    }
}
