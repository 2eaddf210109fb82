//! What people and agents do to a memory that is there already: promote it, pin it, say what it replaces.

use schema::capture::{Captured, Destination, Draft, capture};
use schema::daily_log::LONG_TERM_FILE;
use schema::memory::{Attributes, MemoryId, MemoryType};
use schema::moment::Moment;
use schema::revise;
use schema::store::Row;

use super::Engine;
use crate::error::ToolError;

impl Engine {
    /// Makes a memory long-term: it moves from its log to `MEMORY.md` with its id. What a session said stays in its log, and its
    /// text becomes a memory of the type that `kind` gives.
    pub fn promote(&mut self, id: &str, kind: Option<MemoryType>) -> Result<Row, ToolError> {
        let (id, row) = self.known(id)?;
        if row.path == LONG_TERM_FILE {
            return Ok(row);
        }
        let long_term = self.mending(|engine| Ok(engine.store.rows().same_conclusion(&row.memory, true)?))?;
        match (kind.filter(|kind| *kind != row.memory.kind), long_term) {
            (Some(kind), _) if !kind.is_session_data() => self.promote_as(&row, kind),
            (Some(kind), _) => Err(ToolError::Invalid(format!("{kind} is the course of a session: {CHOOSE}"))),
            (None, _) if row.memory.kind.is_session_data() => {
                Err(ToolError::Invalid(format!("{id} is a {} and belongs into its log: {CHOOSE}", row.memory.kind)))
            }
            (None, Some(same)) => Ok(same),
            (None, None) => {
                let promoted = self.mending(|engine| Ok(revise::promote(&mut engine.store, &id)?))?;
                promoted.ok_or_else(|| missing(id.as_str()))
            }
        }
    }

    fn promote_as(&mut self, row: &Row, kind: MemoryType) -> Result<Row, ToolError> {
        let attributes = Attributes { metadata: row.memory.attributes.metadata.clone(), ..Attributes::default() };
        let draft = Draft {
            session_id: row.memory.session_id.clone(),
            kind,
            content: row.memory.content.clone(),
            at: Moment::now(),
            attributes,
            destination: Destination::LongTerm,
        };
        let captured = self.mending(|engine| Ok(capture(&mut engine.store, draft.clone(), &engine.screen)?))?;
        match captured {
            Some(Captured::Saved { id, .. } | Captured::Waiting { id, .. }) => Ok(self.known(id.as_str())?.1),
            Some(Captured::Duplicate(row)) => Ok(*row),
            Some(Captured::Forgotten) | None => Err(ToolError::Invalid("nothing of it may be kept".to_owned())),
        }
    }

    /// Says that `new` replaces `old`, and answers `new`.
    pub fn supersede(&mut self, old: &str, new: &str) -> Result<Row, ToolError> {
        let ((old, _), (new, row)) = (self.known(old)?, self.known(new)?);
        if let Some(other) = row.memory.attributes.supersedes.as_ref().filter(|other| **other != old) {
            return Err(ToolError::Invalid(format!("{new} replaces {other} already, and one memory replaces one")));
        }
        if self.leads_to(&old, &new)? {
            return Err(ToolError::Invalid(format!("{old} replaces {new}: two memories cannot replace each other")));
        }
        self.revised(&new, |attributes| attributes.supersedes = Some(old.clone()))
    }

    /// Pins a memory, which no clean-up removes then, or lets go of it.
    pub fn set_pinned(&mut self, id: &str, pinned: bool) -> Result<Row, ToolError> {
        let (id, _) = self.known(id)?;
        self.revised(&id, |attributes| attributes.pinned = pinned)
    }

    fn revised(&mut self, id: &MemoryId, edit: impl Fn(&mut Attributes)) -> Result<Row, ToolError> {
        let row = self.mending(|engine| Ok(revise::revise(&mut engine.store, id, &edit)?))?;
        row.ok_or_else(|| missing(id.as_str()))
    }

    /// Whether what a memory replaces, and what that replaced, comes to another one, or both are the same.
    fn leads_to(&mut self, from: &MemoryId, to: &MemoryId) -> Result<bool, ToolError> {
        let (mut at, mut seen) = (from.clone(), Vec::new());
        loop {
            if at == *to {
                return Ok(true);
            }
            seen.push(at.clone());
            let row = self.mending(|engine| Ok(engine.store.rows().by_id(&at)?))?;
            match row.and_then(|row| row.memory.attributes.supersedes).filter(|next| !seen.contains(next)) {
                Some(next) => at = next,
                None => return Ok(false),
            }
        }
    }

    /// The memory whose id begins so.
    pub(super) fn known(&mut self, beginning: &str) -> Result<(MemoryId, Row), ToolError> {
        let id = MemoryId::parse(&self.whole_id(beginning)?).ok_or_else(|| missing(beginning))?;
        let row = self.mending(|engine| engine.store.rows().by_id(&id)?.ok_or_else(|| missing(beginning)))?;
        Ok((id, row))
    }
}

const CHOOSE: &str = "say as what it is to be kept, one of decision, learning, error_fix, session_summary, preference \
     and convention";

fn missing(id: &str) -> ToolError {
    ToolError::NotFound(format!("there is no memory with the id {id:?}"))
}

#[cfg(test)]
mod tests {
    use schema::settings::Settings;
    use schema::tool::SaveInput;

    use super::*;

    fn saved(engine: &mut Engine, kind: MemoryType, content: &str) -> String {
        let content = content.to_owned();
        let input = SaveInput { kind, content, metadata: None, long_term: false, supersedes: None };
        engine.save(&input).unwrap().id
    }

    fn engine() -> (tempfile::TempDir, Engine) {
        let project = tempfile::tempdir().unwrap();
        let engine = Engine::open_with(project.path(), None, &Settings::default()).unwrap();
        (project, engine)
    }

    #[test]
    fn two_memories_never_replace_each_other() {
        let (_project, mut engine) = engine();
        let ids = ["first", "second", "third"].map(|text| saved(&mut engine, MemoryType::Decision, text));
        engine.supersede(&ids[0], &ids[1]).unwrap();
        engine.supersede(&ids[1], &ids[2]).unwrap();
        assert_eq!(engine.known(&ids[0]).unwrap().1.superseded_by.unwrap().as_str(), ids[1]);
        for (old, new) in [(2, 0), (1, 0), (0, 0), (0, 2)] {
            let refused = engine.supersede(&ids[old], &ids[new]);
            assert!(matches!(refused, Err(ToolError::Invalid(_))), "{old} {new}: {refused:?}");
        }
        engine.supersede(&ids[0], &ids[1]).unwrap();
    }

    #[test]
    fn what_a_session_said_is_promoted_as_a_conclusion_and_stays_in_its_log() {
        let (_project, mut engine) = engine();
        let id = saved(&mut engine, MemoryType::UserPrompt, "always answer in Korean");
        assert!(matches!(engine.promote(&id, None), Err(ToolError::Invalid(_))));
        assert!(matches!(engine.promote(&id, Some(MemoryType::Error)), Err(ToolError::Invalid(_))));
        let row = engine.promote(&id, Some(MemoryType::Preference)).unwrap();
        assert_eq!((row.path.as_str(), row.memory.kind), (LONG_TERM_FILE, MemoryType::Preference));
        assert_eq!(engine.known(&id).unwrap().1.memory.kind, MemoryType::UserPrompt);
        let decision = saved(&mut engine, MemoryType::Decision, "ship on Fridays");
        assert_eq!(engine.promote(&decision[..8], None).unwrap().memory.id.as_str(), decision);
        assert!(engine.set_pinned(&decision, true).unwrap().memory.attributes.pinned);
        assert!(matches!(engine.set_pinned("none", true), Err(ToolError::NotFound(_))));
    }
}
