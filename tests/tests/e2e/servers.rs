//! Several servers on one store, as hosts start one per session.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use harness::environment;
use harness::{Era, McpClient, eventually, sandbox};
use serde_json::json;

/// Time limit for another server to take over.
const SEEN: Duration = Duration::from_secs(20);

/// Concurrent servers, and saves of each. `JIKIME_LONG_TESTS` runs more.
const SERVERS: usize = 8;

fn saves_each() -> usize {
    if environment::is_long() { 200 } else { 25 }
}

#[test]
fn eight_servers_save_concurrently() {
    let sandbox = sandbox!();
    let saved: Vec<String> = thread::scope(|scope| {
        let save = |server: usize| {
            let sandbox = &sandbox;
            move || {
                let mut client = sandbox.serve(if server.is_multiple_of(2) { Era::Modern } else { Era::Legacy });
                let mut save = |n: usize| {
                    // Both ways of writing a log: appending and inserting.
                    let kind = if n.is_multiple_of(2) { "decision" } else { "error_fix" };
                    let content = format!("part {n} of server {server}");
                    let saved = client.call("memory_save", json!({ "type": kind, "content": content })).unwrap();
                    let saved = saved.expect_success();
                    assert_eq!(saved["saved"], true, "{saved}");
                    saved["id"].as_str().unwrap().to_owned()
                };
                (0..saves_each()).map(&mut save).collect::<Vec<_>>()
            }
        };
        let servers: Vec<_> = (0..SERVERS).map(|server| scope.spawn(save(server))).collect();
        servers.into_iter().flat_map(|server| server.join().unwrap()).collect()
    });
    let listed = sandbox.run_cli(["list", "--json", "--limit", "10000"]).assert_success().json();
    let listed: BTreeSet<&str> = listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    let acknowledged: BTreeSet<&str> = saved.iter().map(String::as_str).collect();
    assert_eq!(acknowledged.len(), SERVERS * saves_each());
    // Saves answer with short ids.
    let is_acknowledged = |full: &&str| acknowledged.iter().any(|id| full.starts_with(id));
    assert_eq!((listed.len(), listed.iter().all(is_acknowledged)), (acknowledged.len(), true));
    let logs = sandbox.logs();
    for id in &acknowledged {
        assert_eq!(logs.matches(id).count(), 1, "{id}");
    }
}

#[test]
fn another_server_indexes_after_a_kill() {
    let sandbox = sandbox!();
    let finds = |client: &mut McpClient, word: &str| {
        let found = client.call("memory_search", json!({ "query": word })).unwrap();
        found.expect_success()["count"].as_u64().unwrap() > 0
    };
    let mut clients: Vec<McpClient> = (0..3).map(|_| sandbox.serve(Era::Modern)).collect();
    for (n, word) in ["quokka", "walrus", "narwhal"].into_iter().enumerate() {
        let owner = McpClient::owner_of(&mut clients);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("The {word} guards the vault.\n"));
        // All servers find what one of them has indexed.
        clients.iter_mut().for_each(|client| eventually(SEEN, || finds(client, word)));
        clients.remove(owner).kill();
    }
}
