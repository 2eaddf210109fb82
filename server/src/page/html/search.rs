//! Search as you type, and the newest memories.

use std::collections::HashSet;

use axum::extract::Query;
use maud::{Markup, html};
use schema::model::memory::MemoryType;
use tools::engine::Engine;

use super::frame::{Visit, fold_in_place, memory_item, select, type_name};
use crate::dispatcher::ReadNeed;
use crate::page::content::search::{HITS, NEWEST, SearchAnswer, SearchForm};
use crate::page::language::Language;
use crate::page::state::PageResult;

pub(in crate::page) async fn search(visit: Visit, Query(form): Query<SearchForm>) -> PageResult {
    let language = visit.language;
    let asked = form.clone();
    let read = move |engine: &mut Engine, hidden: &HashSet<String>| asked.answer(engine, hidden);
    let answer = visit.page.read(ReadNeed::CaughtUpIndex, read).await?;
    let live = results(&form, &answer, language);
    visit.answer("search", language.of("Search", "검색"), &fields(&form, language), &live)
}

/// The field and the filters.
fn fields(form: &SearchForm, language: Language) -> Markup {
    let spans = [
        ("", language.of("any time", "전체 기간")),
        ("1d", language.of("last 24 hours", "지난 24시간")),
        ("7d", language.of("last 7 days", "지난 7일")),
        ("30d", language.of("last 30 days", "지난 30일")),
        ("365d", language.of("last year", "지난 1년")),
    ];
    let standings = [
        ("", language.of("any", "전체")),
        ("confirmed", language.of("confirmed", "확인됨")),
        ("core", language.of("core: pinned, or confirmed often", "핵심: 고정했거나 여러 번 확인됨")),
    ];
    let superseded = [
        ("", language.of("show", "표시")),
        ("hide", language.of("hide", "숨김")),
        ("only", language.of("only", "이것만")),
    ];
    let types: Vec<(&str, &str)> = std::iter::once(("", language.of("all types", "모든 종류")))
        .chain(MemoryType::ALL.map(|kind| (kind.as_str(), type_name(kind, language))))
        .collect();
    html! {
        form.search role="search" action="search" method="get" {
            input #q type="search" name="q" value=(form.q) autocomplete="off" spellcheck="false"
                aria-label=(language.of("Words or a question", "단어나 질문"))
                placeholder=(language.of("Words or a question, in any language  ( / )", "단어나 질문, 어떤 언어든  ( / )"));
            details open[form.is_filtered()] {
                summary data-active=[form.is_filtered().then_some("")] { (language.of("Filters", "필터")) }
                div.filters {
                    (select("type", language.of("Type", "종류"), &types, &form.kind))
                    (select("since", language.of("Time", "기간"), &spans, &form.since))
                    (select("standing", language.of("Standing", "확인 단계"), &standings, &form.standing))
                    (select("superseded", language.of("Replaced ones", "대체된 기억"), &superseded, &form.superseded))
                    (field("tag", language.of("Tag", "태그"), &form.tag))
                    (field("session", language.of("Session", "세션"), &form.session))
                    (field("file", language.of("File or folder", "파일이나 폴더"), &form.file))
                }
            }
        }
    }
}

fn field(name: &str, label: &str, value: &str) -> Markup {
    html! { label { span { (label) } input type="text" name=(name) value=(value) autocomplete="off"; } }
}

fn results(form: &SearchForm, answer: &SearchAnswer, language: Language) -> Markup {
    let words = words_of(&form.q);
    let count = answer.memories.len();
    let head = match (form.q.trim().is_empty(), language) {
        (true, _) if !form.kind.is_empty() => language.of("Newest memories", "최근 기억").to_owned(),
        (true, _) => language.of("Newest conclusions", "최근 결론").to_owned(),
        (false, Language::English) => format!("{count} found in {} ms", answer.milliseconds),
        (false, Language::Korean) => format!("결과 {count}개 ({} ms)", answer.milliseconds),
    };
    html! {
        h2.quiet { (head) }
        @if let Some(notice) = &answer.notice { p.notice { (notice) } }
        @if count == 0 && answer.notice.is_none() {
            p.empty { (language.of("Nothing here. Try other words, or fewer filters.", "없습니다. 다른 말을 쓰거나 필터를 줄여 보세요.")) }
        }
        ol.memories { @for memory in &answer.memories { (memory_item(memory, &words, language)) } }
        @if count >= NEWEST || !form.q.trim().is_empty() && count >= HITS as usize { p.quiet { (language.of("Only these are listed; other words or filters find more.", "여기까지만 표시합니다. 다른 말이나 필터로 더 찾을 수 있습니다.")) } }
    }
}

/// The words to mark: of a long Korean word also its beginning, because particles differ.
pub(super) fn words_of(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.chars().count() >= 2);
    let shortened = |word: &str| -> String {
        let is_korean = word.chars().all(|c| ('\u{AC00}'..='\u{D7A3}').contains(&c));
        let length = word.chars().count();
        word.chars().take(if is_korean && length > 2 { length - 1 } else { length }).collect()
    };
    words.map(|word| shortened(&fold_in_place(word))).collect()
}
