//! A server that runs for weeks takes no more memory and no more files than one that was just warmed up.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::time::{Duration, Instant};

use harness::{Era, McpClient, Sandbox, sandbox};
use serde_json::json;

/// How long a server may take to put away what it has used.
const SETTLED: Duration = Duration::from_secs(60);

/// Bytes by which the resident memory may differ without anything being lost: pages that the allocator or SQLite hold on to.
const SLACK: u64 = 3 * 1024 * 1024;

/// Calls, and as many changes of files. Ten thousand are done with `JIKIME_LONG_TESTS`.
fn rounds() -> usize {
    if std::env::var_os("JIKIME_LONG_TESTS").is_some() { 10_000 } else { 1_000 }
}

/// What a process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    bytes: u64,
    files: usize,
    threads: usize,
}

fn held(client: &McpClient) -> Held {
    let process = format!("/proc/{}", client.process_id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let count = |of: &str| fs::read_dir(format!("{process}/{of}")).unwrap().count();
    Held { bytes: kilobytes * 1024, files: count("fd"), threads: count("task") }
}

/// A call of every kind that leaves the store as it is, good and bad, and a change of a note.
fn round(client: &mut McpClient, sandbox: &Sandbox, n: usize) {
    let note = format!(".jikime/memory/notes/{}.md", n % 20);
    match n % 4 {
        3 => fs::remove_file(sandbox.project().join(note)).unwrap_or_default(),
        _ => drop(sandbox.write(note, format!("Note {n:06} says where the ocelot sleeps.\n"))),
    }
    match n % 8 {
        0 => drop(client.call("memory_get", json!({ "path": "MEMORY.md" })).unwrap()),
        1 => drop(client.call("memory_load", json!({ "source": "full" })).unwrap()),
        2 => drop(client.call("memory_save", json!({ "type": "decision", "content": "Ocelots sleep." })).unwrap()),
        3 => drop(client.request("resources/read", json!({ "uri": "memory://long-term" })).unwrap()),
        4 => drop(client.call("memory_get", json!({ "path": "no/such.md" })).unwrap()),
        5 => {
            let taken_back = client.send_call("memory_search", json!({ "query": "who sleeps?" }));
            client.cancel(taken_back);
        }
        _ => {
            let query = format!("where does ocelot {n} sleep?");
            client.call("memory_search", json!({ "query": query })).unwrap().expect_success();
        }
    }
}

#[test]
fn calls_and_changes_of_files_leave_nothing_behind() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nOcelots sleep under the stairs.\n");
    let mut client = sandbox.serve(Era::Legacy);
    (0..rounds() / 2).for_each(|n| round(&mut client, &sandbox, n));
    crowd(&mut client);
    let warm = held(&client);
    (0..rounds()).for_each(|n| round(&mut client, &sandbox, n));
    crowd(&mut client);
    let deadline = Instant::now() + SETTLED;
    loop {
        let now = held(&client);
        if now.bytes <= warm.bytes + SLACK && now.files <= warm.files && now.threads <= warm.threads {
            return;
        }
        assert!(Instant::now() < deadline, "{warm:?} when warm, {now:?} after {} rounds", rounds());
        client.call("memory_load", json!({})).unwrap().expect_success();
    }
}

/// So many questions at once that every thread there may be has some.
fn crowd(client: &mut McpClient) {
    for _ in 0..3 {
        let ask = |n| client.send_call("memory_search", json!({ "query": format!("where does ocelot {n} sleep?") }));
        let asked: Vec<_> = (0..60).map(ask).collect();
        asked.into_iter().for_each(|id| drop(client.answer(id).unwrap()));
    }
}
