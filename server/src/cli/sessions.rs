//! `sessions`: the topic, duration and changed files of each session.

use std::fmt::Write as _;

use schema::host::session_record::{CHANGED_LABEL, SUMMARY_LABELS};
use schema::store::SessionRow;
use serde::Serialize;
use tools::engine::{Engine, HistoryFilter};

use super::list::{ListArguments, remaining_note};
use super::output::{DIM, PLAIN, Printer, STRONG, push_lines};
use super::pager::PIPED_LIST_COLUMNS;
use super::terminal_text::{count_with_unit, display_width, fit_columns, format_duration, one_line, wrap, wrap_lines};

/// Characters of a session id; JSON has the whole id.
const SHORT_ID_LENGTH: usize = 8;

#[derive(Debug, Serialize)]
struct ListedSession<'s> {
    id: &'s str,
    title: Option<&'s str>,
    started_at: String,
    ended_at: String,
    /// Seconds.
    duration: u64,
    prompts: u64,
    tools: u64,
    errors: u64,
    memories: u64,
    files: &'s [String],
    summary: Option<&'s str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_reason: Option<String>,
}

impl<'s> ListedSession<'s> {
    fn from_session(session: &'s SessionRow) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref(),
            started_at: session.started.rfc3339(),
            ended_at: session.ended.rfc3339(),
            duration: session.duration(),
            prompts: session.prompts,
            tools: session.tool_count,
            errors: session.errors,
            memories: session.memories,
            files: &session.files,
            summary: session.summary.as_deref(),
            branch: text_of(session, "branch"),
            commit: text_of(session, "commit"),
            model: text_of(session, "model"),
            end_reason: text_of(session, "end_reason"),
        }
    }
}

pub(crate) fn run_sessions(engine: &mut Engine, printer: &Printer, arguments: ListArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.into_filter(engine)?;
    let mut sessions = engine.sessions(&wanted, usize::MAX)?;
    let more = sessions.len().saturating_sub(arguments.limit);
    sessions.truncate(arguments.limit);
    let listed: Vec<ListedSession<'_>> = sessions.iter().map(ListedSession::from_session).collect();
    let is_narrowed = wanted != HistoryFilter::default() || arguments.limit == 0;
    printer.print_paged(&listed, |columns| match sessions.is_empty() {
        true if is_narrowed => "No sessions match.\n".to_owned(),
        true => "There are no sessions yet.\n".to_owned(),
        false => {
            let detail = if let [_] = sessions[..] { SessionDetail::Full } else { SessionDetail::Short };
            render_by_day(&sessions, columns.unwrap_or(PIPED_LIST_COLUMNS), detail)
                + &remaining_note("sessions", more as u64, arguments.limit, columns)
        }
    })
}

/// How much of a session is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionDetail {
    /// A few lines, because others follow.
    Short,
    /// The whole summary, and where and how the session ran.
    Full,
}

fn render_by_day(sessions: &[SessionRow], columns: usize, detail: SessionDetail) -> String {
    let mut text = String::new();
    let mut day = String::new();
    for session in sessions {
        let date = session.started.date().to_string();
        if date != day {
            let gap = if day.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{STRONG}{date}{STRONG:#}");
            day = date;
        }
        render_session(&mut text, session, columns, detail);
    }
    text
}

fn render_session(text: &mut String, session: &SessionRow, columns: usize, detail: SessionDetail) {
    let room = columns.saturating_sub(2);
    let title = fit_columns(&session_title(session.title.as_deref()), room);
    let _ = writeln!(text, "  {STRONG}{title}{STRONG:#}");
    let short = format!(
        "{} {}  {}",
        &session.started.time()[..5],
        format_duration(session.duration()),
        short_session_id(&session.id)
    );
    let mut about = format!("{short}  {}", render_counts(session.prompts, session.errors));
    let branch = text_of(session, "branch").map(|branch| format!("  {branch}")).unwrap_or_default();
    if display_width(&about) + display_width(&branch) <= room {
        about.push_str(&branch);
    }
    if display_width(&about) > room {
        about = short;
    }
    let _ = writeln!(text, "  {DIM}{}{DIM:#}", fit_columns(&about, room));
    if !session.files.is_empty() {
        let _ = writeln!(text, "  {DIM}{}{DIM:#}", render_files(&session.files, room));
    }
    let summary = session.summary.as_deref().map(|summary| without_title(summary, session.title.as_deref()));
    push_lines(text, "  ", PLAIN, summary.into_iter().flat_map(|summary| summary_lines(summary, room, detail)));
    if detail == SessionDetail::Full {
        push_lines(text, "  ", DIM, wrap(&render_place(session), room));
    }
}

/// Where and with which model a session ran, and how it ended.
fn render_place(session: &SessionRow) -> String {
    let parts = [
        ("branch", "branch"),
        ("start_branch", "begun on"),
        ("commit", "commit"),
        ("start_commit", "begun at"),
        ("model", "model"),
        ("end_reason", "ended by"),
    ];
    let parts = parts.into_iter().filter_map(|(name, label)| Some(format!("{label} {}", text_of(session, name)?)));
    parts.collect::<Vec<_>>().join(", ")
}

/// The lines of a summary. If others follow, a part takes one line, and the first part at most two.
fn summary_lines(summary: &str, room: usize, detail: SessionDetail) -> Vec<String> {
    let is_composed = SUMMARY_LABELS.iter().any(|label| has_label(summary, label));
    if detail == SessionDetail::Full {
        return summary.lines().map(one_line).flat_map(|line| wrap(&line, room)).collect();
    }
    // The files have a line of their own.
    let mut parts = summary.lines().filter(|line| !has_label(line, CHANGED_LABEL)).map(one_line);
    let first = if is_composed { parts.next().unwrap_or_default() } else { one_line(summary) };
    let first = wrap_lines(&first, room, 2);
    first.into_iter().chain(parts.filter(|_| is_composed).map(|part| fit_columns(&part, room))).collect()
}

/// Whether a text begins as a part of a summary that was composed at the end of a session.
fn has_label(text: &str, label: &str) -> bool {
    text.strip_prefix(label).is_some_and(|rest| rest.starts_with(": "))
}

/// A summary without the line that repeats the title.
fn without_title<'s>(summary: &'s str, title: Option<&str>) -> &'s str {
    let Some((first, rest)) = summary.split_once('\n') else { return summary };
    let (first, title) = (one_line(first), one_line(title.unwrap_or_default()));
    // Both are cut, at different lengths.
    let title = title.trim_end_matches('…');
    let is_title = !title.is_empty() && (first.starts_with(title) || title.starts_with(first.trim_end_matches('…')));
    if is_title { rest } else { summary }
}

/// A detail of a session, as a line of text.
pub(super) fn text_of(session: &SessionRow, name: &str) -> Option<String> {
    session.details.get(name).and_then(serde_json::Value::as_str).map(one_line).filter(|text| !text.is_empty())
}

pub(super) fn session_title(title: Option<&str>) -> String {
    title.map_or_else(|| "(no prompt)".to_owned(), one_line)
}

pub(super) fn short_session_id(id: &str) -> String {
    one_line(id).chars().take(SHORT_ID_LENGTH).collect()
}

pub(super) fn render_counts(prompts: u64, errors: u64) -> String {
    let mut text = count_with_unit(prompts, "prompt");
    if errors > 0 {
        text.push_str(&format!(", {}", count_with_unit(errors, "error")));
    }
    text
}

/// As many names as fit, and the number of the others.
pub(super) fn render_files(files: &[String], columns: usize) -> String {
    let count = count_with_unit(files.len() as u64, "file");
    let mut line = format!("{count}: ");
    for (at, file) in files.iter().map(|file| one_line(file)).enumerate() {
        let left = files.len() - at;
        let separator = if at == 0 { "" } else { ", " };
        let more = if left > 1 { format!(" and {} more", left - 1) } else { String::new() };
        let room = columns.saturating_sub(display_width(&line) + display_width(separator) + display_width(&more));
        if at > 0 && display_width(&file) > room {
            line.push_str(&format!(" and {left} more"));
            break;
        }
        line.push_str(separator);
        line.push_str(&fit_columns(&file, room));
    }
    fit_columns(&line, columns)
}

#[cfg(test)]
mod tests {
    use schema::model::moment::Moment;

    use super::*;
    use crate::cli::terminal_text::{assert_fits, without_styles};

    fn session() -> SessionRow {
        SessionRow {
            id: "4f368b8b-0000".to_owned(),
            started: Moment::parse_rfc3339("2026-01-28T10:30:00+09:00").unwrap(),
            ended: Moment::parse_rfc3339("2026-01-28T11:35:00+09:00").unwrap(),
            title: Some("결제 웹훅이 두 번 처리되는 문제를 고쳐줘 \u{1b}[2J".to_owned()),
            prompts: 5,
            files: ["src/billing/webhook.rs", "src/billing/retry.rs", "README.md"].map(str::to_owned).to_vec(),
            tool_count: 9,
            errors: 1,
            memories: 20,
            summary: Some(
                "결제 웹훅이 두 번 처리되는 문제를 고쳐줘\nOutcome: It acknowledged before the commit.\nChanged: README.md\n\
                 Ran: cargo test --workspace\nFailed: cargo test: assertion failed, the queue has 2 items (resolved)"
                    .to_owned(),
            ),
            details: serde_json::Map::from_iter(
                [("branch", "fix/webhook"), ("commit", "8ab1f0c"), ("model", "opus"), ("end_reason", "clear")]
                    .map(|(name, value)| (name.to_owned(), value.into())),
            ),
        }
    }

    #[test]
    fn sessions_fit_eighty_and_forty_columns() {
        for columns in [80, 40, 24] {
            assert_fits(&render_plain(columns), columns);
        }
        insta::assert_snapshot!(render_plain(80), @r"
        2026-01-28
          결제 웹훅이 두 번 처리되는 문제를 고쳐줘 [2J
          10:30 1 h 05 min  4f368b8b  5 prompts, 1 error  fix/webhook
          3 files: src/billing/webhook.rs, src/billing/retry.rs, README.md
          Outcome: It acknowledged before the commit.
          Ran: cargo test --workspace
          Failed: cargo test: assertion failed, the queue has 2 items (resolved)
          (no prompt)
          10:30 1 h 05 min  4f368b8b  0 prompts  fix/webhook
        ");
        insta::assert_snapshot!(render_plain(40), @r"
        2026-01-28
          결제 웹훅이 두 번 처리되는 문제를 고…
          10:30 1 h 05 min  4f368b8b
          3 files: src/billing/webho… and 2 more
          Outcome: It acknowledged before the
          commit.
          Ran: cargo test --workspace
          Failed: cargo test: assertion failed,…
          (no prompt)
          10:30 1 h 05 min  4f368b8b  0 prompts
        ");
    }

    #[test]
    fn only_session_is_shown_in_full() {
        let shown = render_by_day(&[session()], 60, SessionDetail::Full);
        insta::assert_snapshot!(without_styles(&shown), @r"
        2026-01-28
          결제 웹훅이 두 번 처리되는 문제를 고쳐줘 [2J
          10:30 1 h 05 min  4f368b8b  5 prompts, 1 error
          3 files: src/billing/webhook.rs and 2 more
          Outcome: It acknowledged before the commit.
          Changed: README.md
          Ran: cargo test --workspace
          Failed: cargo test: assertion failed, the queue has 2
          items (resolved)
          branch fix/webhook, commit 8ab1f0c, model opus, ended by
          clear
        ");
    }

    fn render_plain(columns: usize) -> String {
        let quiet = SessionRow { title: None, files: vec![], summary: None, errors: 0, prompts: 0, ..session() };
        let shown = render_by_day(&[session(), quiet], columns, SessionDetail::Short);
        without_styles(&shown)
    }
}
