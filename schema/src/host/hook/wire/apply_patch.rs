//! Parses the patches of Codex, which are also a tool of VS Code: which files they change, and how.

use serde_json::{Value, json};

/// A part of a file that an edit replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replacement {
    pub old_string: String,
    pub new_string: String,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePatch {
    Added { path: String, content: String },
    Updated { path: String, edits: Vec<Replacement> },
    Deleted { path: String },
}

/// Returns the changes of a patch, in order. Lines that do not belong to a change are ignored.
pub fn file_patches(patch: &str) -> Vec<FilePatch> {
    let mut found: Vec<FilePatch> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            found.push(FilePatch::Added { path: path.trim().to_owned(), content: String::new() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            found.push(FilePatch::Updated { path: path.trim().to_owned(), edits: Vec::new() });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            found.push(FilePatch::Deleted { path: path.trim().to_owned() });
        } else if let Some(last) = found.last_mut() {
            last.add_line(line);
        }
    }
    found
}

impl FilePatch {
    /// Returns the tool of Claude Code that makes this change, and its input.
    pub fn tool_call(&self) -> (&'static str, Value) {
        match self {
            Self::Added { path, content } => ("Write", json!({ "file_path": path, "content": content })),
            Self::Updated { path, edits } => ("MultiEdit", multi_edit(path, edits)),
            Self::Deleted { path } => ("Edit", json!({ "file_path": path })),
        }
    }

    fn add_line(&mut self, line: &str) {
        match self {
            Self::Added { content, .. } => {
                if let Some(text) = line.strip_prefix('+') {
                    content.push_str(text);
                    content.push('\n');
                }
            }
            Self::Updated { path, edits } => {
                if let Some(target) = line.strip_prefix("*** Move to: ") {
                    target.trim().clone_into(path);
                } else if line.starts_with("@@") {
                    edits.push(Replacement::default());
                } else if let Some((mark @ (" " | "-" | "+"), text)) = line.split_at_checked(1) {
                    // The mark of the first part may be missing.
                    if edits.is_empty() {
                        edits.push(Replacement::default());
                    }
                    let Some(Replacement { old_string, new_string }) = edits.last_mut() else { return };
                    let line = format!("{text}\n");
                    if mark != "+" {
                        old_string.push_str(&line);
                    }
                    if mark != "-" {
                        new_string.push_str(&line);
                    }
                }
            }
            Self::Deleted { .. } => {}
        }
    }
}

/// Returns the input of `MultiEdit`.
pub(super) fn multi_edit(path: &str, edits: &[Replacement]) -> Value {
    let edits = edits.iter().map(|edit| json!({ "old_string": edit.old_string, "new_string": edit.new_string }));
    json!({ "file_path": path, "edits": edits.collect::<Vec<_>>() })
}
