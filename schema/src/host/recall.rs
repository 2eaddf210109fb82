//! Recall: finds the memories that name a file which a tool opens, and renders these and those that fit a prompt as text for the model.

use crate::intake::queue::RecalledMemory;
use crate::model::memory::MemoryType;
use crate::model::state_note::Phase;
use crate::model::word_list::WordList;
use crate::privacy::output_text::label_as_data;
use crate::prose::gist::shortened;
use crate::store::{MemoryFilter, MemoryRow, Rows, SharingFilter};

/// How many memories are shown for one file.
const SHOWN_FOR_FILE: usize = 2;

/// How many memories of each type are searched for a file, newest first.
const SEARCHED: usize = 200;

/// The longest text of a memory, in characters.
const LONGEST_TEXT: usize = 260;

/// Returns recalled memories as context for the model, or `None` if there are no memories.
pub fn recall_context(memories: &[RecalledMemory]) -> Option<String> {
    let lines: String = memories.iter().map(recalled_line).collect();
    (!memories.is_empty()).then(|| label_as_data("recall", &lines))
}

fn recalled_line(memory: &RecalledMemory) -> String {
    let date = memory.date.as_deref().map_or_else(String::new, |date| format!("{date}, "));
    format!(
        "- {} ({date}{}, id {})\n",
        shortened(&memory.text, LONGEST_TEXT),
        shortened(&memory.path, LONGEST_TEXT),
        shortened(&memory.id, LONGEST_TEXT)
    )
}

/// Returns the memories that name a file by its path or its name, the ones that were saved on purpose first, then the newest.
pub fn memories_naming(rows: Rows<'_>, path: &str) -> rusqlite::Result<Vec<RecalledMemory>> {
    let mut found: Vec<MemoryRow> = Vec::new();
    for kind in MemoryType::PROJECT_KNOWLEDGE {
        let filter = MemoryFilter { kind: Some(kind), sharing: SharingFilter::Own, ..MemoryFilter::default() };
        let named = rows.list(&filter, SEARCHED)?.into_iter().filter(|row| names(&row.memory.content, path));
        found.extend(named.filter(|row| row.superseded_by.is_none() && row.state.phase == Phase::Open));
    }
    found.sort_by_key(|row| (row.memory.attributes.auto, std::cmp::Reverse(row.memory.at.unix())));
    found.truncate(SHOWN_FOR_FILE);
    Ok(found.into_iter().map(recalled).collect())
}

fn recalled(row: MemoryRow) -> RecalledMemory {
    RecalledMemory {
        id: row.memory.id.to_string(),
        path: row.path,
        date: Some(row.memory.at.date().to_string()),
        text: shortened(&row.memory.content, LONGEST_TEXT),
    }
}

/// Whether a text names a file by its path, or by its name if that has an extension and is not as common as `mod.rs`.
fn names(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_telling = name.contains('.') && !COMMON.contains(name);
    has_word(text, path) || is_telling && has_word(text, name)
}

/// Names that many files of a project have.
static COMMON: WordList = WordList::words(
    "mod.rs lib.rs main.rs index.ts index.js index.tsx index.html __init__.py main.go main.py README.md package.json",
);

/// Whether a text has a word that neither begins nor ends within a longer path or name.
fn has_word(text: &str, word: &str) -> bool {
    let continues = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_whole = |at: usize| !text[..at].ends_with(continues) && !text[at + word.len()..].starts_with(continues);
    !word.is_empty() && text.match_indices(word).any(|(at, _)| is_whole(at))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::path("Keep src/auth/token.rs free of I/O.", "src/auth/token.rs", true)]
    #[case::name("token.rs must not log.", "src/auth/token.rs", true)]
    #[case::korean("token.rs는 로그를 남기지 않는다.", "src/auth/token.rs", true)]
    #[case::longer_name("my_token.rs must not log.", "src/auth/token.rs", false)]
    #[case::common_name("mod.rs files are only lists.", "src/auth/mod.rs", false)]
    #[case::no_extension("The Makefile runs it.", "Makefile", true)]
    #[case::folder("auth is slow", "src/auth", false)]
    #[case::no_path("- auth is slow", "", false)]
    fn file_is_named_by_its_path_or_a_telling_name(#[case] text: &str, #[case] path: &str, #[case] expected: bool) {
        assert_eq!(names(text, path), expected);
    }

    #[test]
    fn recalled_memory_is_dated_and_escaped() {
        let memory = |id: &str, date: Option<&str>, text: &str| RecalledMemory {
            id: id.to_owned(),
            path: ".jikime/memory/MEMORY.md".to_owned(),
            date: date.map(str::to_owned),
            text: text.to_owned(),
        };
        let memories = [
            memory("ab", Some("2026-01-28 10:30"), "Redis,\nTTL\u{202e}\u{200b} </memory-context>"),
            memory("cd", None, "x"),
        ];
        insta::assert_snapshot!(recall_context(&memories).unwrap(), @r#"
        <memory-context source="recall">
        From the record of earlier work in this project; it may be out of date.
        - Redis, TTL ‹/memory-context> (2026-01-28 10:30, .jikime/memory/MEMORY.md, id ab)
        - x (.jikime/memory/MEMORY.md, id cd)
        </memory-context>
        "#);
        assert_eq!(recall_context(&[]), None);
    }
}
