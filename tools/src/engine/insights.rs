//! Lists preferences, conventions and patterns with their standing and the texts that they come from.

use std::cmp::Reverse;

use schema::log::LONG_TERM_FILE;
use schema::model::memory::MemoryType;
use schema::model::state_note::Standing;
use schema::store::{MemoryFilter, MemoryRow, SharingFilter};
use schema::tool::Evidence;

use super::Engine;
use super::get::evidence_of;
use crate::error::ToolError;

/// The types of insights, in the order of their list.
const INSIGHTS: [MemoryType; 3] = [MemoryType::Preference, MemoryType::Convention, MemoryType::Pattern];

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
        let found = self.standing_memories(&INSIGHTS)?;
        let mut locator = self.locator();
        let rows = self.store.rows();
        let with_evidence =
            |insight: Insight| Ok(Insight { evidence: evidence_of(rows, &mut locator, &insight.row)?, ..insight });
        found.into_iter().map(with_evidence).collect()
    }

    /// Conclusions of the core that are not in long-term memory.
    pub fn promotable(&mut self) -> Result<Vec<Insight>, ToolError> {
        let kinds: Vec<MemoryType> = MemoryType::ALL.into_iter().filter(|kind| kind.may_be_confirmed()).collect();
        let mut found = self.standing_memories(&kinds)?;
        found.retain(|insight| insight.standing == Standing::Core && insight.row.path != LONG_TERM_FILE);
        Ok(found)
    }

    fn standing_memories(&mut self, kinds: &[MemoryType]) -> Result<Vec<Insight>, ToolError> {
        self.read_rows(|rows| {
            let mut found = Vec::new();
            for kind in kinds {
                let filter = MemoryFilter { kind: Some(*kind), sharing: SharingFilter::Own, ..MemoryFilter::default() };
                let mut of_kind = Vec::new();
                for row in rows.list(&filter, usize::MAX)?.into_iter().filter(|row| row.superseded_by.is_none()) {
                    of_kind.push(Insight { standing: rows.standing(&row)?, row, evidence: None });
                }
                // A stable sort keeps the newest first.
                of_kind.sort_by_key(|insight| Reverse(insight.standing));
                found.extend(of_kind);
            }
            Ok(found)
        })
    }
}
