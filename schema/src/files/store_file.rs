//! Opens files of a store: private, never through a symbolic link, never a pipe or device, and only in stores that the user trusts. A
//! cloned repository may contain links to anywhere, and another user may have put a store in a parent directory.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::files::regular_file::{self, is_special};
use crate::files::trust::{self, DistrustReason};

/// The directory of all our files in a project. Links to it are not followed either.
const JIKIME_DIR: &str = ".jikime";

/// Options for opening a file of the store.
#[derive(Debug, Clone)]
pub struct StoreFile(OpenOptions);

/// Returns options for writing. On Unix only the owner can read a new file.
pub fn options_for_private() -> StoreFile {
    let mut options = base_options();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    StoreFile(options)
}

/// Opens a file of the store for reading.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = base_options();
    options.read(true);
    StoreFile(options).open(path)
}

/// Reads a file of the store of at most [`regular_file::MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    regular_file::read_open(&open(path)?, regular_file::MAX_BYTES)
}

/// Reads a file of the store that may not exist yet. A missing one is empty.
pub(crate) fn read_or_empty(path: &Path) -> io::Result<Vec<u8>> {
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Appends whole lines to a file, which it creates if necessary. The last line of its content `before` may have no end, because a killed
/// process or a person wrote it.
pub(crate) fn append_lines(path: &Path, before: &[u8], lines: &str) -> io::Result<()> {
    let end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let mut file = options_for_private().append(true).create(true).open(path)?;
    file.write_all(format!("{end}{lines}").as_bytes())
}

/// The random key of a store.
pub type SecretKey = [u8; 16];

/// Reads the key in a file, or creates it. Without either, returns a key that only this process knows.
pub fn read_or_create_key(path: &Path) -> SecretKey {
    let read_key = || -> Option<SecretKey> { read(path).ok()?.try_into().ok() };
    let mut new = SecretKey::default();
    let create_key = || {
        getrandom::fill(&mut new).ok()?;
        let write = |options: &mut StoreFile| options.open(path).and_then(|mut file| file.write_all(&new));
        // Another process may have been faster, or the file is damaged.
        let created = write(options_for_private().create_new(true));
        let found = created.err().and_then(|_| read_key());
        if found.is_none() {
            let _ = write(options_for_private().create(true).truncate(true));
        }
        found.or(Some(new))
    };
    read_key().or_else(create_key).unwrap_or_default()
}

/// Returns an error for an unsafe path: it or one of our directories above it is a link, a pipe or a device, or another user may have
/// written it. Otherwise returns the metadata of the path, or `None` for a path that does not exist yet.
///
/// Outside a store only the file itself is checked, and not its owner. Links above the project do not matter, such as one to a temporary
/// directory.
pub fn verify(path: &Path) -> io::Result<Option<Metadata>> {
    let depth = path.ancestors().position(|path| path.file_name().is_some_and(|name| name == JIKIME_DIR));
    let project = depth.and_then(|depth| path.ancestors().nth(depth + 1));
    let mut trusted = None;
    let mut is_trusted = || *trusted.get_or_insert_with(|| project.is_some_and(trust::is_trusted));
    let metadata = fs::symlink_metadata(path).ok();
    let above = path.ancestors().skip(1).take(depth.unwrap_or(0));
    let above = above.filter_map(|at| Some((at, fs::symlink_metadata(at).ok()?)));
    let all = metadata.clone().map(|own| (path, own)).into_iter().chain(above);
    let refusals = all.filter_map(|(at, metadata)| Some((at, RefusalReason::find(&metadata, project)?)));
    // The outermost refusal is the cause of those inside it.
    let refusal = refusals.filter(|(_, why)| !matches!(why, RefusalReason::Distrusted(_)) || !is_trusted()).last();
    let Some((at, why)) = refusal else { return Ok(metadata) };
    let at = (at != path).then(|| at.to_owned());
    Err(io::Error::other(RefusedPath { path: at, reason: why, project: project.unwrap_or(path).to_owned() }))
}

/// Whether an error says that a file is unsafe or too large to be read.
pub fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::FileTooLarge || matches!(error.get_ref(), Some(cause) if cause.is::<RefusedPath>())
}

/// Whether an error says that another user may have written a file.
pub fn is_distrusted(error: &io::Error) -> bool {
    let refused = error.get_ref().and_then(|cause| cause.downcast_ref::<RefusedPath>());
    refused.is_some_and(|refused| matches!(refused.reason, RefusalReason::Distrusted(_)))
}

/// Whether a file outside the store is a link, or a junction on Windows.
pub fn is_linked_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// The reason why a path is refused.
#[derive(Debug, Clone, Copy)]
enum RefusalReason {
    Link,
    Special,
    Distrusted(DistrustReason),
}

impl RefusalReason {
    fn find(metadata: &Metadata, project: Option<&Path>) -> Option<Self> {
        if metadata.is_symlink() {
            return Some(Self::Link);
        }
        if is_special(metadata) {
            return Some(Self::Special);
        }
        project.and_then(|_| DistrustReason::from_metadata(metadata)).map(Self::Distrusted)
    }
}

/// The error for a refused path. `path` is set if the reason is a directory above the requested path.
#[derive(Debug)]
struct RefusedPath {
    path: Option<PathBuf>,
    reason: RefusalReason,
    project: PathBuf,
}

impl fmt::Display for RefusedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            None => f.write_str("it ")?,
            Some(at) => write!(f, "{} ", trust::printable_path(at))?,
        }
        match self.reason {
            RefusalReason::Link => f.write_str("is a symbolic link, and links in a store are not followed"),
            RefusalReason::Special => f.write_str("is a pipe or device, not a file"),
            RefusalReason::Distrusted(why) => {
                write!(f, "{why}; if you trust it, run: {}", trust::trust_command(&self.project))
            }
        }
    }
}

impl std::error::Error for RefusedPath {}

/// Returns options that refuse a link at the end of the path on Unix, even if it was put there after the check.
fn base_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "options are added only on Unix"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options
}

impl StoreFile {
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

    /// Opens the file if its path is safe; see [`verify`].
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        verify(path.as_ref())?;
        regular_file::open_with(&self.0, path.as_ref())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn key_is_created_once() {
        let dir = tempfile::tempdir().unwrap();
        let [path, other] = ["key", "other"].map(|name| dir.path().join(name));
        let key = read_or_create_key(&path);
        assert_eq!((read_or_create_key(&path), fs::read(&path).unwrap()), (key, key.to_vec()));
        assert_ne!(read_or_create_key(&other), key);
        assert_ne!(read_or_create_key(&dir.path().join("no folder/key")), SecretKey::default());
    }

    #[test]
    fn links_and_paths_through_links_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        fs::create_dir_all(real.join(".jikime/memory/track")).unwrap();
        fs::create_dir(root.path().join("outside")).unwrap();
        fs::write(root.path().join("outside/file"), "theirs").unwrap();
        // The project itself may be behind a link.
        let project = root.path().join("project");
        symlink(&real, &project).unwrap();
        let store = project.join(".jikime/memory");
        options_for_private().create(true).open(store.join("file")).unwrap().write_all(b"ours").unwrap();
        assert_eq!(read(&store.join("file")).unwrap(), b"ours");

        symlink(root.path().join("outside/file"), store.join("link")).unwrap();
        symlink(root.path().join("outside/none"), store.join("dangling")).unwrap();
        symlink(root.path().join("outside"), store.join("folder")).unwrap();
        for (path, link) in
            [("link", "it is"), ("dangling", "it is"), ("folder/file", "folder is"), ("folder/new", "folder is")]
        {
            let path = store.join(path);
            for error in
                [read(&path).unwrap_err(), options_for_private().append(true).create(true).open(&path).unwrap_err()]
            {
                assert!(is_refused(&error), "{error}");
                assert!(error.to_string().contains(&format!("{link} a symbolic link")), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(root.path().join("outside/file")).unwrap(), "theirs");
        assert_eq!(fs::read_dir(root.path().join("outside")).unwrap().count(), 1);
    }

    #[test]
    fn refusal_of_a_linked_store_names_the_link() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("outside/memory")).unwrap();
        symlink(root.path().join("outside"), root.path().join(".jikime")).unwrap();
        let path = root.path().join(".jikime/memory/track/s.jsonl");
        let refused = verify(&path).unwrap_err().to_string();
        assert!(
            refused.starts_with(&format!("{} is a symbolic link", root.path().join(".jikime").display())),
            "{refused}"
        );
    }

    #[test]
    fn world_writable_files_and_directories_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join(".jikime");
        let file = home.join("memory/MEMORY.md");
        fs::create_dir_all(home.join("memory")).unwrap();
        fs::write(&file, "text").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(&file, 0o664);
        assert_eq!(read(&file).unwrap(), b"text");
        set(&file, 0o666);
        let refused = read(&file).unwrap_err();
        assert!(
            is_refused(&refused) && refused.to_string().starts_with("it may be changed by every user"),
            "{refused}"
        );
        set(&file, 0o600);
        set(&home, 0o777);
        let refused = options_for_private().create(true).open(home.join("memory/new.md")).unwrap_err().to_string();
        let expected = format!("{} may be changed by every user; if you trust it, run: ", home.display());
        assert_eq!(refused, expected + &trust::trust_command(root.path()));
        // Outside a store, permissions do not matter.
        set(root.path(), 0o777);
        options_for_private().create(true).open(root.path().join("file")).unwrap();
    }
}
