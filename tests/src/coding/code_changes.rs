//! Whether an answer says that the code that it is about has changed.
//!
//! A file is `{"files": [{path, text, memories: [{name, text}], versions: [{name, edits: [{old, new}], changed: [name]}]}]}`. A version without
//! `edits` deletes the file. Each version is made from the text of the file, and `changed` lists the definitions that changed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::server::{MemoryServer, OpenServer};
use crate::fixtures::read_json;
use crate::peer::{PeerError, plain_text};
use crate::polling::poll;

/// A file, memories about its parts, and later versions of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeChangeCase {
    pub path: String,
    pub text: String,
    pub memories: Vec<CodeMemory>,
    pub versions: Vec<CodeVersion>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeMemory {
    /// The definition that it is about, which is also the question: every search finds it.
    pub name: String,
    pub text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeVersion {
    pub name: String,
    #[serde(default)]
    edits: Vec<TextEdit>,
    /// The definitions that changed.
    pub changed: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextEdit {
    old: String,
    new: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    files: Vec<CodeChangeCase>,
}

impl CodeChangeCase {
    /// Reads the cases of a file.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, String> {
        let CaseFile { files } = read_json(path)?;
        Ok(files)
    }

    /// Returns the text of a version; `None` if it deletes the file.
    fn version(&self, version: &CodeVersion) -> Option<String> {
        let change = |text: String, edit: &TextEdit| text.replacen(&edit.old, &edit.new, 1);
        (!version.edits.is_empty()).then(|| version.edits.iter().fold(self.text.clone(), change))
    }
}

/// Pairs of a memory and a version of its code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlarmCounts {
    /// Changed code: answers that say so, and all.
    pub changed: (usize, usize),
    /// Unchanged code: answers that say that it changed, and all.
    pub unchanged: (usize, usize),
    /// Answers without the memory, which say nothing about its code.
    pub not_found: usize,
}

impl AlarmCounts {
    fn count(&mut self, memory: &CodeMemory, is_changed: bool, answer: &str) {
        let counts = if is_changed { &mut self.changed } else { &mut self.unchanged };
        counts.0 += usize::from(says_changed(answer, &memory.text));
        counts.1 += 1;
        self.not_found += usize::from(!plain_text(answer).contains(&plain_text(&memory.text)));
    }
}

/// Words for code that is not as it was.
const CHANGED: [&str; 7] =
    ["changed", "outdated", "out of date", "stale", "is gone", "no longer exists", "does not exist any more"];

/// Whether an answer says more about the code than the memory does.
fn says_changed(answer: &str, memory: &str) -> bool {
    let answer = plain_text(answer).replace(&plain_text(memory), "").replace("may have changed", "");
    CHANGED.iter().any(|word| answer.contains(word))
}

/// Saves each memory in a project with its code, changes the code, and asks.
pub fn measure_code_changes(server: &MemoryServer, cases: &[CodeChangeCase]) -> Result<AlarmCounts, PeerError> {
    let mut counts = AlarmCounts::default();
    for case in cases {
        for memory in &case.memories {
            measure_memory(server, case, memory, &mut counts)?;
        }
    }
    Ok(counts)
}

fn measure_memory(
    server: &MemoryServer,
    case: &CodeChangeCase,
    memory: &CodeMemory,
    counts: &mut AlarmCounts,
) -> Result<(), PeerError> {
    let mut open = server.open()?;
    let path = open.project().join(&case.path);
    fs::create_dir_all(path.parent().unwrap_or(&path))?;
    fs::write(&path, &case.text)?;
    open.save(&memory.text)?;
    for version in &case.versions {
        let answer = match case.version(version) {
            Some(text) => {
                fs::write(&path, text)?;
                open.ask(&memory.name)?
            }
            None => {
                fs::remove_file(&path)?;
                ask_about_deleted(&mut open, memory)?
            }
        };
        counts.count(memory, version.changed.contains(&memory.name), &answer);
    }
    Ok(())
}

/// The time in which a server may notice that a file is deleted.
const NOTICED: Duration = Duration::from_secs(2);

/// Asks until an answer reports a change, because a server may look for the missing file in the background.
fn ask_about_deleted(open: &mut OpenServer<'_>, memory: &CodeMemory) -> Result<String, PeerError> {
    let mut last = Ok(String::new());
    poll(NOTICED, || {
        last = open.ask(&memory.name);
        last.as_ref().map_or(true, |answer| says_changed(answer, &memory.text)).then_some(())
    });
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::coding_data;

    #[test]
    fn cases_are_consistent() {
        let cases = CodeChangeCase::read_all(&coding_data("code-changes.json")).unwrap();
        assert!(cases.len() >= 8, "{}", cases.len());
        for case in &cases {
            for memory in &case.memories {
                assert!(memory.text.contains(&memory.name) && case.text.contains(&memory.name), "{}", memory.name);
                assert!(!says_changed(&memory.text, ""), "{}", memory.text);
            }
            for version in &case.versions {
                let name = format!("{}, {}", case.path, version.name);
                let is_known = |name: &String| case.memories.iter().any(|memory| memory.name == *name);
                assert!(version.changed.iter().all(is_known), "{name}");
                let is_there = |edit: &TextEdit| case.text.matches(&edit.old).count() == 1;
                assert!(version.edits.iter().all(is_there), "{name}: not there, or not once");
                assert_ne!(case.version(version).as_deref(), Some(&*case.text), "{name}");
            }
        }
    }

    #[test]
    fn only_words_outside_the_memory_count() {
        let memory = "The list of changed files is sorted.";
        let cases = [
            ("The list of changed files is sorted.", false),
            (
                "{\"snippet\": \"The list of changed\\nfiles is sorted.\", \"code\": \"list in a.py changed soon after this\"}",
                true,
            ),
            ("The list of changed files is sorted. a.py is gone", true),
            ("The list of changed files is sorted. a.py may have changed", false),
        ];
        for (answer, expected) in cases {
            assert_eq!(says_changed(answer, memory), expected, "{answer}");
        }
    }
}
