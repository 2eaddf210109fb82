//! Files of the store by the paths that callers give: confined to the store, Markdown only, text only.

use std::io;

use schema::layout::{Layout, STORE_DIR, is_note};
use schema::own_file;

use crate::error::ToolError;

/// A path relative to the store, checked: no `..`, not absolute, Markdown, and no link that leads out.
pub(super) fn confine(layout: &Layout, path: &str) -> Result<String, ToolError> {
    let slashed = path.trim().replace('\\', "/");
    let is_absolute = slashed.starts_with('/') || slashed.as_bytes().get(1) == Some(&b':');
    if is_absolute || slashed.split('/').any(|part| part == "..") || slashed.contains('\0') {
        return Err(ToolError::Invalid(format!(
            "path is {path:?}: give one relative to the project and inside {STORE_DIR}, without \"..\""
        )));
    }
    let plain = slashed.trim_start_matches("./");
    let inside = plain.strip_prefix(STORE_DIR).map_or(plain, |rest| rest.trim_start_matches('/'));
    if inside.is_empty() || layout.file(inside).is_dir() {
        return Err(ToolError::Invalid(format!("path is {path:?}: that is a directory; name a Markdown file in it")));
    }
    if !is_note(inside) {
        return Err(ToolError::Invalid(format!("path is {path:?}: only Markdown files (.md) of the store are opened")));
    }
    // Links of the whole store, such as a temporary directory behind one, are none of a path's business.
    if let (Ok(store), Ok(file)) = (layout.dir().canonicalize(), layout.file(inside).canonicalize())
        && !file.starts_with(store)
    {
        return Err(ToolError::Invalid(format!("path is {path:?}: it leads out of the store through a link")));
    }
    Ok(inside.to_owned())
}

/// The text of a file, and what its reader should know about it.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) notice: Option<String>,
}

/// The text of a confined file. One that is not UTF-8 is read as far as it is, here as in search, and that is said.
pub(super) fn read(layout: &Layout, inside: &str) -> Result<Text, ToolError> {
    match own_file::read(&layout.file(inside)) {
        Ok(bytes) => Ok(match String::from_utf8(bytes) {
            Ok(text) => Text { text, notice: None },
            Err(error) => Text {
                text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                notice: Some(format!(
                    "{} is not UTF-8 text: what could not be read shows as \u{FFFD}; save it as UTF-8",
                    shown(inside)
                )),
            },
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ToolError::NotFound(format!("there is no file {}", shown(inside))))
        }
        Err(error) if own_file::is_refused(&error) => {
            Err(ToolError::Invalid(format!("cannot open {}: {error}", shown(inside))))
        }
        Err(error) => Err(ToolError::Unavailable(format!("cannot read {}: {error}", shown(inside)))),
    }
}

/// Whether a file can be read, but not as UTF-8.
pub(super) fn is_of_another_encoding(layout: &Layout, inside: &str) -> bool {
    own_file::read(&layout.file(inside)).is_ok_and(|bytes| std::str::from_utf8(&bytes).is_err())
}

/// The path of a file as answers show it.
pub(super) fn shown(inside: &str) -> String {
    format!("{STORE_DIR}/{inside}")
}
