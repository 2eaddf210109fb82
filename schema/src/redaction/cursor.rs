//! A place in a text that only moves forward, for the rules that read more than a pattern can say.

/// A text and the byte offset that reading has come to, always at the boundary of a character.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves past a prefix and tells whether it was there.
    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Moves past an ASCII prefix in any case and tells whether it was there.
    pub(super) fn eat_ignoring_case(&mut self, prefix: &str) -> bool {
        let bytes = self.rest().as_bytes();
        let found = bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()));
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Takes at most `limit` bytes of characters that belong.
    pub(super) fn take(&mut self, limit: usize, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(index, character)| *index >= limit || !belongs(*character))
            .map_or(rest.len(), |(index, _)| index);
        self.at += end;
        &rest[..end]
    }

    /// Moves past a few spaces and tabs, but not past the line; answers how many.
    pub(super) fn skip_blanks(&mut self) -> usize {
        self.take(MOST_BLANKS, |character| matches!(character, ' ' | '\t')).len()
    }
}

/// Enough for values that are aligned in a column.
const MOST_BLANKS: usize = 24;
