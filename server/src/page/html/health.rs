//! The checks of `doctor`, growth, and what the hooks reported.

use axum::response::Html;
use maud::{Markup, html};
use schema::store::hook_log::HookTimes;

use super::frame::{Visit, cleaned, type_name};
use crate::cli::terminal_text::{clean_for_terminal, format_bytes};
use crate::dispatcher::ReadNeed;
use crate::doctor::DoctorCheck;
use crate::page::content::health::{Growth, checks, growth};
use crate::page::language::Language;
use crate::page::state::PageResult;

pub(in crate::page) async fn health(visit: Visit) -> PageResult {
    let language = visit.language;
    if visit.part.as_deref() == Some("checks") {
        let project = visit.page.0.project.clone();
        let checked = tokio::task::spawn_blocking(move || checks(&project)).await;
        let shown = match checked {
            Ok(Ok(checks)) => findings(&checks, language),
            _ => {
                html! { p.notice { (language.of("The checks could not run; try jikime-memory doctor.", "점검하지 못했습니다. jikime-memory doctor를 실행해 보세요.")) } }
            }
        };
        return Ok(Html(cleaned(&shown)));
    }
    let found = visit.page.read(ReadNeed::OpenStore, |engine, _| growth(engine)).await?;
    let live = html! {
        h2 { (language.of("Checks", "점검")) }
        div data-load="health?part=checks" { p.quiet { (language.of("Checking …", "점검하는 중 …")) } }
        (figures(&found, language))
    };
    visit.answer("health", language.of("Health", "상태"), &html! {}, &live)
}

fn findings(checks: &[DoctorCheck], language: Language) -> Markup {
    let (wrong, fine): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.is_finding());
    let check = |check: &DoctorCheck| {
        html! {
            li {
                strong { (check.about) } " " (clean_for_terminal(&check.what))
                @if let Some(fix) = &check.fix { p.fix { (language.of("fix: ", "해결: ")) (clean_for_terminal(fix)) } }
            }
        }
    };
    html! {
        @if wrong.is_empty() { p.fine { (language.of("Everything is fine.", "모두 정상입니다.")) } }
        @else { ul.checks.wrong { @for wrong in wrong { (check(wrong)) } } }
        details { summary { (language.of(format!("{} checks passed", fine.len()), format!("통과한 점검 {}개", fine.len()))) } ul.checks { @for fine in fine { (check(fine)) } } }
    }
}

fn figures(found: &Growth, language: Language) -> Markup {
    let stats = &found.stats;
    let coverage = format!("{:.0} %", stats.embedding.coverage * 100.0);
    let answering = match stats.queue_answered_by {
        schema::tool::QueueOwner::ThisServer => language.of("this page", "이 페이지"),
        schema::tool::QueueOwner::AnotherServer => language.of("another server", "다른 서버"),
        schema::tool::QueueOwner::Nobody => {
            language.of("no server; hooks write themselves", "서버 없음, 훅이 직접 기록")
        }
    };
    let disk = found.disk;
    html! {
        h2 { (language.of("Growth", "증가 추이")) }
        dl.numbers {
            div { dt { (language.of("memories", "기억")) } dd { (stats.memories) } }
            div { dt { (language.of("sessions", "세션")) } dd { (stats.sessions) } }
            div { dt { (language.of("last 7 days", "지난 7일")) } dd { (found.last_7_days) } }
            div { dt { (language.of("last 30 days", "지난 30일")) } dd { (found.last_30_days) } }
            div { dt { (language.of("with a vector", "벡터 비율")) } dd { (coverage) } }
            div { dt { (language.of("secrets removed", "제거한 비밀값")) } dd { (stats.redactions) } }
            div { dt { (language.of("waiting events", "대기 중")) } dd { (stats.queue) } }
            div { dt { (language.of("not indexed yet", "색인 대기")) } dd { (stats.pending) } }
        }
        (months(&found.months, language))
        h2 { (language.of("Store", "저장소")) }
        dl.facts {
            dt { "Markdown" } dd { (format_bytes(disk.markdown)) }
            dt { "memory.db" } dd { (format_bytes(disk.rows)) }
            dt { "index.db" } dd { (format_bytes(disk.index)) }
            dt { (language.of("events of hooks go to", "훅의 이벤트를 받는 곳")) } dd { (answering) }
            dt { (language.of("types", "종류")) }
            dd { @for (number, count) in stats.types.iter().enumerate() { @if number > 0 { ", " } (type_name(count.kind, language)) " " (count.count) } }
        }
        (hook_times(&found.hook_times, language))
        @if !found.other_projects.is_empty() {
            h2 { (language.of("Your other projects", "다른 프로젝트")) }
            ul.checks { @for project in &found.other_projects { li { code { "jikime-memory --project " (project.display()) " view" } } } }
        }
        @if !stats.problems.is_empty() {
            h2 { (language.of("Reported lately", "최근 보고")) }
            ul.checks { @for problem in &stats.problems { li { (clean_for_terminal(problem)) } } }
        }
    }
}

fn hook_times(times: &[HookTimes], language: Language) -> Markup {
    html! {
        @if !times.is_empty() {
            h2 { (language.of("Hooks in the last 7 days", "지난 7일의 훅")) span.quiet { (language.of("milliseconds", "밀리초")) } }
            table.times {
                thead { tr {
                    th scope="col" { (language.of("hook", "훅")) } th scope="col" { (language.of("runs", "횟수")) }
                    th scope="col" { (language.of("median", "중앙값")) } th scope="col" { (language.of("p95", "p95")) }
                    th scope="col" { (language.of("slowest", "최대")) }
                } }
                tbody { @for hook in times { tr {
                    th scope="row" { (clean_for_terminal(&hook.hook)) } td { (hook.runs) }
                    @for time in [hook.median_ms, hook.p95_ms, hook.slowest_ms] { td { (format!("{time:.1}")) } }
                } } }
            }
        }
    }
}

/// Bars for the last months.
fn months(months: &[(String, u64)], language: Language) -> Markup {
    const SHOWN: usize = 24;
    const LEAST: usize = 12;
    const WIDTH: usize = 24;
    const HEIGHT: u64 = 100;
    let shown = &months[months.len().saturating_sub(SHOWN)..];
    let most = shown.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    html! {
        @if !shown.is_empty() {
            figure.plot {
                svg viewBox={ "0 0 " (shown.len().max(LEAST) * WIDTH) " 120" } aria-hidden="true" {
                    @for (number, (month, count)) in shown.iter().enumerate() {
                        @let height = (count * HEIGHT / most).max(1);
                        rect.bar x=(number * WIDTH) y=(HEIGHT - height) width=(WIDTH - 6) height=(height) rx="2" { title { (month) ": " (count) } }
                    }
                    @if let (Some((first, _)), Some((last, _))) = (shown.first(), shown.last()) {
                        text x="0" y="116" { (first) }
                        @if shown.len() > 4 { text x=(shown.len() * WIDTH - 6) y="116" text-anchor="end" { (last) } }
                    }
                }
                figcaption.quiet { (language.of("memories of each month", "월별 기억 수")) }
            }
        }
    }
}
