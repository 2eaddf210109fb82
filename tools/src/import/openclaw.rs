//! OpenClaw: `MEMORY.md` and daily notes below `memory/`, in the workspace of each agent.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;

use super::foreign::{
    ForeignMemory, ImportScope, Receiver, Source, SourceError, changed_at, is_plausible, kind_named, parse_time,
};
use super::markdown::{Note, files_of_source, read_file, relative_name, sections};

pub(super) const SOURCE: Source = Source { name: "openclaw", program: "OpenClaw", places, read };

/// The folder of daily notes.
const DAILY: &str = "memory";

fn places(home: &Path, _: &ImportScope<'_>) -> Vec<PathBuf> {
    let state = environment::path("OPENCLAW_STATE_DIR").unwrap_or_else(|| home.join(".openclaw"));
    let items = fs::read_dir(state).into_iter().flatten().filter_map(|item| Some(item.ok()?.path()));
    let is_workspace =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("workspace"));
    let mut places: Vec<PathBuf> = items.filter(is_workspace).collect();
    places.sort();
    places.retain(|place| {
        place.join("MEMORY.md").exists() || place.join("memory.md").exists() || place.join(DAILY).exists()
    });
    places
}

fn read(workspace: &Path, _: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let folder = workspace.join(DAILY);
    let mut files = if folder.is_dir() { files_of_source(&folder)? } else { Vec::new() };
    let long_term = ["MEMORY.md", "memory.md"].map(|name| workspace.join(name));
    files.extend(long_term.into_iter().find(|path| path.is_file()));
    if files.is_empty() {
        return Err(SourceError::unreadable(workspace, "it has neither MEMORY.md nor memory/*.md"));
    }
    for path in files {
        if let Some(text) = read_file(&path, receiver) {
            read_sections(&text, &path, workspace, receiver)?;
        }
    }
    Ok(())
}

/// Each section is one memory.
fn read_sections(text: &str, path: &Path, workspace: &Path, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let name = relative_name(path, workspace);
    let day = day_of(path);
    let at = day.unwrap_or_else(|| changed_at(path));
    let usual = if day.is_some() { MemoryType::SessionSummary } else { MemoryType::Learning };
    let mut seen: HashMap<String, usize> = HashMap::new();
    for section in sections(Note::parse(text).body) {
        let count = seen.entry(section.heading.clone()).or_default();
        *count += 1;
        let number = if *count > 1 { format!("-{count}") } else { String::new() };
        let words = section.heading.split_whitespace().chain([section.heading.as_str()]);
        let kind = words.rev().find_map(kind_named).unwrap_or(usual);
        let body = section.body.trim();
        let content = if section.heading.is_empty() { body.to_owned() } else { format!("{}\n{body}", section.heading) };
        let id = format!("{name}#{}{number}", section.heading);
        receiver.add(ForeignMemory::new(id, kind, content, at))?;
    }
    Ok(())
}

/// The day in a file's name, at noon.
fn day_of(path: &Path) -> Option<Moment> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    parse_time(name.get(..10)?).filter(is_plausible)
}
