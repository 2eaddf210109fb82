//! Deleting both databases loses nothing: memories, ids and search results are rebuilt from Markdown.

use std::fs;

use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use schema::files::database::LockTimeout;
use schema::intake::capture::capture;
use schema::intake::prepare::{Destination, Draft};
use schema::model::memory::{MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::store::Store;
use serde_json::{Value, json};
use std::time::Duration;

/// Time limit for the server to notice a change: debounce plus load.
const SEEN: Duration = Duration::from_secs(20);

const TOPICS: [&str; 10] = [
    "retry queue drops a batch after the deploy",
    "결제 웹훅 중복 처리",
    "parse_config panics on an empty file",
    "세션 쿠키로 인증을 바꾼 이유",
    "src/billing/webhook.rs acknowledges too early",
    "error E0308 in the resolver",
    "캐시 무효화는 Redis pub/sub",
    "the release branch is cut on Tuesdays",
    "データベースの移行手順",
    "graphql schema generation is slow",
];

fn fill(sandbox: &Sandbox, memories: usize) {
    let mut store = Store::open(&sandbox.project(), LockTimeout::Server).unwrap();
    for n in 0..memories {
        let kind = MemoryType::ALL[n % MemoryType::ALL.len()];
        let topic = TOPICS[(n / 11) % TOPICS.len()];
        let content = match n % 4 {
            0 => format!("{topic}, case {n}"),
            1 => format!("{topic}\n\n```rust\nlet case = {n};\n```"),
            2 => format!("- {topic}\n- case {n} <!-- not ours -->\n\n## Heading of {n}"),
            _ => format!("  {topic} #{n}\r\n"),
        };
        // The same failure again would be a note about the first one.
        let content = if kind == MemoryType::Error { format!("{n}: {content}") } else { content };
        let long_term = !kind.is_event() && n % 5 == 0;
        let draft = Draft {
            session_id: format!("session-{}", n % 7),
            kind,
            content,
            at: Moment::from_unix(1_769_000_000 + 613 * n as i64, Some(32_400)).unwrap(),
            attributes: MemoryAttributes { importance: (n % 3 == 0).then_some(2), ..MemoryAttributes::default() },
            destination: if long_term { Destination::LongTerm } else { Destination::DailyLog },
        };
        capture(&mut store, draft, &Sanitizer::default()).unwrap();
    }
}

fn memories(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.run_cli(["list", "--json", "-n", "100000"]).assert_success().json();
    let mut memories = listed.as_array().unwrap().clone();
    memories.sort_by_key(|memory| memory["id"].as_str().unwrap().to_owned());
    memories
}

fn search_answers(sandbox: &Sandbox) -> Vec<Value> {
    TOPICS
        .iter()
        .map(|topic| sandbox.run_cli(["search", "--json", "-n", "20", topic]).assert_success().json())
        .collect()
}

#[test]
fn all_types_are_rebuilt_from_markdown() {
    let sandbox = sandbox!();
    fill(&sandbox, 550);
    sandbox.run_cli(["index"]).assert_success();
    let (before, found) = (memories(&sandbox), search_answers(&sandbox));
    assert_eq!(before.len(), 550);
    assert!(found.iter().all(|answer| answer["count"].as_u64().unwrap() >= 10), "{found:#?}");
    for name in fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().path()) {
        if name.to_string_lossy().contains(".db") {
            fs::remove_file(name).unwrap();
        }
    }
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(memories(&sandbox), before);
    assert_eq!(search_answers(&sandbox), found);
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert_eq!(memories(&sandbox), before);
    assert_eq!(search_answers(&sandbox), found);
}

fn snippets(client: &mut McpClient, query: &str) -> Vec<String> {
    let result = client.call("memory_search", json!({ "query": query })).unwrap();
    let hits = result.expect_success()["results"].as_array().unwrap().clone();
    hits.iter().map(|hit| hit["snippet"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn running_server_sees_manual_changes() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    assert_eq!(snippets(&mut client, "walrus"), Vec::<String>::new());
    let note =
        sandbox.write(".jikime/memory/notes/animals.md", "# Animals\n\nThe walrus guards the release checklist.\n");
    eventually(SEEN, || snippets(&mut client, "walrus").len() == 1);

    let replacement = note.with_extension("tmp");
    fs::write(&replacement, "# Animals\n\nThe ocelot guards the release checklist now.\n").unwrap();
    fs::rename(&replacement, &note).unwrap();
    eventually(SEEN, || snippets(&mut client, "ocelot").len() == 1);
    assert_eq!(snippets(&mut client, "walrus"), Vec::<String>::new());

    fs::remove_file(&note).unwrap();
    eventually(SEEN, || snippets(&mut client, "ocelot").is_empty());
}

#[cfg(unix)]
#[test]
fn databases_deleted_under_a_running_server_are_made_again() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    sandbox.run_cli(["save", "decision", "The walrus guards the release."]).assert_success();
    assert_eq!(snippets(&mut client, "walrus").len(), 1);
    for file in fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().path()) {
        if file.to_string_lossy().contains(".db") {
            fs::remove_file(file).unwrap();
        }
    }
    assert_eq!(snippets(&mut client, "walrus").len(), 1);
    sandbox.run_cli(["save", "decision", "The ocelot guards the tests."]).assert_success();
    assert_eq!(snippets(&mut client, "ocelot").len(), 1, "the server sees the new database");
}

#[test]
fn edited_line_updates_and_deleted_line_forgets() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let save = |client: &mut McpClient, content: &str| {
        let result =
            client.call("memory_save", json!({ "type": "decision", "content": content, "longTerm": true })).unwrap();
        result.expect_success()["id"].as_str().unwrap().to_owned()
    };
    // Not the last saved one, because an editor that had opened the file earlier would remove it.
    save(&mut client, "Releases are cut on Tuesdays.");
    let cache = save(&mut client, "Sessions are cached in Redis for five minutes.");
    let path = ".jikime/memory/MEMORY.md";
    let edited = sandbox.read(path).replace("Redis", "Valkey");
    let edited: Vec<&str> = edited.lines().filter(|line| !line.contains("Tuesdays")).collect();
    sandbox.write(path, edited.join("\n"));
    eventually(SEEN, || snippets(&mut client, "valkey sessions").iter().any(|snippet| snippet.contains("Valkey")));
    let content = client.call("memory_get", json!({ "id": cache })).unwrap().expect_success()["content"].clone();
    assert!(content.as_str().unwrap().contains("\nSessions are cached in Valkey for five minutes.\n"));
    assert_eq!(snippets(&mut client, "releases tuesdays"), Vec::<String>::new());
}

#[test]
fn one_fact_is_one_hit_although_log_and_index_both_hold_it() {
    let sandbox = sandbox!();
    let text = "The nightly build publishes to the staging registry.";
    for arguments in [&["save", "--json", "decision", text][..], &["save", "--json", "decision", text, "--long-term"]] {
        let saved = sandbox.run_cli(arguments).assert_success().json();
        assert_eq!(saved["saved"], true, "{saved:#}");
    }
    assert!(sandbox.read(".jikime/memory/MEMORY.md").contains(text));
    sandbox.write(".jikime/memory/notes.md", format!("# Builds\n\n{text}\n"));
    let found = sandbox.run_cli(["search", "--json", "nightly build staging"]).assert_success().json();
    assert_eq!(found["count"], 1, "{found:#}");
}
