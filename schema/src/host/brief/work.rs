//! The work of sessions: the last real one, earlier ones, and the current one.

use super::budget::{BriefSection, LONGEST_LINE};
use super::knowledge::Knowledge;
use super::turns::{LONGEST_WHOLE_TITLE, MOST_TURNS, Titles, turn_lines};
use super::validity::{Validity, without_open_steps};
use crate::host::hook::SessionSource;
use crate::host::session_record::{SessionRecord, listed};
use crate::model::moment::Moment;
use crate::prose::gist::shortened;
use crate::prose::one_off::without_one_offs;
use crate::prose::small_talk::is_idle;
use crate::store::Rows;

/// How many sessions are searched for real ones.
const SEARCHED_SESSIONS: usize = 12;

/// How many sessions are shown: the last one, and the others in one line each.
const SHOWN_SESSIONS: usize = 3;

/// How many sessions before those are searched and shown if there is space.
const SEARCHED_OLDER: usize = 30;
const OLDER_SESSIONS: usize = 8;

/// The most files of one session, and prompts after a compaction.
const MOST_FILES: usize = 8;
const MOST_PROMPTS: usize = 6;

/// The longest prompt in a title or a list, in characters.
const LONGEST_PROMPT: usize = 160;

/// Returns the last real session, and earlier ones in one line each.
pub(super) fn last_and_earlier(found: &[SessionRecord], validity: &Validity<'_>) -> [BriefSection; 2] {
    let (last, earlier) = found.split_at(found.len().min(1));
    let last = last.iter().flat_map(|record| session_lines(record, validity));
    let earlier = earlier.iter().filter_map(|record| in_one_line(record, validity));
    [BriefSection::new("Last session", 700, last), BriefSection::new("Before that", 400, earlier)]
}

/// Returns the sections that get what the others leave: earlier sessions, and at most `most` turns of these sessions. The first one may have
/// been cleared.
pub(super) fn fillers(
    source: SessionSource,
    found: &[SessionRecord],
    is_cleared: bool,
    validity: &Validity<'_>,
    most: usize,
) -> Vec<BriefSection> {
    let turns = |heading, found, titles| BriefSection::filler(heading, turn_lines(found, validity, titles).take(most));
    match source {
        // Not every outcome is also a conclusion.
        SessionSource::Compact => vec![
            BriefSection::filler("Earlier sessions", found.iter().filter_map(|record| in_one_line(record, validity))),
            turns("Asked and answered in earlier sessions", found, Titles::Shown),
        ],
        SessionSource::Clear => {
            // A person who clears a session wants no turn of it.
            let earlier = &found[usize::from(is_cleared)..];
            let outcomes = earlier.iter().filter_map(|record| outcome_line(record, validity));
            vec![
                BriefSection::filler("Outcomes of earlier sessions", outcomes),
                turns("Asked and answered in earlier sessions", earlier, Titles::Hidden),
            ]
        }
        SessionSource::Resume | SessionSource::Startup | SessionSource::Fork => {
            vec![turns("Asked and answered in these sessions", found, Titles::Shown)]
        }
    }
}

/// Returns the outcome of a session without its open steps.
fn outcome_line(record: &SessionRecord, validity: &Validity<'_>) -> Option<String> {
    let outcome = validity.outcome(record).and_then(|outcome| without_open_steps(&outcome))?;
    Some(format!("- {}: {}", record.started.date(), shortened(&outcome, LONGEST_LINE + 60)))
}

/// Returns the sessions before the `found` ones and their turns. Their conclusions are not all of what mattered.
pub(super) fn older(
    rows: Rows<'_>,
    session_id: &str,
    mut found: Vec<SessionRecord>,
    knowledge: &Knowledge,
) -> rusqlite::Result<[BriefSection; 2]> {
    let newer = found.len();
    add_real_sessions(rows, session_id, &mut found, SEARCHED_OLDER, OLDER_SESSIONS)?;
    let validity = Validity::new(knowledge, &found);
    let lines = found[newer..].iter().filter_map(|record| in_one_line(record, &validity));
    let turns = turn_lines(&found[newer..], &validity, Titles::Shown).take(MOST_TURNS);
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

/// Returns the last real sessions before the current one, newest first.
pub(super) fn real_sessions(rows: Rows<'_>, session_id: &str) -> rusqlite::Result<Vec<SessionRecord>> {
    let mut found = Vec::new();
    add_real_sessions(rows, session_id, &mut found, SEARCHED_SESSIONS, SHOWN_SESSIONS)?;
    Ok(found)
}

/// Adds at most `most` of the last `searched` sessions before the current one: those in which something was asked or done.
fn add_real_sessions(
    rows: Rows<'_>,
    session_id: &str,
    found: &mut Vec<SessionRecord>,
    searched: usize,
    most: usize,
) -> rusqlite::Result<()> {
    // A session of another member may have left only an entry in `MEMORY.md`.
    let has_work = |record: &SessionRecord| !record.turns.is_empty() || !record.files.is_empty();
    let most = found.len() + most;
    for id in rows.last_sessions(session_id, searched)? {
        if found.len() == most {
            break;
        }
        if !found.iter().any(|record| record.id == id) {
            found.extend(SessionRecord::compose(rows, &id)?.filter(|record| record.is_real() && has_work(record)));
        }
    }
    Ok(())
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
    let (before, last) = record.turns.split_at(record.turns.len().saturating_sub(1));
    let asked = before.iter().filter_map(|turn| validity.asked(turn)).chain(last.iter().map(|turn| turn.asked.clone()));
    let asked: Vec<String> = asked.map(|asked| format!("- {}", shortened(&asked, LONGEST_PROMPT))).collect();
    let skipped = asked.len().saturating_sub(MOST_PROMPTS);
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
        BriefSection::new("Asked in this session", 500, asked.into_iter().skip(skipped)),
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
    let unfinished = record.unfinished().and_then(|(text, order)| validity.answer(text, order));
    lines.extend(unfinished.map(|text| format!("Unfinished: {text}")));
    if !record.files.is_empty() {
        lines.push(format!("Changed: {}", shortened(&listed(&record.files, MOST_FILES, ", "), LONGEST_LINE)));
    }
    lines
}

/// Describes an earlier session in one line, or not at all if everything in it was replaced.
fn in_one_line(record: &SessionRecord, validity: &Validity<'_>) -> Option<String> {
    let asked = record.turns.first().map_or((record.started.unix(), 0), |turn| turn.order);
    let valid = |title: String| {
        let lasting = without_one_offs(validity.knowledge.abandoned.valid_part(&title, asked)?);
        validity.still_valid(&lasting, asked)
    };
    let title = title_of(record);
    let has_title = title.is_some();
    // The rest of a title without its beginning says nothing.
    let title = title.and_then(valid).filter(|title| !title.starts_with('…'));
    let outcome = validity.outcome(record).and_then(|outcome| without_open_steps(&outcome));
    let line = match (title, outcome) {
        (Some(title), Some(outcome)) => format!("\"{}\": {outcome}", shortened(&title, LONGEST_WHOLE_TITLE)),
        (Some(title), None) => format!("\"{}\"", shortened(&title, LONGEST_PROMPT)),
        (None, Some(outcome)) => outcome,
        (None, None) if has_title || record.files.is_empty() => return None,
        (None, None) => listed(&record.files, 4, ", "),
    };
    Some(format!("- {}: {}", record.started.date(), shortened(&line, LONGEST_LINE + 60)))
}

/// Returns a title, unless it only recalls or plans.
fn title_of(record: &SessionRecord) -> Option<String> {
    let title = record.title.as_deref().filter(|title| !is_idle(&title.to_lowercase()))?;
    Some(without_one_offs(title)).filter(|title| !title.is_empty())
}
