//! The text of answers in a form that can be compared. Most servers return only text, some as JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Returns a text without JSON escapes, in lower case and on one line.
pub fn plain_text(text: &str) -> String {
    let text = unescaped(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.strip_prefix('u').and_then(|code| u32::from_str_radix(code.get(..4)?, 16).ok());
        rest = match (code.and_then(char::from_u32), after.chars().next()) {
            (Some(character), _) => {
                plain.push(character);
                &after["u0000".len()..]
            }
            (None, Some('n' | 't' | 'r')) => {
                plain.push(' ');
                &after[1..]
            }
            _ => after,
        };
    }
    plain + rest
}

/// Characters that identify a document.
const MARK: usize = 60;

/// Shorter documents, such as "go on", are in many texts.
const SHORTEST: usize = 8;

/// Recognises the documents of a store in the text of an answer, by `MARK` characters that no other document has, or by the whole text of
/// a shorter one. The beginning alone is not enough, because some servers show the best part of a text.
#[derive(Debug, Default)]
pub struct DocumentMarks {
    /// The documents of each text.
    texts: Vec<Vec<String>>,
    /// The text that has these characters; `None` if several have them.
    marks: HashMap<Vec<char>, Option<usize>>,
    /// Texts that are shorter than a mark.
    short: Vec<(String, usize)>,
}

impl DocumentMarks {
    /// Takes ids and texts.
    pub fn new<'d>(documents: impl Iterator<Item = (&'d str, &'d str)>) -> Self {
        let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (id, text) in documents {
            by_text.entry(plain_text(text)).or_default().push(id.to_owned());
        }
        let mut all = Self::default();
        for (text, ids) in &by_text {
            let is_part = || by_text.keys().any(|other| other.len() > text.len() && other.contains(text.as_str()));
            match text.chars().count() {
                MARK.. => all.add_marks(text),
                SHORTEST.. if !is_part() => all.short.push((text.clone(), all.texts.len())),
                _ => {}
            }
            all.texts.push(ids.clone());
        }
        all
    }

    fn add_marks(&mut self, text: &str) {
        let (characters, place) = (text.chars().collect::<Vec<char>>(), self.texts.len());
        for mark in characters.windows(MARK) {
            let known = self.marks.entry(mark.to_vec()).or_insert(Some(place));
            *known = known.filter(|known| *known == place);
        }
    }

    /// Returns the documents in the order in which an answer shows them. Equal documents are one hit.
    pub fn shown_in(&self, answer: &str) -> Vec<&[String]> {
        let answer = plain_text(answer);
        let (at, characters): (Vec<usize>, Vec<char>) = answer.char_indices().unzip();
        let marked = characters.windows(MARK).zip(&at).filter_map(|(mark, at)| Some((*at, (*self.marks.get(mark)?)?)));
        let short = self.short.iter().filter_map(|(text, place)| Some((answer.find(text.as_str())?, *place)));
        let mut found: Vec<(usize, usize)> = marked.chain(short).collect();
        found.sort_unstable();
        let mut seen = HashSet::new();
        found.retain(|(_, place)| seen.insert(*place));
        found.into_iter().map(|(_, place)| self.texts[place].as_slice()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_in_the_order_of_the_answer() {
        let start = "Two documents begin with the same sentence, which is longer than a mark.";
        let cache =
            format!("{start} The cache keeps \"old\" keys for an hour, {} not more.", "and then more ".repeat(5));
        let other =
            format!("{start} The other one is about the queue and the seven workers that read from it at night.");
        let documents = [
            ("note", "배포는 금요일에 하지 않는다."),
            ("cache", &*cache),
            ("other", &*other),
            ("again", &*cache),
            ("word", "go on"),
            ("part", "seven workers"),
            ("empty", " "),
        ];
        let marks = DocumentMarks::new(documents.into_iter());
        let cut = r#"[{"text":"… keeps \"old\" keys for an hour, and then more and then more and …"}, {"text":"배포는\n금요일에 하지 않는다."}]"#;
        assert_eq!(marks.shown_in(cut), [&["cache".to_owned(), "again".to_owned()][..], &["note".to_owned()]]);
        assert_eq!(marks.shown_in(&format!("1. {other}\ngo on")), [["other".to_owned()]]);
        for nothing in ["", start, "Nothing found for \"The cache keeps old keys for an hour, not more\"."] {
            assert!(marks.shown_in(nothing).is_empty(), "{nothing}");
        }
    }
}
