//! Markdown files of others: front matter, sections, and the files of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schema::files::regular_file;
use schema::files::store_file::is_linked_file;

use super::foreign::{Receiver, SourceError};

/// Largest file in bytes. Capture shortens long texts.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;

/// Most files of a folder, and the deepest level of folders.
const MAX_FILES: usize = 100_000;
const MAX_DEPTH: usize = 16;

/// A note, split into front matter and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Note<'t> {
    head: &'t str,
    pub(super) body: &'t str,
}

/// A part of a text below a heading of level 1 or 2.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Section {
    /// Empty before the first heading.
    pub(super) heading: String,
    pub(super) body: String,
}

impl<'t> Note<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let Some(rest) = text.strip_prefix("---\n") else { return Self { head: "", body: text } };
        match rest.split_once("\n---") {
            Some((head, body)) => Self { head, body: body.split_once('\n').map_or("", |(_, body)| body) },
            None => Self { head: "", body: text },
        }
    }

    /// A field of the front matter.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        let value = self.head.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':').map(str::trim));
        value.map(|value| value.trim_matches(['"', '\'']).to_owned()).filter(|value| !value.is_empty())
    }

    /// A list of the front matter: `[a, b]`, or a line with a dash for each item.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let clean = |item: &str| item.trim().trim_matches(['"', '\'']).trim_start_matches('#').to_owned();
        let items: Vec<String> = match self.field(name) {
            Some(line) => line.trim_matches(['[', ']']).split(',').map(clean).collect(),
            None => {
                let mut lines = self.head.lines().skip_while(|line| line.trim_end() != format!("{name}:")).skip(1);
                let item = |line: &str| line.trim_start().strip_prefix("- ").map(clean);
                std::iter::from_fn(|| lines.next().and_then(item)).collect()
            }
        };
        items.into_iter().filter(|item| !item.is_empty()).collect()
    }
}

/// The sections of a text. Lines in code blocks are no headings.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let (mut sections, mut current, mut is_code) = (Vec::new(), Section::default(), false);
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let heading = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")).filter(|_| !is_code);
        match heading {
            Some(heading) => {
                let next = Section { heading: heading.trim().to_owned(), body: String::new() };
                sections.push(std::mem::replace(&mut current, next));
            }
            None => current.body.extend([line, "\n"]),
        }
    }
    sections.push(current);
    sections.retain(|section| !section.body.trim().is_empty());
    sections
}

/// The Markdown files below a folder, sorted. Hidden folders and links are skipped.
pub(super) fn files_of_source(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let mut files = Vec::new();
    collect_files(folder, 0, &mut files).map_err(|error| SourceError::unreadable(folder, &error))?;
    files.sort();
    Ok(files)
}

fn collect_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let path = item?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "node_modules" || is_linked_file(&path) {
            continue;
        }
        if path.is_dir() && depth < MAX_DEPTH {
            collect_files(&path, depth + 1, files)?;
        } else if name.ends_with(".md") && path.is_file() && files.len() < MAX_FILES {
            files.push(path);
        }
    }
    Ok(())
}

/// The text of a file with Unix line endings. An unreadable file is reported and skipped.
pub(super) fn read_file(path: &Path, receiver: &mut dyn Receiver) -> Option<String> {
    match regular_file::read_text(path, FILE_LIMIT) {
        Ok(text) => {
            receiver.count_file(text.len() as u64);
            Some(text.replace("\r\n", "\n"))
        }
        Err(error) => {
            receiver.skip(format!("{}: {error}; skipped", path.display()));
            None
        }
    }
}

/// The path of a file within its folder, with slashes.
pub(super) fn relative_name(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::dashes("---\ntags:\n- a\n- '#b'\ntitle: x\n---\nbody", &["a", "b"])]
    #[case::brackets("---\ntags: [a, \"b\"]\n---\nbody", &["a", "b"])]
    #[case::commas("---\ntags: a, b\n---\nbody", &["a", "b"])]
    #[case::missing("---\ntitle: x\n---\nbody", &[])]
    fn lists_of_the_front_matter_are_parsed(#[case] text: &str, #[case] expected: &[&str]) {
        let note = Note::parse(text);
        assert_eq!((note.list("tags"), note.body), (expected.iter().map(ToString::to_string).collect(), "body"));
    }

    #[test]
    fn headings_in_code_do_not_split() {
        let text = "intro\n# A\none\n```\n# not\n```\n### deep\n## B\n\n## C\ntwo\n";
        let found: Vec<(String, String)> =
            sections(text).into_iter().map(|section| (section.heading, section.body)).collect();
        let section = |heading: &str, body: &str| (heading.to_owned(), body.to_owned());
        assert_eq!(
            found,
            [section("", "intro\n"), section("A", "one\n```\n# not\n```\n### deep\n"), section("C", "two\n")]
        );
    }
}
