//! What a statement chooses, defines and changes.

use super::given_up::{CHANGES_TO, PREFERENCE_REACH, thrown_out};
use crate::model::word_list::WordList;
use crate::prose::terms::{CLOCK, DATE, ProseToken, clause_before, ends_clause, last_clause, quantities, terms_of};

/// Returns the names that a text chooses: after "use", "with", "to" and similar words, where it stores something, before a Korean particle
/// of means, or before a Korean verb of choice: "Redis를 쓰자", "MediaConvert 쓰죠".
pub(super) fn choices(tokens: &[ProseToken]) -> Vec<String> {
    static BEFORE: WordList = WordList::words("use using uses with via to is are choose chose pick picked adopt on");
    static VERBS: WordList = WordList::words("쓰 쓴 써 사용 채택 선택");
    static STORED: WordList = WordList::words("cache cached keep kept live put save saved store stored");
    static STORES: WordList = WordList::words("저장 보관 두 둔 둡 뒀 쌓 넣");
    const STORED_REACH: usize = 5;
    // Without a particle, "Redis 사용량" and "Kibana 사용 금지" choose nothing.
    static PROPOSALS: WordList = WordList::words("쓰자 쓰죠 쓰시죠 씁시다 써요 쓴다 쓸게 쓸게요");
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_term()) {
        let before = at.checked_sub(1).map(|before| tokens[before].text.as_str());
        let is_last = ends_clause(tokens, at + 1);
        // "The package manager is pnpm."
        let is_predicate = is_last && matches!(before, Some("is" | "are"));
        // "로그 포맷은 텍스트로 한다."
        let is_made =
            token.is_means() && tokens.get(at + 1).is_some_and(|verb| !verb.is_term()) && ends_clause(tokens, at + 2);
        let is_preferred = matches!(before, Some("prefer" | "prefers"))
            && tokens[at + 1..].iter().take(PREFERENCE_REACH).any(|next| next.text == "over");
        if !token.is_name && !is_predicate && !is_made && !is_preferred {
            continue;
        }
        let follows_choice_word = is_preferred || before.is_some_and(|word| BEFORE.contains(word));
        let by_particle = token.is_means();
        let by_verb = tokens.get(at + 1).is_some_and(|next| match token.particle {
            "을" | "를" => VERBS.begins(&next.text) && !next.text.starts_with("쓰지"),
            "" => !next.begins_clause && PROPOSALS.contains(&next.text),
            _ => false,
        });
        let clause = clause_before(tokens, at);
        let is_defined = defines(clause);
        // "BLE.", "Chosen: BLE." and "Pagefind it is."
        let behind = || tokens[1..].iter().map(|next| next.text.as_str());
        let is_marked = at == 1 && before == Some("chosen") && is_last;
        let is_reply = at == 0 && (tokens.len() == 1 || behind().eq(["it", "is"])) || is_marked;
        // "Sessions are stored in Redis", "세션은 Redis에 저장한다"
        let mut stored = clause.iter().rev().skip(1).take(STORED_REACH);
        let is_place = before == Some("in") && stored.any(|word| STORED.contains(&word.text))
            || token.particle == "에" && tokens.get(at + 1).is_some_and(|next| STORES.begins(&next.text));
        if is_place || follows_choice_word || by_particle || by_verb || is_defined || is_reply {
            found.push(token.text.clone());
        }
    }
    found
}

/// Returns what a text chooses although it was decided otherwise before: "rollback after all", "역시 서버로 가자".
pub(super) fn returns_to(tokens: &[ProseToken]) -> Vec<String> {
    static AGAIN: WordList = WordList::words("역시 결국");
    const REACH: usize = 4;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "after"
            && tokens.get(at + 1).is_some_and(|next| next.text == "all")
            && ends_clause(tokens, at + 2)
        {
            found.extend(terms_of(last_clause(&tokens[at.saturating_sub(REACH)..at])));
        }
        if AGAIN.contains(&token.text) {
            let pairs = tokens[at + 1..].windows(2).take(REACH);
            let chosen = pairs.filter(|pair| pair[0].is_term() && pair[0].is_means() && is_decided(&pair[1].text));
            found.extend(chosen.map(|pair| pair[0].text.clone()));
        }
    }
    found
}

/// Whether a Korean verb decides or changes something: "가자", "바꿉시다".
pub(super) fn is_decided(word: &str) -> bool {
    CHANGES_TO.begins(word) || DECIDING_ENDINGS.ends(word)
}

/// Endings of Korean verbs that decide.
pub(super) static DECIDING_ENDINGS: WordList =
    WordList::words("가자 갑시다 하자 합시다 할게 하죠 하시죠 보내자 보냅시다");

/// Whether a text defines something: "the S is", "S는".
pub(super) fn defines(tokens: &[ProseToken]) -> bool {
    let subject = tokens.iter().take(4).position(ProseToken::is_term);
    subject.is_some_and(|subject| {
        tokens[subject..].iter().take(4).any(|token| matches!(token.text.as_str(), "is" | "are"))
            || tokens[subject..].iter().take(2).any(|token| matches!(token.particle, "은" | "는"))
    })
}

/// Whether a text says what something is used as: "use MySQL as the database".
pub(super) fn is_used_as(tokens: &[ProseToken]) -> bool {
    tokens.windows(2).any(|pair| pair[0].text == "as" && matches!(pair[1].text.as_str(), "our" | "the"))
}

/// Whether a word puts a date off.
pub(super) fn puts_off(word: &str) -> bool {
    static WORDS: WordList = WordList::words("postponed slipped slips 밀렸 밀려 미뤄 미뤘 미룹 당겨 당겼 연기");
    WORDS.begins(word)
}

/// Whether a word announces a change.
pub(super) fn is_change(tokens: &[ProseToken], at: usize, token: &ProseToken) -> bool {
    static ENGLISH: WordList = WordList::words(
        "back bump bumped change changed changing correction decrease decreased from increase increased instead lower \
         lowered migrate migrated move moved moving now raise raised reduce reduced revert reverted switch switched \
         switching update updated",
    );
    static KOREAN: WordList = WordList::words(
        "이제 앞으로 갈아타 갈아탈 갈아탑 갈아탔 바꾸 바꿔 바꿨 변경 전환 교체 옮기 옮겨 옮깁 올리 올려 내리 내려 늘리 늘려 줄이 줄여 되돌리 정정 대신",
    );
    // Other things slip or lag behind.
    if puts_off(&token.text) && tokens.iter().any(|token| token.text == DATE) {
        return true;
    }
    if token.text.is_ascii() {
        let after_all = token.text == "after" && tokens.get(at + 1).is_some_and(|next| next.text == "all");
        return after_all || thrown_out(tokens, at).is_some() || ENGLISH.contains(&token.text);
    }
    KOREAN.begins(&token.text)
}

/// A clause that says a number of a topic: "리셋은 월요일 오전 5시".
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicNumber {
    pub(super) topic: Vec<String>,
    /// The words between both: "하루" of "쿠폰은 하루 3장".
    limits: Vec<String>,
    number: (f64, String),
}

impl TopicNumber {
    /// Whether both are about the same, with another number. "오후 3시" is 15:00.
    pub(super) fn changes(&self, older: &Self) -> bool {
        const HALF_A_DAY: f64 = 720.0;
        let difference = (self.number.0 - older.number.0).abs();
        let is_same = difference == 0.0 || self.number.1 == CLOCK && difference == HALF_A_DAY;
        self.topic == older.topic && self.limits == older.limits && self.number.1 == older.number.1 && !is_same
    }
}

/// Returns the only number of each clause that has a Korean topic.
pub(super) fn topic_numbers(all: &[ProseToken]) -> Vec<TopicNumber> {
    static TIMES_OF_DAY: WordList = WordList::words("오전 오후 새벽 아침 저녁 밤 매일");
    const REACH: usize = 4;
    let is_topic = |token: &ProseToken| matches!(token.particle, "은" | "는") && token.is_term();
    let of_clause = |clause: &[ProseToken]| {
        let end = clause.iter().take(REACH).position(is_topic)?;
        let (topic, said) = clause.split_at(end + 1);
        let is_amount =
            |(at, token): (usize, &ProseToken)| Some((at, token.quantity().filter(|(_, unit)| !unit.is_empty())?));
        let (at, number) = said.iter().enumerate().find_map(is_amount)?;
        // "6시에도" adds a time.
        let is_only = quantities(said).len() == 1 && !said[at].particle.ends_with('도');
        let limits = said[..at].iter().map(|token| &token.text).filter(|word| !TIMES_OF_DAY.contains(word));
        is_only.then(|| TopicNumber { topic: terms_of(topic), limits: limits.cloned().collect(), number })
    };
    all.chunk_by(|_, next| !next.begins_clause).filter_map(of_clause).collect()
}
