//! `list`: the newest memories, by day.

use std::fmt::Write as _;

use clap::Args;
use schema::memory::{MemoryId, MemoryType};
use schema::store::{Locator, Row};
use serde::Serialize;
use tools::engine::{Engine, Wanted};

use super::narrow::Narrow;
use super::output::{DIM, KIND, Printer, STRONG, notice, short};
use super::text::{fit, grouped, one_line, padded, width, wrapped};

/// Columns below which every memory has lines of its own for its text.
const NARROW: usize = 60;

/// Columns of a text where lines have no end.
const LONGEST: usize = 200;

/// Lines of a text on a narrow terminal.
const LINES: usize = 2;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    narrow: Narrow,
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: usize,
}

/// A memory in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: MemoryType,
    pub(crate) date: String,
    session_id: String,
    pub(crate) path: String,
    start_line: usize,
    end_line: usize,
    pub(crate) content: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
}

impl Listed {
    /// With its lines, for programs.
    pub(crate) fn located(row: &Row, locator: &mut Locator) -> Self {
        let (start_line, end_line) = locator.lines(row);
        Self { start_line, end_line, ..Self::of(row) }
    }

    pub(crate) fn of(row: &Row) -> Self {
        Self {
            id: row.memory.id.to_string(),
            kind: row.memory.kind,
            date: row.memory.at.local_second().replace('T', " "),
            session_id: row.memory.session_id.clone(),
            path: format!("{}/{}", schema::layout::STORE_DIR, row.path),
            start_line: 0,
            end_line: 0,
            content: row.memory.content.clone(),
            pinned: row.memory.attributes.pinned,
            superseded_by: row.superseded_by.as_ref().map(MemoryId::to_string),
        }
    }

    /// Its text on one line, with what is to be known before it is read.
    pub(crate) fn line(&self) -> String {
        let marks = [(self.superseded_by.is_some(), "[superseded] "), (self.pinned, "[pinned] ")];
        let marks: String = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect();
        marks + &one_line(&self.content)
    }
}

pub(crate) fn list(engine: &mut Engine, printer: &Printer, arguments: ListArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.wanted(engine)?;
    let rows = engine.history(&wanted, arguments.limit)?;
    let mut locator = engine.locator();
    let memories: Vec<Listed> = rows.iter().map(|row| Listed::located(row, &mut locator)).collect();
    let is_narrowed = wanted != Wanted::default() || arguments.limit == 0;
    let is_cut = !printer.is_json() && arguments.limit > 0 && memories.len() == arguments.limit;
    let more = if is_cut { engine.count(&wanted)?.saturating_sub(memories.len() as u64) } else { 0 };
    printer.read(&memories, |columns| match memories.is_empty() {
        true if is_narrowed => "Nothing remembered is of this kind.\n".to_owned(),
        true => "Nothing is remembered yet.\n".to_owned(),
        false => by_day(&memories, columns) + &rest("list", more, arguments.limit, columns),
    })
}

/// How much is not shown, and how to see it.
pub(crate) fn rest(command: &str, more: u64, limit: usize, columns: Option<usize>) -> String {
    if more == 0 {
        return String::new();
    }
    let all = more.saturating_add(limit as u64);
    let text =
        format!("{} more: jikime-memory {command} -n {all} shows all, --until what came before a date", grouped(more));
    notice(Some(&text), columns)
}

fn by_day(memories: &[Listed], columns: Option<usize>) -> String {
    let mut text = String::new();
    let mut day = "";
    let kinds = memories.iter().map(|memory| memory.kind.as_str().len()).max().unwrap_or_default();
    for memory in memories {
        let (date, time) = memory.date.split_once(' ').unwrap_or((&memory.date, ""));
        if date != day {
            let gap = if day.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{STRONG}{date}{STRONG:#}");
            day = date;
        }
        let time = time.get(..5).unwrap_or(time);
        match columns {
            Some(columns) if columns < NARROW => narrow(&mut text, memory, time, columns),
            _ => wide(&mut text, memory, time, kinds, columns),
        }
    }
    text
}

fn wide(text: &mut String, memory: &Listed, time: &str, kinds: usize, columns: Option<usize>) {
    let id = short(&memory.id);
    let kind = padded(memory.kind.as_str(), kinds);
    let before = width(id) + width(time) + width(&kind) + "        ".len();
    let room = columns.map_or(LONGEST, |columns| columns.saturating_sub(before));
    let line = fit(&memory.line(), room);
    let _ = writeln!(text, "  {DIM}{id}{DIM:#}  {time}  {KIND}{kind}{KIND:#}  {line}");
}

fn narrow(text: &mut String, memory: &Listed, time: &str, columns: usize) {
    let (id, kind) = (short(&memory.id), memory.kind);
    let _ = writeln!(text, "{time} {KIND}{kind}{KIND:#} {DIM}{id}{DIM:#}");
    let lines = wrapped(&memory.line(), columns.saturating_sub(2));
    let is_more = lines.len() > LINES;
    for (at, line) in lines.iter().take(LINES).enumerate() {
        let line = if is_more && at + 1 == LINES {
            fit(&format!("{line} …"), columns.saturating_sub(2))
        } else {
            line.clone()
        };
        let _ = writeln!(text, "  {line}");
    }
}

#[cfg(test)]
impl Listed {
    /// A decision as tests of what is printed need one.
    pub(crate) fn example(content: &str) -> Self {
        Self {
            id: "0af312aa90".to_owned(),
            kind: MemoryType::Decision,
            date: "2026-01-28 10:30:15".to_owned(),
            session_id: String::new(),
            path: ".jikime/memory/2026-01-28.md".to_owned(),
            start_line: 1,
            end_line: 1,
            content: content.to_owned(),
            pinned: false,
            superseded_by: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memories() -> Vec<Listed> {
        let memory = |id: &str, kind, date: &str, content: &str| Listed {
            id: id.to_owned(),
            kind,
            date: date.to_owned(),
            ..Listed::example(content)
        };
        let korean = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 두 번 오지 않는다";
        vec![
            memory("0af312aa90", MemoryType::Decision, "2026-01-28 10:30:15", korean),
            Listed {
                superseded_by: Some("0af3".to_owned()),
                ..memory("1bf312aa90", MemoryType::SessionSummary, "2026-01-28 09:05:00", "One\ntwo \u{1b}[31mred")
            },
            memory("2cf3.0000aaaa", MemoryType::Error, "2026-01-27 23:59:59", "Exit code 3"),
        ]
    }

    #[test]
    fn a_list_fits_a_terminal_of_eighty_columns() {
        insta::assert_snapshot!(plain(&by_day(&memories(), Some(80))), @r"
        2026-01-28
          0af312aa  10:30  decision         결제 웹훅은 커밋한 다음에 확인 응답을 보낸…
          1bf312aa  09:05  session_summary  [superseded] One two [31mred

        2026-01-27
          2cf3.0000aaaa  23:59  error            Exit code 3
        ");
    }

    #[test]
    fn a_list_fits_a_terminal_of_forty_columns() {
        insta::assert_snapshot!(plain(&by_day(&memories(), Some(40))), @r"
        2026-01-28
        10:30 decision 0af312aa
          결제 웹훅은 커밋한 다음에 확인 응답을
          보낸다 👍 그래야 두 번 오지 않는다
        09:05 session_summary 1bf312aa
          [superseded] One two [31mred

        2026-01-27
        23:59 error 2cf3.0000aaaa
          Exit code 3
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for columns in [40, 59, 60, 80, 120] {
            for line in plain(&by_day(&memories(), Some(columns))).lines() {
                assert!(width(line) <= columns, "{} in {columns}: {line}", width(line));
            }
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }
}
