use rstest::rstest;

use std::fs;

use super::load::combine;
use super::*;

fn loaded(user: &str, project: &str, variables: &[(&str, &str)]) -> LoadedSettings {
    let directory = tempfile::tempdir().unwrap();
    let files = [("user.toml", user), ("project.toml", project)].map(|(name, text)| {
        let path = directory.path().join(name);
        if !text.is_empty() {
            fs::write(&path, text).unwrap();
        }
        path
    });
    let mut loaded = combine(Some(&files[0]), &files[1], |name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    });
    for problem in &mut loaded.problems {
        *problem = problem.replace(&format!("{}/", directory.path().display()), "");
    }
    loaded
}

#[test]
fn without_any_setting_the_defaults_hold() {
    let LoadedSettings { settings, problems, .. } = loaded("", "", &[]);
    assert_eq!((settings, problems), (Settings::default(), vec![]));
}

#[test]
fn the_later_wins_and_lists_add_up() {
    let user = "brief = \"off\"\nbrief_size = 500\nexclude = [\"a\"]";
    let project = "brief = \"compact-only\"\nexclude = [\"b\"]\nredact = ['ACME-\\d+']";
    let LoadedSettings { settings, problems, .. } =
        loaded(user, project, &[("JIKIME_BRIEF_SIZE", "800"), ("JIKIME_RECALL", "on")]);
    let expected = Settings {
        brief: BriefMode::AfterCompaction,
        brief_size: 800,
        recall: true,
        exclude: vec!["a".to_owned(), "b".to_owned()],
        redact: vec!["ACME-\\d+".to_owned()],
        ..Settings::default()
    };
    assert_eq!((settings, problems), (expected, vec![]));
}

#[test]
fn a_project_turns_capture_off_and_not_on() {
    let captures =
        |user: &str, project: &str, variables: &[(&str, &str)]| loaded(user, project, variables).settings.capture;
    assert!(!captures("", "capture = false", &[]));
    assert!(!captures("capture = false", "capture = true", &[]));
    assert!(captures("capture = false", "", &[("JIKIME_CAPTURE", "on")]));
}

#[rstest]
#[case("measured", Some(None))]
#[case("stated", Some(Some(LegWeights::VECTOR_HEAVY)))]
#[case("40/30/30", Some(Some(LegWeights { words: 40, tokens: 30, vector: 30 })))]
#[case("0/0/0", None)]
#[case("40/30", None)]
#[case("40/30/300", None)]
fn weights_are_named_or_given(#[case] text: &str, #[case] expected: Option<Option<LegWeights>>) {
    let found = loaded("", &format!("search_weights = \"{text}\""), &[]);
    assert_eq!(found.settings.search_weights, expected.flatten());
    assert_eq!(found.problems.is_empty(), expected.is_some(), "{:?}", found.problems);
}

#[test]
fn a_project_does_not_say_who_makes_embeddings() {
    let text = "embedding_provider = \"openai\"\nembedding_model = \"x\"";
    let of_the_project = loaded("", text, &[]);
    assert_eq!(of_the_project.settings, Settings::default());
    assert_eq!(of_the_project.problems.len(), 2, "{:?}", of_the_project.problems);
    let of_the_user = loaded(text, "", &[("JIKIME_EMBEDDING_PROVIDER", "local")]).settings;
    assert_eq!(
        (of_the_user.embedding_provider, of_the_user.embedding_model.as_deref()),
        (EmbeddingProvider::Local, Some("x"))
    );
}

#[rstest]
#[case::months("6mo", Some(180))]
#[case::months_as_before("6m", Some(180))]
#[case::hours("12h", Some(1))]
#[case::minutes("6min", None)]
#[case::nothing("0d", None)]
fn an_age_is_said_as_commands_read_it(#[case] text: &str, #[case] expected: Option<u32>) {
    let found = loaded(&format!("gc_older_than = \"{text}\""), "", &[]);
    assert_eq!((found.settings.gc_older_than, found.problems.is_empty()), (expected, expected.is_some()));
    let refused = loaded("", "\n\ngc_older_than = \"1d\"", &[]).problems;
    assert!(
        refused[0].starts_with("project.toml: line 3: gc_older_than is not for a project to set, which could have")
    );
}

#[rstest]
#[case::base_url(
    "embedding_base_url = \"https://elsewhere.example/v1\"",
    "embedding_base_url is not for a project to set, which could send your memories to others"
)]
#[case::dimensions("embedding_dimensions = 64", "embedding_dimensions is not for a project to set")]
#[case::key(
    "embedding_api_key = \"k-123456789\"",
    "no setting embedding_api_key: keys come from the environment alone"
)]
#[case::key_of_a_service("OPENAI_API_KEY = \"k-123456789\"", "no setting OPENAI_API_KEY")]
fn a_project_does_not_say_where_texts_are_sent_or_with_which_key(#[case] text: &str, #[case] problem: &str) {
    let found = loaded("", text, &[]);
    assert_eq!(found.settings, Settings::default());
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert!(found.problems[0].starts_with(&format!("project.toml: line 1: {problem}")), "{:?}", found.problems);
    assert!(!found.problems[0].contains("elsewhere") && !found.problems[0].contains("k-1"), "{:?}", found.problems);
}

#[test]
fn the_user_says_where_texts_are_sent() {
    let user = "embedding_base_url = \"http://localhost:11434/v1\"\nembedding_dimensions = 256";
    let settings = loaded(user, "", &[("JIKIME_EMBEDDING_DIMENSIONS", "512")]).settings;
    assert_eq!(settings.embedding_base_url.as_deref(), Some("http://localhost:11434/v1"));
    assert_eq!(settings.embedding_dimensions, Some(512));
    let nothing = loaded("", "", &[("JIKIME_EMBEDDING_BASE_URL", ""), ("JIKIME_EMBEDDING_DIMENSIONS", "1")]);
    assert_eq!((nothing.settings, nothing.problems.len()), (Settings::default(), 1));
}

#[rstest]
#[case::off("JIKIME_CAPTURE", "off", false, false)]
#[case::no_history("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1", false, false)]
#[case::history("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "0", true, false)]
#[case::not_disabled("JIKIME_MEMORY_DISABLED", "No", true, false)]
#[case::disabled("JIKIME_MEMORY_DISABLED", "1", true, true)]
#[case::empty("JIKIME_CAPTURE", "", true, false)]
fn the_environment_turns_things_off(
    #[case] name: &str,
    #[case] value: &str,
    #[case] captures: bool,
    #[case] is_disabled: bool,
) {
    let settings = loaded("", "", &[(name, value)]).settings;
    assert_eq!((settings.capture, settings.disabled), (captures, is_disabled));
}

const STOPPED: &str = "nothing is captured until this is mended";

#[rstest]
#[case::no_toml("capture = \"on\"\nbrief =", &["project.toml: line 2, column 8: "], false)]
#[case::wrong_type("exclude = \"secrets\"", &["project.toml: line 1: exclude must be a list of at most 100 globs such as"], false)]
#[case::wrong_word("brief = \"sometimes\"", &["project.toml: line 1: brief must be `\"on\"`, `\"compact-only\"` or `\"off\"`"], true)]
#[case::out_of_range("brief_size = 10", &["project.toml: line 1: brief_size must be a number from 200 to 9000"], true)]
#[case::no_pattern("redact = ['(']", &["the pattern"], false)]
#[case::capitals("Capture = true", &["project.toml: line 1: no setting Capture"], false)]
#[case::in_a_table("[memory]\ncapture = true", &["project.toml: line 1: no setting memory"], false)]
#[case::of_a_later_version("colour = \"red\"", &["project.toml: line 1: no setting colour; there is capture, brief, brief_size, recall, edits, conclusions, exclude, redact, embedding_provider, embedding_model, search_weights, embedding_base_url, embedding_dimensions"], true)]
fn what_is_not_understood_is_told_and_never_captures_against_a_wish(
    #[case] text: &str,
    #[case] expected: &[&str],
    #[case] captures: bool,
) {
    let LoadedSettings { settings, problems, .. } = loaded("", text, &[("JIKIME_CAPTURE", "on")]);
    assert_eq!(settings.capture, captures, "{problems:?}");
    assert_eq!(problems.len(), expected.len() + usize::from(!captures), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem}");
    }
    assert_eq!(problems.last().is_some_and(|problem| problem == STOPPED), !captures);
}

#[test]
fn a_file_that_is_too_large_or_cannot_be_read_stops_capture() {
    let large = format!("redact = [{}]", "'x',".repeat(20_000));
    assert!(!loaded("", &large, &[]).settings.capture);
    let directory = tempfile::tempdir().unwrap();
    let loaded = combine(None, directory.path(), |_| None);
    assert!(!loaded.settings.capture && loaded.problems.len() == 2, "{loaded:?}");
}
