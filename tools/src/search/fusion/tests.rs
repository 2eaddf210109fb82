//! Fusion: the four traps of hybrid search, through the engine and as properties.

use proptest::prelude::*;
use rstest::rstest;
use schema::memory::MemoryType;
use schema::settings::{Provider, Settings, Weights};
use schema::tool::{Confidence, SaveInput, SearchInput, SearchOutput};
use tempfile::TempDir;

use super::*;
use crate::engine::Engine;

proptest! {
    #[test]
    fn a_better_leg_never_lowers_the_score(
        words in 0.0f32..1.0, kin in prop::option::of(0.0f32..1.0), vector in prop::option::of(0.0f32..1.0),
        better in 0.0f32..1.0, weights in (0u16..=100, 0u16..=100, 0u16..=100), is_long in any::<bool>(),
        reads_sentences in any::<bool>(),
    ) {
        let weights = Weights { words: weights.0, kin: weights.1, vector: weights.2 };
        let weighing = Weighings::of(weights, reads_sentences).in_passage(is_long);
        let score = |words, kin, vector| calibrated(weighing.mean(words, kin, vector), AT_THRESHOLD[0][0]);
        let before = score(words, kin, vector);
        let more = |leg: f32| leg.max(better);
        prop_assert!(score(more(words), kin, vector) >= before - 1e-6);
        prop_assert!(score(words, kin.map(more), vector) >= before - 1e-6);
        prop_assert!(score(words, kin, vector.map(more)) >= before - 1e-6);
    }

    #[test]
    fn scores_go_up_with_relevance_and_meet_the_threshold(a in -0.5f32..1.5, b in -0.5f32..1.5) {
        for at in AT_THRESHOLD.into_iter().flatten() {
            prop_assert!((a <= b) == (calibrated(a, at) <= calibrated(b, at)) || (a - b).abs() < 1e-5);
            prop_assert!((calibrated(at, at) - THRESHOLD).abs() < 1e-6 && (calibrated(1.0, at) - 1.0).abs() < 1e-6);
        }
    }
}

struct Bench {
    _project: TempDir,
    engine: Engine,
}

fn bench(settings: &Settings, notes: &[String]) -> Bench {
    let project = tempfile::tempdir().unwrap();
    let mut engine = Engine::open_with(project.path(), None, settings).unwrap();
    for content in notes {
        let input = SaveInput {
            kind: MemoryType::Learning,
            content: content.clone(),
            metadata: None,
            long_term: false,
            supersedes: None,
        };
        engine.save(&input).unwrap();
    }
    Bench { _project: project, engine }
}

impl Bench {
    fn search(&mut self, query: &str) -> SearchOutput {
        self.engine.search(&SearchInput { query: query.to_owned(), ..SearchInput::default() }).unwrap()
    }

    fn first(&mut self, query: &str) -> String {
        self.search(query).results.first().map(|hit| hit.snippet.clone()).unwrap_or_default()
    }
}

fn installed() -> Settings {
    Settings { embedding_provider: Provider::Local, ..Settings::default() }
}

fn notes(texts: &[&str], others: usize) -> Vec<String> {
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
    let mut bench = bench(&installed(), &notes(&STORE, 60));
    let found = bench.search(question);
    let top: Vec<&str> = found.results.iter().take(3).map(|hit| hit.snippet.as_str()).collect();
    assert!(top.iter().any(|snippet| snippet.contains(expected)), "{question}: {found:#?}");
}

#[rstest]
#[case::measured(Weights::MEASURED)]
#[case::stated(Weights::STATED)]
#[case::vector_only(Weights { words: 0, kin: 0, vector: 1 })]
fn a_hit_by_keyword_alone_is_over_the_threshold_by_any_weights(#[case] weights: Weights) {
    let settings = Settings { search_weights: Some(weights), ..installed() };
    let long = format!("{} Qwjzk {}", "plants want water and shade. ".repeat(60), "gardens are green. ".repeat(60));
    let mut bench = bench(&settings, &notes(&[&long], 30));
    assert!(bench.search("Qwjzk").count >= 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn keywords_anywhere_in_a_long_passage_are_over_the_threshold_by_any_weights(
        weights in (0u16..=100, 0u16..=100, 0u16..=100), filler in 0usize..120, others in 0usize..20,
        words in ("[bdfg]{3}[xz]{2}q", "[klmn]{3}[xz]{2}q"),
    ) {
        let weights = Weights { words: weights.0, kin: weights.1, vector: weights.2 };
        let settings = Settings { search_weights: Some(weights), ..installed() };
        let long = format!("{} {} {}", words.0, "plants want water and shade. ".repeat(filler), words.1);
        let mut bench = bench(&settings, &notes(&[&long], others));
        prop_assert!(bench.search(&words.0).count >= 1);
        let both = [words.0, words.1].join(" ");
        prop_assert!(bench.search(&both).count >= 1);
    }
}

#[test]
fn what_shares_an_ending_with_a_question_is_no_answer_to_it() {
    let others: Vec<&str> = STORE.iter().copied().filter(|text| text.is_ascii()).collect();
    let mut bench = bench(&installed(), &notes(&[&[STORE[0]], &others[..]].concat(), 60));
    let found = bench.search("데이터베이스는 뭘 쓰기로 했지?");
    assert!(found.count == 0 && found.notice.is_some(), "{found:#?}");
}

#[test]
fn a_question_in_a_script_that_the_model_does_not_know_goes_by_its_words() {
    let mut bench = bench(&installed(), &notes(&["В Алматы курьеры часто теряют GPS между высотками"], 10));
    let found = bench.search("какая зарплата у курьеров в Астане?");
    assert!(found.count == 0 && found.notice.is_some_and(|notice| notice.contains("script")));
    assert_eq!(bench.search("курьеры в Алматы").count, 1);
}

#[test]
fn hits_say_how_sure_they_are() {
    let mut bench = bench(&installed(), &notes(&STORE, 0));
    assert_eq!(bench.search("token bucket rate limiting").results[0].confidence, Confidence::High);
    assert_eq!(Confidence::of(0.5), Confidence::Suggested);
}

#[test]
fn a_store_of_one_two_or_three_ranks_as_a_large_one() {
    for count in 1..=3 {
        for others in [0, 300] {
            let mut bench = bench(&installed(), &notes(&STORE[..count], others));
            assert!(bench.first("OAuth 로그인 결정").contains("OAuth"), "{count} {others}");
        }
    }
}

#[test]
fn a_question_in_natural_language_is_not_a_condition() {
    let mut bench = bench(&installed(), &notes(&STORE, 30));
    let question = "What was it that we decided about the timestamps and their conversion?";
    assert!(bench.first(question).contains("UTC"));
}

#[test]
fn what_has_nothing_to_do_with_the_store_is_answered_with_nothing_and_why() {
    let mut bench = bench(&installed(), &notes(&STORE, 0));
    for question in
        ["best recipe for chocolate cake", "축구 월드컵 우승 팀은 어디인가요", "symptoms of a vitamin deficiency"]
    {
        let found = bench.search(question);
        assert!(found.count == 0 && found.notice.is_some(), "{question}: {found:#?}");
    }
}

#[test]
fn an_explanation_shows_each_leg_and_the_mode_says_what_was_searched() {
    let explained = |settings: &Settings| {
        let mut bench = bench(settings, &notes(&STORE, 0));
        let input = SearchInput { query: "rate limiting".to_owned(), explain: true, ..SearchInput::default() };
        let found = bench.engine.search(&input).unwrap();
        (format!("{:?} {}", found.mode, found.provider), found.results[0].explanation.clone().unwrap())
    };
    let (mode, text) = explained(&installed());
    assert_eq!(mode, "Hybrid local");
    assert!(text.contains("words ") && text.contains("kindred words ") && text.contains("vector "), "{text}");
    let (mode, text) = explained(&Settings { embedding_provider: Provider::None, ..Settings::default() });
    assert_eq!(mode, "Text none");
    assert!(text.starts_with("words ") && !text.contains("vector"), "{text}");
}

#[test]
fn a_long_passage_is_as_near_as_its_nearest_part() {
    let filler = "The build runs on every change and takes about nine minutes on the slow machines. ".repeat(20);
    let said =
        "Passwords are hashed with argon2id, and the salt of every password is stored beside its hash. ".repeat(4);
    let mut bench = bench(&installed(), &notes(&[&format!("{filler}{said}"), &filler], 20));
    let (question, model) = ("password hashing", crate::embed::LocalModel::built_in());
    let near_in = |text: &str| in_words(Parts::new(&model, question).unwrap().nearest(&model.tokens(text)));
    let input = SearchInput { query: question.to_owned(), explain: true, ..SearchInput::default() };
    let hit = bench.engine.search(&input).unwrap().results.remove(0);
    let told = hit.explanation.unwrap();
    let vector: f32 = told.split("vector ").nth(1).unwrap().split([',', ' ']).next().unwrap().parse().unwrap();
    assert!((vector - near_in(&format!("{filler}{said}"))).abs() < 0.002, "{told}");
    assert!(vector > near_in(&filler) + 0.3, "{told}");
}

#[test]
fn a_model_that_cannot_be_used_is_told_and_search_goes_by_words() {
    let settings = Settings { embedding_model: Some("/nowhere/model.bin".to_owned()), ..installed() };
    let mut bench = bench(&settings, &notes(&STORE, 0));
    let found = bench.search("timestamps in UTC");
    assert_eq!(found.count, 1);
    assert!(found.notice.is_some_and(|notice| notice.contains("/nowhere/model.bin")));
    assert!(bench.engine.stats().unwrap().problems.iter().any(|problem| problem.contains("/nowhere/model.bin")));
}
