//! Reads the host's own notes: `memory/*.md` next to a project's transcripts. Never writes them.

use std::fs;
use std::io;
use std::path::Path;

use schema::files::regular_file;
use schema::files::store_file::is_linked_file;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;

use super::foreign::modified_at;
use super::markdown::Note;

/// Largest note in bytes.
const MAX_NOTE_BYTES: u64 = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNote {
    /// Its file name.
    pub file: String,
    /// The host's description of it.
    pub title: Option<String>,
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
}

/// The notes of a folder sorted by name, and the unreadable files with the reason. Skips the index, which only links to the
/// notes.
pub fn read_notes(folder: &Path) -> io::Result<(Vec<HostNote>, Vec<String>)> {
    let (mut names, mut left_out): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for item in fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        let is_note = name.ends_with(".md") && !name.starts_with('.') && !is_linked_file(&item.path());
        match item.metadata() {
            Ok(metadata) if is_note && metadata.is_file() && metadata.len() <= MAX_NOTE_BYTES => names.push(name),
            Ok(metadata) if is_note && metadata.is_file() => {
                left_out.push(format!("{name} is larger than {} KiB", MAX_NOTE_BYTES / 1024));
            }
            _ => {}
        }
    }
    names.sort();
    let mut notes = Vec::new();
    for name in names {
        let path = folder.join(&name);
        match regular_file::read(&path, MAX_NOTE_BYTES).map(String::from_utf8) {
            Ok(Ok(text)) => notes.extend(parse_note(&path, name, &text.replace("\r\n", "\n"))),
            Ok(Err(_)) => left_out.push(format!("{name} is not UTF-8")),
            Err(error) => left_out.push(format!("{name} cannot be read: {error}")),
        }
    }
    Ok((notes, left_out))
}

fn parse_note(path: &Path, file: String, text: &str) -> Option<HostNote> {
    let note = Note::parse(text);
    let body = note.body.trim();
    if body.is_empty() || is_link_list(body) {
        return None;
    }
    let modified = note.field("modified").and_then(|text| Moment::parse_rfc3339(&text));
    let at = modified.and_then(|at| Moment::from_unix(at.unix(), None)).or_else(|| modified_at(path))?;
    let title = note.field("description").or_else(|| note.field("name"));
    Some(HostNote { file, title, kind: memory_type(note.field("type").as_deref()), content: body.to_owned(), at })
}

/// Maps the host's type of a note: facts about the user are preferences, ways of working are conventions, and project
/// knowledge is a learning.
fn memory_type(named: Option<&str>) -> MemoryType {
    match named {
        Some("user") => MemoryType::Preference,
        Some("feedback") => MemoryType::Convention,
        _ => MemoryType::Learning,
    }
}

/// Whether a text only lists links to other notes.
fn is_link_list(body: &str) -> bool {
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.all(|line| line.trim_start_matches(['-', '*', ' ']).starts_with('[') && line.contains(".md)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_type_follows_its_front_matter() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("MEMORY.md", "# Memory\n\n- [Testing](feedback_testing.md) — how tests are run\n");
        write(
            "a.md",
            "---\nname: x\ndescription: \"how tests run\"\ntype: feedback\nmodified: 2026-01-28T01:30:15Z\n---\n\nRun nextest.\n",
        );
        write("b.md", "---\r\ntype: user\r\nmodified: 2026-01-28T01:30:15Z\r\n---\r\nLikes Korean.\r\n");
        write("c.md", "no head, and a --- rule\n");
        write("d.md", "---\ntype: project\n---\n\n");
        fs::write(folder.path().join("e.md"), b"caf\xe9\n").unwrap();
        write("f.md", &"long ".repeat(60_000));
        let (found, mut left_out) = read_notes(folder.path()).unwrap();
        left_out.sort();
        assert_eq!(left_out, ["e.md is not UTF-8", "f.md is larger than 256 KiB"]);
        let of = |note: &HostNote| (note.file.clone(), note.kind, note.content.clone());
        let expected = [
            ("a.md".to_owned(), MemoryType::Convention, "Run nextest.".to_owned()),
            ("b.md".to_owned(), MemoryType::Preference, "Likes Korean.".to_owned()),
            ("c.md".to_owned(), MemoryType::Learning, "no head, and a --- rule".to_owned()),
        ];
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
        assert_eq!(
            (found[0].at.utc(), found[0].title.as_deref()),
            ("2026-01-28T01:30:15Z".into(), Some("how tests run"))
        );
    }
}
