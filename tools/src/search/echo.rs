//! The echo of a question: what the asking session has just said.

use std::collections::{HashMap, HashSet};

use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::store::{MemoryFilter, MemoryRow, Store};

use crate::error::ToolError;
use crate::text::fold::fold;

/// How long a prompt that repeats the question counts as its echo, in seconds. A host whose session is unknown, or changed
/// by `/clear`, searches within that time.
const JUST_NOW: i64 = 120;

/// Similarity from which two texts are nearly the same.
const NEARLY_SAME: f32 = 0.8;

/// Prompts of one turn: what a person adds while the agent works.
const MAX_PROMPTS: usize = 50;

/// Recognises the echo of a question.
#[derive(Debug, Clone)]
pub(super) struct EchoFilter {
    /// The prompts of the current turn.
    prompts: HashSet<MemoryId>,
    asked: AskedText,
    just_now: i64,
}

/// The phrasings of a question, to compare texts with.
#[derive(Debug, Clone)]
pub(super) struct AskedText(Vec<LetterPairs>);

impl AskedText {
    pub(super) fn of<'q>(phrasings: impl Iterator<Item = &'q str>) -> Self {
        Self(phrasings.map(LetterPairs::of).collect())
    }

    /// Whether a text is nearly the question.
    pub(super) fn is_repeated_by(&self, text: &str) -> bool {
        let pairs = LetterPairs::of(text);
        self.0.iter().any(|phrasing| phrasing.similarity(&pairs) >= NEARLY_SAME)
    }
}

impl EchoFilter {
    pub(super) fn new(store: &Store, session_id: &str, asked: AskedText, now: &Moment) -> Result<Self, ToolError> {
        let prompts = if session_id.is_empty() { HashSet::new() } else { prompts_of_turn(store, session_id)? };
        Ok(Self { prompts, asked, just_now: now.unix() - JUST_NOW })
    }

    /// Whether a memory is a prompt of the current turn, or a conclusion from one.
    pub(super) fn is_echo(&self, row: &MemoryRow) -> bool {
        let source = row.memory.attributes.source.as_ref();
        let is_said = row.memory.kind == MemoryType::UserPrompt || row.memory.attributes.auto;
        self.prompts.contains(&row.memory.id)
            || source.is_some_and(|source| self.prompts.contains(source))
            || is_said && row.memory.at.unix() >= self.just_now && self.asked.is_repeated_by(&row.memory.content)
    }
}

/// The prompts since the last answer of a session.
fn prompts_of_turn(store: &Store, session_id: &str) -> Result<HashSet<MemoryId>, ToolError> {
    let newest = |kind, limit| {
        let session_id = Some(session_id.to_owned());
        store.rows().list(&MemoryFilter { kind: Some(kind), session_id, ..MemoryFilter::default() }, limit)
    };
    let answer = newest(MemoryType::AssistantResponse, 1)?.first().map(MemoryRow::order);
    let prompts = newest(MemoryType::UserPrompt, MAX_PROMPTS)?.into_iter();
    let prompts = prompts.filter(|row| answer.is_none_or(|answer| row.order() > answer));
    Ok(prompts.map(|row| row.memory.id).collect())
}

/// The pairs of neighbouring letters of a text, with their counts.
#[derive(Debug, Clone)]
struct LetterPairs {
    counts: HashMap<(char, char), usize>,
    total: usize,
}

impl LetterPairs {
    fn of(text: &str) -> Self {
        let letters: Vec<char> = fold(text).chars().filter(|c| c.is_alphanumeric()).collect();
        let mut counts = HashMap::new();
        // A single letter is a pair with nothing.
        let padded: Vec<char> = std::iter::once(' ').chain(letters).collect();
        padded.windows(2).for_each(|pair| *counts.entry((pair[0], pair[1])).or_default() += 1);
        Self { counts, total: padded.len() - 1 }
    }

    /// Dice coefficient, from 0 to 1.
    fn similarity(&self, other: &Self) -> f32 {
        let common: usize =
            self.counts.iter().map(|(pair, count)| other.counts.get(pair).map_or(0, |other| *count.min(other))).sum();
        2.0 * common as f32 / (self.total + other.total).max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Where are sessions stored?", "where are sessions stored", true)]
    #[case("파티션 키 뭘로 하기로 했죠?", "파티션 키를 뭘로 하기로 했죠", true)]
    #[case("Where are sessions stored?", "Sessions are stored in Postgres.", false)]
    #[case("", "", false)]
    fn nearly_the_same_texts_are_recognised(#[case] a: &str, #[case] b: &str, #[case] expected: bool) {
        assert_eq!(LetterPairs::of(a).similarity(&LetterPairs::of(b)) >= NEARLY_SAME, expected);
    }
}
