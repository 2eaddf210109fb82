//! Sentences of an answer that do not hold because of its prompt or the next one.

use super::given_up::{GivenUp, Scope};
use super::{Statement, is_plain};
use crate::model::word_list::WordList;
use crate::prose::one_off::without_one_offs;
use crate::prose::sentences::sentences;
use crate::prose::terms::{have_same_stem, terms};

/// The fewest terms that two sentences about the same thing share.
const LEAST_SHARED: usize = 2;

/// Returns statements that give up the sentences of an answer which the prompt after it corrects: "love it, but round eggs to halves".
pub fn corrected(prompt: &str, answer: &str) -> Vec<Statement> {
    correction(prompt).map(|correction| sentences_about(&correction, answer)).unwrap_or_default()
}

/// Returns statements that give up the sentences of an answer about what its prompt asked for only once. Reasons stay.
pub fn done_once(prompt: &str, answer: &str) -> Vec<Statement> {
    static REASONS: WordList = WordList::phrases("because|since | so |without|has to|must |때문|니까|므로|해서|없으면");
    let lasting = without_one_offs(prompt);
    if lasting.len() == prompt.trim().len() {
        return Vec::new();
    }
    let once = sentences(prompt).into_iter().filter(|sentence| !lasting.contains(sentence.trim()));
    let plain: String = sentences(answer).into_iter().filter(|said| !REASONS.occurs_in(&said.to_lowercase())).collect();
    once.flat_map(|once| sentences_about(once, &plain)).collect()
}

/// Returns statements that give up the sentences of an answer that share terms with a text.
fn sentences_about(text: &str, answer: &str) -> Vec<Statement> {
    let said = terms(text);
    let given_up = |sentence: &str| -> Option<Statement> {
        let is_said = |term: &String| said.iter().any(|other| have_same_stem(other, term));
        let shared: Vec<String> = terms(sentence).into_iter().filter(is_said).collect();
        let is_about = shared.len() >= LEAST_SHARED;
        Statement::giving_up(GivenUp { terms: shared, ..GivenUp::nothing(Scope::Sentence) }).filter(|_| is_about)
    };
    if said.len() < LEAST_SHARED { Vec::new() } else { sentences(answer).into_iter().filter_map(given_up).collect() }
}

/// Returns the part of a prompt that says what is not as it should be, if the prompt begins by accepting the rest.
fn correction(prompt: &str) -> Option<String> {
    static ACCEPTS: WordList = WordList::phrases(
        "love it|i love|like it|ok|yes|yeah|yep|sure|good|great|fine|nice|perfect|sounds good|looks good|works for me|agreed|좋아|좋네|좋습니다|네 |네,|\
         넵|응 |ㅇㅋ|오케이|그렇게|괜찮",
    );
    static BUT: WordList = WordList::phrases(", but | but |. but |except |근데 |그런데 |다만 |단, |대신 ");
    /// Words of requests for more, which correct nothing.
    static MORE: WordList =
        WordList::phrases("add |also |first |update |keep |write |test|추가|먼저|유지|그대로|테스트|걸어");
    const LONGEST_ACCEPTANCE: usize = 40;
    let lower = prompt.trim().to_lowercase();
    let (at, but) = BUT.iter().filter_map(|but| lower.find(but).map(|at| (at, but))).min()?;
    if !ACCEPTS.begins(&lower) || lower[..at].chars().count() > LONGEST_ACCEPTANCE {
        return None;
    }
    let rest = &lower[at + but.len()..];
    sentences(rest).first().copied().filter(|said| is_plain(said) && !MORE.occurs_in(said)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::Strictness;
    use super::*;

    #[rstest]
    #[case::corrected("love it, but round eggs to halves. you can do half an egg", true)]
    #[case::about_something_else("love it, but sort the list by name", false)]
    #[case::more("perfect, but add a test for rounding eggs", false)]
    #[case::question("ok, but why are eggs rounded?", false)]
    #[case::no_correction("round eggs to halves", false)]
    fn accepted_proposal_is_corrected(#[case] prompt: &str, #[case] expected: bool) {
        let proposal = "Countable things such as eggs are rounded up to whole ones.";
        let newer = corrected(prompt, proposal);
        let older = Statement::of(proposal);
        assert_eq!(newer.iter().any(|newer| newer.replaces(&older, Strictness::Strict)), expected);
    }

    #[rstest]
    #[case::of_the_part("30초로 해요. 이번 시연용 데이터에서는 김하늘 간호사만 빼고 돌려주세요", true)]
    #[case::lasting("김하늘 간호사 시연 데이터도 넣어주세요", false)]
    fn what_was_done_once_is_given_up(#[case] prompt: &str, #[case] expected: bool) {
        let answer = "시연 데이터는 김하늘 간호사를 빼고 돌렸습니다.";
        let newer = done_once(prompt, answer);
        let older = Statement::of(answer);
        assert_eq!(newer.iter().any(|newer| newer.replaces(&older, Strictness::Strict)), expected);
    }
}
