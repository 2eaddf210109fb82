//! Embeddings from settings to vectors, over real connections to a fake service.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use harness::environment;
use harness::{ProviderBehaviour, ProviderStandIn};
use rstest::rstest;
use schema::settings::{EmbeddingProvider, Settings};
use server::ReqwestNetwork;
use tools::embed::remote::{EmbeddingPurpose, RemoteEmbedder, RemoteError, RetryPolicy, choose_service};
use tools::embed::{Embedder as _, EmbeddingResult};

const KEY: &str = "k-Pq7vT2mX9cLw4RzB";

/// The default without long pauses.
const PATIENCE: RetryPolicy = RetryPolicy {
    first_pause: Duration::from_millis(1),
    request_timeout: Duration::from_secs(30),
    total_timeout: Duration::from_mins(1),
    ..RetryPolicy::FOR_DOCUMENTS
};

/// For services that never answer.
const HURRY: RetryPolicy = RetryPolicy { max_tries: 2, request_timeout: Duration::from_millis(150), ..PATIENCE };

fn open(provider: EmbeddingProvider, url: &str, timeout: RetryPolicy) -> Result<RemoteEmbedder, RemoteError> {
    let settings = Settings {
        embedding_provider: provider,
        embedding_base_url: Some(url.to_owned()),
        embedding_dimensions: Some(64),
        ..Settings::default()
    };
    let service =
        choose_service(&settings, |name| name.ends_with("_API_KEY").then(|| KEY.to_owned()))?.expect("a service");
    RemoteEmbedder::open_with(service, Arc::new(ReqwestNetwork::default()), timeout, timeout)
}

fn fault_of(does: impl Fn(usize) -> ProviderBehaviour + Send + Sync + 'static) -> (String, usize) {
    let stand_in = ProviderStandIn::start(move |number, _| does(number));
    let remote = open(EmbeddingProvider::OpenAi, &stand_in.url(), HURRY).expect("nothing is sent yet");
    let outcome = remote.embed(&["a text", "another"], EmbeddingPurpose::Document);
    let error = outcome.expect_err("the service has a fault").to_string();
    assert!(!error.contains(&KEY[..6]), "{error}");
    let host = stand_in.url().replace("http://", "");
    (error.replace(&host, "HOST"), stand_in.asked().len())
}

#[test]
fn openai_is_asked_and_understood() {
    let stand_in = ProviderStandIn::embedding(64);
    let remote = open(EmbeddingProvider::OpenAi, &format!("{}/v1", stand_in.url()), PATIENCE).unwrap();
    let texts = ["the queue listens on a socket", "bread needs flour", "a socket for the queue"];
    let vectors: Vec<_> =
        remote.embed_documents(&texts).unwrap().into_iter().map(EmbeddingResult::into_vector).collect();
    let query = remote.embed_query("queue socket").unwrap().unwrap();
    let near = |vector: &Option<Vec<f32>>| -> f32 { vector.iter().flatten().zip(&query).map(|(a, b)| a * b).sum() };
    assert!(near(&vectors[2]) > near(&vectors[0]) && near(&vectors[0]) > near(&vectors[1]));
    let asked = stand_in.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].target, "/v1/embeddings");
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(asked[0].headers["content-type"], "application/json");
    let body = serde_json::json!({"model": "text-embedding-3-small", "input": texts, "dimensions": 64});
    assert_eq!(asked[0].body, body);
}

#[test]
fn gemini_is_asked_and_understood() {
    let stand_in = ProviderStandIn::embedding(64);
    let remote = open(EmbeddingProvider::Gemini, &stand_in.url(), PATIENCE).unwrap();
    let texts = vec!["a memory"; 130];
    assert_eq!(
        remote.embed_documents(&texts).unwrap().into_iter().filter_map(EmbeddingResult::into_vector).count(),
        130
    );
    let asked = stand_in.asked();
    assert_eq!(asked[0].target, "/v1beta/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(asked[0].headers["x-goog-api-key"], KEY);
    assert!(!asked[0].headers.contains_key("authorization") && !asked[0].target.contains(KEY));
    let counts: Vec<_> = asked.iter().map(|asked| asked.body["requests"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [100, 30]);
    assert_eq!(asked[0].body["requests"][0]["outputDimensionality"], 64);
}

#[test]
fn a_storm_of_refusals_passes() {
    let stand_in = ProviderStandIn::start(|number, _| match number {
        0 => ProviderBehaviour::Answer(
            429,
            "retry-after-ms: 1\r\n",
            "{\"error\": {\"message\": \"slow down\"}}".to_owned(),
        ),
        1 => ProviderBehaviour::Answer(429, "Retry-After: 0\r\n", "<html>".to_owned()),
        2 => ProviderBehaviour::Answer(503, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n", String::new()),
        3 => ProviderBehaviour::BreakOff,
        _ => ProviderBehaviour::Embed(64),
    });
    let remote = open(EmbeddingProvider::OpenAi, &stand_in.url(), PATIENCE).unwrap();
    assert!(remote.embed_query("a question").unwrap().is_some());
    assert_eq!(stand_in.asked().len(), 5);
}

#[rstest]
#[case::silence(
    ProviderBehaviour::Silence,
    "does not answer in time; search uses the built-in model until a later attempt succeeds",
    2
)]
#[case::stall(
    ProviderBehaviour::Stall,
    "does not answer in time; search uses the built-in model until a later attempt succeeds",
    2
)]
#[case::storm(ProviderBehaviour::Answer(429, "", "{}".to_owned()), "limits the request rate (429); search uses the built-in model", 2)]
#[case::break_off(ProviderBehaviour::BreakOff, "closed the connection early: ", 2)]
#[case::wrong_key(ProviderBehaviour::Answer(401, "", format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}")), "rejects the key in JIKIME_EMBEDDING_API_KEY (401); set a valid key", 1)]
#[case::page(ProviderBehaviour::Answer(200, "", "<html>Sign in</html>".to_owned()), "returned a web page instead of JSON; check JIKIME_EMBEDDING_BASE_URL", 1)]
#[case::half(ProviderBehaviour::Answer(200, "", "{\"data\": [{\"index\": 0, \"embed".to_owned()), "returned an incomplete response; check", 1)]
#[case::nan(ProviderBehaviour::Answer(200, "", "{\"data\": [{\"embedding\": [NaN]}, {\"embedding\": [1]}]}".to_owned()), "returned no valid vectors", 2)]
#[case::fewer(ProviderBehaviour::Answer(200, "", format!("{{\"data\": [{{\"embedding\": {:?}}}]}}", [1; 64])), "returned 1 vectors for 2 texts", 1)]
#[case::dimensions(
    ProviderBehaviour::Embed(32),
    "returned vectors with 32 dimensions instead of 64; set JIKIME_EMBEDDING_DIMENSIONS",
    1
)]
#[case::redirect(
    ProviderBehaviour::Answer(307, "location: http://elsewhere.example/\r\n", String::new()),
    "redirects to http://elsewhere.example/, which is not followed",
    1
)]
#[case::endless(ProviderBehaviour::Answer(200, "", "x".repeat(1 << 20)), "returned too large a response", 1)]
fn service_errors_have_clear_messages(#[case] does: ProviderBehaviour, #[case] message: &str, #[case] requests: usize) {
    let (error, asked) = fault_of(move |_| does.clone());
    assert!(error.starts_with(&format!("openai at HOST {message}")), "{error}");
    assert_eq!(asked, requests, "{error}");
}

#[test]
fn unreachable_service_is_named_with_its_address() {
    // A free port: the listener closes at the end of the statement.
    let address = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    let remote = open(EmbeddingProvider::OpenAi, &format!("http://{address}"), HURRY).unwrap();
    let error = remote.embed_query("a question").unwrap_err().to_string();
    assert!(error.starts_with(&format!("openai at {address} cannot be reached: ")), "{error}");
}

/// A process cannot safely change its own environment, so the next test runs this one in another process.
#[test]
#[ignore = "run by requests_go_through_the_proxy_of_the_environment"]
fn asks_a_service_behind_a_proxy() {
    let url = environment::variable("JIKIME_EMBEDDING_BASE_URL").expect("the test that runs this sets it");
    let url = url.to_string_lossy();
    let remote = open(EmbeddingProvider::OpenAi, &url, PATIENCE).unwrap();
    assert!(remote.embed_query("a question").unwrap().is_some());
}

#[rstest]
#[case::outside("http://models.example/v1", true)]
#[case::on_this_machine("", false)]
fn requests_go_through_the_proxy_of_the_environment(#[case] url: &str, #[case] is_proxied: bool) {
    let (proxy, service) = (ProviderStandIn::embedding(64), ProviderStandIn::embedding(64));
    let service_url = format!("{}/v1", service.url());
    let url = if url.is_empty() { &service_url } else { url };
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "--ignored", "remote_embedding::asks_a_service_behind_a_proxy"])
        .env("JIKIME_EMBEDDING_BASE_URL", url);
    child.env("http_proxy", proxy.url()).env("HTTP_PROXY", proxy.url()).env_remove("NO_PROXY").env_remove("no_proxy");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let asked = (proxy.asked().len(), service.asked().len());
    assert_eq!(asked, if is_proxied { (1, 0) } else { (0, 1) });
    if is_proxied {
        assert_eq!(proxy.asked()[0].target, "http://models.example/v1/embeddings");
    }
}
