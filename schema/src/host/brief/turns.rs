//! The turns of sessions: what was asked, and what was answered.

use super::budget::LONGEST_LINE;
use super::offers::{asks_to_choose, begins_with_pick, is_idea, is_question};
use super::validity::{Validity, without_open_steps};
use crate::host::session_record::{SessionRecord, TurnRecord};
use crate::prose::gist::shortened;
use crate::prose::one_off::without_one_offs;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::{is_idle, is_small_talk};

/// The most turns that are composed for a brief, with space for them and without: even then, space for a few short ones may be left.
pub(super) const MOST_TURNS: usize = 24;
pub(super) const FEW_TURNS: usize = 8;

/// The fewest words of a prompt that is shown without its answer.
const LEAST_WORDS: usize = 6;

/// The longest prompt that a line about a session shows whole, in characters.
pub(super) const LONGEST_WHOLE_TITLE: usize = 100;

/// Whether another section shows the titles of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Titles {
    Shown,
    Hidden,
}

/// Returns one line for each turn of sessions, newest first, and for each report of their subagents.
pub(super) fn turn_lines(
    records: &[SessionRecord],
    validity: &Validity<'_>,
    titles: Titles,
) -> impl Iterator<Item = String> {
    records.iter().flat_map(move |record| {
        let date = record.started.date();
        let turns = record.turns.iter().enumerate().rev();
        let turns = turns.filter_map(move |(number, turn)| {
            let may_be_title = number == 0 && titles == Titles::Shown;
            Some(format!("- {date}: {}", line_of_turn(record, turn, may_be_title, validity)?))
        });
        let reports = record.reports.iter().rev().filter_map(move |(report, order)| {
            Some(format!("- {date}, report: {}", shortened(&validity.still_valid(report, *order)?, LONGEST_LINE)))
        });
        turns.chain(reports)
    })
}

/// Returns the prompt of a turn and its answer, as far as they still hold and no other section shows them. `may_be_title` is whether the
/// prompt is shown as a title if it is short.
fn line_of_turn(
    record: &SessionRecord,
    turn: &TurnRecord,
    may_be_title: bool,
    validity: &Validity<'_>,
) -> Option<String> {
    // An idea that was carried out is work.
    if !turn.has_changes && (is_idea(&turn.asked) || asks_to_choose(&turn.asked)) {
        return None;
    }
    let is_outcome = record.outcome.as_ref().is_some_and(|(_, order)| *order == turn.order);
    let whole = validity.asked(turn)?;
    let asked = without_picks(&whole);
    if may_be_title && is_outcome && whole.chars().count() <= LONGEST_WHOLE_TITLE {
        return None;
    }
    // The conclusions of a prompt are shown above.
    let folded = asked.to_lowercase();
    if is_small_talk(&folded) || is_idle(&folded) || validity.knowledge.contains(&asked) {
        return None;
    }
    // Lists of steps first, because a list loses its lead if the sentence with it was replaced.
    let answer = turn.answered.as_deref().map(|answer| validity.knowledge.without_listed_tasks(answer));
    let answer = answer.and_then(|answer| without_open_steps(&answer));
    let answer = answer.and_then(|answer| validity.still_valid(&answer, turn.order));
    // If nothing of the answer holds, the prompt does not either, unless only a part of it was for once.
    let is_for_once = without_one_offs(&turn.asked) != turn.asked.trim();
    if answer.is_none() && turn.answered.is_some() && !is_for_once {
        return None;
    }
    let answer = answer.and_then(|answer| validity.without_answered_offers(answer, turn.order));
    // The answer to a pick is about what was picked.
    let is_whole = asked == whole.trim() && !validity.knowledge.abandoned.contains(turn.order);
    let answer = answer.filter(|_| !is_outcome && is_whole);
    if answer.is_none() && (says_little(&asked) || is_question(&asked)) {
        return None;
    }
    let asked = format!("\"{}\"", shortened(&asked, LONGEST_LINE));
    Some(answer.map_or(asked.clone(), |answer| format!("{asked}: {}", shortened(&answer, LONGEST_LINE))))
}

/// Returns the sentences of a prompt after those that pick a numbered option, whose decision is shown: "1. Eleven dollars is nothing".
fn without_picks(asked: &str) -> String {
    let all = sentences(asked);
    all.into_iter().skip_while(|sentence| begins_with_pick(sentence.trim())).collect::<String>().trim().to_owned()
}

/// Whether a prompt says little without its answer, such as "push it", "wait, build it first" and "try the small one first".
fn says_little(asked: &str) -> bool {
    let folded = asked.to_lowercase();
    let interrupts =
        ["wait", "stop", "hold on", "try ", "잠깐", "아 잠깐", "멈춰"].iter().any(|word| folded.starts_with(word));
    interrupts || asked.split_whitespace().count() < LEAST_WORDS
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::with_a_rule("2번은 지금 해줘. 커밋은 항상 [enc]로 시작하게", "커밋은 항상 [enc]로 시작하게")]
    #[case::twice("1번이 제일 단순하네요. 1번으로 진행해 주세요. 두 장은 안 됩니다.", "두 장은 안 됩니다.")]
    #[case::with_its_reason("1. Eleven dollars is nothing", "")]
    #[case::of_plans("2안으로 가시죠.", "")]
    #[case::version("3.2 is out, update the lock file", "3.2 is out, update the lock file")]
    #[case::plain("use the second one", "use the second one")]
    fn picks_at_the_beginning_are_left_out(#[case] prompt: &str, #[case] rest: &str) {
        assert_eq!(without_picks(prompt), rest);
    }
}
