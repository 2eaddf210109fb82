//! Recognises ideas, offers and questions that ask for a choice. The next prompt of the user accepts or drops them.

use crate::host::choice::before_lettered_options;
use crate::model::word_list::WordList;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::terms::terms;

/// The most words of a closing question that only asks about the sentence before it: "Does that sound sensible?"
const LONGEST_CLOSING: usize = 6;

/// The most words that introduce counted options.
const LONGEST_LEAD: usize = 6;

/// Words with which an answer proposes something.
static OFFERS: WordList = WordList::phrases(
    "i'd |i would |i could |i can |we could |shall i|should i|want me to|let me know|if you like|i suggest|i propose|i recommend|\
     my suggestion|suggestion: |proposal: |the simplest thing |the simplest would be|possible later|단순합니다|간단합니다|안전해 보입|나아 보입|저라면|제안드|제안합|추천합|추천드|권합|권해|낫습니다|나을 것|좋을 것 같|할 만한 것|말씀 주시면|원하시면|드릴까|볼까",
);

/// Words that name options.
static OPTIONS: WordList = WordList::phrases(
    "two ways|three ways|two options|three options|options: |ways out|alternatives: |it could: |방법이 있|방법도 있|중에 고르",
);

/// Words that introduce options, which the rest of the answer describes.
static INTRODUCES_OPTIONS: WordList = WordList::phrases(
    "there are two ways|there are three ways|there are two options|two candidates: |the question is |방법은 두 |방법은 둘|방법은 세 |방법은 셋|\
     후보는 두 |후보는 둘|후보는 셋|선택지는 두 |선택지는 둘|1안은 |a안은 ",
);

/// Removes questions and offers from an answer, the sentence that a short question at the end asks about, and what follows the introduction of
/// options. Returns `None` if nothing is left.
pub(super) fn without_offers(answer: &str) -> Option<String> {
    let all = sentences(before_lettered_options(answer));
    let asked_about = all.len().checked_sub(2).map(|at| all[at]).filter(|_| refers_back(all[all.len() - 1]));
    let options = all.iter().position(|sentence| introduces_options(&in_lower_case(sentence)));
    let described = &all[..options.unwrap_or(all.len())];
    let kept = described.iter().filter(|sentence| !is_offer(sentence) && asked_about != Some(**sentence));
    let kept: String = kept.copied().collect();
    Some(kept.trim().to_owned()).filter(|kept| kept.chars().any(char::is_alphanumeric))
}

/// Whether a sentence proposes something or asks for a decision.
fn is_offer(sentence: &str) -> bool {
    let folded = in_lower_case(sentence);
    is_question(sentence) || OFFERS.occurs_in(&folded) || OPTIONS.occurs_in(&folded) || names_alternatives(&folded)
}

/// Whether a sentence in lower case names what is possible: "We can move Envoy to W3C, or the SDK reads both.", "Either use X or run Y."
fn names_alternatives(folded: &str) -> bool {
    static RULES: WordList = WordList::phrases(
        " may | can | never |not both|either way|either side|either case|either one|either of |either the ",
    );
    let said = folded.trim_start();
    let is_choice = said.starts_with("either ") && !RULES.occurs_in(said);
    folded.contains(" or ") && (is_choice || said.starts_with("we can ") && !said.contains(" only "))
}

/// Whether a sentence in lower case introduces options: "The question is …", "Two realistic ones for a small team: …", "세 가지가 있습니다."
fn introduces_options(folded: &str) -> bool {
    static COUNTS: WordList = WordList::phrases("two |three |four |두 가지|세 가지|네 가지");
    let (lead, listed) = folded.split_once(':').unwrap_or((folded, ""));
    let is_counted = COUNTS.begins(lead) && lead.split_whitespace().count() <= LONGEST_LEAD;
    let is_list = listed.contains(", or ") || lead.contains(" ones for ") || lead.ends_with(" ones");
    let is_korean = lead.trim_end_matches(['.', ' ']).ends_with("가지가 있습니다");
    INTRODUCES_OPTIONS.occurs_in(folded) || is_counted && (is_list || is_korean)
}

/// Whether a closing question asks about the sentence before it, and offers nothing else: "해볼까요?", but not "Shall I add a limit?".
fn refers_back(closing: &str) -> bool {
    let words = closing.split_whitespace().count();
    is_question(closing) && (words == 1 || words <= LONGEST_CLOSING && !OFFERS.occurs_in(&in_lower_case(closing)))
}

/// Returns the sentences to keep, or `None` if they say nothing.
pub(super) fn kept_sentences(text: &str, mut keeps: impl FnMut(&str) -> bool) -> Option<String> {
    let kept: String = sentences(text).into_iter().filter(|sentence| keeps(sentence)).collect();
    Some(kept.trim().to_owned()).filter(|kept| kept.chars().any(char::is_alphanumeric))
}

/// Whether a prompt begins with the number of an option: "2번은 지금 해줘". "3.2 is out" does not.
pub(super) fn begins_with_pick(prompt: &str) -> bool {
    let digits = prompt.bytes().take_while(u8::is_ascii_digit).count();
    let after = prompt[digits..].strip_prefix(['.', ')', '번', '안']);
    (1..=2).contains(&digits) && after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a prompt only asks about an idea or puts it off.
pub(super) fn is_idea(asked: &str) -> bool {
    static IDEAS: WordList = WordList::phrases(
        "not now, |would it|i was thinking|on my mind|make sense|what about|how about|should we|could we|would be cool|would be nice|random thought|someone suggest|\
         의견도 있|의견이 있|얘기도 있|얘기가 있|어떨까|어때|도 되나|는 어떻게 보|은 어떻게 보|이참에",
    );
    IDEAS.occurs_in(&asked.to_lowercase().replace("what should we", ""))
}

/// Whether a prompt asks which of several ways to take. The choice itself is a decision, and the ways that were not chosen would mislead.
pub(super) fn asks_to_choose(asked: &str) -> bool {
    static CHOOSES: WordList = WordList::phrases(
        " or |which one|which of|what are the options| vs |중에|뭐가 나|뭐가 좋|뭐가 더|어떤 방법|무슨 방법",
    );
    static COMPARES: WordList = WordList::phrases("비교해|候補を出し|옵션을 ");
    let asked = asked.to_lowercase();
    let all = sentences(&asked);
    let is_choice = |sentence: &&str| is_question(sentence) && CHOOSES.occurs_in(sentence);
    let Some(at) = all.iter().rposition(is_choice) else {
        return all.last().is_some_and(|last| COMPARES.occurs_in(last) || last.trim_end().ends_with(" 중에"));
    };
    // "Redis or Postgres? Take Postgres." answers itself.
    let options = terms(all[at]);
    all[at + 1..].iter().all(|sentence| terms(sentence).iter().all(|term| !options.contains(term)))
}

/// Whether a prompt ends with a question, which says nothing without its answer.
pub(super) fn is_question(asked: &str) -> bool {
    static ENDINGS: WordList = WordList::words("? ？ 까 까요 나요 가요 는지요");
    ENDINGS.ends(asked.trim_end())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Tiles are cached. Shall I add a limit?", Some("Tiles are cached."))]
    #[case("Tiles are cached. Sync: the last writer wins. Good enough to start?", Some("Tiles are cached."))]
    #[case("It takes 0.9 s. I could write an importer for the old files.", Some("It takes 0.9 s."))]
    #[case("락은 3초입니다. 관전 모드도 쉽게 붙습니다. 해볼까요?", Some("락은 3초입니다."))]
    #[case("Two ways: widen the column, or store integers.", None)]
    #[case("The column is wider now.", Some("The column is wider now."))]
    #[case::ways_of_working("The config is read in two ways now: both work. Deployed.", Some("Deployed."))]
    #[case::candidate(
        "릴리스 후보는 3.2.1입니다. 태그까지 달았습니다.",
        Some("릴리스 후보는 3.2.1입니다. 태그까지 달았습니다.")
    )]
    #[case::simple_fix("I took the simplest fix: a mutex.", Some("I took the simplest fix: a mutex."))]
    #[case::described_options(
        "힙이 아니라 다이렉트 버퍼입니다. 방법은 둘입니다. 256m으로 막는다; limit을 3Gi로 올린다",
        Some("힙이 아니라 다이렉트 버퍼입니다.")
    )]
    #[case::counted("Two layouts: rows, which are simple, or columns. Columns compress better.", None)]
    #[case::counted_korean("세 가지가 있습니다. 행 잠금: 단순합니다; 큐: 튼튼합니다", None)]
    #[case::possible(
        "Envoy sends the old headers. We can move Envoy to W3C, or the SDK reads both.",
        Some("Envoy sends the old headers.")
    )]
    #[case::limit("We can only test on Postgres 15 or 16.", Some("We can only test on Postgres 15 or 16."))]
    #[case::either(
        "Reads in those regions get MAPQ 0. Either use the no-ALT set, or run bwa-postalt.",
        Some("Reads in those regions get MAPQ 0.")
    )]
    #[case::lettered(
        "It scans three years. Ways out: (a) a filter on the partition (b) a view. Which one?",
        Some("It scans three years.")
    )]
    #[case::lettered_results("Fixed: (a) the filter (b) the view.", Some("Fixed: (a) the filter (b) the view."))]
    #[case::in_both_cases(
        "Either way, the cache is cleared or rebuilt.",
        Some("Either way, the cache is cleared or rebuilt.")
    )]
    #[case::ability("Sessions can be resumed or cleared.", Some("Sessions can be resumed or cleared."))]
    #[case::results("Two hosts failed: web1 and web2.", Some("Two hosts failed: web1 and web2."))]
    fn offers_are_left_out_of_an_answer(#[case] answer: &str, #[case] expected: Option<&str>) {
        assert_eq!(without_offers(answer).as_deref(), expected);
    }

    #[rstest]
    #[case("Which one counts?", true)]
    #[case("시크릿은 vault랑 sealed secrets 중에 뭐가 나을까", true)]
    #[case("We have two stores. Redis or Postgres?", true)]
    #[case("Redis or Postgres? Take Postgres.", false)]
    #[case("Redis or Postgres? Costs matter, too.", true)]
    #[case("Envoy Gateway랑 Traefik 비교해줘", true)]
    #[case("근본 해결은? replica 늘리는 거랑 maxUnavailable 중에", true)]
    #[case("현금영수증 붙입시다. 어떤 방법이 있을까요?", true)]
    #[case("why is the export slow?", false)]
    fn question_that_asks_for_a_choice_is_recognised(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(asks_to_choose(prompt), expected);
    }
}
