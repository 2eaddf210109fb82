//! Recognises requests that hold only once.
//!
//! [`says_once_explicitly`] needs explicit words ("just this once", "이번 커밋만") and keeps a sentence from becoming a conclusion.
//! [`is_one_off_request`] also takes requests that only their context limits ("skip e2e today"), and keeps them out of briefs and reversals.
//! A new phrase belongs to the narrowest function that fits.

use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::words;

/// Whether a text in lower case asks for something only once: "just this once", "for this one commit", "이번 커밋만".
pub(crate) fn is_one_off_request(folded: &str) -> bool {
    // Each rule needs one of these. Most sentences have none.
    static OCCASIONS: WordList = WordList::phrases(
        "today|tonight|tomorrow|this afternoon|over the weekend|out of this|우선 |일단 |only|just|once|one-off|for now|for this|for the first|for the rest|on this|this time|this one|that one|no need to keep|이번|이건|오늘|내일|지금|한 번만|한번만|今回|本日|今日|一回",
    );
    static LASTING: WordList = WordList::phrases(
        "from now on|always |every time|we decided|we agreed|앞으로|항상|매번|하기로 했|하기로 결정|오늘 이후|오늘부터",
    );
    if !OCCASIONS.occurs_in(folded) || LASTING.occurs_in(folded) {
        return false;
    }
    static TODAY: WordList =
        WordList::phrases("just for today|only for today|just for tonight|only for tonight|for tonight's");
    static ORDERS: WordList = WordList::words("build check deploy flash run skip test use");
    static ONLY_THIS: WordList = WordList::phrases("just this |only this |一回だけ");
    static FOR_THAT: WordList = WordList::phrases("only for that|just for that");
    let is_limited = has_limit(folded);
    let is_order = || words(folded).next().is_some_and(|first| ORDERS.contains(first));
    says_once_explicitly(folded)
        || is_limited_to_occasion(folded)
        || is_limited_to_occasion_in_korean(folded)
        || ONLY_THIS.occurs_in(folded)
        || is_only_once_in_korean(folded)
        || is_limited && folded.contains("for now")
        || is_removed_later(folded)
        || folded.contains("only ") && folded.contains("this time")
        || is_for_this_run_alone(folded)
        // "I need it for a poster, only for that."
        || folded.contains("need it for ") && FOR_THAT.ends(without_end(folded))
        || TODAY.occurs_in(folded)
        // "run just the scan tests today"
        || is_limited && is_order() && names_today(folded)
        || leaves_out_today(folded)
        || makes_exception_today(folded)
        || forbids_for_now_in_korean(folded)
        || limits_today_in_korean(folded)
        || is_for_a_talk(folded)
        || is_stopgap_in_korean(folded)
        || leaves_out_of_this_run(folded)
        || is_about_one_step(folded)
}

/// Whether a sentence in lower case is about one step, as "commit that one straight to main" and "merge this one without CI".
fn is_about_one_step(folded: &str) -> bool {
    let words: Vec<&str> = folded.split_whitespace().collect();
    words.windows(3).any(|three| {
        matches!(
            three,
            ["commit" | "deploy" | "merge" | "publish" | "push" | "release" | "ship", "this" | "that", "one"]
        )
    })
}

fn has_limit(folded: &str) -> bool {
    words(folded).any(|word| matches!(word, "only" | "just"))
}

/// Returns a sentence without its full stop or exclamation mark.
fn without_end(folded: &str) -> &str {
    folded.trim_end_matches(['.', '!', ' '])
}

/// Whether a Korean sentence asks for something only once. "계산서당 한 번만" says how often.
fn is_only_once_in_korean(text: &str) -> bool {
    static PER: WordList = WordList::words("당 에 마다 전 전에 씩 동안 내 하루 단위로 때");
    const REACH: usize = 2;
    let is_per = |word: &str| word != "이번에" && PER.ends(word);
    let is_often = |before: &str| before.split_whitespace().rev().take(REACH).any(is_per);
    ["한 번만", "한번만"].iter().any(|once| text.split_once(once).is_some_and(|(before, _)| !is_often(before)))
}

/// Whether a sentence in lower case is for one run alone: "for this release only set the version to 4.9.9", "hide it in this build only". "For
/// this project only" lasts.
fn is_for_this_run_alone(folded: &str) -> bool {
    static RUNS: WordList = WordList::words(
        "apply batch build commit demo deploy deployment hotfix import merge migration pr push release rollout run upload",
    );
    static FAULTS: WordList = WordList::phrases("crash|fail|happens|broken");
    let folded = folded.replace("'s ", " ");
    let words: Vec<&str> = words(&folded).collect();
    words.windows(4).any(|four| match four {
        [before @ ("for" | "in" | "on"), "this" | "today" | "tonight" | "tomorrow", run, "only"] => {
            RUNS.contains(run) && (*before == "for" || !FAULTS.occurs_in(&folded))
        }
        _ => false,
    })
}

/// Whether a sentence in lower case limits an order to one occasion, or makes an exception for one: "unsigned, today only", "on this Saturday
/// only leave the barriers open", "deploy it straight to live this time".
fn is_limited_to_occasion(folded: &str) -> bool {
    static ALONE: WordList = WordList::phrases(
        "today only|tonight only|tomorrow only|today alone|for today only|for tonight only|for tomorrow only",
    );
    static OCCASIONS: WordList = WordList::phrases(
        "for this batch|for this trial batch|for this test batch|for this test run|for the first try|for the first run|for this run|for this build|for this release|for this deploy|for this demo|for this commit|on this monday|\
         on this tuesday|on this wednesday|on this thursday|on this friday|on this saturday|on this sunday",
    );
    static OUT_OF: WordList = WordList::phrases(
        "out of this build|out of this release|out of this run|out of this one|out of this deploy|out of this batch",
    );
    static EXCEPTIONS: WordList =
        WordList::phrases("leave out|skip|straight to|directly to|exclude|bypass|by hand|--no-verify|--force");
    // A part such as "show today only" may be about what a program shows.
    let is_alone = folded.split([',', '.', ';', '!']).any(|clause| ALONE.contains(clause.trim()));
    let is_exception = || EXCEPTIONS.occurs_in(folded);
    is_alone
        || OCCASIONS.occurs_in(folded) && (has_limit(folded) || is_exception())
        || folded.contains("this time") && is_exception()
        // "Ship this one to internal testers only.", "leave the coast out of this build", "keep it on over the weekend"
        || folded.contains("this one to ") && without_end(folded).ends_with(" only")
        || folded.contains("leave ") && OUT_OF.occurs_in(folded)
        || folded.contains(" on over the weekend")
        || folded.contains(" off over the weekend")
        || folded.contains("this afternoon") && folded.contains(" for the demo")
}

/// Whether a Korean or Japanese sentence limits an order to one occasion: "오늘 빌드에서만 꺼줘", "이번 건에 한해서는", "그분 것만 이번에".
fn is_limited_to_occasion_in_korean(text: &str) -> bool {
    static LIMITED: WordList = WordList::phrases(
        "이번 건에 한해|이번에 한해|오늘에 한해|오늘밤만|오늘 밤만|지금 빌드만|지금 배포만|지금 커밋만|今回に限り|本日に限り|本日のみ",
    );
    static OCCASIONS: WordList = WordList::words(
        "빌드만 배포만 시연만 데모만 커밋만 빌드에서만 빌드에만 배포에서만 배포에만 시연에서만 시연에만 데모에서만 데모에만 커밋에만 릴리스에만",
    );
    const REACH: usize = 3;
    let spoken: Vec<&str> = text.split_whitespace().collect();
    let is_of_period = |(at, word): (usize, &&str)| {
        let mut near = spoken[at..].iter().take(REACH);
        matches!(*word, "오늘" | "내일" | "이번") && near.any(|next| OCCASIONS.contains(next))
    };
    // "하지만 이번에" is no limit.
    let is_only = |pair: &[&str]| pair[1] == "이번에" && pair[0].ends_with('만') && !ends_with_but(pair[0]);
    LIMITED.occurs_in(text) || spoken.iter().enumerate().any(is_of_period) || spoken.windows(2).any(is_only)
}

/// Whether a sentence in lower case takes back the one before it, or says that it holds only once: "Tomorrow it goes back.", "only for that
/// one", "내일은 다시 10개".
fn takes_back(folded: &str) -> bool {
    static BEGINNINGS: WordList = WordList::phrases(
        "tomorrow it goes back|tomorrow back to|after that all normal|only for that|just for that|it's only for that|내일은 다시|\
         내일부터는 다시",
    );
    static TIMES: WordList =
        WordList::words("afterwards friday monday normal saturday sunday thursday tomorrow tuesday wednesday");
    static ALONE: WordList = WordList::phrases(
        "only that build|only that day|only that one|only that release|only that run|just that one day|just that one build|just that one",
    );
    let bare = without_end(folded.trim());
    let is_alone = ALONE.contains(bare.strip_suffix(" please").unwrap_or(bare));
    let folded = folded.trim_start();
    let goes_back = || folded.starts_with("back to ") && words(folded).any(|word| TIMES.contains(word));
    is_alone || (BEGINNINGS.begins(folded) || goes_back()) && words(folded).count() <= LONGEST_TAKING_BACK
}

/// The most words of a sentence that takes back the one before it.
const LONGEST_TAKING_BACK: usize = 12;

/// Whether a sentence in lower case leaves something out today: "leave e2e out for today, Detox is down", "skip e2e today", "don't send mails
/// tonight". A report "for today's orders" is an object.
fn leaves_out_today(folded: &str) -> bool {
    static CONDITIONS: WordList = WordList::phrases(" that | which | who | if | when | for today");
    let until: &[&str] = match folded.split_whitespace().next() {
        Some("skip") => &[" today"],
        // "Don't show coupons that expire today."
        Some("don't" | "dont" | "don’t") if !CONDITIONS.occurs_in(folded) => &[" today", " tonight", " tomorrow"],
        Some("leave" | "use") => &[" for today"],
        _ => &[],
    };
    let ends = |rest: &str| {
        let rest = rest.strip_prefix(" please").unwrap_or(rest);
        rest.is_empty() || rest.starts_with([',', '.', '!', ';'])
    };
    until.iter().any(|until| folded.split_once(until).is_some_and(|(_, rest)| ends(rest)))
}

/// Whether a Korean sentence forbids something today or now: "오늘은 배포하지 말고 브랜치에만 올려두세요", "지금은 커밋하지 마세요".
fn forbids_for_now_in_korean(text: &str) -> bool {
    // "지금은 다국어를 지원하지 말고" decides about the program.
    static WORK: WordList = WordList::words("건드리지 머지하지 배포하지 실행하지 올리지 커밋하지 푸시하지");
    static BANS: WordList = WordList::words("마 마세요 마요 말고 말아 말자 맙시다");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_ban = |pair: &[&str]| WORK.contains(pair[0]) && BANS.begins(pair[1]);
    let now = words.iter().position(|word| matches!(*word, "오늘은" | "지금은"));
    now.is_some_and(|now| words[now..].windows(2).any(is_ban))
}

/// Whether a Korean sentence orders or permits something for today with only a part of what there is: "오늘은 10명만 써서 돌려줘요", "오늘 시연용
/// 보드만 구워주세요".
fn limits_today_in_korean(text: &str) -> bool {
    static PERMITS: WordList = WordList::words("해도됩니다 해도돼요 해도돼");
    static USES: WordList = WordList::words("데모용 미팅용 발표용 시연용 촬영용 회의용");
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_use = |pair: &[&str]| matches!(pair[0], "오늘" | "내일" | "이번") && USES.contains(pair[1]);
    let last: String = words[words.len().saturating_sub(2)..].concat();
    (words.last().is_some_and(|word| is_korean_order(word)) || PERMITS.ends(&last))
        && (words.first() == Some(&"오늘은") || words.windows(2).any(is_use))
        && words.iter().any(|word| says_only(word))
}

/// Whether a Korean sentence asks for something that goes again or is done by hand this time: "우선 어제 것만 손으로 채워주세요", "지금만 지우고
/// 끝나면 되돌려놓고".
fn is_stopgap_in_korean(text: &str) -> bool {
    static FIRST: WordList = WordList::phrases("우선 |일단 ");
    static BY_HAND: WordList = WordList::phrases("손으로 |수동으로 ");
    static GOES_BACK: WordList = WordList::phrases("되돌려|되돌리|원복|다시 켜");
    static FEATURES: WordList = WordList::phrases("우선 순위|수 있게|수 있도록");
    let is_order = || text.split_whitespace().last().is_some_and(is_korean_order) && !FEATURES.occurs_in(text);
    text.contains("지금만 ") && (GOES_BACK.occurs_in(text) || is_order())
        || FIRST.occurs_in(text) && BY_HAND.occurs_in(text) && is_order()
}

/// Whether a sentence in lower case asks for something that is to be shown once: "a chart for my slides tomorrow", "for the meeting just give me
/// a plot".
fn is_for_a_talk(folded: &str) -> bool {
    static TALKS: WordList = WordList::words("demo lecture meeting presentation slides standup talk");
    let words: Vec<&str> = words(folded).collect();
    let begins = match words.as_slice() {
        ["for", "the", talk, "in", "a" | "an" | "one", ..]
        | ["for", "the", talk, "just" | "later" | "today" | "tomorrow" | "tonight", ..] => TALKS.contains(talk),
        _ => false,
    };
    let is_mine = |four: &[&str]| match four {
        ["for", "my", talk, "today" | "tonight" | "tomorrow"] => TALKS.contains(talk),
        _ => false,
    };
    begins && words.contains(&"just") || words.windows(4).any(is_mine)
}

/// Whether a sentence in lower case says when what it asks for goes again: "print the times for now, remove it when we're done".
fn is_removed_later(folded: &str) -> bool {
    static REMOVES: WordList = WordList::phrases(
        "remove it when|remove it once|remove it after|remove it again|take it out when|take it out again|undo it when|revert it when|remove them when|\
         remove them once|remove that when|delete it when",
    );
    static AIDS: WordList = WordList::words("comment dump hardcode log mock print stub");
    let is_removed = folded.split_once("for now").is_some_and(|(_, rest)| REMOVES.occurs_in(rest));
    is_removed && words(folded).any(|word| AIDS.contains(word))
}

/// Whether a sentence in lower case permits something today, or orders a detour because something does not work today: "you can hammer
/// staging today", "argo is down so apply it by hand today", "오늘은 스테이징 점검 중이니 로컬에서 돌리시고요".
fn makes_exception_today(folded: &str) -> bool {
    static PERMITS: WordList = WordList::phrases("you can |you may ");
    static PERMITS_NOTHING: WordList =
        WordList::phrases("you can only |you can see |you can no |you may want |you may need |you may have ");
    static FAULTS: WordList = WordList::phrases(" is down| is broken| is offline| in maintenance");
    static DETOURS: WordList = WordList::phrases("by hand|manually|locally|instead|skip|without|directly|straight");
    static KOREAN_FAULTS: WordList = WordList::phrases(
        "점검이라 |점검이라서|점검이니|점검 중이니|점검 중이라 |점검 중이라서|점검중이니|점검중이라 |점검중이라서|먹통이니|먹통이라 |먹통이라서|장애니|장애라 |장애라서|막혀서|\
         막혔으니|죽어서|죽었으니|다운이라 |다운이라서|안 되니|안 돼서",
    );
    static KOREAN_DETOURS: WordList = WordList::phrases("대신|로컬|수동|직접|말고|빼고|없이|건너뛰|생략");
    let sentence = folded.trim();
    let ends_today = sentence.trim_end_matches(['.', '!']).ends_with(" today");
    let permits = PERMITS.begins(sentence) && !PERMITS_NOTHING.begins(sentence) && !sentence.ends_with('?');
    permits && names_today(sentence)
        || ends_today && FAULTS.occurs_in(sentence) && sentence.contains(" so ") && DETOURS.occurs_in(sentence)
        || sentence.contains("오늘은 ")
            && KOREAN_FAULTS.occurs_in(sentence)
            && KOREAN_DETOURS.occurs_in(sentence)
            && sentence.split_whitespace().any(is_korean_order)
}

fn names_today(folded: &str) -> bool {
    folded.split_whitespace().any(|word| word.trim_end_matches(['.', ',', '!']) == "today")
}

fn is_korean_order(word: &str) -> bool {
    static ORDERS: WordList = WordList::words("줘 줘요 세요 하자 합시다 갑시다 시고요");
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    ORDERS.ends(word) && word != "안녕하세요"
}

/// Whether a Korean sentence orders to leave something out of one build or commit: "이번 빌드는 린트 빼고 뽑아주세요", "이건 리뷰 없이 main에
/// 머지해주세요".
fn leaves_out_of_this_run(folded: &str) -> bool {
    static RUNS: WordList = WordList::phrases(
        "오늘 빌드는 |오늘 배포는 |오늘 커밋은 |내일 빌드는 |내일 배포는 |이번 빌드는 |이번 커밋은 |이번 푸시는 |이번 pr은 |이번 pr 은 |이번 머지는 |이번 배포는 ",
    );
    // "이건 캐시 없이 구현해줘" is about the design.
    static THIS: WordList = WordList::phrases("이번 건은 |이건 ");
    static STEPS: WordList = WordList::phrases("리뷰|검토|승인|pr |테스트|린트|ci |qa ");
    static WITHOUT: WordList = WordList::phrases("빼고|없이|말고|건너뛰|생략");
    static CLAUSE_ENDS: WordList = WordList::words("니 니까 서 네 고 면 데 지만 다 요");
    // "가능해" and "위험해" order nothing.
    static BARE_ORDERS: WordList = WordList::words("푸시해 머지해 배포해 커밋해 빌드해 진행해 반영해");
    static LASTING: WordList = WordList::phrases("앞으로|항상|마세요|말아|하지 마|하지마");
    const REACH: usize = 4;
    let is_order = |word: &str| is_korean_order(word) || BARE_ORDERS.contains(word);
    let goes_on = |word: &str| is_order(word) || !CLAUSE_ENDS.ends(word.trim_end_matches(','));
    let words: Vec<&str> = folded.split_whitespace().collect();
    let leaves_out = |at: usize| {
        let mut after = words[at + 1..].iter().take(REACH).take_while(|word| goes_on(word));
        WITHOUT.occurs_in(words[at]) && after.any(|word| is_order(word))
    };
    let is_run = RUNS.occurs_in(folded) || THIS.occurs_in(folded) && STEPS.occurs_in(folded);
    is_run && !LASTING.occurs_in(folded) && (0..words.len()).any(leaves_out)
}

/// Whether a sentence says explicitly that it holds only this time. "Retry only once" does not.
pub(crate) fn says_once_explicitly(folded: &str) -> bool {
    static ONCE: WordList = WordList::phrases(
        "just this once|only this once|no need to keep it|for the rest of tonight|for the rest of today|this once,|this time only|this one time|as a one-off|for this one,|just tonight|that one build|오늘만|내일만|오늘 하루|내일 하루|이번건 |今回だけ|今回のみ|今日だけ",
    );
    static AT_END: WordList = WordList::phrases("for this one|this once");
    ONCE.occurs_in(folded)
        || AT_END.ends(without_end(folded))
        || is_for_this_alone(folded)
        || is_only_this_time_in_korean(folded)
}

/// Whether a sentence in lower case is only for this occasion. "Enable SSO only for this tenant" lasts as long as the tenant.
fn is_for_this_alone(folded: &str) -> bool {
    static THINGS: WordList = WordList::words(
        "client component customer endpoint field file importer module package page project repo repository role screen service table tenant user",
    );
    let phrases = ["for this one ", "just for this ", "only for this "];
    let mut things = phrases.iter().filter_map(|phrase| words(folded.split_once(phrase)?.1).next());
    things.any(|thing| !THINGS.contains(thing))
}

/// Whether one of the words after "이번" (this time) ends with "만" (only). "이번 릴리스부터" (from this release on), "이번에 정한" (decided
/// this time) and "이번 프로젝트는 TypeScript만" (in this project) say something else.
fn is_only_this_time_in_korean(text: &str) -> bool {
    const REACH: usize = 4;
    static PERIODS: WordList = WordList::words("달 분기 프로젝트");
    static LASTING: WordList = WordList::phrases("기로 |수 있게 ");
    let is_this_time = |after: &&str| {
        let first = after.split_whitespace().next().unwrap_or_default();
        !after.starts_with("에 ") && !first.contains("부터") && !PERIODS.begins(first) && !LASTING.occurs_in(after)
    };
    let mut after = text.split("이번").skip(1).filter(is_this_time);
    after.any(|after| after.split_whitespace().take(REACH).any(says_only))
}

/// Whether a Korean word ends with "만" (only). "100만" is a number.
fn says_only(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_noun = matches!(word, "불만" | "미만")
        || word.strip_suffix('만').is_some_and(|n| n.ends_with(|c: char| c.is_ascii_digit()));
    word.ends_with('만') && !is_noun && !ends_with_but(word)
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
    let parts: Vec<(&str, String)> = sentences(prompt).into_iter().map(|part| (part, part.to_lowercase())).collect();
    // A first sentence takes back nothing.
    let is_taken_back = |at: usize| at > 0 && parts.get(at).is_some_and(|(_, folded)| takes_back(folded));
    let lasts = |at: &usize| !is_one_off_request(&parts[*at].1) && !is_taken_back(*at) && !is_taken_back(at + 1);
    let lasting: String = (0..parts.len()).filter(lasts).map(|at| parts[at].0).collect();
    lasting.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("cluster's full. leave out fastqc for this batch", true)]
    #[case("could you deploy it straight to live this time, without the preview?", true)]
    #[case("on this saturday only leave barriers open from 6 to 14, the city pays.", true)]
    #[case("load it on the lab box unsigned, module.sig_enforce=0, today only.", true)]
    #[case("for tonight's run just exclude them, don't change the file", true)]
    #[case("오늘 빌드에서만 광고 배너 꺼줘~", true)]
    #[case("그리고 오늘 오후 시연에서만 결과를 20개로 늘려줘요.", true)]
    #[case("오늘밤만 알람 다꺼주세여", true)]
    #[case("이번 건에 한해서는 리뷰 없이 병합해 주셔도 괜찮겠습니다.", true)]
    #[case("그분 것만 이번에 매니페스트 검증 끄고 설치해줘요", true)]
    #[case("今回に限りテストを飛ばしてタグを打って構いません。", true)]
    #[case("for today's demo only, hardcode the file key", true)]
    #[case("하지만 이번에 redis를 걷어내고 valkey로 바꿔줘", false)]
    #[case("for tonight only, leave the old gateway running so that qa can compare.", true)]
    #[case("make the dashboard show today only.", false)]
    #[case("the report for today's orders only counts paid ones.", false)]
    #[case("rewrite the importer, this time without pandas.", false)]
    #[case("오늘 날짜에만 테두리를 그려줘", false)]
    #[case("this time the parser is right", false)]
    #[case("오늘은 서버에서만 나는 오류를 보자", false)]
    #[case("이번만 영어로 써줘", true)]
    #[case("for this apply only, target the node group", true)]
    #[case("skip the e2e suite today please, the staging box is being moved.", true)]
    #[case("ship this one to internal testers only.", true)]
    #[case("keep debug logging on over the weekend so we see the switches.", true)]
    #[case("for this trial batch take only the math department.", true)]
    #[case("leave the coast out of this build, noaa sends corrected data", true)]
    #[case("visitors stand next to the cell this afternoon, so run at 30 % speed for the demo.", true)]
    #[case("그리고 오늘은 개발계 db 점검이라 통합 테스트는 건너뛰어 주세요.", true)]
    #[case("내일 시연용 빌드만 도슨트 음성 꺼주세요.", true)]
    #[case("오늘 빌드는 서명 없이 그냥 뽑아줘요, 인증서가 내일 와요.", true)]
    #[case("오늘은 빨리 보고 싶으니까 피험자 10명만 써서 돌려줘요.", true)]
    #[case("keep the logs over the limit", false)]
    #[case("leave the coast out of this release", true)]
    #[case("keep the counter for today's orders", false)]
    #[case("don't show coupons that expire today.", false)]
    #[case("don't send the reminder if the appointment is today.", false)]
    #[case("keep prices frozen over the weekend, the exchanges are closed.", false)]
    #[case("keep the legacy endpoint for now, delete it when all apps are on v3.", false)]
    #[case("다국어는 지금은 지원하지 말고 한국어로 갑시다.", false)]
    #[case("차트에서 오늘은 시간 단위로만 보여주고 지난 날은 일 단위로 보여주세요", false)]
    #[case("from now on use only this endpoint for payments", false)]
    #[case("enable sso only for this tenant", false)]
    #[case("for this one customer we keep the old invoice layout, it's in their contract.", false)]
    #[case("이번 프로젝트는 typescript만 씁니다.", false)]
    #[case("이번 릴리스에는 다크모드만 넣기로 했어요", false)]
    #[case("이번 주 예약만 취소할 수 있게 합시다", false)]
    #[case("이번 주 시범 편성만 3학년 빼고 돌려줘", true)]
    #[case("오늘은 100만 건 넣어줘요", false)]
    #[case("오늘은 관리자만 볼 수 있는 화면이 깨져요", false)]
    #[case("don't send any sms from staging today, bea is demoing", true)]
    #[case("it's 2am, don't touch the live boxes for the rest of tonight, only prepare", true)]
    #[case("can you make a quick bar chart for my slides tomorrow, top 10", true)]
    #[case("so print the edge times for now, remove it when we're done", true)]
    #[case("오늘은 배포하지 말고 브랜치에만 올려두세요", true)]
    #[case("commit that one straight to main please, the testers get a build in ten minutes", true)]
    #[case("a push this one-page form sends", false)]
    #[case("can you plot the counts quickly, no need to keep it", true)]
    #[case("지금 빌드만 로그 레벨 올려서 보내줘", true)]
    #[case("지금 구조에서 빌드만 따로 빼자", false)]
    #[case("커밋은 제가 따로 올릴 거라 지금은 커밋하지 마세요", true)]
    #[case("don't show today's orders twice", false)]
    #[case("don't rely on what works today in ci only", false)]
    #[case("지금은 캐시하지 않는데 캐시를 넣어줘", false)]
    #[case("make a template for my slides", false)]
    #[case("이번 커밋 메시지만 영어로 써줘", true)]
    #[case("이건 한 번만 봐줘", true)]
    #[case("세액은 계산서당 한 번만 계산해줘", false)]
    #[case("테스트셋은 제출 전에 딱 한 번만 열기로 했어요", false)]
    #[case("계산서 단위로 한 번만 계산하는 걸로 통일하죠.", false)]
    #[case("이번에 한 번만 건너뛰어요", true)]
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
    #[case("skip chromatic today, its down", true)]
    #[case("skip it today; detox is down", true)]
    #[case("skip empty days in the today view", false)]
    #[case("for this project only use pnpm", false)]
    #[case("이 테이블만 UTC로 저장해줘", false)]
    #[case("이번 배포는 중단 없이 가능해", false)]
    #[case("이건 중요하니까 앞으로는 리뷰 없이 머지하지 마세요", false)]
    #[case("for this release only set the version to 4.9.9, then upload", true)]
    #[case("이번 건은 급하니까 PR 없이 develop에 바로 푸시해", true)]
    #[case("이건 그냥 리뷰 없이 main에 머지해주세요 제가 책임질게요", true)]
    #[case("이건 캐시 없이 구현해줘", false)]
    #[case("이건 문제 없이 돌아가네, 이제 알림도 붙여줘", false)]
    #[case("이번 pr은 리뷰가 없이 머지됐네", false)]
    #[case("오늘은 장애 원인부터 확인합시다", false)]
    #[case("we have our own bucket, only for that.", false)]
    #[case("이번 배포는 문제 없이 끝났으니 앞으로는 카나리로 배포해줘", false)]
    #[case("이번 커밋은 테스트 없이 올라갔네, pre-commit 훅에 테스트 넣어주세요", false)]
    #[case("오늘은 큐가 막혀서 생기는 타임아웃부터 고쳐줘", false)]
    #[case("오늘은 결제 장애라고 뜨는 에러 문구를 직접 고쳐줘", false)]
    #[case("안녕하세요 오늘은 로그인이 안 돼서 들어온 문의를 직접 처리하려고 합니다", false)]
    #[case("login is broken so let's fix it today", false)]
    #[case("you can only filter by date today, add filtering by author", false)]
    #[case("let's run this once a day", false)]
    #[case("이번 릴리스부터는 태그만 배포하자", false)]
    #[case("이번에 정한 대로 관리자만 삭제할 수 있게 하자", false)]
    #[case("이번 주 목표는 가입자 1만", false)]
    #[case("이번 스프린트는 불만 처리부터 하자", false)]
    #[case("that was all for today", false)]
    #[case("use the green badge for today's date", false)]
    #[case("이번 빌드는 실패했어요, 로그 좀 봐주세요", false)]
    #[case("이번 커밋은 왜 이렇게 커?", false)]
    #[case("오늘은 로그인 버그부터 잡자", false)]
    #[case("as of today only node 22 is supported", false)]
    #[case("only node 7 fails since today's build", false)]
    #[case("also hide the banner in this build only, the price is from last year", true)]
    #[case("we decided today that only admins may export", false)]
    #[case("for now we decided to keep the monolith", false)]
    #[case("배포는 오늘처럼 금요일에만 하기로 했습니다", false)]
    #[case("오늘부터는 main에서만 배포해도 됩니다", false)]
    #[case("it crashes in this build only", false)]
    #[case("우선 재고는 수동으로 조정할 수 있게 해주세요", false)]
    #[case("rate limits apply in this module only", false)]
    #[case("commit it, --no-verify this time, the hook is broken", true)]
    #[case("for the meeting in an hour just give me a plot without s09", true)]
    #[case("for the demo account just skip the captcha", false)]
    #[case("오늘은 판교점에서만 테스트할 거라 매장 코드 하드코딩해도 됩니다", true)]
    #[case("오늘 시연용 보드 5대만 서명 검증 끄고 구워주세요", true)]
    #[case("지금만 pdb 지우고 드레인해 끝나면 바로 되돌려놓고", true)]
    #[case("8시 회의라 급해요 우선 어제 파티션만 손으로 채워주세요", true)]
    #[case("우선순위는 손으로 바꿀 수 있게 해주세요", false)]
    #[case("지금만 할인이라는 문구를 넣자", false)]
    #[case("we stay on sqlite for now", false)]
    #[case("only node 7 has the new antenna", false)]
    fn one_off_requests_are_recognised(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(is_one_off_request(&prompt.to_lowercase()), expected);
    }

    #[rstest]
    #[case("For the fair set it to 5 seconds. Back to hourly on Monday.", "")]
    #[case("Back to TOML.", "Back to TOML.")]
    #[case("Use pnpm. Back to the cart: prices include VAT.", "Use pnpm. Back to the cart: prices include VAT.")]
    #[case("결제를 Stripe로 바꿔줘. 끝나면 다시 알려줘.", "결제를 Stripe로 바꿔줘. 끝나면 다시 알려줘.")]
    #[case("Use pnpm. Round everything to one decimal. Only for that one.", "Use pnpm.")]
    #[case("Use pnpm. For the jam build on saturday: tutorial off. Only that build please.", "Use pnpm.")]
    #[case("Cache the query. Only that one is slow.", "Cache the query. Only that one is slow.")]
    #[case("Index the mail column. Only that column is unique.", "Index the mail column. Only that column is unique.")]
    #[case("오늘은 20개로 늘려줘요. 내일은 다시 10개.", "")]
    #[case(
        "Use tabs. Back to tabs everywhere, because the editor of the maintainers and the linter both want them.",
        "Use tabs. Back to tabs everywhere, because the editor of the maintainers and the linter both want them."
    )]
    fn retracted_requests_are_left_out(#[case] prompt: &str, #[case] lasting: &str) {
        assert_eq!(without_one_offs(prompt), lasting);
    }
}
