//! `migrate`: upgrades a store of the Go version or of an earlier version of this program. Every server does the same when it starts.

use std::path::Path;

use schema::files::layout::Layout;
use schema::store::{DatabaseKind, StoreAccess};
use serde::Serialize;
use tools::control::Control;
use tools::error::ToolError;

use super::opening::open_quietly;
use super::output::Printer;
use super::terminal_text::count_of_memories;

#[derive(Debug, Serialize)]
struct Migration {
    /// The version before and after, such as `7` and `9`.
    from: String,
    to: String,
    memories: u64,
    /// What was done.
    notes: Vec<String>,
}

pub(super) fn run_migrate(project: &Path, printer: &Printer) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    let before = DatabaseKind::read(&layout);
    if let DatabaseKind::Newer(version) = before {
        let text =
            format!("memory.db has version {version}, which is newer than this program; install a newer jikime-memory");
        return Err(ToolError::Unavailable(text).into());
    }
    let mut engine = open_quietly(project)?;
    if let StoreAccess::ReadOnly(reason) = engine.store().access() {
        return Err(ToolError::Unavailable(format!("the store cannot be changed: {reason}")).into());
    }
    engine.refresh(&mut Control::default())?;
    let after = DatabaseKind::read(&layout);
    let done = Migration {
        from: before.to_string(),
        to: after.to_string(),
        memories: engine.stats()?.memories,
        notes: engine.take_repair_messages(),
    };
    printer.print_sentence(&done, &done.describe(before))
}

impl Migration {
    fn describe(&self, before: DatabaseKind) -> String {
        let Self { from, to, memories, notes } = self;
        let count = count_of_memories(*memories);
        let done = match before {
            DatabaseKind::Current => format!("memory.db has the current version {to} and {count}; nothing to do."),
            DatabaseKind::Nothing => format!("memory.db was created from Markdown, with {count}."),
            DatabaseKind::Foreign => format!("memory.db was rebuilt from Markdown, with {count}."),
            DatabaseKind::GoVersion => {
                format!("memory.db was upgraded from the Go version to version {to}, with {count}.")
            }
            DatabaseKind::Earlier(_) | DatabaseKind::Newer(_) => {
                format!("memory.db was upgraded from version {from} to version {to}, with {count}.")
            }
        };
        std::iter::once(&done).chain(notes).map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}
