//! Numbers that a text replaces by others of the same unit.

use super::given_up::{GivenUp, Scope};
use super::{Statement, Strictness, statements};
use crate::model::word_list::WordList;
use crate::prose::terms::{ProseToken, clause_before, terms_of, tokens};

/// Returns a statement that gives up the number of an answer that the prompt after it leaves for another one of its unit: "60초는 답답해하실 듯.
/// 30초로 하고", "20 minutes is too harsh. 45 for now." If the prompt names what it is about, other sentences with the number stay.
pub fn number_left(prompt: &str, answer: &str) -> Option<Statement> {
    let (left, all) = find_left(prompt)?;
    let given_up = GivenUp { quantities: vec![left], ..GivenUp::nothing(Scope::Chosen) };
    let about = Statement::giving_up(GivenUp { subject: terms_of(&all), ..given_up.clone() })?;
    let is_about_one = statements(answer).iter().any(|said| about.replaces(said, Strictness::Strict));
    if is_about_one { Some(about) } else { Statement::giving_up(given_up) }
}

/// Returns a statement that gives up such a number for what stands before it: "교사 수업 5시간은 빡빡하대. 4시간으로 하자".
pub fn number_left_for(prompt: &str) -> Option<Statement> {
    let (left, all) = find_left(prompt)?;
    let at = all.iter().position(|token| token.quantity().as_ref() == Some(&left))?;
    let terms = terms_of(clause_before(&all, at));
    let has_subject = !terms.is_empty();
    let given_up = GivenUp { terms, quantities: vec![left], ..GivenUp::nothing(Scope::Sentence) };
    Statement::giving_up(given_up).filter(|_| has_subject)
}

/// Returns the number that a prompt leaves for another one, and the tokens of the prompt.
fn find_left(prompt: &str) -> Option<((f64, String), Vec<ProseToken>)> {
    const FEWEST_DIGITS: usize = 2;
    if prompt.bytes().filter(u8::is_ascii_digit).count() < FEWEST_DIGITS {
        return None;
    }
    let all = tokens(prompt);
    let left = all.iter().enumerate().find_map(|(at, token)| {
        let left = token.quantity().filter(|(_, unit)| !unit.is_empty())?;
        (is_left_in_korean(&all, at, &left) || is_left_in_english(&all, at, &left)).then_some(left)
    })?;
    Some((left, all))
}

/// Whether a number is a topic, and another one of its unit comes instead: "10초는 짧을 수도 있어서 20초로 해주세요".
fn is_left_in_korean(all: &[ProseToken], at: usize, left: &(f64, String)) -> bool {
    static CONDITIONS: WordList = WordList::words("면 이면 정도면 정도는");
    static KEEPS: WordList = WordList::words("그대 유지 괜찮 좋 충분 맞");
    static LIMITS: WordList = WordList::words("넘기지 넘지 이하 이내 이상 미만");
    const REACH: usize = 24;
    const VERB_REACH: usize = 2;
    let is_limit = |next: &ProseToken| next.text == "정도" && next.is_means() || LIMITS.begins(&next.text);
    let next = all.get(at + 1).filter(|next| !next.begins_clause);
    let is_topic = matches!(all[at].particle, "은" | "는") || next.is_some_and(|next| CONDITIONS.contains(&next.text));
    let behind = &all[at + 1..all.len().min(at + 1 + REACH)];
    let is_another = |(offset, token): (usize, &ProseToken)| {
        let after = &behind[offset + 1..];
        let is_instead = token.quantity().is_some_and(|(number, unit)| unit == left.1 && number != left.0)
            && (token.is_means() || after.first().is_some_and(is_limit));
        // "100건으로 늘리면 유료예요" is a condition.
        is_instead && !after.iter().take(VERB_REACH).any(|verb| !verb.begins_clause && verb.text.ends_with('면'))
    };
    is_topic
        && behind.iter().enumerate().any(is_another)
        && !behind.iter().take_while(|token| token.quantity().is_none()).any(|token| KEEPS.begins(&token.text))
}

/// Whether a number is too large or small, and a later clause begins with another one.
fn is_left_in_english(all: &[ProseToken], at: usize, left: &(f64, String)) -> bool {
    static LEAD_INS: WordList = WordList::words("at better go have it let make put set so then to try use");
    let clauses: Vec<&[ProseToken]> = all[at + 1..].chunk_by(|_, next| !next.begins_clause).collect();
    let of_left = clauses.first().copied().unwrap_or_default();
    let begins_with_another = |clause: &&[ProseToken]| {
        let at = clause.iter().position(|token| !LEAD_INS.contains(&token.text));
        let counts = at.and_then(|at| clause.get(at + 1)).is_some_and(ProseToken::is_term);
        let first = at.and_then(|at| clause[at].quantity());
        // "3 tests fail" counts something else.
        first.is_some_and(|(number, unit)| (unit == left.1 || unit.is_empty() && !counts) && number != left.0)
    };
    let goes_on = all.get(at + 1).is_some_and(|next| !next.begins_clause);
    goes_on && of_left.iter().any(|token| token.text == "too") && clauses.iter().skip(1).any(begins_with_another)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::korean(
        "60초는 답답해하실 듯. 30초로 하고 그 안에 못 풀면 알려줘요",
        "시간 제한은 60초 정도면 안정됩니다.",
        true
    )]
    #[case::korean_condition("1초면 앱에서 찾는 게 너무 느려요, 500ms 정도로.", "1초까지 늘리면 더 오래 갑니다.", true)]
    #[case::limit("교무부장님이 5시간은 너무 빡빡하대. 하루 4시간 넘기지 말자.", "교사 하루 최대 수업은 5시간.", true)]
    #[case::percent("하루 10%는 너무 가혹하다고 해서 5%로 완화됐어요", "지각은 하루에 10%씩 깎고", true)]
    #[case::korean_about("광고 주기는 1초면 느려요, 500ms 정도로.", "1초까지 늘리면 더 오래 갑니다.", true)]
    #[case::english(
        "20 minutes turned out too harsh, gate 3 has roadworks. 45 for now.",
        "No-show: 20 minutes late",
        true
    )]
    #[case::kept("읽기 5초는 그대로 두고 쓰기는 10초로", "읽기는 5초 안에", false)]
    #[case::conditional("하루 10건은 무료고 100건으로 늘리면 유료예요", "무료는 10건까지", false)]
    #[case::other_unit("10MB는 크니까 2개로 나눠줘", "파일은 10MB까지", false)]
    #[case::english_count("20 minutes is too long. 3 tests fail because of it", "It runs 20 minutes", false)]
    #[case::english_without_another("20 minutes is too long, look into it", "It runs 20 minutes", false)]
    fn number_is_left_for_another(#[case] prompt: &str, #[case] older: &str, #[case] expected: bool) {
        let newer = number_left(prompt, older);
        assert_eq!(newer.is_some_and(|newer| newer.replaces(&Statement::of(older), Strictness::Strict)), expected);
    }
}
