//! The user's projects with a memory, for searches in all of them: a file in the user's data directory with one path a line. Nothing else
//! finds projects, and projects are added only if the setting `other_projects` is on.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schema::files::layout::{Layout, private_dir_builder};
use schema::files::project::personal_project;
use schema::files::regular_file;
use schema::files::store_file::options_for_private;

/// The size of the file, in bytes, from which no project is added.
const FILE_LIMIT: u64 = 256 * 1024;

/// Adds a project, unless it is there or is the personal memory. A path with a line break cannot be added.
pub fn register(project: &Path) -> io::Result<()> {
    let Some((personal, file)) = registry_file() else { return Ok(()) };
    if personal == project {
        return Ok(());
    }
    let project = &fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    let Some(line) = project.to_str().filter(|path| !path.contains('\n')) else { return Ok(()) };
    let known = read_text(&file)?;
    if known.lines().any(|known| known == line) || known.len() as u64 + line.len() as u64 >= FILE_LIMIT {
        return Ok(());
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    if let Some(folder) = file.parent() {
        private_dir_builder().recursive(true).create(folder)?;
    }
    options_for_private().append(true).create(true).open(&file)?.write_all(format!("{gap}{line}\n").as_bytes())
}

/// Returns the projects that still have a store, in the order in which they were added.
pub fn registered_projects() -> io::Result<Vec<PathBuf>> {
    let Some((_, file)) = registry_file() else { return Ok(Vec::new()) };
    let text = read_text(&file)?;
    let mut projects: Vec<PathBuf> = Vec::new();
    for project in text.lines().map(PathBuf::from).filter(|path| path.is_absolute()) {
        if !projects.contains(&project) && Layout::new(&project).store_dir().is_dir() {
            projects.push(project);
        }
    }
    Ok(projects)
}

/// Returns the personal project, which is not registered, and the file next to it.
fn registry_file() -> Option<(PathBuf, PathBuf)> {
    let personal = personal_project().ok()?.root;
    let file = personal.with_file_name("projects");
    Some((personal, file))
}

fn read_text(file: &Path) -> io::Result<String> {
    match regular_file::read(file, FILE_LIMIT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot read {}: {error}", file.display()))),
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
