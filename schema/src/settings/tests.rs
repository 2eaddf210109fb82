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
fn defaults_apply_without_any_setting() {
    let LoadedSettings { settings, problems, .. } = loaded("", "", &[]);
    assert_eq!((settings, problems), (Settings::default(), vec![]));
}

#[test]
fn later_sources_win_and_lists_are_combined() {
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
fn project_turns_capture_off_but_not_on() {
    let captures =
        |user: &str, project: &str, variables: &[(&str, &str)]| loaded(user, project, variables).settings.capture;
    assert!(!captures("", "capture = false", &[]));
    assert!(!captures("capture = false", "capture = true", &[]));
    assert!(captures("capture = false", "", &[("JIKIME_CAPTURE", "on")]));
}

#[rstest]
#[case("measured", Some(None))]
#[case("stated", Some(Some(LegWeights::VECTOR_HEAVY)))]
#[case("65/35/5", None)]
#[case("40/30", Some(Some(LegWeights { words: 40, vector: 30 })))]
#[case("0/0", None)]
#[case("40", None)]
#[case("40/300", None)]
fn weights_are_presets_or_numbers(#[case] text: &str, #[case] expected: Option<Option<LegWeights>>) {
    let found = loaded("", &format!("search_weights = \"{text}\""), &[]);
    assert_eq!(found.settings.search_weights, expected.flatten());
    assert_eq!(found.problems.is_empty(), expected.is_some(), "{:?}", found.problems);
}

#[test]
fn project_cannot_choose_an_embedding_provider() {
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
fn ages_are_parsed_as_in_commands(#[case] text: &str, #[case] expected: Option<u32>) {
    let found = loaded(&format!("gc_older_than = \"{text}\""), "", &[]);
    assert_eq!((found.settings.gc_older_than, found.problems.is_empty()), (expected, expected.is_some()));
    let refused = loaded("", "\n\ngc_older_than = \"1d\"", &[]).problems;
    assert!(
        refused[0].starts_with("project.toml: line 3: a project cannot set gc_older_than, because it could delete")
    );
}

#[rstest]
#[case::base_url(
    "embedding_base_url = \"https://elsewhere.example/v1\"",
    "a project cannot set embedding_base_url, because it could send your memories to others"
)]
#[case::dimensions("embedding_dimensions = 64", "a project cannot set embedding_dimensions")]
#[case::key(
    "embedding_api_key = \"k-123456789\"",
    "unknown setting embedding_api_key: keys are read only from the environment"
)]
#[case::key_of_a_service("OPENAI_API_KEY = \"k-123456789\"", "unknown setting OPENAI_API_KEY")]
fn project_cannot_set_service_addresses_or_keys(#[case] text: &str, #[case] problem: &str) {
    let found = loaded("", text, &[]);
    assert_eq!(found.settings, Settings::default());
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert!(found.problems[0].starts_with(&format!("project.toml: line 1: {problem}")), "{:?}", found.problems);
    assert!(!found.problems[0].contains("elsewhere") && !found.problems[0].contains("k-1"), "{:?}", found.problems);
}

#[test]
fn user_can_set_a_service_address() {
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
fn environment_turns_recording_off(
    #[case] name: &str,
    #[case] value: &str,
    #[case] captures: bool,
    #[case] is_disabled: bool,
) {
    let settings = loaded("", "", &[(name, value)]).settings;
    assert_eq!((settings.capture, settings.disabled), (captures, is_disabled));
}

const STOPPED: &str = "nothing is recorded until this is fixed";

#[rstest]
#[case::no_toml("capture = \"on\"\nbrief =", &["project.toml: line 2, column 8: "], false)]
#[case::wrong_type("exclude = \"secrets\"", &["project.toml: line 1: exclude must be a list of at most 100 globs such as"], false)]
#[case::wrong_word("brief = \"sometimes\"", &["project.toml: line 1: brief must be `\"on\"`, `\"compact-only\"` or `\"off\"`"], true)]
#[case::out_of_range("brief_size = 10", &["project.toml: line 1: brief_size must be a number from 200 to 9000"], true)]
#[case::no_pattern("redact = ['(']", &["invalid pattern"], false)]
#[case::capitals("Capture = true", &["project.toml: line 1: unknown setting Capture"], false)]
#[case::in_a_table("[memory]\ncapture = true", &["project.toml: line 1: unknown setting memory"], false)]
#[case::of_a_later_version("colour = \"red\"", &["project.toml: line 1: unknown setting colour; the settings are capture, brief, brief_size, recall, recall_min_score, file_recall, reminder, edits, conclusions, exclude, redact, anonymise, other_projects, team_author, team_own_approval, team_share_by_model, embedding_provider, embedding_model, search_weights, search_results, search_min_score, search_tokens, embedding_base_url, embedding_dimensions"], true)]
fn invalid_settings_are_reported_and_never_permit_capture(
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
fn oversized_or_unreadable_file_stops_capture() {
    let large = format!("redact = [{}]", "'x',".repeat(20_000));
    assert!(!loaded("", &large, &[]).settings.capture);
    let directory = tempfile::tempdir().unwrap();
    let loaded = combine(None, directory.path(), |_| None);
    assert!(!loaded.settings.capture && loaded.problems.len() == 2, "{loaded:?}");
}
