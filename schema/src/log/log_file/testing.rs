//! Saves files with an old modification time, so that they do not count as being written.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Longer than any code waits.
const LONG_AGO: Duration = Duration::from_mins(1);

pub(crate) fn save_aged(path: &Path, text: impl AsRef<[u8]>) {
    fs::write(path, text).expect("a file can be written");
    set_old_mtime(path);
}

pub(crate) fn remove_aged(path: &Path) {
    fs::remove_file(path).expect("a file can be deleted");
    #[cfg(unix)]
    File::open(path.parent().expect("a folder"))
        .and_then(|folder| folder.set_modified(SystemTime::now() - LONG_AGO))
        .expect("a time");
}

pub(crate) fn set_old_mtime(path: &Path) {
    let file = File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::now() - LONG_AGO).expect("a time");
}
