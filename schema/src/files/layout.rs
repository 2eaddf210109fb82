//! The paths of the files of a store. docs/dev/storage.md describes the files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::project::personal_project;
use crate::files::store_file::{append_lines, options_for_private, verify};
use crate::model::memory::content_hash;
use crate::model::sharing::TEAM_DIR;

/// The store directory relative to the project, with `/` as separator.
pub const STORE_DIR: &str = ".jikime/memory";

/// The file name of [`Layout::store_lock`].
pub(crate) const STORE_LOCK: &str = "store.lock";

const GITIGNORE: &str = "\
# Written by jikime-memory. MEMORY.md and notes of your own are for the repository, the rest stays on this machine.
*
!.gitignore
!.gitattributes
!*/
!*.md
[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md
[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].[0-9].md
/track/
/spool/
";

/// The line of `.gitignore` for files such as `2026-01-28.2.md`.
const LATER_FILES: &str = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].[0-9].md";

/// The line of `.gitignore` for the file that tells git how to merge what a team shares.
const SHARED_ATTRIBUTES: &str = "!.gitattributes";

/// The paths of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    project: PathBuf,
    store_dir: PathBuf,
}

impl Layout {
    /// Returns the layout of the store in `project`, without accessing the file system.
    pub fn new(project: &Path) -> Self {
        // Part by part, so that the path has the separators of the system.
        let store_dir = STORE_DIR.split('/').fold(project.to_owned(), |path, part| path.join(part));
        Self { project: project.to_owned(), store_dir }
    }

    /// Returns the project directory.
    pub fn project(&self) -> &Path {
        &self.project
    }

    pub fn store_dir(&self) -> &Path {
        &self.store_dir
    }

    pub fn memory_db(&self) -> PathBuf {
        self.store_dir.join("memory.db")
    }

    pub fn index_db(&self) -> PathBuf {
        self.store_dir.join("index.db")
    }

    /// Returns the path of the lock for each change of a log, and for creating, upgrading and resetting a database.
    pub fn store_lock(&self) -> PathBuf {
        self.store_dir.join(STORE_LOCK)
    }

    /// Returns the path of the lock that a process holds while it writes the index.
    pub fn index_lock(&self) -> PathBuf {
        self.store_dir.join("index.lock")
    }

    /// Returns the path of the lock that a process holds while it asks a remote service for vectors, so that no vector is paid for twice.
    pub fn embedding_lock(&self) -> PathBuf {
        self.store_dir.join("embedding.lock")
    }

    /// Returns the path of the lock that a process holds while it computes missing vectors without a server.
    pub fn backfill_lock(&self) -> PathBuf {
        self.store_dir.join("backfill.lock")
    }

    /// Returns the path of the lock that the server of the queue holds.
    pub fn queue_lock(&self) -> PathBuf {
        self.store_dir.join("queue.lock")
    }

    pub fn track_dir(&self) -> PathBuf {
        self.store_dir.join("track")
    }

    /// Returns the path of a session's file among the buffers. A session id that is not a valid file name is replaced by its hash.
    pub(crate) fn session_file(&self, session_id: &str, ending: &str) -> PathBuf {
        let plain = (1..=64).contains(&session_id.len())
            && session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let name = if plain { session_id.to_owned() } else { content_hash(session_id)[..32].to_owned() };
        self.track_dir().join(format!("{name}.{ending}"))
    }

    /// Returns the path of the file with the topics of recent failures.
    pub fn failed_topics_file(&self) -> PathBuf {
        self.track_dir().join("failed")
    }

    pub fn spool_dir(&self) -> PathBuf {
        self.store_dir.join("spool")
    }

    /// Returns the directory of the files that a team shares.
    pub fn team_dir(&self) -> PathBuf {
        self.store_dir.join(TEAM_DIR)
    }

    pub fn forgotten_file(&self) -> PathBuf {
        self.store_dir.join("forgotten")
    }

    /// Returns the path of the key of anonymous placeholders.
    pub fn anonymous_key(&self) -> PathBuf {
        self.store_dir.join("anonymous.key")
    }

    pub fn hook_log_file(&self) -> PathBuf {
        self.store_dir.join("hook.log")
    }

    pub fn hook_times_file(&self) -> PathBuf {
        self.store_dir.join("hook.times")
    }

    /// Returns the directory of the servers' own logs, with one file per day.
    pub fn server_log_dir(&self) -> PathBuf {
        self.store_dir.join("log")
    }

    /// Returns the path of the file that records what `init` changed, so that it can be undone.
    pub fn setup_record(&self) -> PathBuf {
        self.store_dir.join("setup.json")
    }

    /// Returns the path of the project's settings. They are outside the store directory, so that they can be committed without it.
    pub fn settings_file(&self) -> PathBuf {
        self.store_dir.with_file_name("memory.toml")
    }

    /// Returns the path of a file in the store, given relative to the store with `/` as separator.
    pub fn store_path(&self, relative: &str) -> PathBuf {
        self.store_dir.join(relative)
    }

    /// Creates the directories, private to their owner, and `.gitignore`. Existing ones are not changed, and unsafe ones are an error; see
    /// [`Self::verify_dirs`]. The project directory itself is never created, because a moved project would leave a second one behind.
    pub fn create_dirs_and_gitignore(&self) -> io::Result<()> {
        self.verify_dirs()?;
        if self.gitignore().exists() && self.track_dir().is_dir() && self.spool_dir().is_dir() {
            return Ok(());
        }
        self.create_dirs(&[self.track_dir(), self.spool_dir()])?;
        match options_for_private().create_new(true).open(self.gitignore()) {
            Ok(mut file) => io::Write::write_all(&mut file, GITIGNORE.as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds the later files of a day to a `.gitignore` that an earlier version wrote.
    pub(crate) fn ignore_continued_days(&self) -> io::Result<()> {
        let before = fs::read_to_string(self.gitignore()).unwrap_or_default();
        if before.contains(LATER_FILES) {
            return Ok(());
        }
        append_lines(&self.gitignore(), before.as_bytes(), &format!("{LATER_FILES}\n"))
    }

    /// Creates the directory of the team. A `.gitignore` that an earlier version wrote would hide how git merges its files.
    pub fn create_team_dir(&self) -> io::Result<()> {
        verify(&self.team_dir().join("file"))?;
        self.create_dirs(&[self.team_dir()])?;
        let before = fs::read_to_string(self.gitignore()).unwrap_or_default();
        if before.lines().any(|line| line == SHARED_ATTRIBUTES) {
            return Ok(());
        }
        append_lines(&self.gitignore(), before.as_bytes(), &format!("{SHARED_ATTRIBUTES}\n"))
    }

    /// Creates only the spool, for a store in which nothing else may be written.
    pub(crate) fn create_spool_dir(&self) -> io::Result<()> {
        verify(&self.spool_dir())?;
        self.create_dirs(&[self.spool_dir()])
    }

    /// Returns an error if a directory of the store is unsafe.
    pub fn verify_dirs(&self) -> io::Result<()> {
        // Checks a path inside each directory, so that the error is about the store and names the directory.
        [self.track_dir(), self.spool_dir()].iter().try_for_each(|dir| verify(&dir.join("file")).map(drop))
    }

    fn create_dirs(&self, inner: &[PathBuf]) -> io::Result<()> {
        if !self.project.is_dir() {
            if personal_project().is_ok_and(|personal| personal.root == self.project) {
                private_dir_builder().recursive(true).create(&self.project)?;
            } else {
                let text = format!(
                    "the directory {} does not exist; if the project was moved, restart the session in its new place",
                    self.project.display()
                );
                return Err(io::Error::new(io::ErrorKind::NotFound, text));
            }
        }
        let outer = self.store_dir.parent().into_iter().chain([self.store_dir()]);
        outer.chain(inner.iter().map(PathBuf::as_path)).try_for_each(|dir| match private_dir_builder().create(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
            created => created,
        })
    }

    pub(crate) fn gitignore(&self) -> PathBuf {
        self.store_dir.join(".gitignore")
    }

    /// Returns the paths of all Markdown files of the store, relative to it and sorted. Links are not followed, so nothing outside the
    /// store is read as memory.
    pub fn markdown_files(&self) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut pending = vec![self.store_dir.clone()];
        while let Some(dir) = pending.pop() {
            let listing = match fs::read_dir(&dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                listing => listing?,
            };
            for item in listing {
                let item = item?;
                let kind = item.file_type()?;
                let path = item.path();
                if kind.is_dir() && path != self.track_dir() && path != self.spool_dir() {
                    pending.push(path);
                } else if kind.is_file() {
                    found.extend(self.relative_path(&path).filter(|path| is_visible_markdown(path)));
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns a path inside the store as results show it: relative to the store, with `/` as separator.
    pub fn relative_path(&self, path: &Path) -> Option<String> {
        let parts = path.strip_prefix(&self.store_dir).ok()?.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("/")).filter(|path| !path.is_empty())
    }
}

/// Whether a path in the store is Markdown for people, and not hidden or temporary.
pub fn is_visible_markdown(path: &str) -> bool {
    path.ends_with(".md") && !path.split('/').any(|part| part.starts_with('.'))
}

pub fn private_dir_builder() -> fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_store_is_private_and_keeps_an_edited_gitignore() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(layout.store_dir().to_owned()), 0o700);
            assert_eq!(mode(layout.gitignore()), 0o600);
        }
        fs::write(layout.gitignore(), "mine").unwrap();
        fs::remove_dir(layout.track_dir()).unwrap();
        layout.create_dirs_and_gitignore().unwrap();
        assert_eq!(fs::read_to_string(layout.gitignore()).unwrap(), "mine");
    }

    #[test]
    fn missing_project_is_not_recreated() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::new(&root.path().join("project"));
        for create in [Layout::create_dirs_and_gitignore, Layout::create_spool_dir] {
            let error = create(&layout).unwrap_err();
            assert!(error.to_string().contains("if the project was moved"), "{error}");
        }
        assert!(!layout.project().exists());
        fs::create_dir(layout.project()).unwrap();
        layout.create_dirs_and_gitignore().unwrap();
        fs::remove_dir_all(layout.project().join(".jikime")).unwrap();
        layout.create_dirs_and_gitignore().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn markdown_files_are_found_without_hidden_files_and_links() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        for path in ["MEMORY.md", "notes/api.md", "notes/.draft.md", "spool/x.md", "a.txt"] {
            fs::create_dir_all(layout.store_path(path).parent().unwrap()).unwrap();
            fs::write(layout.store_path(path), "text").unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", layout.store_path("link.md")).unwrap();
        assert_eq!(layout.markdown_files().unwrap(), ["MEMORY.md", "notes/api.md"]);
    }
}
