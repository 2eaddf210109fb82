//! One memory, with everything about it and what can be done.

use std::collections::HashSet;

use axum::extract::Query;
use maud::{Markup, html};
use schema::model::memory::short_id;
use tools::engine::Engine;

use super::frame::{
    IdQuery, Visit, action, chip, edit_form, flag_name, folded_form, hidden_fields, link, memory_item, percent_encoded,
    select, type_name,
};
use crate::dispatcher::ReadNeed;
use crate::page::content::memory::{AboutMemory, Citation, OpenedMemory, cite, open, promotable_types};
use crate::page::language::Language;
use crate::page::state::PageResult;

pub(in crate::page) async fn memory(visit: Visit, Query(IdQuery { id }): Query<IdQuery>) -> PageResult {
    let language = visit.language;
    let read = move |engine: &mut Engine, _: &HashSet<String>| {
        let opened = open(engine, &id)?;
        let citation = opened.memory.as_ref().map(|_| cite(engine, &opened.id)).transpose()?;
        Ok((opened, citation))
    };
    let (opened, citation) = visit.page.read(ReadNeed::CaughtUpIndex, read).await?;
    let title: String = opened.text.chars().take(40).collect();
    let is_gone = visit.page.0.deletions.hidden().contains(&opened.id);
    let live = match (is_gone, &opened.memory) {
        (true, _) => deleted(&opened.id, language),
        (false, Some(about)) => whole(&opened, about, citation.as_ref(), language),
        (false, None) => passage(&opened, language),
    };
    visit.answer("search", &title, &html! {}, &live)
}

fn deleted(id: &str, language: Language) -> Markup {
    html! {
        p.empty { (language.of("This memory is being deleted.", "이 기억을 삭제하는 중입니다.")) }
        (action("undo", &[("id", id)], language.of("Undo", "실행 취소")))
    }
}

/// A part of a Markdown file that is no memory.
fn passage(opened: &OpenedMemory, language: Language) -> Markup {
    html! {
        article.memory {
            p.about { (chip(None, language)) (place(opened, language)) }
            div.body { (opened.text) }
            @if let Some(notice) = &opened.notice { p.notice { (notice) } }
        }
    }
}

fn place(opened: &OpenedMemory, language: Language) -> Markup {
    // Slashes separate folders, also on Windows.
    let path: Vec<String> = opened.file.replace('\\', "/").split('/').map(percent_encoded).collect();
    let address = format!("vscode://file/{}:{}", path.join("/").trim_start_matches('/'), opened.start_line);
    html! {
        code { (opened.path) ":" (opened.start_line) } " "
        a href=(address) { (language.of("open in VS Code", "VS Code에서 열기")) }
    }
}

fn whole(opened: &OpenedMemory, about: &AboutMemory, citation: Option<&Citation>, language: Language) -> Markup {
    html! {
        div.columns {
            article.memory {
                p.about {
                    (chip(Some(about.details.kind), language))
                    time { (about.details.date) }
                    @if about.is_pinned { span.flag { (flag_name("pinned", language)) } }
                    @if about.details.superseded_by.is_some() { span.flag { (flag_name("superseded", language)) } }
                    @if let Some(state) = about.shared { span.flag { (flag_name("shared", language)) ": " (flag_name(state, language)) } }
                    @if let Some(standing) = &about.details.standing { span.flag.good { (standing_name(standing, language)) } }
                    @if let Some(state) = &about.details.state { span.flag.good { (state) } }
                }
                div.body #text { (opened.text) }
                @if opened.is_cut { p.notice { (language.of("Only the beginning is shown; the file has the rest.", "앞부분만 보입니다. 나머지는 파일에 있습니다.")) } }
                @if let Some(notice) = &opened.notice { p.notice { (notice) } }
                (actions(opened, about, language))
                @if !about.chain.is_empty() {
                    h2 { (language.of("Replaces, or is replaced by", "대체 이력")) }
                    ol.memories { @for memory in &about.chain { (memory_item(memory, &[], language)) } }
                }
                @if let Some(evidence) = &about.details.evidence {
                    h2 { (language.of("Concluded from", "근거")) }
                    p.about { (chip(Some(evidence.kind), language)) a href=(link("memory", "id", &evidence.id)) { (evidence.path) ":" (evidence.start_line) } }
                    blockquote { (evidence.text) }
                }
                @if let Some(citation) = citation.filter(|citation| !citation.lines.is_empty()) { (lines(citation, language)) }
            }
            aside aria-label=(language.of("About this memory", "이 기억에 대해")) { (facts(opened, about, language)) }
        }
    }
}

fn standing_name(standing: &str, language: Language) -> &str {
    match standing {
        "confirmed" => language.of("confirmed", "확인됨"),
        "core" => language.of("core", "핵심"),
        other => other,
    }
}

fn actions(opened: &OpenedMemory, about: &AboutMemory, language: Language) -> Markup {
    let id = opened.id.as_str();
    let seen = [("id", id), ("seen", opened.digest.as_str())];
    if about.shared.is_some() {
        return shared_actions(&seen, about, language);
    }
    html! {
        div.actions {
            @if about.is_open_task { (action("close", &seen, language.of("Done", "완료"))) }
            @if about.details.state.as_deref() == Some("closed") { (action("reopen", &seen, language.of("Open again", "다시 열기"))) }
            @if about.can_be_confirmed { (action("confirm", &seen, language.of("Still true", "아직 유효함"))) }
            @if about.is_pinned { (action("unpin", &seen, language.of("Unpin", "고정 해제"))) }
            @else { (action("pin", &seen, language.of("Pin", "고정"))) }
            @if !about.is_long_term && !about.is_event {
                (action("promote", &seen, language.of("Move to MEMORY.md", "MEMORY.md로 옮기기")))
            }
            @if let Some(copy) = &about.shared_copy { a href=(link("memory", "id", copy)) { (language.of("Shared with the team", "팀과 공유함")) } }
            @if about.can_be_shared { (action("share", &seen, language.of("Share with the team", "팀과 공유"))) }
            button type="button" data-copy="#text" { (language.of("Copy", "복사")) }
            div.last { (action("forget", &seen, language.of("Delete", "삭제"))) }
        }
        @if opened.has_unshown {
            p.quiet { (language.of("This page cannot show all of its characters; jikime-memory edit keeps them.", "이 페이지가 보여 줄 수 없는 문자가 있습니다. jikime-memory edit는 그대로 둡니다.")) }
        } @else if !opened.is_cut { (text_form(opened, &seen, language)) }
        @if about.details.superseded_by.is_none() && !about.is_event { (replace_forms(&seen, language)) }
        @if !about.is_long_term && about.is_event { (promote_form(opened, language)) }
    }
}

/// The line of a shared memory belongs to the team, so it is not edited.
fn shared_actions(seen: &[(&str, &str)], about: &AboutMemory, language: Language) -> Markup {
    html! {
        div.actions {
            @if about.can_be_approved { (action("approve", seen, language.of("Approve", "승인"))) }
            @if about.shared != Some("retired") { (action("retire", seen, language.of("Retire", "종료"))) }
            button type="button" data-copy="#text" { (language.of("Copy", "복사")) }
            div.last { (action("forget", seen, language.of("Delete for all", "모두에게서 삭제"))) }
        }
    }
}

fn text_form(opened: &OpenedMemory, seen: &[(&str, &str)], language: Language) -> Markup {
    // A line break after the tag belongs to the tag.
    let text = html! { textarea name="text" rows="8" aria-label=(language.of("Text", "본문")) { "\n" (opened.text) } };
    folded_form(language.of("Edit", "수정"), "edit", seen, &text, language.of("Save", "저장"))
}

fn replace_forms(seen: &[(&str, &str)], language: Language) -> Markup {
    let text = html! { label { span { (language.of("What is true now", "지금 맞는 내용")) } textarea name="text" rows="4" required {} } };
    html! {
        details.form {
            summary { (language.of("Replace", "대체")) }
            (edit_form("replace", seen, &text, language.of("Save as replacement", "대체하는 기억으로 저장")))
            form.action method="post" action="do" autocomplete="off" {
                (hidden_fields("supersede", seen))
                label { span { (language.of("Or the id of the memory that replaces it", "또는 이것을 대체하는 기억의 id")) } input type="text" name="other" required; }
                button type="submit" { (language.of("Mark as replaced", "대체됨으로 표시")) }
            }
        }
    }
}

fn promote_form(opened: &OpenedMemory, language: Language) -> Markup {
    let types: Vec<(&str, &str)> = promotable_types().map(|kind| (kind.as_str(), type_name(kind, language))).collect();
    html! {
        details.form {
            summary { (language.of("Move to MEMORY.md", "MEMORY.md로 옮기기")) }
            form.action method="post" action="do" autocomplete="off" {
                (hidden_fields("promote", &[("id", opened.id.as_str())]))
                (select("kind", language.of("As", "종류"), &types, ""))
                button type="submit" { (language.of("Save", "저장")) }
            }
        }
    }
}

fn facts(opened: &OpenedMemory, about: &AboutMemory, language: Language) -> Markup {
    let details = &about.details;
    html! {
        dl.facts {
            dt { "id" } dd { code { (short_id(&opened.id)) } }
            dt { (language.of("file", "파일")) } dd { (place(opened, language)) }
            @if !details.session_id.is_empty() {
                dt { (language.of("session", "세션")) }
                dd { a href=(link("session", "id", &details.session_id)) { (about.session_title.as_deref().unwrap_or(&details.session_id)) } }
            }
            dt { (language.of("origin", "출처")) }
            dd { (match (details.auto, about.is_event) {
                (true, _) => language.of("taken from a conversation", "대화에서 추출"),
                (false, true) => language.of("recorded by a hook", "훅이 자동 기록"),
                (false, false) => language.of("saved on purpose", "직접 저장"),
            }) }
            @if !about.tags.is_empty() {
                dt { (language.of("tags", "태그")) }
                dd { @for tag in &about.tags { a href=(link("search", "tag", tag)) { "#" (tag) } " " } }
            }
            @if let Some(also) = &details.also { dt { (language.of("also found by", "다른 표현")) } dd { (also) } }
            @if !details.code.is_empty() {
                dt { (language.of("code", "코드")) }
                dd { ul { @for code in &details.code { li { (code) } } } }
            }
            @if let Some(at) = &details.confirmed_at { dt { (language.of("confirmed", "확인")) } dd { (at) } }
            @if let Some(by) = &details.settled_by { dt { (language.of("settled by", "해결")) } dd { (by) } }
            @if details.repeats > 0 {
                dt { (language.of("happened again", "반복")) } dd { (details.repeats) "×" @if let Some(at) = &details.repeated_at { ", " (at) } }
            }
            dt { (language.of("opened by models", "모델이 연 횟수")) } dd { (about.opened) }
            dt { (language.of("given to sessions", "이 기억을 전달받은 세션")) }
            dd { (given_list(about, language)) }
            @for (name, value) in details.metadata.iter().filter(|(name, _)| *name != "tags") {
                dt { (name) } dd { (value.as_str().map_or_else(|| value.to_string(), str::to_owned)) }
            }
        }
    }
}

/// Sessions that were given the memory, among the last ones.
fn given_list(about: &AboutMemory, language: Language) -> Markup {
    const SHOWN: usize = 12;
    let how = |how: &str| match how {
        "brief" => language.of("brief", "브리핑"),
        "recall" => language.of("with a prompt", "요청과 함께"),
        _ => language.of("search", "검색"),
    };
    html! {
        @if about.given.is_empty() { (language.of("none of the last ones", "최근에는 없음")) }
        ul { @for given in about.given.iter().take(SHOWN) {
            li { (given.at) ", " (how(given.how)) ": "
                a href=(link("session", "id", &given.session_id)) { (given.session_title.as_deref().unwrap_or(&given.session_id)) }
            }
        } }
        @if about.given.len() > SHOWN { "+" (about.given.len() - SHOWN) }
    }
}

/// The lines of the log, with those of the memory marked.
fn lines(citation: &Citation, language: Language) -> Markup {
    html! {
        details {
            summary { (language.of("In the log", "로그에서")) }
            pre.lines tabindex="0" aria-label=(language.of("Lines of the log", "로그의 줄")) { @for (number, line) in (citation.first..).zip(&citation.lines) {
                span.line.own[(citation.start_line..=citation.end_line).contains(&number)] { span.number { (number) } " " (line) }
            } }
        }
    }
}
