//! The text of a settings file without what editors add to it: a byte order mark and the ends of lines. Edits work on plain lines;
//! what they leave alone keeps every byte that it had.

use similar::{Algorithm, ChangeTag, TextDiff};

const MARK: &str = "\u{feff}";

/// A text as it stands in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text {
    whole: String,
}

/// Why bytes are no text that can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotText {
    Utf16,
    Other { line: usize },
}

impl Text {
    pub(super) fn of(bytes: Vec<u8>) -> Result<Self, NotText> {
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(NotText::Utf16);
        }
        match String::from_utf8(bytes) {
            Ok(whole) => Ok(Self { whole }),
            Err(error) => {
                let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                Err(NotText::Other { line: 1 + good.iter().filter(|byte| **byte == b'\n').count() })
            }
        }
    }

    pub(super) fn whole(&self) -> &str {
        &self.whole
    }

    /// What edits work on: no mark, and lines that end with a line feed.
    pub(super) fn plain(&self) -> String {
        self.body().replace("\r\n", "\n")
    }

    /// The file's text after an edit of its plain text: lines that are still there end as they did, new ones as most do.
    pub(super) fn with_plain(&self, plain: &str) -> String {
        let body = self.body();
        if !body.contains("\r\n") {
            return format!("{}{plain}", self.mark());
        }
        let before = self.plain();
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = plain.split_inclusive('\n').collect();
        let originals: Vec<&str> = body.split_inclusive('\n').collect();
        let with_return = originals.iter().filter(|line| line.ends_with("\r\n")).count();
        let ending = if 2 * with_return >= originals.len() { "\r\n" } else { "\n" };
        let mut text = self.mark().to_owned();
        let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&old, &new);
        for change in diff.iter_all_changes() {
            match (change.tag(), change.old_index(), change.value().strip_suffix('\n')) {
                (ChangeTag::Delete, ..) => {}
                (ChangeTag::Equal, Some(index), _) => text.push_str(originals[index]),
                (_, _, Some(line)) => text.extend([line, ending]),
                (_, _, None) => text.push_str(change.value()),
            }
        }
        text
    }

    fn mark(&self) -> &str {
        if self.whole.starts_with(MARK) { MARK } else { "" }
    }

    fn body(&self) -> &str {
        self.whole.strip_prefix(MARK).unwrap_or(&self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text::of(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn lines_that_stay_end_as_they_did_and_new_ones_as_most_do() {
        let file = text("\u{feff}a\r\nb\nc\r\nd");
        assert_eq!(file.plain(), "a\nb\nc\nd");
        assert_eq!(file.with_plain("a\nb\nnew\nc\nd"), "\u{feff}a\r\nb\nnew\r\nc\r\nd");
        assert_eq!(file.with_plain(&file.plain()), file.whole());
        assert_eq!(text("a\nb\r\nc\n").with_plain("a\nb\nc\nd\n"), "a\nb\r\nc\nd\n");
        assert_eq!(text("").with_plain("a\n"), "a\n");
    }

    #[test]
    fn what_is_no_utf_8_is_told_by_its_line() {
        assert_eq!(Text::of(b"a\nb\xffc".to_vec()), Err(NotText::Other { line: 2 }));
        assert_eq!(Text::of(vec![0xff, 0xfe, b'{', 0]), Err(NotText::Utf16));
    }
}
