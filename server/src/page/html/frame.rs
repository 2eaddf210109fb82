//! The parts of all pages: the navigation, lists of memories, buttons. A request with `part` gets only what changes, so that the script can
//! replace it.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::response::Html;
use maud::{DOCTYPE, Markup, html};
use schema::model::memory::MemoryType;
use schema::privacy::output_text::clean_text;
use serde::Deserialize;

use crate::page::content::MemoryItem;
use crate::page::language::Language;
use crate::page::state::{PageHandle, PageResult};

/// The places in the navigation: path, English and Korean name.
const PLACES: [(&str, &str, &str); 5] = [
    ("search", "Search", "검색"),
    ("timeline", "Timeline", "타임라인"),
    ("review", "Review", "검토"),
    ("briefs", "Briefs", "브리핑"),
    ("health", "Health", "상태"),
];

/// The address of a page about one thing.
#[derive(Deserialize)]
pub(in crate::page) struct IdQuery {
    pub(super) id: String,
}

/// A request for a page of the navigation. With `part`, it gets only what changes.
pub(in crate::page) struct Visit {
    pub(super) page: PageHandle,
    pub(super) language: Language,
    pub(super) part: Option<String>,
}

#[derive(Deserialize)]
struct PartQuery {
    part: Option<String>,
}

impl FromRequestParts<PageHandle> for Visit {
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, page: &PageHandle) -> Result<Self, QueryRejection> {
        let Ok(language) = Language::from_request_parts(parts, page).await;
        let Query(PartQuery { part }) = Query::from_request_parts(parts, page).await?;
        Ok(Self { page: page.clone(), language, part })
    }
}

impl Visit {
    /// The page at a `place` of the navigation, or only `live`, the part that the script replaces when the store changes. The `fixed` part
    /// stays, such as the field of a search.
    pub(super) fn answer(&self, place: &str, title: &str, fixed: &Markup, live: &Markup) -> PageResult {
        let failures = self.page.0.deletions.failures();
        let live = html! { @for failure in &failures { p.notice { (failure) } } (live) };
        Ok(match self.part {
            Some(_) => Html(cleaned(&live)),
            None => self.whole(place, title, fixed, &live),
        })
    }

    fn whole(&self, place: &str, title: &str, fixed: &Markup, live: &Markup) -> Html<String> {
        let Self { page, language, .. } = self;
        let project = page.0.project.file_name().unwrap_or_default().to_string_lossy();
        let body = html! {
            a.skip href="#live" { (language.of("Skip to the content", "본문으로 건너뛰기")) }
            header.top {
                a.brand href="search" { "jikime" span { "memory" } }
                span.project title=(page.0.project.display()) { (project) }
                nav aria-label=(language.of("Views", "화면")) {
                    @for (path, english, korean) in PLACES {
                        a href=(path) aria-current=[(path == place).then_some("page")] { (language.of(english, korean)) }
                    }
                }
            }
            main {
                h1.unseen { (title) }
                (fixed)
                section #live tabindex="-1" aria-label=(title) { (live) }
            }
            footer.quiet { (language.of("Keys: / search · j k move · Enter open · Esc back", "키: / 검색 · j k 이동 · Enter 열기 · Esc 뒤로")) }
            (toast(page, *language))
        };
        document(*language, &format!("{title} · {project}"), Some(&page.0.access.form_token), &body)
    }
}

/// The place of messages, with the last deletion that can be undone.
fn toast(page: &PageHandle, language: Language) -> Markup {
    let last = page.0.deletions.last();
    html! {
        div #toast role="status" aria-live="polite"
            data-undo=(language.of("Undo deletion", "삭제 되돌리기"))
            data-deleted=(language.of("Deleted.", "삭제했습니다."))
            data-gone=(language.of("The server of this page has ended. Run jikime-memory view again.", "이 페이지의 서버가 종료되었습니다. jikime-memory view를 다시 실행하세요."))
            data-busy=(language.of("Another change is under way; try again.", "다른 변경을 처리하는 중입니다. 다시 시도하세요."))
            data-copied=(language.of("Copied.", "복사했습니다."))
            data-sure=(language.of("Do this for all memories?", "모든 기억에 적용할까요?"))
            data-undo-id=[last.as_ref().map(|(id, _)| id)]
            data-undo-seconds=[last.as_ref().map(|(_, left)| left.as_secs())] {}
    }
}

/// The page for an error.
pub(in crate::page) fn error(page: PageHandle, language: Language, text: &str) -> Html<String> {
    let live = html! {
        p.empty { (text) }
        p.empty { a href="search" { (language.of("To the newest memories", "최근 기억으로")) } }
    };
    let title = language.of("Problem", "문제");
    Visit { page, language, part: None }.whole("", title, &html! {}, &live)
}

fn document(language: Language, title: &str, form_token: Option<&str>, body: &Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang=(language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(token) = form_token { meta name="form-token" content=(token); }
                title { (title) }
                link rel="icon" href="static/icon.svg";
                link rel="stylesheet" href="static/view.css";
                script src="static/view.js" defer {}
            }
            body { (body) }
        }
    };
    Html(cleaned(&page))
}

/// HTML without characters that are invisible or reorder text, wherever they come from.
pub(super) fn cleaned(markup: &Markup) -> String {
    clean_text(&markup.0).into_owned()
}

/// The page before the token in the address was exchanged.
pub(in crate::page) fn entry(language: Language) -> Html<String> {
    let text = language.of(
        "This address works once, within a minute after it was printed, and needs cookies. Run jikime-memory view again if this page stays.",
        "이 주소는 출력된 뒤 1분 안에 한 번만 쓸 수 있고 쿠키가 필요합니다. 이 화면이 그대로면 jikime-memory view를 다시 실행하세요.",
    );
    let body = html! {
        main.entry #entry {
            h1.brand { "jikime" span { "memory" } }
            p { (text) }
        }
    };
    document(language, "jikime-memory", None, &body)
}

/// The address of a view for one thing.
pub(super) fn link(path: &str, name: &str, value: &str) -> String {
    format!("{path}?{name}={}", percent_encoded(value))
}

/// A text as a part of an address: all but letters, digits and `-._` as `%` and the byte.
pub(super) fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
        encoded
    })
}

/// The name of a type for people.
pub(super) fn type_name(kind: MemoryType, language: Language) -> &'static str {
    match kind {
        MemoryType::UserPrompt => language.of("prompt", "요청"),
        MemoryType::AssistantResponse => language.of("answer", "답변"),
        MemoryType::ToolUsage => language.of("tool", "도구"),
        MemoryType::Error => language.of("error", "오류"),
        MemoryType::SubagentResult => language.of("subagent", "하위 에이전트"),
        MemoryType::Decision => language.of("decision", "결정"),
        MemoryType::Learning => language.of("learning", "배운 점"),
        MemoryType::ErrorFix => language.of("fix", "수정"),
        MemoryType::SessionSummary => language.of("summary", "요약"),
        MemoryType::Preference => language.of("preference", "선호"),
        MemoryType::Convention => language.of("convention", "규칙"),
        MemoryType::Architecture => language.of("architecture", "구조"),
        MemoryType::Pattern => language.of("pattern", "패턴"),
        MemoryType::Task => language.of("task", "할 일"),
    }
}

pub(super) fn chip(kind: Option<MemoryType>, language: Language) -> Markup {
    match kind {
        Some(kind) => html! { span.chip.(kind.as_str()) { (type_name(kind, language)) } },
        None => html! { span.chip.note { (language.of("note", "노트")) } },
    }
}

pub(super) fn flag_name(flag: &str, language: Language) -> &str {
    match flag {
        "superseded" => language.of("replaced", "대체됨"),
        "outdated" => language.of("maybe outdated", "오래된 듯함"),
        "long_term" => language.of("MEMORY.md", "MEMORY.md"),
        "pinned" => language.of("pinned", "고정"),
        "done" => language.of("done", "완료"),
        "personal" => language.of("personal", "개인"),
        "shared" => language.of("shared", "공유"),
        "proposed" => language.of("proposed", "제안됨"),
        "approved" => language.of("approved", "승인됨"),
        "retired" => language.of("retired", "종료됨"),
        other => other,
    }
}

/// A memory as an item of a list, with the words of a query marked.
pub(super) fn memory_item(memory: &MemoryItem, words: &[String], language: Language) -> Markup {
    let is_superseded = memory.flags.iter().any(|flag| flag == "superseded");
    // A personal memory belongs to another store.
    let is_personal = memory.flags.iter().any(|flag| flag == "personal");
    html! {
        li.memory.superseded[is_superseded] {
            p.about {
                (chip(memory.kind, language))
                time { (memory.date) }
                @for flag in &memory.flags { span.flag { (flag_name(flag, language)) } }
                @if let Some(code) = &memory.code { span.flag.warn { (code) } }
                @if let Some(score) = memory.score {
                    span.score title=(language.of("Relevance from 0 to 1", "관련도, 0에서 1까지")) {
                        meter min="0" max="1" value=(score) aria-label=(language.of("relevance", "관련도")) {}
                        (format!("{score:.2}"))
                        @if memory.confidence == Some("suggested") { " " (language.of("maybe", "혹시")) }
                    }
                }
            }
            @if is_personal {
                p.text { (marked(&memory.excerpt, words)) }
            } @else {
                a.text href=(link("memory", "id", &memory.id)) { (marked(&memory.excerpt, words)) }
            }
        }
    }
}

/// A text in which words are marked, whatever their case.
fn marked(text: &str, words: &[String]) -> Markup {
    let folded = fold_in_place(text);
    let places = words.iter().flat_map(|word| folded.match_indices(word.as_str()));
    let mut spans: Vec<(usize, usize)> = places.map(|(at, found)| (at, at + found.len())).collect();
    spans.sort_unstable();
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, end) in spans {
        if start >= at {
            parts.push((&text[at..start], &text[start..end]));
            at = end;
        }
    }
    html! {
        @for (plain, found) in parts { (plain) mark { (found) } }
        (text[at..])
    }
}

/// Lower case of the same length in bytes, so that places in both are the same.
pub(super) fn fold_in_place(text: &str) -> String {
    let fold = |c: char| {
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(only), None) if only.len_utf8() == c.len_utf8() => only,
            _ => c,
        }
    };
    text.chars().map(fold).collect()
}

/// A form with a button that carries out an action.
pub(super) fn action(action: &str, fields: &[(&str, &str)], label: &str) -> Markup {
    html! {
        form.action method="post" action="do" {
            (hidden_fields(action, fields))
            button type="submit" { (label) }
        }
    }
}

/// A form with `content` to fill in, which opens when its `title` is clicked.
pub(super) fn folded_form(title: &str, action: &str, fields: &[(&str, &str)], content: &Markup, label: &str) -> Markup {
    html! {
        details.form {
            summary { (title) }
            (edit_form(action, fields, content, label))
        }
    }
}

pub(super) fn edit_form(action: &str, fields: &[(&str, &str)], content: &Markup, label: &str) -> Markup {
    html! {
        form.action.edit method="post" action="do" autocomplete="off" {
            (hidden_fields(action, fields))
            (content)
            button type="submit" { (label) }
        }
    }
}

pub(super) fn hidden_fields(action: &str, fields: &[(&str, &str)]) -> Markup {
    html! {
        input type="hidden" name="action" value=(action);
        @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
    }
}

/// A field with choices: values and their texts.
pub(super) fn select(name: &str, label: &str, choices: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        label { span { (label) }
            select name=(name) {
                @for (value, text) in choices { option value=(value) selected[*value == chosen] { (text) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_markup_is_escaped() {
        let words = ["redis".to_owned(), "<b".to_owned()];
        assert_eq!(
            marked("Use <b>Redis</b>, REDIS", &words).into_string(),
            "Use <mark>&lt;b</mark>&gt;<mark>Redis</mark>&lt;/b&gt;, <mark>REDIS</mark>"
        );
    }

    #[test]
    fn any_text_can_be_a_part_of_an_address() {
        assert_eq!(link("session", "id", "a&b #+%·"), "session?id=a%26b%20%23%2B%25%C2%B7");
    }

    #[test]
    fn letters_of_other_lengths_keep_their_places() {
        assert_eq!(marked("İstanbul Redis", &["redis".to_owned()]).into_string(), "İstanbul <mark>Redis</mark>");
    }
}
