//! A memory about code says when that code changed, until somebody confirms it.

use std::fs;

use harness::{Era, Sandbox, sandbox};
use serde_json::{Value, json};

const CODE: &str = "use key::Key;\n\npub fn verify_token(key: &Key) -> bool {\n    key.is_valid()\n}\n";
const DECISION: &str = "We decided to keep `verify_token` in src/auth.rs free of network calls.";

/// Ends a turn with an answer, as Claude Code reports it.
fn answer(sandbox: &Sandbox, text: &str) {
    let mut event = sandbox.event("Stop");
    event["last_assistant_message"] = text.into();
    sandbox.run_hook("memory-complete", &event.to_string()).assert_success();
}

fn first_hit(sandbox: &Sandbox) -> Value {
    let found = sandbox.run_cli(["search", "--json", "verify_token network calls", "--type", "decision"]);
    found.assert_success().json()["results"][0].clone()
}

fn delete_databases(sandbox: &Sandbox) {
    for file in fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().path()) {
        if file.to_string_lossy().contains(".db") {
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn changed_function_is_shown_until_confirmed() {
    let sandbox = sandbox!();
    sandbox.write("src/auth.rs", CODE);
    answer(&sandbox, DECISION);
    let log = sandbox.logs();
    let expected = r#""path":"src/auth.rs","size":77,"symbol":"verify_token""#;
    assert!(log.contains(expected) && !log.contains(&*sandbox.root().to_string_lossy()), "{log}");
    let hit = first_hit(&sandbox);
    assert_eq!((hit["code"].clone(), hit["type"].as_str()), (Value::Null, Some("decision")), "{hit:#}");

    // Another function of the file does not matter.
    sandbox.write("src/auth.rs", format!("{CODE}\nfn other() {{}}\n"));
    assert_eq!(first_hit(&sandbox)["code"], Value::Null);
    sandbox.write("src/auth.rs", CODE.replace("is_valid", "is_known"));
    let changed = "verify_token in src/auth.rs changed soon after this";
    let id = hit["id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let now = first_hit(&sandbox);
        assert_eq!((now["code"].as_str(), now["id"].as_str()), (Some(changed), Some(&*id)), "{now:#}");
        assert!(now["score"].as_f64() < hit["score"].as_f64(), "{now:#}");
        let mut client = sandbox.serve(Era::Modern);
        let shown = client.call("memory_get", json!({ "id": id })).unwrap().expect_success().clone();
        assert_eq!(shown["memory"]["code"], json!([changed]), "{shown:#}");
        assert!(shown["notice"].as_str().unwrap().starts_with(changed), "{shown:#}");
        let brief = sandbox.run_cli(["load", "--brief"]).assert_success().stdout.clone();
        assert!(brief.contains(changed), "{brief}");
        assert!(sandbox.run_cli(["show", &id]).assert_success().stdout.contains(changed));
        drop(client);
        delete_databases(&sandbox);
    }
    sandbox.run_cli(["confirm", &id]).assert_success();
    for _ in 0..2 {
        let now = first_hit(&sandbox);
        assert_eq!((&now["code"], now["id"].as_str()), (&Value::Null, Some(&*id)), "{now:#}");
        delete_databases(&sandbox);
    }
    fs::remove_file(sandbox.project().join("src/auth.rs")).unwrap();
    assert_eq!(first_hit(&sandbox)["code"], "src/auth.rs is gone");
}

#[test]
fn saving_the_same_text_confirms_it() {
    let sandbox = sandbox!();
    sandbox.write("src/auth.rs", CODE);
    let mut client = sandbox.serve(Era::Modern);
    let saved = client.call("memory_save", json!({ "type": "decision", "content": DECISION })).unwrap();
    let id = saved.expect_success()["id"].clone();
    sandbox.write("src/auth.rs", CODE.replace("is_valid", "is_known"));
    assert!(first_hit(&sandbox)["code"].is_string());
    sandbox.run_cli(["save", "decision", DECISION, "--json"]).assert_success();
    let shown = client.call("memory_get", json!({ "id": id })).unwrap().expect_success().clone();
    assert_eq!(shown["memory"]["code"], json!(["verify_token in src/auth.rs is unchanged"]), "{shown:#}");
    let memory = &shown["memory"];
    assert!(memory["confirmed_at"].is_string() && memory["standing"] == "confirmed", "{shown:#}");
}

#[test]
fn hostile_anchors_are_ignored_and_stay_in_the_log() {
    let sandbox = sandbox!();
    let anchors = json!([
        { "path": "../../../etc/passwd", "size": 1, "hash": "0123456789abcdef" },
        { "path": "/dev/zero", "size": 1, "hash": "0123456789abcdef" },
        { "path": "a\nb", "size": -1, "odd": [{}] },
    ]);
    let entry = format!("- {DECISION} <!-- {{\"id\":\"0af30af3\",\"metadata\":{{\"anchors\":{anchors}}}}} -->\n");
    let path = ".jikime/memory/2026-01-28.md";
    let log = format!("# 2026-01-28\n\n## Decision\n\n{entry}");
    sandbox.write(path, &log);
    let hit = first_hit(&sandbox);
    assert_eq!((hit["id"].as_str(), &hit["code"]), (Some("0af30af3"), &Value::Null), "{hit:#}");
    sandbox.run_cli(["confirm", "0af30af3"]).assert_success();
    assert_eq!(sandbox.read(path), log);
}
