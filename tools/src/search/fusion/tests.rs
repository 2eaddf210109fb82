//! Fusion: four pitfalls of hybrid search, end to end and as properties.

use proptest::prelude::*;
use rstest::rstest;
use schema::settings::{EmbeddingProvider, LegWeights, Settings};
use schema::tool::{Confidence, Hit, SaveInput, SearchInput, SearchOutput};
use tempfile::TempDir;

use super::*;
use crate::engine::Engine;

proptest! {
    #[test]
    fn scores_go_up_with_relevance_and_meet_the_threshold(a in -0.5f32..1.5, b in -0.5f32..1.5) {
        for at in [AT_THRESHOLD, AT_THRESHOLD_IN_VERY_LONG] {
            prop_assert!((a <= b) == (calibrate(a, at) <= calibrate(b, at)) || (a - b).abs() < 1e-5);
            prop_assert!((calibrate(at, at) - THRESHOLD).abs() < 1e-6 && (calibrate(1.0, at) - 1.0).abs() < 1e-6);
        }
    }
}

struct SearchFixture {
    _project: TempDir,
    engine: Engine,
}

fn fixture(settings: &Settings, notes: &[String]) -> SearchFixture {
    let project = tempfile::tempdir().unwrap();
    let mut engine = Engine::open_with_settings(project.path(), settings).unwrap();
    for content in notes {
        engine.save(&SaveInput::new(MemoryType::Learning, content.clone())).unwrap();
    }
    SearchFixture { _project: project, engine }
}

impl SearchFixture {
    fn search(&mut self, query: &str) -> SearchOutput {
        self.engine.search(&SearchInput { query: query.to_owned(), ..SearchInput::default() }).unwrap()
    }

    fn first(&mut self, query: &str) -> String {
        self.search(query).results.first().map(|hit| hit.snippet.clone()).unwrap_or_default()
    }
}

fn default_settings() -> Settings {
    Settings { embedding_provider: EmbeddingProvider::Local, ..Settings::default() }
}

fn note_texts(texts: &[&str], others: usize) -> Vec<String> {
    let filler =
        (0..others).map(|i| format!("Entry {i} is about gardening: plant number {i} wants water and some shade."));
    texts.iter().map(|text| (*text).to_owned()).chain(filler).collect()
}

const STORE: [&str; 5] = [
    "로그인은 OAuth 디바이스 플로우로 하기로 결정",
    "We keep all timestamps in UTC and convert them at the edge.",
    "결제 모듈에서 반올림 오류가 발생해 Decimal로 바꿨다.",
    "Rate limiting uses a token bucket in middleware/rate_limit.rs.",
    "데이터베이스 마이그레이션은 sqlx로 하고 되돌리기 스크립트를 꼭 남긴다.",
];

#[rstest]
#[case::english_to_korean("what did we choose for signing users in", "OAuth")]
#[case::rounding("rounding error in the payment module", "Decimal")]
#[case::migration("how are database migrations done", "sqlx")]
#[case::korean_to_english("요청 횟수 제한은 어떻게 하나요", "token bucket")]
#[case::paraphrase("how are timestamps stored", "UTC")]
#[case::identifier("rate_limit", "token bucket")]
fn a_question_finds_what_is_meant_in_any_language(#[case] question: &str, #[case] expected: &str) {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 60));
    let found = project.search(question);
    let top: Vec<&str> = found.results.iter().take(3).map(|hit| hit.snippet.as_str()).collect();
    assert!(top.iter().any(|snippet| snippet.contains(expected)), "{question}: {found:#?}");
}

#[rstest]
#[case::measured(LegWeights::LOCAL_MODEL_DEFAULT)]
#[case::stated(LegWeights::VECTOR_HEAVY)]
#[case::vector_only(LegWeights { words: 0, vector: 1 })]
fn a_hit_by_keyword_alone_is_over_the_threshold_by_any_weights(#[case] weights: LegWeights) {
    let settings = Settings { search_weights: Some(weights), ..default_settings() };
    let long = format!("{} Qwjzk {}", "plants want water and shade. ".repeat(60), "gardens are green. ".repeat(60));
    let mut project = fixture(&settings, &note_texts(&[&long], 30));
    assert!(project.search("Qwjzk").count >= 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn keywords_in_long_passages_pass_with_any_weights(
        weights in (0u16..=100, 0u16..=100), filler in 0usize..120, others in 0usize..20,
        words in ("[bdfg]{3}[xz]{2}q", "[klmn]{3}[xz]{2}q"),
    ) {
        let weights = LegWeights { words: weights.0, vector: weights.1 };
        let settings = Settings { search_weights: Some(weights), ..default_settings() };
        let long = format!("{} {} {}", words.0, "plants want water and shade. ".repeat(filler), words.1);
        let mut project = fixture(&settings, &note_texts(&[&long], others));
        prop_assert!(project.search(&words.0).count >= 1);
        let both = [words.0, words.1].join(" ");
        prop_assert!(project.search(&both).count >= 1);
    }
}

/// The example of docs/dev/retrieval.md: 0.7 × vector + 0.3 × words.
#[rstest]
#[case::near("how are timestamps kept and converted at all edges")]
#[case::all_words("token bucket")]
fn stated_preset_computes_what_its_name_says(#[case] query: &str) {
    let settings = Settings { search_weights: Some(LegWeights::VECTOR_HEAVY), ..default_settings() };
    let mut project = fixture(&settings, &note_texts(&STORE, 60));
    let input = SearchInput { query: query.to_owned(), explain: true, ..SearchInput::default() };
    let hit = project.engine.search(&input).unwrap().results.remove(0);
    let reasons = hit.explanation.unwrap();
    let leg = |name: &str| -> f64 {
        reasons.split(&format!("{name} ")).nth(1).unwrap().split([',', ' ']).next().unwrap().parse().unwrap()
    };
    let (words, vector) = (leg("words"), leg("vector"));
    assert!((hit.score - (0.7 * vector + 0.3 * words)).abs() < 0.002, "{} {reasons}", hit.score);
    assert!(!reasons.contains("context") && !reasons.contains("features") && !reasons.contains('%'), "{reasons}");
}

#[test]
fn best_part_of_a_long_question_finds_its_document() {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 60));
    let frame = |i: usize| format!("frame {i}: gtk{i}_snapshot{i} at widget{i}.c line {i}0, module lib{i}x.so\n");
    let trace: String = (0..60).map(frame).collect();
    for question in
        [format!("{trace}Which token bucket limits the rate?"), format!("Which token bucket limits the rate?\n{trace}")]
    {
        assert!(project.first(&question).contains("token bucket"), "{:#?}", project.search(&question));
    }
}

#[rstest]
#[case("what did we use before GitHub Actions", &["CircleCI", "Jenkins", "GitHub Actions"])]
#[case("GitHub Actions 전에는 CI 뭐 썼지", &["CircleCI", "Jenkins", "GitHub Actions"])]
#[case("what did we use for CI before", &["CircleCI", "Jenkins", "GitHub Actions"])]
#[case("what did CI run on before CircleCI", &["Jenkins", "CircleCI", "GitHub Actions"])]
fn predecessors_are_shown_in_order_of_time(#[case] question: &str, #[case] expected: &[&str]) {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 20));
    let mut supersedes = None;
    for name in ["Jenkins", "CircleCI", "GitHub Actions"] {
        let input = SaveInput::new(MemoryType::Decision, format!("CI runs on {name}"));
        supersedes = Some(project.engine.save(&SaveInput { supersedes, ..input }).unwrap().id);
    }
    let found = project.search(question);
    let shown: Vec<&str> = found.results.iter().take(3).map(|hit| hit.snippet.as_str()).collect();
    let expected: Vec<String> = expected.iter().map(|name| format!("CI runs on {name}")).collect();
    assert_eq!(shown, expected);
}

#[rstest]
#[case::swapped("timestmaps", "UTC")]
#[case::missing("middlware", "token bucket")]
#[case::right("timestamps", "UTC")]
fn misspelled_words_find_the_nearest_spelling(#[case] question: &str, #[case] expected: &str) {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 60));
    assert!(project.first(question).contains(expected), "{question}: {:#?}", project.search(question));
}

#[test]
fn a_letter_of_an_identifier_is_no_word() {
    let mut project = fixture(&default_settings(), &note_texts(&["I like the tests that I wrote, and so do you"], 60));
    assert_eq!(project.search("IPv6").count, 0);
}

#[test]
fn shared_ending_is_no_good_match() {
    let others: Vec<&str> = STORE.iter().copied().filter(|text| text.is_ascii()).collect();
    let mut project = fixture(&default_settings(), &note_texts(&[&[STORE[0]], &others[..]].concat(), 60));
    let found = project.search("데이터베이스는 뭘 쓰기로 했지?");
    let are_weak = found.results.iter().all(|hit| hit.score < 0.35);
    assert!(are_weak && found.notice.as_ref().is_some_and(|notice| notice.contains("nearest")), "{found:#?}");
}

#[test]
fn unknown_script_is_searched_by_words() {
    let mut project =
        fixture(&default_settings(), &note_texts(&["В Алматы курьеры часто теряют GPS между высотками"], 10));
    let found = project.search("какая зарплата у водителей в Астане?");
    assert!(found.count == 0 && found.notice.is_some_and(|notice| notice.contains("script")));
    assert_eq!(project.search("курьеры в Алматы").count, 1);
}

#[test]
fn hits_say_how_sure_they_are() {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 0));
    assert_eq!(project.search("token bucket rate limiting").results[0].confidence, Confidence::High);
    assert_eq!(Confidence::from_score(0.5), Confidence::Suggested);
}

#[test]
fn newer_hit_that_moved_to_the_front_is_not_sure() {
    let mut project = fixture(&default_settings(), &note_texts(&STORE[..3], 30));
    let mut first_after_saving = |kind, text: &str| {
        project.engine.save(&SaveInput::new(kind, text.to_owned())).unwrap();
        project.search("how is the rate limited").results.swap_remove(0)
    };
    let older = "Rate limiting uses a token bucket, which the middleware reads.";
    assert_eq!(first_after_saving(MemoryType::SessionSummary, older).confidence, Confidence::High);
    let newer = "Throttle requests in nginx and not in the application.";
    let first = first_after_saving(MemoryType::UserPrompt, newer);
    assert_eq!((first.snippet.as_str(), first.confidence), (newer, Confidence::Suggested));
}

#[test]
fn a_store_of_one_two_or_three_ranks_as_a_large_one() {
    for count in 1..=3 {
        for others in [0, 300] {
            let mut project = fixture(&default_settings(), &note_texts(&STORE[..count], others));
            assert!(project.first("OAuth 로그인 결정").contains("OAuth"), "{count} {others}");
        }
    }
}

#[test]
fn a_question_in_natural_language_is_not_a_condition() {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 30));
    let question = "What was it that we decided about the timestamps and their conversion?";
    assert!(project.first(question).contains("UTC"));
}

#[test]
fn unrelated_query_returns_suggestions_at_most_and_a_reason() {
    let mut project = fixture(&default_settings(), &note_texts(&STORE, 0));
    for question in
        ["best recipe for chocolate cake", "축구 월드컵 우승 팀은 어디인가요", "symptoms of a vitamin deficiency"]
    {
        let found = project.search(question);
        let is_suggestion = |hit: &Hit| hit.confidence == Confidence::Suggested;
        assert!(found.results.iter().all(is_suggestion) && found.notice.is_some(), "{question}: {found:#?}");
    }
}

#[test]
fn explanation_shows_legs_and_mode() {
    let explained = |settings: &Settings| {
        let mut project = fixture(settings, &note_texts(&STORE, 0));
        let input = SearchInput { query: "rate limiting".to_owned(), explain: true, ..SearchInput::default() };
        let found = project.engine.search(&input).unwrap();
        (format!("{:?} {}", found.mode, found.provider), found.results[0].explanation.clone().unwrap())
    };
    let (mode, text) = explained(&default_settings());
    assert_eq!(mode, "Hybrid local");
    assert!(text.contains("words ") && text.contains("vector "), "{text}");
    let (mode, text) = explained(&Settings { embedding_provider: EmbeddingProvider::None, ..Settings::default() });
    assert_eq!(mode, "Text none");
    assert!(text.starts_with("words ") && !text.contains("vector"), "{text}");
}

#[test]
fn unusable_model_falls_back_to_words() {
    let settings = Settings { embedding_model: Some("/nowhere/model.bin".to_owned()), ..default_settings() };
    let mut project = fixture(&settings, &note_texts(&STORE, 0));
    let found = project.search("timestamps in UTC");
    assert_eq!(found.count, 1);
    assert!(found.notice.is_some_and(|notice| notice.contains("/nowhere/model.bin")));
    assert!(project.engine.stats().unwrap().problems.iter().any(|problem| problem.contains("/nowhere/model.bin")));
}
