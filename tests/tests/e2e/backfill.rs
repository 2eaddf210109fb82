//! Embedding after a session without a server, in a background process.

use std::time::Duration;

use harness::{Era, ProviderBehaviour, ProviderStandIn, Sandbox, eventually, sandbox};
use rusqlite::{Connection, OpenFlags};
use schema::files::layout::Layout;
use schema::files::lock::FileLock;
use serde_json::json;

const PATIENCE: Duration = Duration::from_mins(1);

/// A sandbox whose hooks start the background process.
fn sandbox_with_backfill() -> Sandbox {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBED_BACKFILL", "1");
    sandbox
}

fn prompt(sandbox: &Sandbox) {
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).assert_success().assert_no_stderr();
}

fn end_session(sandbox: &Sandbox) {
    let event = sandbox.event("SessionEnd.other").to_string();
    // The harness fails if a child process keeps the pipes open.
    sandbox.run_hook("memory-save", &event).assert_success().assert_no_stderr().assert_no_stdout();
}

fn vectors(sandbox: &Sandbox) -> i64 {
    let path = sandbox.store().join("index.db");
    // A check must not create the database.
    let Ok(db) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) else { return 0 };
    db.query_row("SELECT count(*) FROM embeddings", [], |row| row.get(0)).unwrap_or(0)
}

/// Whether the process ran and ended: its lock file exists and is unlocked.
fn is_finished(sandbox: &Sandbox) -> bool {
    let path = Layout::new(&sandbox.project()).backfill_lock();
    path.exists() && FileLock::acquire(&path, Duration::ZERO).is_ok()
}

#[test]
fn the_end_of_a_session_has_vectors_made_when_no_server_runs() {
    let sandbox = sandbox_with_backfill();
    prompt(&sandbox);
    assert_eq!(vectors(&sandbox), 0);
    end_session(&sandbox);
    eventually(PATIENCE, || vectors(&sandbox) == 1 && is_finished(&sandbox));
}

#[test]
fn background_process_uses_services() {
    let stand_in = ProviderStandIn::embedding(48);
    let mut sandbox = sandbox_with_backfill();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", stand_in.url()).set_variable("JIKIME_EMBEDDING_MODEL", "a-model");
    prompt(&sandbox);
    end_session(&sandbox);
    eventually(PATIENCE, || vectors(&sandbox) == 1 && is_finished(&sandbox));
    let found = sandbox.run_cli(["search", "--json", "--min-score", "0", "gateway"]).assert_success().json();
    assert_eq!(found["mode"], "hybrid", "{found:#}");
}

#[test]
fn background_process_ends_without_work() {
    let stand_in = ProviderStandIn::start(|_, _| ProviderBehaviour::Silence);
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", stand_in.url());
    sandbox.set_variable("JIKIME_EMBEDDING_DIMENSIONS", "48");
    // This must not create a store.
    sandbox.run_cli(["embed-backfill"]).assert_success().assert_no_stdout().assert_no_stderr();
    assert!(!sandbox.store().exists());
    prompt(&sandbox);
    // Another process holds the lock.
    let layout = Layout::new(&sandbox.project());
    let other = FileLock::acquire(&layout.backfill_lock(), Duration::ZERO).unwrap();
    sandbox.run_cli(["embed-backfill"]).assert_success().assert_no_stdout();
    drop(other);
    // A server owns the queue.
    let server = FileLock::acquire(&layout.queue_lock(), Duration::ZERO).unwrap();
    sandbox.run_cli(["embed-backfill"]).assert_success().assert_no_stdout();
    drop(server);
    assert_eq!((vectors(&sandbox), stand_in.asked().len()), (0, 0));
}

#[test]
fn no_second_or_unwanted_server_starts() {
    let mut sandbox = sandbox_with_backfill();
    let mut client = sandbox.serve(Era::Modern);
    client.call("memory_save", json!({"type": "learning", "content": "Something."})).unwrap().expect_success();
    let lock = Layout::new(&sandbox.project()).queue_lock();
    eventually(PATIENCE, || FileLock::acquire(&lock, Duration::ZERO).is_err());
    end_session(&sandbox);
    client.close();
    for (name, value) in [("JIKIME_EMBED_BACKFILL", "0"), ("JIKIME_EMBEDDING_PROVIDER", "none")] {
        sandbox.set_variable("JIKIME_EMBED_BACKFILL", "1").set_variable(name, value);
        end_session(&sandbox);
    }
    // An unwanted process would exist before this one, or soon after.
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "local").set_variable("JIKIME_EMBED_BACKFILL", "0");
    assert!(!Layout::new(&sandbox.project()).backfill_lock().exists());
    sandbox.run_cli(["embed-backfill"]).assert_success();
    assert!(Layout::new(&sandbox.project()).backfill_lock().exists());
}
