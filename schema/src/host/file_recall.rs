//! Finds the memories that name a file, for a tool that is about to open it.

use crate::intake::queue::RecalledMemory;
use crate::model::memory::MemoryType;
use crate::model::state_note::Phase;
use crate::model::word_list::WordList;
use crate::prose::gist::shortened;
use crate::store::{MemoryFilter, MemoryRow, Rows, SharingFilter};

/// How many memories are shown for one file.
const MOST: usize = 2;

/// How many memories of each type are looked at, newest first.
const REACH: usize = 200;

/// Characters of a memory.
const LENGTH: usize = 260;

/// The types that say what to know about a file. Events only say that something happened.
const TYPES: [MemoryType; 6] = [
    MemoryType::Convention,
    MemoryType::Decision,
    MemoryType::Architecture,
    MemoryType::Pattern,
    MemoryType::ErrorFix,
    MemoryType::Learning,
];

/// Returns the memories that name a file by its path or its name, the ones that were saved on purpose first, then the newest.
pub fn memories_naming(rows: Rows<'_>, path: &str) -> rusqlite::Result<Vec<RecalledMemory>> {
    let mut found: Vec<MemoryRow> = Vec::new();
    for kind in TYPES {
        let filter = MemoryFilter { kind: Some(kind), sharing: SharingFilter::Own, ..MemoryFilter::default() };
        let named = rows.list(&filter, REACH)?.into_iter().filter(|row| names(&row.memory.content, path));
        found.extend(named.filter(|row| row.superseded_by.is_none() && row.state.phase == Phase::Open));
    }
    found.sort_by_key(|row| (row.memory.attributes.auto, std::cmp::Reverse(row.memory.at.unix())));
    found.truncate(MOST);
    Ok(found.into_iter().map(recalled).collect())
}

fn recalled(row: MemoryRow) -> RecalledMemory {
    RecalledMemory {
        id: row.memory.id.to_string(),
        path: row.path,
        date: Some(row.memory.at.date().to_string()),
        text: shortened(&row.memory.content, LENGTH),
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
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let after = text[at + word.len()..].chars().next();
            !text[..at].ends_with(continues) && !after.is_some_and(continues)
        })
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
}
