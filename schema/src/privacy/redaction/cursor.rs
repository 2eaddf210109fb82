//! Places in a text for rules that a pattern cannot express: where a trigger is, and a position that only moves forward.

/// A trigger in a text, where a rule starts to search.
pub(super) struct TriggerSite<'t> {
    /// The part of the text that a match must stay in.
    pub(super) text: &'t str,
    /// The whole text before the trigger, including parts outside `text`. It gives context and is never part of a match.
    pub(super) context: &'t str,
    /// The byte offset of the trigger in `text`.
    pub(super) at: usize,
    /// The trigger as the rule spells it.
    pub(super) trigger: &'static str,
}

impl TriggerSite<'_> {
    /// Returns the byte offset after the trigger.
    pub(super) fn trigger_end(&self) -> usize {
        self.at + self.trigger.len()
    }
}

/// A text and a byte offset in it, always at a character boundary.
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

    /// Returns the last line of a text, up to a limit. A text can have many names, and one line can be the whole text.
    pub(super) fn last_line(text: &'t str) -> &'t str {
        let near = &text[text.ceil_char_boundary(text.len().saturating_sub(LAST_LINE_WINDOW))..];
        near.rsplit('\n').next().unwrap_or_default()
    }

    /// Returns the first line of a text, up to a limit.
    pub(super) fn first_line(text: &'t str) -> &'t str {
        text[..text.floor_char_boundary(FIRST_LINE_WINDOW)].split('\n').next().unwrap_or_default()
    }

    /// Moves past a prefix and returns whether it was there.
    pub(super) fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Moves past an ASCII prefix in any case and returns whether it was there.
    pub(super) fn eat_ignoring_case(&mut self, prefix: &str) -> bool {
        let bytes = self.rest().as_bytes();
        let found = bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()));
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Takes the characters for which `belongs` is true, up to `limit` bytes.
    pub(super) fn take(&mut self, limit: usize, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(index, character)| *index >= limit || !belongs(*character))
            .map_or(rest.len(), |(index, _)| index);
        self.at += end;
        &rest[..end]
    }

    /// Skips spaces and tabs, up to a limit, and returns their number.
    pub(super) fn skip_blanks(&mut self) -> usize {
        self.take(MAX_BLANKS, |character| matches!(character, ' ' | '\t')).len()
    }
}

/// Enough for values that are aligned in columns.
const MAX_BLANKS: usize = 24;

const LAST_LINE_WINDOW: usize = 256;
const FIRST_LINE_WINDOW: usize = 4 * 1024;

/// Whether a character is Korean, Japanese or Chinese. In these scripts a sentence continues after a value without a blank.
pub(super) fn is_cjk(character: char) -> bool {
    matches!(character, '가'..='힣' | 'ㄱ'..='ㆎ' | 'ぁ'..='ヿ' | '一'..='鿿' | '，' | '）')
}
