//! Escapes any text so that it fits into a list item of Markdown and is read back exactly.
//!
//! A character that would be lost or would break the log becomes a decimal reference, such as `&#13;`. All other characters stay, so that
//! the log is readable.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes a text so that its lines can be indented, trimmed by an editor, and read back exactly.
pub(super) fn escape(text: &str) -> String {
    let body_start = text.len() - text.trim_start_matches('\n').len();
    let body_end = text.trim_end_matches('\n').len();
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let plain = match c {
            '\n' => at >= body_start && at < body_end,
            _ if c == '\t' || c.is_whitespace() && !is_hidden(c) => {
                at > 0 && !matches!(rest.as_bytes().get(c.len_utf8()), None | Some(b'\n'))
            }
            '&' => reference(rest).is_none(),
            '<' => !rest.starts_with("<!--"),
            '>' => !text[..at].ends_with("--"),
            _ => !is_hidden(c),
        };
        if plain {
            out.push(c);
        } else {
            write!(out, "&#{};", u32::from(c)).expect("writing to a string cannot fail");
        }
    }
    out
}

/// Reverses [`escape`].
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains("&#") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("&#") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match reference(rest) {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
            }
            None => {
                out.push_str("&#");
                rest = &rest[2..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Returns the character of the decimal reference at the start of `text`, and the length of the reference in bytes.
fn reference(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("&#")?;
    let length = digits.bytes().take(8).take_while(u8::is_ascii_digit).count();
    if !(1..=7).contains(&length) || digits.as_bytes().get(length) != Some(&b';') {
        return None;
    }
    let c = char::from_u32(digits[..length].parse().ok()?)?;
    Some((c, length + 3))
}

/// Whether people cannot see a character and an editor may drop or obey it: controls, line separators, a byte order mark, and marks that
/// change the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("a < b && c -> d &amp; e", "a < b && c -> d &amp; e")]
    #[case::comment("x <!-- y --> z", "x &#60;!-- y --&#62; z")]
    #[case::looks_escaped("&#13; and &#x;", "&#38;#13; and &#x;")]
    #[case::windows_lines("a\r\nb", "a&#13;\nb")]
    #[case::trailing_space("a \nb\t", "a&#32;\nb&#9;")]
    #[case::outer_newlines("\n\na\n\nb\n", "&#10;&#10;a\n\nb&#10;")]
    #[case::leading_space(" a\n  b", "&#32;a\n  b")]
    #[case::only_newline("\n", "&#10;")]
    #[case::override_mark("a\u{202e}b", "a&#8238;b")]
    fn fragile_characters_are_escaped(#[case] text: &str, #[case] escaped: &str) {
        assert_eq!(escape(text), escaped);
        assert_eq!(unescape(escaped), text);
    }

    proptest! {
        #[test]
        fn any_text_round_trips(text in any::<String>()) {
            prop_assert_eq!(unescape(&escape(&text)).into_owned(), text);
        }

        #[test]
        fn text_of_our_own_marks_round_trips(text in "[-&#0-9;<!> \n\t]{0,24}") {
            prop_assert_eq!(unescape(&escape(&text)).into_owned(), text);
        }
    }
}
