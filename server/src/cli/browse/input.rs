//! A line that is being typed, with its cursor. Characters are what people see as one: a syllable, an emoji.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::cli::text::{one_line, width};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Input {
    text: String,
    /// In bytes, between two characters.
    cursor: usize,
}

impl Input {
    pub(super) fn new(text: &str) -> Self {
        let text = one_line(text);
        Self { cursor: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds text at the cursor, on one line and harmless: it may be pasted from anywhere.
    pub(super) fn insert(&mut self, text: &str) {
        let clean: String =
            text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.before();
    }

    pub(super) fn right(&mut self) {
        let next = self.text[self.cursor..].graphemes(true).next().map_or(0, str::len);
        self.cursor += next;
    }

    pub(super) fn home(&mut self) {
        self.cursor = 0;
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.text.len();
    }

    pub(super) fn backspace(&mut self) {
        let from = self.before();
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    pub(super) fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.right();
            self.backspace();
        }
    }

    /// Deletes the word before the cursor.
    pub(super) fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let from = before.rfind(' ').map_or(0, |space| space + 1);
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    /// The part that so many columns show, so that the cursor is in it, and the column of the cursor.
    pub(super) fn shown(&self, columns: usize) -> (&str, usize) {
        let room = columns.saturating_sub(1);
        let mut from = 0;
        while width(&self.text[from..self.cursor]) > room {
            from += self.text[from..].graphemes(true).next().map_or(1, str::len);
        }
        let mut to = from;
        for grapheme in self.text[from..].graphemes(true) {
            if width(&self.text[from..to]) + width(grapheme) > columns {
                break;
            }
            to += grapheme.len();
        }
        (&self.text[from..to], width(&self.text[from..self.cursor]))
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_what_people_see_as_one() {
        let mut input = Input::new("왜 👩‍💻");
        input.backspace();
        assert_eq!(input.text(), "왜 ");
        input.insert("Re\u{1b}d\nis");
        assert_eq!(input.text(), "왜 Red is");
        input.delete_word();
        assert_eq!(input.text(), "왜 Red ");
        input.home();
        input.delete();
        input.delete();
        assert_eq!(input.text(), "Red ");
        input.end();
        input.left();
        input.left();
        input.backspace();
        assert_eq!(input.text(), "Rd ");
    }

    #[test]
    fn the_cursor_stays_in_view() {
        let mut input = Input::new("한국어 검색");
        assert_eq!(input.shown(20), ("한국어 검색", 11));
        assert_eq!(input.shown(6), (" 검색", 5));
        input.home();
        assert_eq!(input.shown(6), ("한국어", 0));
        assert_eq!(input.shown(0), ("", 0));
    }
}
