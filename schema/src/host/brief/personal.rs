//! The preferences and conventions of the user's personal memory, which hold in all projects.

use std::path::Path;

use super::budget::BriefSection;
use super::knowledge::memory_line;
use crate::files::database::LockTimeout;
use crate::files::layout::Layout;
use crate::files::project::personal_project;
use crate::model::memory::MemoryType;
use crate::privacy::output_text::clean_line;
use crate::store::{MemoryFilter, MemoryRow, Store, StoreError};

/// How many memories of each type are read, the newest ones.
const READ_MEMORIES: usize = 20;

/// The characters of the section.
const SHARE: usize = 300;

/// Returns the section for a project, or `None` without a personal memory that can be read.
pub(super) fn section(project: &Path) -> Option<BriefSection> {
    let rows = personal_rules(project).ok()?;
    let lines = rows.iter().map(|row| memory_line("- ", &clean_line(&row.memory.content), row, ""));
    Some(BriefSection::new("In all your projects", SHARE, lines))
}

/// Reads the memories for a project, the newest first. Does not create a personal memory.
fn personal_rules(project: &Path) -> Result<Vec<MemoryRow>, StoreError> {
    let Ok(personal) = personal_project() else { return Ok(Vec::new()) };
    if personal.root == project || !Layout::new(&personal.root).store_dir().is_dir() {
        return Ok(Vec::new());
    }
    let store = Store::open(&personal.root, LockTimeout::Hook)?;
    let mut rows = Vec::new();
    for kind in [MemoryType::Preference, MemoryType::Convention] {
        rows.extend(store.rows().list(&MemoryFilter { kind: Some(kind), ..MemoryFilter::default() }, READ_MEMORIES)?);
    }
    rows.retain(|row| row.superseded_by.is_none());
    Ok(rows)
}
