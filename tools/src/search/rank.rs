//! Sorts candidates: by relevance, then by preferences that only raise a score, so that no kind of memory falls below
//! the threshold.

mod newer_first;
mod reversals_first;

use std::collections::HashMap;

use schema::log::LONG_TERM_FILE;
use schema::model::memory::{Memory, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::sharing::{SharedState, team_author};
use schema::model::word_list::WordList;
use schema::prose::supersession::{Statement, Strictness};
use schema::store::MemoryRow;

use super::candidate::{Candidate, Passage};
use super::dates::AskedTimes;
use super::ranked_candidate::{COMPARED, RankContext, RankLifts, RankedCandidate, is_current_own};
use super::request::Scoring;
use crate::text::fold::fold;

/// Bonus of conclusions and notes over logged events.
const CURATED: f32 = 0.06;

/// Bonus of a decision, a preference or a convention if the question asks what was decided, and of the summary of a day if it asks for
/// that time.
const DECIDED: f32 = 0.2;

/// Bonus of the composed summary of a session, which names what its memories say one by one. docs/dev/retrieval.md has the figures.
const OVERVIEW: f32 = 0.4;

/// Bonus per step of importance above 1.
const IMPORTANCE: f32 = 0.02;

/// Bonus of today's memories; it halves every [`HALF_LIFE`] days.
const RECENT: f32 = 0.04;
const HALF_LIFE: f32 = 30.0;

/// Bonus of a passage with the whole identifier that the question consists of, over those with parts of it.
const WHOLE_IDENTIFIER: f32 = 0.35;

/// Bonus of an edit that adds the definition of this identifier.
const DEFINITION: f32 = 0.8;

/// Hits of one notes file or session that may precede those of others.
const PER_ORIGIN: usize = 5;

/// Share of common words from which two passages may be duplicates, or two versions of one statement.
const SAME: f32 = 0.9;

/// Least share of the older version's score from which a newer version precedes it.
const VERSION_SHARE: f32 = 0.95;

/// Sorts candidates, best first, and keeps the best of duplicates.
///
/// `is_kept` says whether a person keeps a memory although a newer one seems to replace it.
pub(super) fn rank(
    candidates: Vec<Candidate>,
    context: &RankContext<'_>,
    is_kept: &dyn Fn(&MemoryId, &MemoryId) -> bool,
) -> Vec<RankedCandidate> {
    let mut ranked: Vec<RankedCandidate> = candidates
        .into_iter()
        .map(|candidate| {
            let is_plain = context.scoring == Scoring::Stated;
            let lifts = if is_plain { RankLifts::default() } else { rank_lifts(&candidate.passage, context) };
            let lift = lifts.kind + lifts.importance + lifts.recent + lifts.identifier;
            RankedCandidate { score: candidate.relevance * (1.0 + lift), lifts, candidate }
        })
        .collect();
    order(&mut ranked, context);
    if mark_outdated(&mut ranked, is_kept) {
        order(&mut ranked, context);
    }
    let mut ranked = drop_duplicates(ranked);
    if !context.asks_past {
        if context.scoring != Scoring::Stated {
            reversals_first::reorder(&mut ranked);
        }
        newer_first::reorder(&mut ranked, context);
    }
    spread_origins(ranked)
}

/// Superseded and retired statements are last, unless the question asks for the past.
fn order(ranked: &mut [RankedCandidate], context: &RankContext<'_>) {
    let state = |ranked: &RankedCandidate| ranked.row()?.shared_state(context.now);
    ranked.sort_by(|a, b| {
        let is_outdated = |ranked: &RankedCandidate| {
            let is_over =
                ranked.candidate.passage.superseded_by().is_some() || state(ranked) == Some(SharedState::Retired);
            !context.asks_past && is_over
        };
        let later = |ranked: &RankedCandidate| std::cmp::Reverse(ranked.candidate.passage.at());
        // The id decides last, so that the order does not depend on the database.
        is_outdated(a)
            .cmp(&is_outdated(b))
            .then(b.score.total_cmp(&a.score))
            // The user's own memories precede equal ones of the team.
            .then(state(a).is_some().cmp(&state(b).is_some()))
            .then(later(a).cmp(&later(b)))
            .then_with(|| a.candidate.passage.id().cmp(b.candidate.passage.id()))
    });
}

/// Marks statements as superseded that a newer one plainly replaces, unless a person kept both. Returns whether there are any.
fn mark_outdated(ranked: &mut [RankedCandidate], is_kept: &dyn Fn(&MemoryId, &MemoryId) -> bool) -> bool {
    let mut stated: Vec<(&mut MemoryRow, Statement)> = Vec::new();
    for ranked in ranked.iter_mut().take(COMPARED) {
        // Passages without a word of the question are here by chance; they would hide others only if there are vectors.
        if ranked.candidate.matched != 0
            && let Passage::Memory(row) = &mut ranked.candidate.passage
            && row.memory.kind.is_statement()
            && row.superseded_by.is_none()
        {
            let statement = Statement::of(&row.memory.content);
            stated.push((row, statement));
        }
    }
    stated.sort_by_key(|(row, _)| row.order());
    let mut is_any = false;
    for old in 0..stated.len() {
        let id = &stated[old].0.memory.id;
        let newer = stated[old + 1..]
            .iter()
            .rev()
            // A shared memory replaces no memory of the user.
            .filter(|(row, _)| team_author(&row.path).is_none())
            .find(|(row, newer)| newer.replaces(&stated[old].1, Strictness::Strict) && !is_kept(id, &row.memory.id));
        if let Some(id) = newer.map(|(row, _)| row.memory.id.clone()) {
            stated[old].0.superseded_by = Some(id);
            is_any = true;
        }
    }
    is_any
}

fn rank_lifts(passage: &Passage, context: &RankContext<'_>) -> RankLifts {
    let memory = passage.memory();
    let curated = match memory {
        Some(memory) if memory.is_composed_summary() => false,
        Some(memory) => !memory.kind.is_event() || passage.path() == LONG_TERM_FILE,
        None => passage.at().is_none(),
    };
    let importance =
        memory.map_or(1, |memory| memory.attributes.importance.unwrap_or_else(|| memory.kind.default_importance()));
    let recent = passage.at().filter(|_| memory.is_none_or(|memory| memory.kind.is_event())).map_or(0.0, |at| {
        // Whole days, so that the same question has the same answer all day.
        let days = ((context.now.unix() - at.unix()) / 86_400).max(0) as f32;
        RECENT * 0.5_f32.powf(days / HALF_LIFE)
    });
    let is_asked_day = |memory: &Memory| {
        let fits = |times: &AskedTimes| times.best_fit(memory.at.date(), "") > 0.0;
        memory.is_day_summary() && context.only_times.is_some_and(fits)
    };
    let of_identifier = |identifier: &str| {
        let identifier = identifier.to_lowercase();
        let text = passage.text().to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&identifier);
        let is_tool_use = memory.is_some_and(|memory| memory.kind == MemoryType::ToolUsage);
        if is_tool_use && defines(&text, &identifier) {
            DEFINITION
        } else if text.contains(&identifier) || has(passage.also()) || has(&passage.title()) {
            WHOLE_IDENTIFIER
        } else {
            0.0
        }
    };
    RankLifts {
        kind: match memory.map(|memory| memory.kind) {
            Some(MemoryType::Decision | MemoryType::Preference | MemoryType::Convention) if context.asks_decision => {
                DECIDED
            }
            _ if memory.is_some_and(is_asked_day) => DECIDED,
            _ if memory.is_some_and(|memory| memory.is_composed_summary() && !memory.is_day_summary()) => OVERVIEW,
            _ if curated => CURATED,
            _ => 0.0,
        },
        importance: IMPORTANCE * (f32::from(importance) - 1.0).max(0.0),
        recent,
        identifier: context.identifier.map_or(0.0, of_identifier),
    }
}

/// Whether the added lines of a `tool_usage` text define an identifier, both in lower case: "+ export function restoreTree() {".
fn defines(text: &str, identifier: &str) -> bool {
    static KEYWORDS: WordList = WordList::words(
        "class const def enum fn fun func function interface let module object record struct trait type val var",
    );
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.lines().filter_map(|line| line.strip_prefix("+ ")).any(|line| {
        line.match_indices(identifier).any(|(at, _)| {
            let is_whole =
                line[..at].ends_with(char::is_whitespace) && !line[at + identifier.len()..].starts_with(is_name);
            is_whole && line[..at].split_whitespace().next_back().is_some_and(|word| KEYWORDS.contains(word))
        })
    })
}

/// Removes duplicates, and puts the newer of two versions of a statement before the older one.
fn drop_duplicates(ranked: Vec<RankedCandidate>) -> Vec<RankedCandidate> {
    let mut distinct: Vec<RankedCandidate> = Vec::with_capacity(ranked.len());
    for mut candidate in ranked {
        let mut place = distinct.len();
        if distinct.len() < COMPARED {
            let own = &mut candidate.candidate.tokens;
            own.sort_unstable();
            own.dedup();
            let is_similar = |other: &RankedCandidate| is_same_text(&other.candidate.tokens, own);
            let similar: Vec<usize> = (0..distinct.len()).filter(|at| is_similar(&distinct[*at])).collect();
            if let Some(same) = similar.iter().find(|at| is_duplicate(&distinct[**at], &candidate)) {
                let other = &mut distinct[*same];
                if preference(&candidate) > preference(other) {
                    other.candidate = candidate.candidate;
                }
                continue;
            }
            if let Some(older) = similar.into_iter().find(|at| is_newer_version(&candidate, &distinct[*at])) {
                candidate.score = candidate.score.max(distinct[older].score);
                place = older;
            }
        }
        distinct.insert(place, candidate);
    }
    distinct
}

/// Which of two duplicates stays: the user's own and not a shared one, a statement and not an event, then the newest.
fn preference(ranked: &RankedCandidate) -> (bool, bool, bool, Option<Moment>) {
    let passage = &ranked.candidate.passage;
    let is_event = passage.memory().is_some_and(|memory| memory.kind.is_event());
    let is_shared = ranked.row().is_some_and(|row| team_author(&row.path).is_some());
    (passage.superseded_by().is_none(), !is_shared, !is_event, passage.at())
}

/// Whether one of two similar passages says nothing but the other. A conclusion repeats the event that it comes from.
fn is_duplicate(a: &RankedCandidate, b: &RankedCandidate) -> bool {
    let comes_from = |one: &RankedCandidate, other: &RankedCandidate| {
        let source = one.row().and_then(|row| row.memory.attributes.source.as_ref());
        source.is_some_and(|source| source.as_str() == other.candidate.passage.id())
    };
    comes_from(a, b) || comes_from(b, a) || has_same_words(a, b)
}

/// Whether two similar texts have the same words in the same order, apart from headings. A number, a name or a `not` makes another
/// statement.
fn has_same_words(a: &RankedCandidate, b: &RankedCandidate) -> bool {
    let words = |ranked: &RankedCandidate| -> Vec<String> {
        let lines = ranked.candidate.passage.text().lines().filter(|line| !line.starts_with('#'));
        let words = lines.flat_map(str::split_whitespace);
        let words =
            words.map(|word| fold(word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#'))));
        words.filter(|word| !word.is_empty() && !FILLERS.contains(word)).collect()
    };
    words(a) == words(b)
}

/// Words without which a text says the same.
static FILLERS: WordList = WordList::words("a an the please");

/// Whether a text of the user is a later version of a similar one, and answers the question as well.
fn is_newer_version(newer: &RankedCandidate, older: &RankedCandidate) -> bool {
    let (Some(new), Some(old)) = (newer.row(), older.row()) else { return false };
    let is_as_good = newer.score >= VERSION_SHARE * older.score && newer.candidate.matched == older.candidate.matched;
    is_as_good
        && is_current_own(new)
        && is_current_own(old)
        && new.memory.kind == old.memory.kind
        && new.order() > old.order()
}

/// Whether two sorted lists of distinct words are nearly equal.
fn is_same_text(a: &[u64], b: &[u64]) -> bool {
    let (fewer, more) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if (fewer.len() as f32) < SAME * more.len() as f32 {
        return false;
    }
    // Stops early once too many words differ.
    let all = fewer.len() + more.len();
    let most_missing = fewer.len() as f32 - SAME * all as f32 / (1.0 + SAME) + 1.0;
    let (mut common, mut missing, mut rest) = (0, 0.0, more);
    for word in fewer {
        let passed = rest.iter().take_while(|other| *other < word).count();
        rest = &rest[passed..];
        if rest.first() == Some(word) {
            common += 1;
        } else {
            missing += 1.0;
            if missing > most_missing {
                return false;
            }
        }
    }
    common as f32 >= SAME * (all - common) as f32
}

/// Moves surplus hits of one origin behind the others; keeps them all.
fn spread_origins(ranked: Vec<RankedCandidate>) -> Vec<RankedCandidate> {
    let mut shares: HashMap<String, usize> = HashMap::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for candidate in ranked {
        let passage = &candidate.candidate.passage;
        let is_conclusion = passage.memory().is_some_and(|memory| !memory.kind.is_event());
        let share = passage.origin().filter(|_| !is_conclusion).map_or(0, |origin| {
            let share = shares.entry(origin).or_default();
            *share += 1;
            *share
        });
        if share > PER_ORIGIN { later.push(candidate) } else { first.push(candidate) }
    }
    first.append(&mut later);
    first
}

#[cfg(test)]
mod tests;
