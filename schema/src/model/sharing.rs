//! The state of a shared memory, and who shares it. The state is kept in the metadata of the memory's row, because it follows from the
//! files of several authors.

use chrono::NaiveDate;
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::moment::Moment;
use super::word_list::WordList;

/// The directory of the team's files, relative to the store.
pub const TEAM_DIR: &str = "team";

/// The longest name of an author, in bytes.
const AUTHOR_LIMIT: usize = 64;

/// The field with the day after which a shared memory counts as retired: `2027-01-31`.
pub const EXPIRES: &str = "expires";

/// The field with the tags.
pub const TAGS: &str = "tags";

/// The field with the state.
const STATE: &str = "shared";

/// The state of a shared memory. A later one cannot become an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedState {
    /// Its author thinks that it holds.
    Proposed,
    /// It holds for everybody.
    Approved,
    /// It holds no longer.
    Retired,
}

impl SharedState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Retired => "retired",
        }
    }

    pub(crate) fn write(self, metadata: &mut Map<String, Value>) {
        metadata.insert(STATE.to_owned(), self.name().into());
    }

    /// Reads the state from the metadata of a row, as it is `now`.
    pub(crate) fn read(metadata: &Map<String, Value>, now: &Moment) -> Self {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        let last_day = text(EXPIRES).and_then(|day| day.parse::<NaiveDate>().ok());
        if last_day.is_some_and(|day| day < now.date()) {
            return Self::Retired;
        }
        let later = [Self::Approved, Self::Retired].into_iter().find(|state| text(STATE) == Some(state.name()));
        later.unwrap_or(Self::Proposed)
    }
}

/// Returns the path of an author's file, relative to the store.
pub fn team_path(author: &str) -> String {
    format!("{TEAM_DIR}/{author}.md")
}

/// Whether a file belongs to the team, also if its name is not that of an author. Nothing in it is the user's own.
pub fn is_team_file(path: &str) -> bool {
    path.strip_prefix(TEAM_DIR).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the author of a file, from its path relative to the store.
pub fn team_author(path: &str) -> Option<&str> {
    let author = path.strip_prefix(TEAM_DIR)?.strip_prefix('/')?.strip_suffix(".md")?;
    is_author(author).then_some(author)
}

/// Whether a text can be the name of an author: lowercase or caseless letters, digits and `-`, of any script, with a letter at the start.
/// It must not be a name of a device on Windows.
pub fn is_author(name: &str) -> bool {
    static DEVICES: WordList = WordList::words(
        "aux com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 nul prn",
    );
    name.len() <= AUTHOR_LIMIT
        && !DEVICES.contains(name)
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase() || c == '-')
}

/// Returns a person's name as the name of an author.
pub fn author_from_name(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let joined: String = words.join("-").to_lowercase().nfc().filter(|c| c.is_alphanumeric() || *c == '-').collect();
    let author = joined[..joined.floor_char_boundary(AUTHOR_LIMIT)].trim_end_matches('-').to_owned();
    is_author(&author).then_some(author)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_is_a_file_name_in_any_script() {
        assert_eq!(author_from_name("Min-ji  Kim (dev)"), Some("min-ji-kim-dev".to_owned()));
        assert_eq!(author_from_name("김민지"), Some("김민지".to_owned()));
        assert_eq!(author_from_name("İpek"), Some("ipek".to_owned()));
        for name in ["../42", "", "42", "Con", &"\u{301}".repeat(3)] {
            assert_eq!(author_from_name(name), None, "{name}");
        }
    }

    #[test]
    fn only_files_of_authors_belong_to_the_team() {
        assert_eq!(team_author(&team_path("김민지")), Some("김민지"));
        for path in ["team/a/b.md", "team/.md", "team/A.md", "team/2026-01-28.md", "a.md"] {
            assert_eq!(team_author(path), None, "{path}");
        }
    }

    #[test]
    fn shared_memory_expires_after_its_day() {
        let day = |text: &str| Moment::parse_rfc3339(text).unwrap();
        let mut metadata = Map::from_iter([(EXPIRES.to_owned(), "2027-01-31".into())]);
        SharedState::Approved.write(&mut metadata);
        assert_eq!(SharedState::read(&metadata, &day("2027-01-31T23:00:00+09:00")), SharedState::Approved);
        assert_eq!(SharedState::read(&metadata, &day("2027-02-01T00:00:00+09:00")), SharedState::Retired);
    }
}
