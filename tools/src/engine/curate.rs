//! Changes existing memories: promotes, pins, edits, replaces and confirms them.

use schema::host::code::anchored::CodePlace;
use schema::host::code::changes::CodeChange;
use schema::intake::capture::{CaptureOutcome, capture, confirmation};
use schema::intake::prepare::{Destination, Draft, TEXT_LIMIT, prepare};
use schema::log::LONG_TERM_FILE;
use schema::model::code_anchor::CodeContext;
use schema::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::state_note::{StateChange, StateNote};
use schema::settings;
use schema::store::MemoryRow;
use schema::tool::{SaveInput, SaveOutput};

use super::Engine;
use super::ids::not_found;
use crate::curation::revise;
use crate::error::ToolError;

/// A memory that still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedMemory {
    pub row: MemoryRow,
    /// The files that it is about.
    pub files: Vec<String>,
}

/// A memory after its text was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedMemory {
    pub row: MemoryRow,
    /// Number of secrets that were removed from the new text.
    pub redactions: usize,
    /// Whether the text is different from before.
    pub is_changed: bool,
}

impl Engine {
    /// Makes a memory long-term: moves it from its log to `MEMORY.md` with its id. Session data stays in its log, and its
    /// text becomes a new memory of type `kind`.
    pub fn promote(&mut self, id: &str, kind: Option<MemoryType>) -> Result<MemoryRow, ToolError> {
        let row = self.find_by_prefix(id)?;
        let id = &row.memory.id;
        Self::require_own(&row)?;
        if row.path == LONG_TERM_FILE {
            return Ok(row);
        }
        let long_term = self.read_rows(|rows| rows.find_same_conclusion(&row.memory, true))?;
        match (kind.filter(|kind| *kind != row.memory.kind), long_term) {
            (Some(kind), _) if !kind.is_event() => self.promote_as(&row, kind),
            (Some(kind), _) => Err(ToolError::Invalid(format!("{kind} is session data: {CHOOSE}"))),
            (None, _) if row.memory.kind.is_event() => {
                Err(ToolError::Invalid(format!("{id} is a {} and belongs in its log: {CHOOSE}", row.memory.kind)))
            }
            (None, Some(same)) => Ok(same),
            (None, None) => {
                let promoted = self.with_repair(|engine| Ok(revise::move_to_long_term(&mut engine.store, id)?))?;
                promoted.ok_or_else(|| not_found(id.as_str()))
            }
        }
    }

    fn promote_as(&mut self, row: &MemoryRow, kind: MemoryType) -> Result<MemoryRow, ToolError> {
        let Memory { session_id, content, at, attributes, .. } = &row.memory;
        let draft = Draft {
            attributes: MemoryAttributes { metadata: attributes.metadata.clone(), ..MemoryAttributes::default() },
            destination: Destination::LongTerm,
            ..Draft::new(session_id, kind, content, *at)
        };
        let captured =
            self.with_repair(|engine| Ok(capture(&mut engine.store, draft.clone(), &engine.loaded.sanitizer)?))?;
        match captured {
            Some(CaptureOutcome::Saved { id, .. } | CaptureOutcome::Waiting { id, .. }) => {
                self.find_by_prefix(id.as_str())
            }
            Some(CaptureOutcome::Duplicate(row)) => Ok(*row),
            Some(CaptureOutcome::Forgotten) | None => {
                Err(ToolError::Invalid("nothing of the text may be stored".to_owned()))
            }
        }
    }

    /// Records that `new` replaces `old`, and returns `new`.
    pub fn supersede(&mut self, old: &str, new: &str) -> Result<MemoryRow, ToolError> {
        let (old, row) = self.require_replaceable(old, new)?;
        let is_new = row.memory.attributes.supersedes.is_none();
        let row = self.edit_attributes(&row.memory.id, |attributes| attributes.supersedes = Some(old.clone()))?;
        if is_new && row.superseded_by.is_none() && row.memory.kind.may_be_confirmed() {
            self.confirm(row.memory.id.as_str())?;
        }
        Ok(row)
    }

    /// Writes one text instead of two: that of `row`, which then replaces `old`. Checks first whether it can.
    pub fn merge(&mut self, row: &MemoryRow, old: &str, text: &str) -> Result<MemoryRow, ToolError> {
        let new = row.memory.id.as_str();
        if let Some(newer) = &row.superseded_by {
            return Err(ToolError::Invalid(format!("{new} was replaced by {newer} already; merge with that one")));
        }
        self.require_replaceable(old, new)?;
        self.edit_text(row, text)?;
        self.supersede(old, new)
    }

    /// Finds two memories, and fails if the second cannot replace the first.
    fn require_replaceable(&mut self, old: &str, new: &str) -> Result<(MemoryId, MemoryRow), ToolError> {
        let (old, row) = (self.find_by_prefix(old)?.memory.id, self.find_by_prefix(new)?);
        let new = &row.memory.id;
        if let Some(other) = row.memory.attributes.supersedes.as_ref().filter(|other| **other != old) {
            return Err(ToolError::Invalid(format!("{new} already replaces {other}; a memory can replace only one")));
        }
        if self.supersedes_transitively(&old, new)? {
            return Err(ToolError::Invalid(format!("{old} replaces {new}: two memories cannot replace each other")));
        }
        Ok((old, row))
    }

    /// Saves the text that holds now instead of `old`, at the same place and with the same type.
    pub fn replace(&mut self, old: &MemoryRow, content: String) -> Result<SaveOutput, ToolError> {
        let id = &old.memory.id;
        if let Some(newer) = &old.superseded_by {
            return Err(ToolError::Invalid(format!("{id} was replaced by {newer} already; replace that one")));
        }
        let saved = self.save(&SaveInput {
            long_term: old.path == LONG_TERM_FILE,
            supersedes: Some(id.to_string()),
            ..SaveInput::new(old.memory.kind, content)
        })?;
        if saved.saved {
            return Ok(saved);
        }
        let same = saved.id.as_str();
        let hint = if same == id.as_str() { String::new() } else { format!("; mark {id} as replaced by it") };
        Err(ToolError::Invalid(format!("{same} has this text already{hint}")))
    }

    /// Replaces the text of a memory, which must still have the text of `before`. Its id, type, time and tags stay.
    pub fn edit_text(&mut self, before: &MemoryRow, text: &str) -> Result<EditedMemory, ToolError> {
        let id = &before.memory.id;
        Self::require_own(before)?;
        if text.trim().is_empty() {
            return Err(ToolError::Invalid(format!("the new text is empty; `forget {id}` deletes the memory")));
        }
        if text.len() > TEXT_LIMIT {
            let text = format!("the new text is {} bytes, over the limit of {TEXT_LIMIT}; shorten it", text.len());
            return Err(ToolError::Invalid(text));
        }
        let draft = Draft::new("", before.memory.kind, text, before.memory.at);
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        let prepared = prepare(draft, &sanitizer);
        let private = || ToolError::Invalid("the new text is empty without its <private> parts".to_owned());
        let prepared = prepared.ok_or_else(private)?;
        let (content, redactions) = (&prepared.draft().content, prepared.redactions());
        let is_changed = *content != before.memory.content;
        if !is_changed {
            return Ok(EditedMemory { row: before.clone(), redactions, is_changed });
        }
        self.forget_day_summaries(std::slice::from_ref(before))?;
        let row = self.with_repair(|engine| Ok(revise::edit_content(&mut engine.store, before, content)?))?;
        let changed = || {
            let text = format!("another program changed or deleted {id} in {} meanwhile; run this again", before.path);
            ToolError::Unavailable(text)
        };
        let row = row.ok_or_else(changed)?;
        if redactions > 0 {
            self.store.with_transaction(|rows| rows.add_redactions(redactions))?;
        }
        Ok(EditedMemory { row, redactions, is_changed })
    }

    /// Pins or unpins a memory. Cleanup keeps pinned memories.
    pub fn set_pinned(&mut self, id: &str, pinned: bool) -> Result<MemoryRow, ToolError> {
        let id = self.find_by_prefix(id)?.memory.id;
        self.edit_attributes(&id, |attributes| attributes.pinned = pinned)
    }

    /// Notes that a memory, given by a prefix of its id, still holds.
    pub fn confirm(&mut self, beginning: &str) -> Result<ConfirmedMemory, ToolError> {
        let row = self.find_by_prefix(beginning)?;
        let id = &row.memory.id;
        if !row.memory.kind.may_be_confirmed() {
            let text = format!("{id} is a {}; only conclusions such as decisions can be confirmed", row.memory.kind);
            return Err(ToolError::Invalid(text));
        }
        if let Some(newer) = &row.superseded_by {
            return Err(ToolError::Invalid(format!("{id} was replaced by {newer}; confirm that one")));
        }
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        let place =
            CodePlace { project: self.store.layout().project(), directory: &self.checkout, sanitizer: &sanitizer };
        let code = match row.memory.kind.is_about_code() {
            true => {
                let changes = self.change_detector.file_changes(self.store.rows(), &row)?;
                let path_now = |change: CodeChange| change.renamed_to.unwrap_or(change.anchor.path);
                let paths: Vec<String> = changes.anchors.into_iter().map(path_now).collect();
                place.code_of(&row.memory.content, &paths)
            }
            false => CodeContext::default(),
        };
        let change = StateChange::Confirmed(confirmation(&self.session_id, &code));
        self.append_notes(&[StateNote { about: id.clone(), at: Moment::now(), change }])?;
        Ok(ConfirmedMemory { row, files: code.anchors.into_iter().map(|anchor| anchor.path).collect() })
    }

    pub(super) fn edit_attributes(
        &mut self,
        id: &MemoryId,
        edit: impl Fn(&mut MemoryAttributes),
    ) -> Result<MemoryRow, ToolError> {
        Self::require_own(&self.find_by_prefix(id.as_str())?)?;
        let row = self.with_repair(|engine| Ok(revise::edit_attributes(&mut engine.store, id, &edit)?))?;
        row.ok_or_else(|| not_found(id.as_str()))
    }

    /// Whether following `supersedes` from one memory reaches the other, or both are the same.
    fn supersedes_transitively(&mut self, from: &MemoryId, to: &MemoryId) -> Result<bool, ToolError> {
        let (mut at, mut seen) = (from.clone(), Vec::new());
        loop {
            if at == *to {
                return Ok(true);
            }
            seen.push(at.clone());
            let row = self.read_rows(|rows| rows.by_id(&at))?;
            match row.and_then(|row| row.memory.attributes.supersedes).filter(|next| !seen.contains(next)) {
                Some(next) => at = next,
                None => return Ok(false),
            }
        }
    }
}

const CHOOSE: &str = "an event needs a type to be kept as (--as): decision, learning, error_fix, preference, convention, architecture, \
     pattern, task or session_summary";

#[cfg(test)]
mod tests {
    use schema::tool::SaveInput;

    use super::*;
    use crate::engine::tests::new_engine;

    fn save_text(engine: &mut Engine, kind: MemoryType, content: &str) -> String {
        engine.save(&SaveInput::new(kind, content.to_owned())).unwrap().id
    }

    #[test]
    fn two_memories_never_replace_each_other() {
        let (_project, mut engine) = new_engine();
        let ids = ["first", "second", "third"].map(|text| save_text(&mut engine, MemoryType::Decision, text));
        engine.supersede(&ids[0], &ids[1]).unwrap();
        engine.supersede(&ids[1], &ids[2]).unwrap();
        assert_eq!(engine.find_by_prefix(&ids[0]).unwrap().superseded_by.unwrap().as_str(), ids[1]);
        for (old, new) in [(2, 0), (1, 0), (0, 0), (0, 2)] {
            let refused = engine.supersede(&ids[old], &ids[new]);
            assert!(matches!(refused, Err(ToolError::Invalid(_))), "{old} {new}: {refused:?}");
        }
        engine.supersede(&ids[0], &ids[1]).unwrap();
    }

    #[test]
    fn promoted_quote_stays_in_its_log() {
        let (_project, mut engine) = new_engine();
        let id = save_text(&mut engine, MemoryType::UserPrompt, "always answer in Korean");
        assert!(matches!(engine.promote(&id, None), Err(ToolError::Invalid(_))));
        assert!(matches!(engine.promote(&id, Some(MemoryType::Error)), Err(ToolError::Invalid(_))));
        let row = engine.promote(&id, Some(MemoryType::Preference)).unwrap();
        assert_eq!((row.path.as_str(), row.memory.kind), (LONG_TERM_FILE, MemoryType::Preference));
        assert_eq!(engine.find_by_prefix(&id).unwrap().memory.kind, MemoryType::UserPrompt);
        let decision = save_text(&mut engine, MemoryType::Decision, "ship on Fridays");
        assert_eq!(engine.promote(&decision[..8], None).unwrap().memory.id.as_str(), decision);
        assert!(engine.set_pinned(&decision, true).unwrap().memory.attributes.pinned);
        assert!(matches!(engine.set_pinned("none", true), Err(ToolError::NotFound(_))));
    }
}
