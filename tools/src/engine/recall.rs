//! Recall: memories that match a prompt so well that they are shown unasked. Precision matters more than recall.

use schema::intake::queue::RecalledMemory;
use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::word_list::WordList;
use schema::store::Store;
use schema::tool::{Hit, SearchInput};

use super::Engine;
use crate::control::Control;
use crate::error::ToolError;
use crate::search::query::{self, Query};
use crate::search::{self, Asker, Scoring, SearchOptions};
use crate::text::fold::fold;

/// Most memories per prompt.
const MAX_RECALLED: usize = 3;

/// Fewest content words of a prompt; shorter prompts match too much.
const MIN_CONTENT_WORDS: usize = 2;

/// Hits considered, because most may be filtered out.
const MAX_CANDIDATES: i64 = 50;
const MAX_CANDIDATE_TOKENS: i64 = 20_000;

/// Words and glossary only: the default of `recall_min_score` was measured for their score, the match should be literal, and nothing blocks.
const WORDS_ONLY_OPTIONS: SearchOptions<'static> =
    SearchOptions { model: None, scoring: Scoring::Words, asker: Asker::Person, session_id: "" };

/// Words that steer a conversation without a topic, folded.
static SMALL_TALK: WordList = WordList::words(
    "
    ahead again agree agreed alright carry continue correct done exactly fine go good great hello hey hi keep looks lgtm next nice
    no nope ok okay perfect proceed resume right sounds stop sure thank thanks try wait well work works yeah yep yes
    감사 감사합니다 계속 계속해 계속해서 계속해줘 계속해주세요 고마워 그래 그래요 그렇게 그만 네 넵 다시 다음 맞아 맞아요 부탁해
    부탁해요 부탁합니다 아니 아니요 알겠어 알겠습니다 예 오케이 응 이어서 좋네 좋습니다 좋아 좋아요 진행 진행해 진행해줘
    진행해주세요 확인 확인했어
",
);

/// Words of everyday work, folded. They are in every prompt, so sharing them is no match.
static WORK: WordList = WordList::words(
    "
    add build change changes check clean code commit create debug delete edit file files fix implement improve make merge move open
    push refactor remove rename replace review run see show start test tests update upgrade use write
    고쳐줘 구현 구현해줘 돌려줘 돌리려면 만들어줘 바꿔줘 변경 변경해줘 빌드 빌드해줘 삭제 삭제해줘 수정 수정해줘 실행 실행하고 실행해줘
    작성 작성해줘 추가 추가하고 추가해줘 커밋 커밋하고 커밋해줘 코드 코드를 테스트 테스트를 테스트해줘 파일 파일을 확인하고 확인해줘
",
);

impl Engine {
    /// The few memories of other sessions that match a prompt well: conclusions and notes first, then quotes, each best first.
    pub fn recall(&mut self, prompt: &str, session_id: &str) -> Result<Vec<RecalledMemory>, ToolError> {
        let subject = strip_words(query::truncated_query(prompt), &SMALL_TALK);
        if Query::parse_literal(&strip_words(&subject, &WORK)).content_words() < MIN_CONTENT_WORDS {
            return Ok(Vec::new());
        }
        let input = SearchInput {
            query: subject,
            max_results: Some(MAX_CANDIDATES),
            min_score: Some(self.loaded.settings.recall_min_score),
            max_tokens: Some(MAX_CANDIDATE_TOKENS),
            ..SearchInput::default()
        };
        let asked = comparable_letters(prompt);
        self.with_repair(|engine| {
            let (store, index) = (&mut engine.store, &mut engine.index);
            let (now, control) = (Moment::now(), &mut Control::default());
            let mut found = Vec::new();
            for hit in search::search(store, index, WORDS_ONLY_OPTIONS, &input, &now, control)?.results {
                if may_be_shown(&hit, session_id)
                    && adds_to_prompt(&comparable_letters(&recalled_text(store, &hit)?), &asked)
                {
                    found.push(hit);
                }
            }
            found.sort_by_key(|hit| hit.kind.is_some_and(MemoryType::is_event));
            let recalled = found.into_iter().take(MAX_RECALLED);
            let memory = |hit: Hit| RecalledMemory { id: hit.id, path: hit.path, date: hit.date, text: hit.snippet };
            Ok(recalled.map(memory).collect())
        })
    }
}

/// Removes the words of a list from a text.
fn strip_words(text: &str, list: &WordList) -> String {
    let is_listed = |word: &str| list.contains(&fold(word.trim_matches(|c: char| !c.is_alphanumeric())));
    text.split_whitespace().filter(|word| !is_listed(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a memory is of another session and still valid. A question without its answer is useless.
fn may_be_shown(hit: &Hit, session_id: &str) -> bool {
    hit.session_id.as_deref().is_none_or(|session| session != session_id)
        && hit.kind != Some(MemoryType::UserPrompt)
        && !hit.flags.iter().any(|flag| ["superseded", "proposed", "retired"].contains(&flag.as_str()))
}

/// The full text of a memory, or the passage of a note.
fn recalled_text(store: &Store, hit: &Hit) -> Result<String, ToolError> {
    let row = MemoryId::parse(&hit.id).map(|id| store.rows().by_id(&id)).transpose()?.flatten();
    Ok(row.map_or_else(|| hit.snippet.clone(), |row| row.memory.content))
}

/// Whether a memory adds to the prompt: it neither is a part of it nor repeats it with a few more words.
fn adds_to_prompt(memory: &str, prompt: &str) -> bool {
    !prompt.contains(memory) && (!memory.contains(prompt) || memory.len() > prompt.len() * 3 / 2)
}

/// Letters and digits of a text, lower-cased, for a comparison that ignores case, space and punctuation.
fn comparable_letters(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests;
