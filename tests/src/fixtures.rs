//! Events recorded from the real host, in `fixtures/`, and other files with JSON.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the directory of the workspace.
pub fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests live one level below the top")
}

pub fn fixtures_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Returns a recorded event by its file name without extension: `Stop`, `PostToolUse.Edit`, `2.1.20/Stop`.
#[track_caller]
pub fn recorded_event(name: &str) -> Value {
    let path = fixtures_dir().join("hooks").join(format!("{name}.json"));
    read_json(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a JSON file. An error names the file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
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
