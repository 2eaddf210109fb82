//! What a team thinks of a shared memory. It is kept in the metadata of the memory's row, because it follows from files of several authors.

use serde_json::{Map, Value};

use super::moment::Moment;

/// The longest name of an author, in bytes.
const AUTHOR_LIMIT: usize = 64;

/// The field with the day after which a shared memory counts as retired: `2027-01-31`.
pub const EXPIRES: &str = "expires";

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
    const ALL: [Self; 3] = [Self::Proposed, Self::Approved, Self::Retired];

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
        if text(EXPIRES).is_some_and(|day| day < now.date().to_string().as_str()) {
            return Self::Retired;
        }
        Self::ALL.into_iter().find(|state| text(STATE) == Some(state.name())).unwrap_or(Self::Proposed)
    }
}

/// Whether a text can be the name of an author: letters and digits of any script and `-`, with a letter at the start.
pub fn is_author(name: &str) -> bool {
    name.len() <= AUTHOR_LIMIT
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase() || c == '-')
}

/// Returns a person's name as the name of an author.
pub fn author_from_name(name: &str) -> Option<String> {
    use unicode_normalization::UnicodeNormalization as _;
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-").to_lowercase().nfc().collect::<String>();
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
        for name in ["../42", "", "42", &"\u{301}".repeat(3)] {
            assert_eq!(author_from_name(name), None, "{name}");
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
