//! Resolves paths given by callers: only Markdown text inside the store. Limits what is returned of it.

use std::io;

use schema::files::layout::{Layout, STORE_DIR, is_visible_markdown};
use schema::files::store_file;

use crate::error::ToolError;

/// Checks a path and makes it relative to the store: no `..`, not absolute, Markdown, and no link out of the store.
pub(super) fn confine_path(layout: &Layout, path: &str) -> Result<String, ToolError> {
    let slashed = path.trim().replace('\\', "/");
    let is_absolute = slashed.starts_with('/') || slashed.as_bytes().get(1) == Some(&b':');
    if is_absolute || slashed.split('/').any(|part| part == "..") || slashed.contains('\0') {
        return Err(ToolError::Invalid(format!(
            "path is {path:?}: give one relative to the project and inside {STORE_DIR}, without \"..\""
        )));
    }
    let plain = slashed.trim_start_matches("./");
    let inside = plain.strip_prefix(STORE_DIR).map_or(plain, |rest| rest.trim_start_matches('/'));
    if inside.is_empty() || layout.store_path(inside).is_dir() {
        return Err(ToolError::Invalid(format!("path is {path:?}: that is a directory; name a Markdown file in it")));
    }
    if !is_visible_markdown(inside) {
        return Err(ToolError::Invalid(format!(
            "path is {path:?}: only Markdown files (.md) of the store can be opened"
        )));
    }
    // Links above the store, such as a linked temporary directory, are allowed.
    if let (Ok(store), Ok(file)) = (layout.store_dir().canonicalize(), layout.store_path(inside).canonicalize())
        && !file.starts_with(store)
    {
        return Err(ToolError::Invalid(format!("path is {path:?}: a link on it leads out of the store")));
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
    match store_file::read(&layout.store_path(inside)) {
        Ok(bytes) => Ok(match String::from_utf8(bytes) {
            Ok(text) => FileText { text, notice: None },
            Err(error) => FileText {
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                notice: Some(format!(
                    "{} is not UTF-8 text: unreadable bytes show as \u{FFFD}; save it as UTF-8",
                    display_path(inside)
                )),
            },
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ToolError::NotFound(format!("there is no file {}", display_path(inside))))
        }
        Err(error) if store_file::is_refused(&error) => {
            Err(ToolError::Invalid(format!("cannot open {}: {error}", display_path(inside))))
        }
        Err(error) => Err(ToolError::cannot(&format!("read {}", display_path(inside)), &error)),
    }
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
