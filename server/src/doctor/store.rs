//! The store: its directories, its databases, whether rows and logs say the same, and what waits.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use schema::daily_log::{LogKind, odd_fields, parse};
use schema::database::{self, Patience};
use schema::forgotten::Forgotten;
use schema::layout::Layout;
use schema::memory::MemoryId;
use schema::own_file;
use schema::regular_file;
use schema::settings;
use schema::store::Row;
use schema::tool::{EmbeddingStats, QueueServer, StatsOutput};
use tools::engine::Engine;

use super::Check;
use crate::cli::text::{self, counted};
use crate::network::Http;

/// What brings rows and index in step again.
const REBUILD: &str = "jikime-memory index --full";

/// How faults of hooks, and those of who makes vectors, begin among the problems.
const HOOK: &str = "hook: ";
const EMBEDDING: &str = "embedding: ";

const MEND_EMBEDDING: &str = "mend what it says, or set embedding_provider = \"local\" in your own settings; jikime-memory config path \
                              names the file";

/// What to do about what another user may have put there.
const PLANTED: &str = "find out who put it there, and run the command only if you know";

/// Whether there is nothing at all where a store would be.
pub(super) fn is_missing(root: &Path) -> bool {
    let layout = Layout::new(root);
    layout.verify().is_ok() && closed(&layout).is_none() && !layout.dir().is_dir()
}

pub(super) fn store(root: &Path) -> Vec<Check> {
    let layout = Layout::new(root);
    if let Err(refused) = layout.verify() {
        let text = refused.to_string();
        let fix = if text.contains("trust it") { PLANTED } else { "put a directory in its place" };
        return vec![Check::finding("store", text, fix)];
    }
    if let Some(closed) = closed(&layout) {
        return vec![closed];
    }
    if !layout.dir().is_dir() {
        return vec![Check::finding("store", "this project has no memory yet", "jikime-memory init")];
    }
    let mut checks = vec![permissions(&layout)];
    checks.extend(settings(&layout));
    // Before the store is opened, which mends what it finds.
    checks.extend([layout.memory_db(), layout.index_db()].iter().filter_map(|path| damage(path)));
    match Engine::open(root, None, Some(Arc::new(Http::default()))) {
        Ok(engine) => checks.extend(opened(engine, &layout)),
        Err(error) => {
            let text = error.to_string();
            let fix = mend(&text, &layout);
            checks.push(Check::finding("store", text, fix));
        }
    }
    checks
}

/// A folder on the way to the store that its owner may not look into, so that nobody can tell what is in it.
fn closed(layout: &Layout) -> Option<Check> {
    let folders = [layout.dir().parent(), Some(layout.dir())];
    let folder = folders.into_iter().flatten().find(|folder| {
        std::fs::read_dir(folder).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    })?;
    let text = format!("{} cannot be looked into", folder.display());
    Some(Check::finding("permissions", text, format!("chmod u+rwx {}", folder.display())))
}

#[cfg(unix)]
fn permissions(layout: &Layout) -> Check {
    use std::os::unix::fs::MetadataExt as _;
    let dir = layout.dir();
    match std::fs::metadata(dir) {
        Ok(found) if found.mode() & 0o077 != 0 => {
            let text = format!("others may look into {} (mode {:o})", dir.display(), found.mode() & 0o777);
            Check::finding("permissions", text, format!("chmod 700 {}", dir.display()))
        }
        Ok(found) if found.mode() & 0o700 != 0o700 => {
            let text = format!("{} cannot be written or read (mode {:03o})", dir.display(), found.mode() & 0o777);
            Check::finding("permissions", text, format!("chmod 700 {}", dir.display()))
        }
        Ok(_) => files_permissions(layout),
        Err(error) => Check::finding("permissions", error.to_string(), "see the cause"),
    }
}

/// Files that their owner may not read and write. Whoever may do everything is told as well: others of his programs may not.
#[cfg(unix)]
fn files_permissions(layout: &Layout) -> Check {
    use std::os::unix::fs::MetadataExt as _;
    let items = std::fs::read_dir(layout.dir()).into_iter().flatten().filter_map(Result::ok);
    let mut closed: Vec<(String, u32)> = items
        .filter_map(|item| {
            let found = std::fs::symlink_metadata(item.path()).ok().filter(std::fs::Metadata::is_file)?;
            let is_closed = found.mode() & 0o600 != 0o600;
            is_closed.then(|| (item.path().display().to_string(), found.mode() & 0o777))
        })
        .collect();
    closed.sort_unstable();
    if closed.is_empty() {
        return refused(layout).unwrap_or_else(|| Check::fine("permissions", "the store is for you alone"));
    }
    let named: Vec<String> = closed.iter().map(|(path, mode)| format!("{path} (mode {mode:03o})")).collect();
    let paths: Vec<&str> = closed.iter().map(|(path, _)| path.as_str()).collect();
    let text = format!("what cannot be written or read: {}", named.join(", "));
    Check::finding("permissions", text, format!("chmod 600 {}", paths.join(" ")))
}

/// Files that are not used: links, pipes, and what another user owns or may change. Also Markdown that is too large to be read.
#[cfg(unix)]
fn refused(layout: &Layout) -> Option<Check> {
    let folders = [layout.dir().to_owned(), layout.spool(), layout.track()];
    let items = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().filter_map(Result::ok);
    let is_large = |path: &Path| {
        path.extension().is_some_and(|ending| ending == "md")
            && std::fs::metadata(path).is_ok_and(|found| found.len() > regular_file::LARGEST)
    };
    let mut refused: Vec<String> = items
        .filter_map(|item| match own_file::verify(&item.path()) {
            Ok(()) if is_large(&item.path()) => {
                Some(format!("{}: it is too large and not read", item.path().display()))
            }
            verified => verified.err().map(|why| format!("{}: {why}", item.path().display())),
        })
        .collect();
    refused.sort_unstable();
    (!refused.is_empty()).then(|| Check::finding("permissions", refused.join("; "), PLANTED))
}

/// What is wrong with files of settings, and with variables.
fn settings(layout: &Layout) -> Option<Check> {
    let problems = settings::load(layout).problems;
    if problems.is_empty() {
        return None;
    }
    let is_torn = problems.iter().any(|problem| problem.contains(", column "));
    let fix = if is_torn {
        "mend the line that is named, or take it out; jikime-memory config check looks again, and docs/config.md has every setting"
    } else {
        "change what is named; jikime-memory config check looks again, and docs/config.md has every setting"
    };
    Some(Check::finding("settings", problems.join("; "), fix))
}

/// A folder of the user's is for the user alone unless somebody shared it.
#[cfg(not(unix))]
fn permissions(layout: &Layout) -> Check {
    Check::fine("permissions", format!("those of {}", layout.dir().display()))
}

fn damage(path: &Path) -> Option<Check> {
    if !path.exists() {
        return None;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let faults = match database::open(path, Patience::Server) {
        Ok(db) => database::faults(&db).unwrap_or_else(|error| vec![error.to_string()]),
        Err(error) if error.is_damage() => vec!["it is damaged".to_owned()],
        // Another version, or no right to write: the store tells.
        Err(_) => return None,
    };
    Some(match &faults[..] {
        [] if database::is_log_long(path) => {
            let text = format!("{name}-wal is long, because another program reads {name} for a long time");
            Check::finding("database", text, "close the program that has it open, such as a database viewer")
        }
        [] => Check::fine("database", format!("{name} passes its integrity check")),
        faults => {
            let text = format!("{name}: {}; nothing is lost, for it is made of Markdown", faults.join("; "));
            Check::finding("database", text, REBUILD)
        }
    })
}

fn opened(mut engine: Engine, layout: &Layout) -> Vec<Check> {
    let refreshed = engine.refresh();
    let mut checks = vec![match refreshed {
        Ok(_) => in_step(&engine, layout),
        Err(error) => Check::finding("index", error.to_string(), REBUILD),
    }];
    match engine.stats() {
        Ok(stats) => {
            let news = engine.take_news();
            checks.push(counts(&stats));
            checks.push(queue(&stats));
            let reached = engine.reach_embedding();
            let is_told = matches!(reached, Some(Err(_)));
            checks.push(embedding(&stats, reached));
            let (faults, mut problems): (Vec<_>, Vec<_>) =
                stats.problems.into_iter().partition(|problem| problem.starts_with(HOOK));
            problems.retain(|problem| !is_told || !problem.starts_with(EMBEDDING));
            checks.push(hooks(&faults, layout));
            let of_settings = settings::load(layout).problems;
            let mut told: Vec<String> = problems.into_iter().chain(news).collect();
            told.retain(|problem| !of_settings.contains(problem));
            told.sort_unstable();
            told.dedup();
            checks.extend(told.into_iter().map(|problem| {
                let fix = mend(&problem, layout);
                Check::finding("problem", problem, fix)
            }));
        }
        Err(error) => checks.push(Check::finding("store", error.to_string(), REBUILD)),
    }
    checks.extend(fields(layout));
    checks
}

/// Comments that are named at once.
const NAMED: usize = 20;

/// Fields of comments that cannot be used as they are.
fn fields(layout: &Layout) -> Option<Check> {
    let mut odd = Vec::new();
    for path in layout.markdown_files().unwrap_or_default() {
        let Ok(bytes) = own_file::read(&layout.file(&path)) else { continue };
        if LogKind::of(&path).is_some() {
            let found = odd_fields(&String::from_utf8_lossy(&bytes));
            odd.extend(found.into_iter().map(|(line, names)| format!("{path}:{line} {}", names.join(", "))));
        }
    }
    odd.truncate(NAMED);
    let fix = "correct or delete these fields; until then they are ignored, and a time out of range is clamped";
    (!odd.is_empty()).then(|| Check::finding("fields", format!("not valid: {}", odd.join("; ")), fix))
}

/// How to mend what the store noted.
fn mend(problem: &str, layout: &Layout) -> String {
    let said = problem.to_lowercase();
    let is_about = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if is_about(&["permission denied", "readonly database"]) {
        return format!("chmod -R u+rwX {}", layout.dir().display());
    }
    if is_about(&["read-only file system"]) {
        return "have the disk mounted for writing; until then what is remembered is only read".to_owned();
    }
    if let Some((_, name)) = problem.split_once("a copy of it is ") {
        return format!("nothing to do; delete {} when nothing is missed", layout.dir().join(name).display());
    }
    if is_about(&["is rebuilt", "come back from markdown"]) {
        return "nothing to do: it is rebuilt from the Markdown".to_owned();
    }
    if is_about(&["no space", "disk is full"]) {
        return "make room on the disk; what could not be written waits in the spool".to_owned();
    }
    if is_about(&["utf-8"]) {
        return "save the file as UTF-8".to_owned();
    }
    "see the cause; the Markdown is not touched".to_owned()
}

/// Whether every log has as many rows as entries, and whether any came back that were forgotten.
fn in_step(engine: &Engine, layout: &Layout) -> Check {
    let rows = engine.store().rows();
    let forgotten = Forgotten::read(layout).unwrap_or_default();
    let (mut differing, mut back) = (Vec::new(), Vec::new());
    for path in layout.markdown_files().unwrap_or_default() {
        let Some(kind) = LogKind::of(&path) else { continue };
        let (Ok(bytes), Ok(rows)) = (own_file::read(&layout.file(&path)), rows.by_path(&path)) else { continue };
        let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
        let rows: Vec<&Row> = rows.iter().filter(|row| !row.is_waiting()).collect();
        let is_kept: HashSet<&MemoryId> = rows.iter().map(|row| &row.memory.id).collect();
        let (gone, entries): (Vec<_>, Vec<_>) = parsed
            .entries
            .iter()
            .partition(|entry| !is_kept.contains(&entry.memory.id) && forgotten.holds_entry(&path, &entry.memory));
        back.extend(gone.iter().map(|entry| format!("{path}:{}", entry.start_line)));
        if entries.len() != rows.len() {
            differing.push(format!("{path} has {} entries and {} rows", entries.len(), rows.len()));
        }
    }
    if !differing.is_empty() {
        return Check::finding("index", differing.join("; "), REBUILD);
    }
    if !back.is_empty() {
        let text = format!("what was forgotten stands in logs again, and is left out: {}", back.join(", "));
        return Check::finding("index", text, "take these entries out of the files");
    }
    Check::fine("index", "logs, rows and index say the same")
}

fn counts(stats: &StatsOutput) -> Check {
    let StatsOutput { memories, sessions, files, chunks, .. } = stats;
    let parts =
        [text::memories(*memories), counted(*sessions, "session"), counted(*files, "file"), counted(*chunks, "chunk")];
    let [memories, sessions, files, chunks] = parts;
    Check::fine("memory", format!("{memories} of {sessions}, {files} in {chunks}"))
}

fn queue(stats: &StatsOutput) -> Check {
    let by = match stats.queue_answered_by {
        QueueServer::Nobody => "no server runs; hooks write by themselves",
        _ => "a server answers",
    };
    match stats.queue {
        0 => Check::fine("queue", format!("{by}, and nothing waits")),
        waiting => {
            let what = text::memories(waiting);
            let waits = if waiting == 1 { "waits" } else { "wait" };
            Check::finding("queue", format!("{what} {waits} in the spool; {by}"), "jikime-memory index")
        }
    }
}

/// Who makes vectors, and whether they come: a service, or a model in a file, is asked for one.
fn embedding(stats: &StatsOutput, reached: Option<Result<(), String>>) -> Check {
    let EmbeddingStats { provider, model, coverage, pending, .. } = &stats.embedding;
    if provider == "none" {
        return Check::fine("embeddings", "none, so search goes by words");
    }
    let who = match model.as_deref().filter(|model| !model.is_empty()) {
        Some(model) => format!("{provider}, {model}"),
        None => provider.clone(),
    };
    let answers = match reached {
        Some(Err(fault)) => return Check::finding("embeddings", format!("{who}: {fault}"), MEND_EMBEDDING),
        Some(Ok(())) => ", which answers",
        None => "",
    };
    if stats.memories == 0 && stats.chunks == 0 {
        return Check::fine("embeddings", format!("{who}{answers}; there is nothing to make vectors of yet"));
    }
    let share = (coverage * 100.0).round();
    let text = format!("{who}{answers}: {share} % of the passages, {pending} wait for a running server");
    Check::fine("embeddings", text)
}

/// Hooks have nobody to tell but this.
fn hooks(faults: &[String], layout: &Layout) -> Check {
    let Some(newest) = faults.first().and_then(|fault| fault.strip_prefix(HOOK)) else {
        return Check::fine("hooks", "no fault in the last seven days");
    };
    let text = format!("{} in the last seven days, the newest: {newest}", counted(faults.len() as u64, "fault"));
    let fix = format!("mend what it says; they are in {}, which may be deleted then", layout.hook_log().display());
    Check::finding("hooks", text, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_told_with_what_to_do() {
        let layout = Layout::new(Path::new("/p"));
        let aside =
            "memory.db could not be used and is rebuilt from Markdown; a copy of it is memory.db.damaged-20260128T10";
        for (problem, fix) in [
            (aside, "memory.db.damaged-20260128T10 when nothing is missed"),
            ("index.db was damaged and is rebuilt", "nothing to do: it is rebuilt"),
            ("cannot open /p: Permission denied (os error 13)", "chmod -R u+rwX "),
            ("something else", "see the cause"),
        ] {
            let told = mend(problem, &layout);
            assert!(told.contains(fix), "{problem}: {told}");
        }
    }
}
