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

/// The text of a confined file.
pub(super) fn read(layout: &Layout, inside: &str) -> Result<String, ToolError> {
    match own_file::read(&layout.file(inside)).and_then(text) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ToolError::NotFound(format!("there is no file {STORE_DIR}/{inside}")))
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(ToolError::Invalid(format!("{STORE_DIR}/{inside} is not UTF-8 text: save it as UTF-8 to open it here")))
        }
        Err(error) if own_file::is_linked(&error) => {
            Err(ToolError::Invalid(format!("cannot open {STORE_DIR}/{inside}: {error}")))
        }
        Err(error) => Err(ToolError::Unavailable(format!("cannot read {STORE_DIR}/{inside}: {error}"))),
    }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The path of a file as answers show it.
pub(super) fn shown(inside: &str) -> String {
    format!("{STORE_DIR}/{inside}")
}
