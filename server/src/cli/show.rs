//! `show`: one memory whole, a day, or a file of the store.

use chrono::NaiveDate;
use schema::daily_log::LogKind;
use schema::exchange::markdown;
use schema::store::Row;
use schema::tool::{AboutMemory, GetInput, GetOutput};
use serde::Serialize;
use tools::engine::Engine;
use tools::error::ToolError;

use super::output::{DIM, Printer, notice};
use super::text::{harmless, wrapped};

/// What `memory_get` answers, and what only people ask.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    output: GetOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<u8>,
}

pub(crate) fn show(engine: &mut Engine, printer: &Printer, what: String) -> anyhow::Result<()> {
    if let Ok(day) = what.parse::<NaiveDate>() {
        return show_day(engine, printer, day);
    }
    let is_path = what.ends_with(".md") || what.contains('/');
    // People scroll; the budget is for models.
    let mut input = GetInput { max_tokens: Some(i64::from(u32::MAX)), ..GetInput::default() };
    if is_path {
        input.path = Some(what);
    } else {
        input.id = Some(engine.whole_id(&what)?);
    }
    let output = engine.get(&input)?;
    let row = input.id.as_deref().map(|id| engine.peek(id)).transpose()?.flatten();
    let shown = Shown::of(output, row.as_ref());
    printer.read(&shown, |columns| shown.text(columns))
}

/// A day, its entries by type.
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
        return Err(ToolError::NotFound(format!("nothing is remembered of {date}")).into());
    }
    rows.sort_by(|a, b| a.memory.at.cmp(&b.memory.at).then(a.seq.cmp(&b.seq)));
    let day = ShownDay { date, content: markdown(&rows) };
    printer.read(&day, |columns| {
        let content = harmless(&day.content);
        columns.map_or(content.clone(), |columns| wrapped(&content, columns).join("\n"))
    })
}

impl Shown {
    fn of(output: GetOutput, row: Option<&Row>) -> Self {
        Self {
            id: row.map(|row| row.memory.id.to_string()),
            output,
            pinned: row.map(|row| row.memory.attributes.pinned),
            importance: row.and_then(|row| row.memory.attributes.importance),
        }
    }

    fn text(&self, columns: Option<usize>) -> String {
        let mut marks = String::new();
        if self.pinned == Some(true) {
            marks.push_str("\npinned");
        }
        marks.extend(self.importance.map(|importance| format!("\nimportance {importance}")));
        shown(&self.output, &marks, columns)
    }
}

fn shown(output: &GetOutput, marks: &str, columns: Option<usize>) -> String {
    let mut place = format!("{}:{}", harmless(&output.path), output.start_line);
    if output.end_line > output.start_line {
        place.push_str(&format!("-{}", output.end_line));
    }
    let about = output.memory.as_ref().map(about).unwrap_or_default();
    let rest = notice(output.notice.as_deref(), columns);
    let content = harmless(&output.content);
    let content = columns.map_or(content.clone(), |columns| wrapped(&content, columns).join("\n"));
    format!("{DIM}{place}{about}{marks}{DIM:#}\n{content}\n{rest}")
}

/// What is known of a memory, on lines of its own.
fn about(memory: &AboutMemory) -> String {
    let AboutMemory { kind, date, session_id, metadata, supersedes, superseded_by } = memory;
    let mut text = format!("\n{kind}, {date}");
    let metadata = (!metadata.is_empty()).then(|| serde_json::Value::Object(metadata.clone()).to_string());
    for (name, value) in [
        ("session", Some(session_id).filter(|id| !id.is_empty())),
        ("metadata", metadata.as_ref()),
        ("supersedes", supersedes.as_ref()),
        ("superseded by", superseded_by.as_ref()),
    ] {
        text.extend(value.map(|value| format!("\n{name} {}", harmless(value))));
    }
    text
}
