//! The host's own notes, `memory/*.md` beside the transcripts of a project: read, never written.

use std::fs;
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::memory::MemoryType;
use crate::moment::Moment;
use crate::own_file::is_linked_file;
use crate::regular_file;

/// The largest note that is read, in bytes.
const LIMIT: u64 = 256 * 1024;

/// A note of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The name of its file.
    pub file: String,
    /// What it is about, as the host says it.
    pub title: Option<String>,
    /// What it is kept as.
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
}

/// The notes of a folder, in the order of their names, and what is no note that can be read, with the reason. The index of the others,
/// which only links to them, is none.
pub fn notes(folder: &Path) -> io::Result<(Vec<Note>, Vec<String>)> {
    let (mut names, mut left_out): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for item in fs::read_dir(folder)? {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        let is_note = name.ends_with(".md") && !name.starts_with('.') && !is_linked_file(&item.path());
        match item.metadata() {
            Ok(metadata) if is_note && metadata.is_file() && metadata.len() <= LIMIT => names.push(name),
            Ok(metadata) if is_note && metadata.is_file() => {
                left_out.push(format!("{name} has more than {} KiB", LIMIT / 1024));
            }
            _ => {}
        }
    }
    names.sort();
    let mut notes = Vec::new();
    for name in names {
        let path = folder.join(&name);
        match regular_file::read(&path, LIMIT).map(String::from_utf8) {
            Ok(Ok(text)) => notes.extend(note(&path, name, &text.replace("\r\n", "\n"))),
            Ok(Err(_)) => left_out.push(format!("{name} is not UTF-8")),
            Err(error) => left_out.push(format!("{name} cannot be read: {error}")),
        }
    }
    Ok((notes, left_out))
}

fn note(path: &Path, file: String, text: &str) -> Option<Note> {
    let (head, body) = split(text);
    let field = |name: &str| {
        let value = head.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':').map(str::trim));
        value.map(|value| value.trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
    };
    let body = body.trim();
    if body.is_empty() || is_index(body) {
        return None;
    }
    let modified = field("modified").and_then(|text| Moment::parse_rfc3339(&text));
    let at = modified.and_then(|at| Moment::from_unix(at.unix(), None)).or_else(|| changed(path))?;
    let title = field("description").or_else(|| field("name"));
    Some(Note { file, title, kind: kind(field("type").as_deref()), content: body.to_owned(), at })
}

/// What a note of the host is to us: what the user is and wants is a preference, how to work is a convention, and what is
/// known of the project was learned.
fn kind(named: Option<&str>) -> MemoryType {
    match named {
        Some("user") => MemoryType::Preference,
        Some("feedback") => MemoryType::Convention,
        _ => MemoryType::Learning,
    }
}

/// The lines between the first two of `---`, and the rest.
fn split(text: &str) -> (&str, &str) {
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---\n") else { return ("", text) };
    match rest.split_once("\n---") {
        Some((head, body)) => (head, body.split_once('\n').map_or("", |(_, body)| body)),
        None => ("", text),
    }
}

/// Whether a text only lists links to other notes.
fn is_index(body: &str) -> bool {
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.all(|line| line.trim_start_matches(['-', '*', ' ']).starts_with('[') && line.contains(".md)"))
}

fn changed(path: &Path) -> Option<Moment> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    let seconds = modified.duration_since(UNIX_EPOCH).ok()?.as_secs();
    Moment::from_unix(i64::try_from(seconds).ok()?, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_note_is_of_the_type_its_head_says_and_the_index_is_none() {
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
        let (found, mut left_out) = notes(folder.path()).unwrap();
        left_out.sort();
        assert_eq!(left_out, ["e.md is not UTF-8", "f.md has more than 256 KiB"]);
        let of = |note: &Note| (note.file.clone(), note.kind, note.content.clone());
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
