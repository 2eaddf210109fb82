//! Finds the turns of a session, what each asked and answered, and what they are about.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::host::choice::answer_before_choice;
use crate::model::memory::MemoryType;
use crate::model::tool_usage;
use crate::privacy::output_text::clean_line;
use crate::prose::gist::{gist, shortened};
use crate::prose::small_talk::{is_small_talk, is_substantial};
use crate::prose::tasks;
use crate::prose::terms::{ProseToken, tokens};
use crate::store::MemoryRow;

/// The most of a memory that is read, in bytes.
const READ_BYTES: usize = 4 * 1024;

/// The longest prompt and outcome of a turn, in characters.
const LONGEST_PROMPT: usize = 480;
pub(super) const LONGEST_OUTCOME: usize = 480;

/// The most topics, and the fewest texts of a session that must contain a topic.
const MOST_TOPICS: usize = 6;
const TOPIC_TEXTS: usize = 2;

/// How many turns are searched for topics, the last ones.
const TOPIC_TURNS: usize = 40;

/// A turn of a session, without small talk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    pub asked: String,
    pub answered: Option<String>,
    /// The last informative text, if the turn had no end, and when it was said.
    pub unfinished: Option<(String, (i64, i64))>,
    /// Whether it changed files.
    pub has_changes: bool,
    /// The time of the turn: seconds since 1970, and the sequence number of the memory.
    pub order: (i64, i64),
}

/// Returns the turns of a session, from its memories in order of time.
pub(super) fn turns_of(memories: &[MemoryRow]) -> Vec<TurnRecord> {
    let mut turns: Vec<TurnRecord> = Vec::new();
    let mut is_open = false;
    // An agreement begins a turn of its own if files change after it.
    let mut agreed: Option<TurnRecord> = None;
    let mut answered: Option<&str> = None;
    for row in memories {
        let content = &row.memory.content;
        match row.memory.kind {
            MemoryType::UserPrompt => {
                is_open = !is_small_talk(content);
                // Once an option is picked, the others are history.
                if let Some((turn, before)) = turns.last_mut().zip(answered)
                    && let Some(introduction) = answer_before_choice(content, &turn.asked, before)
                {
                    turn.answered = gist(beginning(introduction), LONGEST_OUTCOME);
                }
                answered = None;
                let asked = shortened(beginning(content), LONGEST_PROMPT);
                let turn =
                    TurnRecord { asked, answered: None, unfinished: None, has_changes: false, order: row.order() };
                agreed = None;
                if is_open {
                    turns.push(turn);
                } else if turns.last().is_some_and(|turn| turn.answered.is_some()) {
                    agreed = Some(turn);
                }
            }
            MemoryType::ToolUsage if tool_usage::files(content).next().is_some() => {
                is_open |= agreed.is_some();
                turns.extend(agreed.take());
                if let Some(turn) = turns.last_mut() {
                    turn.has_changes = true;
                    // Changes before the text may have a later time, so compare sequence numbers.
                    turn.unfinished = turn.unfinished.take().filter(|(_, (_, seq))| row.seq < *seq);
                }
            }
            MemoryType::AssistantResponse if row.memory.is_unfinished() => {
                if let Some(turn) = turns.last_mut() {
                    turn.unfinished = gist(beginning(content), LONGEST_OUTCOME).map(|text| (text, row.order()));
                }
            }
            // An answer after small talk may still report on the work before it.
            MemoryType::AssistantResponse if is_substantial(content) || tasks::reports_result(content) => {
                if let Some(turn) = turns.last_mut().filter(|turn| is_open || turn.answered.is_none())
                    && let Some(outcome) = gist(beginning(content), LONGEST_OUTCOME)
                {
                    (turn.answered, turn.unfinished, turn.order) = (Some(outcome), None, row.order());
                    answered = Some(content);
                }
            }
            _ => {}
        }
    }
    turns
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(READ_BYTES)]
}

/// Returns the terms that most texts of a session contain. Among equally frequent ones, names come first.
pub(super) fn topics(turns: &[TurnRecord]) -> Vec<String> {
    struct Seen {
        texts: usize,
        last: usize,
        is_name: bool,
    }
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let texts = turns.iter().rev().take(TOPIC_TURNS).flat_map(|turn| [Some(&turn.asked), turn.answered.as_ref()]);
    for (number, text) in texts.flatten().enumerate() {
        for ProseToken { text, is_name, .. } in tokens(text).into_iter().filter(ProseToken::is_term) {
            let seen = seen.entry(text).or_insert(Seen { texts: 0, last: usize::MAX, is_name });
            if seen.last != number {
                seen.last = number;
                seen.texts += 1;
            }
            seen.is_name |= is_name;
        }
    }
    let mut common: Vec<(String, Seen)> = seen.into_iter().filter(|(_, seen)| seen.texts >= TOPIC_TEXTS).collect();
    common.sort_by_cached_key(|(term, seen)| (Reverse((seen.texts, seen.is_name, term.chars().count())), term.clone()));
    common.into_iter().take(MOST_TOPICS).map(|(term, _)| clean_line(&term)).collect()
}
