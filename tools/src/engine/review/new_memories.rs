//! Examines each new memory once: compares it with earlier ones that share its rarest words, and searches it for secrets.

use schema::intake::capture::may_be_confirmed;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::comparison::{TextRelation, relation};
use schema::prose::supersession::is_statement;
use schema::store::{MemoryRow, Store};

use crate::error::ToolError;
use crate::fulltext::{CorpusStats, QueryTerm};
use crate::index::{Document, Index, IndexLockWait, ReviewPass};
use crate::text::analyze;

/// Memories per transaction.
const BATCH: usize = 200;

/// The tokens of a text that are looked up, the rarest of them that are searched, and the memories that are compared. docs/dev/review.md has
/// the figures.
const LOOKED_UP: usize = 48;
const SEARCHED: usize = 10;
const COMPARED: usize = 24;

/// The most pairs of a new memory, with the newest of the others.
const PAIRS: usize = 4;

/// The version of the rules. Raise it when they change, so that everything is examined again.
const RULES: u32 = 1;

/// Examines the memories that were indexed since the last call while `go_on`, called with the done and total number, returns true.
/// Returns whether it got to the end.
pub(super) fn examine(
    store: &Store,
    index: &mut Index,
    sanitizer: &Sanitizer,
    redact: &[String],
    go_on: &mut dyn FnMut(i64, i64) -> bool,
) -> Result<bool, ToolError> {
    let instance = store.rows().meta("instance")?.unwrap_or_default();
    let rules = format!("{instance} {} {redact:?}", env!("CARGO_PKG_VERSION"));
    let secrets = |_: &Index, row: &MemoryRow| Ok(if has_secret(row, sanitizer) { vec![row.seq] } else { Vec::new() });
    let is_searched = run_pass(store, index, ReviewPass::Secrets, &rules, &secrets, go_on)?;
    let rules = format!("{instance} {RULES}");
    let pairs = |index: &Index, row: &MemoryRow| related(store, index, row);
    Ok(run_pass(store, index, ReviewPass::Pairs, &rules, &pairs, go_on)? && is_searched)
}

/// Finds, for each new memory, the others that form a candidate with it, as sequence numbers.
fn run_pass(
    store: &Store,
    index: &mut Index,
    pass: ReviewPass,
    rules: &str,
    find: &dyn Fn(&Index, &MemoryRow) -> Result<Vec<i64>, ToolError>,
    go_on: &mut dyn FnMut(i64, i64) -> bool,
) -> Result<bool, ToolError> {
    let end = index.watermark(store.rows())?;
    loop {
        let mut rows = store.rows().inserted_after(index.reviewed_until(pass, rules)?, BATCH)?;
        rows.retain(|row| row.seq <= end);
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(true) };
        let mut found = Vec::new();
        for row in &rows {
            // Memories of one batch find each other.
            found.extend(find(index, row)?.into_iter().map(|other| (row.seq.max(other), row.seq.min(other))));
        }
        // Another process that indexes has the lock. The next review goes on from here.
        let Some(lock) = index.lock(IndexLockWait::Long)? else { return Ok(false) };
        index.add_review_candidates(pass, rules, last, &found, &lock)?;
        drop(lock);
        if !go_on(last, end) {
            return Ok(false);
        }
    }
}

/// Whether today's rules would redact something of a memory.
pub(super) fn has_secret(row: &MemoryRow, sanitizer: &Sanitizer) -> bool {
    let attributes = &row.memory.attributes;
    let has_one = |text: &str| {
        let cleaned = sanitizer.clean(text);
        cleaned.count > 0 || text.contains("<private") && cleaned.text != text
    };
    has_one(&row.memory.content)
        || attributes.also.as_deref().is_some_and(has_one)
        || !attributes.metadata.is_empty() && sanitizer.clean_fields(attributes.metadata.clone()).1 > 0
}

fn related(store: &Store, index: &Index, row: &MemoryRow) -> Result<Vec<i64>, ToolError> {
    if !may_be_confirmed(row.memory.kind) {
        return Ok(Vec::new());
    }
    let mut found: Vec<MemoryRow> = similar(store, index, &row.memory.content)?;
    found.retain(|other| other.seq != row.seq && relation_of(row, other).is_some());
    found.sort_by_key(|other| std::cmp::Reverse(other.order()));
    Ok(found.into_iter().take(PAIRS).map(|other| other.seq).collect())
}

/// The relation of two memories in whichever order.
pub(super) fn relation_of(a: &MemoryRow, b: &MemoryRow) -> Option<TextRelation> {
    let (older, newer) = if a.order() < b.order() { (a, b) } else { (b, a) };
    let kind = older.memory.kind;
    if kind != newer.memory.kind {
        return None;
    }
    relation(&older.memory.content, &newer.memory.content, is_statement(kind))
}

/// Memories that share the rarest words of a text, best first.
pub(super) fn similar(store: &Store, index: &Index, text: &str) -> Result<Vec<MemoryRow>, ToolError> {
    let mut tokens: Vec<String> = analyze(text).into_iter().take(LOOKED_UP).map(|token| token.text).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let terms: Vec<QueryTerm> = tokens.into_iter().map(|text| QueryTerm { text, prefix: false }).collect();
    let corpus = index.fulltext().corpus(&terms)?;
    // A word of no other memory finds nothing.
    let mut shared: Vec<(u64, QueryTerm)> =
        corpus.frequencies.iter().copied().zip(terms).filter(|(frequency, _)| *frequency > 1).collect();
    shared.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.text.cmp(&b.1.text)));
    shared.truncate(SEARCHED);
    let (frequencies, terms): (Vec<u64>, Vec<QueryTerm>) = shared.into_iter().unzip();
    let corpus = CorpusStats { frequencies, ..corpus };
    let found = index.fulltext().candidates(&terms, &corpus, COMPARED)?;
    let seqs = found.into_iter().filter_map(|rowid| match Document::from_rowid(rowid) {
        Document::Memory(seq) => Some(seq),
        Document::Chunk(_) => None,
    });
    Ok(store.rows().by_seqs(&seqs.collect::<Vec<_>>())?.into_iter().flatten().collect())
}
