//! Which memories a session was shown unasked, so that none is shown twice.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};

use crate::layout::Layout;
use crate::own_file::private_file;
use crate::queue::Recalled;
use crate::store::StoreError;

/// The ending of the file that lists them, one id a line, beside the session's buffer.
pub(crate) const SHOWN: &str = "shown";

/// Those of some memories that the session has not been shown, which it is held to be shown from now on.
pub fn not_yet(layout: &Layout, session_id: &str, memories: Vec<Recalled>) -> Result<Vec<Recalled>, StoreError> {
    if memories.is_empty() {
        return Ok(memories);
    }
    let path = layout.of_session(session_id, SHOWN);
    let fault = |source| StoreError::Io { doing: "note what was shown in", path: path.clone(), source };
    let mut file = private_file().read(true).append(true).create(true).open(&path).map_err(fault)?;
    file.lock().map_err(fault)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(fault)?;
    let known: HashSet<&str> = text.lines().collect();
    let new: Vec<_> = memories.into_iter().filter(|memory| !known.contains(memory.id.as_str())).collect();
    let lines: String = new.iter().map(|memory| format!("{}\n", memory.id)).collect();
    file.write_all(lines.as_bytes()).map_err(fault)?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_shown_once_in_a_session() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        let memory = |id: &str| Recalled { id: id.into(), path: "MEMORY.md".into(), date: None, text: "x".into() };
        let shown = |session: &str, ids: &[&str]| -> Vec<String> {
            let found = not_yet(&layout, session, ids.iter().map(|id| memory(id)).collect()).unwrap();
            found.into_iter().map(|memory| memory.id).collect()
        };
        assert_eq!(shown("s", &["a", "b"]), ["a", "b"]);
        assert_eq!(shown("s", &["b", "c"]), ["c"]);
        assert_eq!(shown("other", &["b"]), ["b"]);
        assert_eq!(shown("s", &["a", "c"]), Vec::<String>::new());
    }
}
