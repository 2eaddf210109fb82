//! Examines each new memory once: searches it for secrets, compares it with memories of similar words, and with open tasks.

use std::collections::{BTreeMap, HashSet};

use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::comparison::{TextRelation, is_about_another, relation, subject_terms};
use schema::prose::tasks::{awaited, came_about, finished};
use schema::store::{MemoryRow, Store};

use crate::control::{Control, MEMORIES};
use crate::error::ToolError;
use crate::index::{Index, IndexLockWait, ReviewFindings, ReviewPass};
use crate::text::stem::stem;
use crate::text::token_hashes::token_hash;

/// Memories per transaction.
const ROWS_PER_BATCH: usize = 200;

/// The newest memories that are looked up by a key, and those that are compared: with the most keys in common.
const LOOKED_UP: usize = 16;
const COMPARED: usize = 24;

/// The most pairs of a new memory, with the newest of the others.
const PAIRS: usize = 4;

/// The newest open tasks that are compared with later memories.
const TASKS: usize = 100;

/// A report shares at least one word in so many with a task, and this saves most comparisons.
const SHARED_ONE_IN: usize = 3;

/// Keys of a text, and hashes that form one key. More hashes make unrelated texts share a key less often.
const KEYS: u64 = 10;
const HASHES: u64 = 3;

/// Examines the memories that were saved since the last call until it is stopped. Returns whether it got to the end.
pub(super) fn examine(
    store: &Store,
    index: &mut Index,
    sanitizer: &Sanitizer,
    redact: &[String],
    control: &mut Control<'_>,
) -> Result<bool, ToolError> {
    let instance = store.rows().meta("instance")?.unwrap_or_default();
    // Another version may have other rules.
    let rules = format!("{instance} {}", env!("CARGO_PKG_VERSION"));
    let secret_rules = format!("{rules} {redact:?}");
    let with_terms = |row: MemoryRow| (subject_terms(&row.memory.content).into_iter().collect(), row);
    let tasks: Vec<_> = store.rows().open_tasks(&Moment::latest(), TASKS)?.into_iter().map(with_terms).collect();
    let find = |pass: ReviewPass, index: &Index, rows: &[MemoryRow]| {
        let found = match pass {
            ReviewPass::Pairs => return find_pairs(store, index, rows),
            ReviewPass::Secrets => {
                rows.iter().filter(|row| has_secret(row, sanitizer)).map(|row| (row.seq, row.seq)).collect()
            }
            ReviewPass::Reports => {
                rows.iter().flat_map(|row| reported_by(row, &tasks).map(|task| (row.seq, task))).collect()
            }
        };
        Ok(ReviewFindings { candidates: found, ..ReviewFindings::default() })
    };
    let mut is_complete = true;
    for (pass, rules) in
        [(ReviewPass::Secrets, &secret_rules), (ReviewPass::Pairs, &rules), (ReviewPass::Reports, &rules)]
    {
        is_complete &= run_pass(store, index, pass, rules, find, control)?;
    }
    Ok(is_complete)
}

fn run_pass(
    store: &Store,
    index: &mut Index,
    pass: ReviewPass,
    rules: &str,
    find: impl Fn(ReviewPass, &Index, &[MemoryRow]) -> Result<ReviewFindings, ToolError>,
    control: &mut Control<'_>,
) -> Result<bool, ToolError> {
    loop {
        let last = index.reviewed_until(pass, rules)?;
        let rows = store.rows().inserted_after(last, ROWS_PER_BATCH)?;
        let Some(last_seq) = rows.last().map(|row| row.seq) else { return Ok(true) };
        let found = ReviewFindings { last_seq, ..find(pass, index, &rows)? };
        // Another process that indexes has the lock. The next review goes on from here.
        let Some(lock) = index.lock(IndexLockWait::Long)? else { return Ok(false) };
        index.add_review_findings(pass, rules, &found, &lock)?;
        drop(lock);
        if rows.len() == ROWS_PER_BATCH {
            let done = usize::try_from(last_seq).unwrap_or_default();
            control.report(done, done + store.rows().count_after(last_seq)? as usize, MEMORIES);
            if control.is_cancelled() {
                return Ok(false);
            }
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

/// Pairs of new memories with each other and with earlier ones, and the keys of the new ones.
fn find_pairs(store: &Store, index: &Index, rows: &[MemoryRow]) -> Result<ReviewFindings, ToolError> {
    let mut found = ReviewFindings::default();
    for row in rows.iter().filter(|row| row.memory.kind.may_be_confirmed()) {
        let keys = similarity_keys(&row.memory.content);
        let mut common: BTreeMap<i64, usize> = BTreeMap::new();
        for key in &keys {
            let new = found.keys.iter().filter(|(known, _)| known == key).map(|(_, seq)| *seq);
            for seq in index.with_review_key(*key, LOOKED_UP)?.into_iter().chain(new) {
                *common.entry(seq).or_default() += 1;
            }
        }
        let mut others: Vec<(usize, i64)> = common.into_iter().map(|(seq, keys)| (keys, seq)).collect();
        others.sort_unstable_by(|a, b| b.cmp(a));
        let others: Vec<i64> = others.into_iter().take(COMPARED).map(|(_, seq)| seq).collect();
        let mut others: Vec<MemoryRow> = store.rows().by_seqs(&others)?.into_iter().flatten().collect();
        others.retain(|other| relation_of(row, other).is_some());
        others.sort_by_key(|other| std::cmp::Reverse(other.order()));
        found.candidates.extend(others.iter().take(PAIRS).map(|other| (row.seq, other.seq)));
        found.keys.extend(keys.into_iter().map(|key| (key, row.seq)));
    }
    Ok(found)
}

/// The relation of two memories in whichever order.
pub(super) fn relation_of(a: &MemoryRow, b: &MemoryRow) -> Option<TextRelation> {
    let (older, newer) = if a.order() < b.order() { (a, b) } else { (b, a) };
    let kind = older.memory.kind;
    if kind != newer.memory.kind {
        return None;
    }
    relation(&older.memory.content, &newer.memory.content, kind.is_statement())
}

/// The words that say what a task waits for.
fn awaited_by(task: &MemoryRow) -> Option<String> {
    awaited(&task.memory.content, &task.memory.attributes.metadata).filter(|text| MemoryId::parse(text).is_none())
}

/// The open tasks that a memory reports as done or as ready.
fn reported_by(row: &MemoryRow, tasks: &[(HashSet<String>, MemoryRow)]) -> impl Iterator<Item = i64> {
    let is_task = row.memory.kind == MemoryType::Task;
    let terms = if is_task { Vec::new() } else { subject_terms(&row.memory.content) };
    tasks.iter().filter_map(move |(of_task, task)| {
        let shared = terms.iter().filter(|term| of_task.contains(*term)).count();
        let is_near = shared > 0 && shared * SHARED_ONE_IN >= of_task.len();
        let is_reported = is_near && reports_end(row, task) || !is_task && reports_condition(row, task);
        is_reported.then_some(task.seq)
    })
}

/// Whether a later memory says that a task is done, also by the message of a commit.
pub(super) fn reports_end(row: &MemoryRow, task: &MemoryRow) -> bool {
    let task_text = &task.memory.content;
    says_later(row, task, &|text| is_done(text, task_text))
}

/// Whether a later memory says that what a task waits for came about.
pub(super) fn reports_condition(row: &MemoryRow, task: &MemoryRow) -> bool {
    awaited_by(task).is_some_and(|awaited| says_later(row, task, &|text| came_about(text, &awaited)))
}

fn says_later(row: &MemoryRow, task: &MemoryRow, says: &dyn Fn(&str) -> bool) -> bool {
    row.order() > task.order()
        && match row.memory.kind {
            MemoryType::ToolUsage => commit_messages(&row.memory.content).any(|message| says(&message)),
            _ => says(&row.memory.content),
        }
}

fn is_done(report: &str, task: &str) -> bool {
    // The text after a colon explains: "Fixed the export: there was no time zone".
    let head = report.split([':', ';']).next().unwrap_or(report);
    [report, head].into_iter().any(|report| !finished(report, &[task]).is_empty() && !is_about_another(report, task))
}

/// The subjects of commits in the commands of a turn, as reports.
fn commit_messages(commands: &str) -> impl Iterator<Item = String> {
    let after = commands.match_indices("git commit").map(|(at, _)| &commands[at..]);
    let quoted = after.filter_map(|rest| {
        let (_, message) = rest.lines().next()?.split_once("m ")?;
        let quote = message.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        message[1..].split(quote).next()
    });
    quoted.map(|message| format!("{message}: done"))
}

/// Returns keys by which memories with similar words find each other, without comparing all pairs and whatever else is in the store, or
/// none if a text has no words.
///
/// A. Broder: On the resemblance and containment of documents (1997). Two texts that share half of their words have a common key with a
/// probability of 74 %, and two that share four of five words with 99.9 %.
fn similarity_keys(text: &str) -> Vec<i64> {
    let terms: Vec<u64> = subject_terms(text).iter().map(|term| token_hash(&stem(term))).collect();
    if terms.is_empty() {
        return Vec::new();
    }
    let least = |seed: u64| terms.iter().map(|term| mixed(term ^ mixed(seed))).min().unwrap_or_default();
    let key = |key: u64| (0..HASHES).fold(key, |joined, hash| mixed(joined ^ least(key * HASHES + hash + 1)));
    (0..KEYS).map(|number| key(number).cast_signed()).collect()
}

/// The finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(a: &str, b: &str) -> usize {
        let keys = similarity_keys(a);
        similarity_keys(b).iter().filter(|key| keys.contains(key)).count()
    }

    #[test]
    fn similar_texts_have_common_keys() {
        let text = "The proxy buffers answers of more than 64 KB before it sends them to clients";
        assert_eq!(common(text, "Before it sends them to clients, the proxy buffers answers of more than 128 KB."), 10);
        let longer = "In the shop, the proxy buffers answers of more than 64 KB before it sends them to clients";
        assert!((1..10).contains(&common(text, longer)));
        assert_eq!(common(text, "Deploys are frozen until the audit of the payment module is over"), 0);
        assert!(similarity_keys("ok, 5").is_empty());
    }
}
