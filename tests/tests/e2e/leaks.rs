//! A server that runs for weeks uses no more memory and files than one that is warmed up.

use std::fs;
use std::time::{Duration, Instant};

use harness::environment;
use harness::{Era, McpClient, Sandbox, sandbox};
use serde_json::json;

/// Time limit for a server to release resources.
const SETTLED: Duration = Duration::from_mins(1);

/// Tolerance of resident memory in bytes: pages that the allocator or SQLite retain.
const SLACK: u64 = 3 * 1024 * 1024;

/// Number of calls and of file changes. `JIKIME_LONG_TESTS` uses ten thousand.
fn rounds() -> usize {
    if environment::is_long() { 10_000 } else { 1_000 }
}

/// Resources of a process.
#[derive(Debug, Clone, Copy)]
struct ProcessUsage {
    bytes: u64,
    files: usize,
    threads: usize,
}

fn process_usage(client: &McpClient) -> ProcessUsage {
    let process = format!("/proc/{}", client.process_id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let count = |of: &str| fs::read_dir(format!("{process}/{of}")).unwrap().count();
    ProcessUsage { bytes: kilobytes * 1024, files: count("fd"), threads: count("task") }
}

/// A valid and an invalid call of every kind, none of which changes the store, and a changed note.
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
    let warm = process_usage(&client);
    (0..rounds()).for_each(|n| round(&mut client, &sandbox, n));
    crowd(&mut client);
    let deadline = Instant::now() + SETTLED;
    loop {
        let now = process_usage(&client);
        if now.bytes <= warm.bytes + SLACK && now.files <= warm.files && now.threads <= warm.threads {
            return;
        }
        assert!(Instant::now() < deadline, "{warm:?} when warm, {now:?} after {} rounds", rounds());
        client.call("memory_load", json!({})).unwrap().expect_success();
    }
}

/// Enough concurrent questions to start all threads.
fn crowd(client: &mut McpClient) {
    for _ in 0..3 {
        let ask = |n| client.send_call("memory_search", json!({ "query": format!("where does ocelot {n} sleep?") }));
        let asked: Vec<_> = (0..60).map(ask).collect();
        asked.into_iter().for_each(|id| drop(client.answer(id).unwrap()));
    }
}
