//! The HTML comments in a log: session marks, and the fields that the text of an entry does not show.

use std::collections::HashMap;

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::{Moment, format_offset, parse_offset};
use crate::model::state_note::{StateNote, is_note};

/// `<!-- session ID OFFSET -->`: the session and the UTC offset of the following events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SessionMark {
    pub(super) session_id: String,
    /// Seconds east of UTC. Logs of the Go version have no offset.
    pub(super) offset: Option<i32>,
}

impl SessionMark {
    pub(super) fn from_memory(memory: &Memory) -> Self {
        Self { session_id: memory.session_id.clone(), offset: Some(memory.at.offset_seconds()) }
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let inner = line.trim_end().strip_prefix("<!-- session ")?.strip_suffix("-->")?.trim();
        let mut words = inner.split(' ');
        let session_id = decode_word(words.next()?);
        let offset = words.next().and_then(parse_offset);
        Some(Self { session_id, offset })
    }

    /// Whether a mark's line has an offset that is not one of less than a day.
    fn has_unusable_offset(line: &str) -> bool {
        let inner = line.trim_end().trim_end_matches("-->").trim_end();
        inner.split(' ').nth(3).is_some_and(|offset| parse_offset(offset).is_none())
    }

    pub(super) fn to_comment(&self) -> String {
        let offset = self.offset.map(|seconds| format!(" {}", format_offset(seconds))).unwrap_or_default();
        format!("<!-- session {}{offset} -->", encode_word(&self.session_id))
    }
}

/// The JSON object at the end of an entry. Unknown fields of a newer version are ignored.
#[derive(Debug, Default)]
pub(super) struct EntryFields {
    /// The id that the entry claims. A copy claims the id of its original; the store decides which of them gets it.
    pub(super) id: Option<MemoryId>,
    pub(super) kind: Option<MemoryType>,
    at: Option<String>,
    pub(super) session: Option<String>,
    /// Without `done`, which the text of a task shows.
    pub(super) attributes: MemoryAttributes,
}

impl EntryFields {
    /// Returns the fields of an entry among events, whose line shows its type and whose place shows its day and session. An event needs its
    /// id only if it was edited, because then the id does not follow from its text any more.
    pub(super) fn for_event_style(memory: &Memory) -> Self {
        let has_id = !memory.kind.is_event() || !memory.has_derived_id();
        let id = has_id.then(|| memory.id.clone());
        Self { id, attributes: memory.attributes.clone(), ..Self::default() }
    }

    /// Returns the fields of an entry under a section, whose line shows neither time nor session.
    pub(super) fn for_section(memory: &Memory) -> Self {
        let session = Some(&memory.session_id).filter(|id| !id.is_empty()).cloned();
        // Include the day: people move entries to other files.
        let at = Some(memory.at.rfc3339());
        Self { id: Some(memory.id.clone()), kind: None, at, session, attributes: memory.attributes.clone() }
    }

    /// Returns the fields of an entry in `MEMORY.md`. They include the type, because people reorder sections freely.
    pub(super) fn for_long_term(memory: &Memory) -> Self {
        Self { kind: Some(memory.kind), ..Self::for_section(memory) }
    }

    pub(super) fn from_metadata(metadata: Map<String, Value>) -> Self {
        Self { attributes: MemoryAttributes { metadata, ..MemoryAttributes::default() }, ..Self::default() }
    }

    /// Parses any JSON object. A field with an invalid value counts as missing and does not affect the others, because people and later
    /// versions write here too.
    pub(super) fn parse(json: &str) -> Option<Self> {
        let fields = RawFields(serde_json::from_str(json).ok()?);
        let mut metadata: Map<String, Value> = fields.get("metadata").unwrap_or_default();
        // People and older versions wrote these as top-level fields. Tags are a list or a text with commas.
        for name in ["context", "tags"] {
            if let Some(value) = fields.get(name) {
                metadata.entry(name).or_insert(value);
            }
        }
        Some(Self {
            id: fields.id("id").map(|id| id.original()),
            kind: fields.get("type"),
            at: fields.get("at"),
            session: fields.get("session"),
            attributes: MemoryAttributes {
                importance: fields.get("importance").map(|value: i64| value.clamp(0, 3) as u8),
                pinned: fields.get("pinned").unwrap_or_default(),
                supersedes: fields.id("supersedes"),
                origin: fields.get("origin"),
                auto: fields.get("auto").unwrap_or_default(),
                source: fields.id("source"),
                also: fields.get("also").filter(|also: &String| !also.trim().is_empty()),
                metadata,
                ..MemoryAttributes::default()
            },
        })
    }

    /// Returns the comment, or an empty text if there is nothing to write.
    pub(super) fn to_comment(&self) -> String {
        let MemoryAttributes { importance, pinned, supersedes, origin, auto, source, also, metadata, .. } =
            &self.attributes;
        let id = |id: &Option<MemoryId>| id.as_ref().map(|id| id.as_str().into());
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        let fields: [(&str, Option<Value>); 12] = [
            ("id", id(&self.id)),
            ("type", self.kind.map(|kind| kind.as_str().into())),
            ("at", text(&self.at)),
            ("session", text(&self.session)),
            ("importance", importance.map(Value::from)),
            ("pinned", pinned.then_some(true.into())),
            ("supersedes", id(supersedes)),
            ("origin", text(origin)),
            ("auto", auto.then_some(true.into())),
            ("source", id(source)),
            ("also", text(also)),
            ("metadata", (!metadata.is_empty()).then(|| metadata.clone().into())),
        ];
        let present = fields.into_iter().filter_map(|(name, value)| Some(format!("\"{name}\":{}", value?)));
        let json = present.collect::<Vec<_>>().join(",");
        if json.is_empty() {
            return json;
        }
        // These characters occur only within JSON strings, where the escape is equivalent. No value can end the comment.
        format!("<!-- {{{}}} -->", json.replace('<', "\\u003c").replace('>', "\\u003e"))
    }

    /// The time of the entry. In a daily log it may lack the day.
    pub(super) fn at(&self, day: Option<NaiveDate>) -> Option<Moment> {
        let text = self.at.as_deref()?;
        if let Some(at) = Moment::parse_rfc3339(text) {
            return Some(at);
        }
        if let Ok(local) = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S") {
            return Some(Moment::from_local_unknown(local.date(), local.time()));
        }
        let (time, offset) = text.split_at_checked(8)?;
        let time = NaiveTime::parse_from_str(time, "%H:%M:%S").ok()?;
        Moment::from_local(day?, time, parse_offset(offset))
    }
}

/// Returns the fields in the comments of a log that have unusable values, with their lines from 1. A value of another type is ignored; a
/// time or an importance out of range is clamped. A note without a usable memory or time has no effect.
pub fn unusable_fields(text: &str) -> Vec<(usize, Vec<&'static str>)> {
    let odd = |(line, number): (&str, usize)| {
        if is_note(line) {
            return Some((number, StateNote::unusable_names(line)));
        }
        if SessionMark::parse(line).is_some() {
            return SessionMark::has_unusable_offset(line).then(|| (number, vec!["offset"]));
        }
        let body = line.trim_end().strip_suffix(" -->")?;
        let fields = RawFields(serde_json::from_str(&body[body.rfind("<!-- {")? + "<!-- ".len()..]).ok()?);
        Some((number, fields.unusable_names()))
    };
    text.lines().zip(1..).filter_map(odd).filter(|(_, names)| !names.is_empty()).collect()
}

/// Unparsed fields, so that a deeply nested value in one does not fail the others.
struct RawFields<'j>(HashMap<String, &'j RawValue>);

impl RawFields<'_> {
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.0.get(name)?.get()).ok()
    }

    fn id(&self, name: &str) -> Option<MemoryId> {
        MemoryId::parse(&self.get::<String>(name)?)
    }

    fn unusable_names(&self) -> Vec<&'static str> {
        let at = self.get("at").is_some_and(|at: String| {
            let is_in_range = !Moment::is_out_of_range(&at);
            is_in_range
                && EntryFields { at: Some(at), ..EntryFields::default() }.at(Some(NaiveDate::default())).is_some()
        });
        let text = |name| self.get::<String>(name).is_some();
        let fields = [
            ("id", self.id("id").is_some()),
            ("type", self.get::<MemoryType>("type").is_some()),
            ("at", at),
            ("session", text("session")),
            ("importance", self.get("importance").is_some_and(|value: i64| (0..=3).contains(&value))),
            ("pinned", self.get::<bool>("pinned").is_some()),
            ("supersedes", self.id("supersedes").is_some()),
            ("origin", text("origin")),
            ("auto", self.get::<bool>("auto").is_some()),
            ("source", self.id("source").is_some()),
            ("also", text("also")),
            ("metadata", self.get::<Map<_, _>>("metadata").is_some()),
        ];
        let is_odd = |(name, fits): (&'static str, bool)| (!fits && self.0.contains_key(name)).then_some(name);
        fields.into_iter().filter_map(is_odd).collect()
    }
}

/// Encodes a session id as one word that cannot end the comment. The empty id becomes a dash.
fn encode_word(id: &str) -> String {
    match id {
        "" => "-".to_owned(),
        "-" => "%2D".to_owned(),
        _ => id.bytes().fold(String::with_capacity(id.len()), |mut word, byte| {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'@') {
                word.push(char::from(byte));
            } else {
                word.push_str(&format!("%{byte:02X}"));
            }
            word
        }),
    }
}

fn decode_word(word: &str) -> String {
    if word == "-" {
        return String::new();
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| byte == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn unusable_fields_are_reported_with_their_lines() {
        let good = r#"- a <!-- {"id":"a","type":"decision","at":"10:30:15+09:00","session":"","importance":3,"pinned":true,"later":[]} -->"#;
        let odd = r#"- b <!-- {"id":"a b","type":7,"at":"9999-12-31T23:59:59-12:00","importance":4,"origin":null,"context":[]} -->"#;
        let found = unusable_fields(&format!("# Memory\n\n{good}\n- no comment <!-- {{ -->\n{odd}\r\n"));
        assert_eq!(found, [(5, vec!["id", "type", "at", "importance", "origin"])]);
    }

    #[rstest]
    #[case::memory_and_change(r#"<!-- note {"about":5,"at":"x","closed":{"a":1}} -->"#, &["about", "at", "closed"])]
    #[case::time_out_of_range(r#"<!-- note {"about":"a","at":"9999-12-31T23:59:59-12:00","closed":true} -->"#, &["at"])]
    #[case::nothing_but_a_time(r#"<!-- note {"at":"2026-01-28T10:30:00+09:00","resolved":"b"} -->"#, &["about"])]
    #[case::each_change(
        r#"<!-- note {"about":"a","at":"2026-01-28T10:30:00Z","repeated":"x","resolved":7,"closed":[],"confirmed":"x","reviewed":true} -->"#,
        &["repeated", "resolved", "closed", "confirmed", "reviewed"]
    )]
    #[case::no_json(r#"<!-- note {"about"} -->"#, &["note"])]
    #[case::of_a_killed_writer(r#"<!-- note {"about":"a","at":"2026"#, &[])]
    #[case::sound_note(r#"<!-- note {"about":"a","at":"2026-01-28T10:30:00Z","repeated":true,"later":[]} -->"#, &[])]
    #[case::offset("<!-- session x +99:99 -->", &["offset"])]
    #[case::offset_of_a_day("<!-- session x +24:00-->", &["offset"])]
    #[case::sound_mark("<!-- session x +09:00 -->", &[])]
    #[case::mark_of_the_go_version("<!-- session x -->", &[])]
    fn unusable_notes_and_marks_are_reported(#[case] line: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = unusable_fields(line).into_iter().flat_map(|(_, names)| names).collect();
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn any_session_id_round_trips_as_one_word(id in any::<String>()) {
            let mark = SessionMark { session_id: id, offset: Some(32_400) };
            prop_assert_eq!(SessionMark::parse(&mark.to_comment()), Some(mark));
        }
    }
}
