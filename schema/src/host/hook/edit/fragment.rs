//! Recognises texts that may be a part of something secret: a piece of a key file, or of a private part whose tags are elsewhere.

use crate::privacy::private_tags;

/// The shortest line that counts as a line of a key, in bytes. Encoded keys have lines of 64, 70 or 76 characters.
const SHORTEST_KEY_LINE: usize = 40;

/// The most bytes between `BEGIN` or `END` and the word `KEY`.
const LONGEST_LABEL: usize = 40;

/// Whether a text by itself shows that it is a part of something secret.
pub(super) fn is_fragment(text: &str) -> bool {
    let mut is_open = false;
    for begins in key_markers(text) {
        if begins == is_open {
            return true;
        }
        is_open = begins;
    }
    is_open || private_tags::closes_more_than_it_opens(text) || has_key_line_outside_blocks(text)
}

/// Whether a text that is in a file, or was until now, is or may be within something secret there.
pub(super) fn is_hidden_in(file: &str, text: &str) -> bool {
    if key_markers(file).next().is_none() && !private_tags::has_tag(file) {
        return false;
    }
    // Without the place of the text, anything in the file may surround it.
    let Some(at) = file.find(text).filter(|_| !text.trim().is_empty()) else { return true };
    let before = &file[..at];
    key_markers(before).last() == Some(true) || private_tags::ends_in_private(before)
}

/// Returns the markers of private keys in order: `true` for the beginning of a key and `false` for its end.
fn key_markers(text: &str) -> impl Iterator<Item = bool> {
    text.match_indices("---").filter_map(|(at, dashes)| {
        let rest = &text[at + dashes.len()..];
        // Of a row of dashes, only the last three count.
        let rest = (!rest.starts_with("---")).then(|| rest.trim_start_matches(['-', ' ']))?;
        let (begins, label) = match (rest.strip_prefix("BEGIN "), rest.strip_prefix("END ")) {
            (Some(label), _) => (true, label),
            (None, label) => (false, label?),
        };
        label[..label.floor_char_boundary(LONGEST_LABEL)].contains("PRIVATE KEY").then_some(begins)
    })
}

/// Whether a line outside of whole key blocks, which are redacted, can only be a line of a key or a similar encoded text.
fn has_key_line_outside_blocks(text: &str) -> bool {
    let mut is_in_block = false;
    text.lines().any(|line| {
        if let Some(begins) = key_markers(line).last() {
            is_in_block = begins;
            return false;
        }
        !is_in_block && is_key_line(line)
    })
}

fn is_key_line(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '+' | ',' | '>' | '|'));
    let line = line.trim_end_matches("\\n");
    let has = |kind: fn(&u8) -> bool| line.bytes().filter(kind).count() > 1;
    line.len() >= SHORTEST_KEY_LINE
        && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    fn marker(word: &str) -> String {
        format!("-----{word} PRIVATE KEY-----")
    }

    #[test]
    fn pieces_of_a_key_are_fragments() {
        let (begin, end) = (marker("BEGIN RSA"), marker("END RSA"));
        for piece in [
            format!("{begin}\n{LINE}"),
            format!("MzEfYyjiWA4R\n{end}\n"),
            format!("{end}\nx = 1\n{begin}"),
            LINE.to_owned(),
            format!("  \"{LINE}\\n\" +"),
            format!("a: |\n  {LINE}\n  {LINE}"),
        ] {
            assert!(is_fragment(&piece), "{piece}");
        }
        assert!(!is_fragment(&format!("a\n{begin}\n{LINE}\n{end}\nb")), "a whole block is redacted");
    }

    #[rstest]
    #[case::code("let total = compute_everything_that_is_left(of_the_first, and_of_the_second);", false)]
    #[case::checksum("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", false)]
    #[case::path("src/main/java/com/example/memory/store/RowsOfTheStore.java", false)]
    #[case::public_key("-----BEGIN PUBLIC KEY-----\nshort\n", false)]
    #[case::whole_private_part("a <private>b</private> c", false)]
    #[case::beginning_of_a_private_part("a <private>b", false)]
    #[case::end_of_a_private_part("b</private> c", true)]
    fn other_texts_are_no_fragments(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_fragment(text), expected);
    }

    #[test]
    fn text_is_hidden_by_its_place_in_the_file() {
        let (begin, end) = (marker("BEGIN"), marker("END"));
        let file =
            format!("plain\n<private>\ninner\n</private>\nafter\n{begin}\nshort\n{end}\nlast\n<private>\nopen\n");
        for (text, expected) in
            [("plain", false), ("inner", true), ("after", false), ("short", true), ("last", false), ("open", true)]
        {
            assert_eq!(is_hidden_in(&file, text), expected, "{text}");
        }
        assert!(is_hidden_in(&file, "no longer there") && is_hidden_in(&file, ""));
        assert!(!is_hidden_in("plain", "no longer there"));
    }
}
