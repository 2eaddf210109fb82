//! Opens files of the store, private and never through a symbolic link: a cloned repository may bring links that lead anywhere,
//! and what they lead to is neither ours to tell nor ours to change.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The folder that everything of ours lies in, links of which are not followed either.
const HOME: &str = ".jikime";

/// How a file of the store is opened.
#[derive(Debug, Clone)]
pub struct OwnFile(OpenOptions);

/// For writing; a new file is readable by its owner only, where the platform has modes.
pub fn private_file() -> OwnFile {
    let mut options = own_options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    OwnFile(options)
}

/// Opens a file of the store for reading.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = own_options();
    options.read(true);
    OwnFile(options).open(path)
}

/// The bytes of a file of the store.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Refuses a path of the store that is a link, or that stands behind one.
pub fn refuse_links(path: &Path) -> io::Result<()> {
    match link_on(path) {
        None => Ok(()),
        Some(link) if link == path => Err(io::Error::other(Linked(None))),
        Some(link) => Err(io::Error::other(Linked(Some(link.to_owned())))),
    }
}

/// The link that a path of the store is or stands behind, from the store's own folders on. What the project itself stands behind,
/// such as a folder of temporary files, is none of ours.
pub fn link_on(path: &Path) -> Option<&Path> {
    let is_home = |path: &&Path| path.file_name().is_some_and(|name| name == HOME);
    // Outside of a store only the file itself is looked at.
    let depth = path.ancestors().position(|path| is_home(&path)).unwrap_or(0);
    path.ancestors().take(depth + 1).find(|path| is_link(path))
}

/// Whether a fault says that a link was refused.
pub fn is_linked(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(cause) if cause.is::<Linked>())
}

/// Whether a file of others, which is only read, is a link.
pub fn is_linked_file(path: &Path) -> bool {
    is_link(path)
}

/// Also junctions of Windows.
fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_symlink())
}

/// A link that was not followed: the path itself, or one that it stands behind.
#[derive(Debug)]
struct Linked(Option<PathBuf>);

impl fmt::Display for Linked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("it is a symbolic link, and links of a store are not followed"),
            Some(link) => write!(f, "{} is a symbolic link, and links of a store are not followed", link.display()),
        }
    }
}

impl std::error::Error for Linked {}

/// On Unix the system refuses a link at the end of the path, however late it was put there, and nobody waits for the other end of a
/// pipe that was put in the place of a file.
fn own_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has something to add"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options
}

impl OwnFile {
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.0.read(read);
        self
    }

    pub fn append(&mut self, append: bool) -> &mut Self {
        self.0.append(append);
        self
    }

    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.0.truncate(truncate);
        self
    }

    pub fn create(&mut self, create: bool) -> &mut Self {
        self.0.create(create);
        self
    }

    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.0.create_new(create_new);
        self
    }

    /// Opens the file, unless it is a link or stands behind one.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        refuse_links(path.as_ref())?;
        self.0.open(path)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn neither_a_link_nor_what_stands_behind_one_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        fs::create_dir_all(real.join(".jikime/memory/track")).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/file"), "theirs").unwrap();
        // A project behind a link is as good as any.
        let project = root.path().join("project");
        symlink(&real, &project).unwrap();
        let store = project.join(".jikime/memory");
        private_file().create(true).open(store.join("file")).unwrap().write_all(b"ours").unwrap();
        assert_eq!(read(&store.join("file")).unwrap(), b"ours");

        symlink(root.path().join("outside/file"), store.join("link")).unwrap();
        symlink(root.path().join("outside/none"), store.join("dangling")).unwrap();
        symlink(root.path().join("outside"), store.join("folder")).unwrap();
        for (path, link) in
            [("link", "it is"), ("dangling", "it is"), ("folder/file", "folder is"), ("folder/new", "folder is")]
        {
            let path = store.join(path);
            for error in [read(&path).unwrap_err(), private_file().append(true).create(true).open(&path).unwrap_err()] {
                assert!(is_linked(&error), "{error}");
                assert!(error.to_string().contains(&format!("{link} a symbolic link")), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(root.path().join("outside/file")).unwrap(), "theirs");
        assert_eq!(fs::read_dir(root.path().join("outside")).unwrap().count(), 1);
    }

    #[test]
    fn a_store_behind_a_link_is_refused_by_the_name_of_the_link() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("outside/memory")).unwrap();
        symlink(root.path().join("outside"), root.path().join(".jikime")).unwrap();
        let path = root.path().join(".jikime/memory/track/s.jsonl");
        assert_eq!(link_on(&path), Some(root.path().join(".jikime").as_path()));
    }
}
