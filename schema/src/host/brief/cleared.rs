//! Single sentences of a session that was cleared: what it waits for, what comes next, and what was probably concluded. Its title, its turns
//! and its errors are left out, because its user wanted to be rid of them.

use super::budget::{BriefSection, LONGEST_LINE};
use super::validity::Validity;
use crate::host::classifier::{Conclusion, Speaker, takes_back};
use crate::host::conclusions::{pending_sentences, possible_conclusions};
use crate::host::session_record::SessionRecord;
use crate::model::memory::MemoryType;
use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::pending::names_pending;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::is_small_talk;
use crate::prose::tasks::finished;
use crate::prose::terms::terms;
use crate::store::{MemoryFilter, MemoryRow, Rows};

/// How many of the last prompts, and as many answers, are read, and how much of each, in bytes.
const READ_TEXTS: usize = 24;
const READ_BYTES: usize = 4 * 1024;

/// How many of the last prompts and answers are searched for what is pending: two turns. Before that, most of it was settled.
const PENDING_TEXTS: usize = 4;

/// The most lines in the section.
const MOST_LINES: usize = 8;

/// A sentence, and the order of its turn.
struct Remaining {
    text: String,
    is_pending: bool,
    order: (i64, i64),
}

/// Returns the sentences of a cleared session that name something pending or are probably conclusions, in their order, unless another section
/// shows them, a later text replaces them, or what they wait for is done.
pub(super) fn section(
    rows: Rows<'_>,
    cleared: &SessionRecord,
    validity: &Validity<'_>,
) -> rusqlite::Result<BriefSection> {
    let texts = texts(rows, &cleared.id)?;
    let title = title(&texts);
    // Without changes, answers only explain.
    let has_changes = !cleared.files.is_empty() || !cleared.commands.is_empty();
    let mut remaining: Vec<Remaining> = Vec::new();
    for (at, row) in texts.iter().enumerate() {
        remove_settled(&mut remaining, row);
        let order = order_of_turn(&texts[at..]);
        if title == Some(at) || validity.knowledge.abandoned.contains(order) {
            continue;
        }
        for (text, is_pending) in remaining_sentences(row, has_changes, texts.len() - at <= PENDING_TEXTS) {
            let is_of_title = title.is_some_and(|title| beginning(&texts[title]).contains(&text));
            if !is_of_title && !validity.knowledge.repeats(&text) && !remaining.iter().any(|it| it.text == text) {
                remaining.push(Remaining { text, is_pending, order });
            }
        }
    }
    let valid = remaining.iter().filter_map(|it| validity.still_valid(&it.text, it.order));
    let lines: Vec<String> = valid.map(|text| format!("- {}", shortened(&clean_line(&text), LONGEST_LINE))).collect();
    let skipped = lines.len().saturating_sub(MOST_LINES);
    Ok(BriefSection::new("Decided and pending in the cleared session", 500, lines.into_iter().skip(skipped)))
}

/// Removes what a later text settles: it reports the end, says something else about the same person or thing, or takes it back.
fn remove_settled(remaining: &mut Vec<Remaining>, row: &MemoryRow) {
    let text = beginning(row);
    let is_prompt = row.memory.kind == MemoryType::UserPrompt;
    if is_prompt && takes_back(text) {
        remaining.retain(|it| !it.is_pending);
        return;
    }
    let pending: Vec<&str> = remaining.iter().filter(|it| it.is_pending).map(|it| it.text.as_str()).collect();
    if pending.is_empty() {
        return;
    }
    let done: Vec<String> = finished(text, &pending).into_iter().map(|at| pending[at].to_owned()).collect();
    let others = sentences(text).into_iter().filter(|sentence| !names_pending(sentence, is_prompt));
    let others: Vec<Vec<String>> = others.map(terms).filter(|terms| terms.len() > 1).collect();
    // A prompt is short, so that one term shows what it is about.
    let least = if is_prompt { 1 } else { 2 };
    remaining.retain(|it| {
        let own = terms(&it.text);
        let shared = |other: &Vec<String>| own.iter().filter(|term| other.contains(term)).count();
        !it.is_pending || !done.contains(&it.text) && others.iter().all(|other| shared(other) < least)
    });
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

/// Returns the place of the prompt that gives the session its title, if it was read.
fn title(texts: &[MemoryRow]) -> Option<usize> {
    let prompts = || texts.iter().enumerate().filter(|(_, row)| row.memory.kind == MemoryType::UserPrompt);
    let is_whole = prompts().count() < READ_TEXTS;
    prompts().find(|(_, row)| is_whole && !is_small_talk(&row.memory.content)).map(|(at, _)| at)
}

/// Returns the order of the turn of the first of these texts: that of its last answer.
fn order_of_turn(texts: &[MemoryRow]) -> (i64, i64) {
    let answers = texts[1..].iter().take_while(|row| row.memory.kind == MemoryType::AssistantResponse);
    answers.last().unwrap_or(&texts[0]).order()
}

/// Returns the sentences of a prompt or an answer that may remain, in their order, and whether each names something pending.
fn remaining_sentences(row: &MemoryRow, has_changes: bool, is_recent: bool) -> Vec<(String, bool)> {
    let text = beginning(row);
    let is_prompt = row.memory.kind == MemoryType::UserPrompt;
    let speaker = if is_prompt { Speaker::Person } else { Speaker::Agent };
    let may_remain = |found: &Conclusion| {
        let is_decided = matches!(found.kind, MemoryType::Decision | MemoryType::Convention | MemoryType::Preference);
        let is_of_kind =
            if is_prompt { is_decided } else { has_changes && (is_recent || found.kind != MemoryType::Task) };
        is_of_kind && (is_recent || !names_pending(&found.text, is_prompt))
    };
    let mut found = possible_conclusions(text, speaker);
    found.retain(may_remain);
    let mut ranges: Vec<_> = found.into_iter().map(|found| (found.range, found.kind == MemoryType::Task)).collect();
    if is_recent {
        for range in pending_sentences(text, speaker) {
            let overlapping = ranges.iter_mut().find(|(other, _)| other.start < range.end && range.start < other.end);
            match overlapping {
                Some((_, is_pending)) => *is_pending = true,
                None => ranges.push((range, true)),
            }
        }
    }
    ranges.sort_by_key(|(range, _)| range.start);
    ranges.into_iter().map(|(range, is_pending)| (text[range].trim().to_owned(), is_pending)).collect()
}

fn beginning(row: &MemoryRow) -> &str {
    let text = &row.memory.content;
    &text[..text.floor_char_boundary(READ_BYTES)]
}
