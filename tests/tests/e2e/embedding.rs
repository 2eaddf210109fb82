//! Embedding with the real programs: a service makes vectors while the server does other work, searches use them, and
//! errors are reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use harness::{Era, McpClient, ProviderBehaviour, ProviderStandIn, Sandbox, eventually, eventually_some, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const KEY: &str = "k-Pq7vT2mX9cLw4RzB";
const PATIENCE: Duration = Duration::from_mins(1);

const SAVED: [&str; 3] = [
    "The gateway allows forty requests a second.",
    "Sessions are signed with a rotating secret of the vault.",
    "Bread needs flour, water, salt and time.",
];

/// A sandbox that uses a fake service compatible with OpenAI.
fn sandbox_with_provider(stand_in: &ProviderStandIn) -> Sandbox {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", format!("{}/v1", stand_in.url()));
    sandbox.set_variable("JIKIME_EMBEDDING_API_KEY", KEY);
    sandbox.set_variable("JIKIME_EMBEDDING_MODEL", "a-model");
    sandbox
}

fn save(client: &mut McpClient, content: &str) {
    client.call("memory_save", json!({"type": "learning", "content": content})).unwrap().expect_success();
}

fn save_all(client: &mut McpClient) {
    SAVED.iter().for_each(|content| save(client, content));
}

fn stats(client: &mut McpClient) -> Value {
    client.call("memory_stats", json!({})).unwrap().expect_success().clone()
}

fn search(client: &mut McpClient, query: &str) -> Value {
    client.call("memory_search", json!({"query": query, "minScore": 0})).unwrap().expect_success().clone()
}

fn wait_for_vectors(client: &mut McpClient) {
    eventually(PATIENCE, || stats(client)["embedding"]["coverage"] == 1.0);
}

fn wait_for_problem(client: &mut McpClient, beginning: &str) -> String {
    eventually_some(PATIENCE, || {
        let stats = stats(client);
        let problems = stats["problems"].as_array().cloned().unwrap_or_default();
        problems.iter().filter_map(Value::as_str).find(|text| text.contains(beginning)).map(str::to_owned)
    })
}

/// The built-in model replaces a service, whatever the error. Returns the notice of a search.
fn notice_of_a_search(client: &mut McpClient) -> String {
    let found = search(client, "rotating secret");
    assert_eq!((&found["mode"], &found["provider"]), (&json!("hybrid"), &json!("local")), "{found:#}");
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("rotating"), "{found:#}");
    found["notice"].as_str().unwrap_or_default().to_owned()
}

#[rstest]
#[case::openai_by_its_key(
    "OPENAI_API_KEY",
    "JIKIME_EMBEDDING_BASE_URL",
    "/v1/embeddings",
    "openai",
    "text-embedding-3-small",
    1536
)]
#[case::gemini_by_name(
    "GEMINI_API_KEY",
    "JIKIME_EMBEDDING_BASE_URL",
    "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    "gemini",
    "gemini-embedding-001",
    768
)]
fn a_key_is_enough_for_search_by_the_vectors_of_its_service(
    #[case] key: &str,
    #[case] address: &str,
    #[case] target: &str,
    #[case] provider: &str,
    #[case] model: &str,
    #[case] dims: usize,
) {
    let stand_in = ProviderStandIn::embedding(dims);
    let mut sandbox = sandbox!();
    sandbox.set_variable(key, KEY).set_variable(address, stand_in.url());
    if provider == "gemini" {
        sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", provider);
    }
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    let found = search(&mut client, "requests of the gateway");
    assert_eq!(
        (&found["mode"], &found["provider"], &found["model"]),
        (&json!("hybrid"), &json!(provider), &json!(model))
    );
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("gateway"), "{found:#}");
    let asked = stand_in.asked();
    assert!(asked.iter().all(|asked| asked.target == target), "{:?}", asked[0].target);
    assert!(asked.iter().any(|asked| asked.body.to_string().contains("requests of the gateway")));
    let errors = client.close().stderr;
    assert!(!errors.contains(KEY), "{errors}");
}

#[test]
fn unknown_dimensions_are_requested_once() {
    let stand_in = ProviderStandIn::embedding(48);
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    assert_eq!(search(&mut client, "forty requests")["mode"], "hybrid");
    client.close();
    let count = |text: &str| stand_in.asked().iter().filter(|asked| asked.body.to_string().contains(text)).count();
    assert_eq!((count("vault"), count("Bread")), (1, 1));
    // The next server uses the stored dimensions, also after a rebuild.
    let mut client = sandbox.serve(Era::Modern);
    client.call("memory_reindex", json!({"full": true})).unwrap().expect_success();
    wait_for_vectors(&mut client);
    assert_eq!(search(&mut client, "forty requests")["mode"], "hybrid");
    assert_eq!((count("vault"), count("Bread")), (1, 1));
}

#[test]
fn question_is_redacted_before_sending() {
    let stand_in = ProviderStandIn::embedding(48);
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    let key = ["AKIA", "QYLPMN5HFIQR7XYA"].concat();
    search(&mut client, &format!("the vault <private>of Mrs Miller</private> with {key}"));
    let sent: String = stand_in.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert!(sent.contains("the vault"), "{sent}");
    assert!(!sent.contains("Miller") && !sent.contains(&key), "{sent}");
}

#[rstest]
#[case::wrong_key(ProviderBehaviour::Answer(401, "", format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}")), "rejects the key in JIKIME_EMBEDDING_API_KEY (401); set a valid key")]
#[case::page(ProviderBehaviour::Answer(200, "", "<html>Sign in</html>".to_owned()), "returned a web page instead of JSON; check JIKIME_EMBEDDING_BASE_URL")]
#[case::storm(ProviderBehaviour::Answer(429, "Retry-After: 3000\r\n", "{}".to_owned()), "limits the request rate (429)")]
#[case::nan(ProviderBehaviour::Answer(200, "", "{\"data\": [{\"embedding\": [NaN]}]}".to_owned()), "returned no valid vectors")]
#[case::fewer(ProviderBehaviour::Answer(200, "", "{\"data\": []}".to_owned()), "returned 0 vectors for 1 texts")]
fn service_error_is_reported_once_and_search_works(#[case] does: ProviderBehaviour, #[case] told: &str) {
    let stand_in = ProviderStandIn::start(move |_, _| does.clone());
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_problem(&mut client, told);
    let asked = stand_in.asked().len();
    let first = notice_of_a_search(&mut client);
    assert!(first.contains("searched with the built-in model") && first.contains(told), "{first}");
    let second = notice_of_a_search(&mut client);
    assert!(!second.contains(told) && second.contains("see memory_stats for the cause"), "{second}");
    save(&mut client, "Another one.");
    wait_for_problem(&mut client, told);
    // The service is paused.
    assert_eq!(stand_in.asked().len(), asked);
    let errors = client.close().stderr;
    assert_eq!(errors.matches(told).count(), 1, "{errors}");
    assert!(!errors.contains(&KEY[..6]), "{errors}");
}

#[test]
fn rejected_text_is_reported_and_blocks_no_other() {
    let stand_in = ProviderStandIn::start(|_, asked| match asked.body["input"].to_string().contains("walrus") {
        true => ProviderBehaviour::Answer(400, "", "{\"error\": {\"message\": \"invalid input\"}}".to_owned()),
        false => ProviderBehaviour::Embed(48),
    });
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save(&mut client, "The vault code is written on the walrus.");
    save_all(&mut client);
    eventually(PATIENCE, || stats(&mut client)["embedding"]["coverage"] == 0.75);
    let told = stats(&mut client);
    assert_eq!((&told["embedding"]["pending"], &told["embedding"]["without"]), (&json!(0), &json!(1)), "{told:#}");
    assert!(told["problems"].to_string().contains("openai rejects 1 passage, found by words only"), "{told:#}");
    assert_eq!(search(&mut client, "forty requests")["mode"], "hybrid");
    let found = search(&mut client, "vault code");
    assert!(found["results"][0]["snippet"].as_str().unwrap().contains("walrus"), "{found:#}");
    // A rejected question falls back to words; the next one does not.
    let found = search(&mut client, "the code on the walrus");
    let notice = found["notice"].as_str().unwrap_or_default();
    assert!(notice.contains("searched with the built-in model: openai rejects this question"), "{found:#}");
    assert_eq!(search(&mut client, "rotating secret")["mode"], "hybrid");
    let errors = client.close().stderr;
    assert!(errors.contains("rejected 1 texts") && !errors.contains("walrus"), "{errors}");
}

#[test]
fn wrong_dimensions_are_reported_and_not_used() {
    let stand_in = ProviderStandIn::embedding(32);
    let mut sandbox = sandbox_with_provider(&stand_in);
    sandbox.set_variable("JIKIME_EMBEDDING_DIMENSIONS", "64");
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_problem(&mut client, "returned vectors with 32 dimensions instead of 64; set JIKIME_EMBEDDING_DIMENSIONS");
    let notice = notice_of_a_search(&mut client);
    assert!(notice.contains("32 dimensions"), "{notice}");
}

#[test]
fn embedding_starts_when_the_service_recovers() {
    // A short outage that ends within the retries of one errand.
    let is_up = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_up);
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    let stand_in = ProviderStandIn::start(move |_, _| match flag.load(Ordering::Relaxed) {
        true => ProviderBehaviour::Embed(48),
        false => {
            count.fetch_add(1, Ordering::Relaxed);
            ProviderBehaviour::Answer(503, "Retry-After: 0\r\n", String::new())
        }
    });
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    eventually(PATIENCE, || refused.load(Ordering::Relaxed) > 0);
    notice_of_a_search(&mut client);
    is_up.store(true, Ordering::Relaxed);
    wait_for_vectors(&mut client);
    let found = search(&mut client, "forty requests");
    assert_eq!((&found["mode"], &found["notice"]), (&json!("hybrid"), &Value::Null), "{found:#}");
    assert_eq!(stats(&mut client)["problems"], json!([]));
}

#[test]
fn local_endpoint_without_a_key_is_set_in_the_users_file() {
    let stand_in = ProviderStandIn::embedding(768);
    let sandbox = sandbox!();
    let paths = sandbox.run_cli(["config", "path", "--json"]).assert_success().json();
    let path = paths[0]["path"].as_str().unwrap();
    let url = format!("embedding_base_url = \"{}/v1\"", stand_in.url());
    let document = include_str!("../../../docs/setup.md");
    let example = document.split("```toml\n").find(|block| block.starts_with("embedding_provider")).unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let settings = example.replace("embedding_base_url = \"http://localhost:11434/v1\"", &url);
    assert!(settings.contains(&url), "{settings}");
    sandbox.write(path, settings);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    let found = search(&mut client, "forty requests");
    assert_eq!((&found["mode"], &found["model"]), (&json!("hybrid"), &json!("nomic-embed-text")), "{found:#}");
    let asked = stand_in.asked();
    assert!(asked.iter().all(|asked| asked.target == "/v1/embeddings" && !asked.headers.contains_key("authorization")));
}

#[test]
fn model_directory_in_settings_breaks_neither_hook_nor_server() {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "local");
    sandbox.set_variable("JIKIME_EMBEDDING_MODEL", sandbox.project());
    let prompt = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &prompt).assert_success().assert_no_stderr();
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    let notice = notice_of_a_search(&mut client);
    assert!(notice.contains("run the model in Ollama") && notice.contains("embedding_base_url"), "{notice}");
}

#[test]
fn model_change_reembeds_in_background_and_uses_cache() {
    let stand_in = ProviderStandIn::embedding(48);
    let mut sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    client.close();
    let count = |model: &str| {
        let asked = stand_in.asked();
        asked.iter().filter(|asked| asked.body["model"] == model && asked.body.to_string().contains("vault")).count()
    };
    for (model, first, second) in [("b-model", 1, 1), ("a-model", 1, 1)] {
        sandbox.set_variable("JIKIME_EMBEDDING_MODEL", model);
        let mut client = sandbox.serve(Era::Modern);
        wait_for_vectors(&mut client);
        let found = search(&mut client, "forty requests");
        assert_eq!((&found["mode"], &found["model"]), (&json!("hybrid"), &json!(model)), "{found:#}");
        client.close();
        assert_eq!((count("a-model"), count("b-model")), (first, second), "{model}");
    }
}

#[test]
fn other_calls_are_answered_while_a_service_is_slow() {
    let is_slow = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_slow);
    let stand_in = ProviderStandIn::start(move |_, _| match flag.load(Ordering::Relaxed) {
        true => ProviderBehaviour::Silence,
        false => ProviderBehaviour::Embed(48),
    });
    let sandbox = sandbox_with_provider(&stand_in);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    is_slow.store(true, Ordering::Relaxed);
    let asked = stand_in.asked().len();
    let slow = client.send_call("memory_search", json!({"query": "forty requests", "minScore": 0}));
    eventually(PATIENCE, || stand_in.asked().len() > asked);
    save(&mut client, "Saved meanwhile.");
    assert!(stats(&mut client)["memories"].as_u64() >= Some(4));
    // In the end the search uses the built-in model.
    let answer = client.answer(slow).unwrap();
    let found = &answer["structuredContent"];
    assert_eq!(found["provider"], "local", "{found:#}");
    assert!(found["notice"].as_str().unwrap().contains("does not answer in time"), "{found:#}");
}

#[test]
fn a_project_cannot_have_texts_sent_anywhere() {
    let stand_in = ProviderStandIn::embedding(48);
    let sandbox = sandbox!();
    let settings = format!("embedding_base_url = \"{}\"\nembedding_provider = \"openai\"\n", stand_in.url());
    sandbox.write(".jikime/memory.toml", settings);
    let mut client = sandbox.serve(Era::Modern);
    save_all(&mut client);
    wait_for_vectors(&mut client);
    let stats = stats(&mut client);
    assert_eq!(stats["embedding"]["provider"], "local", "{stats:#}");
    assert!(stats["problems"].to_string().contains("embedding_base_url"), "{stats:#}");
    assert!(stand_in.asked().is_empty());
}

/// The doctor's check of embedding, and whether it is a finding.
fn doctor_on_embeddings(sandbox: &Sandbox) -> (String, bool) {
    let report = sandbox.run_cli(["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap();
    let about: Vec<_> = checks.iter().filter(|check| check["what"].as_str().unwrap().contains("openai")).collect();
    assert_eq!(about.len(), 1, "{report:#}");
    assert!(!report.to_string().contains(KEY), "{report:#}");
    (about[0]["what"].as_str().unwrap().to_owned(), about[0]["verdict"] == "finding")
}

#[test]
fn the_doctor_asks_a_service_whether_it_answers() {
    let is_refused = Arc::new(AtomicBool::new(false));
    let refuses = Arc::clone(&is_refused);
    let stand_in = ProviderStandIn::start(move |_, _| match refuses.load(Ordering::SeqCst) {
        true => {
            ProviderBehaviour::Answer(401, "", r#"{"error": {"message": "Incorrect API key provided"}}"#.to_owned())
        }
        false => ProviderBehaviour::Embed(8),
    });
    let mut sandbox = sandbox_with_provider(&stand_in);
    sandbox.run_cli(["save", "learning", SAVED[0]]).assert_success();
    let (said, is_finding) = doctor_on_embeddings(&sandbox);
    assert!(said.contains("a-model, which works") && !is_finding, "{said}");
    is_refused.store(true, Ordering::SeqCst);
    let (said, is_finding) = doctor_on_embeddings(&sandbox);
    assert!(said.contains("key") && is_finding, "{said}");
    // A port without a listener.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    sandbox.set_variable("JIKIME_EMBEDDING_BASE_URL", format!("http://{nobody}/v1"));
    let (said, is_finding) = doctor_on_embeddings(&sandbox);
    assert!(is_finding, "{said}");
}
