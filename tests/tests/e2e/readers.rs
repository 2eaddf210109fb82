//! Reads are answered during slow operations.

use std::time::Duration;

use harness::{Era, McpClient, RequestId, Sandbox, eventually, sandbox};
use serde_json::{Value, json};

const SEEN: Duration = Duration::from_mins(1);

/// Enough notes for a slow index run.
const NOTES: usize = 1_000;

fn fill(sandbox: &Sandbox) {
    for n in 0..NOTES {
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("ocelot{n} sleeps{n} under{n}\n"));
    }
}

/// Starts a full rebuild, waits for its first progress, and returns the number of earlier progress notifications.
fn rebuild(client: &mut McpClient) -> (RequestId, usize) {
    let before = client.notifications("notifications/progress").len();
    let rebuilt = client.send_call("memory_reindex", json!({ "full": true }));
    eventually(SEEN, || client.notifications("notifications/progress").len() > before);
    (rebuilt, before)
}

fn found(client: &mut McpClient, n: usize) -> Value {
    let found = client.call("memory_search", json!({ "query": format!("ocelot{n}") })).unwrap();
    found.expect_success()["results"][0].clone()
}

#[test]
fn searches_continue_during_rebuild_and_see_it() {
    let sandbox = sandbox!();
    fill(&sandbox);
    sandbox.run_cli(["index"]).assert_success();
    let mut client = sandbox.serve(Era::Modern);
    let before = found(&mut client, 7);
    let (rebuilt, before_it) = rebuild(&mut client);
    assert_eq!(found(&mut client, 7)["id"], before["id"]);
    let memory = client.call("memory_get", json!({ "id": before["id"] })).unwrap();
    assert!(memory.expect_success()["content"].as_str().unwrap().contains("ocelot7"));
    let steps = client.notifications("notifications/progress").split_off(before_it);
    let done = steps.last().unwrap()["progress"].as_f64().unwrap();
    assert!(done < NOTES as f64, "the rebuild was over before the answers came");
    assert!(client.call("memory_stats", json!({})).unwrap().expect_success()["chunks"].as_u64().unwrap() > 0);
    client.answer(rebuilt).unwrap();
    assert_eq!(found(&mut client, 7)["id"], before["id"]);
    sandbox.write(".jikime/memory/notes/new.md", "ocelot99999 came later\n");
    client.call("memory_reindex", json!({})).unwrap().expect_success();
    assert!(found(&mut client, 99_999)["path"].as_str().unwrap().ends_with("new.md"));
}

#[test]
fn questions_at_once_are_all_answered() {
    let sandbox = sandbox!();
    fill(&sandbox);
    sandbox.run_cli(["index"]).assert_success();
    let mut client = sandbox.serve(Era::Modern);
    let asked: Vec<RequestId> =
        (0..40).map(|n| client.send_call("memory_search", json!({ "query": format!("ocelot{n}") }))).collect();
    for (n, id) in asked.into_iter().enumerate() {
        let found = client.answer(id).unwrap();
        let path = found["structuredContent"]["results"][0]["path"].as_str().unwrap().to_owned();
        assert!(path.ends_with(&format!("/{n}.md")), "{n}: {path}");
    }
}

#[test]
fn saved_memory_is_found_by_the_next_reader() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    for n in 0..30 {
        let content = format!("Finding{n} is about the scheduler.");
        let saved = client.call("memory_save", json!({ "type": "learning", "content": content })).unwrap();
        let asked: Vec<RequestId> = (0..4)
            .map(|_| client.send_call("memory_search", json!({ "query": format!("finding{n} scheduler") })))
            .collect();
        for id in asked {
            let found = client.answer(id).unwrap();
            assert_eq!(found["structuredContent"]["results"][0]["id"], saved.expect_success()["id"], "{n}");
        }
    }
}
