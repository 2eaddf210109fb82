//! Text for a terminal, measured by its displayed width and sanitized.

pub(crate) use schema::privacy::output_text::clean_line as one_line;

use schema::privacy::output_text::clean_text;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Marks cut text.
const CUT: char = '…';

/// Columns of a tab.
const TAB: &str = "    ";

/// Sanitizes text of others: it cannot move the cursor, change colours or turn the writing direction.
pub(crate) fn clean_for_terminal(text: &str) -> String {
    clean_text(text).into_owned()
}

/// Sanitizes a text before printing. Only escape sequences for colours and weights remain.
pub(crate) fn printable_text(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut clean = clean_for_terminal(parts.next().unwrap_or_default());
    for part in parts {
        let styled = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        let styled = styled.filter(|(codes, _)| codes.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'));
        match styled {
            Some((codes, rest)) => clean.push_str(&format!("\u{1b}[{codes}m{}", clean_for_terminal(rest))),
            None => clean.push_str(&clean_for_terminal(part)),
        }
    }
    clean
}

/// A text without colours and weights.
pub(crate) fn without_styles(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// The displayed width of one line.
pub(crate) fn display_width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to a width.
pub(crate) fn fit_columns(text: &str, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let mut kept = split_at_columns(text, room).0.trim_end().to_owned();
    kept.push(CUT);
    kept
}

/// Cuts or fills a text to a width.
pub(crate) fn pad_columns(text: &str, columns: usize) -> String {
    let mut text = fit_columns(text, columns);
    text.push_str(&" ".repeat(columns.saturating_sub(display_width(&text))));
    text
}

/// Wraps a text, between words if possible.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(2);
    text.lines().flat_map(|line| wrap_line(&line.replace('\t', TAB), columns)).collect()
}

/// Wraps a text to at most `limit` lines. The last one ends with an ellipsis if the text is cut.
pub(crate) fn wrap_lines(text: &str, columns: usize, limit: usize) -> Vec<String> {
    let mut lines = wrap(text, columns);
    if lines.len() > limit {
        lines.truncate(limit);
        lines.iter_mut().skip(limit - 1).for_each(|last| *last = fit_columns(&format!("{last} {CUT}"), columns));
    }
    lines
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for mut piece in line.split_inclusive(' ') {
        if display_width(&current) + display_width(piece.trim_end()) > columns && !current.trim_end().is_empty() {
            lines.push(std::mem::take(&mut current).trim_end().to_owned());
        }
        while display_width(&current) + display_width(piece.trim_end()) > columns {
            let (head, rest) = split_at_columns(piece, columns - display_width(&current).min(columns - 2));
            current.push_str(head);
            lines.push(std::mem::take(&mut current));
            piece = rest;
        }
        current.push_str(piece);
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// Splits a text at a width. The first part has at least one grapheme.
fn split_at_columns(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += display_width(grapheme);
        if used > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

/// `1 file`, `3 files`.
pub(crate) fn count_with_unit(count: u64, one: &str) -> String {
    format!("{} {one}{}", group_thousands(count), if count == 1 { "" } else { "s" })
}

/// `1 memory`, `3 memories`.
pub(crate) fn count_of_memories(count: u64) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{} memories", group_thousands(count)) }
}

/// A number with thousands separators.
pub(crate) fn group_thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// Bytes in the largest unit that gives at least 1.
pub(crate) fn format_bytes(bytes: u64) -> String {
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

pub(crate) fn format_duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// The age of a moment in a few letters: `now`, `5min`, `3h`, `2d`, `3w`, `4mo`, `2y`.
pub(crate) fn format_age(at: i64, now: i64) -> String {
    const UNITS: [(i64, i64, &str); 6] = [
        (60, 3_600, "min"),
        (3_600, 86_400, "h"),
        (86_400, 14 * 86_400, "d"),
        (7 * 86_400, 61 * 86_400, "w"),
        (2_629_746, 2 * 31_556_952, "mo"),
        (31_556_952, i64::MAX, "y"),
    ];
    let seconds = now.saturating_sub(at);
    let unit = UNITS.into_iter().find(|(_, end, _)| seconds < *end).filter(|_| seconds >= 60);
    unit.map_or_else(|| "now".to_owned(), |(length, _, name)| format!("{}{name}", seconds / length))
}

/// Fails if a line is wider than the terminal.
#[cfg(test)]
pub(crate) fn assert_fits(text: &str, columns: usize) {
    for line in text.lines() {
        assert!(display_width(line) <= columns, "{} in {columns}: {line}", display_width(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_removed() {
        let evil = "a\u{1b}[31mred\u{7}\u{9b}2J\u{202e}txt\u{2066}\n\tb\u{1b}]0;x\u{1b}[2J";
        assert_eq!(clean_for_terminal(evil), "a[31mred2Jtxt\n\tb]0;x[2J");
        assert_eq!(printable_text(evil), "a\u{1b}[31mred2Jtxt\n\tb]0;x[2J");
    }

    #[test]
    fn text_is_cut_and_filled_by_displayed_width() {
        for (text, columns, expected) in [
            ("redis", 5, "redis"),
            ("redis", 4, "red…"),
            ("왜 Redis를", 6, "왜 Re…"),
            ("한국어", 4, "한…"),
            ("👩‍💻👩‍💻", 3, "👩‍💻…"),
            ("한국어", 0, ""),
        ] {
            assert_eq!(fit_columns(text, columns), expected, "{text} in {columns}");
            assert_eq!(display_width(&pad_columns(text, columns)), columns, "{text} in {columns}");
        }
    }

    #[test]
    fn lines_wrap_between_words_and_in_long_words() {
        assert_eq!(wrap("keep it simple and small", 10), ["keep it", "simple and", "small"]);
        assert_eq!(wrap("결제 웹훅이 두 번", 9), ["결제", "웹훅이 두", "번"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("한국어한국어", 5), ["한국", "어한", "국어"]);
        assert_eq!(wrap("a\n\nb", 10), ["a", "", "b"]);
        assert_eq!(wrap("  - indented item", 12), ["  - indented", "item"]);
    }

    #[test]
    fn age_is_a_number_and_a_unit() {
        const DAY: i64 = 86_400;
        let ages =
            [0, 59, 60, 3_599, 3_600, DAY - 1, DAY, 13 * DAY, 14 * DAY, 60 * DAY, 61 * DAY, 700 * DAY, 900 * DAY];
        let expected = ["now", "now", "1min", "59min", "1h", "23h", "1d", "13d", "2w", "8w", "2mo", "22mo", "2y"];
        assert_eq!(ages.map(|age| format_age(1_000_000_000 - age, 1_000_000_000)), expected);
        assert_eq!(format_age(1_000, 0), "now", "a clock that is ahead");
    }

    #[test]
    fn numbers_are_formatted_for_people() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(group_thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([12, 999_999, 1_234_567].map(format_bytes), ["12 B", "1.0 MB", "1.2 MB"]);
        assert_eq!([5, 65, 3_700, 90_000].map(format_duration), ["5 s", "1 min", "1 h 01 min", "1 d 1 h"]);
        assert_eq!([count_with_unit(1, "file"), count_with_unit(2, "file")], ["1 file", "2 files"]);
        assert_eq!(
            [count_of_memories(0), count_of_memories(1), count_of_memories(1_000)],
            ["0 memories", "1 memory", "1,000 memories"]
        );
    }
}
