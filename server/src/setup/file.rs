//! Files of settings as they lie on disk: read whole, and replaced in one step by a file that was written beside them, so that
//! whoever stops us half-way leaves the old one or the new one.
//!
//! A link is followed and stays a link: people keep settings in a folder of dotfiles. A project's files must lead to places in the
//! project, though, because a cloned repository may bring links that lead anywhere.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schema::regular_file;
use tools::error::ToolError;

use super::lines::{NotText, Text};

/// A file that may not be there yet.
#[derive(Debug, Clone)]
pub(super) struct Original {
    /// Where it really lies.
    pub(super) real: PathBuf,
    /// `None` when there is none.
    pub(super) text: Option<Text>,
}

/// Reads the file that `path` leads to, which must lie in `within`.
pub(super) fn read(path: &Path, within: Option<&Path>) -> Result<Original, ToolError> {
    let fault = |cause: io::Error| ToolError::Unavailable(format!("cannot read {}: {cause}", path.display()));
    let real = follow(path).map_err(fault)?;
    if let Some(root) = within.map(Path::canonicalize).transpose().map_err(fault)?
        && !real.starts_with(&root)
    {
        let text = format!("{} leads out of the project, to {}; it was not touched", path.display(), real.display());
        return Err(ToolError::Invalid(text));
    }
    let bytes = match read_file(&real) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Original { real, text: None }),
        Err(error) => return Err(fault(error)),
    };
    let text = Text::of(bytes).map_err(|not_text| {
        let what = match not_text {
            NotText::Utf16 => "it is UTF-16; save it as UTF-8".to_owned(),
            NotText::Other { line } => format!("line {line}: it is not UTF-8"),
        };
        ToolError::Invalid(format!("{}: {what}; it was not touched", path.display()))
    })?;
    Ok(Original { real, text: Some(text) })
}

/// Changes a file of the user's own by what `edit` makes of its text.
pub(crate) fn edit(path: &Path, edit: impl FnOnce(&str) -> Result<String, ToolError>) -> Result<(), ToolError> {
    let Original { real, text } = read(path, None)?;
    let before = text.as_ref().map(Text::whole);
    let after = edit(before.unwrap_or_default())?;
    let changed = change(&real, before, Some(&after));
    changed.map(drop).map_err(|cause| ToolError::Unavailable(format!("cannot write {}: {cause}", path.display())))
}

pub(super) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read(path, regular_file::LARGEST)
}

/// Where a path leads. What is not there yet lies in the folder that its folders lead to.
fn follow(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        real => return real,
    }
    if path.is_symlink() {
        return Err(io::Error::other("it is a link to what does not exist"));
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(follow(folder)?.join(name)),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Makes a file what it should be, `None` being none, unless somebody changed it since it was read as `before`. Answers the folders
/// that had to be made, outer ones first.
pub(super) fn change(real: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<Vec<PathBuf>> {
    let found = match read_file(real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read?),
    };
    if found.as_deref() != before.map(str::as_bytes) {
        return Err(io::Error::other("it was changed meanwhile; run this again"));
    }
    match after {
        Some(text) => {
            let made = make_folders(real.parent().unwrap_or(Path::new("")))?;
            replace(real, text, before.is_some())?;
            Ok(made)
        }
        None if before.is_some() => fs::remove_file(real).map(|()| Vec::new()),
        None => Ok(Vec::new()),
    }
}

/// Makes a folder and those it lies in, and answers which were not there.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut made = folder.parent().map(make_folders).transpose()?.unwrap_or_default();
    fs::create_dir(folder)?;
    made.push(folder.to_owned());
    Ok(made)
}

fn replace(real: &Path, text: &str, is_old: bool) -> io::Result<()> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    // Always the same name, so that what a killed run left is written over by the next one.
    let beside = real.with_file_name(format!(".{name}.jikime-new"));
    let written = write_beside(&beside, real, text, is_old).and_then(|()| fs::rename(&beside, real));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_beside(beside: &Path, real: &Path, text: &str, is_old: bool) -> io::Result<()> {
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(beside)?;
    if is_old {
        let metadata = fs::metadata(real)?;
        if metadata.permissions().readonly() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        file.set_permissions(metadata.permissions())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, fchown};
            // Only another user than its owner needs this, and only root can; to anybody else the file becomes theirs.
            let _ = fchown(&file, Some(metadata.uid()), Some(metadata.gid()));
        }
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_is_followed_stays_one_and_may_not_lead_out_of_a_project() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir_all(project.join("inner")).unwrap();
        fs::write(root.path().join("outside"), "theirs").unwrap();
        fs::write(project.join("inner/real"), "{}").unwrap();
        symlink("inner/real", project.join("link")).unwrap();
        symlink(root.path().join("outside"), project.join("out")).unwrap();
        symlink(root.path().join("none"), project.join("dangling")).unwrap();
        symlink(root.path(), project.join("folder")).unwrap();

        let found = read(&project.join("link"), Some(&project)).unwrap();
        change(&found.real, Some("{}"), Some("new")).unwrap();
        assert!(project.join("link").is_symlink());
        assert_eq!(fs::read_to_string(project.join("inner/real")).unwrap(), "new");
        for name in ["out", "folder/new", "folder/outside"] {
            let error = read(&project.join(name), Some(&project)).unwrap_err().to_string();
            assert!(error.contains("leads out of the project"), "{error}");
        }
        assert!(read(&project.join("out"), None).is_ok());
        let error = read(&project.join("dangling"), None).unwrap_err().to_string();
        assert!(error.contains("a link to what does not exist"), "{error}");
        assert_eq!(fs::read_to_string(root.path().join("outside")).unwrap(), "theirs");
    }

    #[test]
    fn a_file_keeps_its_mode_and_what_somebody_wrote_meanwhile() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("settings.json");
        fs::write(&file, "a").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        change(&file, Some("a"), Some("b")).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(change(&file, Some("a"), Some("c")).is_err() && change(&file, None, Some("c")).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "b");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(change(&file, Some("b"), Some("c")).unwrap_err().to_string().contains("read-only"));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn folders_that_were_made_are_told_and_what_a_killed_run_left_is_written_over() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("a/b/settings.json");
        let made = change(&file, None, Some("x")).unwrap();
        assert_eq!(made, [root.path().join("a"), root.path().join("a/b")]);
        fs::write(root.path().join("a/b/.settings.json.jikime-new"), "half").unwrap();
        change(&file, Some("x"), Some("y")).unwrap();
        assert_eq!(fs::read_dir(root.path().join("a/b")).unwrap().count(), 1);
    }
}
