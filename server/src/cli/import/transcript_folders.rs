//! Finds transcripts of hosts, notes of Claude Code, and their projects.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use schema::files::environment;
use schema::files::project::{ProjectContext, home_dir, resolve};
use schema::files::store_file::is_linked_file;
use schema::model::memory::content_hash;
use schema::settings::LoadedSettings;
use tools::error::ToolError;
use tools::import::{
    ClaudeCodeReplay, CodexReplay, GeminiReplay, SessionReplay, TranscriptEnd, claude_code_session_directory,
    codex_session_directory,
};

/// The deepest folder of transcripts: year, month and day.
const MAX_DEPTH: usize = 4;

/// A host that records transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptHost {
    ClaudeCode,
    Codex,
    Gemini,
}

impl TranscriptHost {
    /// The name of the subcommand.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The folders or files with transcripts, each with its project if known.
    pub(super) fn places(self, project: Option<&Path>) -> anyhow::Result<Vec<(PathBuf, Option<PathBuf>)>> {
        let mut places = match self {
            Self::ClaudeCode => claude_code_folders()?,
            Self::Codex => codex_files()?,
            Self::Gemini => gemini_folders()?,
        };
        places.sort();
        let with_root = |place: PathBuf| {
            let root = self.root_of(&place, project);
            (place, root)
        };
        Ok(places.into_iter().map(with_root).collect())
    }

    fn root_of(self, place: &Path, project: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => claude_code_root(place),
            Self::Codex => root_of_directory(&codex_session_directory(place).ok()??),
            Self::Gemini => gemini_root(place.parent()?, project),
        }
    }

    /// Those of the places that belong to a project.
    pub(super) fn places_of(self, project: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut places = self.places(Some(project))?;
        places.retain(|(place, root)| is_folder_of_project(place, root.as_deref(), project));
        Ok(places.into_iter().map(|(place, _)| place).collect())
    }

    fn is_transcript(self, path: &Path) -> bool {
        // Older versions of Gemini CLI write `.json`.
        path.extension().is_some_and(|ending| ending == "jsonl" || self == Self::Gemini && ending == "json")
    }

    pub(super) fn open_replay<'s>(
        self,
        path: &Path,
        project: &'s Path,
        loaded: &'s LoadedSettings,
        ending: TranscriptEnd,
    ) -> io::Result<Box<dyn SessionReplay + 's>> {
        Ok(match self {
            Self::ClaudeCode => Box::new(ClaudeCodeReplay::open(path, project, loaded, ending)?),
            Self::Codex => Box::new(CodexReplay::open(path, project, loaded, ending)?),
            Self::Gemini => Box::new(GeminiReplay::open(path, project, loaded, ending)?),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) changed: SystemTime,
}

impl TranscriptFile {
    /// Changes if the file changes.
    pub(super) fn fingerprint(&self) -> String {
        let nanoseconds = self.changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        format!("{} {nanoseconds}", self.bytes)
    }
}

/// The folders in which Claude Code stores data of projects.
fn claude_code_folders() -> anyhow::Result<Vec<PathBuf>> {
    let home = ProjectContext::from_environment(None).context("cannot determine the working directory")?.home;
    let config = environment::path("CLAUDE_CONFIG_DIR").or_else(|| Some(home?.join(".claude")));
    let projects = config.context("no home directory found; set HOME or CLAUDE_CONFIG_DIR")?.join("projects");
    let listing = match fs::read_dir(&projects) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(ToolError::Unavailable(format!("cannot read {}: {error}", projects.display())).into());
        }
    };
    Ok(listing.filter_map(|item| Some(item.ok()?.path())).filter(|path| path.is_dir()).collect())
}

/// The transcripts of Codex CLI.
fn codex_files() -> anyhow::Result<Vec<PathBuf>> {
    let named = environment::path("CODEX_HOME").or_else(|| Some(home_dir()?.join(".codex")));
    let folder = named.context("no home directory found; set HOME or CODEX_HOME")?;
    let mut files = Vec::new();
    for name in ["sessions", "archived_sessions"] {
        collect_transcripts(&folder.join(name), 0, &mut files);
    }
    Ok(files)
}

fn collect_transcripts(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().filter_map(|item| Some(item.ok()?.path())) {
        if is_linked_file(&path) {
            continue;
        }
        if path.is_dir() && depth < MAX_DEPTH {
            collect_transcripts(&path, depth + 1, files);
        } else if TranscriptHost::Codex.is_transcript(&path) {
            files.push(path);
        }
    }
}

/// The folders of chats of Gemini CLI.
fn gemini_folders() -> anyhow::Result<Vec<PathBuf>> {
    let named = environment::path("GEMINI_CLI_HOME").or_else(home_dir);
    let data = named.context("no home directory found; set HOME or GEMINI_CLI_HOME")?.join(".gemini/tmp");
    let items = fs::read_dir(data).into_iter().flatten();
    Ok(items.filter_map(|item| Some(item.ok()?.path().join("chats"))).filter(|chats| chats.is_dir()).collect())
}

/// The project of a folder of Gemini CLI, which is named by a hash of the project, or contains its path.
fn gemini_root(folder: &Path, project: Option<&Path>) -> Option<PathBuf> {
    let written = fs::read_to_string(folder.join(".project_root")).ok();
    let name = folder.file_name()?.to_string_lossy();
    let named = project.filter(|project| name == content_hash(&project.to_string_lossy()));
    let written = written.and_then(|text| root_of_directory(Path::new(text.trim())));
    written.or_else(|| named.map(Path::to_owned))
}

/// Whether a folder belongs to a project. Its transcripts decide; without transcripts, its name does.
pub(super) fn is_folder_of_project(folder: &Path, root: Option<&Path>, project: &Path) -> bool {
    match root {
        Some(root) => is_same_path(root, project),
        None => folder.file_name().is_some_and(|name| name.to_string_lossy() == folder_name(project)),
    }
}

pub(super) fn is_same_path(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// The host's name for the folder of a directory.
fn folder_name(directory: &Path) -> String {
    directory.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// The project of the newest transcripts, if its directory or a parent of it still exists.
fn claude_code_root(folder: &Path) -> Option<PathBuf> {
    let mut transcripts = list_transcripts(TranscriptHost::ClaudeCode, folder).ok()?.0;
    transcripts.sort_by_key(|transcript| std::cmp::Reverse(transcript.changed));
    let said =
        transcripts.iter().take(5).find_map(|transcript| claude_code_session_directory(&transcript.path).ok()?)?;
    root_of_directory(&said)
}

/// The project of a directory, if it or a parent of it still exists.
fn root_of_directory(directory: &Path) -> Option<PathBuf> {
    let working_directory = directory.ancestors().find(|path| path.is_dir())?.to_owned();
    let request = ProjectContext { working_directory, home: home_dir(), ..ProjectContext::default() };
    Some(resolve(&request).ok()?.root)
}

/// The transcripts in a folder, oldest change first, and the number of skipped links. A single file is accepted too.
pub(super) fn list_transcripts(host: TranscriptHost, place: &Path) -> anyhow::Result<(Vec<TranscriptFile>, usize)> {
    let refused = |error: io::Error| ToolError::Invalid(format!("cannot read {}: {error}", place.display()));
    if place.is_file() {
        let metadata = fs::metadata(place).map_err(refused)?;
        let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
        return Ok((vec![TranscriptFile { path: place.to_owned(), bytes: metadata.len(), changed }], 0));
    }
    let (mut found, mut links) = (Vec::new(), 0);
    for item in fs::read_dir(place).map_err(refused)? {
        let path = item.map_err(refused)?.path();
        if !host.is_transcript(&path) {
            continue;
        }
        if is_linked_file(&path) {
            links += 1;
            continue;
        }
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if metadata.is_file() {
            let changed = metadata.modified().unwrap_or(UNIX_EPOCH);
            found.push(TranscriptFile { path, bytes: metadata.len(), changed });
        }
    }
    found.sort_by(|a, b| (a.changed, &a.path).cmp(&(b.changed, &b.path)));
    Ok((found, links))
}

/// Whether the host has sessions of this project to import.
pub(crate) fn has_transcripts(project: &Path) -> bool {
    let host = TranscriptHost::ClaudeCode;
    let folders = host.places_of(project).unwrap_or_default();
    folders.iter().any(|folder| list_transcripts(host, folder).is_ok_and(|(found, _)| !found.is_empty()))
}
