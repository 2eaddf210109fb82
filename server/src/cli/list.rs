//! `list`: the newest memories, by day.

use std::fmt::Write as _;

use clap::Args;
use schema::files::layout::STORE_DIR;
use schema::model::memory::{MemoryId, MemoryType, short_id};
use schema::model::moment::Moment;
use schema::model::sharing::SharedState;
use schema::store::{Locator, MemoryRow};
use serde::Serialize;
use tools::engine::{Engine, HistoryFilter};

use super::filter_arguments::FilterArguments;
use super::output::{DIM, KIND, PLAIN, Printer, STRONG, notice_line, push_lines};
use super::pager::{NARROW, PIPED_LIST_COLUMNS};
use super::terminal_text::{display_width, fit_columns, group_thousands, one_line, pad_columns, wrap_lines};

/// Lines of a memory on a narrow terminal.
const LINES: usize = 2;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(super) narrow: FilterArguments,
    /// Maximum number
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    pub(super) limit: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct ListedMemory {
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
    /// Whether it is a task that is done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
    /// Its state if it is shared by the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<&'static str>,
}

impl ListedMemory {
    /// With its lines, for JSON.
    pub(crate) fn with_lines(row: &MemoryRow, locator: &mut Locator) -> Self {
        let (start_line, end_line) = locator.find_lines(row);
        Self { start_line, end_line, ..Self::from_row(row) }
    }

    pub(crate) fn from_row(row: &MemoryRow) -> Self {
        Self {
            id: row.memory.id.to_string(),
            kind: row.memory.kind,
            date: row.memory.at.local_second().replace('T', " "),
            session_id: row.memory.session_id.clone(),
            path: format!("{STORE_DIR}/{}", row.path),
            start_line: 0,
            end_line: 0,
            content: row.memory.content.clone(),
            pinned: row.memory.attributes.pinned,
            done: row.memory.kind == MemoryType::Task && !row.is_open_task(),
            superseded_by: row.superseded_by.as_ref().map(MemoryId::to_string),
            shared: row.shared_state(&Moment::now()).map(SharedState::name),
        }
    }

    /// The text on one line, with marks first.
    pub(crate) fn one_line(&self) -> String {
        let marks =
            [(self.superseded_by.is_some(), "[superseded] "), (self.pinned, "[pinned] "), (self.done, "[done] ")];
        let marks: String = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark).collect();
        let shared = self.shared.map(|state| format!("[shared, {state}] ")).unwrap_or_default();
        marks + &shared + &one_line(&self.content)
    }
}

pub(crate) fn run_list(engine: &mut Engine, printer: &Printer, arguments: ListArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.into_filter(engine)?;
    let rows = engine.list_history(&wanted, arguments.limit)?;
    let mut locator = engine.locator();
    let memories: Vec<ListedMemory> = rows.iter().map(|row| ListedMemory::with_lines(row, &mut locator)).collect();
    let is_narrowed = wanted != HistoryFilter::default() || arguments.limit == 0;
    let is_cut = !printer.is_json() && arguments.limit > 0 && memories.len() == arguments.limit;
    let more = if is_cut { engine.count_history(&wanted)?.saturating_sub(memories.len() as u64) } else { 0 };
    printer.print_paged(&memories, |columns| match memories.is_empty() {
        true if is_narrowed => "No memories match.\n".to_owned(),
        true => "There are no memories yet.\n".to_owned(),
        false => render_by_day(&memories, columns) + &remaining_note("list", more, arguments.limit, columns),
    })
}

/// A hint if the list is cut.
pub(crate) fn remaining_note(command: &str, more: u64, limit: usize, columns: Option<usize>) -> String {
    if more == 0 {
        return String::new();
    }
    let all = more.saturating_add(limit as u64);
    let text = format!(
        "{} more: jikime-memory {command} -n {all} shows all, --until DATE shows older ones",
        group_thousands(more)
    );
    notice_line(Some(&text), columns)
}

fn render_by_day(memories: &[ListedMemory], columns: Option<usize>) -> String {
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
            Some(columns) if columns < NARROW => render_narrow(&mut text, memory, time, columns),
            _ => render_wide(&mut text, memory, time, kinds, columns),
        }
    }
    text
}

fn render_wide(text: &mut String, memory: &ListedMemory, time: &str, kinds: usize, columns: Option<usize>) {
    let id = short_id(&memory.id);
    let kind = pad_columns(memory.kind.as_str(), kinds);
    let before = display_width(id) + display_width(time) + display_width(&kind) + "        ".len();
    let room = columns.map_or(PIPED_LIST_COLUMNS, |columns| columns.saturating_sub(before));
    let line = fit_columns(&memory.one_line(), room);
    let _ = writeln!(text, "  {DIM}{id}{DIM:#}  {time}  {KIND}{kind}{KIND:#}  {line}");
}

fn render_narrow(text: &mut String, memory: &ListedMemory, time: &str, columns: usize) {
    let (id, kind) = (short_id(&memory.id), memory.kind);
    let _ = writeln!(text, "{time} {KIND}{kind}{KIND:#} {DIM}{id}{DIM:#}");
    push_lines(text, "  ", PLAIN, wrap_lines(&memory.one_line(), columns.saturating_sub(2), LINES));
}

#[cfg(test)]
impl ListedMemory {
    /// A decision for tests of the output.
    pub(crate) fn example(content: &str) -> Self {
        Self {
            done: false,
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
            shared: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::{assert_fits, without_styles};

    fn memories() -> Vec<ListedMemory> {
        let memory = |id: &str, kind, date: &str, content: &str| ListedMemory {
            id: id.to_owned(),
            kind,
            date: date.to_owned(),
            ..ListedMemory::example(content)
        };
        let korean = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 두 번 오지 않는다";
        vec![
            memory("0af312aa90", MemoryType::Decision, "2026-01-28 10:30:15", korean),
            ListedMemory {
                superseded_by: Some("0af3".to_owned()),
                ..memory("1bf312aa90", MemoryType::SessionSummary, "2026-01-28 09:05:00", "One\ntwo \u{1b}[31mred")
            },
            memory("2cf3.0000aaaa", MemoryType::Error, "2026-01-27 23:59:59", "Exit code 3"),
        ]
    }

    #[test]
    fn list_fits_eighty_columns() {
        insta::assert_snapshot!(without_styles(&render_by_day(&memories(), Some(80))), @r"
        2026-01-28
          0af312aa  10:30  decision         결제 웹훅은 커밋한 다음에 확인 응답을 보낸…
          1bf312aa  09:05  session_summary  [superseded] One two [31mred

        2026-01-27
          2cf3.0000aaaa  23:59  error            Exit code 3
        ");
    }

    #[test]
    fn list_fits_forty_columns() {
        insta::assert_snapshot!(without_styles(&render_by_day(&memories(), Some(40))), @r"
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
            assert_fits(&without_styles(&render_by_day(&memories(), Some(columns))), columns);
        }
    }
}
