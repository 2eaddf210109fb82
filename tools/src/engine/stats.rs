//! `memory_stats`: figures and problems of a store.

use schema::intake::queue::is_served;
use schema::intake::spool;
use schema::model::moment::Moment;
use schema::settings;
use schema::store::Store;
use schema::store::hook_log;
use schema::tool::{EmbeddingStats, QueueOwner, StatsOutput, TypeCount};

use super::Engine;
use super::file_access::{display_path, has_other_encoding};
use super::usage::disk_usage;
use crate::error::ToolError;
use crate::index::Index;

/// Most files named in one problem.
const MAX_FILES: usize = 5;

/// Most hook errors shown.
const MAX_HOOK_ERRORS: usize = 5;

impl Engine {
    /// `memory_stats`.
    pub fn stats(&mut self) -> Result<StatsOutput, ToolError> {
        self.with_repair(|engine| {
            let mut output = collect_stats(&engine.store, &engine.index, engine.repair_messages.all())?;
            // A full disk, which is reported elsewhere, also fails the truncation.
            output.problems.extend(engine.truncate_long_wals().unwrap_or_default());
            engine.add_embedding_stats(&mut output)?;
            Ok(output)
        })
    }
}

fn collect_stats(store: &Store, index: &Index, repairs: Vec<String>) -> Result<StatsOutput, ToolError> {
    let rows = store.rows();
    let types: Vec<TypeCount> =
        rows.count_by_type()?.into_iter().map(|(kind, count)| TypeCount { kind, count }).collect();
    let (chunks, files, last_indexed) = index.counts()?;
    let redactions = rows.redactions()?;
    let mut problems = settings::load(store.layout()).problems;
    problems.extend(repairs);
    problems.extend(encoding_problem(store));
    let errors = hook_log::recent_messages(store.layout(), &Moment::now());
    problems.extend(errors.into_iter().take(MAX_HOOK_ERRORS).map(|error| format!("hook: {error}")));
    Ok(StatsOutput {
        project: store.layout().project().to_string_lossy().into_owned(),
        memories: types.iter().map(|counted| counted.count).sum(),
        types,
        sessions: rows.count_sessions()?,
        chunks,
        files,
        bytes: disk_usage(store.layout().store_dir()).total(),
        embedding: EmbeddingStats { provider: "none".to_owned(), model: None, coverage: 0.0, pending: 0, without: 0 },
        pending: rows.count_after(index.watermark(rows)?)?,
        last_indexed: last_indexed.max(store.last_synced()?),
        redactions,
        queue: spool::count(store.layout()) as u64,
        // Only the server that answers can say that it does.
        queue_answered_by: if is_served(store.layout()) { QueueOwner::AnotherServer } else { QueueOwner::Nobody },
        problems,
    })
}

/// Lists files that are not UTF-8 in one line.
fn encoding_problem(store: &Store) -> Option<String> {
    let files = store.layout().markdown_files().unwrap_or_default();
    let found: Vec<String> =
        files.iter().filter(|path| has_other_encoding(store.layout(), path)).map(|path| display_path(path)).collect();
    let more = if found.len() > MAX_FILES { format!(" and {} more", found.len() - MAX_FILES) } else { String::new() };
    let named = found.iter().take(MAX_FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!found.is_empty()).then(|| format!("not UTF-8 text, so only partly readable: {named}{more}; save as UTF-8"))
}

#[cfg(test)]
mod tests {
    use schema::files::database::{self, LockTimeout};

    use super::*;

    #[test]
    fn long_write_ahead_log_is_a_problem_until_its_reader_ends() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = Engine::open(project.path(), None, None).unwrap();
        let path = engine.store().layout().memory_db();
        let other = || database::open(&path, LockTimeout::Server).unwrap();
        let (reader, writer) = (other(), other());
        reader.execute_batch("BEGIN; SELECT count(*) FROM memories").unwrap();
        for _ in 0..60 {
            writer
                .execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('large', hex(randomblob(200000)))", [])
                .unwrap();
        }
        let problems = engine.stats().unwrap().problems;
        assert!(problems[0].starts_with("memory.db-wal has grown to 2"), "{problems:?}");
        assert!(problems[0].contains("end that program"), "{problems:?}");
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(engine.stats().unwrap().problems, [""; 0]);
    }
}
