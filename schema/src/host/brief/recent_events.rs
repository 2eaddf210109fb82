//! The newest prompts, answers and tool uses, and what they say about earlier decisions.

use std::collections::HashSet;
use std::iter;

use super::abandoned::{AbandonedTurns, answer_to, prompt_of};
use super::revised::revised_choices;
use crate::model::memory::MemoryType;
use crate::prose::supersession::{
    Statement, TurnEdits, TurnStatement, changes_of_edits, left_for_another, names_of_removed_files, reversals,
};
use crate::store::{MemoryFilter, MemoryRow, Rows, SharingFilter};

/// How many of the newest memories of a type are read.
pub(super) const READ_OF_TYPE: usize = 60;

/// How much of a prompt or an answer is searched for a reversal, in bytes.
const SEARCHED_BYTES: usize = 2 * 1024;

/// The newest events of these types, newest first.
pub(super) struct RecentEvents {
    prompts: Vec<MemoryRow>,
    answers: Vec<MemoryRow>,
    tool_uses: Vec<MemoryRow>,
}

impl RecentEvents {
    pub(super) fn read(rows: Rows<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            prompts: newest(rows, MemoryType::UserPrompt)?,
            answers: newest(rows, MemoryType::AssistantResponse)?,
            tool_uses: newest(rows, MemoryType::ToolUsage)?,
        })
    }

    /// Returns what prompts, answers, edits and removed files give up or change, with the time of each.
    pub(super) fn changes(&self) -> Vec<((i64, i64), Statement)> {
        let said = self.prompts.iter().chain(&self.answers);
        let mut changes: Vec<_> =
            said.flat_map(|row| reversals_in(row).into_iter().map(|newer| (row.order(), newer))).collect();
        let changing: HashSet<(i64, i64)> = changes.iter().map(|(order, _)| *order).collect();
        for row in &self.tool_uses {
            let asked = prompt_of(row, &self.prompts, &self.answers);
            if let Some(asked) = asked.filter(|asked| changing.contains(&asked.order())) {
                let edited = changes_of_edits(&row.memory.content, &asked.memory.content);
                changes.extend(edited.into_iter().map(|newer| (asked.order(), newer)));
            }
            if let Some(asked) = asked {
                let restated = TurnEdits::of(&row.memory.content).restated(&asked.memory.content);
                changes.extend(restated.into_iter().map(|newer| (asked.order(), newer)));
            }
            // The answer to the same prompt may name what was removed.
            let order = asked.map_or(row.order(), MemoryRow::order);
            changes.extend(names_of_removed_files(&row.memory.content).map(|newer| (order, newer)));
        }
        changes
    }

    /// Returns what later edits overwrite of earlier turns.
    pub(super) fn overwritten(&self) -> Vec<TurnStatement> {
        let turns: Vec<(Option<&MemoryRow>, &MemoryRow, TurnEdits<'_>)> = self
            .tool_uses
            .iter()
            .map(|row| (prompt_of(row, &self.prompts, &self.answers), row, TurnEdits::of(&row.memory.content)))
            .collect();
        let mut found = Vec::new();
        for (at, (newer_asked, tool_use, edits)) in turns.iter().enumerate() {
            // A prompt such as "go" is not stored.
            let began = newer_asked.unwrap_or(tool_use).order();
            for (asked, _, overwritten) in &turns[at + 1..] {
                let Some(asked) = asked.filter(|asked| asked.order() < began) else { continue };
                // Found only if it is needed.
                let answer = iter::once_with(|| answer_to(asked, &self.prompts, &self.answers)).flatten();
                let said = iter::once(asked).chain(answer).map(|row| row.memory.content.as_str());
                if let Some(newer) = edits.overwrites(overwritten, said) {
                    let end = self.prompt_after(asked).map_or(began, MemoryRow::order);
                    found.push((asked.order()..end, newer));
                }
            }
        }
        found
    }

    /// Returns the next prompt of a session.
    fn prompt_after(&self, asked: &MemoryRow) -> Option<&MemoryRow> {
        let is_next =
            |row: &&MemoryRow| row.memory.session_id == asked.memory.session_id && row.order() > asked.order();
        self.prompts.iter().rev().find(is_next)
    }

    /// Returns the turns that no longer hold.
    pub(super) fn abandoned_turns(&self) -> AbandonedTurns {
        let mut abandoned = AbandonedTurns::find(&self.tool_uses, &self.prompts, &self.answers);
        for choice in revised_choices(&self.prompts, &self.answers) {
            choice.turns.iter().for_each(|row| abandoned.insert(row));
            abandoned.keep(choice.besides);
        }
        abandoned
    }
}

/// The user's own memories of a type.
pub(super) fn own(kind: MemoryType) -> MemoryFilter {
    MemoryFilter { kind: Some(kind), sharing: SharingFilter::Own, ..MemoryFilter::default() }
}

/// Returns the newest of the user's own memories of a type, newest first.
pub(super) fn newest(rows: Rows<'_>, kind: MemoryType) -> rusqlite::Result<Vec<MemoryRow>> {
    rows.list(&own(kind), READ_OF_TYPE)
}

/// Returns what the beginning of a prompt or an answer gives up or changes.
fn reversals_in(row: &MemoryRow) -> Vec<Statement> {
    let text = &row.memory.content[..row.memory.content.floor_char_boundary(SEARCHED_BYTES)];
    let left = (row.memory.kind == MemoryType::UserPrompt).then(|| left_for_another(text)).flatten();
    reversals(text).into_iter().chain(left).collect()
}
