//! What is about to go, in a few lines.

use std::collections::BTreeMap;

use schema::memory::MemoryType;
use schema::store::Row;
use serde::Serialize;

use super::output::Printer;
use super::text;

/// Memories that are named, and columns that are shown of each.
const NAMED: usize = 20;
const SHOWN: usize = 70;

/// What became, or would become, of memories, for scripts.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Gone {
    pub(crate) memories: usize,
    pub(crate) types: BTreeMap<MemoryType, usize>,
    pub(crate) ids: Vec<String>,
    pub(crate) dry_run: bool,
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
    for row in rows.iter().rev().take(NAMED) {
        let shown = text::fit(&text::one_line(&row.memory.content), SHOWN);
        let id = row.memory.id.as_str();
        let at = row.memory.at.local_second().replace('T', " ");
        printer.line(&format!("{}  {at}  {:<18}  {shown}", id.get(..8).unwrap_or(id), row.memory.kind))?;
    }
    if rows.len() > NAMED {
        printer.line(&format!("… and {} older", rows.len() - NAMED))?;
    }
    let types = Gone::of(rows).types;
    let types: Vec<String> = types.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    printer.line(&types.join(", "))
}
