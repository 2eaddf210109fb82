//! What is made of services that refuse, are slow or answer nonsense.

use super::*;

#[test]
fn what_a_service_finds_too_long_is_split_further_and_later_texts_at_once() {
    let too_long = json!({"error": {"code": 500, "type": "server_error",
        "message": "input is too large to process. increase the physical batch size"}});
    let network = scripted(move |_, body| {
        let longest = body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len()).max();
        if longest > Some(100) { Ok(reply(500, &too_long)) } else { vectors_of(body) }
    });
    let remote = Remote::open(service(), network.clone()).unwrap();
    let long = "many words ".repeat(30);
    let vectors = vectors(&remote, &["short", &long, "brief"]);
    assert!(vectors.iter().all(Option::is_some));
    let asked = network.seen.lock().unwrap().len();
    remote.embed(&[&long], Purpose::Document).unwrap();
    assert_eq!(network.seen.lock().unwrap().len(), asked + 1, "the second time it is known what is too long");
    assert!(network.pauses.lock().unwrap().is_empty());
}

#[test]
fn a_service_that_finds_everything_too_long_is_given_up() {
    let error = failing(400, json!({"error": "the input length exceeds the context length"}));
    assert!(error.to_string().starts_with("openai at models.example finds even a short text too long"), "{error}");
}

#[test]
fn a_storm_of_refusals_is_waited_out_and_longer_each_time() {
    let network = scripted(|number, body| if number < 3 { Ok(reply(429, &json!({}))) } else { vectors_of(body) });
    let remote = Remote::open(service(), network.clone()).unwrap();
    assert!(remote.embed(&["a"], Purpose::Document).is_ok());
    assert_eq!(*network.pauses.lock().unwrap(), [1, 2, 4].map(Duration::from_secs));
}

#[rstest]
#[case::outages(|_| Err(Outage::Slow), "does not answer in time")]
#[case::unreachable(|_| Err(Outage::Unreachable("connection refused".to_owned())), "cannot be reached: connection refused")]
#[case::broken(|_| Err(Outage::Broken("unexpected end".to_owned())), "broke off in the middle: unexpected end")]
#[case::server(|_| Ok(reply(503, &json!({"error": {"message": "overloaded"}}))), "is in trouble (503): overloaded")]
fn what_passes_is_tried_until_patience_ends_and_then_left_alone(
    #[case] answer: fn(usize) -> Result<Reply, Outage>,
    #[case] told: &str,
) {
    let network = scripted(move |number, _| answer(number));
    let remote = Remote::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a"], Purpose::Document).unwrap_err();
    let wording = format!("openai at models.example {told}; search goes by text, and it is asked again later");
    assert_eq!(error.to_string(), wording);
    let asked = network.seen.lock().unwrap().len();
    assert_eq!(asked, 5);
    assert_eq!(remote.embed(&["b"], Purpose::Query).unwrap_err(), error);
    assert_eq!(network.seen.lock().unwrap().len(), asked, "a service that failed is left alone");
    *network.now.lock().unwrap() += error.rest();
    assert!(remote.embed(&["b"], Purpose::Query).is_err());
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
    let pause = patience::asked_pause(&Reply { headers, ..Reply::default() }, now);
    assert_eq!(pause, seconds.map(Duration::from_secs_f64));
}

#[test]
fn a_pause_that_is_asked_for_is_kept_and_a_long_one_is_left_to_later() {
    let limited = |seconds: &str| {
        let mut limited = reply(429, &json!({}));
        limited.headers = vec![("retry-after".to_owned(), seconds.to_owned())];
        limited
    };
    let first = limited("7");
    let network = scripted(move |number, body| if number == 0 { Ok(first.clone()) } else { vectors_of(body) });
    let remote = Remote::open(service(), network.clone()).unwrap();
    assert!(remote.embed(&["a"], Purpose::Document).is_ok());
    // Seven seconds, and a little more by chance, so that not all come back at once.
    assert_eq!(*network.pauses.lock().unwrap(), [Duration::from_secs(8)]);

    let always = limited("120");
    let network = scripted(move |_, _| Ok(always.clone()));
    let remote = Remote::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a"], Purpose::Document).unwrap_err();
    assert_eq!(error.rest(), Duration::from_secs(120));
    assert!(network.pauses.lock().unwrap().is_empty());
}

#[rstest]
#[case::wrong_key(401, json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}),
    "openai at models.example refuses the key of OPENAI_API_KEY (401); put a valid key there and start again, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::wrong_key_of_gemini(400, json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}),
    "openai at models.example refuses the key of OPENAI_API_KEY (400); put a valid key there and start again, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::forbidden(403, json!({"error": {"message": format!("key {KEY} may not\nuse some-model.")}}),
    "openai at models.example does not permit this with the key of OPENAI_API_KEY (403): key [key] may not use some-model; permit it there or use another key, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::no_model(404, json!({"error": {"message": "model \"some-model\" not found, try pulling it first", "type": "api_error"}}),
    "openai at models.example knows no model some-model (404): model \"some-model\" not found, try pulling it first; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::quota(429, json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
    "openai at models.example says that the quota is used up: You exceeded your current quota; see to its plan and billing, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::refused_as_a_list(400, json!([{"error": {"code": 400, "message": "no such task", "status": "INVALID_ARGUMENT"}}]),
    "openai at models.example refuses the request (400): no such task; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::refused_with_success(200, json!({"error": "no model is loaded"}),
    "openai at models.example refuses the request (200): no model is loaded; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::fewer(200, json!({"data": []}),
    "openai at models.example answers with 0 vectors for 1 texts; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::other_dimensions(200, json!({"data": [{"index": 0, "embedding": [1, 2]}]}),
    "openai at models.example answers with vectors of 2 dimensions instead of 3; set JIKIME_EMBEDDING_DIMENSIONS to what some-model makes, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::not_a_number(200, json!({"data": [{"index": 0, "embedding": [1, 2, null]}]}),
    "openai at models.example answers with something else than vectors of numbers; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
#[case::infinite(200, json!({"data": [{"index": 0, "embedding": [1, 2, 1e39]}]}),
    "openai at models.example answers with something else than vectors of numbers; check JIKIME_EMBEDDING_BASE_URL and JIKIME_EMBEDDING_MODEL, or set JIKIME_EMBEDDING_PROVIDER=local")]
fn what_somebody_has_to_mend_is_told_with_what_to_do(#[case] status: u16, #[case] body: Value, #[case] told: &str) {
    assert_eq!(failing(status, body).to_string(), told);
}

#[rstest]
#[case::page("<!doctype html><title>Sign in</title>", "a web page instead of JSON")]
#[case::empty("", "nothing")]
#[case::half("{\"data\": [{\"index\": 0, \"embedding\": [0.1, 0.2", "half of an answer")]
#[case::nan("{\"data\": [{\"index\": 0, \"embedding\": [NaN, 1, 1]}]}", "something else than vectors of numbers")]
#[case::twice_the_same(
    "{\"data\": [{\"index\": 0, \"embedding\": [1, 1, 1]}, {\"index\": 0, \"embedding\": [1, 1, 1]}]}",
    "1 vectors for 2 texts"
)]
fn answers_that_are_no_vectors_are_refused(#[case] body: &'static str, #[case] told: &str) {
    let network = scripted(move |_, _| Ok(Reply { status: 200, body: body.into(), ..Reply::default() }));
    let remote = Remote::open(service(), network.clone()).unwrap();
    let error = remote.embed(&["a", "b"], Purpose::Document).unwrap_err().to_string();
    assert!(error.starts_with(&format!("openai at models.example answers with {told}; check ")), "{error}");
    let asked = if told.contains("vectors of numbers") { 2 } else { 1 };
    assert_eq!(
        network.seen.lock().unwrap().len(),
        asked,
        "what will not pass is asked once, and a word where it may be the text"
    );
}

/// What a service answers that takes no text with a cross.
fn picky(refusal: Reply) -> impl Fn(usize, &Value) -> Result<Reply, Outage> + Send + Sync {
    move |_, body| match body["input"].to_string().contains('✗') {
        true => Ok(refusal.clone()),
        false => vectors_of(body),
    }
}

#[rstest]
#[case::refusal(400, json!({"error": {"message": "invalid input"}}))]
#[case::unprocessable(422, json!({"detail": "this text is not for us"}))]
#[case::no_number(500, json!({"error": {"message": "failed to encode response: json: unsupported value: NaN"}}))]
#[case::null(200, json!({"data": [{"index": 0, "embedding": [1, null, 1]}]}))]
#[case::too_long_however_short(400, json!({"error": "the input length exceeds the context length"}))]
fn a_text_that_is_refused_holds_up_no_other(#[case] status: u16, #[case] body: Value) {
    let network = scripted(picky(reply(status, &body)));
    let remote = Remote::open(service(), network.clone()).unwrap();
    let texts: Vec<String> =
        (0..32).map(|n| format!("{} {n}", if [3, 20].contains(&n) { "✗" } else { "fine" })).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embedded = remote.embed(&texts, Purpose::Document).unwrap();
    let refused = |(n, embedded): (usize, &Embedded)| (*embedded == Embedded::Refused).then_some(n);
    assert_eq!(embedded.iter().enumerate().filter_map(refused).collect::<Vec<_>>(), [3, 20]);
    assert_eq!(embedded.iter().filter(|embedded| matches!(embedded, Embedded::Vector(_))).count(), 30);
    // Two ways through five halvings, what is beside them, and the word by which it was told apart.
    let asked = network.seen.lock().unwrap().len();
    assert!(asked <= 22, "{asked}");
    assert_eq!(network.pauses.lock().unwrap().len(), 0);
    // The service is at fault for nothing.
    assert!(remote.embed(&["fine"], Purpose::Document).is_ok());
}

#[test]
fn a_question_that_is_refused_is_told_and_the_next_one_is_asked() {
    let network = scripted(picky(reply(400, &json!({"error": {"message": "invalid input"}}))));
    let remote = Remote::open(service(), network).unwrap();
    assert_eq!(remote.embed_query("what of ✗?").unwrap_err().to_string(), "openai refuses this question");
    assert!(remote.embed_query("what of this?").unwrap().is_some());
}

#[test]
fn parts_of_a_refused_text_are_not_sent_one_after_the_other() {
    let network = scripted(picky(reply(400, &json!({"error": {"message": "invalid input"}}))));
    let remote = Remote::open(service(), network.clone()).unwrap();
    let long = "✗ and many more words of it. ".repeat(2_000);
    assert_eq!(remote.embed(&[&long, "fine"], Purpose::Document).unwrap()[0], Embedded::Refused);
    let asked = network.seen.lock().unwrap().len();
    assert!(asked <= 12, "{asked}");
}

#[test]
fn a_clock_that_is_set_back_ends_a_rest() {
    let network = scripted(|number, body| if number == 0 { Ok(reply(401, &json!({}))) } else { vectors_of(body) });
    let remote = Remote::open(service(), network.clone()).unwrap();
    let embed = || remote.embed(&["a"], Purpose::Document);
    assert!(embed().is_err() && embed().is_err());
    *network.now.lock().unwrap() -= Duration::from_secs(86_400);
    assert!(embed().is_ok());
}

fn failing(status: u16, body: Value) -> RemoteError {
    let network = scripted(move |_, _| Ok(reply(status, &body)));
    Remote::open(service(), network).unwrap().embed(&["a"], Purpose::Document).unwrap_err()
}
