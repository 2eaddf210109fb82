//! Numbers that a text replaces by others of the same unit.

use super::Statement;
use super::given_up::{GivenUp, Scope};
use super::reversals::complains;
use crate::model::word_list::WordList;
use crate::prose::terms::{ProseToken, TokenKind, quantities, tokens};

/// What a text says of a topic in a clause: "리셋은 월요일 오전 5시".
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicNumber {
    pub(super) topic: Vec<String>,
    number: (f64, String),
}

impl TopicNumber {
    /// Whether both are about the same, with another number.
    pub(super) fn changes(&self, older: &Self) -> bool {
        self.topic == older.topic && self.number.1 == older.number.1 && self.number.0 != older.number.0
    }
}

/// Returns the only number of each clause that has a Korean topic.
pub(super) fn topic_numbers(all: &[ProseToken]) -> Vec<TopicNumber> {
    const REACH: usize = 4;
    let is_topic = |token: &ProseToken| matches!(token.particle, "은" | "는") && token.is_term();
    let of_clause = |clause: &[ProseToken]| {
        let end = clause.iter().take(REACH).position(is_topic)?;
        let terms = clause[..=end].iter().filter(|token| token.is_term());
        let mut numbers = quantities(&clause[end + 1..]).into_iter().filter(|(_, unit)| !unit.is_empty());
        let number = numbers.next().filter(|_| numbers.next().is_none())?;
        Some(TopicNumber { topic: terms.map(|token| token.text.clone()).collect(), number })
    };
    all.chunk_by(|_, next| !next.begins_clause).filter_map(of_clause).collect()
}

/// Returns a statement that gives up the number that a prompt leaves for another one of its unit: "60초는 답답해하실 듯. 30초로 하고", "20
/// minutes is too harsh. 45 for now." It is about what the prompt is about, or, if it is the reply to it, about anything.
pub fn number_left(prompt: &str, is_reply: bool) -> Option<Statement> {
    const FEWEST_DIGITS: usize = 2;
    if prompt.bytes().filter(u8::is_ascii_digit).count() < FEWEST_DIGITS {
        return None;
    }
    let all = tokens(prompt);
    let left = all.iter().enumerate().find_map(|(at, token)| {
        let left = quantity(token).filter(|(_, unit)| !unit.is_empty())?;
        (is_left_in_korean(&all, at, &left) || is_left_in_english(&all, at, &left)).then_some(left)
    })?;
    let subject = all.iter().filter(|token| token.is_term() && !is_reply).map(|token| token.text.clone()).collect();
    let (terms, names) = (Vec::new(), Vec::new());
    let given_up = GivenUp { terms, names, quantities: vec![left], scope: Scope::Chosen, subject };
    Some(Statement { given_up: vec![given_up], ..Statement::of("") })
}

fn quantity(token: &ProseToken) -> Option<(f64, String)> {
    let TokenKind::Quantity(number) = token.kind else { return None };
    Some((number, token.text.clone()))
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
        let is_instead = quantity(token).is_some_and(|(number, unit)| unit == left.1 && number != left.0)
            && (token.is_means() || after.first().is_some_and(is_limit));
        // "100건으로 늘리면 유료예요" is a condition.
        is_instead && !after.iter().take(VERB_REACH).any(|verb| !verb.begins_clause && verb.text.ends_with('면'))
    };
    is_topic
        && behind.iter().enumerate().any(is_another)
        && !behind.iter().take_while(|token| quantity(token).is_none()).any(|token| KEEPS.begins(&token.text))
}

/// Whether a number is too large or small, or somebody complains about it, and a later clause begins with another one.
fn is_left_in_english(all: &[ProseToken], at: usize, left: &(f64, String)) -> bool {
    static LEAD_INS: WordList = WordList::words("at better go have it let make put set so then to try use");
    let clauses: Vec<&[ProseToken]> = all[at + 1..].chunk_by(|_, next| !next.begins_clause).collect();
    let of_left = clauses.first().copied().unwrap_or_default();
    let begins_with_another = |clause: &&[ProseToken]| {
        let first = clause.iter().find(|token| !LEAD_INS.contains(&token.text)).and_then(quantity);
        first.is_some_and(|(number, unit)| (unit.is_empty() || unit == left.1) && number != left.0)
    };
    of_left.iter().any(|token| token.text == "too" || complains(&token.text))
        && clauses.iter().skip(1).any(begins_with_another)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::Strictness;
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
    #[case::english_without_another("20 minutes is too long, look into it", "It runs 20 minutes", false)]
    fn number_is_left_for_another(#[case] prompt: &str, #[case] older: &str, #[case] expected: bool) {
        let newer = number_left(prompt, true);
        assert_eq!(newer.is_some_and(|newer| newer.replaces(&Statement::of(older), Strictness::Strict)), expected);
    }

    #[rstest]
    #[case::clock(
        "리셋은 수요일 00:00 UTC, 보상 우편은 01:00 UTC입니다.",
        "보상 우편은 오전 6시에 나가고, 키로 두 번 보내도 한 통만",
        true
    )]
    #[case::among_others("시즌은 6주로 늘려요, 리셋은 월요일", "시즌은 4주, 리셋은 월요일 오전 5시", true)]
    #[case::common_topic("타임아웃은 정각에서 10초 안에 발생", "타임아웃은 5초로 두기로 했다", false)]
    #[case::other_topic("결제 타임아웃은 20초", "주문 타임아웃은 10초, 재시도는 3번", false)]
    #[case::same("리셋은 05:00", "리셋은 오전 5시, 시즌은 4주", false)]
    fn another_number_of_a_topic_replaces(#[case] newer: &str, #[case] older: &str, #[case] expected: bool) {
        assert_eq!(Statement::of(newer).replaces(&Statement::of(older), Strictness::Strict), expected);
    }
}
