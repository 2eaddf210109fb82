//! A server's log shows what it did, without contents of memories or queries.

use std::fs;
use std::time::Duration;

use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use serde_json::json;

const SEEN: Duration = Duration::from_secs(20);

/// All log files of the project's server.
fn logged(sandbox: &Sandbox) -> String {
    let Ok(items) = fs::read_dir(sandbox.store().join("log")) else { return String::new() };
    items.map(|item| fs::read_to_string(item.unwrap().path()).unwrap()).collect()
}

/// Sends words through all calls, valid and invalid, and returns standard error.
fn talk(sandbox: &Sandbox) -> String {
    sandbox.write(".jikime/memory/notes/bandicoot.md", "The bandicoot sleeps by day.\n");
    let mut client = sandbox.serve(Era::Legacy);
    let mut call = |tool: &str, arguments| client.call(tool, arguments).unwrap();
    let saved = call("memory_save", json!({ "type": "decision", "content": "The walrus guards the vault." }));
    let id = saved.expect_success()["id"].clone();
    call("memory_save", json!({ "type": "decision", "content": "The walrus guards the vault." })).expect_success();
    call("memory_save", json!({ "type": "walrus", "content": "The walrus guards the vault." }));
    call("memory_save", json!({ "type": "decision", "content": "quokka", "supersedes": "the quokka" }));
    call("memory_search", json!({ "query": "which walrus, \"narwhal\" or quokka*?" })).expect_success();
    call("memory_search", json!({ "query": "narwhal", "walrus": true }));
    call("memory_get", json!({ "id": id })).expect_success();
    call("memory_get", json!({ "path": "notes/bandicoot.md" })).expect_success();
    call("memory_get", json!({ "path": "../narwhal.md" }));
    call("memory_get", json!({ "path": "notes/narwhal.md" }));
    call("memory_load", json!({ "source": "full" })).expect_success();
    call("memory_reindex", json!({ "full": true })).expect_success();
    let uri = json!({ "uri": "memory://memory/walrus" });
    client.request("resources/read", uri).unwrap_err();
    client.send_line("{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"walrus/quokka\"}");
    eventually(SEEN, || sandbox.socket().is_some());
    let mut prompt = sandbox.event("UserPromptSubmit");
    prompt["prompt"] = "why does the narwhal sing?".into();
    sandbox.run_hook("memory-prompt-save", &prompt.to_string()).assert_success();
    let mut stderr = client.close().stderr;
    // A client that calls before it initialises.
    let mut rude = sandbox.memory_command();
    rude.arg("serve");
    let mut rude = McpClient::start_silently(rude, Era::Legacy);
    rude.send_line(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"memory_save\",
         \"arguments\":{\"content\":\"walrus\"}}}"
            .replace('\n', "")
            .as_str(),
    );
    stderr.push_str(&rude.close().stderr);
    stderr
}

#[test]
fn logs_hold_ids_places_and_sizes_and_no_content() {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_LOG", "debug");
    let stderr = talk(&sandbox);
    let logged = logged(&sandbox);
    for (place, text) in [("standard error", &stderr), ("the log", &logged)] {
        for told in [
            "memory_save took",
            "memory_search took",
            "not found",
            " ms: invalid",
            "receives events from hooks",
            "as process",
        ] {
            assert!(text.contains(told), "{told:?} is not in {place}: {text}");
        }
        for word in ["walrus", "quokka", "narwhal", "vault", "bandicoot"] {
            assert!(!text.contains(word), "{word:?} is in {place}: {text}");
        }
    }
}

#[test]
fn default_log_has_warnings_start_and_stop() {
    let sandbox = sandbox!();
    let stderr = talk(&sandbox);
    let logged = logged(&sandbox);
    assert_eq!(stderr, "");
    assert_eq!((logged.matches("started version").count(), logged.matches("stopped").count()), (2, 2), "{logged}");
    assert!(!logged.contains("took"), "{logged}");
}

#[cfg(unix)]
#[test]
fn linked_log_is_not_followed() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Links are not followed."]).assert_success();
    fs::create_dir(sandbox.root().join("outside")).unwrap();
    std::os::unix::fs::symlink(sandbox.root().join("outside"), sandbox.store().join("log")).unwrap();
    sandbox.serve(Era::Modern).close();
    assert_eq!(fs::read_dir(sandbox.root().join("outside")).unwrap().count(), 0);
}
