//! Turns whose decisions no longer hold, even if the later ones use other words: all their files were removed from git, their commit was
//! reverted, or a later prompt revises what they chose.

use std::collections::HashSet;

use crate::model::command_line::{removed_from_git, reverted_commits};
use crate::model::memory::MemoryId;
use crate::model::tool_usage;
use crate::store::MemoryRow;

/// The prompts and answers of such turns. Of changed files, tests count only if nothing else was changed.
#[derive(Debug, Default)]
pub(super) struct AbandonedTurns {
    ids: HashSet<MemoryId>,
    orders: HashSet<(i64, i64)>,
    /// Sentences of their prompts about something else.
    besides: Vec<String>,
}

impl AbandonedTurns {
    /// Finds them in memories of these types, the newest of each first.
    pub(super) fn find(tool_uses: &[MemoryRow], prompts: &[MemoryRow], answers: &[MemoryRow]) -> Self {
        let mut found = Self::default();
        let (mut removed, mut edited): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut reverted: Vec<String> = Vec::new();
        for row in tool_uses {
            let content = &row.memory.content;
            let commits = tool_usage::commits(content);
            let is_reverted = |commit: &String| {
                // Short hashes may have different lengths.
                commit == "HEAD" && !commits.is_empty()
                    || commits.iter().any(|hash| hash.starts_with(commit.as_str()) || commit.starts_with(hash))
            };
            if reverted.extract_if(.., |commit| is_reverted(commit)).count() > 0 {
                found.add(row, prompts, answers);
            }
            reverted.extend(tool_usage::commands(content).flat_map(reverted_commits));
            let is_removed = |file: &&str| removed.iter().any(|path| names(path, file));
            let (tests, code): (Vec<&str>, Vec<&str>) = tool_usage::files(content).partition(|file| is_test(file));
            let judged = if code.is_empty() { tests } else { code };
            if !judged.is_empty() && judged.iter().all(is_removed) {
                found.add(row, prompts, answers);
            }
            edited.extend(tool_usage::files(content));
            let paths = tool_usage::commands(content).flat_map(removed_from_git);
            // A file that was edited afterwards exists again, and one of the same name was moved.
            let is_gone = |path: &String| {
                !edited.iter().any(|file| names(path, file))
                    && !tool_usage::files(content).any(|file| stem(file) == stem(path))
            };
            removed.extend(paths.filter(is_gone));
        }
        found
    }

    fn add(&mut self, tool_use: &MemoryRow, prompts: &[MemoryRow], answers: &[MemoryRow]) {
        let Some(asked) = prompt_of(tool_use, prompts, answers) else { return };
        for row in std::iter::once(asked).chain(answer_to(asked, prompts, answers)) {
            self.insert(row);
        }
    }

    /// Adds a prompt or an answer of such a turn.
    pub(super) fn insert(&mut self, row: &MemoryRow) {
        self.ids.insert(row.memory.id.clone());
        self.orders.insert(row.order());
    }

    /// Adds a part of such a prompt whose conclusions still hold.
    pub(super) fn keep(&mut self, besides: String) {
        self.besides.push(besides);
    }

    /// Whether a prompt or an answer with this [`MemoryRow::order`] is of such a turn.
    pub(super) fn contains(&self, order: (i64, i64)) -> bool {
        self.orders.contains(&order)
    }

    /// Whether a memory was found in such a prompt or answer, and not in a part that still holds.
    pub(super) fn contains_source_of(&self, row: &MemoryRow) -> bool {
        let is_besides = || self.besides.iter().any(|besides| besides.contains(row.memory.content.trim()));
        row.memory.attributes.source.as_ref().is_some_and(|source| self.ids.contains(source)) && !is_besides()
    }
}

/// Returns the prompt of the turn that a memory belongs to, if no answer is between them. The newest of both are the first.
pub(super) fn prompt_of<'p>(row: &MemoryRow, prompts: &'p [MemoryRow], answers: &[MemoryRow]) -> Option<&'p MemoryRow> {
    let is_before = |said: &&MemoryRow| said.memory.session_id == row.memory.session_id && said.order() < row.order();
    let answered = answers.iter().find(is_before).map(MemoryRow::order);
    prompts.iter().find(is_before).filter(|asked| answered.is_none_or(|order| order < asked.order()))
}

/// Returns the answer to a prompt, if no other prompt is between them. The newest of both are the first.
pub(super) fn answer_to<'a>(
    asked: &MemoryRow,
    prompts: &[MemoryRow],
    answers: &'a [MemoryRow],
) -> Option<&'a MemoryRow> {
    let is_next = |said: &&MemoryRow| said.memory.session_id == asked.memory.session_id && said.order() > asked.order();
    let next_asked = prompts.iter().rev().find(is_next).map(MemoryRow::order);
    answers.iter().rev().find(is_next).filter(|answer| next_asked.is_none_or(|next| answer.order() < next))
}

/// Whether a path of a command names a file of the project. The command may have run in a subdirectory. Directories do not count, because
/// their content may have moved.
fn names(path: &str, file: &str) -> bool {
    file.strip_suffix(path).is_some_and(|start| start.is_empty() || start.ends_with('/') && path.contains('/'))
}

/// Returns the name of a file without its directory and extension.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

fn is_test(file: &str) -> bool {
    let (folders, name) = file.rsplit_once('/').unwrap_or(("", file));
    folders.split('/').any(|folder| matches!(folder, "test" | "tests" | "__tests__"))
        || name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| matches!(word, "test" | "tests" | "spec") || word.ends_with("Test") || word.ends_with("Tests"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("src/ble.rs", "src/ble.rs", true)]
    #[case::in_a_subdirectory("src/ble.rs", "firmware/src/ble.rs", true)]
    #[case::common_name("Cargo.toml", "server/Cargo.toml", false)]
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
    #[case("src/Testimonials.tsx", false)]
    #[case("src/inspector.rs", false)]
    #[case("dist/latest.json", false)]
    fn test_files_are_recognised_by_name(#[case] file: &str, #[case] expected: bool) {
        assert_eq!(is_test(file), expected);
    }
}
