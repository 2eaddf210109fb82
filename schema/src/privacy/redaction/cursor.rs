//! A place in a text that only moves forward, for the rules that read more than a pattern can say.

/// A text and the byte offset that reading has come to, always at the boundary of a character.
#[derive(Clone)]
pub(super) struct TextCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TextCursor<'t> {
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

    /// The last line of a text, as far as it is near its end: names are many, and a line may be the whole text.
    pub(super) fn last_line(text: &'t str) -> &'t str {
        let near = &text[text.ceil_char_boundary(text.len().saturating_sub(LAST_LINE_WINDOW))..];
        near.rsplit('\n').next().unwrap_or_default()
    }

    /// The first line of a text, with the same limit.
    pub(super) fn first_line(text: &'t str) -> &'t str {
        text[..text.floor_char_boundary(FIRST_LINE_WINDOW)].split('\n').next().unwrap_or_default()
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
        self.take(MAX_BLANKS, |character| matches!(character, ' ' | '\t')).len()
    }
}

/// Enough for values that are aligned in a column.
const MAX_BLANKS: usize = 24;

const LAST_LINE_WINDOW: usize = 256;
const FIRST_LINE_WINDOW: usize = 4 * 1024;

/// Whether a character is one of Korean, Japanese or Chinese, in which a sentence goes on behind a value without a blank.
pub(super) fn is_cjk(character: char) -> bool {
    matches!(character, '가'..='힣' | 'ㄱ'..='ㆎ' | 'ぁ'..='ヿ' | '一'..='鿿' | '，' | '）')
}
