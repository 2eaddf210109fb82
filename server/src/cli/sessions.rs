//! `sessions`: what each session was about, how long it took, and what it changed.

use std::fmt::Write as _;

use clap::Args;
use schema::store::Session;
use serde::Serialize;
use tools::engine::{Engine, Wanted};

use super::list::rest;
use super::narrow::Narrow;
use super::output::{DIM, Printer, STRONG};
use super::text::{counted, duration, fit, one_line, width, wrapped};

/// Columns of a title or of the names of files where lines have no end.
const LONGEST: usize = 200;

/// Characters of a session's id that are shown; all of it is in JSON.
const SHORT: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct SessionsArguments {
    #[command(flatten)]
    narrow: Narrow,
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: usize,
}

#[derive(Debug, Serialize)]
struct Listed<'s> {
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
}

impl<'s> Listed<'s> {
    fn of(session: &'s Session) -> Self {
        Self {
            id: &session.id,
            title: session.title.as_deref(),
            started_at: session.started.rfc3339(),
            ended_at: session.ended.rfc3339(),
            duration: session.duration(),
            prompts: session.prompts,
            tools: session.tools,
            errors: session.errors,
            memories: session.memories,
            files: &session.files,
            summary: session.summary.as_deref(),
        }
    }
}

pub(crate) fn sessions(engine: &mut Engine, printer: &Printer, arguments: SessionsArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.wanted(engine)?;
    let mut sessions = engine.sessions(&wanted, usize::MAX)?;
    let more = sessions.len().saturating_sub(arguments.limit);
    sessions.truncate(arguments.limit);
    let listed: Vec<Listed<'_>> = sessions.iter().map(Listed::of).collect();
    let is_narrowed = wanted != Wanted::default() || arguments.limit == 0;
    printer.read(&listed, |columns| match sessions.is_empty() {
        true if is_narrowed => "No session fits.\n".to_owned(),
        true => "No session is remembered yet.\n".to_owned(),
        false => {
            by_day(&sessions, columns.unwrap_or(LONGEST)) + &rest("sessions", more as u64, arguments.limit, columns)
        }
    })
}

fn by_day(sessions: &[Session], columns: usize) -> String {
    let mut text = String::new();
    let mut day = String::new();
    for session in sessions {
        let date = session.started.date().to_string();
        if date != day {
            let gap = if day.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{STRONG}{date}{STRONG:#}");
            day = date;
        }
        one(&mut text, session, columns);
    }
    text
}

fn one(text: &mut String, session: &Session, columns: usize) {
    let room = columns.saturating_sub(2);
    let title = fit(&title(session.title.as_deref()), room);
    let _ = writeln!(text, "  {STRONG}{title}{STRONG:#}");
    let mut about = format!(
        "{} {}  {}  {}",
        &session.started.time()[..5],
        duration(session.duration()),
        short(&session.id),
        counts(session.prompts, session.errors)
    );
    if width(&about) > room {
        about = format!("{} {}  {}", &session.started.time()[..5], duration(session.duration()), short(&session.id));
    }
    let _ = writeln!(text, "  {DIM}{}{DIM:#}", fit(&about, room));
    if !session.files.is_empty() {
        let _ = writeln!(text, "  {DIM}{}{DIM:#}", files(&session.files, room));
    }
    if let Some(summary) = &session.summary {
        let lines = wrapped(&one_line(summary), room);
        let more = if lines.len() > 2 { " …" } else { "" };
        for (at, line) in lines.iter().take(2).enumerate() {
            let line = if at == 1 { fit(&format!("{line}{more}"), room) } else { line.clone() };
            let _ = writeln!(text, "  {line}");
        }
    }
}

pub(super) fn title(title: Option<&str>) -> String {
    title.map_or_else(|| "(no prompt)".to_owned(), one_line)
}

pub(super) fn short(id: &str) -> String {
    one_line(id).chars().take(SHORT).collect()
}

pub(super) fn counts(prompts: u64, errors: u64) -> String {
    let mut text = counted(prompts, "prompt");
    if errors > 0 {
        text.push_str(&format!(", {}", counted(errors, "error")));
    }
    text
}

/// As many names as fit, and how many more there are.
pub(super) fn files(files: &[String], columns: usize) -> String {
    let count = counted(files.len() as u64, "file");
    let mut line = format!("{count}: ");
    for (at, file) in files.iter().map(|file| one_line(file)).enumerate() {
        let left = files.len() - at;
        let separator = if at == 0 { "" } else { ", " };
        let more = if left > 1 { format!(" and {} more", left - 1) } else { String::new() };
        let room = columns.saturating_sub(width(&line) + width(separator) + width(&more));
        if at > 0 && width(&file) > room {
            line.push_str(&format!(" and {left} more"));
            break;
        }
        line.push_str(separator);
        line.push_str(&fit(&file, room));
    }
    fit(&line, columns)
}

#[cfg(test)]
mod tests {
    use schema::moment::Moment;

    use super::*;

    fn session() -> Session {
        Session {
            id: "4f368b8b-0000".to_owned(),
            started: Moment::parse_rfc3339("2026-01-28T10:30:00+09:00").unwrap(),
            ended: Moment::parse_rfc3339("2026-01-28T11:35:00+09:00").unwrap(),
            title: Some("결제 웹훅이 두 번 처리되는 문제를 고쳐줘 \u{1b}[2J".to_owned()),
            prompts: 5,
            files: ["src/billing/webhook.rs", "src/billing/retry.rs", "README.md"].map(str::to_owned).to_vec(),
            tools: 9,
            errors: 1,
            memories: 20,
            summary: Some("The handler acknowledged before the commit; it now does so behind it.".to_owned()),
        }
    }

    #[test]
    fn sessions_fit_terminals_of_eighty_and_of_forty_columns() {
        for columns in [80, 40, 24] {
            for line in plain(columns).lines() {
                assert!(width(line) <= columns, "{} in {columns}: {line}", width(line));
            }
        }
        insta::assert_snapshot!(plain(80), @r"
        2026-01-28
          결제 웹훅이 두 번 처리되는 문제를 고쳐줘 [2J
          10:30 1 h 05 min  4f368b8b  5 prompts, 1 error
          3 files: src/billing/webhook.rs, src/billing/retry.rs, README.md
          The handler acknowledged before the commit; it now does so behind it.
          (no prompt)
          10:30 1 h 05 min  4f368b8b  0 prompts
        ");
        insta::assert_snapshot!(plain(40), @r"
        2026-01-28
          결제 웹훅이 두 번 처리되는 문제를 고…
          10:30 1 h 05 min  4f368b8b
          3 files: src/billing/webho… and 2 more
          The handler acknowledged before the
          commit; it now does so behind it.
          (no prompt)
          10:30 1 h 05 min  4f368b8b  0 prompts
        ");
    }

    fn plain(columns: usize) -> String {
        let quiet = Session { title: None, files: vec![], summary: None, errors: 0, prompts: 0, ..session() };
        anstream::adapter::strip_str(&by_day(&[session(), quiet], columns)).to_string()
    }
}
