//! The next brief, and the memories that earlier sessions got.

use axum::extract::Query;
use maud::{Markup, html};
use schema::host::hook::SessionSource;
use schema::settings::{BRIEF_SIZES, BriefMode};

use super::frame::{Visit, action, chip, hidden_fields, link, select};
use crate::dispatcher::ReadNeed;
use crate::page::content::briefs::{Briefs, BriefsForm, GivenSession, SOURCES, read};
use crate::page::language::Language;
use crate::page::state::PageResult;

pub(in crate::page) async fn briefs(visit: Visit, Query(form): Query<BriefsForm>) -> PageResult {
    let language = visit.language;
    let found = visit.page.read(ReadNeed::OpenStore, move |engine, _| read(engine, &form)).await?;
    let live = html! {
        (settings(&found, language))
        (brief(&found, language))
        h2 { (language.of("Given to earlier sessions", "이전 세션에 전달된 기억")) }
        p.quiet { (language.of("The texts are those of today.", "본문은 지금의 내용입니다.")) }
        @if found.sessions.is_empty() { p.empty { (language.of("Nothing is recorded yet.", "아직 기록이 없습니다.")) } }
        @for session in &found.sessions { (given(session, language)) }
    };
    visit.answer("briefs", language.of("Briefs", "브리핑"), &fields(&found, language), &live)
}

fn source_name(source: SessionSource, language: Language) -> &'static str {
    match source {
        SessionSource::Startup | SessionSource::Fork => language.of("new session", "새 세션"),
        SessionSource::Resume => language.of("resumed", "세션 재개"),
        SessionSource::Compact => language.of("after compaction", "압축 뒤"),
        SessionSource::Clear => language.of("after /clear", "/clear 뒤"),
    }
}

/// The start that the brief is for, and its size. The result follows at once.
fn fields(found: &Briefs, language: Language) -> Markup {
    let sources = SOURCES.map(|source| (source.as_str(), source_name(source, language)));
    html! {
        form.search action="briefs" method="get" {
            div.filters {
                (select("source", language.of("The session is", "세션"), &sources, found.source.as_str()))
                label { span { (language.of("Characters of the brief", "브리핑 글자 수")) " (" (BRIEF_SIZES.start()) "–" (BRIEF_SIZES.end()) ")" }
                    input type="number" name="size" min=(BRIEF_SIZES.start()) max=(BRIEF_SIZES.end()) step="100" value=(found.size);
                }
            }
        }
    }
}

/// Keeps what was tried.
fn settings(found: &Briefs, language: Language) -> Markup {
    let size = found.size.to_string();
    let mode_name = |mode: BriefMode| match mode {
        BriefMode::Always => language.of("at each start", "시작할 때마다"),
        BriefMode::AfterCompaction => language.of("only after a compaction", "압축 뒤에만"),
        BriefMode::Never => language.of("never", "사용 안 함"),
    };
    html! {
        div.settings {
            @if found.size == found.set_size {
                p.quiet { (language.of(format!("Briefs have up to {size} characters."), format!("브리핑은 {size}자까지입니다."))) }
            } @else {
                @let label = language.of(
                    format!("Use {size} from now on (now {})", found.set_size),
                    format!("앞으로 {size}자 사용 (지금 {}자)", found.set_size),
                );
                (action("set", &[("setting", "brief_size"), ("text", &size)], &label))
            }
            form.action method="post" action="do" {
                (hidden_fields("set", &[("setting", "brief")]))
                label { span { (language.of("A session gets a brief", "브리핑을 주는 때")) }
                    select name="text" data-submit { @for mode in BriefMode::ALL {
                        option value=(mode.name()) selected[mode == found.mode] { (mode_name(mode)) }
                    } }
                }
            }
        }
    }
}

fn brief(found: &Briefs, language: Language) -> Markup {
    let text = found.brief.as_deref().unwrap_or_default();
    let count = text.chars().count();
    html! {
        h2 { (language.of("The brief now", "지금의 브리핑")) span.quiet { (count) " / " (found.size) } }
        @match &found.brief {
            Some(text) => pre.brief { (text) },
            None => p.empty { (language.of("There is nothing to give.", "전달할 것이 없습니다.")) },
        }
    }
}

fn given(session: &GivenSession, language: Language) -> Markup {
    let how = |how: &str| match how {
        "brief" => language.of("in the brief", "브리핑"),
        "recall" => language.of("with a prompt", "요청과 함께"),
        _ => language.of("as a hit of a search", "검색 결과"),
    };
    html! {
        details.given {
            summary { time { (session.started) } " " (session.title.as_deref().unwrap_or(&session.id)) " " span.quiet { (session.memories.len() + session.more) } }
            p { a href=(link("session", "id", &session.id)) { (language.of("Open the session", "세션 열기")) } }
            ul { @for given in &session.memories {
                li { span.quiet { (given.at) ", " (how(given.how)) ": " }
                    @match &given.memory {
                        Some(memory) => { (chip(memory.kind, language)) " " a href=(link("memory", "id", &memory.id)) { (memory.excerpt.chars().take(120).collect::<String>()) } },
                        None => span.quiet { (language.of("deleted since", "삭제됨")) },
                    }
                }
            } }
            @if session.more > 0 { p.quiet { "+" (session.more) } }
        }
    }
}
