//! Checks the store: databases, whether rows match the logs, queued events, embeddings and errors of hooks.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use schema::files::database::{self, LockTimeout};
use schema::files::layout::Layout;
use schema::files::{regular_file, store_file};
use schema::log::{LogKind, parse, unusable_fields};
use schema::model::memory::MemoryId;
use schema::model::moment::Moment;
use schema::settings;
use schema::store::MemoryRow;
use schema::store::forgotten::ForgottenHashes;
use schema::store::hook_log;
use schema::tool::{EmbeddingStats, QueueOwner, StatsOutput};
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;

use super::access::{FOREIGN_FILE_FIX, check_closed_dir, check_permissions, own_open_folder};
use super::check::{DoctorCheck, Repair};
use crate::cli::terminal_text::{self, count_with_unit};
use crate::network::ReqwestNetwork;

/// Synchronises rows and index with the files.
const REBUILD: &str = "jikime-memory index --full";

/// Prefixes of problems from hooks and from embedding.
const HOOK: &str = "hook: ";
const EMBEDDING: &str = "embedding: ";

const EMBEDDING_FIX: &str = "fix the cause, or set embedding_provider = \"local\" in your own settings; jikime-memory config path \
                              names the file";

/// Whether there is nothing at the place of the store.
pub(super) fn is_missing(root: &Path) -> bool {
    let layout = Layout::new(root);
    layout.verify_dirs().is_ok() && check_closed_dir(&layout).is_none() && !layout.store_dir().is_dir()
}

pub(super) fn check_store(root: &Path) -> Vec<DoctorCheck> {
    let layout = Layout::new(root);
    if let Err(refused) = layout.verify_dirs() {
        let text = refused.to_string();
        if let Some(folder) = own_open_folder(&layout) {
            let text = format!("every user may change {folder}, so this memory is not used");
            let fix = format!("chmod o-w {folder}");
            return vec![DoctorCheck::finding("permissions", text, fix).with_repair(Repair::Permissions)];
        }
        let fix = if store_file::is_distrusted(&refused) { FOREIGN_FILE_FIX } else { "replace it with a directory" };
        return vec![DoctorCheck::finding("store", text, fix)];
    }
    if let Some(closed) = check_closed_dir(&layout) {
        return vec![closed];
    }
    if !layout.store_dir().is_dir() {
        return vec![DoctorCheck::finding("store", "this project has no memory yet", "jikime-memory init")];
    }
    let mut checks = vec![check_permissions(&layout)];
    checks.extend(check_settings(&layout));
    // First, because opening the store repairs the databases.
    checks.extend([layout.memory_db(), layout.index_db()].iter().filter_map(|path| check_damage(path)));
    match Engine::open(root, None, Some(Arc::new(ReqwestNetwork::default()))) {
        Ok(engine) => checks.extend(check_opened(engine, &layout)),
        Err(error) => {
            let text = error.to_string();
            let fix = suggest_fix(&text, &layout);
            checks.push(DoctorCheck::finding("store", text, fix));
        }
    }
    checks
}

/// Problems of setting files and environment variables.
fn check_settings(layout: &Layout) -> Option<DoctorCheck> {
    let loaded = settings::load(layout);
    let problems = loaded.problems;
    if problems.is_empty() {
        let is_off = !loaded.settings.capture || loaded.settings.disabled;
        let text = "recording is off: `jikime-memory config show` names the setting that turned it off";
        return is_off.then(|| DoctorCheck::fine("settings", text));
    }
    let fix =
        "fix or delete the setting, then run jikime-memory config check; jikime-memory config show lists all settings";
    Some(DoctorCheck::finding("settings", problems.join("; "), fix))
}

fn check_damage(path: &Path) -> Option<DoctorCheck> {
    if !path.exists() {
        return None;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let errors = match database::open(path, LockTimeout::Server) {
        Ok(db) => database::integrity_errors(&db).unwrap_or_else(|error| vec![error.to_string()]),
        Err(error) if error.is_damage() => vec!["it is damaged".to_owned()],
        // Another version, or missing permission: opening the store reports it.
        Err(_) => return None,
    };
    Some(match &errors[..] {
        [] => DoctorCheck::fine("database", format!("{name} passes its integrity check")),
        errors => {
            let text = format!("{name}: {}; nothing is lost, because it is derived from Markdown", errors.join("; "));
            DoctorCheck::finding("database", text, REBUILD).with_repair(Repair::Rebuild)
        }
    })
}

fn check_opened(mut engine: Engine, layout: &Layout) -> Vec<DoctorCheck> {
    let mut checks = match engine.refresh(&mut Control::default()) {
        Ok(_) => vec![check_sync(&engine, layout)],
        // It is among the problems below.
        Err(ToolError::Unavailable(_)) => Vec::new(),
        Err(error) => {
            vec![DoctorCheck::finding("index", error.to_string(), REBUILD).with_repair(Repair::Rebuild)]
        }
    };
    match engine.stats() {
        Ok(stats) => {
            let messages = engine.take_repair_messages();
            checks.push(check_counts(&stats));
            checks.push(check_queue(&stats));
            let reached = engine.probe_embedder();
            let is_unreached = matches!(reached, Some(Err(_)));
            checks.push(check_embedding(&stats, reached));
            checks.push(check_hook_errors(layout));
            let of_settings = settings::load(layout).problems;
            let mut problems: Vec<String> = stats.problems.into_iter().chain(messages).collect();
            problems.retain(|problem| {
                let has_own_check = problem.starts_with(HOOK) || is_unreached && problem.starts_with(EMBEDDING);
                !has_own_check && !of_settings.contains(problem)
            });
            problems.sort_unstable();
            problems.dedup();
            checks.extend(problems.into_iter().map(|problem| {
                let fix = suggest_fix(&problem, layout);
                DoctorCheck::finding("problem", problem, fix)
            }));
        }
        Err(error) => checks.push(DoctorCheck::finding("store", error.to_string(), REBUILD)),
    }
    checks.extend(check_large_files(layout));
    checks.extend(check_fields(layout));
    checks
}

/// Markdown that is ignored because of its size.
fn check_large_files(layout: &Layout) -> Option<DoctorCheck> {
    let mut large = layout.markdown_files().unwrap_or_default();
    large.retain(|path| {
        std::fs::metadata(layout.store_path(path)).is_ok_and(|found| found.len() > regular_file::MAX_BYTES)
    });
    let text = format!("ignored, because larger than {} MiB: {}", regular_file::MAX_BYTES >> 20, large.join(", "));
    (!large.is_empty()).then(|| DoctorCheck::finding("files", text, "divide them into smaller files"))
}

/// Maximum number of comments in one report.
const MAX_NAMED: usize = 20;

/// Invalid fields in comments of logs.
fn check_fields(layout: &Layout) -> Option<DoctorCheck> {
    let mut odd = Vec::new();
    for path in layout.markdown_files().unwrap_or_default() {
        let Ok(bytes) = store_file::read(&layout.store_path(&path)) else { continue };
        if LogKind::from_path(&path).is_some() {
            let found = unusable_fields(&String::from_utf8_lossy(&bytes));
            odd.extend(found.into_iter().map(|(line, names)| format!("{path}:{line} {}", names.join(", "))));
        }
    }
    odd.truncate(MAX_NAMED);
    let fix = "correct or delete these fields; until then they are ignored, and times out of range are clamped";
    (!odd.is_empty()).then(|| DoctorCheck::finding("fields", format!("not valid: {}", odd.join("; ")), fix))
}

/// Fixes for problems with one of some texts in lower case.
const FIXES: [(&[&str], &str); 5] = [
    (&["is rebuilt", "been rebuilt", "come back from markdown"], "nothing to do; it is rebuilt from Markdown"),
    (&["-wal has grown"], "end the program that reads the database; the next command shrinks the file"),
    (&["disk i/o error", "file too large"], "free some space, or raise the limit on the size of files (ulimit -f)"),
    (&["no space", "disk is full"], "free some space; events that could not be written are queued on disk"),
    (&["utf-8"], "save the file as UTF-8"),
];

/// A fix for a problem that the store reported.
fn suggest_fix(problem: &str, layout: &Layout) -> String {
    let said = problem.to_lowercase();
    let is_about = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if is_about(&["permission denied", "readonly database"]) {
        return format!("chmod -R u+rwX {}", layout.store_dir().display());
    }
    if is_about(&["read-only file system"]) {
        return "mount the disk for writing; until then the memory is read-only".to_owned();
    }
    if let Some((_, name)) = problem.split_once("a copy of it is ") {
        return format!("nothing to do; if all memories are there, delete {}", layout.store_dir().join(name).display());
    }
    let known = FIXES.iter().find(|(parts, _)| is_about(parts));
    known.map_or("fix the cause; the Markdown files are unchanged", |(_, fix)| fix).to_owned()
}

/// Checks that every log has as many rows as entries, and that no deleted memory has returned.
fn check_sync(engine: &Engine, layout: &Layout) -> DoctorCheck {
    let rows = engine.store().rows();
    let forgotten = ForgottenHashes::read(layout).unwrap_or_default();
    let (mut differing, mut back) = (Vec::new(), Vec::new());
    for path in layout.markdown_files().unwrap_or_default() {
        // The rows of the team follow from all of its files.
        let Some(kind) = LogKind::from_path(&path).filter(|kind| *kind != LogKind::Team) else { continue };
        let (Ok(bytes), Ok(rows)) = (store_file::read(&layout.store_path(&path)), rows.by_path(&path)) else {
            continue;
        };
        let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
        let rows: Vec<&MemoryRow> = rows.iter().filter(|row| !row.is_pending()).collect();
        let is_kept: HashSet<&MemoryId> = rows.iter().map(|row| &row.memory.id).collect();
        let (gone, entries): (Vec<_>, Vec<_>) = parsed
            .entries
            .iter()
            .partition(|entry| !is_kept.contains(&entry.memory.id) && forgotten.contains_entry(&path, &entry.memory));
        back.extend(gone.iter().map(|entry| format!("{path}:{}", entry.start_line)));
        if entries.len() != rows.len() {
            differing.push(format!("{path} has {} entries and {} rows", entries.len(), rows.len()));
        }
    }
    if !differing.is_empty() {
        return DoctorCheck::finding("index", differing.join("; "), REBUILD).with_repair(Repair::Rebuild);
    }
    if !back.is_empty() {
        let text = format!("logs contain deleted memories again, which are ignored: {}", back.join(", "));
        return DoctorCheck::finding("index", text, "delete these entries from the files");
    }
    DoctorCheck::fine("index", "logs, rows and index are in sync")
}

fn check_counts(stats: &StatsOutput) -> DoctorCheck {
    let StatsOutput { memories, sessions, files, chunks, .. } = stats;
    let memories = terminal_text::count_of_memories(*memories);
    let [sessions, files, chunks] = [(sessions, "session"), (files, "file"), (chunks, "passage")]
        .map(|(count, unit)| count_with_unit(*count, unit));
    DoctorCheck::fine("memory", format!("{memories} of {sessions}, {chunks} of {files}"))
}

fn check_queue(stats: &StatsOutput) -> DoctorCheck {
    let by = match stats.queue_answered_by {
        QueueOwner::Nobody => "no server runs, so hooks write directly",
        _ => "a server receives events",
    };
    match stats.queue {
        0 => DoctorCheck::fine("queue", format!("{by}; no events are waiting")),
        waiting => {
            let what = terminal_text::count_of_memories(waiting);
            let waits = if waiting == 1 { "waits" } else { "wait" };
            let text = format!("{what} {waits} in the queue on disk; {by}");
            DoctorCheck::finding("queue", text, "jikime-memory index").with_repair(Repair::Queue)
        }
    }
}

/// The embedding provider, and whether it works: a service, or a model in a file, is asked for one vector.
fn check_embedding(stats: &StatsOutput, reached: Option<Result<(), String>>) -> DoctorCheck {
    let EmbeddingStats { provider, model, coverage, pending, .. } = &stats.embedding;
    if provider == "none" {
        return DoctorCheck::fine("embeddings", "off, so search uses words only");
    }
    let who = match model.as_deref().filter(|model| !model.is_empty()) {
        Some(model) => format!("{provider}, {model}"),
        None => provider.clone(),
    };
    let answers = match reached {
        Some(Err(error)) => return DoctorCheck::finding("embeddings", format!("{who}: {error}"), EMBEDDING_FIX),
        Some(Ok(())) => ", which works",
        None => "",
    };
    if stats.memories == 0 && stats.chunks == 0 {
        return DoctorCheck::fine("embeddings", format!("{who}{answers}; there is no text to embed yet"));
    }
    let share = (coverage * 100.0).round();
    let text = format!("{who}{answers}: {share} % of passages embedded, {pending} wait for a running server");
    DoctorCheck::fine("embeddings", text)
}

/// Hooks must print nothing, so `doctor` reports their errors.
fn check_hook_errors(layout: &Layout) -> DoctorCheck {
    let errors = hook_log::recent_messages(layout, &Moment::now());
    let Some(newest) = errors.first() else {
        return DoctorCheck::fine("hooks", "no errors in the last seven days");
    };
    let text =
        format!("{} in the last seven days; the newest is: {newest}", count_with_unit(errors.len() as u64, "error"));
    let fix = format!("fix the cause; then delete {}, which lists them", layout.hook_log_file().display());
    DoctorCheck::finding("hooks", text, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted_problem_gets_a_fix() {
        let layout = Layout::new(Path::new("/p"));
        let aside =
            "memory.db could not be used and is rebuilt from Markdown; a copy of it is memory.db.damaged-20260128T10";
        for (problem, fix) in [
            (aside, "if all memories are there, delete /p/.jikime/memory/memory.db.damaged-20260128T10"),
            ("index.db was damaged and is rebuilt", "nothing to do; it is rebuilt"),
            ("memory.db was damaged and has been rebuilt", "nothing to do; it is rebuilt"),
            ("cannot open /p: Permission denied (os error 13)", "chmod -R u+rwX "),
            ("memory.db-wal has grown to 879 MiB, because another program keeps reading", "end the program"),
            ("recent changes are not searched yet: disk I/O error", "ulimit -f"),
            ("something else", "fix the cause"),
        ] {
            let suggested = suggest_fix(problem, &layout);
            assert!(suggested.contains(fix), "{problem}: {suggested}");
        }
    }
}
