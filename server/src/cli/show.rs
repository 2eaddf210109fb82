//! `show`: a memory, a day, or a file of the store.

use chrono::NaiveDate;
use schema::log::LogKind;
use schema::store::MemoryRow;
use schema::tool::{GetInput, GetOutput, MemoryDetails};
use serde::Serialize;
use tools::engine::Engine;
use tools::error::ToolError;
use tools::exchange::render_markdown;

use super::output::{DIM, Printer, notice_line};
use super::terminal_text::{clean_for_terminal, wrap};

/// The output of `memory_get` and more fields.
#[derive(Debug, Serialize)]
struct ShownMemory {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    output: GetOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<u8>,
}

pub(crate) fn run_show(engine: &mut Engine, printer: &Printer, what: String) -> anyhow::Result<()> {
    if let Ok(day) = what.parse::<NaiveDate>() {
        return show_day(engine, printer, day);
    }
    let is_path = what.ends_with(".md") || what.contains('/');
    // The token limit is for models; people can scroll.
    let mut input = GetInput { max_tokens: Some(i64::from(u32::MAX)), ..GetInput::default() };
    if is_path {
        input.path = Some(what);
    } else {
        input.id = Some(engine.resolve_id(&what)?);
    }
    let output = engine.get(&input)?;
    let row = input.id.as_deref().map(|id| engine.peek(id)).transpose()?.flatten();
    let shown = ShownMemory::from_output(output, row.as_ref());
    printer.print_paged(&shown, |columns| shown.render(columns))
}

#[derive(Debug, Serialize)]
struct ShownDay {
    date: NaiveDate,
    content: String,
}

fn show_day(engine: &Engine, printer: &Printer, date: NaiveDate) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for name in LogKind::Daily(date).file_names() {
        rows.extend(engine.store().rows().by_path(&name)?);
    }
    if rows.is_empty() {
        return Err(ToolError::NotFound(format!("there are no memories of {date}")).into());
    }
    rows.sort_by(|a, b| a.memory.at.cmp(&b.memory.at).then(a.seq.cmp(&b.seq)));
    let day = ShownDay { date, content: render_markdown(&rows) };
    printer.print_paged(&day, |columns| {
        let content = clean_for_terminal(&day.content);
        columns.map_or(content.clone(), |columns| wrap(&content, columns).join("\n"))
    })
}

impl ShownMemory {
    fn from_output(output: GetOutput, row: Option<&MemoryRow>) -> Self {
        Self {
            id: row.map(|row| row.memory.id.to_string()),
            output,
            pinned: row.map(|row| row.memory.attributes.pinned),
            importance: row.and_then(|row| row.memory.attributes.importance),
        }
    }

    fn render(&self, columns: Option<usize>) -> String {
        let mut marks = String::new();
        if self.pinned == Some(true) {
            marks.push_str("\npinned");
        }
        marks.extend(self.importance.map(|importance| format!("\nimportance {importance}")));
        render_output(&self.output, &marks, columns)
    }
}

fn render_output(output: &GetOutput, marks: &str, columns: Option<usize>) -> String {
    let mut place = format!("{}:{}", clean_for_terminal(&output.path), output.start_line);
    if output.end_line > output.start_line {
        place.push_str(&format!("-{}", output.end_line));
    }
    let about = output.memory.as_ref().map(render_details).unwrap_or_default();
    let rest = notice_line(output.notice.as_deref(), columns);
    let content = clean_for_terminal(&output.content);
    let content = columns.map_or(content.clone(), |columns| wrap(&content, columns).join("\n"));
    format!("{DIM}{place}{about}{marks}{DIM:#}\n{content}\n{rest}")
}

/// The properties of a memory, one per line.
fn render_details(memory: &MemoryDetails) -> String {
    let MemoryDetails { kind, date, session_id, metadata, supersedes, superseded_by, source, .. } = memory;
    let mut text = format!("\n{kind}, {date}");
    let metadata = (!metadata.is_empty()).then(|| serde_json::Value::Object(metadata.clone()).to_string());
    let state = memory.state.as_ref().map(|state| match &memory.settled_by {
        Some(by) => format!("{state} by {by}"),
        None => state.clone(),
    });
    let repeated = (memory.repeats > 0).then(|| {
        let last = memory.repeated_at.as_ref().map(|at| format!(", last {at}")).unwrap_or_default();
        let times = if memory.repeats == 1 { "once".to_owned() } else { format!("{} times", memory.repeats) };
        format!("{times}{last}")
    });
    for (name, value) in [
        ("session", Some(session_id).filter(|id| !id.is_empty())),
        ("metadata", metadata.as_ref()),
        ("supersedes", supersedes.as_ref()),
        ("superseded by", superseded_by.as_ref()),
        ("concluded in", source.as_ref()),
        ("state", state.as_ref()),
        ("repeated", repeated.as_ref()),
    ] {
        text.extend(value.map(|value| format!("\n{name} {}", clean_for_terminal(value))));
    }
    text
}
