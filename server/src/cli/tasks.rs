//! `tasks`: what is left to do.

use std::fmt::Write as _;

use clap::Args;
use schema::model::memory::short_id;
use serde::Serialize;
use tools::engine::{Engine, Task, TaskState};

use super::output::{DIM, Printer, STRONG, push_lines};
use super::pager::PIPED_LIST_COLUMNS;
use super::terminal_text::{count_with_unit, display_width, fit_columns, one_line};

/// Columns of a checkbox and the space behind it.
const BOX_COLUMNS: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct TasksArguments {
    /// Also list tasks that are done
    #[arg(long)]
    all: bool,
    /// Close this task
    #[arg(long, value_name = "ID", conflicts_with = "reopen")]
    close: Option<String>,
    /// The reason
    #[arg(long, value_name = "TEXT", requires = "close")]
    by: Option<String>,
    /// Reopen this task
    #[arg(long, value_name = "ID")]
    reopen: Option<String>,
}

#[derive(Debug, Serialize)]
struct ListedTask {
    id: String,
    date: String,
    session_id: String,
    state: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
    /// The memory or the words that closed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_by: Option<String>,
}

impl ListedTask {
    fn of(task: Task) -> Self {
        let (state, blocked_by, closed_by) = match task.state {
            TaskState::Open => ("open", None, None),
            TaskState::Blocked(by) => ("blocked", Some(by), None),
            TaskState::Done(by) => ("done", None, by),
        };
        let memory = task.row.memory;
        Self {
            id: memory.id.to_string(),
            date: memory.at.local_second().replace('T', " "),
            session_id: memory.session_id,
            state,
            content: memory.content,
            blocked_by,
            closed_by,
        }
    }

    fn is_done(&self) -> bool {
        self.state == "done"
    }
}

pub(crate) fn tasks(engine: &mut Engine, printer: &Printer, arguments: &TasksArguments) -> anyhow::Result<()> {
    let changed = match (&arguments.close, &arguments.reopen) {
        (Some(id), _) => Some(engine.close_task(id, arguments.by.as_deref())?),
        (None, Some(id)) => Some(engine.reopen_task(id)?),
        (None, None) => None,
    };
    if let Some(task) = changed {
        let task = ListedTask::of(task);
        return printer
            .print_value(&task, || format!("{} is {}: {}\n", short_id(&task.id), task.state, one_line(&task.content)));
    }
    let all: Vec<ListedTask> = engine.tasks()?.into_iter().map(ListedTask::of).collect();
    let done = all.iter().filter(|task| task.is_done()).count();
    let shown: Vec<ListedTask> = all.into_iter().filter(|task| arguments.all || !task.is_done()).collect();
    printer.print_paged(&shown, |columns| match (shown.is_empty(), done) {
        (true, 0) => "No tasks are recorded.\n".to_owned(),
        (true, done) => format!("Nothing is open; {} done.\n", count_with_unit(done as u64, "task")),
        (false, _) => listed(&shown, columns.unwrap_or(PIPED_LIST_COLUMNS)),
    })
}

fn listed(tasks: &[ListedTask], columns: usize) -> String {
    let mut text = String::new();
    for task in tasks {
        let mark = if task.is_done() { "[x]" } else { "[ ]" };
        let id = short_id(&task.id);
        let date = &task.date[..task.date.len().min(10)];
        let about = format!("  {date}  {id}");
        let room = columns.saturating_sub(BOX_COLUMNS);
        let content = one_line(&task.content);
        // On a narrow terminal its date and id are on a line of their own.
        if display_width(&content) + display_width(&about) <= room || room > 60 {
            let content = fit_columns(&content, room.saturating_sub(display_width(&about)));
            let _ = writeln!(text, "{STRONG}{mark}{STRONG:#} {content}{DIM}{about}{DIM:#}");
        } else {
            let _ = writeln!(text, "{STRONG}{mark}{STRONG:#} {}", fit_columns(&content, room));
            let _ = writeln!(text, "    {DIM}{}{DIM:#}", fit_columns(about.trim_start(), room));
        }
        for (label, value) in [("waits for", &task.blocked_by), ("closed by", &task.closed_by)] {
            let line = value.iter().map(|value| fit_columns(&format!("{label}: {}", one_line(value)), room));
            push_lines(&mut text, "    ", DIM, line);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::{assert_fits, without_styles};

    fn task(state: &'static str, content: &str, by: &str) -> ListedTask {
        let by = Some(by.to_owned()).filter(|by| !by.is_empty());
        let (blocked_by, closed_by) = if state == "blocked" { (by, None) } else { (None, by) };
        ListedTask {
            id: "0af312aa00000000".to_owned(),
            date: "2026-01-28 10:30:15".to_owned(),
            session_id: "s".to_owned(),
            state,
            content: content.to_owned(),
            blocked_by,
            closed_by,
        }
    }

    fn plain(columns: usize) -> String {
        let tasks = [
            task("open", "재입고 알림 신청 버튼을 장바구니 화면에 추가하고 문구를 소영님께 확인받기", ""),
            task("blocked", "Cut over the DNS", "the certificate \u{1b}[2J"),
            task("done", "Rename the job", "by hand"),
        ];
        without_styles(&listed(&tasks, columns))
    }

    #[test]
    fn tasks_fit_terminals_of_eighty_and_of_forty_columns() {
        for columns in [80, 40, 24] {
            assert_fits(&plain(columns), columns);
        }
        insta::assert_snapshot!(plain(80), @r"
        [ ] 재입고 알림 신청 버튼을 장바구니 화면에 추가하고 문구…  2026-01-28  0af312aa
        [ ] Cut over the DNS  2026-01-28  0af312aa
            waits for: the certificate [2J
        [x] Rename the job  2026-01-28  0af312aa
            closed by: by hand
        ");
        insta::assert_snapshot!(plain(40), @r"
        [ ] 재입고 알림 신청 버튼을 장바구니 화…
            2026-01-28  0af312aa
        [ ] Cut over the DNS
            2026-01-28  0af312aa
            waits for: the certificate [2J
        [x] Rename the job  2026-01-28  0af312aa
            closed by: by hand
        ");
    }
}
