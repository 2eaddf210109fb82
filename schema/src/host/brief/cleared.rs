//! What remains of a session that was cleared: what it waits for, what comes next, and what its user probably decided. Its title, prompts,
//! answers and errors are left out, because its user wanted to be rid of them.

use std::collections::HashSet;

use super::budget::{BriefSection, LONGEST_LINE};
use super::knowledge::Knowledge;
use super::offers::is_question;
use super::work::{Titles, Validity, turn_lines, without_open_steps};
use crate::host::classifier::Speaker;
use crate::host::conclusions::uncertain_conclusions;
use crate::host::session_record::SessionRecord;
use crate::model::memory::MemoryType;
use crate::prose::gist::shortened;
use crate::prose::one_off::says_once_explicitly;
use crate::prose::pending::names_pending;
use crate::prose::sentences::sentences;
use crate::prose::tasks::finished;
use crate::store::{MemoryFilter, MemoryRow, Rows};

/// How many prompts and answers of the session are read, the last ones, and how many of those are searched for what is pending.
const READ_TEXTS: usize = 24;
const PENDING_TEXTS: usize = 4;

/// The most lines.
const MOST_LINES: usize = 8;

/// Returns what remains of the session that was just cleared, and outcomes and turns of the sessions before it, if there is space.
pub(super) fn sections(
    rows: Rows<'_>,
    session_id: &str,
    found: &[SessionRecord],
    knowledge: &Knowledge,
) -> rusqlite::Result<[BriefSection; 3]> {
    let last = rows.last_sessions(session_id, 1)?.pop();
    let is_cleared = |record: &&SessionRecord| {
        let reason = record.place.end_reason.as_deref();
        Some(&record.id) == last.as_ref() && reason.is_none_or(|reason| reason == "clear")
    };
    let cleared = found.first().filter(is_cleared);
    let validity = Validity::new(knowledge, found);
    let outcome = |record: &SessionRecord| {
        let outcome = validity.outcome(record).and_then(|outcome| without_open_steps(&outcome))?;
        Some(format!("- {}: {}", record.started.date(), shortened(&outcome, LONGEST_LINE + 60)))
    };
    let earlier = &found[usize::from(cleared.is_some())..];
    let remaining = match cleared {
        Some(record) => remaining(rows, &record.id, knowledge, &validity)?,
        None => Vec::new(),
    };
    Ok([
        BriefSection::new("Left by the cleared session", 500, remaining),
        BriefSection::filler("Outcomes of earlier sessions", earlier.iter().filter_map(outcome)),
        BriefSection::filler("Asked and answered in earlier sessions", turn_lines(earlier, &validity, Titles::Hidden)),
    ])
}

/// Returns the sentences of a session that name something pending or are probably conclusions, in their order, unless they are shown as
/// conclusions, were replaced, or are done.
fn remaining(
    rows: Rows<'_>,
    session_id: &str,
    knowledge: &Knowledge,
    validity: &Validity<'_>,
) -> rusqlite::Result<Vec<String>> {
    let texts = texts(rows, session_id)?;
    let mut seen = HashSet::new();
    let mut lines: Vec<String> = Vec::new();
    for (at, row) in texts.iter().enumerate() {
        let is_recent = texts.len() - at <= PENDING_TEXTS;
        let later = &texts[at + 1..];
        for sentence in remaining_sentences(row, at == 0, is_recent) {
            let is_shown = knowledge.contains(&sentence);
            let is_done = later.iter().any(|row| !finished(&row.memory.content, &[&sentence]).is_empty());
            if is_shown || is_done || !seen.insert(sentence.clone()) {
                continue;
            }
            lines.extend(validity.still_valid(&sentence, row.order()));
        }
    }
    let lines = lines.split_off(lines.len().saturating_sub(MOST_LINES));
    Ok(lines.into_iter().map(|line| format!("- {}", shortened(&line, LONGEST_LINE))).collect())
}

/// Returns the last prompts and answers of a session, the first one first.
fn texts(rows: Rows<'_>, session_id: &str) -> rusqlite::Result<Vec<MemoryRow>> {
    let of_kind =
        |kind| MemoryFilter { kind: Some(kind), session_id: Some(session_id.to_owned()), ..MemoryFilter::default() };
    let mut texts = rows.list(&of_kind(MemoryType::UserPrompt), READ_TEXTS)?;
    texts.extend(rows.list(&of_kind(MemoryType::AssistantResponse), READ_TEXTS)?);
    texts.sort_by_key(MemoryRow::order);
    Ok(texts)
}

/// Returns the sentences of a prompt or an answer that may remain, in their order.
fn remaining_sentences(row: &MemoryRow, is_first: bool, is_recent: bool) -> Vec<String> {
    let text = &row.memory.content;
    let is_prompt = row.memory.kind == MemoryType::UserPrompt;
    // The first prompt is the title.
    if is_first && is_prompt {
        return Vec::new();
    }
    let speaker = if is_prompt { Speaker::Person } else { Speaker::Agent };
    let decides = |kind| matches!(kind, MemoryType::Decision | MemoryType::Convention | MemoryType::Preference);
    let may_remain = |kind| if is_prompt { decides(kind) } else { is_recent || kind != MemoryType::Task };
    let mut found: Vec<(usize, String)> = uncertain_conclusions(text, speaker)
        .into_iter()
        .filter(|found| may_remain(found.kind) && (is_recent || !names_pending(&found.text)))
        .map(|found| (found.range.start, found.text))
        .collect();
    let mut start = 0;
    for sentence in sentences(text).into_iter().filter(|_| is_recent) {
        let is_in =
            |other: &(usize, String)| (other.0..other.0 + other.1.len()).contains(&(start + sentence.len() - 1));
        if names_pending(sentence) && !found.iter().any(is_in) {
            found.push((start, sentence.trim().to_owned()));
        }
        start += sentence.len();
    }
    found.sort_by_key(|(start, _)| *start);
    let is_kept = |sentence: &String| {
        !is_question(sentence) && !sentence.ends_with(':') && !says_once_explicitly(&sentence.to_lowercase())
    };
    found.into_iter().map(|(_, sentence)| sentence).filter(is_kept).collect()
}
