use proptest::prelude::*;
use rstest::rstest;
use unicode_normalization::UnicodeNormalization;

use super::compound::MAX_TOKEN_LENGTH;
use super::*;

/// A token as indexed, with its place in the text.
#[derive(Debug, PartialEq, Eq)]
struct IndexedToken {
    text: String,
    start: usize,
    end: usize,
    word: u32,
}

fn analyze(text: &str) -> Vec<IndexedToken> {
    let mut tokens = Vec::new();
    visit(text, |piece| {
        let TokenPiece { start, end, word, .. } = *piece;
        tokens.push(IndexedToken { text: piece.token().into_owned(), start, end, word });
    });
    tokens
}

/// The tokens of a text, joined by spaces.
fn indexed_text(text: &str) -> String {
    analyze(text).into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case::english_is_stemmed("Running tests, cached tokens", "run test cach token")]
#[case::possessive("Caroline's users' we'll don't", "carolin user we dont")]
#[case::camel("getUserName", "get user name getusernam")]
#[case::snake("get_user_name", "get user name getusernam")]
#[case::kebab("get-user-name", "get user name getusernam")]
#[case::acronym("HTTPServer", "http server httpserver")]
#[case::plural_of_an_acronym("PRs", "prs")]
#[case::error_code("E0308 sha256 200ms", "e0308 sha256 200ms")]
#[case::version("v1.95.0", "v1 95 0 v1950")]
#[case::path("src/rate_limit.rs", "src rate limit rs ratelimit ratelimitr srcratelimitr")]
#[case::rust_path("std::collections", "std collect stdcollect")]
#[case::korean_pairs("토큰을", "토큰 큰을 을")]
#[case::one_syllable("값", "값")]
#[case::glued("Rust로", "rust 로")]
#[case::counted("12월", "12 12월 월")]
#[case::han_and_kana("検索トークン", "検索 索ト トー ーク クン ン")]
#[case::thai("ไทย", "ไท ทย ย")]
#[case::accents("Café naïve Ёлка", "cafe naiv елк")]
#[case::full_width("ＡＰＩ", "api")]
#[case::half_width("ｶﾞｽ", "ガス ス")]
#[case::german("Straße", "strass")]
#[case::languages("C++, (C#) and F#; issue#12 a#b", "cplusplus csharp and fsharp issu 12 a b")]
#[case::punctuation("\"*:^()+-~ -- 'x' AND", "x and")]
fn texts_have_tokens(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(indexed_text(text), expected);
}

#[test]
fn separate_letters_of_macos_give_the_tokens_of_syllables() {
    for text in ["검색 토큰을", "café", "ガス", "Åse"] {
        let decomposed: String = text.nfd().collect();
        assert_eq!(indexed_text(&decomposed), indexed_text(text), "{text}");
    }
}

#[test]
fn offsets_point_into_the_original_text() {
    let text = "Use getUserName로 검색";
    let found: Vec<(String, &str, u32)> =
        analyze(text).into_iter().map(|token| (token.text, &text[token.start..token.end], token.word)).collect();
    let expected = [
        ("use", "Use", 0),
        ("get", "get", 1),
        ("user", "User", 1),
        ("name", "Name", 1),
        ("getusernam", "getUserName", 1),
        ("로", "로", 1),
        ("검색", "검색", 2),
        ("색", "색", 2),
    ];
    assert_eq!(found, expected.map(|(token, source, word)| (token.to_owned(), source, word)));
}

#[test]
fn the_script_of_a_text_is_that_of_most_of_its_letters() {
    use script::Script;
    assert_eq!(Script::detect("로그인은 OAuth 디바이스 플로우로 하기로 결정"), Script::Hangul);
    assert_eq!(Script::detect("Use `검색` as the label of the search box"), Script::Other);
    assert_eq!(Script::detect("検索の結果が空になる"), Script::Han);
    assert_eq!(Script::detect("12 + 30"), Script::None);
}

#[test]
fn encoded_data_gives_few_tokens() {
    let blob = "aGVsbG8Wb3JsZA".repeat(10_000);
    let tokens = analyze(&blob);
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0].text.chars().count(), MAX_TOKEN_LENGTH);
    let drawn = "_".repeat(200_000) + "x";
    assert_eq!(indexed_text(&drawn), "x");
}

#[test]
fn marks_that_folding_puts_in_order_point_to_the_whole_run() {
    let text = "\u{f80}\u{10a3f}";
    assert!(analyze(text).iter().all(|token| (token.start, token.end) == (0, text.len())));
}

proptest! {
    #[test]
    fn tokens_hold_nothing_that_separates_them(text in "\\PC{0,80}|[ -~]{0,80}|[\\x00-\\x1f가-힣ᄀ-ᇿ\u{300}-\u{36f}]{0,40}") {
        for token in analyze(&text) {
            prop_assert!(!token.text.is_empty() && token.text.chars().count() <= MAX_TOKEN_LENGTH);
            let allowed = |c: char| if c.is_ascii() { c.is_ascii_alphanumeric() } else { !c.is_whitespace() && !c.is_control() };
            prop_assert!(token.text.chars().all(allowed), "{:?}", token);
            prop_assert!(text.get(token.start..token.end).is_some_and(|source| !source.is_empty()));
        }
    }

    #[test]
    fn folding_twice_changes_nothing(word in "\\w{1,20}") {
        let once = fold::fold(&word);
        prop_assert_eq!(fold::fold(&once), once);
    }
}
