//! A preview of memories before they are deleted.

use std::collections::{BTreeMap, BTreeSet};

use schema::model::memory::{MemoryType, short_id};
use schema::store::MemoryRow;
use serde::Serialize;

use super::list::ListedMemory;
use super::output::Printer;
use super::pager::{self, NARROW, PIPED_REPORT_COLUMNS};
use super::terminal_text::{display_width, fit_columns};

/// Maximum number of listed memories.
const MAX_NAMED: usize = 20;

/// The result of a deletion or of its dry run, for JSON.
#[derive(Debug, Default, Serialize)]
pub(crate) struct DeletionReport {
    pub(crate) memories: usize,
    pub(crate) types: BTreeMap<MemoryType, usize>,
    pub(crate) ids: Vec<String>,
    /// Those of `ids` that are conclusions drawn from the other ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) conclusions: BTreeSet<String>,
    pub(crate) dry_run: bool,
    /// The selection is everything, which needs `--all`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) needs_all: bool,
    /// Old databases that were deleted, or would be.
    pub(crate) old_databases: Vec<String>,
    /// Files that may still contain copies.
    pub(crate) left: Vec<String>,
}

impl DeletionReport {
    pub(crate) fn from_rows(rows: &[MemoryRow]) -> Self {
        let mut types = BTreeMap::new();
        rows.iter().for_each(|row| *types.entry(row.memory.kind).or_default() += 1);
        let ids = rows.iter().map(|row| row.memory.id.to_string()).collect();
        Self { memories: rows.len(), types, ids, ..Self::default() }
    }

    /// Counts and names the conclusions that are deleted with their source.
    pub(crate) fn conclusions_text(&self) -> Option<String> {
        let count = self.conclusions.len();
        let ids: Vec<&str> = self.conclusions.iter().take(MAX_NAMED).map(|id| short_id(id)).collect();
        let more = if count > MAX_NAMED { ", …" } else { "" };
        let nouns = if count == 1 { "conclusion" } else { "conclusions" };
        (count > 0).then(|| format!("Including {count} {nouns} drawn from the others: {}{more}", ids.join(", ")))
    }

    pub(crate) fn print(&self, printer: &Printer) -> anyhow::Result<()> {
        printer.print_value(self, || {
            format!("Deleted {}.\n", memory_count_text(self.memories)) + &copies_text(&self.old_databases, &self.left)
        })
    }
}

/// Lines about files that contained copies of what was deleted.
pub(super) fn copies_text(old_databases: &[String], left: &[String]) -> String {
    let mut text = String::new();
    if !old_databases.is_empty() {
        text.push_str(&format!("Old databases deleted too: {}\n", old_databases.join(", ")));
    }
    text.extend(left.iter().map(|left| format!("May still contain a copy: {left}\n")));
    text
}

pub(crate) fn memory_count_text(count: usize) -> String {
    match count {
        0 => "no memory".to_owned(),
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    }
}

/// Lists the newest memories, and the number of each type.
pub(crate) fn print_preview(printer: &Printer, rows: &[MemoryRow]) -> anyhow::Result<()> {
    let columns = pager::terminal_columns().unwrap_or(PIPED_REPORT_COLUMNS);
    for row in rows.iter().rev().take(MAX_NAMED) {
        printer.print_line(&memory_line(&ListedMemory::from_row(row), columns))?;
    }
    if rows.len() > MAX_NAMED {
        printer.print_line(&format!("… and {} older", rows.len() - MAX_NAMED))?;
    }
    let types = DeletionReport::from_rows(rows).types;
    let types: Vec<String> = types.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    printer.print_wrapped(&types.join(", "))
}

/// A memory on one line, or on two on a narrow terminal.
fn memory_line(memory: &ListedMemory, columns: usize) -> String {
    let (id, kind) = (short_id(&memory.id), memory.kind.as_str());
    let at = memory.date.get(..16).unwrap_or(&memory.date);
    if columns < NARROW {
        let head = fit_columns(&format!("{id} {} {kind}", at.get(..10).unwrap_or(at)), columns);
        return format!("{head}\n  {}", fit_columns(&memory.one_line(), columns.saturating_sub(2)));
    }
    let head = format!("{id}  {at}  {kind:<18}  ");
    let text = fit_columns(&memory.one_line(), columns.saturating_sub(display_width(&head)));
    head + &text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::assert_fits;

    #[test]
    fn preview_fits_the_terminal() {
        let memory =
            ListedMemory::example("결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 그래야 두 번 오지 않는다 \u{1b}[31m");
        for columns in [40, 59, 60, 80, 120] {
            assert_fits(&memory_line(&memory, columns), columns);
        }
        insta::assert_snapshot!(memory_line(&memory, 80), @"0af312aa  2026-01-28 10:30  decision            결제 웹훅은 커밋한 다음에 확인…");
        insta::assert_snapshot!(memory_line(&memory, 40), @r"
        0af312aa 2026-01-28 decision
          결제 웹훅은 커밋한 다음에 확인 응답을…
        ");
    }
}
