//! Generates docs/reference/tools.md from the tool types. The test that checks the file also writes it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::schemas::definitions;
use crate::model::memory::MemoryType;

#[test]
fn document_is_generated_from_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/tools.md");
    let current = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let document = render_document();
    if current != document {
        std::fs::write(&path, &document).unwrap();
    }
    assert_eq!(current, document, "docs/reference/tools.md was out of date and has been rewritten");
}

fn render_document() -> String {
    let mut text = String::from(
        "# Tools\n\n\
         Argument names may be camelCase or snake_case. Unknown arguments are an error. If a call fails and the model can correct it, the\n\
         result has `isError` and explains how. By default a result of `memory_search` has at most 1,000 tokens, other results at most\n\
         8,000. `maxTokens` changes the limit. The JSON Schemas are in [schema/generated](../../schema/generated).\n",
    );
    let types = MemoryType::ALL.map(|kind| format!("`{kind}`")).join(", ");
    let _ = write!(text, "\nTypes of memories: {types}.\n");
    for (tool, input, output) in definitions() {
        let _ = write!(text, "\n## `{}`: {}\n\n{}\n", tool.name(), tool.title().to_lowercase(), tool.description());
        add_arguments(&mut text, &input);
        text.push_str("\n| result | value | meaning |\n| --- | --- | --- |\n");
        add_fields(&mut text, &output, "");
    }
    text
}

fn add_arguments(text: &mut String, schema: &Map<String, Value>) {
    let required = texts(schema, "required");
    let properties = properties(schema);
    if properties.is_empty() {
        text.push_str("\nNo arguments.\n");
        return;
    }
    text.push_str("\n| argument | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (name, property) in properties {
        let default = match property.get("default") {
            Some(default) => format!("`{default}`"),
            None if required.contains(&name.as_str()) => "required".to_owned(),
            None if property.get("type").is_some_and(|kind| kind == "boolean") => "`false`".to_owned(),
            None => "–".to_owned(),
        };
        let _ = writeln!(text, "| `{name}` | {} | {default} | {} |", type_text(property), description_text(property));
    }
}

/// Writes the fields of a result, including nested fields.
fn add_fields(text: &mut String, schema: &Map<String, Value>, prefix: &str) {
    for (name, property) in properties(schema) {
        let _ = writeln!(text, "| `{prefix}{name}` | {} | {} |", type_text(property), description_text(property));
        match property.get("items").and_then(Value::as_object) {
            Some(items) => add_fields(text, items, &format!("{prefix}{name}[].")),
            None => add_fields(text, property, &format!("{prefix}{name}.")),
        }
    }
}

fn properties(schema: &Map<String, Value>) -> Vec<(&String, &Map<String, Value>)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter_map(|(name, property)| Some((name, property.as_object()?))).collect()
}

/// Returns the texts in a list of a schema.
fn texts<'s>(schema: &'s Map<String, Value>, name: &str) -> Vec<&'s str> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn type_text(property: &Map<String, Value>) -> String {
    let values = texts(property, "enum");
    if values.len() == MemoryType::ALL.len() {
        return "a type of memory".to_owned();
    }
    if !values.is_empty() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    let kinds = texts(property, "type");
    if !kinds.is_empty() {
        return kinds.join(" or ");
    }
    let kind = property.get("type").and_then(Value::as_str).unwrap_or("any");
    match (property.get("minimum"), property.get("maximum")) {
        (Some(low), Some(high)) => format!("{kind}, {low} to {high}"),
        _ => kind.to_owned(),
    }
}

fn description_text(property: &Map<String, Value>) -> String {
    property.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}
