//! The work of sessions: the last real one, earlier ones, and the current one.

use super::budget::{BriefSection, LONGEST_LINE};
use super::knowledge::Knowledge;
use super::offers::{asks_to_choose, begins_with_pick, is_idea, is_question, kept_sentences, without_offers};
use crate::host::classifier::{counts_steps, introduces_steps};
use crate::host::session_record::{SessionRecord, TurnRecord, listed};
use crate::model::moment::Moment;
use crate::prose::gist::shortened;
use crate::prose::one_off::without_one_offs;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::{is_idle, is_small_talk};
use crate::prose::supersession::{Statement, StatementIndex, Strictness, without_replaced};
use crate::prose::tasks::names_everything_left;
use crate::store::Rows;

/// How many sessions are searched for real ones.
const SEARCHED_SESSIONS: usize = 12;

/// How many sessions are shown: the last one, and the others in one line each.
const SHOWN_SESSIONS: usize = 3;

/// How many sessions before those are searched and shown if there is space.
const SEARCHED_OLDER: usize = 30;
const OLDER_SESSIONS: usize = 8;

/// The most files of one session, prompts after a compaction, and turns of all sessions.
const MOST_FILES: usize = 8;
const MOST_PROMPTS: usize = 6;
const MOST_TURNS: usize = 24;

/// How many turns of each session are searched for statements that replace others, the last ones.
const COMPARED_TURNS: usize = 40;

/// The longest prompt that orders one thing, in characters.
const LONGEST_ORDER: usize = 80;

/// The fewest words of a prompt that is shown without its answer.
const LEAST_WORDS: usize = 6;

/// The longest prompt in a title or a list, in characters.
const LONGEST_PROMPT: usize = 160;

/// The longest prompt that a line about a session shows whole, in characters.
const LONGEST_WHOLE_TITLE: usize = 100;

/// The last real session, earlier ones in one line each, and their turns if there is space.
pub(super) struct Sessions {
    pub(super) outlines: [BriefSection; 2],
    pub(super) turns: BriefSection,
}

pub(super) fn sessions(found: &[SessionRecord], knowledge: &Knowledge) -> Sessions {
    let validity = Validity::new(knowledge, found);
    let (last, earlier) = found.split_at(found.len().min(1));
    let last = last.iter().flat_map(|record| session_lines(record, &validity));
    let earlier = earlier.iter().filter_map(|record| in_one_line(record, &validity));
    Sessions {
        outlines: [BriefSection::new("Last session", 700, last), BriefSection::new("Before that", 400, earlier)],
        turns: BriefSection::filler(
            "Asked and answered in these sessions",
            turn_lines(found, &validity, Titles::Shown),
        ),
    }
}

/// Returns the sessions before the current one in one line each, and their turns, if there is space. Not every outcome is also a conclusion.
pub(super) fn earlier(found: &[SessionRecord], knowledge: &Knowledge) -> [BriefSection; 2] {
    let validity = Validity::new(knowledge, found);
    let lines = found.iter().filter_map(|record| in_one_line(record, &validity));
    [
        BriefSection::filler("Earlier sessions", lines),
        BriefSection::filler("Asked and answered in earlier sessions", turn_lines(found, &validity, Titles::Shown)),
    ]
}

/// Returns the sessions before the last ones and their turns. Their conclusions are not all of what mattered.
pub(super) fn older(
    rows: Rows<'_>,
    session_id: &str,
    newer: Vec<SessionRecord>,
    knowledge: &Knowledge,
) -> rusqlite::Result<[BriefSection; 2]> {
    let mut found = newer;
    let newer = found.len();
    for id in rows.last_sessions(session_id, SEARCHED_OLDER)? {
        if found.len() == newer + OLDER_SESSIONS {
            break;
        }
        if !found.iter().any(|record| record.id == id) {
            found.extend(real_session(rows, &id)?);
        }
    }
    let validity = Validity::new(knowledge, &found);
    let lines = found[newer..].iter().filter_map(|record| in_one_line(record, &validity));
    let turns = turn_lines(&found[newer..], &validity, Titles::Shown);
    Ok([
        BriefSection::filler("Older sessions", lines),
        BriefSection::filler("Asked and answered in older sessions", turns),
    ])
}

/// Returns the last of these sessions if it was cleared.
pub(super) fn cleared_session<'f>(
    rows: Rows<'_>,
    session_id: &str,
    found: &'f [SessionRecord],
) -> rusqlite::Result<Option<&'f SessionRecord>> {
    let last = rows.last_sessions(session_id, 1)?.pop();
    // After a session of small talk, the one before it may have been cleared, too. A host may report the end of a session late.
    let is_cleared = |record: &&SessionRecord| match record.metadata.end_reason.as_deref() {
        Some(reason) => reason == "clear",
        None => Some(&record.id) == last.as_ref(),
    };
    Ok(found.first().filter(is_cleared))
}

/// Returns outcomes and turns of the sessions before the one that was just cleared, if there is space.
pub(super) fn before_cleared(found: &[SessionRecord], is_cleared: bool, knowledge: &Knowledge) -> [BriefSection; 2] {
    let validity = Validity::new(knowledge, found);
    let outcome = |record: &SessionRecord| {
        let outcome = validity.outcome(record).and_then(|outcome| without_open_steps(&outcome))?;
        Some(format!("- {}: {}", record.started.date(), shortened(&outcome, LONGEST_LINE + 60)))
    };
    let earlier = &found[usize::from(is_cleared)..];
    [
        BriefSection::filler("Outcomes of earlier sessions", earlier.iter().filter_map(outcome)),
        BriefSection::filler("Asked and answered in earlier sessions", turn_lines(earlier, &validity, Titles::Hidden)),
    ]
}

/// Returns the last real sessions before the current one, newest first.
pub(super) fn real_sessions(rows: Rows<'_>, session_id: &str) -> rusqlite::Result<Vec<SessionRecord>> {
    let mut found = Vec::new();
    for id in rows.last_sessions(session_id, SEARCHED_SESSIONS)? {
        found.extend(real_session(rows, &id)?);
        if found.len() == SHOWN_SESSIONS {
            break;
        }
    }
    Ok(found)
}

/// Returns a session in which something was asked or done.
fn real_session(rows: Rows<'_>, id: &str) -> rusqlite::Result<Option<SessionRecord>> {
    // A session of another member may have left only an entry in `MEMORY.md`.
    let has_work = |record: &SessionRecord| !record.turns.is_empty() || !record.files.is_empty();
    Ok(SessionRecord::compose(rows, id)?.filter(|record| record.is_real() && has_work(record)))
}

/// Returns when the `count`th of these sessions began, newest first. One that only recalls or plans does not count.
pub(super) fn start_of_last(count: usize, found: &[SessionRecord]) -> Option<Moment> {
    found.iter().filter(|record| title_of(record).is_some()).nth(count - 1).map(|record| record.started)
}

/// Returns what the resumed session did so far, in a few lines, and what fails in it.
pub(super) fn resumed(rows: Rows<'_>, session_id: &str, knowledge: &Knowledge) -> rusqlite::Result<Vec<BriefSection>> {
    let Some(record) = SessionRecord::compose(rows, session_id)?.filter(SessionRecord::is_real) else {
        return Ok(Vec::new());
    };
    let mut lines = session_lines(&record, &Validity::new(knowledge, std::slice::from_ref(&record)));
    // Without an answer, it may be the work at hand. The first prompt is the title.
    if let Some(turn) = record.turns.last().filter(|turn| record.turns.len() > 1 && turn.answered.is_none()) {
        lines.insert(1, format!("Asked last: \"{}\"", shortened(&turn.asked, LONGEST_PROMPT)));
    }
    if !record.open_steps.is_empty() {
        let open = format!("Open: {}", shortened(&listed(&record.open_steps, 5, "; "), LONGEST_LINE));
        lines.insert(lines.len().min(2), open);
    }
    Ok(vec![BriefSection::new("This session so far", 700, lines), failing(&record, knowledge)])
}

fn failing(record: &SessionRecord, knowledge: &Knowledge) -> BriefSection {
    BriefSection::new("Failing in this session", 300, knowledge.failures_of(&record.id, record.started))
}

/// Returns what failed in the last session and is still open. Older failures are mostly over, although nobody ran their command again.
pub(super) fn failing_in_last(found: &[SessionRecord], knowledge: &Knowledge) -> BriefSection {
    BriefSection::new("Failing", 250, knowledge.failures_since(start_of_last(1, found)))
}

/// Returns what the current session asked, decided, changed and broke, after a compaction removed it from the context.
pub(super) fn this_session(
    rows: Rows<'_>,
    session_id: &str,
    knowledge: &Knowledge,
) -> rusqlite::Result<Vec<BriefSection>> {
    let Some(record) = SessionRecord::compose(rows, session_id)? else { return Ok(Vec::new()) };
    let validity = Validity::new(knowledge, std::slice::from_ref(&record));
    // The last prompt is the work at hand, whatever it says.
    let is_last = |number: usize| number + 1 == record.turns.len();
    let asked = record.turns.iter().enumerate().filter_map(|(number, turn)| match is_last(number) {
        true => Some(turn.asked.clone()),
        false => validity.asked(turn),
    });
    let asked: Vec<String> = asked.map(|asked| format!("- {}", shortened(&asked, LONGEST_PROMPT))).collect();
    let asked = asked[asked.len().saturating_sub(MOST_PROMPTS)..].iter().cloned();
    let mut changed = Vec::new();
    if !record.files.is_empty() {
        changed.push(format!("- files: {}", shortened(&listed(&record.files, MOST_FILES, ", "), LONGEST_LINE)));
    }
    if !record.commands.is_empty() {
        changed.push(format!("- ran: {}", shortened(&listed(&record.commands, 6, "; "), LONGEST_LINE)));
    }
    let answers = record.turns.iter().rev().filter_map(|turn| {
        let answer = validity.answer(turn.answered.as_deref()?, turn.order)?;
        validity.without_answered_offers(answer, turn.order)
    });
    Ok(vec![
        BriefSection::new("Asked in this session", 500, asked),
        BriefSection::new("Decided and learned in this session", 600, knowledge.concluded_in(session_id)),
        BriefSection::new("Changed in this session", 300, changed),
        failing(&record, knowledge),
        BriefSection::new("Answered in this session", 300, answers.take(MOST_PROMPTS).map(|text| format!("- {text}"))),
    ])
}

/// Describes one session, the most important line first.
fn session_lines(record: &SessionRecord, validity: &Validity<'_>) -> Vec<String> {
    let time = record.started.time();
    let mut first = format!("{} {}", record.started.date(), &time[..5]);
    if let Some(branch) = &record.metadata.branch {
        first.push_str(&format!(", branch {}", shortened(branch, 40)));
    }
    if let Some(title) = title_of(record) {
        first.push_str(&format!(": \"{}\"", shortened(&title, LONGEST_PROMPT)));
    }
    let mut lines = vec![first];
    lines.extend(validity.outcome(record).map(|text| format!("Outcome: {text}")));
    if !record.files.is_empty() {
        lines.push(format!("Changed: {}", shortened(&listed(&record.files, MOST_FILES, ", "), LONGEST_LINE)));
    }
    lines
}

/// Returns a report of an earlier turn without its open steps. Those that are still open are listed as tasks.
fn without_open_steps(text: &str) -> Option<String> {
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

/// Describes an earlier session in one line, or not at all if everything in it was replaced.
fn in_one_line(record: &SessionRecord, validity: &Validity<'_>) -> Option<String> {
    let asked = record.turns.first().map_or((record.started.unix(), 0), |turn| turn.order);
    let valid = |title: String| {
        let lasting = without_one_offs(validity.valid_part(&title, asked)?);
        validity.still_valid(&lasting, asked)
    };
    let title = title_of(record).map(valid);
    // The rest of a title without its beginning says nothing.
    let title = title.map(|title| title.filter(|title| !title.starts_with('…')));
    let outcome = validity.outcome(record).and_then(|outcome| without_open_steps(&outcome));
    let line = match (title, outcome) {
        (Some(Some(title)), Some(outcome)) => format!("\"{}\": {outcome}", shortened(&title, LONGEST_WHOLE_TITLE)),
        (Some(Some(title)), None) => format!("\"{}\"", shortened(&title, LONGEST_PROMPT)),
        (_, Some(outcome)) => outcome,
        (Some(None), None) => return None,
        (None, None) if record.files.is_empty() => return None,
        (None, None) => listed(&record.files, 4, ", "),
    };
    Some(format!("- {}: {}", record.started.date(), shortened(&line, LONGEST_LINE + 60)))
}

/// Whether another section shows the titles of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Titles {
    Shown,
    Hidden,
}

/// Returns the turns of sessions, newest first, and the reports of their subagents. Outcomes are shown already.
fn turn_lines(records: &[SessionRecord], validity: &Validity<'_>, titles: Titles) -> Vec<String> {
    let of_session = |record: &SessionRecord| -> Vec<String> {
        let date = record.started.date();
        let turns = record.turns.iter().enumerate().rev().filter_map(|(number, turn)| {
            // An idea that was carried out is work.
            if !turn.has_changes && (is_idea(&turn.asked) || asks_to_choose(&turn.asked)) {
                return None;
            }
            let is_outcome = record.outcome.as_ref().is_some_and(|(_, order)| *order == turn.order);
            let whole = validity.asked(turn)?;
            let asked = without_picks(&whole);
            let is_title = number == 0 && titles == Titles::Shown && whole.chars().count() <= LONGEST_WHOLE_TITLE;
            if is_title && is_outcome {
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
            let is_whole = asked == whole.trim() && !validity.knowledge.is_abandoned(turn.order);
            let answer = answer.filter(|_| !is_outcome && is_whole);
            if answer.is_none() && (says_little(&asked) || is_question(&asked)) {
                return None;
            }
            let asked = format!("- {date}: \"{}\"", shortened(&asked, LONGEST_LINE));
            Some(answer.map_or(asked.clone(), |answer| format!("{asked}: {}", shortened(&answer, LONGEST_LINE))))
        });
        let reports = record.reports.iter().rev().filter_map(|(report, order)| {
            Some(format!("- {date}, report: {}", shortened(&validity.still_valid(report, *order)?, LONGEST_LINE)))
        });
        turns.chain(reports).take(MOST_TURNS).collect()
    };
    records.iter().flat_map(of_session).take(MOST_TURNS).collect()
}

/// Returns the sentences of a prompt after those that pick a numbered option, whose decision is shown: "1. Eleven dollars is nothing".
fn without_picks(asked: &str) -> String {
    let all = sentences(asked);
    all.into_iter().skip_while(|sentence| begins_with_pick(sentence.trim())).collect::<String>().trim().to_owned()
}

/// Returns a title, unless it only recalls or plans.
fn title_of(record: &SessionRecord) -> Option<String> {
    let title = record.title.as_deref().filter(|title| !is_idle(&title.to_lowercase()))?;
    Some(without_one_offs(title)).filter(|title| !title.is_empty())
}

/// Whether a prompt says little without its answer, such as "push it", "wait, build it first" and "try the small one first".
fn says_little(asked: &str) -> bool {
    let folded = asked.to_lowercase();
    let interrupts =
        ["wait", "stop", "hold on", "try ", "잠깐", "아 잠깐", "멈춰"].iter().any(|word| folded.starts_with(word));
    interrupts || asked.split_whitespace().count() < LEAST_WORDS
}

/// Everything that was concluded or said, because later statements may replace earlier ones.
pub(super) struct Validity<'k> {
    knowledge: &'k Knowledge,
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

    /// Returns a prompt. If its turn no longer holds, returns only the part that still does.
    fn valid_part<'t>(&'t self, asked: &'t str, order: (i64, i64)) -> Option<&'t str> {
        if self.knowledge.is_abandoned(order) { self.knowledge.kept_of_abandoned(order) } else { Some(asked) }
    }

    /// Returns the prompt of a turn, as far as it still holds and was not meant for once.
    fn asked(&self, turn: &TurnRecord) -> Option<String> {
        let lasting = without_one_offs(self.valid_part(&turn.asked, turn.order)?);
        if lasting.is_empty() { None } else { self.still_valid(&lasting, turn.order) }
    }

    /// Returns the outcome of a session, as far as it still holds.
    fn outcome(&self, record: &SessionRecord) -> Option<String> {
        let (text, order) = record.outcome.as_ref().filter(|(_, order)| !self.knowledge.is_abandoned(*order))?;
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
    fn without_answered_offers(&self, answer: String, order: (i64, i64)) -> Option<String> {
        if self.last == Some(order) { Some(answer) } else { without_offers(&answer) }
    }

    /// Returns an answer, as far as it still holds.
    fn answer(&self, text: &str, order: (i64, i64)) -> Option<String> {
        self.still_valid(&self.knowledge.without_listed_tasks(text), order)
    }
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
