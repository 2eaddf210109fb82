//! Events recorded from the real host, in `fixtures/`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

pub fn fixtures_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns a recorded event by its file name without extension: `Stop`, `PostToolUse.Edit`, `2.1.20/Stop`.
#[track_caller]
pub fn recorded_event(name: &str) -> Value {
    let path = fixtures_dir().join("hooks").join(format!("{name}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Replaces `from` by `to` in all texts of `value`.
pub(crate) fn replace_texts(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_texts(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_texts(field, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
