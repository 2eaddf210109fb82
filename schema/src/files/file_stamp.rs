//! What tells, without reading it, that a file changed or is another one by the same name.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::Path;

use crate::files::layout::Layout;
use crate::files::store_file::verify;

/// What a file has to be like to be taken for unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// A number that is another one after a change: on Unix made of when the file was changed last, as the system notes it for itself
    /// and no program can set, and of which file it is; elsewhere when it was written last, in nanoseconds since 1970.
    pub state: i64,
    /// Its size in bytes.
    pub size: i64,
}

/// Which file a path leads to. Two files by the same name differ, where the platform tells; where it does not, a file in use
/// cannot be replaced either.
pub fn file_identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        fs::metadata(path).ok().as_ref().and_then(open_file_identity)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// The same of a file that is open.
pub(crate) fn open_file_identity(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// The paths, relative to the store, whose files are not as they were when `known` was noted: new, changed or gone. Sorted.
pub fn changed_paths(
    layout: &Layout,
    present: impl IntoIterator<Item = String>,
    mut known: HashMap<String, FileStamp>,
) -> Vec<String> {
    let mut is_new =
        |path: &String| known.remove(path).is_none_or(|known| FileStamp::read(&layout.store_path(path)) != Some(known));
    let mut changed: Vec<String> = present.into_iter().filter(&mut is_new).collect();
    changed.extend(known.into_keys());
    changed.sort();
    changed
}

impl FileStamp {
    /// The stamp of a file, or `None` when there is none or none that is used.
    pub fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok().filter(|_| verify(path).is_ok())?;
        Self::from_metadata(&metadata)
    }

    /// A stamp that no file has, of one of this size that is to be read.
    pub(crate) fn unread(size: i64) -> Self {
        Self { state: -1, size }
    }

    /// The stamp of a file that is open.
    pub(crate) fn from_metadata(metadata: &Metadata) -> Option<Self> {
        let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
        #[cfg(unix)]
        let state = {
            use std::os::unix::fs::MetadataExt as _;
            // Spread over all bits, so that no other file is made up for by another moment.
            let file = metadata.ino().wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed();
            let changed = metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec());
            // Those that are below zero are left for files of which no stamp was noted.
            changed.wrapping_add(file) & i64::MAX
        };
        #[cfg(not(unix))]
        let state = {
            let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        };
        Some(Self { state, size })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn an_edit_of_equal_size_shows_although_its_time_was_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note.md");
        fs::write(&path, "one").unwrap();
        let (before, written) = (FileStamp::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        assert_eq!(FileStamp::read(&path), Some(before));
        // The clock of a file system stands still for some milliseconds.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut after = before;
        while after == before && std::time::Instant::now() < deadline {
            fs::write(&path, "two").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
            after = FileStamp::read(&path).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
        if cfg!(unix) {
            assert_ne!(after, before);
        }
    }

    #[test]
    fn another_file_in_the_place_of_one_shows() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("note.md"), dir.path().join("other.md"));
        fs::write(&path, "one").unwrap();
        fs::write(&other, "two").unwrap();
        let (before, identity_before) = (FileStamp::read(&path), file_identity(&path));
        fs::rename(&other, &path).unwrap();
        assert_ne!(FileStamp::read(&path), before);
        assert!(!cfg!(unix) || file_identity(&path) != identity_before);
    }
}
