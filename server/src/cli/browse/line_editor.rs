//! A text field with a cursor. A character is a grapheme, such as a syllable or an emoji.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::cli::terminal_text::{display_width, one_line};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineEditor {
    text: String,
    /// In bytes, between two graphemes.
    cursor: usize,
}

impl LineEditor {
    pub(super) fn new(text: &str) -> Self {
        let text = one_line(text);
        Self { cursor: text.len(), text }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Inserts text at the cursor, on one line and without control characters, because it may be pasted.
    pub(super) fn insert(&mut self, text: &str) {
        let clean: String =
            text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control()).collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn move_left(&mut self) {
        self.cursor = self.previous_boundary();
    }

    pub(super) fn move_right(&mut self) {
        let next = self.text[self.cursor..].graphemes(true).next().map_or(0, str::len);
        self.cursor += next;
    }

    pub(super) fn move_to_start(&mut self) {
        self.cursor = 0;
    }

    pub(super) fn move_to_end(&mut self) {
        self.cursor = self.text.len();
    }

    pub(super) fn backspace(&mut self) {
        let from = self.previous_boundary();
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    pub(super) fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.move_right();
            self.backspace();
        }
    }

    pub(super) fn delete_word(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let from = before.rfind(' ').map_or(0, |space| space + 1);
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    /// The part that fits in `columns` and contains the cursor, and the cursor's column.
    pub(super) fn visible_part(&self, columns: usize) -> (&str, usize) {
        let room = columns.saturating_sub(1);
        let mut from = 0;
        while display_width(&self.text[from..self.cursor]) > room {
            from += self.text[from..].graphemes(true).next().map_or(1, str::len);
        }
        let mut to = from;
        for grapheme in self.text[from..].graphemes(true) {
            if display_width(&self.text[from..to]) + display_width(grapheme) > columns {
                break;
            }
            to += grapheme.len();
        }
        (&self.text[from..to], display_width(&self.text[from..self.cursor]))
    }

    fn previous_boundary(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_graphemes() {
        let mut input = LineEditor::new("왜 👩‍💻");
        input.backspace();
        assert_eq!(input.text(), "왜 ");
        input.insert("Re\u{1b}d\nis");
        assert_eq!(input.text(), "왜 Red is");
        input.delete_word();
        assert_eq!(input.text(), "왜 Red ");
        input.move_to_start();
        input.delete();
        input.delete();
        assert_eq!(input.text(), "Red ");
        input.move_to_end();
        input.move_left();
        input.move_left();
        input.backspace();
        assert_eq!(input.text(), "Rd ");
    }

    #[test]
    fn cursor_stays_in_view() {
        let mut input = LineEditor::new("한국어 검색");
        assert_eq!(input.visible_part(20), ("한국어 검색", 11));
        assert_eq!(input.visible_part(6), (" 검색", 5));
        input.move_to_start();
        assert_eq!(input.visible_part(6), ("한국어", 0));
        assert_eq!(input.visible_part(0), ("", 0));
    }
}
