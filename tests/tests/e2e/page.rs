//! The page of `view` without a browser: who gets in, what it answers and what it changes. tests/page plays it in a browser.

use harness::{PageServer, Sandbox, sandbox};
use serde_json::{Value, json};

fn save(sandbox: &Sandbox, text: &str) -> String {
    let saved = sandbox.run_cli(["save", "decision", text, "--json"]);
    saved.assert_code(0);
    serde_json::from_str::<Value>(&saved.stdout).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn page_and_json_show_the_same_memories() {
    let sandbox = sandbox!();
    let id = save(&sandbox, "Cache <b>tokens</b> in Redis");
    let page = PageServer::start(sandbox.memory_command());
    let hit = &page.json("api/search?q=redis")["memories"][0];
    assert_eq!((hit["id"].as_str(), hit["type"].as_str()), (Some(id.as_str()), Some("decision")));
    assert!(page.get("search?q=redis").body.contains("Cache &lt;b&gt;tokens&lt;/b&gt; in <mark>Redis</mark>"));
    assert_eq!(page.json(&format!("api/memories/{}", &id[..8]))["text"], "Cache <b>tokens</b> in Redis");
    assert!(page.json(&format!("api/citations/{id}"))["lines"].to_string().contains("Redis"));
    assert_eq!(page.json("api/stats")["stats"]["memories"], 1);
    for path in
        ["api/sessions", "api/timeline", "api/tasks", "timeline", "sessions", "tasks", "review", "briefs", "health"]
    {
        assert_eq!(page.get(path).status, 200, "{path}");
    }
    assert_eq!(page.get("api/memories/none").status, 404);
    assert_eq!(page.get("search?type=opinion").status, 422);
}

#[test]
fn nobody_else_gets_in() {
    let sandbox = sandbox!();
    save(&sandbox, "Cache tokens in Redis");
    let page = PageServer::start(sandbox.memory_command());
    assert_eq!(page.send("GET", "search", &[], "").status, 401);
    assert_eq!(page.send("GET", "api/search", &[("Cookie", "jikime_view=1")], "").status, 401);
    assert_eq!(page.send("GET", "search", &[("Cookie", page.cookie()), ("Host", "evil.example")], "").status, 421);
    let foreign = [("Cookie", page.cookie()), ("Origin", "https://evil.example"), ("X-Jikime-Form", page.form_token())];
    assert_eq!(page.send("POST", "do", &foreign, "action=pin").status, 403);
    let entry = page.send("GET", "", &[], "");
    assert_eq!(entry.status, 200);
    assert!(entry.head.contains("content-security-policy: default-src 'none'"), "{}", entry.head);
    assert!(!entry.body.contains("Redis"));
}

#[test]
fn edit_of_a_changed_text_is_refused() {
    let sandbox = sandbox!();
    let id = save(&sandbox, "Cache tokens in Redis");
    let page = PageServer::start(sandbox.memory_command());
    let seen = page.json(&format!("api/memories/{id}"))["digest"].as_str().unwrap().to_owned();
    sandbox.run_cli(["edit", &id, "--text", "Cache tokens in Valkey"]).assert_code(0);
    let refused = page.act(&format!("action=edit&id={id}&seen={seen}&text=Cache+tokens+in+memory"));
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("changed meanwhile"), "{}", refused.body);
    assert!(sandbox.logs().contains("Valkey"));
}

#[test]
fn deletion_can_be_undone_and_ends_with_the_server() {
    let sandbox = sandbox!();
    let ids = [save(&sandbox, "Cache tokens in Redis"), save(&sandbox, "Deploy on Fridays")];
    let page = PageServer::start(sandbox.memory_command());
    for id in &ids {
        let done = page.act(&format!("action=forget&id={id}"));
        assert_eq!(done.status, 200, "{}", done.body);
    }
    assert_eq!(page.json("api/search")["memories"], json!([]));
    assert_eq!(page.act(&format!("action=undo&id={}", ids[0])).status, 200);
    assert_eq!(page.act(&format!("action=undo&id={}", ids[0])).status, 422, "only once");
    assert!(sandbox.logs().contains("Fridays"), "nothing is deleted yet");
    #[cfg(unix)]
    {
        page.terminate();
        let logs = sandbox.logs();
        assert!(logs.contains("Redis") && !logs.contains("Fridays"), "{logs}");
    }
}
