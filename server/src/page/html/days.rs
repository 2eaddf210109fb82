//! Days, sessions and tasks.

use std::collections::HashSet;

use axum::extract::Query;
use chrono::NaiveDate;
use maud::{Markup, html};
use schema::model::moment::Moment;
use serde::Deserialize;
use tools::engine::Engine;

use super::frame::{IdQuery, Visit, action, hidden_fields, link, memory_item};
use crate::cli::terminal_text::{count_of_memories, count_with_unit};
use crate::dispatcher::ReadNeed;
use crate::page::content::history::{self, DaySession, OpenedSession, SessionItem, TaskItem, Timeline};
use crate::page::language::Language;
use crate::page::state::PageResult;

#[derive(Deserialize)]
pub(in crate::page) struct DaysQuery {
    /// A date; others are ignored.
    before: Option<String>,
}

fn sections(current: &str, language: Language) -> Markup {
    let sections = [
        ("timeline", language.of("Days", "날짜")),
        ("sessions", language.of("Sessions", "세션")),
        ("tasks", language.of("Tasks", "할 일")),
    ];
    html! {
        nav.tabs aria-label=(language.of("Sections", "섹션")) {
            @for (path, name) in sections {
                a href=(path) aria-current=[(path == current).then_some("page")] { (name) }
            }
        }
    }
}

pub(in crate::page) async fn timeline(visit: Visit, Query(query): Query<DaysQuery>) -> PageResult {
    let language = visit.language;
    let before = query.before.and_then(|before| before.parse().ok());
    let read = move |engine: &mut Engine, hidden: &HashSet<String>| history::timeline(engine, before, hidden);
    let timeline = visit.page.read(ReadNeed::OpenStore, read).await?;
    let live = html! {
        (day_map(&timeline, language))
        @for day in &timeline.days {
            section.day id=(format!("d{}", day.date)) {
                @let count = language.of(
                    format!("{} memor{}", day.memories, if day.memories == 1 { "y" } else { "ies" }),
                    format!("기억 {}개", day.memories),
                );
                h2 { time datetime=(day.date) { (date_name(day.date, language)) } span.quiet { (count) } }
                @if !day.sessions.is_empty() { ul.sessions { @for session in &day.sessions { (session_of_day(session, language)) } } }
                @if !day.conclusions.is_empty() { ol.memories { @for memory in &day.conclusions { (memory_item(memory, &[], language)) } } }
                @if day.more > 0 { p.quiet { "+" (day.more) } }
            }
        }
        @if timeline.days.is_empty() { p.empty { (language.of("There are no memories yet.", "아직 기억이 없습니다.")) } }
        @if let Some(before) = timeline.before { p { a href={ "timeline?before=" (before) } { (language.of("Earlier days", "이전 날짜 더 보기")) } } }
    };
    visit.answer("timeline", language.of("Timeline", "타임라인"), &sections("timeline", language), &live)
}

fn date_name(date: NaiveDate, language: Language) -> String {
    const KOREAN: [&str; 7] = ["월", "화", "수", "목", "금", "토", "일"];
    let weekday = chrono::Datelike::weekday(&date).num_days_from_monday() as usize;
    language.of(date.format("%A, %Y-%m-%d").to_string(), format!("{date} ({})", KOREAN[weekday]))
}

/// Squares for the days of a year, a column for each week, darker with more memories.
fn day_map(timeline: &Timeline, language: Language) -> Markup {
    const SIDE: i64 = 11;
    let most = timeline.counts.values().copied().max().unwrap_or(1).max(1);
    let total: u64 = timeline.counts.values().sum();
    let days = timeline.counts.len();
    let label = language.of(
        format!("{} on {} of the last year", count_of_memories(total), count_with_unit(days as u64, "day")),
        format!("지난 1년 {days}일에 기억 {total}개"),
    );
    let today = Moment::now().date();
    let days = timeline.first.iter_days().take_while(|day| *day <= today);
    html! {
        figure.map tabindex="0" aria-label=(label) {
            svg viewBox={ "0 0 " (54 * SIDE) " " (7 * SIDE) } aria-hidden="true" {
                @for (number, day) in (0i64..).zip(days) {
                    @let count = timeline.counts.get(&day).copied().unwrap_or_default();
                    a href=[day.succ_opt().filter(|_| count > 0).map(|next| format!("timeline?before={next}"))] tabindex="-1" {
                        rect.(level(count, most)) x=(number / 7 * SIDE) y=(number % 7 * SIDE) width=(SIDE - 2) height=(SIDE - 2) rx="2" {
                            title { (day) ": " (count) }
                        }
                    }
                }
            }
            figcaption.quiet { (label) }
        }
    }
}

/// A class for a number of memories: five steps, so that a single memory is visible beside a busy day.
fn level(count: u64, most: u64) -> &'static str {
    if count == 0 {
        return "l0";
    }
    let share = (count as f64).ln_1p() / (most as f64).ln_1p();
    match share {
        ..0.4 => "l1",
        0.4..0.65 => "l2",
        0.65..0.85 => "l3",
        _ => "l4",
    }
}

fn session_title(title: Option<&str>, language: Language) -> &str {
    title.unwrap_or(language.of("(without a prompt)", "(요청 없음)"))
}

fn session_of_day(session: &DaySession, language: Language) -> Markup {
    html! {
        li {
            p.about { span { (session.from) "–" (session.to) } (counts(session.prompts as u64, session.errors as u64, language)) }
            a.text href=(link("session", "id", &session.id)) { (session_title(session.title.as_deref(), language)) }
            (files(&session.files, 6))
        }
    }
}

fn counts(prompts: u64, errors: u64, language: Language) -> Markup {
    html! {
        span { (language.of(format!("{prompts} prompt{}", if prompts == 1 { "" } else { "s" }), format!("요청 {prompts}"))) }
        @if errors > 0 {
            span.flag.warn { (language.of(format!("{errors} error{}", if errors == 1 { "" } else { "s" }), format!("오류 {errors}"))) }
        }
    }
}

fn files(files: &[String], most: usize) -> Markup {
    html! {
        @if !files.is_empty() {
            p.files { @for file in files.iter().take(most) { code { (file) } " " }
                @if files.len() > most { span.quiet { "+" (files.len() - most) } }
            }
        }
    }
}

pub(in crate::page) async fn sessions(visit: Visit) -> PageResult {
    let language = visit.language;
    let sessions = visit.page.read(ReadNeed::OpenStore, |engine, _| history::sessions(engine)).await?;
    let live = html! {
        @if sessions.is_empty() { p.empty { (language.of("There are no sessions yet.", "아직 세션이 없습니다.")) } }
        ul.sessions { @for session in &sessions {
            li {
                (session_about(session, language))
                a.text href=(link("session", "id", &session.id)) { (session_title(session.title.as_deref(), language)) }
                (files(&session.files, 8))
            }
        } }
    };
    visit.answer("timeline", language.of("Sessions", "세션"), &sections("sessions", language), &live)
}

fn session_about(session: &SessionItem, language: Language) -> Markup {
    html! {
        p.about {
            time { (session.started) } span { (duration(session.duration, language)) }
            (counts(session.prompts, session.errors, language))
            @if let Some(branch) = &session.branch { span.flag { (branch) } }
        }
    }
}

fn duration(seconds: u64, language: Language) -> String {
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match (hours, language) {
        (0, Language::English) => format!("{minutes} min"),
        (0, Language::Korean) => format!("{minutes}분"),
        (_, Language::English) => format!("{hours} h {minutes} min"),
        (_, Language::Korean) => format!("{hours}시간 {minutes}분"),
    }
}

pub(in crate::page) async fn session(visit: Visit, Query(IdQuery { id }): Query<IdQuery>) -> PageResult {
    let language = visit.language;
    let read = move |engine: &mut Engine, hidden: &HashSet<String>| history::session(engine, &id, hidden);
    let opened = visit.page.read(ReadNeed::OpenStore, read).await?;
    let title = session_title(opened.session.title.as_deref(), language).to_owned();
    let live = opened_session(&opened, &title, language);
    visit.answer("timeline", &title, &sections("", language), &live)
}

fn opened_session(opened: &OpenedSession, title: &str, language: Language) -> Markup {
    let session = &opened.session;
    html! {
        h2.title { (title) }
        (session_about(session, language))
        (files(&session.files, usize::MAX))
        @if let Some(outcome) = &opened.outcome { h2 { (language.of("Outcome", "결과")) } div.body { (outcome) } }
        @if !opened.open_steps.is_empty() { h2 { (language.of("Left open", "남은 일")) } ul { @for step in &opened.open_steps { li { (step) } } } }
        @if !opened.failures.is_empty() {
            h2 { (language.of("Failures", "실패")) }
            ul.failures { @for (failure, resolved) in &opened.failures {
                li { pre { (failure) }
                    @match resolved {
                        Some(by) if by.is_empty() => span.flag.good { (language.of("resolved", "해결됨")) },
                        Some(by) => span.flag.good { (language.of("resolved by ", "해결: ")) (by) },
                        None => span.flag.warn { (language.of("open", "미해결")) },
                    }
                }
            } }
        }
        h2 { (language.of("Memories", "기억")) span.quiet { (session.memories) } }
        ol.memories { @for memory in &opened.memories { (memory_item(memory, &[], language)) } }
        @if opened.is_cut { p.notice { (language.of("Only the last ones are listed.", "마지막 일부만 표시합니다.")) } }
    }
}

pub(in crate::page) async fn tasks(visit: Visit) -> PageResult {
    let language = visit.language;
    let tasks = visit.page.read(ReadNeed::OpenStore, history::tasks).await?;
    let live = html! {
        @if tasks.is_empty() { p.empty { (language.of("There are no tasks.", "할 일이 없습니다.")) } }
        ul.tasks { @for task in &tasks { (task_item(task, language)) } }
    };
    visit.answer("timeline", language.of("Tasks", "할 일"), &sections("tasks", language), &live)
}

fn task_item(task: &TaskItem, language: Language) -> Markup {
    let id = task.memory.id.as_str();
    let text = task.memory.excerpt.trim_start_matches("- [ ]").trim_start_matches("- [x]").trim();
    html! {
        li.done[task.is_done] {
            form.action.check method="post" action="do" data-item=(id) {
                (hidden_fields(if task.is_done { "reopen" } else { "close" }, &[("id", id)]))
                input type="checkbox" checked[task.is_done] data-submit aria-label=(text);
            }
            div {
                a.text href=(link("memory", "id", id)) { (text) }
                p.about {
                    time { (task.memory.date) }
                    @if let Some(waits) = &task.waits_for { span.flag.warn { (language.of("waits for ", "기다림: ")) (waits) } }
                    @if let Some(by) = &task.done_by { span { (by) } }
                }
                @if task.waits_for.is_some() { (action("unblock", &[("id", id)], language.of("It is no longer blocked", "더는 기다리지 않음"))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_memory_is_visible_next_to_a_busy_day() {
        assert_eq!([0, 1, 10, 300, 1_000].map(|count| level(count, 1_000)), ["l0", "l1", "l1", "l3", "l4"]);
        assert_eq!(level(1, 1), "l4");
    }
}
