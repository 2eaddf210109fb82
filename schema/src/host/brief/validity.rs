//! Decides which of the recorded prompts and answers still hold.

use super::knowledge::Knowledge;
use super::offers::{kept_sentences, without_offers};
use crate::host::classifier::{counts_steps, introduces_steps};
use crate::host::session_record::{SessionRecord, TurnRecord};
use crate::prose::one_off::without_one_offs;
use crate::prose::sentences::sentences;
use crate::prose::supersession::{Statement, StatementIndex, Strictness, without_replaced};
use crate::prose::tasks::names_everything_left;

/// How many turns of each session are searched for statements that replace others, the last ones.
const COMPARED_TURNS: usize = 40;

/// The longest prompt that orders one thing, in characters.
const LONGEST_ORDER: usize = 80;

/// Everything that was concluded or said, because later statements may replace earlier ones.
pub(super) struct Validity<'k> {
    pub(super) knowledge: &'k Knowledge,
    said: StatementIndex,
    /// The last turn of the newest session: nobody has replied to what it offers.
    last: Option<(i64, i64)>,
}

impl<'k> Validity<'k> {
    pub(super) fn new(knowledge: &'k Knowledge, records: &[SessionRecord]) -> Self {
        let turns = records.iter().flat_map(|record| record.turns.iter().rev().take(COMPARED_TURNS));
        let of_turn = |turn: &TurnRecord| -> Vec<((i64, i64), Statement)> {
            let answer = turn.answered.as_deref().map(sentences).unwrap_or_default();
            let texts = std::iter::once(turn.asked.as_str()).chain(answer);
            texts.map(|text| (turn.order, Statement::of(text))).collect()
        };
        let last = records.first().and_then(|record| record.turns.last()).map(|turn| turn.order);
        Self { knowledge, said: StatementIndex::new(turns.flat_map(of_turn)), last }
    }

    /// Returns the text without the parts that were replaced since this point of [`MemoryRow::order`](crate::store::MemoryRow::order).
    pub(super) fn still_valid(&self, text: &str, order: (i64, i64)) -> Option<String> {
        without_replaced(text, &[&self.knowledge.statements, &self.said], order, Strictness::Loose)
    }

    /// Returns the prompt of a turn, as far as it still holds and was not meant for once.
    pub(super) fn asked(&self, turn: &TurnRecord) -> Option<String> {
        let lasting = without_one_offs(self.knowledge.abandoned.valid_part(&turn.asked, turn.order)?);
        if lasting.is_empty() { None } else { self.still_valid(&lasting, turn.order) }
    }

    /// Returns the outcome of a session, as far as it still holds.
    pub(super) fn outcome(&self, record: &SessionRecord) -> Option<String> {
        let (text, order) = record.outcome.as_ref().filter(|(_, order)| !self.knowledge.abandoned.contains(*order))?;
        // If nothing of a short order holds, its answer does not either, in whatever words it is.
        let is_short = |turn: &&TurnRecord| (1..=LONGEST_ORDER).contains(&turn.asked.chars().count());
        let asked = record.turns.iter().find(|turn| turn.order == *order).filter(is_short);
        if asked.is_some_and(|turn| self.still_valid(&turn.asked, *order).is_none()) {
            return None;
        }
        let valid = self.answer(text, *order)?;
        self.without_answered_offers(valid, *order)
    }

    /// Returns an answer without what it offered, if somebody has replied to it.
    pub(super) fn without_answered_offers(&self, answer: String, order: (i64, i64)) -> Option<String> {
        if self.last == Some(order) { Some(answer) } else { without_offers(&answer) }
    }

    /// Returns an answer, as far as it still holds.
    pub(super) fn answer(&self, text: &str, order: (i64, i64)) -> Option<String> {
        self.still_valid(&self.knowledge.without_listed_tasks(text), order)
    }
}

/// Returns a report of an earlier turn without its open steps. Those that are still open are listed as tasks.
pub(super) fn without_open_steps(text: &str) -> Option<String> {
    let names_steps = |sentence: &str| {
        let lead = sentence.split_once(':').map_or("", |(lead, _)| lead.trim());
        introduces_steps(lead) || names_everything_left(sentence)
    };
    let mut is_counted = false;
    kept_sentences(text, |sentence| {
        if !sentence.contains(char::is_alphanumeric) {
            return true;
        }
        let is_below_count = std::mem::replace(&mut is_counted, counts_steps(sentence));
        !is_below_count && !is_counted && !names_steps(sentence)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::counted("환불을 넣었습니다. 할 일이 두 개 남았어요. 취소 화면, 알림 메일.", "환불을 넣었습니다.")]
    #[case::on_the_next_line("Refunds are in. Two things are left.\nThe screen and the mail.", "Refunds are in.")]
    #[case::none(
        "Refunds are in. Two tests were left out on purpose.",
        "Refunds are in. Two tests were left out on purpose."
    )]
    fn counted_steps_are_left_out(#[case] report: &str, #[case] rest: &str) {
        assert_eq!(without_open_steps(report).as_deref(), Some(rest));
    }
}
