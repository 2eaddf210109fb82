//! Vectors for what hooks kept while no server ran: made by a process that a session's end leaves behind.

use std::time::Duration;

use harness::{Does, Era, ProviderStandIn, Sandbox, eventually, sandbox};
use rusqlite::{Connection, OpenFlags};
use schema::layout::Layout;
use schema::lock::FileLock;
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(60);

/// A sandbox whose hooks leave the process behind.
fn sandbox_with_backfill() -> Sandbox {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBED_BACKFILL", "1");
    sandbox
}

fn prompt(sandbox: &Sandbox) {
    let event = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &event).success().complained_of_nothing();
}

fn end_session(sandbox: &Sandbox) {
    let event = sandbox.event("SessionEnd.other").to_string();
    // The harness fails when anything of a program that ended still holds its pipes.
    sandbox.run_hook("memory-save", &event).success().complained_of_nothing().printed_nothing();
}

fn vectors(sandbox: &Sandbox) -> i64 {
    let path = sandbox.store().join("index.db");
    // Looking must not make one.
    let Ok(db) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) else { return 0 };
    db.query_row("SELECT count(*) FROM embeddings", [], |row| row.get(0)).unwrap_or(0)
}

/// Whether the process came and went: it made the file of its lock, and holds it no more.
fn has_ended(sandbox: &Sandbox) -> bool {
    let path = Layout::new(&sandbox.project()).backfill_lock();
    path.exists() && FileLock::acquire(&path, Duration::ZERO).is_ok()
}

#[test]
fn the_end_of_a_session_has_vectors_made_when_no_server_runs() {
    let sandbox = sandbox_with_backfill();
    prompt(&sandbox);
    assert_eq!(vectors(&sandbox), 0);
    end_session(&sandbox);
    eventually(PATIENCE, || vectors(&sandbox) == 1 && has_ended(&sandbox));
}

#[test]
fn a_service_is_asked_as_well() {
    let stand_in = ProviderStandIn::embedding(48);
    let mut sandbox = sandbox_with_backfill();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", stand_in.url()).set_variable("JIKIME_EMBEDDING_MODEL", "a-model");
    prompt(&sandbox);
    end_session(&sandbox);
    eventually(PATIENCE, || vectors(&sandbox) == 1 && has_ended(&sandbox));
    let found = sandbox.run_cli(["search", "--json", "--min-score", "0", "gateway"]).success().json();
    assert_eq!(found["mode"], "hybrid", "{found:#}");
}

#[test]
fn it_ends_at_once_when_there_is_nothing_to_do() {
    let stand_in = ProviderStandIn::start(|_, _| Does::Silence);
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", stand_in.url());
    sandbox.set_variable("JIKIME_EMBEDDING_DIMENSIONS", "48");
    // No store is made.
    sandbox.run_cli(["embed-backfill"]).success().printed_nothing().complained_of_nothing();
    assert!(!sandbox.store().exists());
    prompt(&sandbox);
    // Somebody else is at it.
    let layout = Layout::new(&sandbox.project());
    let other = FileLock::acquire(&layout.backfill_lock(), Duration::ZERO).unwrap();
    sandbox.run_cli(["embed-backfill"]).success().printed_nothing();
    drop(other);
    // A server looks after the store.
    let server = FileLock::acquire(&layout.queue_lock(), Duration::ZERO).unwrap();
    sandbox.run_cli(["embed-backfill"]).success().printed_nothing();
    drop(server);
    assert_eq!((vectors(&sandbox), stand_in.asked().len()), (0, 0));
}

#[test]
fn nothing_is_started_beside_a_server_or_against_a_wish() {
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
    // What was started against a wish would be there before this one, or soon after.
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "local").set_variable("JIKIME_EMBED_BACKFILL", "0");
    assert!(!Layout::new(&sandbox.project()).backfill_lock().exists());
    sandbox.run_cli(["embed-backfill"]).success();
    assert!(Layout::new(&sandbox.project()).backfill_lock().exists());
}
