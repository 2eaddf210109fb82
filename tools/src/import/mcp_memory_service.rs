//! mcp-memory-service: one table of memories in SQLite, without projects and sessions.

use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::model::memory::MemoryType;

use super::foreign::{
    ForeignMemory, ImportScope, Receiver, Source, SourceError, changed_at, configured_paths, kind_named,
};
use super::foreign_database::ForeignDatabase;

pub(super) const SOURCE: Source = Source { name: "mcp-memory-service", program: "mcp-memory-service", places, read };

const COLUMNS: [&str; 9] = [
    "content_hash",
    "content",
    "tags",
    "memory_type",
    "created_at",
    "created_at_iso",
    "updated_at",
    "deleted_at",
    "superseded_by",
];

fn places(home: &Path, scope: &ImportScope<'_>) -> Vec<PathBuf> {
    const FILE: &str = "sqlite_vec.db";
    let named = ["MCP_MEMORY_SQLITE_PATH", "MCP_MEMORY_SQLITEVEC_PATH"];
    let mut places: Vec<PathBuf> = named.iter().filter_map(|name| environment::path(name)).collect();
    places.extend(environment::path("MCP_MEMORY_BASE_DIR").map(|folder| folder.join(FILE)));
    for name in named {
        places.extend(configured_paths(home, scope.project, name));
    }
    places.extend(configured_paths(home, scope.project, "MCP_MEMORY_BASE_DIR").map(|folder| folder.join(FILE)));
    let mut usual = vec![home.join("Library/Application Support/mcp-memory"), home.join(".local/share/mcp-memory")];
    usual.extend(environment::path("LOCALAPPDATA").map(|data| data.join("mcp-memory")));
    places.extend(usual.into_iter().map(|folder| folder.join(FILE)));
    places
}

fn read(path: &Path, _: &ImportScope<'_>, receiver: &mut dyn Receiver) -> Result<(), SourceError> {
    let db = ForeignDatabase::open(path, SOURCE.program, &["memories"])?;
    let fallback = changed_at(path);
    db.for_each_row("memories", &COLUMNS, |row| {
        if !row.text("deleted_at").is_empty() || !row.text("superseded_by").is_empty() {
            return Ok(());
        }
        let tags = row.list("tags");
        let named = kind_named(&row.text("memory_type"));
        let kind = named.or_else(|| tags.iter().find_map(|tag| kind_named(tag))).unwrap_or(MemoryType::Learning);
        let at = row.time(&["created_at", "created_at_iso", "updated_at"], fallback);
        let memory = ForeignMemory::new(row.text("content_hash"), kind, row.text("content"), at);
        receiver.add(ForeignMemory { tags, ..memory })
    })
}
