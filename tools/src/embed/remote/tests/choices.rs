use super::*;

fn choose_from(
    provider: EmbeddingProvider,
    base_url: Option<&str>,
    model: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<Option<Service>, RemoteError> {
    let settings = Settings {
        embedding_provider: provider,
        embedding_base_url: base_url.map(str::to_owned),
        embedding_model: model.map(str::to_owned),
        ..Settings::default()
    };
    choose_service(&settings, |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "openai-key");
const GEMINI: (&str, &str) = ("GEMINI_API_KEY", "gemini-key");
const OWN: (&str, &str) = ("JIKIME_EMBEDDING_API_KEY", "own-key");
const OLLAMA: Option<&str> = Some("http://localhost:11434/v1");

#[rstest]
#[case::nothing(EmbeddingProvider::Auto, None, &[], "here")]
#[case::openai_first(EmbeddingProvider::Auto, None, &[GEMINI, OPENAI], "openai api.openai.com text-embedding-3-small 1536 openai-key")]
#[case::gemini_next(EmbeddingProvider::Auto, None, &[GEMINI], "gemini generativelanguage.googleapis.com gemini-embedding-001 768 gemini-key")]
#[case::an_empty_key_is_none(EmbeddingProvider::Auto, None, &[("OPENAI_API_KEY", " "), GEMINI], "gemini generativelanguage.googleapis.com gemini-embedding-001 768 gemini-key")]
#[case::a_key_of_its_own_chooses_nothing(EmbeddingProvider::Auto, None, &[OWN], "here")]
#[case::a_place(EmbeddingProvider::Auto, OLLAMA, &[GEMINI], "openai localhost:11434 text-embedding-3-small 1536 -")]
#[case::a_place_with_a_key(EmbeddingProvider::OpenAi, OLLAMA, &[OPENAI], "openai localhost:11434 text-embedding-3-small 1536 openai-key")]
#[case::its_own_key_first(EmbeddingProvider::OpenAi, OLLAMA, &[OPENAI, OWN], "openai localhost:11434 text-embedding-3-small 1536 own-key")]
#[case::not_over_an_open_network(EmbeddingProvider::OpenAi, Some("http://gpu.example:8000"), &[OPENAI], "openai gpu.example:8000 text-embedding-3-small 1536 -")]
#[case::but_one_that_is_meant_for_it(EmbeddingProvider::OpenAi, Some("http://gpu.example:8000"), &[OPENAI, OWN], "openai gpu.example:8000 text-embedding-3-small 1536 own-key")]
#[case::gemini_elsewhere(EmbeddingProvider::Gemini, Some("http://127.0.0.1:9/"), &[GEMINI], "gemini 127.0.0.1:9 gemini-embedding-001 768 gemini-key")]
#[case::here(EmbeddingProvider::Local, OLLAMA, &[OPENAI, GEMINI, OWN], "here")]
#[case::none(EmbeddingProvider::None, OLLAMA, &[OPENAI, GEMINI, OWN], "here")]
fn settings_and_keys_choose_a_service(
    #[case] provider: EmbeddingProvider,
    #[case] base_url: Option<&str>,
    #[case] variables: &[(&str, &str)],
    #[case] expected: &str,
) {
    let found = match choose_from(provider, base_url, None, variables).unwrap() {
        None => "here".to_owned(),
        Some(service) => {
            let key = service.key.as_ref().map_or("-", ApiKey::expose);
            let dims = service.dims().unwrap_or_default();
            format!("{} {} {} {dims} {key}", service.provider(), service.host(), service.model())
        }
    };
    assert_eq!(found, expected);
}

#[rstest]
#[case::no_key(EmbeddingProvider::OpenAi, None, None, &[], "openai needs a key in OPENAI_API_KEY; set it, or JIKIME_EMBEDDING_PROVIDER=local")]
#[case::no_key_of_gemini(EmbeddingProvider::Gemini, None, None, &[OPENAI], "gemini needs a key in GEMINI_API_KEY; set it, or JIKIME_EMBEDDING_PROVIDER=local")]
#[case::odd_key(EmbeddingProvider::Auto, None, None, &[("OPENAI_API_KEY", "se\ncret")], "OPENAI_API_KEY has characters that are invalid in a key; copy the key again")]
#[case::odd_model(EmbeddingProvider::Gemini, None, Some("../../x"), &[GEMINI], "../../x is not a valid Gemini model name; check JIKIME_EMBEDDING_MODEL")]
#[case::no_scheme(EmbeddingProvider::OpenAi, Some("localhost:11434"), None, &[], "JIKIME_EMBEDDING_BASE_URL must begin with https:// or http://, as in http://localhost:11434/v1")]
#[case::other_scheme(EmbeddingProvider::OpenAi, Some("file:///etc"), None, &[], "JIKIME_EMBEDDING_BASE_URL must begin with https:// or http://, as in http://localhost:11434/v1")]
#[case::password(EmbeddingProvider::OpenAi, Some("https://me:hunter2@models.example"), None, &[], "JIKIME_EMBEDDING_BASE_URL must not hold a password; set JIKIME_EMBEDDING_API_KEY, as in http://localhost:11434/v1")]
#[case::query(EmbeddingProvider::OpenAi, Some("https://models.example/?key=1"), None, &[], "JIKIME_EMBEDDING_BASE_URL must be an address and a path, without `?` and `#`, as in http://localhost:11434/v1")]
#[case::no_host(EmbeddingProvider::OpenAi, Some("https:///v1"), None, &[], "JIKIME_EMBEDDING_BASE_URL has no host, as in http://localhost:11434/v1")]
fn invalid_choices_are_reported(
    #[case] provider: EmbeddingProvider,
    #[case] base_url: Option<&str>,
    #[case] model: Option<&str>,
    #[case] variables: &[(&str, &str)],
    #[case] message: &str,
) {
    assert_eq!(choose_from(provider, base_url, model, variables).unwrap_err().to_string(), message);
}

#[rstest]
#[case("http://localhost:11434", "http://localhost:11434/v1", true)]
#[case("http://localhost:11434/v1/", "http://localhost:11434/v1", true)]
#[case("HTTP://[::1]:8080/v1/embeddings", "http://[::1]:8080/v1", true)]
#[case("http://127.0.0.2/api/openai", "http://127.0.0.2/api/openai", true)]
#[case("https://models.example", "https://models.example/v1", false)]
#[case("http://localhost.example", "http://localhost.example/v1", false)]
#[case("http://127.0.0.1.example", "http://127.0.0.1.example/v1", false)]
fn addresses_are_read(#[case] text: &str, #[case] url: &str, #[case] is_loopback: bool) {
    let address = address::ServiceAddress::parse(text, "v1").unwrap();
    assert_eq!((address.url.as_str(), address.is_loopback), (url, is_loopback));
}

#[rstest]
#[case::the_models_own(1_536, Some(1_536), None)]
#[case::shorter(256, Some(256), Some(256))]
fn dimensions_are_asked_for_where_they_are_not_the_models_own(
    #[case] wanted: usize,
    #[case] dims: Option<usize>,
    #[case] asked: Option<usize>,
) {
    let settings = Settings { embedding_dimensions: Some(wanted), ..Settings::default() };
    let service = choose_service(&settings, |name| (name == OPENAI.0).then(|| OPENAI.1.to_owned())).unwrap().unwrap();
    assert_eq!((service.dims, service.requested_dims), (dims, asked));
    let body: Value = serde_json::from_str(&service.request(&["a"], EmbeddingPurpose::Query).body).unwrap();
    assert_eq!(body.get("dimensions").cloned(), asked.map(Value::from));
}

#[test]
fn the_older_model_of_gemini_makes_vectors_of_its_own_length() {
    let service =
        choose_from(EmbeddingProvider::Gemini, None, Some("models/text-embedding-004"), &[GEMINI]).unwrap().unwrap();
    assert_eq!((service.model(), service.dims(), service.requested_dims), ("text-embedding-004", Some(768), None));
}
