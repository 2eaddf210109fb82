//! Recall: what fits a prompt so well that it is worth showing unasked. Rather nothing than what says nothing.

use schema::memory::{MemoryId, MemoryType};
use schema::moment::Moment;
use schema::queue::Recalled;
use schema::store::Store;
use schema::tool::{Hit, SearchInput};

use crate::error::ToolError;
use crate::index::Index;
use crate::search::query::{self, Query};
use crate::search::{self, Means, Scoring};
use crate::text::fold::fold;

/// Memories at most.
const MOST: usize = 3;

/// The score from which a memory is shown unasked, which is high confidence. Of the 25 prompts of the tests' table with which
/// something remembered helps, 20 bring it along, in another language as well, and none of the other 33 brings anything.
const CONFIDENT: f64 = 0.62;

/// Words of its own that a prompt has to be about; with fewer, too much fits it.
const WORDS: usize = 2;

/// Hits looked at, because most may be left out.
const LOOKED_AT: i64 = 50;
const LOOKED_AT_TOKENS: i64 = 20_000;

/// By words alone, and what the glossary lists for them: [`CONFIDENT`] was found for their score, what is shown unasked should say
/// what the prompt says, and nothing has to be waited for.
const BY_WORDS: Means<'static> = Means { meaning: None, weights: None, scoring: Scoring::Words };

/// Words of a conversation that say how to go on and not what about, folded.
const TALK: &str = "
    ahead again agree agreed alright carry continue correct done exactly fine go good great hello hey hi keep looks lgtm next nice
    no nope ok okay perfect proceed resume right sounds stop sure thank thanks try wait well work works yeah yep yes
    감사 감사합니다 계속 계속해 계속해서 계속해줘 계속해주세요 고마워 그래 그래요 그렇게 그만 네 넵 다시 다음 맞아 맞아요 부탁해
    부탁해요 부탁합니다 아니 아니요 알겠어 알겠습니다 예 오케이 응 이어서 좋네 좋습니다 좋아 좋아요 진행 진행해 진행해줘
    진행해주세요 확인 확인했어
";

/// Words of everyday work, folded: every prompt has some, and a memory fits it in no way because it has them too.
const WORK: &str = "
    add build change changes check clean code commit create debug delete edit file files fix implement improve make merge move open
    push refactor remove rename replace review run see show start test tests update upgrade use write
    고쳐줘 구현 구현해줘 돌려줘 돌리려면 만들어줘 바꿔줘 변경 변경해줘 빌드 빌드해줘 삭제 삭제해줘 수정 수정해줘 실행 실행하고 실행해줘
    작성 작성해줘 추가 추가하고 추가해줘 커밋 커밋하고 커밋해줘 코드 코드를 테스트 테스트를 테스트해줘 파일 파일을 확인하고 확인해줘
";

/// The memories of other sessions that fit a prompt well: first what was concluded and noted, then what was said, each best first.
pub(super) fn recall(
    store: &mut Store,
    index: &mut Index,
    prompt: &str,
    session_id: &str,
) -> Result<Vec<Recalled>, ToolError> {
    let subject = without(query::beginning(prompt), &[TALK]);
    if Query::literal(&without(&subject, &[WORK])).content_words() < WORDS {
        return Ok(Vec::new());
    }
    let input = SearchInput {
        query: subject,
        max_results: Some(LOOKED_AT),
        min_score: Some(CONFIDENT),
        max_tokens: Some(LOOKED_AT_TOKENS),
        ..SearchInput::default()
    };
    let asked = letters(prompt);
    let mut found = Vec::new();
    for hit in search::search(store, index, BY_WORDS, &input, &Moment::now())?.results {
        if may_be_shown(&hit, session_id) && says_more(&letters(&text(store, &hit)?), &asked) {
            found.push(hit);
        }
    }
    found.sort_by_key(|hit| hit.kind.is_some_and(MemoryType::is_session_data));
    let recalled = found.into_iter().take(MOST);
    Ok(recalled.map(|hit| Recalled { id: hit.id, path: hit.path, date: hit.date, text: hit.snippet }).collect())
}

/// A text without the words of some tables.
fn without(text: &str, tables: &[&str]) -> String {
    let is_listed = |word: &str| {
        let word = fold(word.trim_matches(|c: char| !c.is_alphanumeric()));
        tables.iter().any(|table| table.split_whitespace().any(|listed| listed == word))
    };
    text.split_whitespace().filter(|word| !is_listed(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a memory is of another session and still holds. A question says little without its answer.
fn may_be_shown(hit: &Hit, session_id: &str) -> bool {
    hit.session_id.as_deref().is_none_or(|session| session != session_id)
        && hit.kind != Some(MemoryType::UserPrompt)
        && !hit.flags.iter().any(|flag| flag == "superseded")
}

/// The whole text of a memory, or the passage of a note that is shown.
fn text(store: &Store, hit: &Hit) -> Result<String, ToolError> {
    let row = MemoryId::parse(&hit.id).map(|id| store.rows().by_id(&id)).transpose()?.flatten();
    Ok(row.map_or_else(|| hit.snippet.clone(), |row| row.memory.content))
}

/// Whether a memory tells what the prompt does not: it is no part of the prompt, nor the prompt with a few words around it.
fn says_more(memory: &str, prompt: &str) -> bool {
    !prompt.contains(memory) && (!memory.contains(prompt) || memory.len() > prompt.len() * 3 / 2)
}

/// What two texts have in common when they differ in case, space and punctuation alone.
fn letters(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests;
