//! Lists preferences, conventions and patterns with their standing and the texts that they come from.

use std::cmp::Reverse;

use schema::intake::capture::may_be_confirmed;
use schema::log::LONG_TERM_FILE;
use schema::model::memory::MemoryType;
use schema::model::standing::Standing;
use schema::store::{Locator, MemoryFilter, MemoryRow, Rows};
use schema::tool::Evidence;

use super::Engine;
use super::file_access::display_path;
use crate::error::ToolError;

/// The types of insights, in the order of their list.
const INSIGHTS: [MemoryType; 3] = [MemoryType::Preference, MemoryType::Convention, MemoryType::Pattern];

/// Bytes of the evidence before and after the conclusion.
const AROUND: usize = 160;

/// Characters of a conclusion that find it in its evidence. The rest may be joined from several sentences.
const BEGINNING: usize = 24;

/// A memory that holds, with its standing and the text that it was taken from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Insight {
    pub row: MemoryRow,
    pub standing: Standing,
    pub evidence: Option<Evidence>,
}

impl Engine {
    /// Preferences, conventions and patterns, those of the highest standing first.
    pub fn insights(&mut self) -> Result<Vec<Insight>, ToolError> {
        let found = self.standing_memories(&INSIGHTS, |_, _| true)?;
        let mut locator = self.locator();
        let rows = self.store.rows();
        let with_evidence = found
            .into_iter()
            .map(|insight| Ok(Insight { evidence: evidence_of(rows, &mut locator, &insight.row)?, ..insight }));
        with_evidence.collect()
    }

    /// Conclusions of the core that are not in long-term memory.
    pub fn promotable(&mut self) -> Result<Vec<Insight>, ToolError> {
        let kinds: Vec<MemoryType> = MemoryType::ALL.into_iter().filter(|kind| may_be_confirmed(*kind)).collect();
        self.standing_memories(&kinds, |row, standing| standing == Standing::Core && row.path != LONG_TERM_FILE)
    }

    fn standing_memories(
        &mut self,
        kinds: &[MemoryType],
        is_wanted: impl Fn(&MemoryRow, Standing) -> bool,
    ) -> Result<Vec<Insight>, ToolError> {
        self.with_repair(|engine| {
            let rows = engine.store.rows();
            let mut found = Vec::new();
            for kind in kinds {
                let filter = MemoryFilter { kind: Some(*kind), ..MemoryFilter::default() };
                let mut of_kind = Vec::new();
                for row in rows.list(&filter, usize::MAX >> 1)?.into_iter().filter(|row| row.superseded_by.is_none()) {
                    let standing = rows.standing(&row)?;
                    if is_wanted(&row, standing) {
                        of_kind.push(Insight { row, standing, evidence: None });
                    }
                }
                // A stable sort keeps the newest first.
                of_kind.sort_by_key(|insight| Reverse(insight.standing));
                found.extend(of_kind);
            }
            Ok(found)
        })
    }
}

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
