//! `timeline`: what was worked on, day by day.

use std::fmt::Write as _;

use clap::Args;
use schema::store::Locator;
use serde::Serialize;
use tools::engine::{Day, Engine, Visit, Wanted};

use super::list::Listed;
use super::narrow::Narrow;
use super::output::{DIM, KIND, Printer, STRONG, short as short_id};
use super::sessions::{counts, files, short, title};
use super::text::{counted, fit, width};

/// Columns of a line where lines have no end.
const LONGEST: usize = 200;

/// Columns below which ids and types are left out or stand on lines of their own.
const NARROW: usize = 60;

/// Columns of a session's times with the space around them, by which what stands below is set in.
const INDENT: usize = 15;

#[derive(Debug, Args)]
pub(crate) struct TimelineArguments {
    #[command(flatten)]
    narrow: Narrow,
    /// At most so many days, of those on which there was something
    #[arg(long, short = 'n', default_value_t = 7, value_name = "N")]
    days: usize,
}

#[derive(Debug, Serialize)]
struct ListedDay {
    date: String,
    memories: usize,
    sessions: Vec<ListedVisit>,
    /// What was concluded.
    noted: Vec<Listed>,
}

#[derive(Debug, Serialize)]
struct ListedVisit {
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
    fn of(day: &Day, locator: &mut Locator) -> Self {
        Self {
            date: day.date.to_string(),
            memories: day.memories,
            sessions: day.visits.iter().map(ListedVisit::of).collect(),
            noted: day.noted.iter().map(|row| Listed::located(row, locator)).collect(),
        }
    }
}

impl ListedVisit {
    fn of(visit: &Visit) -> Self {
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

pub(crate) fn timeline(engine: &mut Engine, printer: &Printer, arguments: TimelineArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.wanted(engine)?;
    let days = engine.timeline(&wanted, arguments.days)?;
    let mut locator = engine.locator();
    let listed: Vec<ListedDay> = days.iter().map(|day| ListedDay::of(day, &mut locator)).collect();
    let is_narrowed = wanted != Wanted::default() || arguments.days == 0;
    printer.read(&listed, |columns| match days.is_empty() {
        true if is_narrowed => "Nothing remembered is of this kind.\n".to_owned(),
        true => "Nothing is remembered yet.\n".to_owned(),
        false => days.iter().map(|day| told(day, columns.unwrap_or(LONGEST))).collect::<Vec<_>>().join("\n"),
    })
}

fn told(day: &Day, columns: usize) -> String {
    let head = day.date.format("%A, %Y-%m-%d").to_string();
    let about = [(day.visits.len(), "session"), (day.noted.len(), "conclusion")];
    let about: Vec<String> =
        about.into_iter().filter(|(count, _)| *count > 0).map(|(count, one)| counted(count as u64, one)).collect();
    let about = fit(&format!("  {}", about.join(", ")), columns.saturating_sub(width(&head)));
    let mut text = format!("{STRONG}{head}{STRONG:#}{DIM}{about}{DIM:#}\n");
    for visit in &day.visits {
        visited(&mut text, visit, columns);
    }
    for row in &day.noted {
        noted(&mut text, &Listed::of(row), columns);
    }
    text
}

fn visited(text: &mut String, visit: &Visit, columns: usize) {
    let times = format!("{}–{}", &visit.from.time()[..5], &visit.to.time()[..5]);
    let id = short(&visit.session_id);
    let title = title(visit.title.as_deref());
    let about = counts(visit.prompts as u64, visit.errors as u64);
    if columns < NARROW {
        let room = columns.saturating_sub(4);
        let _ = writeln!(text, "  {times} {DIM}{id}{DIM:#}");
        let _ = writeln!(text, "    {}", fit(&title, room));
        let _ = writeln!(text, "    {DIM}{}{DIM:#}", fit(&about, room));
        if !visit.files.is_empty() {
            let _ = writeln!(text, "    {DIM}{}{DIM:#}", files(&visit.files, room));
        }
        return;
    }
    let indent = " ".repeat(INDENT);
    let room = columns.saturating_sub(indent.len());
    let title = fit(&title, room.saturating_sub(width(&id) + 2));
    let _ = writeln!(text, "  {times}  {title}  {DIM}{id}{DIM:#}");
    let left = room.saturating_sub(width(&about) + 2);
    let changed = if visit.files.is_empty() { String::new() } else { format!("; {}", files(&visit.files, left)) };
    let _ = writeln!(text, "{indent}{DIM}{}{DIM:#}", fit(&(about + &changed), room));
}

fn noted(text: &mut String, memory: &Listed, columns: usize) {
    let id = short_id(&memory.id);
    let kind = memory.kind;
    if columns < NARROW {
        let _ = writeln!(text, "  {KIND}{kind}{KIND:#} {DIM}{id}{DIM:#}");
        let _ = writeln!(text, "    {}", fit(&memory.line(), columns.saturating_sub(4)));
        return;
    }
    let room = columns.saturating_sub(width(kind.as_str()) + width(id) + "      ".len());
    let _ = writeln!(text, "  {KIND}{kind}{KIND:#}  {}  {DIM}{id}{DIM:#}", fit(&memory.line(), room));
}

#[cfg(test)]
mod tests {
    use schema::moment::Moment;

    use super::*;

    fn day() -> Day {
        let at = |time: &str| Moment::parse_rfc3339(&format!("2026-01-28T{time}+09:00")).unwrap();
        let visit = Visit {
            session_id: "4f368b8b-0000".to_owned(),
            title: Some("결제 웹훅이 두 번 처리되는 문제를 고쳐줘, 재시도 큐도 함께 살펴봐 줘 🙏".to_owned()),
            from: at("10:30:00"),
            to: at("11:05:00"),
            prompts: 5,
            errors: 2,
            memories: 9,
            files: ["src/billing/webhook.rs", "src/billing/retry_queue.rs", "README.md"].map(str::to_owned).to_vec(),
        };
        Day { date: at("10:30:00").date(), memories: 9, visits: vec![visit], noted: vec![] }
    }

    #[test]
    fn a_day_fits_terminals_of_eighty_and_of_forty_columns() {
        for columns in [80, 40, 24] {
            for line in plain(columns).lines() {
                assert!(width(line) <= columns, "{} in {columns}: {line}", width(line));
            }
        }
        insta::assert_snapshot!(plain(80), @r"
        Wednesday, 2026-01-28  1 session
          10:30–11:05  결제 웹훅이 두 번 처리되는 문제를 고쳐줘, 재시도 큐도…  4f368b8b
                       5 prompts, 2 errors; 3 files: src/billing/webhook.rs and 2 more
          decision  Acknowledge webhooks only after the database commit  0af312aa
        ");
        insta::assert_snapshot!(plain(40), @r"
        Wednesday, 2026-01-28  1 session
          10:30–11:05 4f368b8b
            결제 웹훅이 두 번 처리되는 문제를…
            5 prompts, 2 errors
            3 files: src/billing/web… and 2 more
          decision 0af312aa
            Acknowledge webhooks only after the…
        ");
    }

    fn plain(columns: usize) -> String {
        let mut text = told(&day(), columns);
        noted(&mut text, &Listed::example("Acknowledge webhooks only after the database commit"), columns);
        anstream::adapter::strip_str(&text).to_string()
    }
}
