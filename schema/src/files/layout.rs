//! Where everything of a store lies on disk. The only place that knows a file name; docs/dev/storage.md describes them.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::files::project::personal_project;
use crate::files::store_file::{options_for_private, verify};
use crate::model::memory::content_hash;

/// The store's directory relative to the project, with `/`.
pub const STORE_DIR: &str = ".jikime/memory";

/// See [`Layout::store_lock`].
pub(crate) const STORE_LOCK: &str = "store.lock";

const GITIGNORE: &str = "\
# Written by jikime-memory. MEMORY.md and notes of your own are for the repository, the rest stays on this machine.
*
!.gitignore
!*/
!*.md
[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md
[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].[0-9].md
/track/
/spool/
";

/// The line of it that names files such as `2026-01-28.2.md`.
const LATER_FILES: &str = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].[0-9].md";

/// The paths of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    project: PathBuf,
    store_dir: PathBuf,
}

impl Layout {
    /// The layout of the store in `project`. Touches nothing.
    pub fn new(project: &Path) -> Self {
        Self { project: project.to_owned(), store_dir: project.join(".jikime").join("memory") }
    }

    /// The project whose memory this is.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The store's directory.
    pub fn store_dir(&self) -> &Path {
        &self.store_dir
    }

    pub fn memory_db(&self) -> PathBuf {
        self.store_dir.join("memory.db")
    }

    pub fn index_db(&self) -> PathBuf {
        self.store_dir.join("index.db")
    }

    /// Held for every change of a log, and while a database is created, upgraded or reset.
    pub fn store_lock(&self) -> PathBuf {
        self.store_dir.join(STORE_LOCK)
    }

    /// Held by the one process that indexes.
    pub fn index_lock(&self) -> PathBuf {
        self.store_dir.join("index.lock")
    }

    /// Held by the one process that has vectors made elsewhere, so that none is paid for twice.
    pub fn embedding_lock(&self) -> PathBuf {
        self.store_dir.join("embedding.lock")
    }

    /// Held by the one process that makes up for vectors while no server runs.
    pub fn backfill_lock(&self) -> PathBuf {
        self.store_dir.join("backfill.lock")
    }

    /// Held by the server that answers the queue.
    pub fn queue_lock(&self) -> PathBuf {
        self.store_dir.join("queue.lock")
    }

    pub fn track_dir(&self) -> PathBuf {
        self.store_dir.join("track")
    }

    /// A file of one session among the buffers. An id that makes no file name goes by its hash.
    pub(crate) fn session_file(&self, session_id: &str, ending: &str) -> PathBuf {
        let plain = (1..=64).contains(&session_id.len())
            && session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let name = if plain { session_id.to_owned() } else { content_hash(session_id)[..32].to_owned() };
        self.track_dir().join(format!("{name}.{ending}"))
    }

    /// The topics of what failed lately.
    pub fn failed(&self) -> PathBuf {
        self.track_dir().join("failed")
    }

    pub fn spool_dir(&self) -> PathBuf {
        self.store_dir.join("spool")
    }

    pub fn forgotten_file(&self) -> PathBuf {
        self.store_dir.join("forgotten")
    }

    pub fn hook_log_file(&self) -> PathBuf {
        self.store_dir.join("hook.log")
    }

    /// What servers log of themselves, a file a day.
    pub fn server_log_dir(&self) -> PathBuf {
        self.store_dir.join("log")
    }

    /// What was changed in the project to set hosts up, for taking it back.
    pub fn setup_record(&self) -> PathBuf {
        self.store_dir.join("setup.json")
    }

    /// The project's settings, beside the store so that they may be committed while it is not.
    pub fn settings_file(&self) -> PathBuf {
        self.project.join(".jikime").join("memory.toml")
    }

    /// The file at a path relative to the store, written with `/`.
    pub fn store_path(&self, relative: &str) -> PathBuf {
        self.store_dir.join(relative)
    }

    /// Creates the directories, for their owner only, and `.gitignore`. What exists stays as it is, and what [`verify_dirs`] refuses is an
    /// error. The project's own directory is never created: a project that was moved would leave a second one behind.
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

    /// Keeps the later files of a day out of the repository, where an earlier program wrote `.gitignore`.
    pub(crate) fn ignore_continued_days(&self) -> io::Result<()> {
        let before = fs::read_to_string(self.gitignore()).unwrap_or_default();
        if before.contains(LATER_FILES) {
            return Ok(());
        }
        let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let mut file = options_for_private().append(true).create(true).open(self.gitignore())?;
        io::Write::write_all(&mut file, format!("{end}{LATER_FILES}\n").as_bytes())
    }

    /// Makes the spool alone, for when nothing else may be written.
    pub(crate) fn create_spool_dir(&self) -> io::Result<()> {
        verify(&self.spool_dir())?;
        self.create_dirs(&[self.spool_dir()])
    }

    /// Refuses a store one of whose directories is not used.
    pub fn verify_dirs(&self) -> io::Result<()> {
        // By the name of the directory, because the error is about the store.
        [self.track_dir(), self.spool_dir()].iter().try_for_each(|dir| verify(&dir.join("file")))
    }

    fn create_dirs(&self, inner: &[PathBuf]) -> io::Result<()> {
        if !self.project.is_dir() {
            if personal_project().is_ok_and(|personal| personal.root == self.project) {
                private_dir_builder().recursive(true).create(&self.project)?;
            } else {
                let text = format!(
                    "there is no directory {}; if the project was moved, start the session again where it is now",
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

    /// Every Markdown file of the store as a path relative to it, sorted. Links are not followed, so that nothing outside
    /// the store is ever taken for memory.
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

    /// A path inside the store as it is written in answers: relative to the store, with `/`.
    pub fn relative_path(&self, path: &Path) -> Option<String> {
        let parts = path.strip_prefix(&self.store_dir).ok()?.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("/")).filter(|path| !path.is_empty())
    }
}

/// Whether a path of the store is Markdown for people, not a hidden file or an editor's or our own temporary one.
pub fn is_visible_markdown(path: &str) -> bool {
    path.ends_with(".md") && !path.split('/').any(|part| part.starts_with('.'))
}

fn private_dir_builder() -> fs::DirBuilder {
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
    fn a_new_store_is_for_its_owner_and_keeps_a_gitignore_that_was_edited() {
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
    fn notes_in_subfolders_count_and_hidden_files_buffers_and_links_do_not() {
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
