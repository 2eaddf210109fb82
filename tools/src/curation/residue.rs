//! Deletes copies outside logs and rows: free pages, old databases and files left by a crash.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use schema::files::layout::Layout;
use schema::files::store_file;
use schema::store::{Store, StoreError};

/// Suffixes of unfinished files, and of the files that SQLite keeps next to a copy of a database.
const PARTIAL_SUFFIXES: [&str; 4] = [".tmp", ".tmp-journal", ".tmp-wal", ".tmp-shm"];

/// Age from which a temporary file of the spool counts as abandoned.
const ABANDONED_AFTER: Duration = Duration::from_mins(1);

/// Copies of damaged and upgraded databases, which still hold old memories.
pub fn old_databases(layout: &Layout) -> Vec<String> {
    // Programs before 0.2 left `index.db.new` when they were killed.
    const OLD: [&str; 3] = ["memory.db.damaged-", "memory.db.go-backup", "index.db.new"];
    let is_old = |name: &String| OLD.iter().any(|beginning| name.starts_with(beginning));
    file_names(layout.store_dir().to_owned()).into_iter().filter(is_old).collect()
}

pub fn remove_databases(layout: &Layout, names: &[String]) -> Result<(), StoreError> {
    for path in names.iter().map(|name| layout.store_path(name)) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(|source| StoreError::Io { doing: "delete", path, source })?,
        }
    }
    Ok(())
}

/// Deletes unfinished files of a killed process, which may hold any memory.
pub fn remove_partial_files(store: &Store) -> Result<(), StoreError> {
    let layout = store.layout();
    if !partial_files(layout.store_dir().to_owned()).is_empty() {
        let _lock = store.lock()?;
        // Logs are rewritten under the lock, so no other process is writing these now.
        remove_databases(layout, &partial_files(layout.store_dir().to_owned()))?;
    }
    for path in partial_files(layout.spool_dir()).into_iter().map(|name| layout.spool_dir().join(name)) {
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
        // A time in the future means that the clock was set back, or that the disk has another clock.
        let distance = |at: SystemTime| at.elapsed().unwrap_or_else(|to_come| to_come.duration());
        if modified.is_ok_and(|at| distance(at) > ABANDONED_AFTER) {
            fs::remove_file(&path).map_err(|source| StoreError::Io { doing: "delete", path, source })?;
        }
    }
    Ok(())
}

fn partial_files(folder: PathBuf) -> Vec<String> {
    let is_left = |name: &String| name.starts_with('.') && PARTIAL_SUFFIXES.iter().any(|end| name.ends_with(end));
    file_names(folder).into_iter().filter(is_left).collect()
}

/// Deletes unreadable spool files that contain one of these texts.
pub fn remove_unreadable_spool_files(layout: &Layout, texts: &[&str]) -> Result<(), StoreError> {
    let json = |text: &str| serde_json::to_string(text).map(|json| json[1..json.len() - 1].to_owned()).ok();
    for name in file_names(layout.spool_dir()).into_iter().filter(|name| name.ends_with(".unreadable")) {
        let path = layout.spool_dir().join(&name);
        let Ok(bytes) = store_file::read(&path) else { continue };
        let holds = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).is_some();
        if texts.iter().any(|text| holds(text) || json(text).is_some_and(|json| holds(&json))) {
            fs::remove_file(&path).map_err(|source| StoreError::Io { doing: "delete", path, source })?;
        }
    }
    Ok(())
}

/// Sorted names in a folder of the store; empty if the folder does not exist.
fn file_names(folder: PathBuf) -> Vec<String> {
    if store_file::verify(&folder).is_err() {
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
    use schema::files::database::LockTimeout;

    #[test]
    fn sweep_deletes_abandoned_files_only() {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let put = |name: &str, modified: SystemTime| {
            let file = fs::File::create(store.layout().spool_dir().join(name)).unwrap();
            file.set_modified(modified).unwrap();
        };
        let now = SystemTime::now();
        put(".now.tmp", now);
        put(".ahead.tmp", now + ABANDONED_AFTER / 2);
        put(".long-ago.tmp", now - ABANDONED_AFTER * 2);
        put(".before-the-clock-went-back.tmp", now + ABANDONED_AFTER * 60);
        remove_partial_files(&store).unwrap();
        assert_eq!(file_names(store.layout().spool_dir()), [".ahead.tmp", ".now.tmp"]);
    }
}
