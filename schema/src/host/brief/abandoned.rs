//! Turns whose decisions no longer hold, even if the later ones use other words: all their files were removed from git, their commit was
//! reverted, the next prompt takes them back, or a later one revises what they chose. If a later turn rewrote their code, only their report is
//! hidden.

use std::collections::{HashMap, HashSet};

use super::offers::begins_with_pick;
use super::recent_events::{RecentEvents, is_earlier_in_session};
use super::revised::revised_choices;
use crate::model::command_line::{moves_head, picked_commits, removed_from_git, reverted_commits};
use crate::model::memory::{MemoryId, MemoryType};
use crate::model::tool_usage::{self, is_test_file};
use crate::model::word_list::WordList;
use crate::prose::one_off::without_one_offs;
use crate::prose::sentences::sentences;
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
    pub(super) fn find(events: &RecentEvents) -> Self {
        let mut found = Self::default();
        found.add_removed_and_reverted(events);
        found.add_undone(events);
        // "2. for the first try only take a part" also picks something.
        let is_once = |text: &str| !begins_with_pick(text) && without_one_offs(text).is_empty();
        for prompt in events.prompts.iter().filter(|prompt| is_once(&prompt.memory.content)) {
            // A longer answer may say more than that it was done.
            let answer = events.answer_to(prompt);
            if let Some(answer) = answer.filter(|answer| sentences(&answer.memory.content).len() == 1) {
                found.insert_without_conclusions(prompt);
                found.insert(answer);
            }
        }
        for choice in revised_choices(events) {
            for row in choice.turns {
                found.insert(row);
                found.besides.extend(choice.besides.clone().map(|besides| (row.order(), besides)));
            }
        }
        for beginning in events.rewritten() {
            let report = events.answer_to(beginning);
            let Some(report) = report.filter(|report| !found.contains(report.order())) else { continue };
            found.insert_without_conclusions(report);
            // A decision outlives its code, which may only have been repaired.
            if beginning.memory.kind == MemoryType::UserPrompt {
                found.besides.insert(report.order(), beginning.memory.content.clone());
            }
        }
        found
    }

    fn add_removed_and_reverted(&mut self, events: &RecentEvents) {
        let (mut removed, mut edited): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
        let mut reverts = Reverts::default();
        for row in &events.tool_uses {
            let content = &row.memory.content;
            if reverts.undo(content) {
                self.add_turn(row, events);
            }
            let is_removed = |file: &&str| removed.iter().any(|path| names(path, file));
            let (tests, code): (Vec<&str>, Vec<&str>) = tool_usage::files(content).partition(|file| is_test_file(file));
            let judged = if code.is_empty() { tests } else { code };
            if !judged.is_empty() && judged.iter().all(is_removed) {
                self.add_turn(row, events);
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
    }

    /// Adds the orders that the next prompt takes back. Conclusions of their answers still hold.
    fn add_undone(&mut self, events: &RecentEvents) {
        for prompt in events.prompts.iter().filter(|prompt| undoes_last_order(&prompt.memory.content)) {
            let Some(undone) = order_before(prompt, &events.prompts) else { continue };
            self.insert(undone);
            let is_between =
                |row: &&MemoryRow| is_earlier_in_session(undone, row) && is_earlier_in_session(row, prompt);
            events.answers.iter().filter(is_between).for_each(|answer| self.insert_without_conclusions(answer));
        }
    }

    fn add_turn(&mut self, tool_use: &MemoryRow, events: &RecentEvents) {
        // A prompt such as "go" is not stored.
        let asked = events.prompt_of(tool_use);
        let answer = events.answer_to(asked.unwrap_or(tool_use));
        asked.into_iter().chain(answer).for_each(|row| self.insert(row));
    }

    /// Adds a prompt or an answer of such a turn.
    fn insert(&mut self, row: &MemoryRow) {
        self.ids.insert(row.memory.id.clone());
        self.insert_without_conclusions(row);
    }

    /// Adds an answer of such a turn whose conclusions still hold.
    fn insert_without_conclusions(&mut self, answer: &MemoryRow) {
        self.orders.insert(answer.order());
    }

    /// Returns a prompt, or only the part that still holds if it is of such a turn.
    pub(super) fn valid_part<'t>(&'t self, asked: &'t str, order: (i64, i64)) -> Option<&'t str> {
        if self.contains(order) { self.besides.get(&order).map(String::as_str) } else { Some(asked) }
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
        let is_last = std::mem::take(&mut self.is_last_reverted);
        // The revert itself was reverted.
        if is_last && !reverted.is_empty() {
            return false;
        }
        // Short hashes may have different lengths.
        let is_same = |hash: &str, commit: &String| hash.starts_with(commit.as_str()) || commit.starts_with(hash);
        let is_undone =
            |(at, hash): (usize, &&str)| is_last && at == 0 || self.hashes.iter().any(|commit| is_same(hash, commit));
        let are_undone = !commits.is_empty() && commits.iter().enumerate().all(is_undone);
        // "HEAD" of a turn with commits of its own is one of these, and on another branch it is unknown.
        let is_head_reverted = is_last || reverted.iter().any(|commit| commit == "HEAD");
        self.is_last_reverted = commits.is_empty() && !is_moved && is_head_reverted;
        let picked = &self.picked;
        let is_gone = |commit: &String| commit != "HEAD" && !picked.iter().any(|other| is_same(other, commit));
        self.hashes.extend(reverted.into_iter().filter(is_gone));
        are_undone
    }
}

/// Returns the previous prompt of a session that orders more than "commit", unless it takes something back itself.
fn order_before<'p>(prompt: &MemoryRow, prompts: &'p [MemoryRow]) -> Option<&'p MemoryRow> {
    const LEAST_WORDS: usize = 3;
    let is_order = |row: &&MemoryRow| {
        is_earlier_in_session(row, prompt) && row.memory.content.split_whitespace().count() >= LEAST_WORDS
    };
    prompts.iter().find(is_order).filter(|before| !undoes_last_order(&before.memory.content))
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
    let name = file.rsplit('/').next().unwrap_or(file).trim_start_matches('.');
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
    #[case("src/parser.test.ts", "parser")]
    #[case(".env.local", "env")]
    fn stem_of_a_file(#[case] file: &str, #[case] expected: &str) {
        assert_eq!(stem(file), expected);
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
