//! A program whose memories can be imported, and where hosts say that its memories are.

use std::path::{Path, PathBuf};

use schema::files::regular_file;
use serde_json::Value;

use super::foreign::{ImportScope, Receiver, SourceError};

/// A program whose memories can be imported.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Its name on the command line and in the origin of memories.
    pub name: &'static str,
    pub program: &'static str,
    /// The places where the program usually keeps its memories, which may not exist.
    pub(super) places: fn(&Path, &ImportScope<'_>) -> Vec<PathBuf>,
    pub(super) read: fn(&Path, &ImportScope<'_>, &mut dyn Receiver) -> Result<(), SourceError>,
}

/// Settings of hosts that name the environment of MCP servers, below the home directory and below a project.
const HOME_SETTINGS: [&str; 6] = [
    ".claude.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    "AppData/Roaming/Claude/claude_desktop_config.json",
];
const PROJECT_SETTINGS: [&str; 3] = [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"];

impl Source {
    /// The places that exist on this machine.
    pub fn find(&self, home: &Path, scope: &ImportScope<'_>) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for place in (self.places)(home, scope) {
            if place.exists() && !found.contains(&place) {
                found.push(place);
            }
        }
        found
    }

    /// Reads all entries of a place.
    pub fn read(&self, place: &Path, scope: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
        (self.read)(place, scope, receiver)
    }
}

/// The absolute paths that settings of hosts give to an environment variable of their MCP servers.
pub(super) fn configured_paths(home: &Path, project: &Path, variable: &str) -> impl Iterator<Item = PathBuf> {
    let files = HOME_SETTINGS.iter().map(|name| home.join(name));
    let files = files.chain(PROJECT_SETTINGS.iter().map(|name| project.join(name)));
    let mut found = Vec::new();
    for file in files {
        let bytes = regular_file::read(&file, regular_file::MAX_BYTES).ok();
        let settings: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        settings.iter().for_each(|settings| collect_values(settings, variable, &mut found));
    }
    found.into_iter().map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Collects the texts with a name at any depth.
fn collect_values(value: &Value, name: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(name).and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect_values(value, name, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_values(item, name, found)),
        _ => {}
    }
}
