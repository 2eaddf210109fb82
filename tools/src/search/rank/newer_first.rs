//! Puts a newer statement before an older one about the same subject.

use std::collections::HashMap;

use schema::model::sharing::team_author;
use schema::model::word_list::WordList;

use crate::search::ranked_candidate::{COMPARED, RankContext, RankedCandidate, move_up};
use crate::text::words;

/// Among how many of the first passages a newer one can move before an older one.
const MAX_REORDERED: usize = 10;

/// Least difference of their times in one session, in seconds: what one conversation says belongs together.
const LATER: i64 = 12 * 60 * 60;

/// Least share of the older score.
const SCORE_SHARE: f32 = 0.7;

/// Least similarity of two texts, the cosine of their words weighted by rarity, if the newer one says that something changes;
/// and if it says that it amends a statement.
const SIMILARITY: f32 = 0.15;
const SIMILARITY_OF_AMENDMENT: f32 = 0.08;

/// Least weight of the older text's words of the question that the newer one has too, unless it is an amendment.
const COMMON_WORDS: f32 = 0.3;

/// Moves a newer statement before the older one that it changes, with at least its score. Measured on chats in which a value or a rule
/// changes; see docs/dev/retrieval.md.
pub(super) fn reorder(ranked: &mut [RankedCandidate], context: &RankContext<'_>) {
    let count = ranked.len().min(MAX_REORDERED);
    let signs: HashMap<String, ChangeSign> = ranked[..count].iter().filter_map(change_sign).collect();
    if signs.is_empty() {
        return;
    }
    let rarity = rarities(&ranked[..ranked.len().min(COMPARED)]);
    for at in 0..count {
        let newer = (at + 1..count).filter(|other| {
            let sign = signs.get(ranked[*other].candidate.passage.id());
            sign.is_some_and(|sign| is_newer_statement(&ranked[*other], &ranked[at], *sign, &rarity, context))
        });
        if let Some(newest) = newer.max_by_key(|other| ranked[*other].candidate.passage.at()) {
            move_up(ranked, newest, at, at);
        }
    }
}

/// How a text announces a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangeSign {
    Changes,
    Amends,
}

fn change_sign(ranked: &RankedCandidate) -> Option<(String, ChangeSign)> {
    // A shared memory overtakes no memory of the user.
    let row = ranked.row().filter(|row| team_author(&row.path).is_none())?;
    let text = row.memory.content.to_lowercase();
    let has_word_of = |list: &WordList| words(&text).any(|word| list.contains(word));
    let sign = if has_word_of(&AMENDS) || AMENDS_PARTS.occurs_in(&text) {
        ChangeSign::Amends
    } else if has_word_of(&CHANGES) || CHANGES_PARTS.occurs_in(&text) {
        ChangeSign::Changes
    } else {
        return None;
    };
    Some((ranked.candidate.passage.id().to_owned(), sign))
}

fn is_newer_statement(
    newer: &RankedCandidate,
    older: &RankedCandidate,
    sign: ChangeSign,
    rarity: &HashMap<u64, f32>,
    context: &RankContext<'_>,
) -> bool {
    let (Some(new), Some(old)) = (newer.row(), older.row()) else { return false };
    let is_same_session = new.memory.session_id == old.memory.session_id;
    let is_later =
        new.order() > old.order() && (!is_same_session || new.memory.at.unix() - old.memory.at.unix() >= LATER);
    if !is_later || newer.score < SCORE_SHARE * older.score {
        return false;
    }
    let (new, old) = (&newer.candidate, &older.candidate);
    let common = context.weight(old, new.matched & old.matched);
    let is_same_question = new.phrasing == old.phrasing && common >= COMMON_WORDS * context.weight(old, old.matched);
    let similarity = similarity(&new.tokens, &old.tokens, rarity);
    match sign {
        ChangeSign::Amends => similarity >= SIMILARITY_OF_AMENDMENT,
        ChangeSign::Changes => is_same_question && similarity >= SIMILARITY,
    }
}

/// The squared idf of each token among these passages.
fn rarities(ranked: &[RankedCandidate]) -> HashMap<u64, f32> {
    let mut counts: HashMap<u64, f32> = HashMap::new();
    for token in ranked.iter().flat_map(|ranked| &ranked.candidate.tokens) {
        *counts.entry(*token).or_default() += 1.0;
    }
    let all = ranked.len() as f32 + 1.0;
    counts.values_mut().for_each(|count| *count = (all / (*count + 0.5)).ln().max(0.0).powi(2));
    counts
}

/// The cosine of two texts, given by their distinct tokens in order.
fn similarity(a: &[u64], b: &[u64], rarity: &HashMap<u64, f32>) -> f32 {
    let weight = |token: &u64| rarity.get(token).copied().unwrap_or_default();
    let common: f32 = a.iter().filter(|token| b.binary_search(token).is_ok()).map(weight).sum();
    let length = |tokens: &[u64]| tokens.iter().map(weight).sum::<f32>();
    common / (length(a) * length(b)).sqrt().max(f32::MIN_POSITIVE)
}

static AMENDS: WordList =
    WordList::words("amend amended amending amendment supersede superseded supersedes superseding revised updates");

/// Parts of words in scripts without spaces, or with many endings.
static AMENDS_PARTS: WordList = WordList::phrases("정정|개정|대체한다|改定|改訂|修订|取代|enmienda|ersetzt die");

static CHANGES: WordList = WordList::words(
    "update updated changed switched longer increased improved reached grown raised lowered reduced extended postponed \
     recently",
);

static CHANGES_PARTS: WordList =
    WordList::words("변경 바꿨 바꾸 바꿔 이제는 늘렸 줄였 変更 更新 改为 改成 cambiado geändert changé изменил");
