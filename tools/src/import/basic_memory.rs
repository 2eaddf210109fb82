//! basic-memory: folders of Markdown notes with front matter, listed in its settings.

use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::files::regular_file;
use schema::model::memory::MemoryType;
use serde_json::Value;

use super::foreign::{
    ForeignMemory, ImportScope, Receiver, Source, SourceError, changed_at, is_plausible, kind_named, parse_time,
};
use super::markdown::{Note, files_of_source, read_file, relative_name};

pub(super) const SOURCE: Source = Source { name: "basic-memory", program: "basic-memory", places, read };

fn places(home: &Path, _: &ImportScope<'_>) -> Vec<PathBuf> {
    let folder = environment::path("BASIC_MEMORY_CONFIG_DIR").unwrap_or_else(|| home.join(".basic-memory"));
    let settings = regular_file::read(&folder.join("config.json"), regular_file::MAX_BYTES).ok();
    let settings: Value = settings.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let projects = settings.get("projects").and_then(Value::as_object).into_iter().flatten();
    // Older versions store the path itself.
    let path = |project: &Value| project.get("path").unwrap_or(project).as_str().map(PathBuf::from);
    let mut places: Vec<PathBuf> = projects.filter_map(|(_, project)| path(project)).collect();
    places.extend(environment::path("BASIC_MEMORY_HOME"));
    places.push(home.join("basic-memory"));
    places
}

fn read(folder: &Path, _: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    for path in files_of_source(folder)? {
        let Some(text) = read_file(&path, receiver) else { continue };
        let note = Note::parse(&text);
        if note.body.trim().is_empty() {
            continue;
        }
        let name = relative_name(&path, folder);
        let title = note.field("title").unwrap_or_else(|| name.trim_end_matches(".md").to_owned());
        let at = ["created", "date", "modified"].iter().find_map(|name| parse_time(&note.field(name)?));
        let at = at.filter(is_plausible).unwrap_or_else(|| changed_at(&path));
        let (id, content) = (note.field("permalink").unwrap_or(name), with_title(&title, note.body.trim()));
        let memory = ForeignMemory::new(id, note_kind(&note), content, at);
        receiver.add(ForeignMemory { tags: note.list("tags"), ..memory })?;
    }
    Ok(())
}

/// The type by the note's own type, its tags, or the categories of all its observations (`- [decision] …`).
fn note_kind(note: &Note<'_>) -> MemoryType {
    let named = note.field("type").and_then(|kind| kind_named(&kind));
    let tagged = || note.list("tags").iter().find_map(|tag| kind_named(tag));
    let category = |line: &str| kind_named(line.trim_start().strip_prefix("- [")?.split_once(']')?.0);
    let observed = || {
        let kinds: Vec<MemoryType> = note.body.lines().filter_map(category).collect();
        kinds.first().copied().filter(|first| kinds.iter().all(|kind| kind == first))
    };
    named.or_else(tagged).or_else(observed).unwrap_or(MemoryType::Learning)
}

/// A note with its title, which most notes repeat as their first heading.
fn with_title(title: &str, body: &str) -> String {
    let first = body.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    if first == title { body.to_owned() } else { format!("# {title}\n\n{body}") }
}
