//! Turns whose decisions no longer hold, even if the later ones use other words: all their files were removed from git, their commit was
//! reverted, the next prompt takes them back, or a later one revises what they chose. If a later turn rewrote their code, only their report is
//! hidden.

use std::collections::{HashMap, HashSet};

use crate::model::command_line::{moves_head, picked_commits, removed_from_git, reverted_commits};
use crate::model::memory::MemoryId;
use crate::model::tool_usage::{self, is_test_file};
use crate::model::word_list::WordList;
use crate::store::MemoryRow;

/// The prompts and answers of such turns. Of changed files, tests count only if nothing else was changed.
#[derive(Debug, Default)]
pub(super) struct AbandonedTurns {
    ids: HashSet<MemoryId>,
    orders: HashSet<(i64, i64)>,
    /// The parts of prompts that still hold, by the order of their prompt or answer.
    besides: HashMap<(i64, i64), String>,
}

impl AbandonedTurns {
    /// Finds them in memories of these types, the newest of each first.
    pub(super) fn find(tool_uses: &[MemoryRow], prompts: &[MemoryRow], answers: &[MemoryRow]) -> Self {
        let mut found = Self::default();
        let (mut removed, mut edited): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut reverts = Reverts::default();
        for row in tool_uses {
            let content = &row.memory.content;
            if reverts.undo(content) {
                found.add(row, prompts, answers);
            }
            let is_removed = |file: &&str| removed.iter().any(|path| names(path, file));
            let (tests, code): (Vec<&str>, Vec<&str>) = tool_usage::files(content).partition(|file| is_test_file(file));
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
        found.add_undone(prompts, answers);
        found
    }

    /// Adds the orders that the next prompt takes back. Conclusions of their answers still hold.
    fn add_undone(&mut self, prompts: &[MemoryRow], answers: &[MemoryRow]) {
        for prompt in prompts.iter().filter(|prompt| undoes_last_order(&prompt.memory.content)) {
            let Some(undone) = order_before(prompt, prompts) else { continue };
            self.insert(undone);
            let is_between = |row: &&MemoryRow| {
                row.memory.session_id == undone.memory.session_id
                    && undone.order() < row.order()
                    && row.order() < prompt.order()
            };
            answers.iter().filter(is_between).for_each(|answer| self.insert_without_conclusions(answer));
        }
    }

    fn add(&mut self, tool_use: &MemoryRow, prompts: &[MemoryRow], answers: &[MemoryRow]) {
        // A prompt such as "go" is not stored.
        let asked = prompt_of(tool_use, prompts, answers);
        let answer = answer_to(asked.unwrap_or(tool_use), prompts, answers);
        asked.into_iter().chain(answer).for_each(|row| self.insert(row));
    }

    /// Adds a prompt or an answer of such a turn.
    pub(super) fn insert(&mut self, row: &MemoryRow) {
        self.ids.insert(row.memory.id.clone());
        self.insert_without_conclusions(row);
    }

    /// Adds an answer of such a turn whose conclusions still hold.
    pub(super) fn insert_without_conclusions(&mut self, answer: &MemoryRow) {
        self.orders.insert(answer.order());
    }

    /// Adds the part of such a prompt that still holds.
    pub(super) fn keep(&mut self, order: (i64, i64), besides: String) {
        self.besides.insert(order, besides);
    }

    /// Returns the part of such a prompt that still holds.
    pub(super) fn kept(&self, order: (i64, i64)) -> Option<&str> {
        self.besides.get(&order).map(String::as_str)
    }

    /// Whether a prompt or an answer with this [`MemoryRow::order`] is of such a turn.
    pub(super) fn contains(&self, order: (i64, i64)) -> bool {
        self.orders.contains(&order)
    }

    /// Whether a memory was found in such a prompt or answer, and not in a part that still holds.
    pub(super) fn contains_source_of(&self, row: &MemoryRow) -> bool {
        let is_besides = || self.besides.values().any(|besides| besides.contains(row.memory.content.trim()));
        row.memory.attributes.source.as_ref().is_some_and(|source| self.ids.contains(source)) && !is_besides()
    }
}

/// The commits that were reverted, while tool uses are read from the newest to the oldest.
#[derive(Debug, Default)]
struct Reverts {
    hashes: Vec<String>,
    /// Commits that were applied again.
    picked: Vec<String>,
    /// Whether the last commit before a tool use was reverted.
    is_last_reverted: bool,
}

impl Reverts {
    /// Whether all commits of a tool use were reverted. Notes what it reverts itself.
    fn undo(&mut self, content: &str) -> bool {
        // Most stores end here, before any command line is parsed.
        let is_waiting = self.is_last_reverted || !self.hashes.is_empty();
        if !is_waiting && !content.contains("revert") && !content.contains("cherry-pick") {
            return false;
        }
        let commits = tool_usage::commits(content);
        let commands = || tool_usage::commands(content);
        let reverted: Vec<String> = commands().flat_map(reverted_commits).collect();
        let is_moved = commands().any(moves_head);
        self.picked.extend(commands().flat_map(picked_commits));
        if self.is_last_reverted && !reverted.is_empty() {
            // The revert itself was reverted.
            self.is_last_reverted = false;
            return false;
        }
        let is_last = std::mem::take(&mut self.is_last_reverted);
        // Short hashes may have different lengths.
        let is_same = |hash: &str, commit: &String| hash.starts_with(commit.as_str()) || commit.starts_with(hash);
        let is_undone =
            |(at, hash): (usize, &&str)| is_last && at == 0 || self.hashes.iter().any(|commit| is_same(hash, commit));
        let are_undone = !commits.is_empty() && commits.iter().enumerate().all(is_undone);
        // "HEAD" of a turn with commits of its own is one of these, and on another branch it is unknown.
        self.is_last_reverted = if commits.is_empty() {
            !is_moved && (is_last || reverted.iter().any(|commit| commit == "HEAD"))
        } else {
            false
        };
        let picked = &self.picked;
        let is_gone = |commit: &String| commit != "HEAD" && !picked.iter().any(|other| is_same(other, commit));
        self.hashes.extend(reverted.into_iter().filter(is_gone));
        are_undone
    }
}

/// Returns the prompt of the turn that a memory belongs to, if no answer is between them. The newest of both are the first.
pub(super) fn prompt_of<'p>(row: &MemoryRow, prompts: &'p [MemoryRow], answers: &[MemoryRow]) -> Option<&'p MemoryRow> {
    let is_before = |said: &&MemoryRow| said.memory.session_id == row.memory.session_id && said.order() < row.order();
    let answered = answers.iter().find(is_before).map(MemoryRow::order);
    prompts.iter().find(is_before).filter(|asked| answered.is_none_or(|order| order < asked.order()))
}

/// Returns the answer to a prompt, or after a tool use, if no other prompt is between them. The newest of both are the first.
pub(super) fn answer_to<'a>(
    asked: &MemoryRow,
    prompts: &[MemoryRow],
    answers: &'a [MemoryRow],
) -> Option<&'a MemoryRow> {
    let is_next = |said: &&MemoryRow| said.memory.session_id == asked.memory.session_id && said.order() > asked.order();
    let next_asked = prompts.iter().rev().find(is_next).map(MemoryRow::order);
    answers.iter().rev().find(is_next).filter(|answer| next_asked.is_none_or(|next| answer.order() < next))
}

/// Returns the previous prompt of a session that orders more than "commit", unless it takes something back itself.
fn order_before<'p>(prompt: &MemoryRow, prompts: &'p [MemoryRow]) -> Option<&'p MemoryRow> {
    const LEAST_WORDS: usize = 3;
    let is_before = |row: &&MemoryRow| {
        row.memory.session_id == prompt.memory.session_id
            && row.order() < prompt.order()
            && row.memory.content.split_whitespace().count() >= LEAST_WORDS
    };
    prompts.iter().find(is_before).filter(|before| !undoes_last_order(&before.memory.content))
}

/// Whether a prompt begins by taking back all that the last one ordered: "revert that".
fn undoes_last_order(prompt: &str) -> bool {
    const BEGINNING: usize = 80;
    static FILLERS: WordList =
        WordList::words("ok okay hm hmm please no actually wait ah oh 아 음 어 그거 이거 다시 방금");
    static ORDERS: WordList = WordList::phrases(
        "revert that|revert it|revert this|undo that|undo it|undo this|roll that back|roll it back|take that back|back that out",
    );
    static KOREAN: WordList = WordList::phrases(
        "되돌려줘|되돌려 줘|되돌려주|되돌려 주|되돌려놔|되돌려 놔|되돌리자|되돌립시다|원복해|원복하|원복 부탁",
    );
    static PARTLY: WordList = WordList::phrases(" only|the rest |the rest,|just the |것만|부분만|나머지");
    let prompt = prompt.trim_start();
    let beginning = prompt[..prompt.floor_char_boundary(BEGINNING)].to_lowercase();
    let mut said = beginning.as_str();
    while let Some((word, rest)) = said.split_once(' ')
        && FILLERS.contains(word.trim_end_matches([',', '.']))
    {
        said = rest.trim_start();
    }
    // "Revert that commit" and "undo it?" are something else.
    let ends = |rest: &str| {
        let rest = rest.trim_start_matches(" please");
        rest.is_empty() || rest.starts_with([',', '.', ';', '!', '\n']) || rest.starts_with(" and ")
    };
    let is_order = KOREAN.begins(said) || ORDERS.iter().any(|order| said.strip_prefix(*order).is_some_and(ends));
    is_order && !PARTLY.occurs_in(&beginning)
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
    #[case::by_hash(&["git revert 4be19c2", "git commit -m x # 4be19c2"], true)]
    #[case::last(&["git revert HEAD", "ls", "git commit -m x # 4be19c2"], true)]
    #[case::applied_again(&["git cherry-pick 4be19c2", "git revert 4be19c2", "git commit -m x # 4be19c2"], false)]
    #[case::reverted_twice(&["git revert HEAD", "git revert HEAD", "git commit -m x # 4be19c2"], false)]
    #[case::of_others(&["git revert HEAD", "git pull", "git commit -m x # 4be19c2"], false)]
    #[case::own(&["git commit -m y # 9f8e7d6; git revert HEAD", "git commit -m x # 4be19c2"], false)]
    #[case::one_of_two(&["git revert HEAD", "git commit -m x # 4be19c2; git commit -m y # 9f8e7d6"], false)]
    fn reverts_are_followed_from_the_newest(#[case] commands: &[&str], #[case] expected: bool) {
        let mut reverts = Reverts::default();
        let undone = commands.iter().map(|commands| reverts.undo(&format!("Commands: {commands}")));
        assert_eq!(undone.last(), Some(expected));
    }

    #[rstest]
    #[case::order("Revert that, mark the loads instead", true)]
    #[case::alone("undo it", true)]
    #[case::politely("undo that please and keep the test", true)]
    #[case::korean("되돌려주세요. 상수는 그대로요", true)]
    #[case::hesitantly("hmm, please revert that, users hate it", true)]
    #[case::korean_hesitantly("아 이거 다시 되돌려줘. 사용자들이 싫어해", true)]
    #[case::part("Revert that, the rest is perfect", false)]
    #[case::korean_part("되돌려줘. nginx.conf 고친 것만, 나머지는 좋아", false)]
    #[case::commit("revert that commit of Jonas", false)]
    #[case::other_word("revert items of the cart on logout", false)]
    #[case::question("undo it?", false)]
    #[case::feature("되돌리기부터요. 지금은 새로고침하면 사라져요", false)]
    #[case::script("원복 스크립트 만들어줘", false)]
    fn order_that_takes_back_the_last_one_is_recognised(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(undoes_last_order(prompt), expected);
    }
}
