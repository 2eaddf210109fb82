//! Turns whose files were all deleted or changed later: their decisions no longer hold, in whatever words the later ones are.

use std::collections::HashSet;

use crate::model::command_line::deleted_paths;
use crate::model::memory::MemoryId;
use crate::model::tool_usage;
use crate::store::MemoryRow;

/// The prompts and answers of turns all of whose changed files were deleted later, or edited in a later session for a prompt that changes
/// something. Tests do not count.
#[derive(Debug, Default)]
pub(super) struct AbandonedTurns {
    ids: HashSet<MemoryId>,
    orders: HashSet<(i64, i64)>,
}

impl AbandonedTurns {
    /// Finds them in memories of these types, the newest of each first. `changing` has the order of prompts that give something up or change
    /// it.
    pub(super) fn find(
        tool_uses: &[MemoryRow],
        prompts: &[MemoryRow],
        answers: &[MemoryRow],
        changing: &HashSet<(i64, i64)>,
    ) -> Self {
        let mut found = Self::default();
        // The paths that newer turns deleted or edited.
        let (mut redone, mut edited): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        // A file that exists again was deleted only for a while.
        let mut known: HashSet<&str> = HashSet::new();
        let mut session: Option<&str> = None;
        for row in tool_uses {
            // A session often edits a file in several steps.
            if session.replace(&row.memory.session_id) != Some(&row.memory.session_id) {
                redone.append(&mut edited);
            }
            let content = &row.memory.content;
            let is_redone = |file: &&str| redone.iter().any(|path| names(path, file));
            let (tests, code): (Vec<&str>, Vec<&str>) = tool_usage::files(content).partition(|file| is_test(file));
            let decisive = if code.is_empty() { tests } else { code };
            if !decisive.is_empty() && decisive.iter().all(is_redone) {
                found.add(row, prompts, answers);
            }
            if prompt_of(row, prompts, answers).is_some_and(|asked| changing.contains(&asked.order())) {
                edited.extend(tool_usage::files(content).map(str::to_owned));
            }
            let deleted = tool_usage::commands(content).flat_map(deleted_paths);
            redone.extend(deleted.filter(|path| !known.contains(path.as_str())));
            known.extend(tool_usage::files(content));
        }
        found
    }

    fn add(&mut self, tool_use: &MemoryRow, prompts: &[MemoryRow], answers: &[MemoryRow]) {
        let Some(asked) = prompt_of(tool_use, prompts, answers) else { return };
        let is_next =
            |said: &&MemoryRow| said.memory.session_id == asked.memory.session_id && said.order() > asked.order();
        let next_asked = prompts.iter().rev().find(is_next).map(MemoryRow::order);
        let answer = answers.iter().rev().find(is_next);
        let answer = answer.filter(|answer| next_asked.is_none_or(|next| answer.order() < next));
        for row in std::iter::once(asked).chain(answer) {
            self.ids.insert(row.memory.id.clone());
            self.orders.insert(row.order());
        }
    }

    /// Whether a prompt or an answer with this [`MemoryRow::order`] is of such a turn.
    pub(super) fn contains(&self, order: (i64, i64)) -> bool {
        self.orders.contains(&order)
    }

    /// Whether a memory was found in such a prompt or answer.
    pub(super) fn contains_source_of(&self, row: &MemoryRow) -> bool {
        row.memory.attributes.source.as_ref().is_some_and(|source| self.ids.contains(source))
    }
}

/// Returns the prompt of the turn that a memory belongs to, if no answer is between them. The newest of both are the first.
pub(super) fn prompt_of<'p>(row: &MemoryRow, prompts: &'p [MemoryRow], answers: &[MemoryRow]) -> Option<&'p MemoryRow> {
    let is_before = |said: &&MemoryRow| said.memory.session_id == row.memory.session_id && said.order() < row.order();
    let answered = answers.iter().find(is_before).map(MemoryRow::order);
    prompts.iter().find(is_before).filter(|asked| answered.is_none_or(|order| order < asked.order()))
}

/// Whether a path names a file. It may be absolute, and the command may have run in a subdirectory. A directory is deleted when its content
/// moves.
fn names(path: &str, file: &str) -> bool {
    let is_end =
        |end: &str, whole: &str| whole.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('/'));
    is_end(path, file) || path.starts_with('/') && file.contains('/') && is_end(file, path)
}

fn is_test(file: &str) -> bool {
    file.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        matches!(word, "test" | "tests" | "spec" | "specs")
            || word.starts_with("Test")
            || ["Test", "Tests", "Spec"].iter().any(|ending| word.ends_with(ending))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("src/ble.rs", "src/ble.rs", true)]
    #[case::in_a_subdirectory("ble.rs", "src/ble.rs", true)]
    #[case::absolute("/home/mia/label/src/ble.rs", "src/ble.rs", true)]
    #[case::another("old/main.rs", "main.rs", false)]
    #[case::directory("src", "src/ble.rs", false)]
    fn paths_name_files(#[case] path: &str, #[case] file: &str, #[case] expected: bool) {
        assert_eq!(names(path, file), expected);
    }

    #[rstest]
    #[case("tests/queue.rs", true)]
    #[case("src/sync_test.go", true)]
    #[case("src/composite.spec.ts", true)]
    #[case("app/ParserTest.java", true)]
    #[case("src/inspector.rs", false)]
    #[case("dist/latest.json", false)]
    fn tests_are_told_by_their_names(#[case] file: &str, #[case] expected: bool) {
        assert_eq!(is_test(file), expected);
    }
}
