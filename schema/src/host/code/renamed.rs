//! Finds the new names of files that are gone, by their content. Listing a project takes longer than a search may wait, so a server does
//! it on a thread of its own, and a later search knows the names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::anchored::LARGEST_FILE;
use super::block::{find_same_lines, hash_bytes};
use crate::files::regular_file;
use crate::host::hook::{is_in_made_folder, is_recordable};
use crate::model::code_anchor::CodeAnchor;
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;

/// The most files of a project that are listed.
const MOST_FILES: usize = 50_000;

/// The most files that are read for one anchor.
const MOST_COMPARED: usize = 64;

/// The shortest file that is recognised by its content, in bytes.
const SMALLEST_FILE: u64 = 32;

/// How long a list of files is used.
const LISTED_FOR: Duration = Duration::from_mins(1);

/// Where the files are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingPlace {
    /// The caller, which waits.
    Here,
    /// A thread. Until it has finished, no name is found.
    Background,
}

/// The result of looking for a missing file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RenameResult {
    Now(String),
    Gone,
    /// The files are not listed yet.
    Unknown,
}

/// The new names of the files of a project.
#[derive(Debug)]
pub struct RenamedFiles {
    root: PathBuf,
    sanitizer: Sanitizer,
    pub place: ListingPlace,
    listing: Arc<Mutex<Listing>>,
    /// The names that were found in the list of this moment.
    known: HashMap<CodeAnchor, Option<String>>,
    known_at: Option<Instant>,
}

#[derive(Debug, Default)]
struct Listing {
    files: Option<Arc<FileList>>,
    is_running: bool,
}

/// The files of a project, relative to it and with `/`.
#[derive(Debug)]
struct FileList {
    made_at: Instant,
    by_size: HashMap<u64, Vec<String>>,
    by_name: HashMap<String, Vec<String>>,
}

impl RenamedFiles {
    pub fn new(root: &Path, sanitizer: Sanitizer) -> Self {
        Self {
            root: root.to_owned(),
            sanitizer,
            place: ListingPlace::Here,
            listing: Arc::default(),
            known: HashMap::new(),
            known_at: None,
        }
    }

    /// Finds the file that now has the content of a file which is missing since a moment: all of it, or the lines of its function in a
    /// file of the same name. There must be only one.
    pub(super) fn new_path(&mut self, anchor: &CodeAnchor, since: Moment) -> RenameResult {
        let Some(files) = self.files(&anchor.path) else { return RenameResult::Unknown };
        if self.known_at.replace(files.made_at) != Some(files.made_at) {
            self.known.clear();
        }
        let find = || files.find(anchor, since, &self.root, &self.sanitizer);
        let path = self.known.entry(anchor.clone()).or_insert_with(find).clone();
        path.filter(|path| self.root.join(path).is_file()).map_or(RenameResult::Gone, RenameResult::Now)
    }

    /// Returns the list of files, and renews it if it is old or contains the `missing` file. Returns `None` while a thread renews it.
    fn files(&self, missing: &str) -> Option<Arc<FileList>> {
        let mut listing = locked(&self.listing);
        let is_current = |files: &Arc<FileList>| files.made_at.elapsed() < LISTED_FOR && !files.contains(missing);
        let files = listing.files.clone().filter(is_current);
        if listing.is_running || files.is_some() {
            return files;
        }
        match self.place {
            ListingPlace::Here => {
                let files = Arc::new(FileList::of(&self.root));
                listing.files = Some(Arc::clone(&files));
                Some(files)
            }
            ListingPlace::Background => {
                let (shared, root) = (Arc::clone(&self.listing), self.root.clone());
                let list = move || {
                    let files = Arc::new(FileList::of(&root));
                    *locked(&shared) = Listing { files: Some(files), is_running: false };
                };
                listing.is_running = thread::Builder::new().name("renamed-files".to_owned()).spawn(list).is_ok();
                None
            }
        }
    }
}

fn locked(listing: &Mutex<Listing>) -> MutexGuard<'_, Listing> {
    listing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileList {
    /// Lists the regular files below a folder, without those of tools and without following links.
    fn of(root: &Path) -> Self {
        let mut list = Self { made_at: Instant::now(), by_size: HashMap::new(), by_name: HashMap::new() };
        let mut folders = vec![String::new()];
        let mut count = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
                let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
                let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                if kind.is_dir() {
                    // Another repository, or a worktree, has copies.
                    let is_other =
                        is_in_made_folder(&Path::new(&path).join("file")) || entry.path().join(".git").exists();
                    folders.extend((!is_other).then_some(path));
                } else if kind.is_file() {
                    let Ok(metadata) = entry.metadata() else { continue };
                    list.by_size.entry(metadata.len()).or_default().push(path.clone());
                    list.by_name.entry(name).or_default().push(path);
                    count += 1;
                }
            }
            if count >= MOST_FILES {
                break;
            }
        }
        list
    }

    fn contains(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.by_name.get(name).is_some_and(|paths| paths.iter().any(|known| known == path))
    }

    fn find(&self, anchor: &CodeAnchor, since: Moment, root: &Path, sanitizer: &Sanitizer) -> Option<String> {
        let name = anchor.path.rsplit('/').next().unwrap_or(&anchor.path);
        let same_size = self.by_size.get(&anchor.size).filter(|_| anchor.size >= SMALLEST_FILE);
        let has_same_bytes = |bytes: &[u8]| anchor.hash.as_ref().is_some_and(|hash| *hash == hash_bytes(bytes));
        let has_same_lines =
            |bytes: &[u8]| anchor.symbol.as_ref().is_some_and(|symbol| find_same_lines(bytes, symbol).is_some());
        let only = |paths: Option<&Vec<String>>, is_same: &dyn Fn(&[u8]) -> bool| {
            let mut holding = paths.into_iter().flatten().take(MOST_COMPARED).filter(|path| {
                let file = root.join(path);
                may_be_renamed(&file, since)
                    && regular_file::read(&file, LARGEST_FILE).is_ok_and(|bytes| is_same(&bytes))
                    && is_recordable(path, root, sanitizer)
            });
            let found = holding.next()?.clone();
            holding.next().is_none().then_some(found)
        };
        only(same_size, &has_same_bytes).or_else(|| only(self.by_name.get(name), &has_same_lines))
    }
}

/// Whether a file may have its name since a moment. On Unix, a new name changes the time of its inode.
fn may_be_renamed(file: &Path, since: Moment) -> bool {
    #[cfg(unix)]
    {
        fs::symlink_metadata(file)
            .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::ctime(&metadata) >= since.unix())
    }
    #[cfg(not(unix))]
    {
        let _ = since;
        file.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::find_symbol;
    use super::*;

    const TEXT: &str = "use x;\n\nfn verify_token() {\n    check();\n}\n\nfn other() {}\n";

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn long_ago() -> Moment {
        Moment::from_unix(1_700_000_000, Some(0)).unwrap()
    }

    fn renamed(paths: &[&str], text: &str) -> RenameResult {
        let project = tempfile::tempdir().unwrap();
        paths.iter().for_each(|path| write(project.path(), path, text));
        write(project.path(), ".gitignore", "/ignored\n");
        fs::create_dir(project.path().join(".git")).unwrap();
        let anchor = CodeAnchor {
            path: "src/auth.rs".to_owned(),
            size: TEXT.len() as u64,
            hash: Some(hash_bytes(TEXT.as_bytes())),
            symbol: find_symbol(TEXT.as_bytes(), "verify_token").map(|found| found.symbol),
        };
        RenamedFiles::new(project.path(), Sanitizer::default()).new_path(&anchor, long_ago())
    }

    #[rstest::rstest]
    #[case::another_name("src/token.rs", TEXT, true)]
    #[case::another_folder("lib/auth/auth.rs", TEXT, true)]
    #[case::changed_elsewhere("lib/auth.rs", &TEXT.replace("other", "rest"), true)]
    #[case::changed_function("lib/auth.rs", &TEXT.replace("check()", "test()"), false)]
    #[case::changed_and_renamed("src/token.rs", &TEXT.replace("other", "rest"), false)]
    #[case::of_a_tool("node_modules/auth.rs", TEXT, false)]
    #[case::ignored("ignored/auth.rs", TEXT, false)]
    fn file_is_found_by_its_content(#[case] path: &str, #[case] text: &str, #[case] expected: bool) {
        let expected = if expected { RenameResult::Now(path.to_owned()) } else { RenameResult::Gone };
        assert_eq!(renamed(&[path], text), expected);
    }

    #[test]
    fn copy_is_no_renamed_file() {
        assert_eq!(renamed(&["src/a.rs", "src/b.rs"], TEXT), RenameResult::Gone, "two of them");
        assert_eq!(renamed(&["x/.git", "x/src/auth.rs"], TEXT), RenameResult::Gone, "of another repository");
        #[cfg(unix)]
        {
            let project = tempfile::tempdir().unwrap();
            write(project.path(), "lib/auth.rs", TEXT);
            assert!(!may_be_renamed(&project.path().join("lib/auth.rs"), Moment::latest()), "it was there before");
        }
    }

    #[test]
    fn names_are_found_in_the_background() {
        let project = tempfile::tempdir().unwrap();
        write(project.path(), "src/token.rs", TEXT);
        let mut files = RenamedFiles::new(project.path(), Sanitizer::default());
        files.place = ListingPlace::Background;
        let anchor = CodeAnchor {
            path: "src/auth.rs".to_owned(),
            size: TEXT.len() as u64,
            hash: Some(hash_bytes(TEXT.as_bytes())),
            symbol: None,
        };
        assert_eq!(files.new_path(&anchor, long_ago()), RenameResult::Unknown);
        for _ in 0..1_000 {
            if files.new_path(&anchor, long_ago()) != RenameResult::Unknown {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(files.new_path(&anchor, long_ago()), RenameResult::Now("src/token.rs".to_owned()));
        fs::rename(project.path().join("src/token.rs"), project.path().join("src/key.rs")).unwrap();
        assert_eq!(files.new_path(&anchor, long_ago()), RenameResult::Gone, "it was moved again");
    }
}
