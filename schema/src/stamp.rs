//! What tells, without reading it, that a file changed or is another one by the same name.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::layout::Layout;
use crate::own_file::link_on;

/// Time and size of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When it was changed last, in nanoseconds since 1970.
    pub mtime: i64,
    /// Its size in bytes.
    pub size: i64,
}

/// Which file a path leads to. Two files by the same name differ, where the platform tells; where it does not, a file in use
/// cannot be replaced either.
pub fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

/// The paths, relative to the store, whose files are not as they were when `known` was noted: new, changed or gone. Sorted.
pub fn changed(
    layout: &Layout,
    present: impl IntoIterator<Item = String>,
    mut known: HashMap<String, Stamp>,
) -> Vec<String> {
    let mut is_new =
        |path: &String| known.remove(path).is_none_or(|known| Stamp::of(&layout.file(path)) != Some(known));
    let mut changed: Vec<String> = present.into_iter().filter(&mut is_new).collect();
    changed.extend(known.into_keys());
    changed.sort();
    changed
}

impl Stamp {
    /// The stamp of a file, or `None` when there is none or a link in its place.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok().filter(|_| link_on(path).is_none())?;
        let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
        Some(Self { mtime: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX), size })
    }
}
