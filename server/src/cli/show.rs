//! `show`: one memory whole, or a file of the store.

use schema::tool::{AboutMemory, GetInput, GetOutput};
use tools::engine::Engine;

use super::output::{DIM, Printer, notice};
use super::text::{harmless, wrapped};

pub(crate) fn show(engine: &mut Engine, printer: &Printer, what: String) -> anyhow::Result<()> {
    let is_path = what.ends_with(".md") || what.contains('/');
    // People scroll; the budget is for models.
    let mut input = GetInput { max_tokens: Some(i64::from(u32::MAX)), ..GetInput::default() };
    if is_path {
        input.path = Some(what);
    } else {
        input.id = Some(engine.whole_id(&what)?);
    }
    let output = engine.get(&input)?;
    printer.read(&output, |columns| shown(&output, columns))
}

fn shown(output: &GetOutput, columns: Option<usize>) -> String {
    let mut place = format!("{}:{}", harmless(&output.path), output.start_line);
    if output.end_line > output.start_line {
        place.push_str(&format!("-{}", output.end_line));
    }
    let about = output.memory.as_ref().map(about).unwrap_or_default();
    let rest = notice(output.notice.as_deref(), columns);
    let content = harmless(&output.content);
    let content = columns.map_or(content.clone(), |columns| wrapped(&content, columns).join("\n"));
    format!("{DIM}{place}{about}{DIM:#}\n{content}\n{rest}")
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
