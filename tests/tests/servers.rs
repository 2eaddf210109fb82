//! Several servers on one store, as a host starts one for every session.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use harness::{Era, McpClient, eventually, sandbox};
use serde_json::json;

/// How long another server may take to see that its turn has come.
const SEEN: Duration = Duration::from_secs(20);

/// Servers at once, and the saves of each. The longer run is asked for with `JIKIME_LONG_TESTS`.
const SERVERS: usize = 8;

fn saves_each() -> usize {
    if std::env::var_os("JIKIME_LONG_TESTS").is_some() { 200 } else { 25 }
}

#[test]
fn what_eight_servers_save_at_once_is_all_kept() {
    let sandbox = sandbox!();
    let saved: Vec<String> = thread::scope(|scope| {
        let save = |server: usize| {
            let sandbox = &sandbox;
            move || {
                let mut client = sandbox.serve(if server.is_multiple_of(2) { Era::Modern } else { Era::Legacy });
                let mut save = |n: usize| {
                    // Both ways into a log: at its end, and into the middle.
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
    let listed = sandbox.run_cli(["list", "--json", "--limit", "10000"]).success().json();
    let listed: BTreeSet<&str> = listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    let acknowledged: BTreeSet<&str> = saved.iter().map(String::as_str).collect();
    assert_eq!(acknowledged.len(), SERVERS * saves_each());
    assert_eq!(listed, acknowledged);
    let logs = sandbox.logs();
    for id in &acknowledged {
        assert_eq!(logs.matches(id).count(), 1, "{id}");
    }
}

#[test]
fn edits_are_indexed_by_another_server_when_the_one_that_did_is_killed() {
    let sandbox = sandbox!();
    let finds = |client: &mut McpClient, word: &str| {
        let found = client.call("memory_search", json!({ "query": word })).unwrap();
        found.expect_success()["count"].as_u64().unwrap() > 0
    };
    let mut clients: Vec<McpClient> = (0..3).map(|_| sandbox.serve(Era::Modern)).collect();
    for (n, word) in ["quokka", "walrus", "narwhal"].into_iter().enumerate() {
        let owner = McpClient::owner_of(&mut clients);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("The {word} guards the vault.\n"));
        // All servers find what the one has indexed.
        clients.iter_mut().for_each(|client| eventually(SEEN, || finds(client, word)));
        clients.remove(owner).kill();
    }
}
