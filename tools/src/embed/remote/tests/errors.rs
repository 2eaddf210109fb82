//! Errors of services: refusals, delays and invalid responses.

use super::*;

#[test]
fn too_long_text_is_split_and_the_limit_learned() {
    let too_long = json!({"error": {"code": 500, "type": "server_error",
        "message": "input is too large to process. increase the physical batch size"}});
    let network = scripted_network(move |_, body| {
        let longest = body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len()).max();
        if longest > Some(100) { Ok(reply(500, &too_long)) } else { openai_reply(body) }
    });
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let long = "many words ".repeat(30);
    let vectors = embed_all(&remote, &["short", &long, "brief"]);
    assert!(vectors.iter().all(Option::is_some));
    let asked = network.seen.lock().unwrap().len();
    remote.embed(&[&long], EmbeddingPurpose::Document).unwrap();
    assert_eq!(network.seen.lock().unwrap().len(), asked + 1, "the second time it is known what is too long");
    assert!(network.pauses.lock().unwrap().is_empty());
}

#[test]
fn a_service_that_finds_everything_too_long_is_given_up() {
    let error = error_of_status(400, json!({"error": "the input length exceeds the context length"}));
    assert!(error.to_string().starts_with("openai at models.example rejects even a short text as too long"), "{error}");
}

#[test]
fn a_storm_of_refusals_is_waited_out_and_longer_each_time() {
    let network =
        scripted_network(|number, body| if number < 3 { Ok(reply(429, &json!({}))) } else { openai_reply(body) });
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    assert!(remote.embed(&["a"], EmbeddingPurpose::Document).is_ok());
    assert_eq!(*network.pauses.lock().unwrap(), [1, 2, 4].map(Duration::from_secs));
}

#[rstest]
#[case::outages(|_| Err(NetworkError::TimedOut), "does not answer in time")]
#[case::unreachable(|_| Err(NetworkError::Unreachable("connection refused".to_owned())), "cannot be reached: connection refused")]
#[case::broken(|_| Err(NetworkError::Broken("unexpected end".to_owned())), "closed the connection early: unexpected end")]
#[case::server(|_| Ok(reply(503, &json!({"error": {"message": "overloaded"}}))), "failed (503): overloaded")]
fn transient_errors_are_retried_then_paused(
    #[case] answer: fn(usize) -> Result<HttpResponse, NetworkError>,
    #[case] message: &str,
) {
    let network = scripted_network(move |number, _| answer(number));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a"], EmbeddingPurpose::Document).unwrap_err();
    let wording =
        format!("openai at models.example {message}; search uses the built-in model until a later attempt succeeds");
    assert_eq!(error.to_string(), wording);
    let asked = network.seen.lock().unwrap().len();
    assert_eq!(asked, 5);
    assert_eq!(remote.embed(&["b"], EmbeddingPurpose::Query).unwrap_err(), error);
    assert_eq!(network.seen.lock().unwrap().len(), asked, "a service that failed is left alone");
    *network.now.lock().unwrap() += error.cooldown();
    assert!(remote.embed(&["b"], EmbeddingPurpose::Query).is_err());
    assert_eq!(network.seen.lock().unwrap().len(), asked + 2, "a question is asked twice at most");
}

#[rstest]
#[case::seconds("retry-after", "7", Some(7.0))]
#[case::fraction("retry-after", "0.5", Some(0.5))]
#[case::milliseconds("retry-after-ms", "1500", Some(1.5))]
#[case::date("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT", Some(10.0))]
#[case::past("retry-after", "Tue, 14 Nov 2023 22:13:10 GMT", Some(0.0))]
#[case::old_date("retry-after", "Tuesday, 14-Nov-23 22:13:30 GMT", Some(10.0))]
#[case::oldest_date("retry-after", "Tue Nov 14 22:13:30 2023", Some(10.0))]
#[case::negative("retry-after", "-3", None)]
#[case::not_a_number("retry-after", "NaN", None)]
#[case::words("retry-after", "soon", None)]
fn services_say_how_long_to_wait(#[case] name: &str, #[case] value: &str, #[case] seconds: Option<f64>) {
    let headers = vec![(name.to_owned(), value.to_owned())];
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let pause = retry::requested_pause(&HttpResponse { headers, ..HttpResponse::default() }, now);
    assert_eq!(pause, seconds.map(Duration::from_secs_f64));
}

#[test]
fn requested_delay_is_kept_unless_too_long() {
    let limited = |seconds: &str| {
        let mut limited = reply(429, &json!({}));
        limited.headers = vec![("retry-after".to_owned(), seconds.to_owned())];
        limited
    };
    let first = limited("7");
    let network =
        scripted_network(move |number, body| if number == 0 { Ok(first.clone()) } else { openai_reply(body) });
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    assert!(remote.embed(&["a"], EmbeddingPurpose::Document).is_ok());
    // Seven seconds, plus jitter.
    assert_eq!(*network.pauses.lock().unwrap(), [Duration::from_secs(8)]);

    let always = limited("120");
    let network = scripted_network(move |_, _| Ok(always.clone()));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a"], EmbeddingPurpose::Document).unwrap_err();
    assert_eq!(error.cooldown(), Duration::from_mins(2));
    assert!(network.pauses.lock().unwrap().is_empty());
}

#[rstest]
#[case::wrong_key(401, json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}),
    "openai at models.example rejects the key in OPENAI_API_KEY (401); set a valid key and restart the host, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::wrong_key_of_gemini(400, json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}),
    "openai at models.example rejects the key in OPENAI_API_KEY (400); set a valid key and restart the host, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::forbidden(403, json!({"error": {"message": format!("key {KEY} may not\nuse some-model.")}}),
    "openai at models.example denies access with the key in OPENAI_API_KEY (403): key [key] may not use some-model; change its permissions or use another key, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::no_model(404, json!({"error": {"message": "model \"some-model\" not found, try pulling it first", "type": "api_error"}}),
    "openai at models.example has no model some-model (404): model \"some-model\" not found, try pulling it first; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::quota(429, json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    "openai at models.example reports that the quota is used up: You exceeded your current quota; check the plan and billing, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::refused_as_a_list(400, json!([{"error": {"code": 400, "message": "no such task", "status": "INVALID_ARGUMENT"}}]),
    "openai at models.example rejects the request (400): no such task; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::refused_with_success(200, json!({"error": "no model is loaded"}),
    "openai at models.example rejects the request (200): no model is loaded; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::fewer(200, json!({"data": []}),
    "openai at models.example returned 0 vectors for 1 texts; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::other_dimensions(200, json!({"data": [{"index": 0, "embedding": [1, 2]}]}),
    "openai at models.example returned vectors with 2 dimensions instead of 3; set JIKIME_EMBEDDING_DIMENSIONS to the dimensions of some-model, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::not_a_number(200, json!({"data": [{"index": 0, "embedding": [1, 2, null]}]}),
    "openai at models.example returned no valid vectors; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::infinite(200, json!({"data": [{"index": 0, "embedding": [1, 2, 1e39]}]}),
    "openai at models.example returned no valid vectors; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
fn permanent_errors_name_the_fix(#[case] status: u16, #[case] body: Value, #[case] message: &str) {
    assert_eq!(error_of_status(status, body).to_string(), message);
}

#[rstest]
#[case::page("<!doctype html><title>Sign in</title>", "a web page instead of JSON")]
#[case::empty("", "nothing")]
#[case::half("{\"data\": [{\"index\": 0, \"embedding\": [0.1, 0.2", "an incomplete response")]
#[case::nan("{\"data\": [{\"index\": 0, \"embedding\": [NaN, 1, 1]}]}", "no valid vectors")]
#[case::twice_the_same(
    "{\"data\": [{\"index\": 0, \"embedding\": [1, 1, 1]}, {\"index\": 0, \"embedding\": [1, 1, 1]}]}",
    "1 vectors for 2 texts"
)]
fn responses_without_valid_vectors_are_refused(#[case] body: &'static str, #[case] message: &str) {
    let network =
        scripted_network(move |_, _| Ok(HttpResponse { status: 200, body: body.into(), ..HttpResponse::default() }));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a", "b"], EmbeddingPurpose::Document).unwrap_err().to_string();
    assert!(error.starts_with(&format!("openai at models.example returned {message}; check ")), "{error}");
    let asked = if message.contains("no valid vectors") { 2 } else { 1 };
    assert_eq!(
        network.seen.lock().unwrap().len(),
        asked,
        "what will not pass is asked once, and a word where it may be the text"
    );
}

/// A service that refuses every text with a cross.
fn service_refusing_crosses(
    refusal: HttpResponse,
) -> impl Fn(usize, &Value) -> Result<HttpResponse, NetworkError> + Send + Sync {
    move |_, body| match body["input"].to_string().contains('✗') {
        true => Ok(refusal.clone()),
        false => openai_reply(body),
    }
}

#[rstest]
#[case::refusal(400, json!({"error": {"message": "invalid input"}}))]
#[case::unprocessable(422, json!({"detail": "this text is not for us"}))]
#[case::no_number(500, json!({"error": {"message": "failed to encode response: json: unsupported value: NaN"}}))]
#[case::null(200, json!({"data": [{"index": 0, "embedding": [1, null, 1]}]}))]
#[case::too_long_however_short(400, json!({"error": "the input length exceeds the context length"}))]
fn rejected_text_does_not_block_others(#[case] status: u16, #[case] body: Value) {
    let network = scripted_network(service_refusing_crosses(reply(status, &body)));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let texts: Vec<String> =
        (0..32).map(|n| format!("{} {n}", if [3, 20].contains(&n) { "✗" } else { "fine" })).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embedded = remote.embed(&texts, EmbeddingPurpose::Document).unwrap();
    let refused = |(n, embedded): (usize, &EmbeddingResult)| (*embedded == EmbeddingResult::Refused).then_some(n);
    assert_eq!(embedded.iter().enumerate().filter_map(refused).collect::<Vec<_>>(), [3, 20]);
    assert_eq!(embedded.iter().filter(|embedded| matches!(embedded, EmbeddingResult::Vector(_))).count(), 30);
    // Two paths through five halvings, their siblings, and the test word.
    let asked = network.seen.lock().unwrap().len();
    assert!(asked <= 22, "{asked}");
    assert_eq!(network.pauses.lock().unwrap().len(), 0);
    // The service itself is not at fault.
    assert!(remote.embed(&["fine"], EmbeddingPurpose::Document).is_ok());
}

#[test]
fn rejected_question_does_not_block_the_next() {
    let network =
        scripted_network(service_refusing_crosses(reply(400, &json!({"error": {"message": "invalid input"}}))));
    let remote = RemoteEmbedder::open(service(), network).unwrap();
    assert_eq!(remote.embed_query("what of ✗?").unwrap_err().to_string(), "openai rejects this question");
    assert!(remote.embed_query("what of this?").unwrap().is_some());
}

#[test]
fn parts_of_a_refused_text_are_not_sent_one_after_the_other() {
    let network =
        scripted_network(service_refusing_crosses(reply(400, &json!({"error": {"message": "invalid input"}}))));
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let long = "✗ and many more words of it. ".repeat(2_000);
    assert_eq!(remote.embed(&[&long, "fine"], EmbeddingPurpose::Document).unwrap()[0], EmbeddingResult::Refused);
    let asked = network.seen.lock().unwrap().len();
    assert!(asked <= 12, "{asked}");
}

#[test]
fn clock_set_back_ends_a_pause() {
    let network =
        scripted_network(|number, body| if number == 0 { Ok(reply(401, &json!({}))) } else { openai_reply(body) });
    let remote = RemoteEmbedder::open(service(), network.clone()).unwrap();
    let embed = || remote.embed(&["a"], EmbeddingPurpose::Document);
    assert!(embed().is_err() && embed().is_err());
    *network.now.lock().unwrap() -= Duration::from_hours(24);
    assert!(embed().is_ok());
}

fn error_of_status(status: u16, body: Value) -> RemoteError {
    let network = scripted_network(move |_, _| Ok(reply(status, &body)));
    RemoteEmbedder::open(service(), network).unwrap().embed(&["a"], EmbeddingPurpose::Document).unwrap_err()
}
