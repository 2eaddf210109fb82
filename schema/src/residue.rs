//! Where a text may lie beside logs and rows: free pages, old databases, files that a crash left. What is forgotten goes
//! from there too.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::layout::Layout;
use crate::own_file;
use crate::store::{Store, StoreError};

/// How the names of files end that are being written, and of what SQLite keeps next to a copy of a database.
const HALF_WRITTEN: [&str; 4] = [".tmp", ".tmp-journal", ".tmp-wal", ".tmp-shm"];

/// How old a temporary file of the spool is that nobody finishes any more.
const ABANDONED: Duration = Duration::from_secs(60);

/// The copies of damaged and upgraded databases: each holds what was remembered when it was made.
pub fn old_databases(layout: &Layout) -> Vec<String> {
    // Programs before 0.2 left an `index.db.new` when they were killed.
    const OLD: [&str; 3] = ["memory.db.damaged-", "memory.db.go-backup", "index.db.new"];
    let is_old = |name: &String| OLD.iter().any(|beginning| name.starts_with(beginning));
    names(layout.dir().to_owned()).into_iter().filter(is_old).collect()
}

/// Deletes old databases by their names.
pub fn remove(layout: &Layout, names: &[String]) -> Result<(), StoreError> {
    for path in names.iter().map(|name| layout.file(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(|source| StoreError::Io { doing: "delete", path, source })?,
        }
    }
    Ok(())
}

/// Deletes what a process that was killed left half written: it may be a copy of anything.
pub fn sweep(store: &Store) -> Result<(), StoreError> {
    let layout = store.layout();
    if !half_written(layout.dir().to_owned()).is_empty() {
        let _lock = store.lock()?;
        // Logs are rewritten under the lock, so nobody writes these now.
        remove(layout, &half_written(layout.dir().to_owned()))?;
    }
    for path in half_written(layout.spool()).into_iter().map(|name| layout.spool().join(name)) {
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
        // One from a time to come was written before the clock went back, or just now where the clock of the disk is another one.
        let distance = |at: SystemTime| at.elapsed().unwrap_or_else(|to_come| to_come.duration());
        if modified.is_ok_and(|at| distance(at) > ABANDONED) {
            fs::remove_file(&path).map_err(|source| StoreError::Io { doing: "delete", path, source })?;
        }
    }
    Ok(())
}

fn half_written(folder: PathBuf) -> Vec<String> {
    let is_left = |name: &String| name.starts_with('.') && HALF_WRITTEN.iter().any(|end| name.ends_with(end));
    names(folder).into_iter().filter(is_left).collect()
}

/// Deletes the files of the spool that could not be read as memories and hold one of these texts.
pub fn remove_unreadable(layout: &Layout, texts: &[&str]) -> Result<(), StoreError> {
    let json = |text: &str| serde_json::to_string(text).map(|json| json[1..json.len() - 1].to_owned()).ok();
    for name in names(layout.spool()).into_iter().filter(|name| name.ends_with(".unreadable")) {
        let path = layout.spool().join(&name);
        let Ok(bytes) = own_file::read(&path) else { continue };
        let holds = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
        if texts.iter().any(|text| holds(text) || json(text).is_some_and(|json| holds(&json))) {
            fs::remove_file(&path).map_err(|source| StoreError::Io { doing: "delete", path, source })?;
        }
    }
    Ok(())
}

/// The names in one of our folders, sorted; none of a folder that is not used.
fn names(folder: PathBuf) -> Vec<String> {
    if own_file::verify(&folder).is_err() {
        return Vec::new();
    }
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = listing.filter_map(|item| item.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Patience;

    #[test]
    fn what_nobody_finishes_any_more_goes_and_what_is_written_by_a_clock_that_is_ahead_stays() {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        let put = |name: &str, modified: SystemTime| {
            let file = fs::File::create(store.layout().spool().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        };
        let now = SystemTime::now();
        put(".now.tmp", now);
        put(".ahead.tmp", now + ABANDONED / 2);
        put(".long-ago.tmp", now - ABANDONED * 2);
        put(".before-the-clock-went-back.tmp", now + ABANDONED * 60);
        sweep(&store).unwrap();
        assert_eq!(names(store.layout().spool()), [".ahead.tmp", ".now.tmp"]);
    }
}
