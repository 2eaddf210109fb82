//! The newest prompts, answers and tool uses, and what they say about earlier decisions.

use std::collections::HashSet;
use std::iter;

use crate::model::memory::MemoryType;
use crate::model::tool_usage::joined;
use crate::prose::supersession::{
    Statement, TurnEdits, TurnStatement, changes_of_edits, corrected, done_once, left_for_another,
    names_of_removed_files, number_left, number_left_for, reversals,
};
use crate::store::{MemoryFilter, MemoryRow, Rows, SharingFilter};

/// How many of the newest memories of a type are read.
pub(super) const READ_OF_TYPE: usize = 60;

/// How many of the newest tool uses are read if failures divided those of a turn.
const READ_TOOL_USES: usize = 3 * READ_OF_TYPE;

/// How much of a prompt or an answer is searched for a reversal, in bytes.
const SEARCHED_BYTES: usize = 2 * 1024;

/// The newest events of these types, newest first.
pub(super) struct RecentEvents {
    pub(super) prompts: Vec<MemoryRow>,
    pub(super) answers: Vec<MemoryRow>,
    pub(super) tool_uses: Vec<MemoryRow>,
}

impl RecentEvents {
    pub(super) fn read(rows: Rows<'_>) -> rusqlite::Result<Self> {
        let (prompts, mut answers) =
            (newest(rows, MemoryType::UserPrompt)?, newest(rows, MemoryType::AssistantResponse)?);
        // The turn may go on after an unfinished text.
        answers.retain(|row| !row.memory.is_unfinished());
        let parts = newest(rows, MemoryType::ToolUsage)?;
        let read = parts.len();
        let mut tool_uses = joined_by_turn(parts, &prompts, &answers);
        if tool_uses.len() < read {
            let parts = rows.list(&own(MemoryType::ToolUsage), READ_TOOL_USES)?;
            tool_uses = joined_by_turn(parts, &prompts, &answers);
            tool_uses.truncate(READ_OF_TYPE);
        }
        Ok(Self { prompts, answers, tool_uses })
    }

    /// Returns what prompts, answers, edits and removed files give up or change, with the time of each.
    pub(super) fn changes(&self) -> Vec<((i64, i64), Statement)> {
        let said = self.prompts.iter().chain(&self.answers);
        let mut changes: Vec<_> =
            said.flat_map(|row| reversals_in(row).into_iter().map(|newer| (row.order(), newer))).collect();
        let changing: HashSet<(i64, i64)> = changes.iter().map(|(order, _)| *order).collect();
        for row in &self.tool_uses {
            let edits = &row.memory.content;
            let asked = self.prompt_of(row);
            // The answer to the same prompt may name what was removed.
            let order = asked.map_or(row.order(), MemoryRow::order);
            if let Some(asked) = asked.map(|asked| &asked.memory.content) {
                let edited = changing.contains(&order).then(|| changes_of_edits(edits, asked));
                let found = edited.into_iter().flatten().chain(TurnEdits::of(edits).restated(asked));
                changes.extend(found.map(|newer| (order, newer)));
            }
            changes.extend(names_of_removed_files(edits).map(|newer| (order, newer)));
        }
        changes
    }

    /// Returns what later edits overwrite of earlier turns.
    pub(super) fn overwritten(&self) -> Vec<TurnStatement> {
        let turns: Vec<(Option<&MemoryRow>, &MemoryRow, TurnEdits<'_>)> = self
            .tool_uses
            .iter()
            .map(|row| (self.beginning_of(row), row, TurnEdits::of(&row.memory.content)))
            .collect();
        let mut found = Vec::new();
        for (at, (newer_began, tool_use, edits)) in turns.iter().enumerate() {
            let began = newer_began.unwrap_or(tool_use).order();
            if let Some(asked) = self.prompts.iter().find(|prompt| is_earlier_in_session(prompt, tool_use))
                && let Some(newer) = edits.changes_described(searched(asked))
            {
                let (time, seq) = asked.order();
                found.push(((time, seq)..(time, seq + 1), newer));
            }
            for (beginning, _, overwritten) in &turns[at + 1..] {
                let Some(beginning) = beginning.filter(|beginning| beginning.order() < began) else { continue };
                // Found only if it is needed.
                let answer = iter::once_with(|| self.answer_to(beginning)).flatten();
                let said = iter::once(beginning).chain(answer).map(|row| row.memory.content.as_str());
                if let Some(newer) = edits.overwrites(overwritten, said) {
                    let end = self.prompt_after(beginning).map_or(began, MemoryRow::order);
                    found.push((beginning.order()..end, newer));
                }
            }
        }
        found
    }

    /// Returns the prompt that caused a tool use, or the answer that proposed it: a prompt such as "go" is not stored.
    fn beginning_of(&self, tool_use: &MemoryRow) -> Option<&MemoryRow> {
        self.prompt_of(tool_use).or_else(|| self.answers.iter().find(|answer| is_earlier_in_session(answer, tool_use)))
    }

    /// Returns the prompt of the turn that a memory belongs to, if no answer is between them.
    pub(super) fn prompt_of(&self, row: &MemoryRow) -> Option<&MemoryRow> {
        let is_before = |said: &&MemoryRow| is_earlier_in_session(said, row);
        let answered = self.answers.iter().find(is_before).map(MemoryRow::order);
        self.prompts.iter().find(is_before).filter(|asked| answered.is_none_or(|order| order < asked.order()))
    }

    /// Returns the answer to a prompt, or after a tool use, if no other prompt is between them.
    pub(super) fn answer_to(&self, asked: &MemoryRow) -> Option<&MemoryRow> {
        let next_asked = self.prompt_after(asked).map(MemoryRow::order);
        let answer = self.answers.iter().rev().find(|answer| is_earlier_in_session(asked, answer));
        answer.filter(|answer| next_asked.is_none_or(|next| answer.order() < next))
    }

    /// Returns the next prompt of a session.
    fn prompt_after(&self, asked: &MemoryRow) -> Option<&MemoryRow> {
        self.prompts.iter().rev().find(|prompt| is_earlier_in_session(asked, prompt))
    }

    /// Returns what prompts correct or leave of the answer before them, and what they make a matter of once in the answer to them.
    pub(super) fn replied(&self) -> Vec<TurnStatement> {
        let mut found = Vec::new();
        for prompt in &self.prompts {
            let text = searched(prompt);
            if let Some(answer) = self.answers.iter().find(|answer| is_earlier_in_session(answer, prompt)) {
                let left = number_left(text, &answer.memory.content);
                let replies = left.into_iter().chain(corrected(text, &answer.memory.content));
                found.extend(replies.map(|newer| (answer.order()..prompt.order(), newer)));
            }
            if let Some(answer) = self.answer_to(prompt) {
                // Conclusions from the answer have its time.
                let after = (answer.order().0 + 1, 0);
                let given_up = done_once(text, &answer.memory.content);
                found.extend(given_up.into_iter().map(|newer| (answer.order()..after, newer)));
            }
        }
        found
    }

    /// Returns the beginnings of the turns whose edits one later turn rewrote completely.
    pub(super) fn rewritten(&self) -> Vec<&MemoryRow> {
        let turns: Vec<(&MemoryRow, TurnEdits<'_>)> = self
            .tool_uses
            .iter()
            .filter_map(|row| Some((self.beginning_of(row)?, TurnEdits::of(&row.memory.content))))
            .collect();
        let is_rewritten = |at: &usize| {
            let (began, edits) = &turns[*at];
            turns[..*at].iter().any(|(newer, newer_edits)| newer.seq != began.seq && newer_edits.rewrites(edits))
        };
        (0..turns.len()).filter(is_rewritten).map(|at| turns[at].0).collect()
    }
}

/// Joins the entries of each turn that failures divided. All lists are newest first.
fn joined_by_turn(tool_uses: Vec<MemoryRow>, prompts: &[MemoryRow], answers: &[MemoryRow]) -> Vec<MemoryRow> {
    let mut turns: Vec<Vec<MemoryRow>> = Vec::new();
    for row in tool_uses {
        // The next one of its session is in the last turn of that session.
        let of_session = |turn: &&mut Vec<MemoryRow>| turn[0].memory.session_id == row.memory.session_id;
        let is_same_turn = |turn: &&mut Vec<MemoryRow>| {
            let newer = &turn[turn.len() - 1];
            let is_between = |said: &MemoryRow| is_earlier_in_session(&row, said) && is_earlier_in_session(said, newer);
            !prompts.iter().chain(answers).any(is_between)
        };
        match turns.iter_mut().rev().find(of_session).filter(is_same_turn) {
            Some(turn) => turn.push(row),
            None => turns.push(vec![row]),
        }
    }
    let in_one = |mut turn: Vec<MemoryRow>| {
        if turn.len() > 1 {
            let contents: Vec<&str> = turn.iter().rev().map(|row| row.memory.content.as_str()).collect();
            turn[0].memory.content = joined(&contents);
        }
        turn.swap_remove(0)
    };
    turns.into_iter().map(in_one).collect()
}

pub(super) fn is_earlier_in_session(said: &MemoryRow, than: &MemoryRow) -> bool {
    said.memory.session_id == than.memory.session_id && said.order() < than.order()
}

/// The user's own memories of a type.
pub(super) fn own(kind: MemoryType) -> MemoryFilter {
    MemoryFilter { kind: Some(kind), sharing: SharingFilter::Own, ..MemoryFilter::default() }
}

/// Returns the newest of the user's own memories of a type, newest first.
pub(super) fn newest(rows: Rows<'_>, kind: MemoryType) -> rusqlite::Result<Vec<MemoryRow>> {
    rows.list(&own(kind), READ_OF_TYPE)
}

/// Returns the beginning of a prompt or an answer.
fn searched(row: &MemoryRow) -> &str {
    &row.memory.content[..row.memory.content.floor_char_boundary(SEARCHED_BYTES)]
}

/// Returns what the beginning of a prompt or an answer gives up or changes.
fn reversals_in(row: &MemoryRow) -> Vec<Statement> {
    let text = searched(row);
    let mut found = reversals(text);
    if row.memory.kind == MemoryType::UserPrompt {
        found.extend(left_for_another(text));
        found.extend(number_left_for(text));
    }
    found
}
