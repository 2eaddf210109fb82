//! Memory as resources: list, read, complete and watch, in both protocol eras.

use std::time::Duration;

use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

/// Time limit of a change notification.
const TOLD: Duration = Duration::from_secs(20);

fn store_with_two_logs() -> (Sandbox, String) {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nThe gateway speaks HTTP/2 only.\n");
    sandbox.write(".jikime/memory/2026-01-28.md", "# 2026-01-28\n\n- [10:30:15] **User Prompt**: Why two gateways?\n");
    sandbox.write(".jikime/memory/notes/api.md", "# API\n\nForty requests a second.\n");
    let saved = sandbox.run_cli(["save", "decision", "One gateway is enough.", "--json"]).assert_success().json();
    let id = saved["id"].as_str().unwrap().to_owned();
    (sandbox, id)
}

fn uris(list: &Value, key: &str, field: &str) -> Vec<String> {
    list[key].as_array().unwrap().iter().map(|item| item[field].as_str().unwrap().to_owned()).collect()
}

fn read(client: &mut McpClient, uri: &str) -> (String, String) {
    let result = client.request("resources/read", json!({ "uri": uri })).unwrap();
    let contents = result["contents"].as_array().unwrap();
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)), "{result:#}");
    let text = |field: &str| contents[0][field].as_str().unwrap().to_owned();
    (text("mimeType"), text("text"))
}

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
fn resources_are_listed_and_read(#[case] era: Era) {
    let (sandbox, id) = store_with_two_logs();
    let mut client = sandbox.serve(era);
    let capabilities = &client.greeting()["capabilities"];
    assert_eq!(capabilities["resources"], json!({ "subscribe": true, "listChanged": true }));
    assert!(capabilities["completions"].is_object());
    let list = client.request("resources/list", json!({})).unwrap();
    let listed = uris(&list, "resources", "uri");
    assert_eq!(listed[..3], ["memory://long-term", "memory://today", "memory://stats"]);
    assert!(listed[3].starts_with("memory://daily/20") && listed[4] == "memory://daily/2026-01-28", "{listed:?}");
    let templates = client.request("resources/templates/list", json!({})).unwrap();
    let templates = uris(&templates, "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["memory://daily/{date}", "memory://memory/{id}"]);

    for uri in &listed {
        read(&mut client, uri);
    }
    let long_term = sandbox.read(".jikime/memory/MEMORY.md");
    assert_eq!(read(&mut client, "memory://long-term"), ("text/markdown".to_owned(), long_term));
    assert_eq!(read(&mut client, "memory://today"), read(&mut client, &listed[3]));
    let (_, memory) = read(&mut client, &format!("memory://memory/{id}"));
    assert!(memory.starts_with("decision · 20") && memory.ends_with("\n\nOne gateway is enough.\n"), "{memory}");
    let (mime_type, stats) = read(&mut client, "memory://stats");
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!((mime_type.as_str(), &stats["memories"]), ("application/json", &json!(2)));
}

#[rstest]
#[case::legacy(Era::Legacy, -32002)]
#[case::modern(Era::Modern, -32602)]
fn missing_resource_names_its_uri(#[case] era: Era, #[case] code: i64) {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(era);
    let list = client.request("resources/list", json!({})).unwrap();
    assert_eq!(uris(&list, "resources", "uri"), ["memory://stats"], "only what can be read is listed");
    for uri in [
        "memory://long-term",
        "memory://today",
        "memory://daily/1999-12-31",
        "memory://daily/yesterday",
        "memory://memory/00000000000000000000000000000000",
        "memory://memory/..%2F..%2Fsecret",
        "memory://daily/../../secret",
        "memory://everything",
        "file:///etc/passwd",
    ] {
        let error = client.request("resources/read", json!({ "uri": uri })).unwrap_err();
        assert_eq!((error.code, &error.data), (code, &Some(json!({ "uri": uri }))), "{error:?}");
    }
}

#[test]
fn dates_and_ids_are_completed_from_what_there_is() {
    let (sandbox, id) = store_with_two_logs();
    let mut client = sandbox.serve(Era::Modern);
    let mut complete = |reference: Value, name: &str, value: &str| {
        let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
        client.request("completion/complete", params).map(|result| result["completion"].clone())
    };
    let daily = json!({ "type": "ref/resource", "uri": "memory://daily/{date}" });
    let memory = json!({ "type": "ref/resource", "uri": "memory://memory/{id}" });
    let recall = json!({ "type": "ref/prompt", "name": "recall" });
    let dates = complete(daily.clone(), "date", "2026-01").unwrap();
    assert_eq!(dates, json!({ "values": ["2026-01-28"], "hasMore": false }));
    assert_eq!(complete(daily.clone(), "date", "").unwrap()["values"].as_array().unwrap().len(), 2);
    assert_eq!(complete(memory.clone(), "id", &id[..6]).unwrap()["values"], json!([id]));
    assert_eq!(complete(memory, "id", "").unwrap()["values"][0], json!(id), "the newest first");
    assert_eq!(complete(daily, "id", "2").unwrap()["values"], json!([]));
    assert_eq!(complete(recall, "topic", "r").unwrap()["values"], json!([]));
    let nothing = json!({ "type": "ref/prompt", "name": "forget" });
    assert_eq!(complete(nothing, "topic", "r").unwrap_err().code, -32602);
}

/// Waits until a server watches the store. At the start of watching, it notifies subscribers.
fn watches(client: &mut McpClient) {
    McpClient::owner_of(std::slice::from_mut(client));
    // The same thread starts watching before it handles this call.
    client.call("memory_reindex", json!({})).unwrap().expect_success();
}

#[test]
fn subscriber_gets_updates_until_end_of_input() {
    let (sandbox, _) = store_with_two_logs();
    let mut client = sandbox.serve(Era::Modern);
    watches(&mut client);
    let watched = ["memory://long-term", "memory://nonsense"];
    let filter = json!({ "resourcesListChanged": true, "toolsListChanged": true, "resourceSubscriptions": watched });
    client.send_request("subscriptions/listen", json!({ "notifications": filter }));
    eventually(TOLD, || !client.notifications("notifications/subscriptions/acknowledged").is_empty());
    let accepted = client.notifications("notifications/subscriptions/acknowledged")[0]["notifications"].clone();
    assert_eq!(accepted, json!({ "resourcesListChanged": true, "resourceSubscriptions": ["memory://long-term"] }));

    sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nThe gateway speaks HTTP/3 as well.\n");
    let updated = |client: &mut McpClient| client.notifications("notifications/resources/updated");
    eventually(TOLD, || !updated(&mut client).is_empty());
    assert_eq!(updated(&mut client)[0]["uri"], "memory://long-term");
    assert!(client.notifications("notifications/resources/list_changed").is_empty());
    sandbox.write(".jikime/memory/2026-01-29.md", "# 2026-01-29\n");
    eventually(TOLD, || !client.notifications("notifications/resources/list_changed").is_empty());
    let closed = client.close();
    assert!(closed.status.success(), "{closed:?}");
}

#[test]
fn old_protocol_subscribes_and_unsubscribes() {
    let (sandbox, _) = store_with_two_logs();
    let mut client = sandbox.serve(Era::Legacy);
    watches(&mut client);
    let error = client.request("resources/subscribe", json!({ "uri": "memory://nonsense" })).unwrap_err();
    assert_eq!(error.code, -32002);
    for uri in ["memory://daily/2026-01-28", "memory://long-term"] {
        client.request("resources/subscribe", json!({ "uri": uri })).unwrap();
    }
    client.request("resources/unsubscribe", json!({ "uri": "memory://long-term" })).unwrap();
    sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nChanged.\n");
    sandbox.write(".jikime/memory/2026-01-28.md", "# 2026-01-28\n\n- [10:30:15] **User Prompt**: Why none?\n");
    sandbox.write(".jikime/memory/2026-01-30.md", "# 2026-01-30\n");
    eventually(TOLD, || {
        !client.notifications("notifications/resources/list_changed").is_empty()
            && !client.notifications("notifications/resources/updated").is_empty()
    });
    for notice in client.notifications("notifications/resources/updated") {
        assert_eq!(notice["uri"], "memory://daily/2026-01-28");
    }
}

#[test]
fn hits_carry_links_on_request_and_cost_no_more_than_the_budget() {
    let (sandbox, _) = store_with_two_logs();
    for n in 0..60 {
        let text =
            format!("Gateway rule {n}: {}", "every request through the gateway is counted per tenant. ".repeat(4));
        sandbox.write(format!(".jikime/memory/notes/rule-{n}.md"), format!("# Rule {n}\n\n{text}\n"));
    }
    let mut client = sandbox.serve(Era::Legacy);
    let arguments = json!({ "query": "gateway", "maxResults": 50 });
    let found = client.call("memory_search", arguments.clone()).unwrap();
    let hits = found.expect_success()["results"].as_array().unwrap().clone();
    let of_structure = serde_json::to_string(&found.structured).unwrap().len();
    assert!(found.text.len() <= of_structure && of_structure <= 4_000, "{} and {of_structure}", found.text.len());
    assert_eq!(found.raw["content"].as_array().unwrap().len(), 1, "links only on request");
    let asking = json!({ "name": "memory_search", "arguments": arguments, "_meta": { "jikime-memory/links": true } });
    let linked = client.request("tools/call", asking).unwrap();
    let content = linked["content"].as_array().unwrap();
    let links: Vec<&Value> = content.iter().filter(|block| block["type"] == "resource_link").collect();
    assert_eq!(links.len(), hits.len(), "{content:#?}");
    for (link, hit) in links.iter().zip(&hits) {
        assert_eq!(link["uri"], format!("memory://memory/{}", hit["id"].as_str().unwrap()));
        let (_, text) = read(&mut client, link["uri"].as_str().unwrap());
        assert!(text.to_lowercase().contains("gateway"), "{text}");
    }
}
