use proptest::prelude::*;

use super::*;

fn shown(body: &str, query: &str) -> String {
    snippet(body, &Query::parse(query), 60)
}

#[test]
fn a_short_text_is_shown_whole_on_one_line() {
    assert_eq!(shown("Cache the\n\n  tokens\u{7}\tin Redis. \n", "tokens"), "Cache the tokens in Redis.");
}

#[test]
fn a_long_text_is_shown_around_its_densest_match() {
    let filler = "nothing of interest here ".repeat(20);
    let body = format!("{filler}a token alone {filler}the token bucket of the limiter {filler}");
    let found = shown(&body, "token bucket limiter");
    assert!(found.contains("token bucket of the limiter"), "{found}");
    assert!(found.starts_with('…') && found.ends_with('…') && found.chars().count() <= 60, "{found}");
    let inner = found.trim_matches('…');
    assert!(body.contains(&format!(" {inner} ")), "words are whole: {found}");
}

#[test]
fn the_beginning_is_shown_when_nothing_matches() {
    let body = "The first words of a longer text that has no match at all in it, not even one.";
    assert_eq!(shown(body, "redis"), "The first words of a longer text that has no match at all…");
}

#[test]
fn korean_without_spaces_is_cut_between_characters() {
    let body = format!("{}토큰만료{}", "가".repeat(100), "나".repeat(100));
    let found = shown(&body, "토큰 만료");
    assert!(found.contains("토큰만료") && found.chars().count() <= 60, "{found}");
}

proptest! {
    #[test]
    fn snippets_are_short_and_clean(body in "(\\PC|[\\n\\t a-c]|토큰){0,300}", query in "[a-c가-힣 ]{0,12}", most in 0usize..80) {
        let found = snippet(&body, &Query::parse(&query), most);
        prop_assert!(found.chars().count() <= most);
        prop_assert!(!found.contains(|c: char| c.is_control()) && !found.contains("  "));
    }

    #[test]
    fn the_match_is_in_the_snippet(before in "[m-p ]{0,300}", after in "[m-p ]{0,300}") {
        let found = snippet(&format!("{before} zebra {after}"), &Query::parse("zebra"), 50);
        prop_assert!(found.contains("zebra"), "{}", found);
    }
}
