//! Finds earlier memories that an event settles: the failure that it repeats, the failures that a success ends, the tasks that a text
//! reports as done.

use std::cmp::Reverse;

use crate::model::failure::{Success, have_same_cause, is_settled_by, signature};
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::model::tool_usage::{edited_lines, files, is_test_file};
use crate::prose::gist::list_item;
use crate::prose::tasks::{
    declined, done_as_ordered, done_by_number, done_except_left, done_in_code, done_of_list, dropped, finished,
    reports_whole_list,
};
use crate::store::{MemoryFilter, MemoryRow, Rows};

/// How many of the newest failures and open tasks are compared.
const COMPARED_FAILURES: usize = 200;
const COMPARED_TASKS: usize = 100;

/// How many of the newest lists of tasks are read: a hook waits for it.
const COMPARED_LISTS: usize = 2;

/// How many of the newest failures may be of the turn that ends.
const TURN_FAILURES: usize = 20;
/// How many tool uses of a turn are read. A failure divides them.
const TURN_CHANGES: usize = 20;

/// The most seconds between the copies of one event in several transcripts of a host, and between the clocks of a hook and a transcript.
pub const COPY_SECONDS: i64 = 2;

/// Returns the failure that a memory repeats, in any session.
pub fn repeated_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Option<MemoryRow>> {
    if memory.kind != MemoryType::Error {
        return Ok(None);
    }
    let wanted = signature(&memory.content);
    let known = rows.failures(&Moment::latest(), COMPARED_FAILURES)?;
    let repeated = known.into_iter().find(|(_, text)| signature(text) == wanted);
    repeated.map_or(Ok(None), |(seq, _)| rows.by_seq(seq))
}

/// Returns the open failures that a successful attempt settles, with the time of the success.
pub fn settled_by(rows: Rows<'_>, success: &Success) -> rusqlite::Result<Vec<(MemoryId, Moment)>> {
    let Some(at) = Moment::parse_rfc3339(&success.at) else { return Ok(Vec::new()) };
    let known = rows.failures(&at, COMPARED_FAILURES)?;
    let mut settled = Vec::new();
    let until = Moment::from_unix(at.unix() + COPY_SECONDS, Some(0)).unwrap_or(at);
    let (mut over, others): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|(_, text)| is_settled_by(text, &success.attempt));
    // The same program may have failed for the same cause with other options: "train.py --lr 1e-5".
    let is_same = |(_, text): &(i64, String)| over.iter().any(|(_, other)| have_same_cause(text, other));
    let same: Vec<_> = others.into_iter().filter(is_same).collect();
    over.extend(same);
    for (seq, _) in over {
        let Some(MemoryRow { memory: Memory { id, .. }, .. }) = rows.by_seq(seq)? else { continue };
        if rows.state_at(&id, &until)?.phase == Phase::Open {
            settled.push((id, at));
        }
    }
    Ok(settled)
}

/// Returns the open tasks that a memory reports as finished, or that a prompt takes back.
pub(super) fn finished_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Vec<MemoryId>> {
    // An unfinished text reports no end.
    if !matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) || memory.is_unfinished() {
        return Ok(Vec::new());
    }
    let open: Vec<Memory> = rows.open_tasks(&memory.at, COMPARED_TASKS)?.into_iter().map(|row| row.memory).collect();
    let texts: Vec<&str> = open.iter().map(|task| task.content.as_str()).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let mut settled = finished(&memory.content, &texts);
    let newest = |kind: MemoryType, limit: usize| {
        let of_session = MemoryFilter {
            kind: Some(kind),
            session_id: Some(memory.session_id.clone()),
            until: Some(memory.at.utc()),
            ..MemoryFilter::default()
        };
        rows.list(&of_session, limit)
    };
    if memory.kind == MemoryType::UserPrompt {
        settled.extend(declined(&memory.content, &texts));
        if let Some(answer) = newest(MemoryType::AssistantResponse, 1)?.pop().map(|row| row.memory) {
            let is_listed = |at: &usize| open[*at].attributes.source.as_ref() == Some(&answer.id);
            let listed: Vec<usize> = (0..open.len()).filter(is_listed).collect();
            let listed_texts: Vec<&str> = listed.iter().map(|at| texts[*at]).collect();
            settled.extend(dropped(&memory.content, &answer.content, &listed_texts).map(|at| listed[at]));
            let lists = task_lists(rows, &open)?;
            if let Some(list) = lists.first().filter(|list| list.is_numbered && list.answer == answer.id) {
                let done = done_by_number(&memory.content, &list.texts());
                settled.extend(done.into_iter().filter_map(|item| list.items[item].1));
            }
        }
    } else if let Some(prompt) = newest(MemoryType::UserPrompt, 1)?.pop() {
        let is_of_turn = |row: &MemoryRow| row.order() > prompt.order();
        let changes: Vec<MemoryRow> =
            newest(MemoryType::ToolUsage, TURN_CHANGES)?.into_iter().filter(is_of_turn).collect();
        let is_open_failure = |row: &MemoryRow| {
            let is_repeated = row.state.repeated_at.is_some_and(|at| at.unix() >= prompt.memory.at.unix());
            row.state.phase == Phase::Open && (is_of_turn(row) || is_repeated)
        };
        let has_failed = newest(MemoryType::Error, TURN_FAILURES)?.iter().any(is_open_failure);
        let asked = &prompt.memory.content;
        if !changes.is_empty() && !has_failed {
            let has_edited = changes.iter().any(|row| files(&row.memory.content).next().is_some());
            settled.extend(done_as_ordered(asked, &memory.content, has_edited, &texts));
            settled.extend(done_in_code(&memory.content, &added_code(&changes), &texts));
        }
        let edited: Vec<&str> = changes.iter().map(|row| row.memory.content.as_str()).collect();
        let edited = edited.join("\n");
        let lists = task_lists(rows, &open)?;
        let numbered = lists.iter().find(|list| list.is_numbered && list.answered_at < prompt.order());
        if let Some(list) = numbered.filter(|_| !has_failed) {
            let done = done_of_list(asked, &memory.content, &edited, &list.texts());
            settled.extend(done.into_iter().filter_map(|item| list.items[item].1));
        }
        if let Some(newest) = lists.first().filter(|_| reports_whole_list(&memory.content)) {
            settled.extend(newest.items.iter().filter_map(|(_, task)| *task));
        }
        for list in &lists {
            let open: Vec<usize> = list.items.iter().filter_map(|(_, task)| *task).collect();
            let open_texts: Vec<&str> = open.iter().map(|at| texts[*at]).collect();
            settled.extend(done_except_left(&memory.content, &open_texts).into_iter().map(|at| open[at]));
        }
    }
    settled.sort_unstable();
    settled.dedup();
    Ok(settled.into_iter().map(|at| open[at].id.clone()).collect())
}

/// Returns the lines that tool uses added, except to tests.
fn added_code(tool_uses: &[MemoryRow]) -> String {
    let lines = tool_uses.iter().flat_map(|row| edited_lines(&row.memory.content));
    lines.filter(|line| line.is_added && !is_test_file(line.file)).map(|line| line.code.to_owned() + "\n").collect()
}

/// A list in an answer whose items became tasks.
struct TaskList {
    answer: MemoryId,
    /// The [`MemoryRow::order`] of the answer.
    answered_at: (i64, i64),
    /// The items of one block, or the tasks of one sentence, with the index of the open task, if it is still open.
    items: Vec<(String, Option<usize>)>,
    /// Whether the items have numbers. Finished tasks of a sentence are not among its items.
    is_numbered: bool,
}

impl TaskList {
    fn texts(&self) -> Vec<&str> {
        self.items.iter().map(|(text, _)| text.as_str()).collect()
    }
}

/// Returns the newest lists of two and more items that open tasks come from, the newest first.
fn task_lists(rows: Rows<'_>, open: &[Memory]) -> rusqlite::Result<Vec<TaskList>> {
    let mut sources: Vec<&MemoryId> = Vec::new();
    for source in open.iter().filter_map(|task| task.attributes.source.as_ref()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let mut lists = Vec::new();
    for source in sources.into_iter().take(COMPARED_LISTS) {
        let Some(answer) = rows.by_id(source)? else { continue };
        let is_of_source = |task: &Memory| task.attributes.source.as_ref() == Some(source);
        let task_of =
            |item: &str| open.iter().position(|task| is_of_source(task) && item.contains(task.content.trim()));
        let with_tasks =
            |block: Vec<&str>| -> Vec<_> { block.into_iter().map(|item| (item.to_owned(), task_of(item))).collect() };
        let mut blocks = blocks_of_items(&answer.memory.content).into_iter().map(with_tasks);
        let in_lines = blocks.rfind(|items| items.len() > 1 && items.iter().any(|(_, task)| task.is_some()));
        // "Open: the key, the man page, and the docs."
        let in_a_sentence = || {
            let of_source = open.iter().enumerate().filter(|(_, task)| is_of_source(task));
            let items: Vec<_> = of_source.map(|(at, task)| (task.content.clone(), Some(at))).collect();
            (items.len() > 1).then_some(items)
        };
        let is_numbered = in_lines.is_some();
        if let Some(items) = in_lines.or_else(in_a_sentence) {
            lists.push(TaskList { answer: source.clone(), answered_at: answer.order(), items, is_numbered });
        }
    }
    lists.sort_by_key(|list| Reverse(list.answered_at));
    Ok(lists)
}

/// Returns the items of each list in a text. Other lines end a list, empty ones do not.
fn blocks_of_items(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = vec![Vec::new()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (list_item(line.trim()), blocks.last_mut()) {
            (Some(item), Some(block)) => block.push(item),
            _ => blocks.push(Vec::new()),
        }
    }
    blocks
}
