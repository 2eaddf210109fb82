use rstest::rstest;
use schema::settings::{EmbeddingProvider, Settings};
use serde_json::{Value, json};

use super::*;

/// A network without delays: `answer` gets the number of the request and its body.
struct ScriptedNetwork<F> {
    answer: F,
    seen: Mutex<Vec<(String, Value)>>,
    pauses: Mutex<Vec<Duration>>,
    now: Mutex<SystemTime>,
}

impl<F> std::fmt::Debug for ScriptedNetwork<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(usize, &Value) -> Result<HttpResponse, NetworkError> + Send + Sync> Network for ScriptedNetwork<F> {
    fn post(&self, request: &HttpRequest, _within: Duration) -> Result<HttpResponse, NetworkError> {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let number = self.seen.lock().unwrap().len();
        self.seen.lock().unwrap().push((request.url.clone(), body.clone()));
        (self.answer)(number, &body)
    }

    fn now(&self) -> SystemTime {
        *self.now.lock().unwrap()
    }

    fn pause(&self, duration: Duration) {
        self.pauses.lock().unwrap().push(duration);
        *self.now.lock().unwrap() += duration;
    }

    fn random(&self) -> f64 {
        1.0
    }
}

fn scripted_network<F: Fn(usize, &Value) -> Result<HttpResponse, NetworkError> + Send + Sync>(
    answer: F,
) -> Arc<ScriptedNetwork<F>> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    Arc::new(ScriptedNetwork { answer, seen: Mutex::default(), pauses: Mutex::default(), now: Mutex::new(now) })
}

fn reply(status: u16, body: &Value) -> HttpResponse {
    HttpResponse { status, headers: Vec::new(), body: body.to_string().into_bytes() }
}

/// An OpenAI response in the wrong order: one vector per text that encodes its length.
fn openai_reply(body: &Value) -> Result<HttpResponse, NetworkError> {
    let texts = body["input"].as_array().unwrap().iter().enumerate();
    let one = |(index, text): (usize, &Value)| json!({"object": "embedding", "index": index, "embedding": [text.as_str().unwrap().len(), 1, 0]});
    let data: Vec<Value> = texts.rev().map(one).collect();
    Ok(reply(200, &json!({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1}})))
}

fn embed_all(remote: &RemoteEmbedder, texts: &[&str]) -> Vec<Vector> {
    remote.embed(texts, EmbeddingPurpose::Document).unwrap().into_iter().map(EmbeddingResult::into_vector).collect()
}

const KEY: &str = "k-Pq7vT2mX9cLw4RzB";

/// A compatible service with three dimensions.
fn service() -> Service {
    let mut service = compatible_service("some-model");
    service.dims = Some(3);
    service
}

fn compatible_service(model: &str) -> Service {
    let settings = Settings {
        embedding_base_url: Some("https://models.example/v1".to_owned()),
        embedding_model: Some(model.to_owned()),
        ..Settings::default()
    };
    choose_service(&settings, |name| (name == "OPENAI_API_KEY").then(|| KEY.to_owned())).unwrap().unwrap()
}

#[test]
fn vectors_keep_text_order_and_have_length_one() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let vectors = embed_all(&remote, &["abc", "", "  \n", "a"]);
    let direction = |x: f64| {
        let length = (x * x + 1.0).sqrt();
        Some([x, 1.0, 0.0].map(|value| (value / length) as f32).to_vec())
    };
    assert_eq!(vectors, [direction(3.0), None, None, direction(1.0)]);
    let seen = network.seen.lock().unwrap();
    assert_eq!(
        seen[0],
        ("https://models.example/v1/embeddings".to_owned(), json!({"model": "some-model", "input": ["abc", "a"]}))
    );
}

#[test]
fn nothing_is_sent_when_there_are_no_words() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    assert_eq!(embed_all(&remote, &["", " "]), [None, None]);
    assert_eq!(network.seen.lock().unwrap().len(), 0);
}

#[test]
fn no_secret_and_nothing_private_is_sent() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let texts = [format!("push with {token}"), "we ship <private>on Friday</private> soon".to_owned()];
    for text in &texts {
        remote.embed(&[text], EmbeddingPurpose::Document).unwrap();
        remote.embed_query(text).unwrap();
    }
    let sent = format!("{:?}", network.seen.lock().unwrap());
    assert!(sent.contains("push with [redacted: github token]") && sent.contains("we ship"), "{sent}");
    assert!(!sent.contains(&token) && !sent.contains("Friday"), "{sent}");
}

#[test]
fn texts_go_out_in_batches_that_the_service_takes() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let texts = ["word"; 70];
    assert_eq!(remote.embed(&texts, EmbeddingPurpose::Document).unwrap().len(), 70);
    let sizes: Vec<usize> =
        network.seen.lock().unwrap().iter().map(|(_, body)| body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [32, 32, 6]);
}

#[test]
fn a_long_text_is_sent_whole_in_parts_and_has_one_vector() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let text = "Every sentence of this long text is read. ".repeat(200);
    let vectors = embed_all(&remote, &[&text]);
    assert!(vectors.len() == 1 && vectors[0].is_some());
    let seen = network.seen.lock().unwrap();
    let parts: Vec<&str> =
        seen.iter().flat_map(|(_, body)| body["input"].as_array().unwrap()).filter_map(Value::as_str).collect();
    assert!(parts.len() > 5, "{}", parts.len());
    assert_eq!(parts.join(" "), text.trim());
}

#[test]
fn gemini_is_asked_in_its_own_words() {
    let settings = Settings { embedding_provider: EmbeddingProvider::Gemini, ..Settings::default() };
    let service =
        choose_service(&settings, |name| (name == "GEMINI_API_KEY").then(|| KEY.to_owned())).unwrap().unwrap();
    let network = scripted_network(|number, _| match number {
        0 => Ok(reply(
            429,
            &json!({"error": {"code": 429, "message": "You exceeded your current quota.",
            "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
                 "violations": [{"quotaId": "EmbedContentRequestsPerMinutePerUserPerProjectPerModel-FreeTier"}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]}}),
        )),
        _ => Ok(reply(200, &json!({"embeddings": [{"values": vec![2.0; 768]}]}))),
    });
    let remote = RemoteEmbedder::open(service, network.clone()).unwrap();
    assert_eq!(remote.identity().to_string(), "gemini/gemini-embedding-001/768");
    assert!(remote.embed(&["text"], EmbeddingPurpose::Document).is_ok());
    assert_eq!(*network.pauses.lock().unwrap(), [Duration::from_millis(4_500)], "what they ask for, and chance");
    let vector = remote.embed_query("who signs?").unwrap().unwrap();
    // Shortened vectors arrive unnormalised.
    assert!((vector.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-5);
    let seen = network.seen.lock().unwrap();
    let request = |text: &str, task: &str| {
        json!({"requests": [{"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]},
               "taskType": task, "outputDimensionality": 768}]})
    };
    let url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents";
    assert_eq!(seen[1], (url.to_owned(), request("text", "RETRIEVAL_DOCUMENT")));
    assert_eq!(seen[2], (url.to_owned(), request("who signs?", "RETRIEVAL_QUERY")));
}

#[test]
fn first_response_sets_unknown_dimensions() {
    let network = scripted_network(|_, body| openai_reply(body));
    let remote = RemoteEmbedder::open(compatible_service("some-model"), network).unwrap();
    assert_eq!(remote.identity().to_string(), "openai/some-model/3");
    let error =
        RemoteEmbedder::open(compatible_service("some-model"), scripted_network(|_, _| Err(NetworkError::TimedOut)))
            .unwrap_err();
    assert!(error.to_string().contains("does not answer in time"), "{error}");
}

#[test]
fn model_prefixes_are_added_to_texts() {
    let network = scripted_network(|_, body| {
        let count = body["input"].as_array().unwrap().len();
        Ok(reply(200, &json!({"data": vec![json!({"embedding": vec![1; 768]}); count]})))
    });
    let remote = RemoteEmbedder::open(compatible_service("nomic-embed-text:latest"), network.clone()).unwrap();
    remote.embed(&["a"], EmbeddingPurpose::Document).unwrap();
    remote.embed(&["a"], EmbeddingPurpose::Query).unwrap();
    let seen = network.seen.lock().unwrap();
    assert_eq!(seen[0].1["input"], json!(["search_document: a"]));
    assert_eq!(seen[1].1["input"], json!(["search_query: a"]));
}

#[test]
fn no_key_is_printed() {
    let network = scripted_network(|_, _| Ok(reply(401, &json!({"error": {"message": KEY}}))));
    let remote = RemoteEmbedder::open(service(), network).unwrap();
    let error = remote.embed(&["a"], EmbeddingPurpose::Document).unwrap_err();
    let request = service().request(&["a"], EmbeddingPurpose::Document);
    let printed = format!("{remote:?} {error:?} {error} {request:?}");
    assert!(!printed.contains(&KEY[..6]), "{printed}");
    assert!(request.key.is_some_and(|(_, _, key)| key.expose() == KEY));
}

#[rstest]
#[case::whole("Incorrect key k-Pq7vT2mX9cLw4RzB.", "Incorrect key [key].")]
#[case::beginning("Incorrect key k-Pq7vT2***", "Incorrect key [key]***")]
#[case::end("Incorrect key ****9cLw4RzB", "Incorrect key ****[key]")]
#[case::nothing("Quota of k-project used", "Quota of k-project used")]
#[case::other_letters("키 k-Pq7vT2mX9cLw4RzB는", "키 [key]는")]
fn parts_of_a_key_are_hidden(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(ApiKey::new(KEY).unwrap().redact(text), expected);
}

mod choices;
mod errors;
mod splitting;
