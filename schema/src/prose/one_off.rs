//! Recognises what a text asks for only once: "just this once", "이번 커밋만".

use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::words;

/// Whether a text in lower case asks for something only once: "just this once", "for this one commit", "이번 커밋만".
pub(crate) fn is_one_off(folded: &str) -> bool {
    static TODAY: WordList =
        WordList::phrases("just for today|only for today|just for tonight|only for tonight|for tonight's");
    static ORDERS: WordList = WordList::words("build check deploy flash run skip test use");
    static BARELY: WordList = WordList::phrases("just this |only this |한 번만|한번만|一回だけ");
    let is_limited = words(folded).any(|word| matches!(word, "only" | "just"));
    let is_this_time = folded.contains("only ") && folded.contains("this time");
    // "run just the scan tests today"
    let is_order = || words(folded).next().is_some_and(|first| ORDERS.contains(first));
    let is_today = TODAY.occurs_in(folded)
        || is_limited && is_order() && names_today(folded)
        || leaves_out_today(folded)
        || makes_exception_today(folded);
    holds_once(folded)
        || BARELY.occurs_in(folded)
        || is_limited && folded.contains("for now")
        || is_this_time
        || is_today
        || leaves_out_of_this_run(folded)
}

/// Whether a sentence in lower case leaves something out today: "leave e2e out for today, Detox is down". A report "for today's orders" is
/// an object.
fn leaves_out_today(folded: &str) -> bool {
    let is_order = words(folded).next().is_some_and(|first| matches!(first, "leave" | "skip" | "use"));
    let (_, rest) = folded.split_once(" for today").unwrap_or(("", "'"));
    is_order && (rest.is_empty() || rest.starts_with([',', '.', '!', ';']))
}

/// Whether a sentence in lower case permits something today, or orders it because something does not work today: "you can hammer staging
/// today", "argo is down so apply it by hand today", "오늘은 스테이징 점검 중이니 로컬에서 돌리시고요".
fn makes_exception_today(folded: &str) -> bool {
    static PERMITS: WordList = WordList::phrases("you can |you may |feel free to ");
    static FAULTS: WordList = WordList::phrases(" is down| is broken| is offline| in maintenance");
    static KOREAN_FAULTS: WordList = WordList::phrases(
        "점검 중이니|점검 중이라|점검중이니|점검중이라|먹통이니|먹통이라|장애니|장애라|막혀서|막혔으니|죽어서|죽었으니|다운이라|안 되니|안 돼서",
    );
    let sentence = folded.trim();
    let ends_today = sentence.trim_end_matches(['.', '!']).ends_with(" today");
    PERMITS.begins(sentence) && names_today(sentence) && !sentence.ends_with('?')
        || ends_today && FAULTS.occurs_in(sentence) && sentence.contains(" so ")
        || sentence.contains("오늘은 ") && KOREAN_FAULTS.occurs_in(sentence) && orders_in_korean(sentence)
}

fn names_today(folded: &str) -> bool {
    folded.split_whitespace().any(|word| word.trim_end_matches(['.', ',', '!']) == "today")
}

/// Whether a word of a Korean text is an order.
fn orders_in_korean(text: &str) -> bool {
    static ORDERS: WordList = WordList::words("줘 줘요 주세요 하자 합시다 갑시다 시고요 세요");
    text.split_whitespace().any(|word| ORDERS.ends(word.trim_end_matches(|c: char| !c.is_alphanumeric())))
}

/// Whether a Korean sentence orders to leave something out of one build or commit: "이번 빌드는 린트 빼고 뽑아주세요".
fn leaves_out_of_this_run(folded: &str) -> bool {
    static RUNS: WordList =
        WordList::phrases("이번 빌드는 |이번 커밋은 |이번 푸시는 |이번 pr은 |이번 pr 은 |이번 머지는 |이번 배포는 ");
    static WITHOUT: WordList = WordList::phrases("빼고|없이|말고|건너뛰|생략");
    RUNS.occurs_in(folded) && WITHOUT.occurs_in(folded) && orders_in_korean(folded)
}

/// Whether a sentence says in so many words that it holds only this time. "Retry only once" does not.
pub(crate) fn holds_once(folded: &str) -> bool {
    static ONCE: WordList = WordList::phrases(
        "this once|this time only|this one time|as a one-off|for this one |for this one,|just for this |only for this |just tonight|\
         that one build|오늘만|내일만|오늘 하루|내일 하루|이번건 |今回だけ|今回のみ|今日だけ",
    );
    static FOR_ONE: WordList = WordList::phrases("for this one|only for that|just for that");
    ONCE.occurs_in(folded)
        || FOR_ONE.ends(folded.trim_end_matches(['.', '!', ' ']))
        || is_only_this_time_in_korean(folded)
}

/// Whether one of the words after "이번" (this time) ends with "만" (only).
fn is_only_this_time_in_korean(text: &str) -> bool {
    const REACH: usize = 4;
    let is_only = |word: &str| {
        let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        word.ends_with('만') && !ends_with_but(word)
    };
    text.split("이번").skip(1).any(|after| after.split_whitespace().take(REACH).any(is_only))
}

/// Whether a Korean word is a verb with "지만" (but): "고쳤지만", "하지만". A noun such as "메시지" may end like it.
fn ends_with_but(word: &str) -> bool {
    /// The final consonant ㅆ of the past tense, as Unicode counts final consonants.
    const PAST: u32 = 20;
    let before = word.strip_suffix("지만").and_then(|verb| verb.chars().next_back());
    before.is_some_and(|c| {
        let is_past = matches!(c, '\u{AC00}'..='\u{D7A3}') && (u32::from(c) - 0xAC00) % 28 == PAST;
        is_past || matches!(c, '하' | '이' | '되' | '없' | '않' | '같' | '좋')
    })
}

/// Returns a prompt without the sentences that ask for something only once.
pub(crate) fn without_one_offs(prompt: &str) -> String {
    let parts = sentences(prompt).into_iter();
    parts.filter(|part| !is_one_off(&part.to_lowercase())).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("이번만 영어로 써줘", true)]
    #[case("이번 커밋 메시지만 영어로 써줘", true)]
    #[case("이번에 고쳤지만 아직 느려", false)]
    #[case("for this one commit skip the slow tests", true)]
    #[case("ci is down, push it straight to main this once", true)]
    #[case("flash only node 7 for now", true)]
    #[case("deadline in 40 min, push straight to main for this one", true)]
    #[case("run only test/sync this time pls", true)]
    #[case("이번건 pr 없이 바로 머지해줘", true)]
    #[case("i just fixed it, this time the tests pass", false)]
    #[case("이번 건은 redis로 가자", false)]
    #[case("run just the scan tests today, full suite is too slow", true)]
    #[case("for tonight's hotfix only: leave the size check out", true)]
    #[case("leave e2e out for today, Detox is down again", true)]
    #[case("급해서 그런데 이번 빌드는 린트 빼고 뽑아주세요", true)]
    #[case("단 이번 PR은 리뷰 없이 머지해줘요 demo가 내일이라", true)]
    #[case("you can hammer staging with 64 workers today, nobody's on it", true)]
    #[case("argo is in maintenance so kubectl apply it by hand today", true)]
    #[case("오늘은 스테이징 점검 중이니 로컬 컨테이너에다 돌리시고요.", true)]
    #[case("make figure 2 very large, i need it for a poster on thursday, only for that.", true)]
    #[case("you can deploy whenever the tests pass", false)]
    #[case("can you look at today's failures?", false)]
    #[case("이번 pr은 리뷰가 없이 머지됐네", false)]
    #[case("오늘은 장애 원인부터 확인합시다", false)]
    #[case("that was all for today", false)]
    #[case("use the green badge for today's date", false)]
    #[case("이번 빌드는 실패했어요, 로그 좀 봐주세요", false)]
    #[case("이번 커밋은 왜 이렇게 커?", false)]
    #[case("오늘은 로그인 버그부터 잡자", false)]
    #[case("as of today only node 22 is supported", false)]
    #[case("only node 7 fails since today's build", false)]
    #[case("we stay on sqlite for now", false)]
    #[case("only node 7 has the new antenna", false)]
    fn request_for_once_is_recognised(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(is_one_off(&prompt.to_lowercase()), expected);
    }
}
