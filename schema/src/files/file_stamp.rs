//! Detects changed and replaced files without reading them.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::Path;

use crate::files::layout::Layout;
use crate::files::store_file::verify;

/// Size and state of a file. An unchanged file keeps its stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// A number that changes with the file. On Unix it combines the inode with the time of the last status change, which no program can
    /// set. Elsewhere it is the time of the last write, in nanoseconds since 1970.
    pub state: i64,
    /// The size in bytes.
    pub size: i64,
}

/// Returns the device and inode of the file at a path, or `None` on platforms other than Unix, where a file in use cannot be replaced.
pub fn file_identity(path: &Path) -> Option<(u64, u64)> {
    open_file_identity(&fs::metadata(path).ok()?)
}

/// Returns the device and inode of an open file.
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

/// Returns the sorted paths, relative to the store, of files that are new, changed or gone since `known` was recorded.
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
    /// Returns the stamp of a file, or `None` if the file is missing or unsafe.
    pub fn read(path: &Path) -> Option<Self> {
        Self::from_metadata(&verify(path).ok()??)
    }

    /// Returns a stamp that no file has, so that the file is read again.
    pub(crate) fn unread(size: i64) -> Self {
        Self { state: -1, size }
    }

    /// Returns the stamp of an open file.
    pub(crate) fn from_metadata(metadata: &Metadata) -> Option<Self> {
        let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
        #[cfg(unix)]
        let state = {
            use std::os::unix::fs::MetadataExt as _;
            // Spread over all bits, so that a change of the inode cannot cancel out a change of the time.
            let file = metadata.ino().wrapping_mul(0x9E37_79B9_7F4A_7C15).cast_signed();
            let changed = metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec());
            // Negative numbers are reserved for files without a recorded stamp.
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
    fn same_size_edit_is_detected_although_its_time_was_reset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note.md");
        fs::write(&path, "one").unwrap();
        let (before, written) = (FileStamp::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
        assert_eq!(FileStamp::read(&path), Some(before));
        // File system clocks advance only every few milliseconds.
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
    fn replaced_file_is_detected() {
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
