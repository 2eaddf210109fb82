//! The end of a loop: waits until everything is in the store, and reports what is missing.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::loop_state::{LoopState, SentText, read};
use crate::canaries::files_below;
use crate::proof::{age_temporary_files, check_at_rest, texts_in_rows};

/// The time limit after the last change. The store waits for two seconds of quiet, and the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);

/// The pause between two runs of the indexer, which saves queued events once files are quiet.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs the indexer until all texts are there or the deadline has passed. A server may run meanwhile.
pub(super) fn wait_until_complete(shared: &LoopState) {
    wait_with(shared, || drop(shared.sandbox.run_cli(["index"])));
}

/// Waits until hooks, saves or a server have written all that waits, or the deadline has passed.
pub(super) fn wait_until_restored(shared: &LoopState) {
    wait_with(shared, || {});
}

fn wait_with(shared: &LoopState, meanwhile: impl Fn()) {
    let end = Instant::now() + DEADLINE;
    loop {
        let is_late = Instant::now() >= end;
        meanwhile();
        if is_late || is_complete(shared) {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn is_complete(shared: &LoopState) -> bool {
    count_spooled(shared) == 0 && find_misplaced(shared).is_ok_and(|wrong| wrong.is_empty())
}

/// Checks a store that no process uses.
pub(super) fn check_store(shared: &LoopState) {
    age_temporary_files(&shared.sandbox.store());
    let indexed = shared.sandbox.run_cli(["index"]);
    if !indexed.status.success() {
        shared.add_finding(
            "the indexer failed",
            format!("the indexer ended with {}: {}", indexed.status, indexed.stderr),
        );
    }
    shared.check_written("at the end");
    match find_misplaced(shared) {
        Ok(wrong) => wrong.into_iter().for_each(|finding| shared.add_finding("texts are lost or duplicated", finding)),
        Err(error) => shared.add_finding("the store at rest", format!("the rows cannot be read: {error}")),
    }
    check_at_rest(&shared.sandbox.store())
        .into_iter()
        .for_each(|finding| shared.add_finding("the store at rest", finding));
}

/// Returns the texts that are not exactly once in the rows and exactly once in the Markdown.
fn find_misplaced(shared: &LoopState) -> rusqlite::Result<Vec<String>> {
    let rows = texts_in_rows(&shared.sandbox.store())?;
    let markdown = texts_in_markdown(&shared.sandbox.store());
    let mut findings = Vec::new();
    for (SentText { text, sent, acknowledged, .. }, is_due) in shared.sent_texts() {
        let (rows, entries) = (occurrences(&rows, &text), occurrences(&markdown, &text));
        let is_right = if is_due { (rows, entries) == (1, 1) } else { rows == entries && rows <= 1 };
        if !is_right {
            let acknowledged =
                acknowledged.map_or("never acknowledged".to_owned(), |round| format!("acknowledged in round {round}"));
            findings
                .push(format!("{text:?}, sent in round {sent}, {acknowledged}, has {rows} rows and {entries} entries"));
        }
    }
    Ok(findings)
}

fn occurrences(there: &BTreeMap<String, usize>, text: &str) -> usize {
    there.get(text).copied().unwrap_or_default()
}

/// Counts each text in the store's Markdown.
fn texts_in_markdown(store: &Path) -> BTreeMap<String, usize> {
    let mut there = BTreeMap::new();
    let files = files_below(store).into_iter();
    for path in files.filter(|path| path.extension().is_some_and(|ending| ending == "md")) {
        let text = read(&path);
        for from in text.match_indices("text ").map(|(from, _)| from) {
            if let Some((said, _)) = text[from..].split_once('.') {
                *there.entry(format!("{said}.")).or_default() += 1;
            }
        }
    }
    there
}

fn count_spooled(shared: &LoopState) -> usize {
    files_below(&shared.sandbox.store().join("spool")).into_iter().filter(|path| path.is_file()).count()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use rusqlite::Connection;

    use super::super::loop_state::MemoryFile;
    use super::*;
    use crate::sandbox::{Binaries, Sandbox};

    #[test]
    fn lost_and_duplicate_texts_are_found() {
        let none = Binaries { memory: PathBuf::new(), hook: PathBuf::new() };
        let shared = LoopState::new(Sandbox::new(none));
        let [lost, once, double, unheard] = ["a hook"; 4].map(|sender| shared.begin_text(sender, MemoryFile::Log));
        [&lost, &once, &double].into_iter().for_each(|said| shared.acknowledge(said));
        let log = format!("- {}\n- {}\n- {}\n", once.text, double.text, double.text);
        let log = shared.sandbox.write(".jikime/memory/2026-01-28.md", log);
        let db = Connection::open(shared.sandbox.store().join("memory.db")).expect("a database");
        db.execute("CREATE TABLE memories (content TEXT, auto INTEGER NOT NULL DEFAULT 0)", []).expect("a table");
        for text in [&once.text, &double.text, &unheard.text] {
            db.execute("INSERT INTO memories (content) VALUES (?)", [text]).expect("a row");
        }
        let wrong = find_misplaced(&shared).expect("rows");
        let ends = ["has 0 rows and 0 entries", "has 1 rows and 2 entries", "has 1 rows and 0 entries"];
        assert!(wrong.len() == 3 && wrong.iter().zip(ends).all(|(wrong, end)| wrong.ends_with(end)), "{wrong:#?}");

        shared.record_write(&log, "One line.\nAnother line.\n");
        fs::write(&log, "Another line.\n").expect("a file");
        shared.check_written("then");
        let found = shared.into_findings().join("\n");
        assert!(found.contains("1 of the 2 lines written to 2026-01-28.md are missing: \"One line.\""), "{found}");
    }
}
