//! Starts the server with each host's configuration in the documents.

use std::fs;
use std::path::Path;

use harness::{Era, HttpServer, McpClient, Sandbox, sandbox};
use rstest::rstest;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// The keys of servers in hosts' configurations.
const KEYS: [&str; 4] = ["mcpServers", "servers", "context_servers", "mcp_servers"];

/// Placeholders for the project in documents and hosts.
const PROJECT: [&str; 2] = ["/path/to/project", "${workspaceFolder}"];

#[rstest]
#[case::example("mcp.example.json", &["jikime-memory"])]
#[case::setup("docs/setup.md", &["Claude Code", "Claude Desktop", "Codex", "Cursor", "VS Code", "Gemini CLI", "Zed", "Windsurf", "HTTP"])]
fn a_documented_entry_starts_the_server(#[case] document: &str, #[case] hosts: &[&str]) {
    let entries = entries(document);
    assert_eq!(entries.len(), hosts.len(), "{entries:#?}");
    for ((before, entry), host) in entries.iter().zip(hosts) {
        assert!(before.contains(host), "the entry of {host} is here described as {before:?}: {entry}");
        let mut sandbox = sandbox!();
        match entry["url"].as_str() {
            Some(url) => over_http(&mut sandbox, url, entry),
            None => over_stdio(&sandbox, entry),
        }
    }
}

fn over_stdio(sandbox: &Sandbox, entry: &Value) {
    let program = entry["command"].as_str().unwrap();
    assert_eq!(Path::new(program).file_name().unwrap(), "jikime-memory");
    let mut command = sandbox.memory_command();
    for argument in entry["args"].as_array().unwrap() {
        let project = sandbox.project();
        let argument = argument.as_str().unwrap();
        assert!(!argument.contains('$') || PROJECT.contains(&argument), "who puts {argument} in?");
        command.arg(if PROJECT.contains(&argument) { project.as_os_str() } else { argument.as_ref() });
    }
    for (name, value) in entry["env"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap());
    }
    let known = ["type", "source", "command", "args", "env"];
    let strange: Vec<_> = entry.as_object().unwrap().keys().filter(|key| !known.contains(&key.as_str())).collect();
    assert!(strange.is_empty(), "{strange:?}");
    assert_eq!(McpClient::start(command, Era::Legacy).tools().len(), 6);
}

fn over_http(sandbox: &mut Sandbox, url: &str, entry: &Value) {
    let token = "a-token-of-the-tests-only";
    sandbox.set_variable("JIKIME_HTTP_TOKEN", token);
    let server = HttpServer::start(sandbox, &[]);
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/mcp"), "{url}");
    let header = entry["headers"]["Authorization"].as_str().unwrap().replace("${JIKIME_HTTP_TOKEN}", token);
    let ping = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;
    assert_eq!(server.post(&[("Authorization", &header)], ping).status, 200);
}

/// The configurations in a document, each with the paragraph before it.
fn entries(document: &str) -> Vec<(String, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(document);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if document.ends_with(".json") {
        return servers(&serde_json::from_str(&text).unwrap(), "jikime-memory");
    }
    let mut entries = Vec::new();
    // Odd pieces are inside a fence.
    let pieces: Vec<&str> = text.split("```").collect();
    for around in pieces.windows(2).step_by(2) {
        let (language, block) = around[1].split_once('\n').unwrap();
        let configuration = match language {
            "json" => serde_json::from_str(block).unwrap_or_else(|error| panic!("{document}: {error} in {block}")),
            "toml" => from_toml(&DeValue::Table(DeTable::parse(block).unwrap().into_inner())),
            _ => continue,
        };
        let before = heading(around[0]);
        entries.extend(servers(&configuration, before));
    }
    entries
}

/// The topic of a block: the last bold words before it, else the last heading.
fn heading(text: &str) -> &str {
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    if last.starts_with("**") {
        return last.split("**").nth(1).unwrap_or_default();
    }
    text.rsplit("\n## ").next().and_then(|section| section.lines().next()).unwrap_or_default()
}

fn servers(configuration: &Value, before: &str) -> Vec<(String, Value)> {
    let servers = KEYS.iter().filter_map(|key| configuration[key].as_object()).flatten();
    servers.map(|(_, server)| (before.to_owned(), server.clone())).collect()
}

fn from_toml(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Array(items) => items.iter().map(|item| from_toml(item.get_ref())).collect(),
        DeValue::Table(table) => {
            table.iter().map(|(key, value)| (key.get_ref().to_string(), from_toml(value.get_ref()))).collect()
        }
        other => panic!("no entry holds {other:?}"),
    }
}
