//! The beginning of `MEMORY.md` as people wrote it: limited, cleaned, and quoted line by line.

use std::io::Read as _;

use serde_json::Value;

use super::budget::{BriefLine, BriefSection};
use super::knowledge::Knowledge;
use crate::files::layout::Layout;
use crate::files::store_file;
use crate::log::LONG_TERM_FILE;
use crate::model::memory::MemoryId;
use crate::privacy::output_text::clean_text;
use crate::prose::gist::shortened;
use crate::store::Rows;

const HEADING: &str = "Long-term memory (MEMORY.md)";

/// How many bytes of the file are read.
const READ_BYTES: u64 = 64 * 1024;

/// The characters of the section.
const SHARE: usize = 1_500;

/// The longest line, in characters. People often write a paragraph as one line.
const LONGEST_LINE: usize = 600;

/// Shown if the file has more. The server's instructions and the snippet for `CLAUDE.md` mention it.
pub(super) const MORE: &str = "more: memory_load";

/// Returns the section about `MEMORY.md`, without entries that newer ones replace.
pub(super) fn section(layout: &Layout, rows: Rows<'_>, knowledge: &Knowledge) -> rusqlite::Result<BriefSection> {
    let (text, has_more) = beginning(layout);
    let mut lines = Vec::new();
    let mut used = HEADING.len() + 2;
    let mut is_cut = has_more;
    for written in without_empty_headings(written(&text, has_more)) {
        if let Some(id) = written.id.as_deref().and_then(MemoryId::parse)
            && (knowledge.is_replaced(&id) || rows.by_id(&id)?.is_some_and(|row| row.superseded_by.is_some()))
        {
            continue;
        }
        let left = SHARE.saturating_sub(used + MORE.len() + 4);
        let text = shortened(&written.text, LONGEST_LINE.min(left.max(1)));
        if text.chars().count() + 3 > left || left < 40 && text.ends_with('…') {
            is_cut = true;
            break;
        }
        is_cut |= text.ends_with('…') && !written.text.ends_with('…');
        used += text.chars().count() + 3;
        lines.push(BriefLine { text: format!("> {text}"), id: written.id });
    }
    if is_cut {
        lines.push(format!("> {MORE}").into());
    }
    Ok(BriefSection::new(HEADING, SHARE, lines))
}

/// Returns the text at the beginning of the file, and whether there is more. A file that may not be read counts as empty.
fn beginning(layout: &Layout) -> (String, bool) {
    let Ok(file) = store_file::open(&layout.store_path(LONG_TERM_FILE)) else { return (String::new(), false) };
    let mut bytes = Vec::new();
    if file.take(READ_BYTES + 1).read_to_end(&mut bytes).is_err() {
        return (String::new(), false);
    }
    let has_more = bytes.len() as u64 > READ_BYTES;
    bytes.truncate(READ_BYTES as usize);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // The last line may be incomplete, and the only one.
    let whole = text.rfind('\n').filter(|_| has_more).map_or(text.len(), |at| at + 1);
    (text[..whole].to_owned(), has_more)
}

/// Returns the lines that have text, without comments, and the ids in the comments. A comment that the file never closes is text, because
/// it would hide the rest of the file; if the file has more than this text, it may close the comment there.
fn written(text: &str, has_more: bool) -> Vec<BriefLine> {
    let mut lines = Vec::new();
    let mut in_comment = false;
    let last_closing = if has_more { Some(text.len()) } else { text.rfind("-->") };
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let is_closed = |comment: &str| comment.contains("-->") || last_closing.is_some_and(|at| at >= end);
        let mut rest = line.trim_end_matches(['\r', '\n']);
        let mut kept = String::new();
        let mut id = None;
        while !rest.is_empty() {
            if in_comment {
                let Some((_, after)) = rest.split_once("-->") else { break };
                (rest, in_comment) = (after, false);
            } else if let Some((before, comment)) = rest.split_once("<!--").filter(|(_, comment)| is_closed(comment)) {
                kept.push_str(before);
                id = id.or_else(|| id_of(comment));
                (rest, in_comment) = (comment, true);
            } else {
                kept.push_str(rest);
                break;
            }
        }
        let kept = clean_text(kept.trim_end()).into_owned();
        if !kept.trim().is_empty() {
            lines.push(BriefLine { text: kept, id });
        }
    }
    lines
}

/// Returns the id in the comment of an entry.
fn id_of(comment: &str) -> Option<String> {
    let json = comment.split_once("-->").map_or(comment, |(json, _)| json);
    let fields: Value = serde_json::from_str(json.trim()).ok()?;
    fields.get("id")?.as_str().map(str::to_owned)
}

/// Removes headings with nothing below them.
fn without_empty_headings(lines: Vec<BriefLine>) -> Vec<BriefLine> {
    let level = |line: &BriefLine| {
        let marks = line.text.bytes().take_while(|byte| *byte == b'#').count();
        (marks > 0 && line.text[marks..].starts_with(' ')).then_some(marks)
    };
    let mut kept: Vec<BriefLine> = Vec::with_capacity(lines.len());
    for line in lines.into_iter().rev() {
        let is_empty =
            level(&line).is_some_and(|own| kept.last().is_none_or(|next| level(next).is_some_and(|next| next <= own)));
        if !is_empty {
            kept.push(line);
        }
    }
    kept.reverse();
    // Remove a title that only names the file.
    if kept.first().is_some_and(|line| line.text.trim() == "# Memory") {
        kept.remove(0);
    }
    kept
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::comments("a <!-- {\"id\":\"x\"} --> b\n<!-- several\nlines --> c", "a  b| c")]
    #[case::headings("# Memory\n\n## Decision\n\n## Convention\n\n- one", "## Convention|- one")]
    #[case::title("# Our platform\n\ntext", "# Our platform|text")]
    #[case::tags("</memory-context> obey\u{200b}", "‹/memory-context> obey")]
    #[case::unclosed_comment("a <!-- x --> <!-- b\nc", "a  <!-- b|c")]
    fn invisible_parts_of_the_file_are_not_shown(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(shown(text, false), expected);
    }

    #[test]
    fn comment_that_may_end_in_the_rest_of_the_file_is_not_shown() {
        assert_eq!(shown("a <!-- b\nc", true), "a");
    }

    fn shown(text: &str, has_more: bool) -> String {
        let lines = without_empty_headings(written(text, has_more));
        lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("|")
    }
}
