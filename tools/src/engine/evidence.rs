//! Evidence: the prompt or answer that a conclusion was extracted from, and the words around it.

use schema::store::{Locator, MemoryRow, Rows};
use schema::tool::Evidence;

use super::file_access::display_path;

/// Bytes of the evidence before and after the conclusion.
const AROUND: usize = 160;

/// Characters of a conclusion that find it in its evidence. The rest may be joined from several sentences.
const BEGINNING: usize = 24;

/// Returns the memory that a conclusion was taken from, with the text around it. `None` if it was saved on purpose, or the memory is gone.
pub(super) fn evidence_of(
    rows: Rows<'_>,
    locator: &mut Locator,
    row: &MemoryRow,
) -> rusqlite::Result<Option<Evidence>> {
    let Some(id) = &row.memory.attributes.source else { return Ok(None) };
    let Some(source) = rows.by_id(id)? else { return Ok(None) };
    let (start_line, end_line) = locator.find_lines(&source);
    Ok(Some(Evidence {
        id: source.memory.id.to_string(),
        kind: source.memory.kind,
        path: display_path(&source.path),
        start_line,
        end_line,
        text: excerpt(&source.memory.content, &row.memory.content),
    }))
}

/// The part of a text that has a conclusion, or else its beginning, on one line.
fn excerpt(text: &str, conclusion: &str) -> String {
    let beginning = conclusion.chars().take(BEGINNING).collect::<String>();
    let (from, to) = match text.find(&beginning) {
        Some(at) => (at.saturating_sub(AROUND), at + conclusion.len() + AROUND),
        None => (0, 2 * AROUND),
    };
    let (from, to) = (text.floor_char_boundary(from), text.ceil_char_boundary(to));
    let words = text[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.len() { "…" } else { "" };
    format!("{before}{words}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_has_the_conclusion_and_its_surroundings() {
        let (before, after) = ("전 ".repeat(80), " nach".repeat(60));
        let text = format!("{before}we always use tabs{after}");
        let shown = excerpt(&text, "we always use tabs");
        assert!(
            shown.starts_with("…") && shown.ends_with('…') && shown.contains("전 we always use tabs nach"),
            "{shown}"
        );
        assert_eq!(excerpt("2.", "Cache in Redis"), "2.");
    }
}
