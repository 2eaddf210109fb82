//! Instructions that people wrote for agents (`CLAUDE.md`, `AGENTS.md`, Cursor rules), item by item.
//!
//! They are proposals: agents read these files anyway, so a person decides which items are worth a memory.

use std::path::{Path, PathBuf};

use schema::model::memory::{MemoryType, content_hash};
use schema::model::word_list::WordList;

use super::foreign::{ForeignMemory, Receiver, SourceError, changed_at, kind_named};
use super::markdown::{Note, read_file, relative_name};

/// Files of a project, and files of a user below the home directory.
static PROJECT_FILES: WordList = WordList::words(
    "CLAUDE.md CLAUDE.local.md .claude/CLAUDE.md AGENTS.md GEMINI.md .cursorrules .windsurfrules \
     .github/copilot-instructions.md",
);
const USER_FILES: [&str; 3] = [".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md"];

/// Folders of rules in a project.
const RULE_FOLDERS: [&str; 2] = [".cursor/rules", ".claude/rules"];

/// An item with fewer words, or with fewer characters, says too little.
const MIN_WORDS: usize = 3;
const MIN_CHARACTERS: usize = 8;

/// The longest item in bytes; more is a document.
const MAX_LENGTH: usize = 2_000;

/// Digits of the hash that names an item within its file.
const ID_DIGITS: usize = 8;

/// The marks around the part that `init` writes.
const OURS: (&str, &str) = ("<!-- jikime-memory:begin -->", "<!-- jikime-memory:end -->");

/// A file with instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    pub path: PathBuf,
    /// Its name in the origin of memories.
    pub name: String,
    /// Whether it holds for all projects of the user.
    pub is_of_user: bool,
}

/// The files with instructions that exist.
pub fn find_rule_files(home: &Path, project: &Path) -> Vec<RuleFile> {
    let in_project = |path: PathBuf| RuleFile { name: relative_name(&path, project), path, is_of_user: false };
    let mut files: Vec<RuleFile> = PROJECT_FILES.iter().map(|name| in_project(project.join(name))).collect();
    for folder in RULE_FOLDERS.map(|name| project.join(name)) {
        let items = std::fs::read_dir(folder).into_iter().flatten().filter_map(|item| Some(item.ok()?.path()));
        let is_rule = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mdc" || ending == "md");
        let mut rules: Vec<PathBuf> = items.filter(is_rule).collect();
        rules.sort();
        files.extend(rules.into_iter().map(in_project));
    }
    files.extend(USER_FILES.iter().map(|name| RuleFile {
        path: home.join(name),
        name: format!("~/{name}"),
        is_of_user: true,
    }));
    files.retain(|file| file.path.is_file());
    files
}

/// Reads the items of a file.
pub fn read_rules(file: &RuleFile, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let Some(text) = read_file(&file.path, receiver) else { return Ok(()) };
    let at = changed_at(&file.path);
    let usual = if file.is_of_user { MemoryType::Preference } else { MemoryType::Convention };
    for (heading, item) in items(Note::parse(&text).body) {
        let kind = heading.split_whitespace().rev().find_map(kind_named).unwrap_or(usual);
        let content = if heading.is_empty() { item } else { format!("{heading}: {item}") };
        let id = format!("{}#{}", file.name, &content_hash(&content)[..ID_DIGITS]);
        receiver.add(ForeignMemory::new(id, kind, content, at))?;
    }
    Ok(())
}

/// List items and paragraphs with their headings. Code, tables, comments and links to other files are no items.
fn items(text: &str) -> Vec<(String, String)> {
    let (mut items, mut heading, mut current) = (Vec::new(), String::new(), String::new());
    let (mut is_code, mut is_comment, mut is_ours) = (false, false, false);
    for line in text.lines().chain([""]) {
        let trimmed = line.trim();
        let is_fence = trimmed.starts_with("```");
        is_code ^= is_fence;
        is_comment |= trimmed.starts_with("<!--");
        is_ours = (is_ours || trimmed == OURS.0) && trimmed != OURS.1;
        let is_text = !is_code && !is_fence && !is_comment && !is_ours && !trimmed.starts_with(['|', '@', '>']);
        is_comment &= !trimmed.ends_with("-->");
        let is_nested = line.starts_with("  ") || line.starts_with('\t');
        let item = list_item(trimmed).filter(|_| !is_nested);
        if !is_text || trimmed.is_empty() || trimmed.starts_with('#') || item.is_some() {
            let item = std::mem::take(&mut current);
            if is_worth_a_memory(&item) {
                items.push((heading.clone(), item));
            }
        }
        if !is_text {
            continue;
        }
        if trimmed.starts_with('#') {
            heading = trimmed.trim_start_matches('#').trim().to_owned();
        } else {
            let text = item.unwrap_or_else(|| list_item(trimmed).unwrap_or(trimmed));
            let gap = if current.is_empty() || text.is_empty() { "" } else { " " };
            current.extend([gap, text]);
        }
    }
    items
}

/// The text of a list item.
fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet));
    let numbered = || {
        let (number, rest) = line.split_once(". ")?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
    };
    bullet.or_else(numbered).map(str::trim)
}

fn is_worth_a_memory(item: &str) -> bool {
    let is_introduction = item.ends_with(':') || item.starts_with('[') && item.contains("](");
    let is_long_enough = item.split_whitespace().count() >= MIN_WORDS && item.chars().count() >= MIN_CHARACTERS;
    is_long_enough && !is_introduction && item.len() <= MAX_LENGTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_split_by_lists_and_paragraphs() {
        let text = "# Guide\nUse English\nin all comments.\n\n## 테스트\n- 항상 nextest 로 실행한다\n  - also in CI\n- short\n\
                    \n1. Write the test first\n\nBefore you commit:\n```\ncargo test all of it\n```\n| a | table of things |\n\
                    @docs/other file here\n<!-- a hidden comment\nof two lines -->\n<!-- jikime-memory:begin -->\n- Search the memory first, always\n<!-- jikime-memory:end -->\n";
        let item = |heading: &str, text: &str| (heading.to_owned(), text.to_owned());
        let expected = [
            item("Guide", "Use English in all comments."),
            item("테스트", "항상 nextest 로 실행한다 also in CI"),
            item("테스트", "Write the test first"),
        ];
        assert_eq!(items(text), expected);
    }
}
