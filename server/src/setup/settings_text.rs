//! The text of a settings file without its byte order mark and with normalised line ends. Unedited lines keep their exact bytes.

use crate::diff::differences;

/// Why a text cannot be edited. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditError {
    Syntax { line: usize, column: usize, what: String },
    Shape { line: usize, what: String },
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax { line, column, what } => write!(f, "line {line}, column {column}: {what}"),
            Self::Shape { line, what } => write!(f, "line {line}: {what}"),
        }
    }
}

impl EditError {
    /// A syntax error at byte `at` of a text.
    pub(super) fn syntax_at(text: &str, at: usize, what: String) -> Self {
        let before = &text[..at];
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self::Syntax { line: before.matches('\n').count() + 1, column, what }
    }
}

/// The line feeds that put an empty line between a text and what is appended to it.
pub(super) fn gap_after(text: &str) -> &'static str {
    match text {
        text if text.is_empty() || text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The exact text of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SettingsText {
    whole: String,
}

impl SettingsText {
    /// Reads a text in UTF-8, or says why it cannot be edited.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err("it is UTF-16; save it as UTF-8".to_owned());
        }
        let whole = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            format!("line {}: it is not UTF-8", 1 + good.iter().filter(|byte| **byte == b'\n').count())
        })?;
        Ok(Self { whole })
    }

    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// The text for edits: no byte order mark, and lines end with a line feed.
    pub(super) fn plain(&self) -> String {
        self.body().replace("\r\n", "\n")
    }

    /// The text of the file after an edit of its plain text. Old lines keep their line ends; new lines get the more frequent one.
    pub(super) fn with_plain(&self, plain: &str) -> String {
        let body = self.body();
        if !body.contains("\r\n") {
            return format!("{}{plain}", self.byte_order_mark());
        }
        let before = self.plain();
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = plain.split_inclusive('\n').collect();
        let originals: Vec<&str> = body.split_inclusive('\n').collect();
        let with_return = originals.iter().filter(|line| line.ends_with("\r\n")).count();
        let ending = if 2 * with_return >= originals.len() { "\r\n" } else { "\n" };
        let mut text = self.byte_order_mark().to_owned();
        let mut at = 0;
        for difference in differences(&old, &new) {
            text.extend(originals[at..difference.before.start].iter().copied());
            for line in &new[difference.after] {
                match line.strip_suffix('\n') {
                    Some(line) => text.extend([line, ending]),
                    None => text.push_str(line),
                }
            }
            at = difference.before.end;
        }
        text.extend(originals[at..].iter().copied());
        text
    }

    fn byte_order_mark(&self) -> &str {
        if self.whole.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK } else { "" }
    }

    fn body(&self) -> &str {
        self.whole.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> SettingsText {
        SettingsText::from_bytes(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn old_lines_keep_their_ends_new_ones_follow_most() {
        let file = text("\u{feff}a\r\nb\nc\r\nd");
        assert_eq!(file.plain(), "a\nb\nc\nd");
        assert_eq!(file.with_plain("a\nb\nnew\nc\nd"), "\u{feff}a\r\nb\nnew\r\nc\r\nd");
        assert_eq!(file.with_plain(&file.plain()), file.whole());
        assert_eq!(text("a\nb\r\nc\n").with_plain("a\nb\nc\nd\n"), "a\nb\r\nc\nd\n");
        assert_eq!(text("").with_plain("a\n"), "a\n");
    }

    #[test]
    fn invalid_utf8_is_reported_with_its_line() {
        let error = |bytes: &[u8]| SettingsText::from_bytes(bytes.to_vec()).unwrap_err();
        assert_eq!(error(b"a\nb\xffc"), "line 2: it is not UTF-8");
        assert_eq!(error(&[0xff, 0xfe, b'{', 0]), "it is UTF-16; save it as UTF-8");
    }
}
