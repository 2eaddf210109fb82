//! What a model gets from a search: other phrasings, no echo, tags, compact hits.

use harness::{Era, McpClient, Sandbox, sandbox};
use serde_json::{Value, json};

const SESSION: &str = "4f368b8b-0000-4000-8000-000000000001";

fn say(sandbox: &Sandbox, session: &str, prompt: &str) {
    let payload = json!({
        "session_id": session, "transcript_path": sandbox.home().join("none.jsonl"), "cwd": sandbox.project(),
        "hook_event_name": "UserPromptSubmit", "prompt": prompt,
    });
    sandbox.run_hook("memory-prompt-save", &payload.to_string()).assert_success();
}

fn hits(client: &mut McpClient, arguments: Value) -> Vec<Value> {
    let result = client.call("memory_search", arguments).unwrap();
    result.expect_success()["results"].as_array().unwrap().clone()
}

fn snippets(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["snippet"].as_str().unwrap()).collect()
}

#[test]
fn question_just_asked_is_no_hit_and_answers_come_first() {
    let question = "Which queue do the invoice workers use?";
    let mut sandbox = sandbox!();
    let answer = "They use arq on Redis database 4, because the invoice workers leave Celery.";
    let lines = format!("- [10:30:15] **User Prompt**: {question}\n- [10:30:45] **Assistant Response**: {answer}\n");
    sandbox.write(".jikime/memory/2026-01-28.md", format!("# 2026-01-28\n\n<!-- session earlier +09:00 -->\n{lines}"));
    say(&sandbox, SESSION, question);
    sandbox.set_variable("CLAUDE_CODE_SESSION_ID", SESSION);
    let mut client = sandbox.serve(Era::Modern);
    let found = hits(&mut client, json!({ "query": question }));
    let texts = snippets(&found);
    assert!(texts == [answer, question], "{found:#?}");
    drop(client);
    // Without a session id, a prompt of the last two minutes that repeats the question is its echo.
    sandbox.set_variable("CLAUDE_CODE_SESSION_ID", "");
    let mut client = sandbox.serve(Era::Modern);
    assert_eq!(snippets(&hits(&mut client, json!({ "query": question }))), [answer, question]);
    // A person sees everything.
    let shown = sandbox.run_cli(["search", question, "--json"]).assert_success().json();
    assert_eq!(shown["results"][0]["snippet"], question, "{shown:#}");
}

#[test]
fn a_lone_hit_brings_the_answer_of_its_session() {
    let sandbox = sandbox!();
    let log = "# 2026-01-28

<!-- session earlier +09:00 -->
- [10:30:15] **User Prompt**: The invoices of last night look odd
- [10:30:40] **Tool Usage**: Files modified: jobs/rounding.rb
  + def fix_rounding_of_invoices
- [10:30:45] **Assistant Response**: Totals were summed as floats and cut to cents only at the end; each line gets whole cents now, and totals agree.

<!-- session other +09:00 -->
- [11:30:45] **Assistant Response**: Whole cents are shown in the list of customers, and the totals of the page agree.
";
    sandbox.write(".jikime/memory/2026-01-28.md", log);
    let mut client = sandbox.serve(Era::Modern);
    let found = hits(&mut client, json!({ "query": "why fix rounding of invoices" }));
    let texts = snippets(&found);
    assert!(texts.iter().any(|text| text.starts_with("Totals were summed")), "{found:#?}");
    assert!(!texts.iter().any(|text| text.starts_with("Whole cents")), "{found:#?}");
    let strict = hits(&mut client, json!({ "query": "why fix rounding of invoices", "minScore": 0.35 }));
    assert!(!snippets(&strict).iter().any(|text| text.starts_with("Totals were summed")), "{strict:#?}");
}

#[test]
fn a_small_store_shows_the_nearest_answers() {
    let question = "why do the invoices arrive late at night";
    let memory = |n: usize| format!("- [10:{:02}:15] **User Prompt**: Paint the shed number {n} in green\n", n % 60);
    let log = |others: usize| {
        let others: String = (0..others).map(memory).collect();
        format!(
            "# 2026-01-28\n\n<!-- session earlier +09:00 -->\n- [09:30:45] **Assistant Response**: The nightly batch of bills waits for a \
             lock that the backup holds.\n{others}"
        )
    };
    let found = |others: usize| {
        let sandbox = sandbox!();
        sandbox.write(".jikime/memory/2026-01-28.md", log(others));
        let mut client = sandbox.serve(Era::Modern);
        let result = client.call("memory_search", json!({ "query": question })).unwrap();
        let result = result.expect_success();
        (result["results"].to_string().contains("nightly batch"), result["notice"].to_string())
    };
    let (is_shown, notice) = found(20);
    assert!(is_shown && notice.contains("these are the nearest"), "{notice}");
    let (is_shown, notice) = found(200);
    assert!(!is_shown && notice.contains("nearest: "), "{notice}");
}

#[test]
fn a_decision_in_other_words_follows_its_prompt() {
    let sandbox = sandbox!();
    let log = "# 2026-01-28

<!-- session earlier +09:00 -->
- [10:30:15] **User Prompt**: Suggest a storage for the map tiles, compare MBTiles and Room
- [10:30:45] **Assistant Response**: Map tiles could be in one file or in a table of rows.
- [10:31:15] **Decision**: Room it is, one database per mountain.

<!-- session other +09:00 -->
- [11:30:45] **Decision**: Invoices are numbered by year.
";
    sandbox.write(".jikime/memory/2026-01-28.md", log);
    let mut client = sandbox.serve(Era::Modern);
    let found = hits(&mut client, json!({ "query": "which storage did we choose for the map tiles" }));
    let texts = snippets(&found);
    assert!(texts.iter().take(3).any(|text| text.starts_with("Room it is")), "{found:#?}");
    assert!(!texts.iter().any(|text| text.starts_with("Invoices")), "{found:#?}");
    // A person gets the same, without a server.
    let shown = sandbox.run_cli(["search", "which storage did we choose for the map tiles", "--json"]);
    let shown = shown.assert_success().json();
    assert!(shown["results"].to_string().contains("Room it is"), "{shown:#}");
}

#[test]
fn a_korean_phrasing_finds_an_english_entry() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let entry = "Orders are locked once they are paid; the edit form was removed because refunds went wrong.";
    client.call("memory_save", json!({ "type": "decision", "content": entry })).unwrap().expect_success();
    for n in 0..30 {
        let text = format!("Plant number {n} in the greenhouse wants shade and some water on day {n}.");
        client.call("memory_save", json!({ "type": "learning", "content": text })).unwrap().expect_success();
    }
    let question = "결제하고 나면 왜 주문서를 못 고치게 했지?";
    let also = json!(["why are orders locked after payment", "edit form removed because of refunds"]);
    let found = hits(&mut client, json!({ "query": question, "also": also }));
    assert_eq!(snippets(&found)[0], entry, "{found:#?}");
    let refused = client.call("memory_search", json!({ "query": "a", "also": ["b", "c", "d", "e", "f"] })).unwrap();
    assert!(refused.is_error && refused.text.contains("at most 4"), "{}", refused.text);
    let shown = sandbox.run_cli(["search", question, "--also", "orders locked after payment", "--json"]);
    assert_eq!(shown.assert_success().json()["results"][0]["snippet"], entry);
}

#[test]
fn a_phrasing_that_the_model_does_not_know_changes_no_other() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    for text in ["Invoices are printed at night.", "Orders are locked once they are paid.", "Plants want shade."] {
        client.call("memory_save", json!({ "type": "learning", "content": text })).unwrap().expect_success();
    }
    let unknown = "почему нельзя изменить заказ";
    let english = "why can nobody edit an order after payment";
    let mut explained = |asked: Value| {
        let found = hits(&mut client, asked);
        let order = found.iter().find(|hit| hit["snippet"].as_str().unwrap().starts_with("Orders")).cloned();
        order.and_then(|hit| hit["explanation"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    let vector = |text: &str| text.split("vector").nth(1).map(|rest| rest.chars().take(5).collect::<String>());
    let alone = explained(json!({ "query": english, "explain": true, "minScore": 0 }));
    let behind = explained(json!({ "query": unknown, "also": [english], "explain": true, "minScore": 0 }));
    assert!(vector(&alone).is_some() && vector(&alone) == vector(&behind), "{alone:?} {behind:?}");
}

#[test]
fn words_for_asking_are_found_edited_and_forgotten() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "It stays."]).assert_success();
    let text = "Deploy on Tuesdays after the stand-up.";
    sandbox.run_cli(["save", "decision", text, "--also", "quokka burrow", "--tag", "release"]).assert_success();
    assert!(sandbox.logs().contains(r#""also":"quokka burrow""#), "{}", sandbox.logs());
    let hit = sandbox.run_cli(["search", "quokka burrow", "--json"]).assert_success().json();
    let shown = sandbox.run_cli(["show", hit["results"][0]["id"].as_str().unwrap()]);
    assert!(shown.stdout.contains("also found by quokka burrow"), "{}", shown.stdout);
    let refused = sandbox.run_cli(["save", "decision", "Deploy by hand.", "--also", &"word ".repeat(41)]);
    assert!(!refused.status.success() && refused.stderr.contains("also has 205 characters"), "{}", refused.stderr);
    let found = |query: &str| sandbox.run_cli(["search", query, "--json"]).assert_success().json()["count"].clone();
    assert_eq!((found("quokka burrow"), found("walrus window")), (json!(1), json!(0)));
    let mut log =
        std::fs::read_dir(sandbox.store()).unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let log = log.find(|name| name.ends_with(".md")).unwrap();
    let edited = sandbox.read(format!(".jikime/memory/{log}")).replace("quokka burrow", "walrus window");
    sandbox.write(format!(".jikime/memory/{log}"), edited);
    assert_eq!((found("quokka burrow"), found("walrus window")), (json!(0), json!(1)));
    sandbox.run_cli(["forget", "--query", "walrus", "--yes"]).assert_success();
    assert!(!sandbox.logs().contains("walrus"));
}

#[test]
fn a_tag_is_searchable_and_a_filter() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/notes/db.md", "# Storage\n\nRows are kept for a year. #retention\n");
    let mut client = sandbox.serve(Era::Modern);
    let mut save = |content: &str, more: Value| {
        let mut arguments = json!({ "type": "decision", "content": content });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("memory_save", arguments).unwrap().expect_success();
    };
    save("Tokens live five minutes.", json!({ "tags": ["#Auth", "cache"] }));
    save("Passwords are hashed with argon2id.", json!({ "metadata": "{\"tags\": [\"auth\"]}" }));
    save("Tokens of the build are free.", json!({}));
    let found = hits(&mut client, json!({ "query": "tokens passwords", "tag": "auth", "minScore": 0 }));
    let mut texts = snippets(&found);
    texts.sort_unstable();
    assert_eq!(texts, ["Passwords are hashed with argon2id.", "Tokens live five minutes."]);
    assert_eq!(snippets(&hits(&mut client, json!({ "query": "cache" }))), ["Tokens live five minutes."]);
    let found = hits(&mut client, json!({ "query": "rows", "tag": "#retention", "minScore": 0 }));
    assert!(found.len() == 1 && found[0]["source"] == "chunks", "{found:#?}");
}

#[test]
fn six_hits_cost_at_most_600_tokens_and_short_ids_open() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    for n in 0..9 {
        let text =
            format!("Gateway rule {n}: {}", "every request through the gateway is counted per tenant. ".repeat(8));
        client.call("memory_save", json!({ "type": "convention", "content": text })).unwrap().expect_success();
    }
    let result = client.call("memory_search", json!({ "query": "gateway requests" })).unwrap();
    let output = result.expect_success().clone();
    assert_eq!(output["count"], 6);
    let length = output.to_string().chars().count();
    assert!(length <= 2_400, "{length} characters");
    for hit in output["results"].as_array().unwrap() {
        assert!(hit.as_object().unwrap().values().all(|value| !value.is_null() && *value != json!([])), "{hit}");
        let id = hit["id"].as_str().unwrap();
        assert_eq!(id.len(), 8, "{hit}");
        let whole = client.call("memory_get", json!({ "id": id })).unwrap();
        assert!(whole.expect_success()["content"].as_str().unwrap().contains("gateway"));
        sandbox.run_cli(["show", id]).assert_success();
    }
    let id = output["results"][0]["id"].as_str().unwrap();
    sandbox.run_cli(["forget", id, "--yes"]).assert_success();
    assert!(client.call("memory_get", json!({ "id": id })).unwrap().is_error);
}

#[test]
fn fewer_hits_have_longer_snippets() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Modern);
    let text =
        format!("The gateway counts requests. {}", "Each tenant has a limit per minute and one per day. ".repeat(20));
    for n in 0..6 {
        let content = format!("Rule {n}: {text}");
        client.call("memory_save", json!({ "type": "convention", "content": content })).unwrap().expect_success();
    }
    let mut length = |most: usize| {
        let found = hits(&mut client, json!({ "query": "gateway requests", "maxResults": most }));
        assert_eq!(found.len(), most);
        found.iter().map(|hit| hit["snippet"].as_str().unwrap().chars().count()).max().unwrap()
    };
    let lengths = [1, 3, 4, 6].map(&mut length);
    assert!(lengths.is_sorted_by(|a, b| a >= b) && lengths[1] > 350 && lengths[3] < 180, "{lengths:?}");
    let few = hits(&mut client, json!({ "query": "gateway requests", "maxResults": 3, "maxTokens": 300 }));
    assert_eq!(few.len(), 3, "long snippets cost no hit");
}

#[test]
fn hits_with_long_paths_and_headings_stay_short() {
    let sandbox = sandbox!();
    for (n, reason) in
        ["audits", "forecasts", "refunds", "labels", "transfers", "invoices", "exports"].iter().enumerate()
    {
        let path = format!("architecture/decisions/{n:04}-use-event-sourcing-for-the-order-service.md");
        let heading =
            format!("# ADR {n}: event sourcing for the order service because of {reason} in the domain of the company");
        let text = format!("The order service uses event sourcing since {reason} need replays of all that happened. ")
            .repeat(3);
        sandbox.write(format!(".jikime/memory/{path}"), format!("{heading}\n\n{text}\n"));
    }
    let mut client = sandbox.serve(Era::Modern);
    client.call("memory_reindex", json!({})).unwrap().expect_success();
    let result = client.call("memory_search", json!({ "query": "event sourcing order service" })).unwrap();
    let output = result.expect_success();
    assert_eq!(output["count"], 6);
    let length = output.to_string().chars().count();
    assert!(length <= 2_400, "{length} characters");
}
