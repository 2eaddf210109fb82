//! Text on a terminal: as wide as it is shown, and harmless whoever wrote it.

pub(crate) use schema::sanitize::sanitize_line as one_line;

use schema::sanitize::sanitize;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// What stands where something was left out.
const CUT: char = '…';

/// Columns of a tab.
const TAB: &str = "    ";

/// Text of others for a terminal: nothing in it moves the cursor, changes colours or turns the direction of writing.
pub(crate) fn harmless(text: &str) -> String {
    sanitize(text).into_owned()
}

/// A text that is about to be printed, whoever made its parts. Of escape sequences only colours and weights pass.
pub(crate) fn printable(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut clean = harmless(parts.next().unwrap_or_default());
    for part in parts {
        let styled = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let styled = styled.filter(|(codes, _)| codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
        match styled {
            Some((codes, rest)) => clean.push_str(&format!("\u{1b}[{codes}m{}", harmless(rest))),
            None => clean.push_str(&harmless(part)),
        }
    }
    clean
}

/// Columns that a text without line ends takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of a text as so many columns hold, with a mark where something is left out.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut kept = beginning(text, room).0.trim_end().to_owned();
    kept.push(CUT);
    kept
}

/// The same, filled up with spaces.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let mut text = fit(text, columns);
    text.push_str(&" ".repeat(columns.saturating_sub(width(&text))));
    text
}

/// A text in lines of at most so many columns, broken between words where there are any.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.lines().flat_map(|line| wrapped_line(&line.replace('\t', TAB), columns)).collect()
}

fn wrapped_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for piece in line.split_inclusive(' ') {
        let mut piece = piece;
        if width(&current) + width(piece.trim_end()) > columns && !current.trim_end().is_empty() {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
        }
        while width(&current) + width(piece.trim_end()) > columns {
            let (head, rest) = beginning(piece, columns - width(&current).min(columns - 2));
            current.push_str(head);
            lines.push(std::mem::take(&mut current));
            piece = rest;
        }
        current.push_str(piece);
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// The beginning of a text that so many columns hold, at least one character, and the rest.
fn beginning(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += width(grapheme);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// `1 file`, `3 files`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// `1 memory`, `3 memories`.
pub(crate) fn memories(count: u64) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{} memories", grouped(count)) }
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// Bytes in the largest unit that leaves a number before the point.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while amount >= 999.95 && unit + 1 < UNITS.len() {
        amount /= 1_000.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// Seconds as people say them.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_gets_no_orders() {
        let evil = "a\u{1b}[31mred\u{7}\u{9b}2J\u{202e}txt\u{2066}\n\tb\u{1b}]0;x\u{1b}[2J";
        assert_eq!(harmless(evil), "a[31mred2Jtxt\n\tb]0;x[2J");
        assert_eq!(printable(evil), "a\u{1b}[31mred2Jtxt\n\tb]0;x[2J");
    }

    #[test]
    fn text_is_cut_and_filled_by_the_columns_it_takes() {
        for (text, columns, expected) in [
            ("redis", 5, "redis"),
            ("redis", 4, "red…"),
            ("왜 Redis를", 6, "왜 Re…"),
            ("한국어", 4, "한…"),
            ("👩‍💻👩‍💻", 3, "👩‍💻…"),
            ("한국어", 0, ""),
        ] {
            assert_eq!(fit(text, columns), expected, "{text} in {columns}");
            assert_eq!(width(&padded(text, columns)), columns, "{text} in {columns}");
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_within_long_ones() {
        assert_eq!(wrapped("keep it simple and small", 10), ["keep it", "simple and", "small"]);
        assert_eq!(wrapped("결제 웹훅이 두 번", 9), ["결제", "웹훅이 두", "번"]);
        assert_eq!(wrapped("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrapped("한국어한국어", 5), ["한국", "어한", "국어"]);
        assert_eq!(wrapped("a\n\nb", 10), ["a", "", "b"]);
        assert_eq!(wrapped("  - indented item", 12), ["  - indented", "item"]);
    }

    #[test]
    fn amounts_are_told_as_people_say_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([12, 999_999, 1_234_567].map(bytes), ["12 B", "1.0 MB", "1.2 MB"]);
        assert_eq!([5, 65, 3_700, 90_000].map(duration), ["5 s", "1 min", "1 h 01 min", "1 d 1 h"]);
        assert_eq!([counted(1, "file"), counted(2, "file")], ["1 file", "2 files"]);
        assert_eq!([memories(0), memories(1), memories(1_000)], ["0 memories", "1 memory", "1,000 memories"]);
    }
}
