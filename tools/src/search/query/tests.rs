//! Queries: their words and terms.

use proptest::prelude::*;
use rstest::rstest;

use super::builder::{MAX_BYTES, MAX_TERMS};
use super::*;
use crate::text::script::Script;

/// Words separated by bars: the whole term, then the parts; an asterisk marks a prefix.
fn shape(text: &str) -> String {
    let query = Query::parse(text);
    let name = |place: usize| {
        let term = &query.terms()[place];
        format!("{}{}", term.text, if term.prefix { "*" } else { "" })
    };
    let word = |word: &QueryWord| {
        let parts = word.parts.iter().map(|(place, _)| name(*place)).collect::<Vec<_>>().join(" ");
        match word.whole {
            Some(whole) if parts.is_empty() => name(whole),
            Some(whole) => format!("{}({parts})", name(whole)),
            None => format!("({parts})"),
        }
    };
    query.words.iter().map(word).collect::<Vec<_>>().join(" | ")
}

#[rstest]
#[case::question("How did we decide to cache the tokens?", "decid | cach | token")]
#[case::only_function_words("what is this", "what | is | this")]
#[case::capitals_are_no_function_words("support in IT and the US", "support | it | us")]
#[case::all_capitals("WHAT IS REDIS", "redi")]
#[case::compound("getUserName", "getusernam(get user name)")]
#[case::prefixed_name("iPhone", "iphon")]
#[case::path("src/rate_limit.rs", "srcratelimitr(src rate limit rs ratelimit ratelimitr)")]
#[case::korean("토큰을 어떻게 저장했지", "(토큰 큰을) | (저장 장했)")]
#[case::korean_question_only("뭐였지", "(뭐였 였지)")]
#[case::korean_command("배포 일정 알려줘", "배포 | 일정")]
#[case::one_syllable("값", "값*")]
#[case::glued_particle("JWT를", "jwt")]
#[case::glued_word("JWT토큰", "jwt | 토큰")]
#[case::counted("12월 배포", "12 | 12월 | 월* | 배포")]
#[case::japanese("検索トークン", "(検索 索ト トー ーク クン)")]
#[case::repeated("token tokens token", "token")]
fn questions_become_words(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(shape(text), expected);
}

#[test]
fn quoted_words_know_their_quote() {
    let query = Query::parse("see \"rate limit\" and “token bucket” now");
    let quotes: Vec<Option<usize>> = query.words.iter().map(|word| word.quote).collect();
    assert_eq!(quotes, [None, Some(0), Some(0), Some(1), Some(1), None]);
}

#[test]
fn long_query_is_cut_and_reported() {
    let long = (0..500).map(|i| format!("word{i}")).collect::<Vec<_>>().join(" ");
    let query = Query::parse(&long);
    assert_eq!(query.terms().len(), MAX_TERMS);
    assert!(query.is_truncated);
    assert!(Query::parse(&"가".repeat(5000)).is_truncated);
    assert!(!Query::parse("token bucket").is_truncated);
}

#[rstest]
#[case::one_word("commit ".repeat(150_000))]
#[case::without_a_space("x".repeat(1 << 20))]
#[case::of_distinct_words((0..130_000).map(|n| format!("word{n} ")).collect())]
#[case::emoji("🦭".repeat(1 << 18))]
#[case::syllables("가나다".repeat(1 << 17))]
fn only_the_start_of_a_megabyte_is_parsed(#[case] text: String) {
    let used = truncated_query(&text);
    assert!(used.len() <= MAX_BYTES && used.len() > MAX_BYTES - 4 && text.starts_with(used), "{}", used.len());
    let (whole, part) = (Query::parse(&text), Query::parse(used));
    assert!(whole.is_truncated);
    assert_eq!((whole.all_terms(), &whole.words), (part.all_terms(), &part.words));
    assert!(whole.terms().len() <= MAX_TERMS, "{}", whole.terms().len());
}

proptest! {
    #[test]
    fn any_text_is_a_query(text in "\\PC{0,200}") {
        let query = Query::parse(&text);
        prop_assert!(query.terms().len() <= MAX_TERMS);
        for word in &query.words {
            prop_assert!(word.whole.is_some() || !word.parts.is_empty());
        }
    }
}

#[rstest]
#[case::to_korean("how are passwords hashed with argon2id", Script::Hangul, "비밀번호 해싱 argon2id ")]
#[case::phrase("the rate limit", Script::Hangul, "속도 제한 ")]
#[case::from_korean("비밀번호는 어떻게 해시하나", Script::Other, "password hash ")]
#[case::names_alone_are_no_translation("zebra", Script::Hangul, "")]
#[case::own_script("how are passwords hashed", Script::Other, "")]
fn questions_are_translated_word_by_word(#[case] query: &str, #[case] script: Script, #[case] expected: &str) {
    assert_eq!(Query::parse(query).translations.for_script(script).unwrap_or_default(), expected);
}
