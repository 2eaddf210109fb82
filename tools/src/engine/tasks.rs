//! Tasks: which are open, what they wait for, and closing them by hand.

use schema::log::log_file;
use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::state_note::{Settlement, StateChange, StateNote};
use schema::prose::tasks;
use schema::store::{MemoryFilter, MemoryRow, StoreError};

use super::Engine;
use crate::error::ToolError;

/// A task and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub row: MemoryRow,
    pub state: TaskState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    Open,
    /// It waits for this: words, or the text of another memory.
    Blocked(String),
    /// What says that it is done: the id of a memory, or words.
    Done(Option<String>),
}

impl Engine {
    /// The tasks, the newest first.
    pub fn tasks(&mut self) -> Result<Vec<Task>, ToolError> {
        self.newest_tasks(usize::MAX)
    }

    /// At most this many of the newest tasks.
    pub fn newest_tasks(&mut self, limit: usize) -> Result<Vec<Task>, ToolError> {
        let filter = MemoryFilter { kind: Some(MemoryType::Task), ..MemoryFilter::default() };
        self.list(&filter, limit)?.into_iter().map(|row| self.task_of_row(row)).collect()
    }

    fn task_of_row(&mut self, row: MemoryRow) -> Result<Task, ToolError> {
        Ok(Task { state: self.state_of_task(&row)?, row })
    }

    fn task(&mut self, id: &MemoryId) -> Result<Task, ToolError> {
        let row = self.find_by_prefix(id.as_str())?;
        self.task_of_row(row)
    }

    fn state_of_task(&mut self, row: &MemoryRow) -> Result<TaskState, ToolError> {
        if !row.is_open_task() {
            let replaced = row.superseded_by.as_ref().map(ToString::to_string);
            return Ok(TaskState::Done(row.state.settled_by.clone().or(replaced)));
        }
        let Some(awaited) = tasks::awaited(&row.memory.content, &row.memory.attributes.metadata) else {
            return Ok(TaskState::Open);
        };
        // A task that waited for another one is open when that is done.
        let other = self.read_rows(|rows| rows.named_by_id(&awaited))?;
        Ok(match other {
            Some(other) if !other.is_open_task() => TaskState::Open,
            Some(other) => TaskState::Blocked(other.memory.content),
            None => TaskState::Blocked(awaited),
        })
    }

    /// Closes a task, with the reason in a few words, and returns it.
    pub fn close_task(&mut self, id: &str, by: Option<&str>) -> Result<Task, ToolError> {
        let settlement = by.map_or(Settlement::Done, |by| Settlement::by(&self.loaded.sanitizer.clean(by).text));
        self.settle_task(id, settlement)
    }

    /// Opens a closed task again and returns it.
    pub fn reopen_task(&mut self, id: &str) -> Result<Task, ToolError> {
        self.settle_task(id, Settlement::Undone)
    }

    /// Notes that a task does not wait any more, and returns it. Its text changes only if it ends with what it waited for, in brackets.
    pub fn unblock_task(&mut self, id: &str) -> Result<Task, ToolError> {
        let row = self.find_by_prefix(id)?;
        let id = &row.memory.id;
        if tasks::awaited(&row.memory.content, &row.memory.attributes.metadata).is_none() {
            return self.task_of_row(row);
        }
        let is_field = row.memory.attributes.metadata.contains_key(tasks::BLOCKED_BY);
        match tasks::with_awaited_removed(&row.memory.content).filter(|_| !is_field) {
            Some(text) => drop(self.edit_text(&row, &text)?),
            // The text may name another condition.
            None if is_field => drop(self.edit_attributes(id, |attributes| {
                attributes.metadata.remove(tasks::BLOCKED_BY);
            })?),
            None => drop(self.edit_attributes(id, |attributes| {
                attributes.metadata.insert(tasks::BLOCKED_BY.to_owned(), "".into());
            })?),
        }
        self.task(id)
    }

    /// A checkbox that a person ticked is theirs to clear.
    fn settle_task(&mut self, id: &str, settlement: Settlement) -> Result<Task, ToolError> {
        let row = self.find_by_prefix(id)?;
        let id = &row.memory.id;
        if row.memory.kind != MemoryType::Task {
            return Err(ToolError::Invalid(format!("{id} is a {}, not a task", row.memory.kind)));
        }
        if settlement == Settlement::Undone && row.memory.attributes.done {
            return Err(ToolError::Invalid(format!("{id} has a ticked checkbox: clear it in {}", row.path)));
        }
        let state = self.state_of_task(&row)?;
        if settlement == Settlement::Done && matches!(state, TaskState::Done(_)) {
            // What closed it stays.
            return Ok(Task { row, state });
        }
        if settlement != Settlement::Undone && self.is_written_by_hand(&row)? {
            self.edit_attributes(id, |attributes| attributes.done = true)?;
        }
        let change = StateChange::Closed(settlement);
        self.append_notes(&[StateNote { about: id.clone(), at: Moment::now(), change }])?;
        self.task(id)
    }

    /// Whether the entry of a task has no id. Its id depends on its text, so a note about it would be lost with the next edit.
    fn is_written_by_hand(&mut self, row: &MemoryRow) -> Result<bool, ToolError> {
        let bytes = log_file::read(&self.store.layout().store_path(&row.path)).map_err(StoreError::from)?;
        Ok(!String::from_utf8_lossy(&bytes).contains(&format!("\"{}\"", row.memory.id)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use schema::intake::forget::forget_rows;
    use schema::tool::SaveInput;
    use serde_json::json;

    use super::*;
    use crate::engine::tests::new_engine;

    fn save(
        engine: &mut Engine,
        kind: MemoryType,
        content: &str,
        waits_for: Option<&str>,
        supersedes: Option<&str>,
    ) -> String {
        let input = SaveInput {
            metadata: waits_for.map(|waits_for| json!({"blocked_by": waits_for})),
            supersedes: supersedes.map(str::to_owned),
            ..SaveInput::new(kind, content.to_owned())
        };
        engine.save(&input).unwrap().id
    }

    fn states(engine: &mut Engine) -> Vec<(String, TaskState)> {
        let mut states: Vec<_> =
            engine.tasks().unwrap().into_iter().map(|task| (task.row.memory.content, task.state)).collect();
        states.sort_by(|a, b| a.0.cmp(&b.0));
        states
    }

    #[test]
    fn a_task_is_open_blocked_or_done() {
        let (_project, mut engine) = new_engine();
        let first = save(&mut engine, MemoryType::Task, "A: renew the certificate", None, None);
        save(&mut engine, MemoryType::Task, "B: cut over the DNS", Some(&first), None);
        save(&mut engine, MemoryType::Task, "C: send the list (blocked by: Dana)", None, None);
        let last = save(&mut engine, MemoryType::Task, "D: rename the job", None, None);
        let decision = save(&mut engine, MemoryType::Decision, "The job keeps its name", None, Some(&last));
        let blocked = |text: &str| TaskState::Blocked(text.to_owned());
        let expected =
            [TaskState::Open, blocked("A: renew the certificate"), blocked("Dana"), TaskState::Done(Some(decision))];
        assert_eq!(states(&mut engine).into_iter().map(|(_, state)| state).collect::<Vec<_>>(), expected);
        let closed = engine.close_task(&first[..8], Some("by hand")).unwrap();
        assert_eq!(closed.state, TaskState::Done(Some("by hand".to_owned())));
        assert_eq!(states(&mut engine)[1].1, TaskState::Open, "nothing is in its way any more");
        let again = engine.reopen_task(&first).unwrap();
        assert_eq!(again.state, TaskState::Open);
    }

    #[rstest]
    #[case::whole(32)]
    #[case::short(8)]
    fn task_waits_for_another_that_its_text_names(#[case] length: usize) {
        let (_project, mut engine) = new_engine();
        let id = save(&mut engine, MemoryType::Task, "Z: publish", None, None);
        let short = &id[..length];
        save(&mut engine, MemoryType::Task, &format!("A: announce (blocked by {short})"), None, None);
        save(&mut engine, MemoryType::Task, &format!("B: mail the users, blocked by {short}"), None, None);
        let blocked = || TaskState::Blocked("Z: publish".to_owned());
        let found = |engine: &mut Engine| states(engine).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
        assert_eq!(found(&mut engine), [blocked(), blocked(), TaskState::Open]);
        engine.close_task(&id, None).unwrap();
        assert_eq!(found(&mut engine), [TaskState::Open, TaskState::Open, TaskState::Done(None)]);
    }

    #[rstest]
    #[case::open("- [ ] Renew the key", None, ("Renew the key", TaskState::Open))]
    #[case::ticked("[x] Renew the key", None, ("Renew the key", TaskState::Done(None)))]
    #[case::word("Renew the key: done", None, ("Renew the key: done", TaskState::Done(None)))]
    #[case::same_text("- [x] Renew the key of the shop", Some("Renew the key of the shop"),
        ("Renew the key of the shop", TaskState::Done(None)))]
    #[case::report("The key of the shop is renewed.", Some("Renew the key of the shop"),
        ("The key of the shop is renewed.", TaskState::Done(None)))]
    #[case::another("Renew the key of the office", Some("Renew the key of the shop"),
        ("Renew the key of the office", TaskState::Open))]
    fn marks_of_a_saved_task_say_its_state(
        #[case] text: &str,
        #[case] before: Option<&str>,
        #[case] (content, state): (&str, TaskState),
    ) {
        let (_project, mut engine) = new_engine();
        let before = before.map(|before| save(&mut engine, MemoryType::Task, before, None, None));
        save(&mut engine, MemoryType::Task, text, None, before.as_deref());
        let states = states(&mut engine);
        let is_superseded = |found: &TaskState| matches!(found, TaskState::Done(Some(_)));
        let found: Vec<_> = states.iter().filter(|(_, state)| !is_superseded(state)).collect();
        assert_eq!(found, [&(content.to_owned(), state)]);
    }

    #[test]
    fn closing_a_handmade_task_ticks_its_checkbox() {
        let (_project, mut engine) = new_engine();
        let log = engine.store.layout().store_path("2026-01-28.md");
        std::fs::write(&log, "# 2026-01-28\n\n## Task\n\n- [ ] Renew the certificate\n- [ ] Rename the job\n").unwrap();
        engine.store.sync_log("2026-01-28.md").unwrap();
        let tasks = engine.tasks().unwrap();
        let id = tasks.iter().find(|task| task.row.memory.content.contains("Renew")).unwrap().row.memory.id.clone();
        let closed = engine.close_task(id.as_str(), Some("by hand")).unwrap();
        assert_eq!(closed.state, TaskState::Done(Some("by hand".to_owned())));
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.contains("- [x] Renew the certificate") && text.contains("- [ ] Rename the job\n"), "{text}");
        std::fs::write(&log, text.replace("Renew the certificate", "Renew the certificates")).unwrap();
        engine.store.sync_log("2026-01-28.md").unwrap();
        let expected = [
            ("Rename the job".to_owned(), TaskState::Open),
            ("Renew the certificates".to_owned(), TaskState::Done(Some("by hand".to_owned()))),
        ];
        assert_eq!(states(&mut engine), expected);
    }

    #[rstest]
    #[case::text("B: cut over the DNS (waiting for Dana)", None, "B: cut over the DNS")]
    #[case::field("B: cut over the DNS", Some("Dana"), "B: cut over the DNS")]
    #[case::in_the_text("B: cut over (waiting for Dana) now", None, "B: cut over (waiting for Dana) now")]
    fn unblocked_task_is_open(#[case] text: &str, #[case] waits_for: Option<&str>, #[case] expected: &str) {
        let (_project, mut engine) = new_engine();
        let id = save(&mut engine, MemoryType::Task, text, waits_for, None);
        assert_eq!(states(&mut engine)[0].1, TaskState::Blocked("Dana".to_owned()));
        engine.unblock_task(&id).unwrap();
        assert_eq!(states(&mut engine), [(expected.to_owned(), TaskState::Open)]);
    }

    #[test]
    fn only_tasks_are_closed() {
        let (_project, mut engine) = new_engine();
        let id = save(&mut engine, MemoryType::Decision, "The job keeps its name", None, None);
        let error = engine.close_task(&id, None).unwrap_err();
        assert!(error.to_string().contains("is a decision, not a task"), "{error}");
    }

    #[test]
    fn reason_for_closing_a_task_is_cleaned() {
        let (_project, mut engine) = new_engine();
        let id = save(&mut engine, MemoryType::Task, "Push the tag", None, None);
        let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
        let closed = engine.close_task(&id, Some(&format!("pushed with {token}"))).unwrap();
        assert_eq!(closed.row.state.settled_by.as_deref(), Some("pushed with [redacted: github token]"));
        let again = engine.close_task(&id, None).unwrap();
        assert_eq!(again.row.state.settled_by, closed.row.state.settled_by, "closing again erases no reason");
    }

    #[test]
    fn reason_for_closing_a_task_is_forgotten_with_it() {
        let (_project, mut engine) = new_engine();
        let id = save(&mut engine, MemoryType::Task, "Move the ledger to zanzibar", None, None);
        let other = save(&mut engine, MemoryType::Task, "Renew the certificate", None, None);
        engine.close_task(&id, Some("zanzibar has it")).unwrap();
        engine.close_task(&other, Some("renewed")).unwrap();
        let row = engine.find_by_prefix(&id).unwrap();
        let log = engine.store.layout().store_path(&row.path);
        forget_rows(&mut engine.store, &[row]).unwrap();
        let text = std::fs::read_to_string(log).unwrap();
        assert!(!text.contains("zanzibar") && text.contains("renewed"), "{text}");
        assert_eq!(
            states(&mut engine),
            [("Renew the certificate".to_owned(), TaskState::Done(Some("renewed".to_owned())))]
        );
    }
}
