//! Decides what the use of a tool is, and what of it may be recorded.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;

use super::payload::HookPayload;
use super::{edit, edited_file};
use crate::model::command_line::{changes_something, is_answer, made_commit, shell_words};
use crate::model::failure::{Attempt, all_passed, cause_of, truncated};
use crate::model::tool_usage;
use crate::privacy::sanitizer::Sanitizer;
use crate::settings::Edits;

/// The prefixes of our own tools in the host. Their uses are not recorded.
const OWN_TOOLS: [&str; 2] = ["mcp__jikime-memory__", "mcp__plugin_jikime-memory_"];

/// The longest command line that is recorded, in bytes.
pub(super) const COMMAND_LIMIT: usize = 240;

/// How much of a failure's report is read, at its beginning and at its end, in bytes.
pub(super) const READ_REPORT: usize = 32 * 1024;

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The attempt, which may have failed before.
    pub attempt: Attempt,
    /// The change, if there was one.
    pub changed: Option<ToolChange>,
    /// Whether the host says that the tool succeeded. Only then does it settle an earlier failure.
    pub is_success_known: bool,
}

/// A change by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChange {
    /// A file, relative to the project if it is inside, and a summary of the change if that may be recorded.
    File { path: String, change: Option<String> },
    /// A command that was run.
    Command(String),
}

/// Whether a tool edits files.
pub fn is_edit_tool(name: &str) -> bool {
    matches!(name, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

impl ToolChange {
    /// Returns the part that the setting allows to record.
    pub fn within(self, edits: Edits) -> Option<Self> {
        match (edits, self) {
            (Edits::Off, Self::File { .. }) => None,
            (Edits::Names, Self::File { path, .. }) => Some(Self::File { path, change: None }),
            (_, used) => Some(used),
        }
    }
}

/// The use of a tool, and its project.
pub(super) struct ToolContext<'p> {
    pub(super) payload: &'p HookPayload,
    pub(super) project: &'p Path,
    pub(super) sanitizer: &'p Sanitizer,
}

impl ToolContext<'_> {
    pub(super) fn tool_use(&self) -> Option<ToolUse> {
        let changed = match self.payload.tool_name.as_deref()? {
            "Edit" | "MultiEdit" | "Write" => Some(self.file_use(self.input("file_path")?)?),
            "NotebookEdit" => Some(self.file_use(self.input("notebook_path")?)?),
            "Bash" | "PowerShell" => self.command_use(self.input("command")?)?,
            _ => return None,
        };
        Some(ToolUse { attempt: self.attempt()?, changed, is_success_known: !self.payload.is_outcome_unknown })
    }

    /// Returns the attempt in the form in which failures name it.
    fn attempt(&self) -> Option<Attempt> {
        let tool = self.payload.tool_name.as_deref()?;
        let is_command = self.input("command").is_some();
        let input = ["command", "file_path", "notebook_path", "url", "pattern"]
            .into_iter()
            .find_map(|name| Some((name, self.input(name)?)));
        let input = input.map(|(name, input)| {
            let input = match name {
                "file_path" | "notebook_path" => self.shown_path(input).unwrap_or_else(|| input.to_owned()),
                _ => input.trim().to_owned(),
            };
            // Clean before joining lines and cutting the end, which could make a secret unrecognisable.
            truncated(&self.sanitizer.clean(&input).text.replace('\n', " "), COMMAND_LIMIT)
        });
        let passed = is_command && all_passed(&self.payload.tool_response.output);
        Some(Attempt { tool: tool.to_owned(), input, passed })
    }

    fn input(&self, name: &str) -> Option<&str> {
        self.payload.tool_input[name].as_str()
    }

    /// Returns the file of the project that the tool opens, unless it is excluded.
    pub(super) fn opened_file(&self) -> Option<String> {
        let path = self.input("file_path").or_else(|| self.input("notebook_path"))?;
        if self.sanitizer.excludes(path, self.directory(), self.project) {
            return None;
        }
        let shown = edited_file::display_path(path, self.directory(), self.project)?;
        // Many memories contain the name of a folder as an ordinary word.
        let is_file = shown.is_relative() && !shown.as_os_str().is_empty() && !self.directory().join(path).is_dir();
        is_file.then(|| shown.to_string_lossy().replace('\\', "/"))
    }

    /// Returns the name of a file in the memory, without secrets, or `None` for a file that tools made.
    fn shown_path(&self, path: &str) -> Option<String> {
        // Clean the path as written: normalising it could make a secret unrecognisable.
        let clean = self.sanitizer.clean(path).text;
        let shown = edited_file::display_path(&clean, self.directory(), self.project)?;
        Some(shown.to_string_lossy().replace('\\', "/"))
    }

    fn file_use(&self, path: &str) -> Option<ToolChange> {
        if self.sanitizer.excludes(path, self.directory(), self.project) {
            return None;
        }
        let (file, path) = (self.directory().join(path), self.shown_path(path)?);
        let may_show = edited_file::may_show(&file, self.project);
        let change = if may_show { edit::change(self.payload, &file, &path, self.sanitizer) } else { None };
        Some(ToolChange::File { path, change })
    }

    /// Returns what a command changes. The outer `None` means that it must not be recorded.
    fn command_use(&self, line: &str) -> Option<Option<ToolChange>> {
        if self.excludes_command(line) {
            return None;
        }
        let described = || {
            let command = self.attempt()?.input?;
            let commit = made_commit(line, &self.payload.tool_response.output);
            Some(ToolChange::Command(tool_usage::with_commit(command, commit)))
        };
        Some(changes_something(line).then(described).flatten())
    }

    fn excludes_command(&self, line: &str) -> bool {
        self.sanitizer.excludes_command(line, &shell_words(line), self.directory(), self.project)
    }

    pub(super) fn failure(&self) -> Option<String> {
        let tool = self.payload.tool_name.as_deref()?;
        // An interruption by the user is not a failure of the tool.
        if self.payload.is_interrupt == Some(true) || OWN_TOOLS.iter().any(|own| tool.starts_with(own)) {
            return None;
        }
        if self.names_excluded(&self.payload.tool_input) {
            return None;
        }
        let whole = self.payload.error.as_deref().unwrap_or_default().trim();
        let report = ends(whole, READ_REPORT);
        if let Some(line) = self.input("command")
            && let Some((code, output)) = exit_code(&report)
            && is_answer(line, code, output)
        {
            return None;
        }
        // Clean the whole report, because half a secret would not be recognised.
        let report = self.sanitizer.clean(&report).text;
        let explained = match tool {
            "Bash" | "PowerShell" => &*report,
            // After their first line, other tools repeat their input.
            _ => report.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
        };
        let cause = cause_of(explained, &self.project.to_string_lossy());
        if self.sanitizer.excludes_text(&report, self.directory(), self.project) {
            return None;
        }
        Some(self.attempt()?.failed(&cause))
    }

    /// Whether a tool's input names an excluded file, apart from the text to be written.
    fn names_excluded(&self, input: &Value) -> bool {
        match input {
            Value::String(text) => {
                self.sanitizer.excludes(text, self.directory(), self.project) || self.excludes_command(text)
            }
            Value::Array(items) => items.iter().any(|item| self.names_excluded(item)),
            Value::Object(fields) => {
                let is_content = |name: &str| matches!(name, "content" | "old_string" | "new_string" | "new_source");
                fields.iter().any(|(name, value)| !is_content(name) && self.names_excluded(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the directory that relative paths refer to.
    fn directory(&self) -> &Path {
        self.payload.cwd.as_deref().map_or(self.project, Path::new)
    }
}

/// Returns the exit code at the beginning of a report, and the output after it.
fn exit_code(report: &str) -> Option<(i32, &str)> {
    let rest = report.strip_prefix("Exit code ")?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.trim().parse().ok()?, output))
}

/// Returns a text, or the beginning and the end of a long one, cut between lines.
fn ends(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= 2 * limit {
        return text.into();
    }
    let head = &text[..text.floor_char_boundary(limit)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit)..];
    let (head, tail) =
        (head.rsplit_once('\n').map_or(head, |(head, _)| head), tail.split_once('\n').map_or(tail, |(_, tail)| tail));
    format!("{head}\n{tail}").into()
}
