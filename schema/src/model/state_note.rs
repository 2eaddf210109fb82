//! State notes: changes of a memory's state. Each note is a comment on its own line in a log, so a change is an append.
//!
//! `<!-- note {"about":"ID","at":"2026-01-28T10:30:15+09:00","resolved":"ID"} -->`. A note changes one memory, which may be in another log.
//! The state of a memory is derived from its notes in order of time.

use serde_json::{Map, Value};

use crate::model::memory::MemoryId;
use crate::model::moment::Moment;

/// A change of the state of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateNote {
    /// The memory whose state changes.
    pub about: MemoryId,
    pub at: Moment,
    pub change: StateChange,
}

/// The kind of a state change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateChange {
    /// It happened again. Several repeats in one second are numbered from 1.
    Repeated(u32),
    /// A failure is settled.
    Resolved(Settlement),
    /// A task is done.
    Closed(Settlement),
    /// It still holds. The fields have the session that says so, and the code as it is now; see
    /// [`CodeContext`](crate::model::code_anchor::CodeContext).
    Confirmed(Map<String, Value>),
    /// A review decided about it. The fields have the kind of candidate, the other memory `with` which it was a pair, and `until` when the
    /// decision counts.
    Reviewed(Map<String, Value>),
}

/// Whether a failure or task is settled, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It is open again.
    Undone,
    Done,
    /// The id of the memory that settled it, or a few words.
    DoneBy(String),
}

/// The maximum length of a settlement's text, in bytes.
const TEXT_LIMIT: usize = 200;

/// The name of the change that a memory still holds.
pub(crate) const CONFIRMED: &str = "confirmed";

/// The name of the change that a review decided.
pub(crate) const REVIEWED: &str = "reviewed";

/// The names of the fields of such a change.
pub const REVIEW_KIND: &str = "kind";
pub const REVIEW_WITH: &str = "with";
pub const REVIEW_UNTIL: &str = "until";

/// The name of the session in such a change.
pub const SESSION: &str = "session";

/// The beginning of a note's line, complete or torn.
const OPENING: &str = "<!-- note {";

/// Whether a line is a note, or the beginning of one whose writer was killed. Notes of later versions count too, and have no effect.
pub fn is_note(line: &str) -> bool {
    line.starts_with(OPENING)
}

/// Returns the JSON of a note's line, or `None` if its end is missing.
fn note_object(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix("-->")?.strip_prefix("<!-- note ")
}

impl StateNote {
    /// Parses the changes in a note's line.
    pub(crate) fn parse(line: &str) -> Vec<Self> {
        let fields = note_object(line).and_then(|json| serde_json::from_str(json).ok());
        fields.map(|fields| Self::from_fields(&fields)).unwrap_or_default()
    }

    /// Returns the fields of a note's line that are missing or unusable, or `note` if they cannot be read at all. A line whose writer was
    /// killed has none.
    pub(crate) fn unusable_names(line: &str) -> Vec<&'static str> {
        let Some(json) = note_object(line) else { return Vec::new() };
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(json) else { return vec!["note"] };
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let has_memory = text("about").and_then(MemoryId::parse).is_some();
        let has_time = text("at").is_some_and(|at| Moment::parse_rfc3339(at).is_some() && !Moment::is_out_of_range(at));
        let is_unusable = |name: &&str| {
            fields
                .get(*name)
                .is_some_and(|value| *value != Value::Bool(false) && StateChange::of(name, value).is_none())
        };
        let changes = StateChange::NAMES.into_iter().filter(is_unusable);
        (!has_memory).then_some("about").into_iter().chain((!has_time).then_some("at")).chain(changes).collect()
    }

    /// Returns the changes in the fields of a note. Unknown fields are ignored.
    pub fn from_fields(fields: &Map<String, Value>) -> Vec<Self> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let (Some(about), Some(at)) =
            (text("about").and_then(MemoryId::parse), text("at").and_then(Moment::parse_rfc3339))
        else {
            return Vec::new();
        };
        let changes = fields.iter().filter_map(|(name, value)| StateChange::of(name, value));
        changes.map(|change| Self { about: about.clone(), at, change }).collect()
    }

    /// Returns the fields of this note.
    pub fn fields(&self) -> Map<String, Value> {
        let about = ("about".to_owned(), self.about.as_str().into());
        let at = ("at".to_owned(), self.at.rfc3339().into());
        Map::from_iter([about, at, (self.change.name().to_owned(), self.change.value())])
    }

    /// Formats this note as a comment, without a line break.
    pub fn to_comment(&self) -> String {
        // Escapes `<` and `>`, which occur only inside JSON strings here, so that no value can end the comment.
        let json = Value::Object(self.fields()).to_string().replace('<', "\\u003c").replace('>', "\\u003e");
        format!("<!-- note {json} -->")
    }
}

impl StateChange {
    /// The names of all changes.
    const NAMES: [&str; 5] = ["repeated", "resolved", "closed", CONFIRMED, REVIEWED];

    /// Returns the change for a field of a note or for the columns of a row.
    pub(crate) fn of(name: &str, value: &Value) -> Option<Self> {
        match name {
            "repeated" => {
                let number = value.as_u64().and_then(|number| number.try_into().ok());
                number.or((*value == Value::Bool(true)).then_some(1)).map(Self::Repeated)
            }
            "resolved" => Settlement::of(value).map(Self::Resolved),
            "closed" => Settlement::of(value).map(Self::Closed),
            CONFIRMED => match value {
                Value::Bool(true) => Some(Self::Confirmed(Map::new())),
                Value::Object(fields) => Some(Self::Confirmed(fields.clone())),
                _ => None,
            },
            REVIEWED => value.as_object().cloned().map(Self::Reviewed),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Repeated(_) => "repeated",
            Self::Resolved(_) => "resolved",
            Self::Closed(_) => "closed",
            Self::Confirmed(_) => CONFIRMED,
            Self::Reviewed(_) => REVIEWED,
        }
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Repeated(..=1) => Value::Bool(true),
            Self::Repeated(number) => (*number).into(),
            Self::Resolved(settlement) | Self::Closed(settlement) => settlement.value(),
            Self::Confirmed(fields) if fields.is_empty() => Value::Bool(true),
            Self::Confirmed(fields) | Self::Reviewed(fields) => Value::Object(fields.clone()),
        }
    }
}

impl Settlement {
    /// Returns a settlement by a text, which is reduced to one line of limited length.
    pub fn by(text: &str) -> Self {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.is_empty() {
            return Self::Done;
        }
        Self::DoneBy(line[..line.floor_char_boundary(TEXT_LIMIT)].trim_end().to_owned())
    }

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(true) => Some(Self::Done),
            Value::Bool(false) => Some(Self::Undone),
            Value::String(text) => Some(Self::by(text)),
            _ => None,
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Undone => Value::Bool(false),
            Self::Done => Value::Bool(true),
            Self::DoneBy(text) => text.as_str().into(),
        }
    }
}

/// The state of a memory after all its notes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryState {
    pub phase: Phase,
    /// The id of the memory that settled it, or a few words.
    pub settled_by: Option<String>,
    /// The time at which it was settled.
    pub settled_at: Option<Moment>,
    /// The number of times that it happened again.
    pub repeats: u32,
    /// The last time that it happened again.
    pub repeated_at: Option<Moment>,
}

/// Whether a memory is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Open,
    /// A failure whose attempt succeeded later.
    Resolved,
    /// A task that is done.
    Closed,
}

impl Phase {
    /// Returns the name in the database, or `None` if the memory is open.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Open => None,
            Self::Resolved => Some("resolved"),
            Self::Closed => Some("closed"),
        }
    }

    pub(crate) fn of_name(name: Option<&str>) -> Self {
        [Self::Resolved, Self::Closed].into_iter().find(|phase| phase.name() == name).unwrap_or_default()
    }
}

impl MemoryState {
    /// Applies changes in the given order.
    pub fn after<'c>(changes: impl IntoIterator<Item = (Moment, &'c StateChange)>) -> Self {
        let mut state = Self::default();
        for (at, change) in changes {
            match change {
                StateChange::Repeated(_) => {
                    state.repeats = state.repeats.saturating_add(1);
                    state.repeated_at = Some(at);
                    // A failure that happens again was not settled.
                    if state.phase == Phase::Resolved {
                        state.settle(Phase::Open, &Settlement::Undone, at);
                    }
                }
                StateChange::Resolved(settlement) => state.settle(Phase::Resolved, settlement, at),
                StateChange::Closed(settlement) => state.settle(Phase::Closed, settlement, at),
                StateChange::Confirmed(_) | StateChange::Reviewed(_) => {}
            }
        }
        state
    }

    fn settle(&mut self, phase: Phase, settlement: &Settlement, at: Moment) {
        let is_done = *settlement != Settlement::Undone;
        self.phase = if is_done { phase } else { Phase::Open };
        self.settled_at = is_done.then_some(at);
        self.settled_by = match settlement {
            Settlement::DoneBy(text) => Some(text.clone()),
            Settlement::Undone | Settlement::Done => None,
        };
    }
}

/// The sessions after which a confirmed memory counts as one of the core.
const CORE_SESSIONS: u64 = 3;

/// How often somebody said that a memory holds, the lowest first. It follows from pins and notes, never from reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Standing {
    /// It was said once.
    #[default]
    Noted,
    /// It was confirmed, or saved again.
    Confirmed,
    /// It is pinned, or was confirmed in three sessions.
    Core,
}

impl Standing {
    /// Returns the standing of a memory that was confirmed in this number of sessions.
    pub fn of(is_pinned: bool, sessions: u64) -> Self {
        match sessions {
            _ if is_pinned => Self::Core,
            0 => Self::Noted,
            1..CORE_SESSIONS => Self::Confirmed,
            _ => Self::Core,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Noted => "noted",
            Self::Confirmed => "confirmed",
            Self::Core => "core",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Moment {
        Moment::from_unix(1_769_563_800 + second, Some(32_400)).unwrap()
    }

    fn note(change: StateChange) -> StateNote {
        StateNote { about: MemoryId::parse("0af3").unwrap(), at: at(0), change }
    }

    #[test]
    fn note_round_trips_as_one_comment() {
        let resolved = note(StateChange::Resolved(Settlement::by("src/a.rs --> b")));
        insta::assert_snapshot!(resolved.to_comment(), @r#"<!-- note {"about":"0af3","at":"2026-01-28T10:30:00+09:00","resolved":"src/a.rs --\u003e b"} -->"#);
        for change in [
            StateChange::Repeated(1),
            StateChange::Repeated(2),
            StateChange::Resolved(Settlement::Done),
            StateChange::Closed(Settlement::Undone),
            StateChange::Closed(Settlement::by("0af3")),
            StateChange::Confirmed(Map::new()),
            StateChange::Confirmed(Map::from_iter([(SESSION.to_owned(), "a --> b".into())])),
            StateChange::Reviewed(Map::from_iter([("with".to_owned(), "0af4".into())])),
        ] {
            let written = note(change);
            assert_eq!(StateNote::parse(&written.to_comment()), [written]);
        }
    }

    #[rstest]
    #[case::torn(r#"<!-- note {"about":"0af3","at":"2026-01-28T10"#)]
    #[case::of_nothing(r#"<!-- note {"at":"2026-01-28T10:30:00+09:00","repeated":true} -->"#)]
    #[case::without_a_time(r#"<!-- note {"about":"0af3","repeated":true} -->"#)]
    #[case::of_a_later_version(r#"<!-- note {"about":"0af3","at":"2026-01-28T10:30:00+09:00","apart":"0af4"} -->"#)]
    #[case::of_another_type(r#"<!-- note {"about":"0af3","at":"2026-01-28T10:30:00+09:00","closed":7} -->"#)]
    fn invalid_note_changes_nothing(#[case] line: &str) {
        assert_eq!((is_note(line), StateNote::parse(line)), (true, vec![]));
    }

    #[test]
    fn repeated_failure_is_open_again() {
        let fixed = StateChange::Resolved(Settlement::by("0af4"));
        let resolved = MemoryState::after([(at(1), &StateChange::Repeated(1)), (at(2), &fixed)]);
        let expected = MemoryState {
            phase: Phase::Resolved,
            settled_by: Some("0af4".to_owned()),
            settled_at: Some(at(2)),
            repeats: 1,
            repeated_at: Some(at(1)),
        };
        assert_eq!(resolved, expected);
        let back = MemoryState::after([(at(2), &fixed), (at(3), &StateChange::Repeated(1))]);
        assert_eq!(back, MemoryState { repeats: 1, repeated_at: Some(at(3)), ..MemoryState::default() });
    }

    #[test]
    fn closed_task_stays_closed_until_reopened() {
        let (done, undone) = (StateChange::Closed(Settlement::Done), StateChange::Closed(Settlement::Undone));
        let closed = MemoryState::after([(at(1), &done), (at(2), &StateChange::Repeated(1))]);
        assert_eq!((closed.phase, closed.settled_at), (Phase::Closed, Some(at(1))));
        assert_eq!(MemoryState::after([(at(1), &done), (at(2), &undone)]), MemoryState::default());
    }

    #[test]
    fn standing_follows_from_pins_and_sessions() {
        for (is_pinned, sessions, expected) in [
            (false, 0, "noted"),
            (false, 1, "confirmed"),
            (false, 2, "confirmed"),
            (false, 3, "core"),
            (true, 0, "core"),
        ] {
            assert_eq!(Standing::of(is_pinned, sessions).name(), expected, "{is_pinned} {sessions}");
        }
    }

    proptest! {
        #[test]
        fn settlement_text_stays_within_its_line(text in "(\\PC|\\s|-->|<!--){0,300}") {
            let written = note(StateChange::Closed(Settlement::by(&text)));
            let line = written.to_comment();
            prop_assert!(!line.contains('\n') && line.matches("-->").count() == 1);
            prop_assert_eq!(StateNote::parse(&line), vec![written]);
        }
    }
}
