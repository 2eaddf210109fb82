//! Tasks that one answer listed: those that are done because only others are left, and those that a prompt ordered together.

use super::reports::{is_no_report, leaves_something, lower_words, reports_an_end};
use crate::model::tool_usage::files;
use crate::model::word_list::WordList;
use crate::prose::gist::list_item;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::terms::{count_shared_terms, terms};

/// Phrases in lower case before and after a complete list of what is left.
static LEFT_NEXT: WordList = WordList::phrases(
    "what is left is|what's left is|all that is left is|all that's left is|the only thing left is|the only point left is|\
     the only open point is|the only open item is|what's left from the list is|what's left of the list is|what's left on the list is|\
     all that remains is|남은 건 |남은 것은 |남은 거는 ",
);
static LEFT_BEFORE: WordList = WordList::phrases(
    "is the only thing left|is the only one left|is all that is left|is all that's left|is all that remains|만 남았|만 남음|만 남습니다|\
     하나 남았|하나 남음|만 하면 끝|만 하면 됩",
);

/// Phrases in lower case before a list of what is left, in a sentence or below it. The list may name new steps, too.
static LEFT_LISTED: WordList = WordList::phrases(
    "what is left:|what's left:|what remains is|what remains:|still left:|left to do:|left are |remaining:|남은 일은 |남은 작업은 |\
     남은 일:|남은 작업:|남은 것:",
);

/// Korean phrases behind a list of what is left, at the end of a sentence.
static LEFT_NOW: WordList = WordList::phrases(
    "이 남았습니다|가 남았습니다|이 남았어요|가 남았어요|이 남았어|가 남았어|이 남습니다|가 남습니다",
);

/// Words of conditions, which say what will be left.
static CONDITIONS: WordList = WordList::phrases("if |once |after |when |면 |뒤에 |후에 ");

/// Words that join what is left.
static AND: WordList = WordList::phrases(" and |, |이랑 |하고 |와 |과 |그리고");

/// Returns the tasks of a list that are not among those that a text names as all that is left, if it names at least one of them.
pub fn done_except_left(text: &str, listed: &[&str]) -> Vec<usize> {
    let tasks: Vec<Vec<String>> = listed.iter().map(|task| terms(task)).collect();
    let mut done = Vec::new();
    for named in all_left(text) {
        let said = terms(&named);
        let (left, others): (Vec<usize>, Vec<usize>) =
            (0..listed.len()).partition(|task| count_shared_terms(&tasks[*task], &said) > 0);
        done.extend(others.into_iter().filter(|_| !left.is_empty()));
    }
    done
}

/// Returns what each complete list of a text names, a sentence or the items below it.
fn all_left(text: &str) -> Vec<String> {
    let parts = sentences(text);
    let named = |(at, part): (usize, &&str)| {
        let named = everything_left(part).or_else(|| listed_left(part))?;
        let is_lead = named.trim().is_empty();
        let items = parts[at + 1..].iter().take_while(|below| list_item(below.trim()).is_some());
        Some(if is_lead { items.copied().collect() } else { named })
    };
    parts.iter().enumerate().filter_map(named).collect()
}

/// Whether a text reports that a whole list is done.
pub fn reports_whole_list(text: &str) -> bool {
    static DONE: WordList = WordList::phrases(
        "that was the whole list|that was the last one on the list|that was the last item|the list is done|목록은 다 끝났|목록은 모두 끝났|\
         목록 다 끝났|목록 다 끝냈",
    );
    let reports = |part: &&str| DONE.occurs_in(&part.to_lowercase()) && !is_no_report(part);
    sentences(text).iter().any(reports)
}

/// Whether a sentence names everything that is left.
pub fn names_everything_left(sentence: &str) -> bool {
    everything_left(sentence).is_some()
}

/// Returns what a sentence names as everything that is left, in lower case.
fn everything_left(sentence: &str) -> Option<String> {
    let folded = in_lower_case(sentence.trim());
    if folded.contains(['?', '？']) {
        return None;
    }
    let until_clause = |rest: &str| rest.split([':', ';', '(']).next().unwrap_or_default().to_owned();
    if let Some(rest) = folded.strip_prefix("that leaves ") {
        return Some(until_clause(rest)).filter(|named| !named.contains("unchanged") && !named.contains("as is"));
    }
    let split = |phrases: &WordList| {
        let parts = phrases.iter().find_map(|phrase| folded.split_once(phrase));
        parts.filter(|(before, _)| !CONDITIONS.occurs_in(before))
    };
    let next = split(&LEFT_NEXT).map(|(_, behind)| until_clause(behind));
    let leaves = || left_by_the_end_of_others(&folded).map(until_clause);
    next.or_else(|| split(&LEFT_BEFORE).map(|(before, _)| before.to_owned()))
        .or_else(|| left_now(&folded))
        .or_else(leaves)
}

/// Returns the remaining tasks that a sentence lists, in lower case, as in `Still left: the key and the man page`.
fn listed_left(sentence: &str) -> Option<String> {
    let folded = in_lower_case(sentence.trim());
    let behind = || LEFT_LISTED.iter().find_map(|phrase| folded.split_once(phrase));
    let (before, named) = folded.strip_suffix(" are left.").map(|named| ("", named)).or_else(behind)?;
    (!folded.contains(['?', '？']) && !CONDITIONS.occurs_in(before)).then(|| named.to_owned())
}

/// Returns the remaining tasks that a Korean sentence in lower case lists: "이제 A와 B가 남았습니다". One thing alone, or something
/// within another, does not count.
fn left_now(folded: &str) -> Option<String> {
    let listed = folded.trim_end_matches(['.', '!', ' ']).strip_prefix("이제 ")?;
    let named = LEFT_NOW.iter().find_map(|phrase| listed.strip_suffix(phrase))?;
    let is_within = named.split_whitespace().any(|word| word.ends_with('에') || word.ends_with("에서"));
    (AND.occurs_in(named) && !is_within).then(|| named.to_owned())
}

/// Returns what is left because others are done: "#2 and #3 are closed, which leaves the report". "I used a soft delete, which leaves the
/// row in place" closes nothing.
fn left_by_the_end_of_others(folded: &str) -> Option<&str> {
    static STAYS: WordList = WordList::phrases("in place|unchanged|as is|intact|untouched|alone");
    let (before, named) = folded.split_once(", which leaves ")?;
    let is_state = lower_words(before).any(|word| matches!(word, "is" | "are" | "was" | "were"));
    (is_state && reports_an_end(before) && !STAYS.occurs_in(named)).then_some(named)
}

/// Phrases in lower case that order a whole list.
static WHOLE_LIST: WordList = WordList::phrases(
    "leftover|the rest of the list|the remaining items|the remaining ones|the remaining tasks|yesterday's list|finish the list|\
     the open items|the open points|what's left|what is left|남은 거|남은 것|남은 일|마저 |어제 목록|지난번 목록|하던 거",
);

/// Phrases in lower case that report every part of a list as done.
static ALL_DONE: WordList = WordList::phrases(
    "both are done|both done|all are done|everything is done|everything's done|둘 다 끝났|둘 다 완료|둘 다 했|모두 끝났|다 끝났|전부 끝났|\
     모두 완료|전부 완료|다 했습니다|다 했어",
);

/// Returns which of the tasks of one list an answer reports as done, after a prompt that ordered them together: "do 1 and 2", "finish the
/// leftovers". `edited` has the changes of the turn. Tasks are in the order of the list.
pub fn done_of_list(prompt: &str, answer: &str, edited: &str, listed: &[&str]) -> Vec<usize> {
    let folded = in_lower_case(prompt.trim());
    if folded.contains(['?', '？']) || folded.chars().count() > LONGEST_LIST_ORDER {
        return Vec::new();
    }
    let ordered: String = sentences(&folded).into_iter().filter(|part| !puts_off(part)).collect();
    let numbers = ordered_numbers(&ordered);
    let is_whole = numbers.is_empty() && WHOLE_LIST.occurs_in(&ordered) || ordered.contains("번부터");
    let is_ordered = |at: &usize| is_whole || numbers.contains(&(at + 1));
    let is_open = |part: &&str| is_no_report(part) || names_everything_left(part);
    let parts = sentences(answer).into_iter().flat_map(|sentence| sentence.split(", and "));
    let (open, reports): (Vec<&str>, Vec<&str>) = parts.partition(is_open);
    // After "do 3 now", a reported end is the end of that item, even if only one word names it.
    let is_single = numbers.len() == 1 && !leaves_something(answer);
    // "2번은 30%로 지금 넣어주세요": what was changed is that item, in whatever words the answer reports it.
    let is_carried_out =
        is_single && NOW.occurs_in(&folded) && files(edited).next().is_some() && !answer.contains(['?', '？']);
    let ends: Vec<Vec<String>> =
        reports.iter().filter(|part| is_single && reports_an_end(part)).map(|part| terms(part)).collect();
    let are_all_done = reports.iter().any(|part| ALL_DONE.occurs_in(&part.to_lowercase()));
    let edited = edited.to_lowercase();
    let terms_of_each = |parts: &[&str]| parts.iter().map(|part| terms(part)).collect::<Vec<_>>();
    let (open_terms, report_terms) = (terms_of_each(&open), terms_of_each(&reports));
    let is_done = |at: &usize| {
        let all = terms(listed[*at]);
        let most_shared =
            |said: &[Vec<String>]| said.iter().map(|said| count_shared_terms(&all, said)).max().unwrap_or(0);
        let (in_open, in_report) = (most_shared(&open_terms), most_shared(&report_terms));
        let is_numbered = reports.iter().any(|part| reports_number(&part.to_lowercase(), at + 1));
        let is_in_code = in_open == 0 && all.iter().any(|term| is_identifier(term) && edited.contains(term.as_str()));
        let is_reported = in_report > in_open && (in_report >= 2 || in_report == all.len());
        is_carried_out
            || is_numbered
            || is_reported
            || most_shared(&ends) > 0
            || in_report >= in_open && (are_all_done || is_in_code)
    };
    (0..listed.len()).filter(is_ordered).filter(is_done).collect()
}

/// Returns which of the tasks of one list a prompt reports as done by their numbers: "1번은 제가 처리했어요", "2 is done".
pub fn done_by_number(prompt: &str, listed: &[&str]) -> Vec<usize> {
    let reports: Vec<String> =
        sentences(prompt).into_iter().filter(|part| !is_no_report(part)).map(str::to_lowercase).collect();
    (0..listed.len()).filter(|at| reports.iter().any(|part| reports_number(part, at + 1))).collect()
}

/// Whether a sentence in lower case puts an item off.
fn puts_off(folded: &str) -> bool {
    static LATER: WordList = WordList::phrases("내일|나중|다음 주|다음주|tomorrow|later|next week");
    LATER.occurs_in(folded) || folded.split_whitespace().any(|word| word == "낼")
}

/// Phrases in lower case that order something at once.
static NOW: WordList = WordList::phrases("지금 |바로 | now| right away");

/// The longest prompt that orders parts of a list, in characters.
const LONGEST_LIST_ORDER: usize = 80;

/// The shortest word that counts as an identifier without a sign such as `_`, in bytes.
const LONG_WORD: usize = 12;

fn is_identifier(term: &str) -> bool {
    term.is_ascii() && (term.contains(['_', '.', '/']) || term.len() >= LONG_WORD)
}

/// Beginnings of Korean words after "3번" (three times).
static COUNTED: WordList = WordList::words("나 났 발생 실패 재시도 반복 시도 연속");

/// Returns the numbers of the items that a prompt in lower case orders: "do 1 and 2", "1번이랑 2번".
fn ordered_numbers(folded: &str) -> Vec<usize> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '%' && c != '.';
    let words: Vec<&str> = folded.split(is_separator).filter(|word| !word.is_empty()).collect();
    let is_english =
        words.first().is_some_and(|word| matches!(*word, "do" | "start" | "take" | "finish" | "now" | "then" | "ok"));
    let number = |(at, word): (usize, &&str)| -> Option<usize> {
        let before = at.checked_sub(1).map(|before| words[before]);
        let next = words.get(at + 1).copied();
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let rest = &word[digits.len()..];
        let number: usize = digits.parse().ok().filter(|number| (1..=9).contains(number))?;
        let joins = |word| matches!(word, Some("and" | "do" | "with" | "number" | "item" | "items"));
        // "1 is for next week, do 3 now"
        let is_ordered_now = || before == Some("do") && matches!(next, None | Some("now" | "first" | "next" | "today"));
        // "오류가 3번 났어"
        let is_count = || next.is_some_and(|next| COUNTED.begins(next));
        let is_item = match rest {
            "" => is_ordered_now() || is_english && (joins(before) || joins(next)),
            "번" => !is_count(),
            _ => rest.starts_with('번'),
        };
        is_item.then_some(number)
    };
    words.iter().enumerate().filter_map(number).collect()
}

/// Whether a sentence in lower case reports an item by its number: "1번은 끝났습니다", "2 is done". "2번 재시도했어" counts something.
fn reports_number(folded: &str, number: usize) -> bool {
    static DONE: WordList = WordList::words("끝 완료 처리 했 됐 마쳤");
    static DIRECTLY: WordList = WordList::phrases(" 끝| 완료| 처리");
    let korean = format!("{number}번");
    let is_reported = |at: usize| {
        let is_whole = !folded[..at].ends_with(|c: char| c.is_ascii_digit());
        let rest = &folded[at + korean.len()..];
        let is_topic = rest.starts_with(['은', '도']) && DONE.occurs_in(rest);
        is_whole && (is_topic || DIRECTLY.begins(rest))
    };
    let first = number.to_string();
    let words: Vec<&str> = lower_words(folded).collect();
    folded.match_indices(&korean).any(|(at, _)| is_reported(at))
        || words.windows(2).any(|pair| pair == [&first, "done"])
        || words.windows(3).any(|three| three == [&first, "is", "done"])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const CLIENT: [&str; 3] = [
        "withdraw the article about the warning (Marta owns it)",
        "throw out `ConflictDialog`",
        "fill old timestamp columns",
    ];
    const KOREAN: [&str; 3] =
        ["앱에 남은 로컬 알림 코드 걷어내기", "해외 나간 사용자 시간대 처리", "발송 성공률 대시보드"];

    #[rstest]
    #[case("The magic is 0xB7. That was the whole list.", true)]
    #[case("Once the list is done, I tag 2.0.", false)]
    #[case("I don't think the list is done.", false)]
    #[case("목록은 다 끝났습니다.", true)]
    #[case("목록은 다 끝나지 않았습니다.", false)]
    fn whole_list_is_reported(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(reports_whole_list(text), expected);
    }

    #[rstest]
    #[case::one("Green again. The only thing left is the article that Marta withdraws.", &CLIENT, &[1, 2])]
    #[case::of_the_list("The chip fits. What's left from the list is the article.", &CLIENT, &[1, 2])]
    #[case::closed("Both tables are closed, which leaves the article.", &CLIENT, &[1, 2])]
    #[case::korean_now("둘 다 맞췄습니다. 이제 대시보드와 시간대 처리가 남았습니다.", &KOREAN, &[0])]
    #[case::korean_partly("이제 대시보드가 남았고 시간대 처리는 절반쯤 했습니다.", &KOREAN, &[])]
    #[case::korean_within("이제 대시보드에 오류와 경고가 남았습니다.", &KOREAN, &[])]
    #[case::in_place("I switched to a soft delete, which leaves the article in place.", &CLIENT, &[])]
    #[case::korean_still("아직 시간대 처리가 남았습니다.", &KOREAN, &[])]
    #[case::korean("초록색이야. 이제 발송 성공률 대시보드만 남았어.", &KOREAN, &[0, 1])]
    #[case::more_than_the_list(
        "The columns are filled. What is left is the article, and a run on the tablet.", &CLIENT, &[1, 2])]
    #[case::after_a_colon("What is left: the article, and a run on the tablet.", &CLIENT, &[1, 2])]
    #[case::in_a_list("Yes. What's left:\n1. the article (Marta owns it)\n2. a run on the tablet", &CLIENT, &[1, 2])]
    #[case::behind("Then the article and the columns are left.", &CLIENT, &[1])]
    #[case::korean_work("네, 그럼 남은 일은 대시보드와 앱 정리입니다.", &KOREAN, &[1])]
    #[case::another_list_below("What's left:\n1. the invoice", &CLIENT, &[])]
    #[case::condition_of_a_list("Once CI is green, what is left: the article.", &CLIENT, &[])]
    #[case::another_list("All that is left is the invoice.", &CLIENT, &[])]
    #[case::question("Is the article the only thing left?", &CLIENT, &[])]
    #[case::kept("로그는 에러만 남기도록 바꿨습니다.", &KOREAN, &[])]
    #[case::clause("I used a soft delete, which leaves the article in place.", &CLIENT, &[])]
    #[case::condition("Once CI is green, the only thing left is the article.", &CLIENT, &[])]
    #[case::reason("That leaves the article: Marta is away, and the legal team too.", &CLIENT, &[1, 2])]
    #[case::korean_clause("이제 대시보드 하나 남았는데, 지민 님이 지표를 정해야 합니다.", &KOREAN, &[0, 1])]
    #[case::plain("The article is withdrawn.", &CLIENT, &[])]
    fn tasks_missing_from_what_is_left_are_done(#[case] text: &str, #[case] listed: &[&str], #[case] done: &[usize]) {
        assert_eq!(done_except_left(text, listed), done);
    }

    #[rstest]
    #[case::korean("1번은 방금 제가 처리했어요. 2번은 다음 주에 하죠", &[0])]
    #[case::english("2 is done, on with the rest", &[1])]
    #[case::count("2번 재시도했어", &[])]
    #[case::option("1번 옵션으로 하기로 했어요", &[])]
    #[case::other_number("이슈 12번은 처리했어요", &[])]
    #[case::question("1번은 끝났어요?", &[])]
    #[case::plain("the 2 reports are done", &[])]
    fn numbered_tasks_are_reported_as_done(#[case] prompt: &str, #[case] done: &[usize]) {
        assert_eq!(done_by_number(prompt, &KOREAN), done);
    }

    #[rstest]
    #[case::both("Do 2 and 3 of yesterday's list.", "Both are done.", "", &CLIENT, &[1, 2])]
    #[case::one_now(
        "1 is a yes but next week. do 2 now, its quick",
        "The dialog `ConflictDialog` and its styles are gone.",
        "",
        &CLIENT,
        &[1]
    )]
    #[case::with_a_promise(
        "3번은 지금 해줘. 그리고 커밋은 항상 [enc]로 시작하게",
        "The old columns are filled, and commits start with `[enc]`, as all will.",
        "",
        &CLIENT,
        &[2]
    )]
    #[case::only_mentioned("do 2 now", "Looking at the dialog: two screens use it.", "", &CLIENT, &[])]
    #[case::carried_out(
        "2번은 30%로 해서 지금 넣어주세요. 3번은 내일",
        "배터리 30% 미만이면 업로드를 거부합니다.",
        "Files modified: src/ota.c\n+ if (battery_percent() < 30)",
        &KOREAN,
        &[1]
    )]
    #[case::not_carried_out(
        "2번 지금 해주세요",
        "장비가 없습니다. 어떤 걸 쓸까요?",
        "Files modified: src/ota.c\n+ if (battery_percent() < 30)",
        &KOREAN,
        &[]
    )]
    #[case::count("로그인 오류가 3번 났어, 확인해줘", "발송 서버가 만료된 토큰을 읽었습니다.", "", &KOREAN, &[])]
    #[case::one_not_done("do 2 now", "The dialog cannot go yet: two screens use it.", "", &CLIENT, &[])]
    #[case::numbered("1번이랑 2번 해줘", "1번은 끝. 2번은 아직 빨간색이야.", "", &KOREAN, &[0])]
    #[case::in_order("어제 목록 1번부터 순서대로 진행해주세요", "1번은 끝났습니다. 2번 시작합니다.", "", &KOREAN, &[0])]
    #[case::edited("let's finish the leftovers", "The screen is simpler now.", "- class ConflictDialog {", &CLIENT, &[1])]
    #[case::only_left("1번은 제가 할게요. 2번은 다음 주에 하죠", "네, 그럼 해외 사용자 시간대 처리만 남습니다.", "", &KOREAN, &[])]
    #[case::not_run("let's finish the leftovers", "The filling of old timestamp columns is not run yet.", "", &CLIENT, &[])]
    #[case::in_progress("Do 2 and 3 of yesterday's list.", "Both are in progress.", "", &CLIENT, &[])]
    #[case::other_list("Sort the list by date", "Both are done.", "", &CLIENT, &[])]
    #[case::since("어제부터 로그인이 안 돼요", "다 했습니다.", "", &KOREAN, &[])]
    #[case::no_list("Do it tomorrow", "Both are done.", "", &CLIENT, &[])]
    #[case::question("Shall we do 1 and 2?", "Both are done.", "", &CLIENT, &[])]
    #[case::amounts("raise it from 1 to 2 seconds", "Both are done.", "", &CLIENT, &[])]
    fn parts_of_an_ordered_list_are_done(
        #[case] prompt: &str,
        #[case] answer: &str,
        #[case] edited: &str,
        #[case] listed: &[&str],
        #[case] done: &[usize],
    ) {
        assert_eq!(done_of_list(prompt, answer, edited, listed), done);
    }
}
