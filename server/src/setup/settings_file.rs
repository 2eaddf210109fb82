//! Reads setting files, and replaces them atomically by renaming a new file, so that an interruption leaves the old or the new version.
//!
//! Links are followed and kept, because people keep settings in a folder of dotfiles. Links of a project must stay inside the project,
//! because a cloned repository may contain links to anywhere.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use schema::files::regular_file;
use tools::error::ToolError;

use super::settings_text::SettingsText;

/// A file that may not exist.
#[derive(Debug, Clone)]
pub(super) struct OriginalFile {
    /// The path after following links.
    pub(super) real_path: PathBuf,
    /// `None` if the file does not exist.
    pub(super) text: Option<SettingsText>,
}

/// Reads the file at `path`, which must be inside `within`.
pub(super) fn read_original(path: &Path, within: Option<&Path>) -> Result<OriginalFile, ToolError> {
    let cannot = |cause: io::Error| ToolError::Unavailable(format!("cannot read {}: {cause}", path.display()));
    let real = follow_links(path).map_err(cannot)?;
    if let Some(root) = within.map(Path::canonicalize).transpose().map_err(cannot)?
        && !real.starts_with(&root)
    {
        let text = format!("{} leads out of the project, to {}; it was not changed", path.display(), real.display());
        return Err(ToolError::Invalid(text));
    }
    let text = if_present(read_file(&real)).map_err(cannot)?.map(SettingsText::from_bytes).transpose();
    let text = text.map_err(|what| ToolError::Invalid(format!("{}: {what}; it was not changed", path.display())))?;
    Ok(OriginalFile { real_path: real, text })
}

/// Edits a settings file of the user, or of a project that it must be `within`.
pub(crate) fn edit_file(
    path: &Path,
    within: Option<&Path>,
    edit: impl FnOnce(&str) -> Result<String, ToolError>,
) -> Result<(), ToolError> {
    let OriginalFile { real_path: real, text } = read_original(path, within)?;
    let before = text.as_ref().map(SettingsText::whole);
    let after = edit(before.unwrap_or_default())?;
    let changed = change_file(&real, before, Some(&after));
    changed.map(drop).map_err(|cause| ToolError::Unavailable(format!("cannot write {}: {cause}", path.display())))
}

pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path, regular_file::MAX_BYTES)
}

/// The result for a file that may not exist.
pub(super) fn if_present<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Follows links. For a missing file, follows the links of its folder.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        real => return real,
    }
    if path.is_symlink() {
        return Err(io::Error::other("it is a link to a missing file"));
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(follow_links(folder)?.join(name)),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Writes or, with `None`, deletes a file, unless it changed since it was read as `before`. Returns the folders that it created, outermost
/// first.
pub(super) fn change_file(real: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<Vec<PathBuf>> {
    let found = if_present(read_file(real))?;
    if found.as_deref() != before.map(str::as_bytes) {
        return Err(io::Error::other("another program changed it meanwhile; run this again"));
    }
    match after {
        Some(text) => {
            let made = create_folders(real.parent().unwrap_or(Path::new("")))?;
            replace_file(real, text, before.is_some())?;
            Ok(made)
        }
        None if before.is_some() => fs::remove_file(real).map(|()| Vec::new()),
        None => Ok(Vec::new()),
    }
}

/// Creates a folder and its parents. Returns those that did not exist.
fn create_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut made = folder.parent().map(create_folders).transpose()?.unwrap_or_default();
    fs::create_dir(folder)?;
    made.push(folder.to_owned());
    Ok(made)
}

fn replace_file(real: &Path, text: &str, is_old: bool) -> io::Result<()> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    // The name is fixed, so that the next run overwrites a file that a killed run left.
    let temporary = real.with_file_name(format!(".{name}.jikime-new"));
    let written = write_temporary(&temporary, real, text, is_old).and_then(|()| fs::rename(&temporary, real));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_temporary(temporary: &Path, real: &Path, text: &str, is_old: bool) -> io::Result<()> {
    if_present(fs::remove_file(temporary))?;
    let mut file = File::create_new(temporary)?;
    if is_old {
        let metadata = fs::metadata(real)?;
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        file.set_permissions(metadata.permissions())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, fchown};
            // Keeps the owner. Only root can do that; for other users it fails, and the file becomes theirs.
            let _ = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Whether git tracks a file: then it is part of what people share, and not ours to delete. Where nobody can tell, it counts as that.
pub(super) fn is_tracked(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return true };
    let Some(git) = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists()) else { return false };
    if git.is_dir() && !git.join("index").exists() {
        // Nothing was ever added.
        return false;
    }
    let mut command = Command::new("git");
    // These variables could name another repository, and fsmonitor could start a program of the repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.current_dir(folder).args(["-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"]).arg(name);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map_or(true, |status| status.code() != Some(1))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn link_is_followed_but_not_out_of_the_project() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir_all(project.join("inner")).unwrap();
        fs::write(root.path().join("outside"), "theirs").unwrap();
        fs::write(project.join("inner/real"), "{}").unwrap();
        symlink("inner/real", project.join("link")).unwrap();
        symlink(root.path().join("outside"), project.join("out")).unwrap();
        symlink(root.path().join("none"), project.join("dangling")).unwrap();
        symlink(root.path(), project.join("folder")).unwrap();

        let found = read_original(&project.join("link"), Some(&project)).unwrap();
        change_file(&found.real_path, Some("{}"), Some("new")).unwrap();
        assert!(project.join("link").is_symlink());
        assert_eq!(fs::read_to_string(project.join("inner/real")).unwrap(), "new");
        for name in ["out", "folder/new", "folder/outside"] {
            let error = read_original(&project.join(name), Some(&project)).unwrap_err().to_string();
            assert!(error.contains("leads out of the project"), "{error}");
        }
        assert!(read_original(&project.join("out"), None).is_ok());
        let error = read_original(&project.join("dangling"), None).unwrap_err().to_string();
        assert!(error.contains("a link to a missing file"), "{error}");
        assert_eq!(fs::read_to_string(root.path().join("outside")).unwrap(), "theirs");
    }

    #[test]
    fn file_keeps_its_mode_and_concurrent_edits() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("settings.json");
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        change_file(&file, Some("a"), Some("b")).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(change_file(&file, Some("a"), Some("c")).is_err() && change_file(&file, None, Some("c")).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "b");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(change_file(&file, Some("b"), Some("c")).unwrap_err().to_string().contains("read-only"));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_folders_are_returned_and_leftovers_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a/b/settings.json");
        let made = change_file(&file, None, Some("x")).unwrap();
        assert_eq!(made, [root.path().join("a"), root.path().join("a/b")]);
        fs::write(root.path().join("a/b/.settings.json.jikime-new"), "half").unwrap();
        change_file(&file, Some("x"), Some("y")).unwrap();
        assert_eq!(fs::read_dir(root.path().join("a/b")).unwrap().count(), 1);
    }
}
