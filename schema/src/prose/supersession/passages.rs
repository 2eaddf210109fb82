//! Finds the statements that replace sentences or items of a text, and removes these.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use foldhash::fast::FixedState;

use super::{Statement, Strictness};
use crate::prose::sentences::sentences;

/// The words of a sentence that only chooses: "Automerge. Full history is a feature for us."
const FEW_WORDS: usize = 1;

/// How many statements are compared with a sentence: those that share its rarest terms.
pub(super) const MOST_COMPARED: usize = 64;

/// Returns a text without what statements since a point in time replace, or `None` if nothing remains.
///
/// Of conversation, one passage is kept, because what follows a replaced sentence may refer to it. In a conclusion, only the replaced
/// sentences or items are removed. `…` marks what is missing.
pub fn without_replaced(
    text: &str,
    said: &[&StatementIndex],
    since: (i64, i64),
    strictness: Strictness,
) -> Option<String> {
    let replacing = |part: &str| -> Vec<&Statement> {
        let older = Statement::of(part);
        let related = said.iter().flat_map(|said| said.related(&older, since));
        related.filter(|newer| newer.replaces(&older, strictness)).collect()
    };
    let kept = match strictness {
        Strictness::Loose => valid_passage(text, replacing),
        Strictness::Strict => valid_parts(text, replacing),
    };
    kept.chars().any(char::is_alphanumeric).then_some(kept)
}

/// Returns the sentences from the first valid one to the next replaced one.
fn valid_passage<'s>(text: &str, replacing: impl Fn(&str) -> Vec<&'s Statement>) -> String {
    let (mut start, mut end) = (0, 0);
    let (mut is_skipping, mut is_cut) = (false, false);
    for part in sentences(text) {
        let is_replaced = !replacing(part).is_empty();
        is_cut = is_replaced && start < end;
        if is_cut {
            break;
        }
        end += part.len();
        if is_replaced || is_skipping {
            start = end;
            // A clause after a semicolon belongs to the clause before it, and what follows a choice at the beginning is its reason.
            let is_short = is_replaced && end == part.len() && part.split_whitespace().count() <= FEW_WORDS;
            is_skipping = part.trim_end().ends_with(';') || is_short;
        }
    }
    let passage = text[start..end].trim().trim_end_matches(';');
    match (start > 0, is_cut) {
        (false, false) => text.to_owned(),
        (false, true) => format!("{passage} …"),
        (true, false) => format!("… {passage}"),
        (true, true) => format!("… {passage} …"),
    }
}

fn valid_parts<'s>(text: &str, replacing: impl Fn(&str) -> Vec<&'s Statement>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_changed = false;
    for part in sentences(text) {
        let newer = replacing(part);
        if newer.is_empty() {
            kept.push_str(part);
            continue;
        }
        is_changed = true;
        let clauses: Vec<&str> = part.split_inclusive([',', ';']).collect();
        let valid = |clause: &&str| !is_replaced_within(clause, &newer);
        // A sentence of two clauses is removed as a whole, because neither makes sense without the other.
        let are_items = clauses.len() >= 3 && !clauses.iter().all(valid);
        push_missing(&mut kept);
        for clause in clauses.iter().filter(|_| are_items) {
            if valid(clause) { kept.push_str(clause) } else { push_missing(&mut kept) }
        }
    }
    if is_changed { kept.trim().to_owned() } else { kept }
}

fn push_missing(text: &mut String) {
    if !text.ends_with('…') {
        text.push_str(if text.is_empty() { "…" } else { " …" });
    }
}

/// Whether the replaced part of a sentence is in this clause.
fn is_replaced_within(clause: &str, newer: &[&Statement]) -> bool {
    let clause = Statement::of(clause);
    newer.iter().any(|newer| {
        let has_given_up = newer.given_up.iter().any(|given_up| {
            clause.has_terms(&given_up.terms)
                && given_up.quantities.iter().all(|quantity| clause.quantities.contains(quantity))
        });
        has_given_up || newer.sets_another_quantity(&clause) || newer.chooses_another(&clause)
    })
}

/// Dated statements that may replace older ones, by their terms and numbers.
#[derive(Debug, Default)]
pub struct StatementIndex {
    /// Oldest first.
    statements: Vec<((i64, i64), Statement)>,
    by_key: HashMap<String, Vec<usize>, FixedState>,
    of_turns: Vec<TurnStatement>,
}

/// A statement that may only replace texts of one turn, whose [`MemoryRow::order`](crate::store::MemoryRow::order) is in the range.
pub type TurnStatement = (Range<(i64, i64)>, Statement);

impl StatementIndex {
    /// Indexes statements by their [`MemoryRow::order`](crate::store::MemoryRow::order).
    pub fn new(statements: impl IntoIterator<Item = ((i64, i64), Statement)>) -> Self {
        let mut statements: Vec<_> = statements.into_iter().filter(|(_, statement)| statement.can_replace()).collect();
        statements.sort_by_key(|(order, _)| *order);
        let mut by_key: HashMap<String, Vec<usize>, FixedState> = HashMap::default();
        for (at, (_, statement)) in statements.iter().enumerate() {
            for key in statement.keys() {
                by_key.entry(key.into_owned()).or_default().push(at);
            }
        }
        Self { statements, by_key, of_turns: Vec::new() }
    }

    /// Adds statements about single turns.
    pub fn with_turns(self, of_turns: Vec<TurnStatement>) -> Self {
        Self { of_turns, ..self }
    }

    /// Returns statements since a point in time that share a term or a number with an older one, and those about its turn.
    pub(super) fn related(&self, older: &Statement, since: (i64, i64)) -> Vec<&Statement> {
        let mut shared: Vec<&Vec<usize>> = older.keys().filter_map(|key| self.by_key.get(&*key)).collect();
        shared.sort_by_key(|at| at.len());
        let first = self.statements.partition_point(|(order, _)| *order <= since);
        let newer = shared.into_iter().flat_map(|at| at.iter().rev().take_while(|at| **at >= first));
        let mut seen: HashSet<usize, FixedState> = HashSet::default();
        let compared = newer.filter(|at| seen.insert(**at)).take(MOST_COMPARED).map(|at| &self.statements[*at].1);
        let of_turn = self.of_turns.iter().filter(|(turn, _)| turn.contains(&since)).map(|(_, statement)| statement);
        compared.chain(of_turn).collect()
    }
}
