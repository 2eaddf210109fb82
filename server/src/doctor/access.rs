//! Checks who can read and change the store.

#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use schema::files::layout::Layout;
#[cfg(unix)]
use schema::files::store_file;

use super::check::{DoctorCheck, Repair};

/// For files that another user may have put there.
pub(super) const FOREIGN_FILE_FIX: &str = "find out who put it there; run the command only if you trust them";

/// The directory of the store, and the one above it in the project.
fn store_dirs(layout: &Layout) -> impl Iterator<Item = &Path> {
    [layout.store_dir().parent(), Some(layout.store_dir())].into_iter().flatten()
}

/// A directory of the store that this user owns and every user may change.
#[cfg(unix)]
pub(super) fn own_open_folder(layout: &Layout) -> Option<String> {
    let is_open = |folder: &&Path| {
        std::fs::symlink_metadata(folder).is_ok_and(|found| {
            found.is_dir() && found.mode() & 0o002 != 0 && found.uid() == rustix::process::geteuid().as_raw()
        })
    };
    store_dirs(layout).find(is_open).map(|folder| folder.display().to_string())
}

#[cfg(not(unix))]
pub(super) fn own_open_folder(_: &Layout) -> Option<String> {
    None
}

/// A directory on the way to the store that cannot be read, so that its contents are unknown.
pub(super) fn check_closed_dir(layout: &Layout) -> Option<DoctorCheck> {
    let folder = store_dirs(layout).find(|folder| {
        std::fs::read_dir(folder).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    })?;
    let text = format!("cannot read {}", folder.display());
    Some(DoctorCheck::finding("permissions", text, format!("chmod u+rwx {}", folder.display())))
}

#[cfg(unix)]
pub(super) fn check_permissions(layout: &Layout) -> DoctorCheck {
    let dir = layout.store_dir();
    match std::fs::metadata(dir) {
        Ok(found) if found.mode() & 0o777 != 0o700 => {
            let who = if found.mode() & 0o077 != 0 { "other users can read" } else { "you cannot read or write" };
            let text = format!("{who} {} (mode {:03o})", dir.display(), found.mode() & 0o777);
            DoctorCheck::finding("permissions", text, format!("chmod 700 {}", dir.display()))
                .with_repair(Repair::Permissions)
        }
        Ok(_) => check_file_permissions(layout),
        Err(error) => DoctorCheck::finding("permissions", error.to_string(), "fix the cause"),
    }
}

/// On this platform a user's folders are private by default.
#[cfg(not(unix))]
pub(super) fn check_permissions(layout: &Layout) -> DoctorCheck {
    DoctorCheck::fine("permissions", format!("as set on {}", layout.dir().display()))
}

/// Files that their owner cannot read and write. Root could, but the check looks at the mode, because the owner's other programs may not
/// run as root.
#[cfg(unix)]
fn check_file_permissions(layout: &Layout) -> DoctorCheck {
    let items = std::fs::read_dir(layout.store_dir()).into_iter().flatten().filter_map(Result::ok);
    let mut closed: Vec<(String, u32)> = items
        .filter_map(|item| {
            let found = std::fs::symlink_metadata(item.path()).ok().filter(std::fs::Metadata::is_file)?;
            let is_closed = found.mode() & 0o600 != 0o600;
            is_closed.then(|| (item.path().display().to_string(), found.mode() & 0o777))
        })
        .collect();
    closed.sort_unstable();
    if closed.is_empty() {
        return check_refused_files(layout)
            .unwrap_or_else(|| DoctorCheck::fine("permissions", "only you can read the store"));
    }
    let named: Vec<String> = closed.iter().map(|(path, mode)| format!("{path} (mode {mode:03o})")).collect();
    let paths: Vec<&str> = closed.iter().map(|(path, _)| path.as_str()).collect();
    let text = format!("you cannot read or write {}", named.join(", "));
    DoctorCheck::finding("permissions", text, format!("chmod 600 {}", paths.join(" "))).with_repair(Repair::Permissions)
}

/// Files that are ignored: links, pipes, and files that another user owns or can change.
#[cfg(unix)]
fn check_refused_files(layout: &Layout) -> Option<DoctorCheck> {
    let folders = [layout.store_dir().to_owned(), layout.spool_dir(), layout.track_dir()];
    let items = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().filter_map(Result::ok);
    let reason = |item: std::fs::DirEntry| {
        store_file::verify(&item.path()).err().map(|why| format!("{}: {why}", item.path().display()))
    };
    let mut refused: Vec<String> = items.filter_map(reason).collect();
    refused.sort_unstable();
    (!refused.is_empty()).then(|| DoctorCheck::finding("permissions", refused.join("; "), FOREIGN_FILE_FIX))
}
