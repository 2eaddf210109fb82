//! `memory_stats`: what there is, and what is wrong.

use std::fs;
use std::time::Duration;

use schema::hook_log;
use schema::layout::Layout;
use schema::lock::{FileLock, LockError};
use schema::moment::Moment;
use schema::settings;
use schema::spool;
use schema::store::Store;
use schema::tool::{EmbeddingStats, QueueServer, StatsOutput, TypeCount};

use super::file_access::{is_of_another_encoding, shown};
use crate::error::ToolError;
use crate::index::Index;

/// Files that are named in one problem.
const FILES: usize = 5;

/// Faults of hooks that are told.
const FAULTS: usize = 5;

pub(super) fn stats(store: &Store, index: &Index, notes: &[String]) -> Result<StatsOutput, ToolError> {
    let rows = store.rows();
    let types: Vec<TypeCount> =
        rows.count_by_type()?.into_iter().map(|(kind, count)| TypeCount { kind, count }).collect();
    let (chunks, files, last_indexed) = index.counts()?;
    let redactions = rows.meta("redactions")?.and_then(|count| count.parse().ok()).unwrap_or_default();
    let mut problems = settings::load(store.layout()).problems;
    problems.extend_from_slice(notes);
    problems.extend(of_another_encoding(store));
    let faults = hook_log::last(store.layout(), &Moment::now(), FAULTS);
    problems.extend(faults.into_iter().map(|fault| format!("hook: {fault}")));
    Ok(StatsOutput {
        project: store.layout().project().to_string_lossy().into_owned(),
        memories: types.iter().map(|counted| counted.count).sum(),
        types,
        sessions: rows.count_sessions()?,
        chunks,
        files,
        bytes: bytes(store),
        embedding: EmbeddingStats { provider: "none".to_owned(), model: None, coverage: 0.0, pending: 0, without: 0 },
        pending: rows.count_after(index.watermark(rows)?)?,
        last_indexed: last_indexed.max(store.last_synced()?),
        redactions,
        queue: spool::waiting(store.layout()) as u64,
        queue_answered_by: queue_answered_by(store.layout()),
        problems,
    })
}

/// The files that are not UTF-8, in one line: people save them again once they know.
fn of_another_encoding(store: &Store) -> Option<String> {
    let files = store.layout().markdown_files().unwrap_or_default();
    let found: Vec<String> =
        files.iter().filter(|path| is_of_another_encoding(store.layout(), path)).map(|path| shown(path)).collect();
    let more = if found.len() > FILES { format!(" and {} more", found.len() - FILES) } else { String::new() };
    let named = found.iter().take(FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!found.is_empty()).then(|| format!("not UTF-8 text, and read only in part: {named}{more}; save as UTF-8"))
}

/// Whether any server holds the lock of those who answer. Which it is only the server itself knows.
fn queue_answered_by(layout: &Layout) -> QueueServer {
    match FileLock::acquire(&layout.queue_lock(), Duration::ZERO) {
        Err(LockError::Busy(_)) => QueueServer::AnotherServer,
        Ok(_) | Err(LockError::Io { .. }) => QueueServer::Nobody,
    }
}

/// Bytes of everything in the store's directory.
fn bytes(store: &Store) -> u64 {
    let mut total = 0;
    let mut pending = vec![store.layout().dir().to_owned()];
    while let Some(dir) = pending.pop() {
        for item in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            match item.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(item.path()),
                Ok(kind) if kind.is_file() => total += item.metadata().map_or(0, |metadata| metadata.len()),
                _ => {}
            }
        }
    }
    total
}
