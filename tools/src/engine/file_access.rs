//! Resolves paths given by callers: only Markdown text inside the store. Limits what is returned of it, and finds lines in it.

use std::io::{self, Read as _, Seek as _, SeekFrom};

use schema::files::layout::{Layout, STORE_DIR, is_visible_markdown};
use schema::files::store_file;
use schema::log::{LogKind, find_lines};
use schema::store::{MemoryRow, Store, SyncedLog};

use crate::error::ToolError;

/// Checks a path and makes it relative to the store: no `..`, not absolute, Markdown, and no link out of the store.
pub(super) fn confine_path(layout: &Layout, path: &str) -> Result<String, ToolError> {
    let refused = |reason: &str| Err(ToolError::Invalid(format!("path is {path:?}: {reason}")));
    let slashed = path.trim().replace('\\', "/");
    let is_absolute = slashed.starts_with('/') || slashed.as_bytes().get(1) == Some(&b':');
    if is_absolute || slashed.split('/').any(|part| part == "..") || slashed.contains('\0') {
        return refused(&format!("give one relative to the project and inside {STORE_DIR}, without \"..\""));
    }
    let plain = slashed.trim_start_matches("./");
    let inside = plain.strip_prefix(STORE_DIR).map_or(plain, |rest| rest.trim_start_matches('/'));
    if inside.is_empty() || layout.store_path(inside).is_dir() {
        return refused("that is a directory; name a Markdown file in it");
    }
    if !is_visible_markdown(inside) {
        return refused("only Markdown files (.md) of the store can be opened");
    }
    // Links above the store, such as a linked temporary directory, are allowed.
    if let (Ok(store), Ok(file)) = (layout.store_dir().canonicalize(), layout.store_path(inside).canonicalize())
        && !file.starts_with(store)
    {
        return refused("a link on it leads out of the store");
    }
    Ok(inside.to_owned())
}

/// A file's text, with a notice for the reader.
pub(super) struct FileText {
    pub(super) text: String,
    pub(super) notice: Option<String>,
}

/// Reads a confined file. Invalid UTF-8 is replaced, as in search, and the notice says so.
pub(super) fn read_file(layout: &Layout, inside: &str) -> Result<FileText, ToolError> {
    let path = display_path(inside);
    let bytes = store_file::read(&layout.store_path(inside)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ToolError::NotFound(format!("there is no file {path}")),
        _ if store_file::is_refused(&error) => ToolError::Invalid(format!("cannot open {path}: {error}")),
        _ => ToolError::cannot(&format!("read {path}"), &error),
    })?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => FileText { text, notice: None },
        Err(error) => FileText {
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            notice: Some(format!("{path} is not UTF-8 text: unreadable bytes show as \u{FFFD}; save it as UTF-8")),
        },
    })
}

/// Whether the file is readable but not UTF-8.
pub(super) fn has_other_encoding(layout: &Layout, inside: &str) -> bool {
    store_file::read(&layout.store_path(inside)).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err())
}

/// The path of a file as output shows it.
pub(super) fn display_path(inside: &str) -> String {
    format!("{STORE_DIR}/{inside}")
}

/// Default limit of a response in tokens.
const DEFAULT_TOKENS: i64 = 8_000;

/// The bytes that a response may have, at about four for each token.
pub(super) fn max_bytes(max_tokens: Option<i64>) -> Result<usize, ToolError> {
    let tokens = max_tokens.unwrap_or(DEFAULT_TOKENS);
    if tokens < 1 {
        return Err(ToolError::Invalid(format!("maxTokens is {tokens}: use 1 or more")));
    }
    Ok((tokens as usize).saturating_mul(4))
}

/// Line count of the last saved log, so that the next save need not count it again. Valid while the log is only appended
/// to.
#[derive(Debug, Default)]
pub(super) struct LineCounter {
    path: String,
    reading: String,
    bytes: u64,
    lines: usize,
}

impl LineCounter {
    /// The lines of a memory, if it follows the counted part.
    pub(super) fn lines_of_last(&mut self, store: &Store, row: &MemoryRow) -> Option<(usize, usize)> {
        let kind = LogKind::from_path(&row.path)?;
        let SyncedLog { read_mark: reading, .. } = store.synced_log(&row.path).ok()??;
        if (&self.path, &self.reading) != (&row.path, &reading) {
            *self = Self { path: row.path.clone(), reading, bytes: 0, lines: 0 };
        }
        let mut file = store_file::open(&store.layout().store_path(&row.path)).ok()?;
        file.seek(SeekFrom::Start(self.bytes)).ok()?;
        let mut more = Vec::new();
        file.read_to_end(&mut more).ok()?;
        let found = find_lines(&more, &row.memory, &row.path, kind);
        let found = found.map(|found| (self.lines + found.start(), self.lines + found.end()));
        self.bytes += more.len() as u64;
        self.lines += more.iter().filter(|byte| **byte == b'\n').count();
        found
    }
}
