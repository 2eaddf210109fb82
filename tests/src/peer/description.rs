//! The description of another server: a JSON file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::connection::PeerError;

/// How to install, start and use a server.
///
/// `{installed}` in a command or a variable is the folder of `tests/peers/install`, `{home}` the server's home, and `{project}` the folder
/// in which it starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerDescription {
    pub name: String,
    pub version: String,
    pub runtime: PeerRuntime,
    /// The name in the registry of the runtime.
    pub package: String,
    pub command: Vec<String>,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    pub save: PeerTool,
    pub search: PeerTool,
    /// Finds a saved text by a word of it, if `search` may miss it.
    #[serde(default)]
    pub check: Option<PeerTool>,
    /// Returns what a new session should know. Its arguments need no text.
    #[serde(default)]
    pub context: Option<PeerTool>,
    /// A remark about the configuration, for reports.
    #[serde(default)]
    pub note: Option<String>,
    /// The hook for a prompt, if the product has one.
    #[serde(default)]
    pub hook: Option<PeerHook>,
}

impl PeerDescription {
    /// Reads `tests/peers/NAME.json`, or the file with this path.
    pub fn named(name: &str) -> Result<Self, PeerError> {
        let is_path = Path::new(name).extension().is_some_and(|ending| ending == "json");
        let path = if is_path { PathBuf::from(name) } else { Self::folder().join(format!("{name}.json")) };
        let text = fs::read_to_string(&path).map_err(|error| Self::invalid(&path, &error))?;
        let description: Self = serde_json::from_str(&text).map_err(|error| Self::invalid(&path, &error))?;
        if description.command.is_empty() {
            return Err(Self::invalid(&path, &"the command is empty"));
        }
        Ok(description)
    }

    /// Returns the names of the descriptions in `tests/peers`, ours first.
    pub fn names() -> Result<Vec<String>, PeerError> {
        let folder = Self::folder();
        let files = fs::read_dir(&folder).map_err(|error| Self::invalid(&folder, &error))?;
        let names = files.filter_map(|file| Some(file.ok()?.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort_by_key(|name| (name != OURS, name.clone()));
        Ok(names)
    }

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
    }

    fn invalid(path: &Path, reason: &dyn std::fmt::Display) -> PeerError {
        PeerError::Description { path: path.display().to_string(), reason: reason.to_string() }
    }
}

/// The description of our own server.
const OURS: &str = "jikime-memory";

/// The runtime of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerRuntime {
    Npm,
    Python,
    Cargo,
}

/// A tool and its arguments. `%` in a text is what to save or to ask, and `@` a unique number, for servers that merge equal titles.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerTool {
    pub tool: String,
    pub arguments: Value,
}

impl PeerTool {
    pub fn filled(&self, text: &str, number: usize) -> Value {
        filled(&self.arguments, text, number)
    }
}

/// A program that a host starts for an event, and the JSON on its standard input.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerHook {
    pub command: Vec<String>,
    pub input: Value,
}

pub(super) fn filled(template: &Value, text: &str, number: usize) -> Value {
    // The number first, because the text may contain its mark.
    each_text(template, &|found| found.replace('@', &number.to_string()).replace('%', text))
}

pub(super) fn each_text(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(items) => items.iter().map(|item| each_text(item, change)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), each_text(field, change))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
