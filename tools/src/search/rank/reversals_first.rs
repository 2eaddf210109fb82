//! Puts what gives something up or changes it before what it replaces, also in conversation: "no, back to TOML".

use schema::model::memory::MemoryType;
use schema::prose::supersession::{Statement, Strictness, is_statement, reversals, statements};
use schema::store::MemoryRow;

use crate::search::candidate::Passage;
use crate::search::ranked_candidate::RankedCandidate;

/// First passages that may be replaced, and those among which something newer is looked for.
const LEADING: usize = 5;
const AMONG: usize = 15;

/// How much of a text is compared, in bytes.
const COMPARED_TEXT: usize = 1024;

/// Moves the newest passage that replaces one of the first ones before it, with at least its score.
pub(super) fn reorder(ranked: &mut [RankedCandidate]) {
    let count = ranked.len().min(AMONG);
    let mut newer: Vec<(String, (i64, i64), Vec<Statement>)> = ranked[..count].iter().filter_map(reversal).collect();
    newer.sort_by_key(|(_, order, _)| std::cmp::Reverse(*order));
    let first: Vec<String> = ranked.iter().take(LEADING).map(id).collect();
    for old in first.iter().filter(|_| !newer.is_empty()) {
        let Some(to) = ranked.iter().position(|ranked| id(ranked) == *old) else { continue };
        let Some(row) = memory_row(&ranked[to]).filter(|row| is_said(row) || is_statement(row.memory.kind)) else {
            continue;
        };
        let parts = statements(beginning(&row.memory.content));
        let replaces = |newer: &Statement| parts.iter().any(|part| newer.replaces(part, Strictness::Loose));
        let is_newer = newer.iter().take_while(|(_, order, _)| *order > row.order());
        let newest = is_newer.into_iter().find(|(_, _, said)| said.iter().any(replaces)).map(|(id, ..)| id);
        let from = newest.and_then(|newest| ranked.iter().position(|ranked| id(ranked) == *newest));
        if let Some(from) = from.filter(|from| *from > to) {
            ranked[from].score = ranked[from].score.max(ranked[to].score);
            ranked[to..=from].rotate_right(1);
        }
    }
}

/// What a passage gives up or changes, with its id and order.
fn reversal(ranked: &RankedCandidate) -> Option<(String, (i64, i64), Vec<Statement>)> {
    let row = memory_row(ranked)?;
    let text = beginning(&row.memory.content);
    let said = match row.memory.kind {
        _ if is_said(row) => reversals(text),
        kind if is_statement(kind) || kind == MemoryType::ErrorFix => vec![Statement::of(text)],
        _ => Vec::new(),
    };
    (!said.is_empty()).then(|| (id(ranked), row.order(), said))
}

fn is_said(row: &MemoryRow) -> bool {
    matches!(row.memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse)
}

fn id(ranked: &RankedCandidate) -> String {
    ranked.candidate.passage.id().to_owned()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(COMPARED_TEXT)]
}

fn memory_row(ranked: &RankedCandidate) -> Option<&MemoryRow> {
    match &ranked.candidate.passage {
        Passage::Memory(row) => Some(row),
        Passage::Chunk(_) => None,
    }
}
