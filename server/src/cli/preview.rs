//! What is about to go, in a few lines.

use std::collections::BTreeMap;

use schema::memory::MemoryType;
use schema::store::Row;
use serde::Serialize;

use super::list::Listed;
use super::output::{Printer, short};
use super::pager;
use super::text::{fit, width};

/// Memories that are named.
const NAMED: usize = 20;

/// Columns of a line where lines have no end, and those below which the text of a memory has a line of its own.
const LONGEST: usize = 120;
const NARROW: usize = 60;

/// What became, or would become, of memories, for scripts.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Gone {
    pub(crate) memories: usize,
    pub(crate) types: BTreeMap<MemoryType, usize>,
    pub(crate) ids: Vec<String>,
    pub(crate) dry_run: bool,
    /// It is everything, which goes only when that is said.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) needs_all: bool,
    /// Old databases that are gone, or would be.
    pub(crate) old_databases: Vec<String>,
    /// Where a copy may still lie.
    pub(crate) left: Vec<String>,
}

impl Gone {
    pub(crate) fn of(rows: &[Row]) -> Self {
        let mut types = BTreeMap::new();
        rows.iter().for_each(|row| *types.entry(row.memory.kind).or_default() += 1);
        let ids = rows.iter().map(|row| row.memory.id.to_string()).collect();
        Self { memories: rows.len(), types, ids, ..Self::default() }
    }

    /// Tells what was done.
    pub(crate) fn tell(&self, printer: &Printer, done: &str) -> anyhow::Result<()> {
        printer.print(self, || {
            let mut text = format!("{done} {}.\n", counted(self.memories));
            if !self.old_databases.is_empty() {
                text.push_str(&format!("Old databases deleted as well: {}\n", self.old_databases.join(", ")));
            }
            for left in &self.left {
                text.push_str(&format!("May still hold a copy: {left}\n"));
            }
            text
        })
    }
}

/// A number of memories in words.
pub(crate) fn counted(count: usize) -> String {
    match count {
        0 => "no memory".to_owned(),
        1 => "1 memory".to_owned(),
        count => format!("{count} memories"),
    }
}

/// Lists memories for a person: the newest, and how many there are of each type.
pub(crate) fn preview(printer: &Printer, rows: &[Row]) -> anyhow::Result<()> {
    let columns = pager::columns().unwrap_or(LONGEST);
    for row in rows.iter().rev().take(NAMED) {
        printer.line(&named(&Listed::of(row), columns))?;
    }
    if rows.len() > NAMED {
        printer.line(&format!("… and {} older", rows.len() - NAMED))?;
    }
    let types = Gone::of(rows).types;
    let types: Vec<String> = types.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    printer.told(&types.join(", "))
}

/// A memory on a line, or on two where one is too short.
fn named(memory: &Listed, columns: usize) -> String {
    let (id, kind) = (short(&memory.id), memory.kind.as_str());
    let at = memory.date.get(..16).unwrap_or(&memory.date);
    if columns < NARROW {
        let head = fit(&format!("{id} {} {kind}", at.get(..10).unwrap_or(at)), columns);
        return format!("{head}\n  {}", fit(&memory.line(), columns.saturating_sub(2)));
    }
    let head = format!("{id}  {at}  {kind:<18}  ");
    let text = fit(&memory.line(), columns.saturating_sub(width(&head)));
    head + &text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_go_fits_the_terminal() {
        let memory =
            Listed::example("결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 그래야 두 번 오지 않는다 \u{1b}[31m");
        for columns in [40, 59, 60, 80, 120] {
            let text = named(&memory, columns);
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
        }
        insta::assert_snapshot!(named(&memory, 80), @"0af312aa  2026-01-28 10:30  decision            결제 웹훅은 커밋한 다음에 확인…");
        insta::assert_snapshot!(named(&memory, 40), @r"
        0af312aa 2026-01-28 decision
          결제 웹훅은 커밋한 다음에 확인 응답을…
        ");
    }
}
