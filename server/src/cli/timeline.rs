//! `timeline`: the work of each day.

use std::fmt::Write as _;

use clap::Args;
use schema::host::session_record::SUMMARY_LABELS;
use schema::model::memory::{MemoryType, short_id};
use schema::store::Locator;
use serde::Serialize;
use tools::engine::{Engine, HistoryFilter, SessionDay, TimelineDay};

use super::filter_arguments::FilterArguments;
use super::list::ListedMemory;
use super::output::{DIM, KIND, Printer, STRONG};
use super::pager::{NARROW, PIPED_LIST_COLUMNS};
use super::sessions::{render_counts, render_files, session_title, short_session_id};
use super::terminal_text::{count_with_unit, display_width, fit_columns, one_line};

/// Indentation: columns of a session's times with spaces.
const INDENT: usize = 15;

/// The most lines of a summary after its first: as many as a composed one has.
const SUMMARY_PARTS: usize = SUMMARY_LABELS.len();

#[derive(Debug, Args)]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    narrow: FilterArguments,
    /// Maximum number of days; days without memories do not count
    #[arg(long, short = 'n', default_value_t = 7, value_name = "N")]
    days: usize,
}

#[derive(Debug, Serialize)]
struct ListedDay {
    date: String,
    memories: usize,
    sessions: Vec<ListedSessionDay>,
    /// Decisions, lessons and other conclusions.
    noted: Vec<ListedMemory>,
}

#[derive(Debug, Serialize)]
struct ListedSessionDay {
    id: String,
    title: Option<String>,
    from: String,
    to: String,
    prompts: usize,
    errors: usize,
    memories: usize,
    files: Vec<String>,
}

impl ListedDay {
    fn from_day(day: &TimelineDay, locator: &mut Locator) -> Self {
        Self {
            date: day.date.to_string(),
            memories: day.memories,
            sessions: day.sessions.iter().map(ListedSessionDay::from_session_day).collect(),
            noted: day.conclusions.iter().map(|row| ListedMemory::with_lines(row, locator)).collect(),
        }
    }
}

impl ListedSessionDay {
    fn from_session_day(visit: &SessionDay) -> Self {
        Self {
            id: visit.session_id.clone(),
            title: visit.title.clone(),
            from: visit.from.rfc3339(),
            to: visit.to.rfc3339(),
            prompts: visit.prompts,
            errors: visit.errors,
            memories: visit.memories,
            files: visit.files.clone(),
        }
    }
}

pub(crate) fn run_timeline(engine: &mut Engine, printer: &Printer, arguments: TimelineArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.into_filter(engine)?;
    let days = engine.timeline(&wanted, arguments.days)?;
    let mut locator = engine.locator();
    let listed: Vec<ListedDay> = days.iter().map(|day| ListedDay::from_day(day, &mut locator)).collect();
    let is_narrowed = wanted != HistoryFilter::default() || arguments.days == 0;
    printer.print_paged(&listed, |columns| match days.is_empty() {
        true if is_narrowed => "No memories match.\n".to_owned(),
        true => "There are no memories yet.\n".to_owned(),
        false => {
            days.iter().map(|day| render_day(day, columns.unwrap_or(PIPED_LIST_COLUMNS))).collect::<Vec<_>>().join("\n")
        }
    })
}

fn render_day(day: &TimelineDay, columns: usize) -> String {
    let head = day.date.format("%A, %Y-%m-%d").to_string();
    let counts = [(day.sessions.len(), "session"), (day.conclusions.len(), "conclusion")].into_iter();
    let counts = counts.filter(|(count, _)| *count > 0).map(|(count, one)| count_with_unit(count as u64, one));
    let about: Vec<String> = counts.collect();
    let about = fit_columns(&format!("  {}", about.join(", ")), columns.saturating_sub(display_width(&head)));
    let mut text = format!("{STRONG}{head}{STRONG:#}{DIM}{about}{DIM:#}\n");
    for visit in &day.sessions {
        add_session_day(&mut text, visit, columns);
    }
    for row in &day.conclusions {
        add_memory(&mut text, &ListedMemory::from_row(row), columns);
    }
    text
}

fn add_session_day(text: &mut String, visit: &SessionDay, columns: usize) {
    let times = format!("{}–{}", &visit.from.time()[..5], &visit.to.time()[..5]);
    let id = short_session_id(&visit.session_id);
    let title = session_title(visit.title.as_deref());
    let about = render_counts(visit.prompts as u64, visit.errors as u64);
    if columns < NARROW {
        let room = columns.saturating_sub(4);
        let _ = writeln!(text, "  {times} {DIM}{id}{DIM:#}");
        let _ = writeln!(text, "    {}", fit_columns(&title, room));
        let _ = writeln!(text, "    {DIM}{}{DIM:#}", fit_columns(&about, room));
        if !visit.files.is_empty() {
            let _ = writeln!(text, "    {DIM}{}{DIM:#}", render_files(&visit.files, room));
        }
        return;
    }
    let indent = " ".repeat(INDENT);
    let room = columns.saturating_sub(indent.len());
    let title = fit_columns(&title, room.saturating_sub(display_width(&id) + 2));
    let _ = writeln!(text, "  {times}  {title}  {DIM}{id}{DIM:#}");
    let left = room.saturating_sub(display_width(&about) + 2);
    let changed =
        if visit.files.is_empty() { String::new() } else { format!("; {}", render_files(&visit.files, left)) };
    let _ = writeln!(text, "{indent}{DIM}{}{DIM:#}", fit_columns(&(about + &changed), room));
}

fn add_memory(text: &mut String, memory: &ListedMemory, columns: usize) {
    let id = short_id(&memory.id);
    let kind = memory.kind;
    // Each part of a summary has its line, so that a long one hides no other.
    let (first, parts): (String, Vec<String>) = match kind {
        MemoryType::SessionSummary => {
            let mut parts = memory.content.lines().map(one_line).filter(|part| !part.is_empty());
            (parts.next().unwrap_or_default(), parts.take(SUMMARY_PARTS).collect())
        }
        _ => (memory.one_line(), Vec::new()),
    };
    let indent = if columns < NARROW { 4 } else { INDENT };
    let room = columns.saturating_sub(indent);
    if columns < NARROW {
        let _ = writeln!(text, "  {KIND}{kind}{KIND:#} {DIM}{id}{DIM:#}");
        let _ = writeln!(text, "    {}", fit_columns(&first, room));
    } else {
        // The text begins where the titles of sessions do, unless the type is longer.
        let kind = format!("{:<width$}", kind.as_str(), width = INDENT - 4);
        let room = columns.saturating_sub(kind.len() + display_width(id) + "      ".len());
        let _ = writeln!(text, "  {KIND}{kind}{KIND:#}  {}  {DIM}{id}{DIM:#}", fit_columns(&first, room));
    }
    for part in parts {
        let _ = writeln!(text, "{:indent$}{}", "", fit_columns(&part, room));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use schema::model::moment::Moment;

    use super::*;
    use crate::cli::terminal_text::{assert_fits, without_styles};

    fn day() -> TimelineDay {
        let at = |time: &str| Moment::parse_rfc3339(&format!("2026-01-28T{time}+09:00")).unwrap();
        let visit = SessionDay {
            session_id: "4f368b8b-0000".to_owned(),
            title: Some("결제 웹훅이 두 번 처리되는 문제를 고쳐줘, 재시도 큐도 함께 살펴봐 줘 🙏".to_owned()),
            from: at("10:30:00"),
            to: at("11:05:00"),
            prompts: 5,
            errors: 2,
            memories: 9,
            files: ["src/billing/webhook.rs", "src/billing/retry_queue.rs", "README.md"].map(str::to_owned).to_vec(),
        };
        TimelineDay { date: at("10:30:00").date(), memories: 9, sessions: vec![visit], conclusions: vec![] }
    }

    #[test]
    fn day_fits_eighty_and_forty_columns() {
        for columns in [80, 40, 24] {
            assert_fits(&render_plain(columns), columns);
        }
        insta::assert_snapshot!(render_plain(80), @r"
        Wednesday, 2026-01-28  1 session
          10:30–11:05  결제 웹훅이 두 번 처리되는 문제를 고쳐줘, 재시도 큐도…  4f368b8b
                       5 prompts, 2 errors; 3 files: src/billing/webhook.rs and 2 more
          decision     Acknowledge webhooks only after the database commit  0af312aa
        ");
        insta::assert_snapshot!(render_plain(40), @r"
        Wednesday, 2026-01-28  1 session
          10:30–11:05 4f368b8b
            결제 웹훅이 두 번 처리되는 문제를…
            5 prompts, 2 errors
            3 files: src/billing/web… and 2 more
          decision 0af312aa
            Acknowledge webhooks only after the…
        ");
    }

    #[rstest]
    #[case::wide(80, "  session_summary  Fix the webhook")]
    #[case::narrow(40, "    Fix the webhook")]
    fn each_part_of_a_summary_has_its_line(#[case] columns: usize, #[case] first: &str) {
        let long = "a long command ".repeat(20);
        let content =
            format!("Fix the webhook\nOutcome: Done twice.\nRan: {long}\nFailed: make (open)\nAbout: webhook");
        let mut memory = ListedMemory::example(&content);
        memory.kind = MemoryType::SessionSummary;
        let mut text = String::new();
        add_memory(&mut text, &memory, columns);
        let text = without_styles(&text);
        assert!(text.contains(first), "{text}");
        for part in ["Outcome: Done twice.", "Ran: a long", "Failed: make (open)", "About: webhook"] {
            assert!(text.lines().any(|line| line.trim_start().starts_with(part)), "{part}: {text}");
        }
        assert_fits(&text, columns);
    }

    fn render_plain(columns: usize) -> String {
        let mut text = render_day(&day(), columns);
        add_memory(&mut text, &ListedMemory::example("Acknowledge webhooks only after the database commit"), columns);
        without_styles(&text)
    }
}
