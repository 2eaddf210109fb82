//! Recognises sentences that report that something happened.

use crate::model::word_list::WordList;
use crate::prose::sentences::in_lower_case;
use crate::prose::terms::{ProseToken, is_hangul, terms, terms_of, tokens};

/// The maximum length of a text that is searched for reports, in bytes.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;

/// Removes what others said, and the Korean particle after it: `You said: "it is done"`.
pub(super) fn without_quotations(sentence: &str) -> String {
    let parts = sentence.split(['"', '“', '”']).enumerate().filter(|(at, _)| at % 2 == 0);
    parts.map(|(at, part)| if at > 0 { part.trim_start_matches(is_hangul) } else { part }).collect()
}

/// Whether a sentence reports that something is finished, and is not a plan, a question, a condition or about remaining work.
pub(super) fn reports_an_end(sentence: &str) -> bool {
    if is_no_report(sentence) {
        return false;
    }
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = lower_words(&lower).collect();
    let is_past = |word: &&str| word.len() > 4 && word.ends_with("ed") || IRREGULAR.value(word).is_some();
    // "Renewed the certificate.", "I renamed the module."
    let begins_past = words.iter().find(|word| !REPORTERS.contains(word)).is_some_and(is_past);
    // "Priya compared: they agree."
    let begins_with_name = sentence.trim_start().starts_with(char::is_uppercase) && words.get(1).is_some_and(is_past);
    // "cells ordered"
    let ends_past = words.len() <= SHORT_REPORT && words.last().is_some_and(is_past);
    let is_korean = sentence.contains(is_hangul);
    reports_in_japanese(sentence)
        || is_korean && KOREAN_ENDS.occurs_in(&lower)
        || begins_past
        || begins_with_name
        || ends_past
        || words.windows(2).any(|pair| matches!(pair, ["is" | "are" | "was" | "were", word] if is_past(word)))
        || STATES.occurs_in(&lower)
        || words.iter().any(|word| ENDS.contains(word))
}

/// Whether a short answer states what was done or what holds now: "Fixed the bug in the parser.", "The exporter now writes CSV."
pub(crate) fn reports_result(answer: &str) -> bool {
    let lower = answer.to_lowercase();
    let holds_now = || lower_words(&lower).any(|word| word == "now") && !is_no_report(answer);
    terms(answer).len() >= LEAST_RESULT_TERMS && (reports_an_end(answer) || holds_now())
}

/// The fewest distinctive terms of an answer that states a result.
const LEAST_RESULT_TERMS: usize = 2;

pub(super) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}')
}

/// Whether a Japanese sentence reports that something is finished.
fn reports_in_japanese(sentence: &str) -> bool {
    static ENDS: WordList = WordList::words("しました できました なりました 終わった 完了 済ませ 済みました");
    static OPEN: WordList = WordList::words("ません まだ 残り 予定");
    sentence.contains(is_kana) && ENDS.occurs_in(sentence) && !OPEN.occurs_in(sentence)
}

/// Whether a sentence is a plan, a question, a condition, a doubt, a quotation or about remaining work.
pub(super) fn is_no_report(sentence: &str) -> bool {
    if sentence.contains(['?', '？', '「']) || sentence.trim_start().starts_with(['>', '|']) {
        return true;
    }
    let lower = sentence.to_lowercase();
    let mut words = lower_words(&lower).peekable();
    let asks = words.peek().is_some_and(|word| ASKS.contains(word));
    asks || OPEN.occurs_in(&lower)
        || KOREAN_DOUBTS.occurs_in(&lower)
        || words.any(|word| OPEN_WORDS.contains(word) || DOUBTS.contains(word) || word.ends_with("n't"))
}

/// Returns the words of a text in lower case. `cancelled_at` is one word, and cancels nothing.
pub(super) fn lower_words(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_')).filter(|word| !word.is_empty())
}

/// Phrases that say how things are now, in lower case.
pub(super) static STATES: WordList = WordList::phrases(
    "is gone|are gone| are in| are live| came for free| is in| is live| is there| running since| went in| went live| went out| works| work now| work since| passes the test| pass the test| passes the check| pass the check| passes now| pass now",
);

/// The most words of a report that only its last word shows.
const SHORT_REPORT: usize = 4;

/// Phrases of open work, in lower case.
pub(super) static OPEN: WordList = WordList::phrases(
    "not yet|to do|next step|- [ ]|follow-up|follow up|아직|남은|남았|남아|할 일|해야|예정|다음에|나중에|못 했|못했|하지 않|않았",
);

pub(super) static OPEN_WORDS: WordList = WordList::words(
    "almost before cannot can't could didn't fail failed fails if later must need needed needs next once open pending \
     remain remaining remains required should still todo tomorrow unless until wait waiting waits when will without \
     won't would",
);

/// Words of negations, plans, guesses and reports of others.
pub(super) static DOUBTS: WordList = WordList::words(
    "abandoned apparently be being cancel canceled cancelled claim claimed claims going hardly hopefully may maybe \
     might neither never no nobody none nor not nothing partially partly perhaps planned plans postponed probably \
     rejected reverted said say says shall soon supposed supposedly suppose think wants whether wish wrong",
);

/// Words that begin a question.
static ASKS: WordList = WordList::words(
    "are can could did do does has have how is should was were what when where which who why will would",
);

static KOREAN_DOUBTS: WordList = WordList::phrases(
    "취소|철회|안 했|안했|안 됐|안됐| 못 |아니|없습니다|없어요|한 적|말고|보류|연기|거부|반려|하려|할게|하면|되면|라고 |나요|까요|는지|았으면|었으면|다면|같습니다|면 됩니다|안 됩",
);

/// Words that report completion.
pub(super) static ENDS: WordList = WordList::words(
    "added applied automated backfilled built changed checked cleaned closed committed completed configured converted covered \
     created deleted deployed documented done enabled disabled dropped extended finished fixed implemented installed \
     introduced landed merged migrated moved passed published pushed refactored released removed renamed replaced \
     reset resolved restored rotated scheduled shipped solved switched tested translated updated upgraded wired \
     written wrote",
);

/// Whether an answer asks, or says that something is not done.
pub(super) fn leaves_something(answer: &str) -> bool {
    static WORDS: WordList = WordList::words(
        "blocked cannot except fail failed failing fails left only partly remaining remains reverted still todo \
         tomorrow",
    );
    static PHRASES: WordList = WordList::phrases(
        "to do|next:|start on|i start|아직|남은|남았|안 됐|안 됩|안 돼|못 |못했|못하|않았|실패|내일|일부만|まだ|残り|明日|ません|失敗",
    );
    let folded = in_lower_case(answer);
    let mut words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    folded.contains(['?', '？'])
        || PHRASES.occurs_in(&folded)
        || words.any(|word| word.ends_with("n't") || WORDS.contains(word))
}

/// Korean endings and words that report completion.
pub(super) static KOREAN_ENDS: WordList = WordList::words(
    "했습니다 했어 했다 했음 했고 됐습니다 됐어 됐다 되었습니다 완료 끝났 끝냈 마쳤 넣었 고쳤 바꿨 옮겼 지웠 만들었 올렸 붙였 적었 뜹니다 나옵니다 보입니다 됩니다 정리됐 받았 받아왔 확정 마무리 놨어 놨습 놨음 놨고 놨더 놓았 보냈 보내드렸 걸어둠 해둠 넣어둠 올려둠 해줬 줬대 주셨다 주셨어 뒀어 뒀습 뒀음 뒀고",
);

/// Words before the verb of a report.
const REPORTERS: [&str; 7] = ["i", "we", "i've", "we've", "have", "also", "just"];

/// Irregular past forms, with the verbs that tasks begin with.
pub(super) static IRREGULAR: WordList = WordList::phrases(
    "wrote write|written write|rewrote rewrite|built build|rebuilt rebuild|sent send|made make|ran run|chose choose|\
     found find|drew draw|got get|bought buy",
);

/// Returns the terms before the particle of the topic of a Korean report: "멘트 문구" of "멘트 문구는 기획이 바꿨대".
pub(super) fn topic(report: &str) -> Vec<String> {
    const REACH: usize = 4;
    let said = tokens(report);
    let is_topic = |token: &ProseToken| matches!(token.particle, "은" | "는");
    said.iter().take(REACH).position(is_topic).map(|end| terms_of(&said[..=end])).unwrap_or_default()
}

/// Returns the numbers of issues and pull requests in a text, such as `#482`.
pub(super) fn references(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '#');
    words.filter(|word| word.len() > 1 && word.starts_with('#') && word[1..].bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether both texts have the number of the same issue or pull request.
pub(super) fn share_reference(a: &str, b: &str) -> bool {
    references(a).any(|number| references(b).any(|other| other == number))
}
