//! Puts a memory before the one that it replaces, also before prompts, answers and composed summaries: "no, back to TOML".

use std::cmp::Reverse;

use schema::model::memory::MemoryType;
use schema::prose::supersession::{Statement, Strictness, left_for_another, reversals, statements};
use schema::store::MemoryRow;

use crate::search::ranked_candidate::{RankedCandidate, is_current_own, move_up};

/// How many of the first passages can move down. docs/dev/retrieval.md has the figures.
const MAX_REPLACED: usize = 5;

/// Among how many of the first passages a replacement is looked for.
const MAX_REPLACING: usize = 15;

/// How much of a text is compared, in bytes.
const COMPARED_TEXT: usize = 1024;

/// A passage that gives up or changes something.
struct Reversal {
    id: String,
    order: (i64, i64),
    statements: Vec<Statement>,
}

/// Moves the newest replacement of each of the first passages before it, with at least its score.
pub(super) fn reorder(ranked: &mut [RankedCandidate]) {
    let mut reversals: Vec<Reversal> = ranked.iter().take(MAX_REPLACING).filter_map(Reversal::of).collect();
    if reversals.is_empty() {
        return;
    }
    reversals.sort_by_key(|reversal| Reverse(reversal.order));
    let first: Vec<String> = ranked.iter().take(MAX_REPLACED).map(|ranked| id(ranked).to_owned()).collect();
    for old in first {
        let Some(to) = ranked.iter().position(|ranked| id(ranked) == old) else { continue };
        let newest = ranked[to].row().and_then(|row| newest_replacing(row, &reversals));
        let from = newest.and_then(|newest| ranked.iter().position(|ranked| id(ranked) == newest.id));
        if let Some(from) = from.filter(|from| *from > to) {
            move_up(ranked, from, to, to);
        }
    }
}

/// Finds the newest reversal of something in a memory. `reversals` are in order, newest first.
fn newest_replacing<'r>(row: &MemoryRow, reversals: &'r [Reversal]) -> Option<&'r Reversal> {
    let may_be_replaced = is_said(row) || row.memory.kind.is_statement() || row.memory.is_composed_summary();
    if !may_be_replaced {
        return None;
    }
    let parts = statements(beginning(&row.memory.content));
    let replaces = |newer: &Statement| parts.iter().any(|part| newer.replaces(part, Strictness::Loose));
    let mut newer = reversals.iter().take_while(|reversal| reversal.order > row.order());
    newer.find(|reversal| reversal.statements.iter().any(replaces))
}

impl Reversal {
    fn of(ranked: &RankedCandidate) -> Option<Self> {
        let row = ranked.row().filter(|row| is_current_own(row))?;
        let text = beginning(&row.memory.content);
        let kind = row.memory.kind;
        // A fix may say that a statement no longer holds. It reports what was done, which stays true, so that `newest_replacing` skips fixes.
        let statements = if kind.is_statement() || kind == MemoryType::ErrorFix {
            vec![Statement::of(text)]
        } else if kind == MemoryType::UserPrompt {
            reversals(text).into_iter().chain(left_for_another(text)).collect()
        } else if is_said(row) {
            reversals(text)
        } else {
            Vec::new()
        };
        (!statements.is_empty()).then(|| Self { id: row.memory.id.to_string(), order: row.order(), statements })
    }
}

fn is_said(row: &MemoryRow) -> bool {
    matches!(row.memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse)
}

fn id(ranked: &RankedCandidate) -> &str {
    ranked.candidate.passage.id()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(COMPARED_TEXT)]
}
