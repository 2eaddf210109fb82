//! Where Claude Code keeps transcripts and notes, and which of them are of a project.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use schema::import::working_directory;
use schema::own_file::is_linked_file;
use schema::project::{Request, resolve};
use tools::error::ToolError;

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transcript {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) changed: SystemTime,
}

impl Transcript {
    /// What tells whether it changed.
    pub(super) fn state(&self) -> String {
        let nanoseconds = self.changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        format!("{} {nanoseconds}", self.bytes)
    }
}

/// The folders in which the host keeps what belongs to a project, each with the root of the project that it says.
pub(super) fn folders() -> anyhow::Result<Vec<(PathBuf, Option<PathBuf>)>> {
    let request = Request::from_environment(None).context("cannot tell the working directory")?;
    let named = std::env::var_os("CLAUDE_CONFIG_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = named.or_else(|| Some(request.home.as_ref()?.join(".claude")));
    let projects = config.context("no home directory is set, and no CLAUDE_CONFIG_DIR")?.join("projects");
    let listing = match fs::read_dir(&projects) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(ToolError::Unavailable(format!("cannot read {}: {error}", projects.display())).into());
        }
    };
    let mut folders: Vec<PathBuf> = listing.filter_map(|item| Some(item.ok()?.path())).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    let root = |folder: &PathBuf| root_of(folder, request.home.as_deref());
    Ok(folders.into_iter().map(|folder| (folder.clone(), root(&folder))).collect())
}

/// Whether a folder of the host belongs to a project: by what its transcripts say or, where they say nothing, by its name.
pub(super) fn is_of(folder: &Path, root: Option<&Path>, project: &Path) -> bool {
    match root {
        Some(root) => is_same(root, project),
        None => folder.file_name().is_some_and(|name| name.to_string_lossy() == folder_name(project)),
    }
}

pub(super) fn is_same(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// How the host calls the folder of a directory.
fn folder_name(directory: &Path) -> String {
    directory.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The project that the newest transcripts of a folder say, as far as its directory, or one above it, is still there.
fn root_of(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let mut transcripts = transcripts(folder).ok()?.0;
    transcripts.sort_by_key(|transcript| std::cmp::Reverse(transcript.changed));
    let said = transcripts.iter().take(5).find_map(|transcript| working_directory(&transcript.path).ok()?)?;
    let directory = said.ancestors().find(|path| path.is_dir())?.to_owned();
    let home = home.map(Path::to_owned);
    resolve(&Request { working_directory: directory, home, ..Request::default() }).ok().map(|project| project.root)
}

/// The transcripts in a folder, oldest change first, and how many links were left out. One file is as good as a folder.
pub(super) fn transcripts(place: &Path) -> anyhow::Result<(Vec<Transcript>, usize)> {
    let refused = |error: std::io::Error| ToolError::Invalid(format!("cannot read {}: {error}", place.display()));
    if place.is_file() {
        let metadata = fs::metadata(place).map_err(refused)?;
        let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
        return Ok((vec![Transcript { path: place.to_owned(), bytes: metadata.len(), changed }], 0));
    }
    let (mut found, mut links) = (Vec::new(), 0);
    for item in fs::read_dir(place).map_err(refused)? {
        let path = item.map_err(refused)?.path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        if is_linked_file(&path) {
            links += 1;
            continue;
        }
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_file() {
            let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
            found.push(Transcript { path, bytes: metadata.len(), changed });
        }
    }
    found.sort_by(|a, b| (a.changed, &a.path).cmp(&(b.changed, &b.path)));
    Ok((found, links))
}
