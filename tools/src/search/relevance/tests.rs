//! Relevance: properties that fusion and thresholds depend on.

use proptest::prelude::*;
use rstest::rstest;
use rusqlite::Connection;

use super::*;
use crate::fulltext::FullText;

/// Scores of documents in a store with `others` unrelated documents.
fn scores(query: &str, documents: &[String], others: usize) -> Vec<f32> {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    let filler = (0..others).map(|i| "ffff gggg hhhh jjjj ".repeat(5 + i % 10));
    let mut writer = fulltext.writer();
    for (row, document) in documents.iter().cloned().chain(filler).enumerate() {
        writer.insert(row as i64, "", &document).unwrap();
    }
    writer.finish().unwrap();
    connection.execute_batch("COMMIT").unwrap();
    let query = Query::parse(query);
    let relevance = RelevanceScorer::new(&query, &fulltext.corpus(query.all_terms()).unwrap());
    documents.iter().map(|document| score_with(&relevance, "", document)).collect()
}

fn corpus(query: &Query, documents: u64, frequency: u64) -> CorpusStats {
    CorpusStats { documents, average_length: 40.0, frequencies: vec![frequency.min(documents); query.terms().len()] }
}

fn score_with(relevance: &RelevanceScorer<'_>, title: &str, body: &str) -> f32 {
    relevance.score_of(&relevance.collect_evidence(title, body, ""))
}

fn score(query: &str, title: &str, body: &str) -> f32 {
    let query = Query::parse(query);
    score_with(&RelevanceScorer::new(&query, &corpus(&query, 100, 3)), title, body)
}

const THRESHOLD: f32 = 0.35;

#[test]
fn words_for_asking_count_less_than_the_text() {
    let query = Query::parse("release day");
    let relevance = RelevanceScorer::new(&query, &corpus(&query, 100, 3));
    let score = |body, also| relevance.score_of(&relevance.collect_evidence("", body, also));
    let (said, also, neither) =
        (score("release day", ""), score("deploy tuesdays", "release day"), score("deploy", ""));
    assert!(said > also && also > THRESHOLD && neither == 0.0, "{said} {also} {neither}");
}

#[rstest]
#[case::phrase("token expiry", "the token expiry is short", "the token is what an expiry ends")]
#[case::quoted("\"token expiry\" rotation", "the token expiry is short", "the token rotation has no end")]
#[case::coverage("token expiry redis", "token expiry in redis", "token token token expiry")]
#[case::whole_compound("getUserName", "calls get_user_name twice", "the name of the user to get")]
#[case::particle("토큰을 만료했나요", "토큰 만료 때문에 바꿨다", "토큰 형식을 바꾸고 끝냈다")]
#[case::one_syllable("값", "그 값을 바꾼다", "그 갑을 바꾼다")]
#[case::spaced_differently("다크모드", "다크 모드를 켠다", "다른 모드를 켠다")]
fn the_first_document_is_the_better_one(#[case] query: &str, #[case] better: &str, #[case] worse: &str) {
    let (better, worse) = (score(query, "", better), score(query, "", worse));
    assert!(better > worse, "{better} > {worse}");
    assert!(better > THRESHOLD, "{better}");
}

#[rstest]
#[case::korean("password", "비밀번호는 어디에도 남기지 않는다", true)]
#[case::korean_spaced("password", "비밀 번호는 어디에도 남기지 않는다", true)]
#[case::from_korean("비밀번호는 어떻게 저장하지", "Passwords are kept nowhere", true)]
#[case::japanese("password", "パスワードを保存しない", true)]
#[case::from_chinese("密码重置链接", "Links for resetting a password", true)]
#[case::in_other_words("how fast is it", "a quick answer", true)]
#[case::idiom("what did we choose for signing users in", "로그인 화면", true)]
#[case::phrase("rate limit", "호출 제한은 분당 60회", true)]
#[case::identifier("rateLimit", "호출 제한은 분당 60회", true)]
#[case::part_of_a_longer_word("log", "로그인 화면을 바꿨다", false)]
#[case::part_of_katakana("log", "ログインできない", false)]
#[case::one_syllable("queue", "큐를 비운다", true)]
#[case::end_of_a_word("ram", "프로그램을 켠다", false)]
#[case::idiom_is_not_its_verb("sign in", "a signature", false)]
#[case::no_word_at_all("zebra", "줄무늬", false)]
fn the_glossary_knows_other_words(#[case] query: &str, #[case] text: &str, #[case] expected: bool) {
    assert_eq!(score(query, "", text) > 0.0, expected, "{query}: {text}");
}

#[test]
fn literal_word_beats_synonyms() {
    for (query, own, other) in [
        ("password", "the password is long", "비밀번호 비밀번호 비밀번호 비밀번호"),
        ("fast", "a fast answer", "quick quick speedy rapid quicker quick"),
        ("로그인 화면", "로그인 화면", "login screen login screen sign in display"),
    ] {
        let (own, other) = (score(query, "", own), score(query, "", other));
        assert!(own > other && other > 0.0, "{query}: {own} > {other}");
    }
}

#[test]
fn many_ways_to_say_one_word_are_one() {
    assert_eq!(score("fast", "", "quick answers come"), score("fast", "", "quick rapid speedy"));
    assert!(score("fast password", "", "quick 비밀번호") > score("fast password", "", "quick rapid"));
}

#[test]
fn a_word_of_an_idiom_is_worth_less_by_itself() {
    let alone = score("sign in", "", "builds are signed with a key");
    let idiom = score("sign in", "", "builds sign in with a key");
    assert!(alone > 0.0 && idiom > alone * 1.2, "{idiom} > {alone}");
    assert_eq!(score("sign", "", "builds are signed with a key"), score("sign", "", "builds we signed with a key"));
}

#[test]
fn a_title_counts_more_than_a_body() {
    assert!(score("redis", "Redis", "what we keep there") > score("redis", "", "Redis, what we keep there"));
}

#[test]
fn a_question_in_natural_language_is_not_a_condition() {
    let question = "What did we decide about the expiry of the JWT tokens in the login service last month?";
    assert!(score(question, "", "JWT tokens expire after five minutes.") > THRESHOLD);
    let korean = "지난달에 로그인 서비스에서 토큰 만료 시간을 어떻게 결정했나요?";
    assert!(score(korean, "", "토큰 만료는 5분으로 한다.") > THRESHOLD);
}

#[test]
fn one_common_word_of_many_is_not_relevant() {
    let query = Query::parse("best striker of the football league season user");
    let mut corpus = corpus(&query, 100, 0);
    *corpus.frequencies.last_mut().unwrap() = 20;
    let text = "The user prefers tabs over spaces and short commit messages.";
    let score = score_with(&RelevanceScorer::new(&query, &corpus), "", text);
    assert!(score > 0.0 && score < THRESHOLD, "{score}");
}

#[test]
fn nothing_in_common_is_zero() {
    assert_eq!(score("redis", "", "postgres"), 0.0);
    assert_eq!(score("", "", "postgres"), 0.0);
    assert_eq!(score("redis", "", ""), 0.0);
}

/// Words with distinct stems, no function words.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[b-d]{3}[xz]", "[가-깋]{2,4}"]
}

/// Words of one token, some of them synonyms.
fn glossary_word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "fast", "quick", "rapid", "password", "passcode", "delete", "remove", "erase", "cache", "zebra",
    ])
    .prop_map(str::to_owned)
}

fn document() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof![word(), "[m-p]{3}q"], 1..30)
}

proptest! {
    #[test]
    fn one_more_occurrence_never_lowers_the_score(
        words in prop::collection::vec("[b-d]{3}[xz]", 1..5), mut document in document(), place in any::<prop::sample::Index>(),
        which in any::<prop::sample::Index>(),
    ) {
        let query = words.join(" ");
        let at = place.index(document.len());
        // The replaced word is not a term, and the number of tokens is unchanged.
        document[at] = "mmmq".to_owned();
        let before = score(&query, "", &document.join(" "));
        document[at] = words[which.index(words.len())].clone();
        let after = score(&query, "", &document.join(" "));
        prop_assert!(after >= before, "{} < {}", after, before);
    }

    #[test]
    fn full_keyword_match_passes_in_every_store(
        words in prop::collection::vec(word(), 1..=2), filler in prop::collection::vec("[m-p]{3}q", 0..2000),
        documents in 1u64..1_000_000, frequency in 1u64..1_000_000,
    ) {
        let text = format!("{} {}", words.join(" "), filler.join(" "));
        let query = Query::parse(&words.join(" "));
        let score = score_with(&RelevanceScorer::new(&query, &corpus(&query, documents, frequency)), "", &text);
        prop_assert!(score > THRESHOLD && score <= 1.0, "{}", score);
    }

    #[test]
    fn synonym_never_lowers_score_and_is_below_the_word(
        mut document in prop::collection::vec(prop_oneof![glossary_word(), Just("mmmq".to_owned())], 1..12),
        query in prop::collection::vec(glossary_word(), 1..4), place in any::<prop::sample::Index>(), more in glossary_word(),
    ) {
        let (query, at) = (query.join(" "), place.index(document.len()));
        document[at] = "mmmq".to_owned();
        let before = score(&query, "", &document.join(" "));
        document[at] = more;
        let after = score(&query, "", &document.join(" "));
        prop_assert!(after >= before - 1e-6, "{} < {}", after, before);
        let itself = score(&query, "", &format!("{query} {}", vec!["mmmq"; document.len()].join(" ")));
        let others: Vec<String> = document.into_iter().filter(|word| !query.contains(word.as_str())).collect();
        let other = score(&query, "", &format!("{} {}", others.join(" "), ["mmmq"; 12].join(" ")));
        prop_assert!(itself > other, "{} <= {}", itself, other);
    }

    #[test]
    fn one_more_matched_word_never_lowers_the_score(words in prop::collection::vec("[b-d]{3}[xz]", 2..6)) {
        let query = words.join(" ");
        let mut document = vec!["mmmq".to_owned(); words.len()];
        let mut before = 0.0;
        for (i, word) in words.iter().enumerate() {
            document[i].clone_from(word);
            let after = score(&query, "", &document.join(" "));
            prop_assert!(after >= before, "{} < {}", after, before);
            before = after;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_store_of_three_ranks_as_a_large_one(
        words in prop::collection::vec("[b-d]{3}[xz]", 1..4), documents in prop::collection::vec(document(), 1..=3),
    ) {
        let documents: Vec<String> = documents.iter().map(|document| document.join(" ")).collect();
        let (small, large) = (scores(&words.join(" "), &documents, 0), scores(&words.join(" "), &documents, 1000));
        for (i, j) in (0..small.len()).flat_map(|i| (0..small.len()).map(move |j| (i, j))) {
            if small[i] > small[j] + 0.05 {
                prop_assert!(large[i] > large[j], "{:?} {:?}", small, large);
            }
            prop_assert_eq!(small[i] > 0.0, large[i] > 0.0);
        }
        for (small, large) in small.iter().zip(&large) {
            prop_assert!((small - large).abs() < 0.15, "{} {}", small, large);
        }
    }
}
