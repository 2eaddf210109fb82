//! A review finds what is outdated, repeated or contradictory, and its decisions are part of the Markdown.

use std::fs;

use harness::{Era, Sandbox, sandbox};
use serde_json::{Value, json};

fn review(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run_cli(["review", "--json"]).assert_success().json().as_array().unwrap().clone()
}

fn kinds(candidates: &[Value]) -> Vec<&str> {
    candidates.iter().map(|candidate| candidate["kind"].as_str().unwrap()).collect()
}

fn save(sandbox: &Sandbox, kind: &str, text: &str) -> String {
    let saved = sandbox.run_cli(["save", kind, text, "--json"]);
    saved.assert_success().json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn candidates_have_texts_ids_and_reasons() {
    let sandbox = sandbox!();
    let first = save(&sandbox, "decision", "The pool in db.toml has 10 connections");
    let second = save(&sandbox, "decision", "The pool in db.toml has 20 connections");
    save(&sandbox, "decision", "The queue in mq.toml has 20 workers");
    // A person wrote it, so that nothing redacted it.
    let log = sandbox.store().join("2026-01-28.md");
    let key = ["AKIA", "Q4VZ7JX2M5LTNW3R"].concat();
    fs::write(log, format!("# 2026-01-28\n\n## Learning\n\n- The key of the test is {key}\n")).unwrap();
    let found = review(&sandbox);
    assert_eq!(kinds(&found), ["secret_found", "changed_value"], "{found:#?}");
    assert!(!found[0].to_string().contains("Q4VZ7JX2"), "{:#}", found[0]);
    let memories = &found[1]["memories"];
    assert_eq!((&memories[0]["id"], &memories[1]["id"]), (&json!(first), &json!(second)), "{memories:#}");
    assert_eq!(found[1]["reason"], "a number differs");
    let listed = sandbox.run_cli(["review"]).assert_success().stdout.clone();
    assert!(listed.contains("changed value") && listed.contains("has 10 connections"), "{listed}");

    let mut client = sandbox.serve(Era::Modern);
    let prompt = client.request("prompts/get", json!({ "name": "review-memory" })).unwrap();
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains(&first) && text.contains(&second) && !text.contains("Q4VZ7JX2"), "{text}");
    client
        .call("memory_save", json!({ "type": "decision", "content": "The pool has 30", "supersedes": first }))
        .unwrap();
    drop(client);
    assert_eq!(kinds(&review(&sandbox)), ["secret_found"]);
}

#[test]
fn decisions_survive_without_the_databases() {
    let sandbox = sandbox!();
    sandbox.write("src/auth.rs", "fn verify_token() {}\n");
    save(&sandbox, "decision", "verify_token in src/auth.rs makes no network calls");
    sandbox.write("src/auth.rs", "fn verify_token() { call() }\n");
    let first = save(&sandbox, "decision", "The pool in db.toml has 10 connections");
    save(&sandbox, "decision", "The pool in db.toml has 20 connections");
    save(&sandbox, "decision", "Uploads in media.yaml are at most 8 MB");
    save(&sandbox, "decision", "Uploads in media.yaml are at most 16 MB");
    save(&sandbox, "learning", "The proxy buffers answers of more than 64 KB");
    save(&sandbox, "learning", "Answers of more than 64 KB: the proxy buffers them");
    save(&sandbox, "task", "Rename the nightly job");
    save(&sandbox, "learning", "The nightly job is renamed.");
    let before = review(&sandbox);
    assert_eq!(
        kinds(&before),
        ["changed_value", "changed_value", "said_twice", "finished_task", "stale"],
        "{before:#?}"
    );

    let mut terminal = sandbox.terminal((80, 40), &["review"]);
    terminal.wait_for("5 candidates to review").wait_for("keep both").press("k\r").wait_for("not be asked again");
    terminal.wait_for("2/5").press("s\r").wait_for("supersedes");
    terminal.wait_for("3/5").press("f\r").wait_for("Delete which one").press("1\r").wait_for("Deleted");
    terminal.wait_for("4/5").press("n\r").wait_for("asked again in 30 days");
    terminal.wait_for("5/5").press("x\rk\r").wait_for("No more candidates.");
    assert!(terminal.end().success());

    for _ in 0..2 {
        assert_eq!(kinds(&review(&sandbox)), Vec::<&str>::new());
        for file in fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().path()) {
            if file.to_string_lossy().contains(".db") {
                fs::remove_file(file).unwrap();
            }
        }
    }
    let shown = sandbox.run_cli(["show", &first]).assert_success().stdout.clone();
    assert!(shown.contains("10 connections"), "{shown}");
}
