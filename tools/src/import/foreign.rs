//! Memories of other programs: where they are, what a source reads, and how types, times and tags of others become ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use schema::files::regular_file;
use schema::intake::prepare::{Draft, PreparedMemory};
use schema::model::memory::{MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use schema::settings::LoadedSettings;
use serde_json::{Map, Value};

use crate::error::ToolError;

/// The metadata field that names the program and the entry that a memory comes from.
pub const FROM: &str = "from";

/// 2000-01-01: no agent's memory is older.
const EARLIEST: i64 = 946_684_800;

/// How far a time may be ahead of this machine's clock, in seconds.
const AHEAD: i64 = 24 * 3600;

/// From this size on, a number counts milliseconds, then microseconds. Seconds reach it in the year 5138.
const MILLIS_FROM: f64 = 1e11;
const MICROS_FROM: f64 = 1e14;

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

/// An entry of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignMemory {
    /// Its id there, unique in its source.
    pub id: String,
    pub session_id: String,
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
    pub tags: Vec<String>,
    /// Whether the id is only a number, which another database of the program may give to another entry.
    pub is_numbered: bool,
}

impl ForeignMemory {
    /// An entry without session and tags, whose id is more than a number.
    pub(super) fn new(id: String, kind: MemoryType, content: String, at: Moment) -> Self {
        Self { id, session_id: String::new(), kind, content, at, tags: Vec::new(), is_numbered: false }
    }

    /// The value of [`FROM`] for an entry of a source.
    pub fn from(&self, source: &str) -> String {
        format!("{source}/{}", self.id)
    }

    pub fn into_draft(self, source: &str) -> Draft {
        let mut metadata = Map::from_iter([(FROM.to_owned(), Value::from(self.from(source)))]);
        let mut also = None;
        if !self.tags.is_empty() {
            // Tags are also words by which a memory is asked for.
            also = Some(self.tags.join(", "));
            metadata.insert("tags".to_owned(), Value::from(self.tags));
        }
        let origin = Some(source.to_owned());
        Draft {
            attributes: MemoryAttributes { origin, also, metadata, ..MemoryAttributes::default() },
            ..Draft::new(self.session_id, self.kind, self.content, self.at)
        }
    }
}

/// Which entries of a source to read.
#[derive(Debug, Clone, Copy)]
pub struct ImportScope<'s> {
    pub project: &'s Path,
    pub loaded: &'s LoadedSettings,
    /// Whether to read entries of all projects, not only those of `project`.
    pub all: bool,
}

impl ImportScope<'_> {
    /// Whether a path or a name means this project. Some programs only store the name of its folder.
    pub(super) fn includes_project(&self, named: &str) -> bool {
        let folder = self.project.file_name().unwrap_or_default().to_string_lossy();
        self.all || Path::new(named) == self.project || named == folder
    }

    /// Whether a directory is in this project.
    pub(super) fn includes_directory(&self, directory: &str) -> bool {
        self.all || Path::new(directory).starts_with(self.project)
    }
}

/// The error of a source, or of the receiver of its entries.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The source cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(transparent)]
    Receiver(#[from] ToolError),
}

impl SourceError {
    pub(super) fn unreadable(path: &Path, reason: &(impl ToString + ?Sized)) -> Self {
        Self::Unreadable { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// Receives the entries of a source.
pub trait Receiver {
    fn add(&mut self, memory: ForeignMemory) -> Result<(), SourceError>;
    /// Receives a memory of a replayed session.
    fn add_event(&mut self, memory: PreparedMemory) -> Result<(), SourceError>;
    /// Counts a file of a folder.
    fn count_file(&mut self, _bytes: u64) {}
    /// A part of the source that is not imported, with the reason.
    fn skip(&mut self, problem: String);
    /// An entry of another project.
    fn skip_other_project(&mut self);
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

/// The type that another program's name of a type, a tag or a heading means.
pub(super) fn kind_named(name: &str) -> Option<MemoryType> {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    let singular = name.strip_suffix('s').unwrap_or(&name);
    Some(match singular {
        "decision" | "choice" | "adr" | "tool_choice" | "approach" => MemoryType::Decision,
        "preference" | "user_preference" | "preference_signal" | "user_correction" => MemoryType::Preference,
        "convention" | "rule" | "guideline" | "best_practice" | "standard" => MemoryType::Convention,
        "architecture" | "design" | "component" | "service" => MemoryType::Architecture,
        "pattern" | "design_pattern" | "anti_pattern" | "workflow" | "technique" => MemoryType::Pattern,
        "bug" | "bugfix" | "bug_fix" | "fix" | "error" | "error_fix" | "failure" | "exception" | "mistake"
        | "gotcha" | "solution" => MemoryType::ErrorFix,
        "summary" | "session_summary" | "session" | "retrospective" | "standup_note" => MemoryType::SessionSummary,
        "task" | "todo" | "backlog_item" | "action_item" => MemoryType::Task,
        "learning" | "insight" | "discovery" | "fact" | "lesson" => MemoryType::Learning,
        _ => return None,
    })
}

/// Parses a time of another program: RFC 3339, `YYYY-MM-DD HH:MM:SS` in UTC, a date, or a number since 1970.
pub(super) fn parse_time(text: &str) -> Option<Moment> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return moment_from_number(number);
    }
    let date = text.get(..10)?;
    let rest = text.get(10..).unwrap_or_default().trim_start_matches(['T', ' ']);
    let candidates =
        [text.to_owned(), format!("{date}T{rest}"), format!("{date}T{rest}Z"), format!("{date}T12:00:00Z")];
    let usable = if rest.is_empty() { &candidates[3..] } else { &candidates[..3] };
    let at = usable.iter().find_map(|text| Moment::parse_rfc3339(text))?;
    Moment::from_unix(at.unix(), None)
}

fn moment_from_number(number: f64) -> Option<Moment> {
    let seconds = match number.abs() {
        size if !size.is_finite() => return None,
        size if size >= MICROS_FROM => number / 1e6,
        size if size >= MILLIS_FROM => number / 1e3,
        _ => number,
    };
    Moment::from_unix(seconds as i64, None)
}

/// Whether a time can be right. Others get the time of their file, because the log of a day in 1970 or 9999 helps nobody.
pub(super) fn is_plausible(at: &Moment) -> bool {
    (EARLIEST..=Moment::now().unix() + AHEAD).contains(&at.unix())
}

/// When a file was changed last, at most now.
pub(super) fn changed_at(path: &Path) -> Moment {
    modified_at(path).map_or_else(Moment::now, |at| at.min(Moment::now()))
}

/// When a file was changed last, if that is known.
pub(super) fn modified_at(path: &Path) -> Option<Moment> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    let seconds = modified.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Moment::from_unix(i64::try_from(seconds).ok()?, None)
}

/// Joins the parts that are not empty.
pub(super) fn join_parts<'p>(parts: impl IntoIterator<Item = &'p str>, separator: &str) -> String {
    let parts: Vec<&str> = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::rfc3339("2026-01-28T01:30:15.123Z", Some(1_769_563_815))]
    #[case::offset("2026-01-28T10:30:15+09:00", Some(1_769_563_815))]
    #[case::sqlite("2026-01-28 01:30:15", Some(1_769_563_815))]
    #[case::no_zone("2026-01-28T01:30:15.5", Some(1_769_563_815))]
    #[case::day("2026-01-28", Some(1_769_601_600))]
    #[case::seconds("1769563815.25", Some(1_769_563_815))]
    #[case::milliseconds("1769563815250", Some(1_769_563_815))]
    #[case::microseconds("1769563815250000", Some(1_769_563_815))]
    #[case::word("yesterday", None)]
    #[case::not_a_number("NaN", None)]
    #[case::wide("２０２６年", None)]
    #[case::empty("", None)]
    fn times_of_others_are_parsed(#[case] text: &str, #[case] expected: Option<i64>) {
        assert_eq!(parse_time(text).map(|at| at.unix()), expected);
    }

    #[rstest::rstest]
    #[case::epoch(0, false)]
    #[case::year_9999(253_402_214_399, false)]
    #[case::usual(1_769_563_815, true)]
    fn impossible_times_are_recognised(#[case] unix: i64, #[case] expected: bool) {
        assert_eq!(is_plausible(&Moment::from_unix(unix, Some(0)).unwrap()), expected);
    }

    #[test]
    fn type_names_of_others_are_understood() {
        let kinds = ["Decisions", "bug-fix", "Best practices", "user preference", "observation"].map(kind_named);
        let expected = [
            Some(MemoryType::Decision),
            Some(MemoryType::ErrorFix),
            Some(MemoryType::Convention),
            Some(MemoryType::Preference),
            None,
        ];
        assert_eq!(kinds, expected);
    }
}
