//! Tasks that are closed in other words than their own: "take that off the list", or in another language.

use std::collections::HashSet;

use super::compared::ComparedTask;
use super::lists::names_everything_left;
use super::reports::{is_kana, is_no_report, leaves_something, reports_an_end, topic};
use crate::model::word_list::WordList;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::terms::{count_shared_terms, is_hangul, terms, terms_and_parts};

/// Phrases that close a task, in lower case. Those with "two" or "both" close two.
static CLOSINGS: WordList = WordList::phrases(
    "off the list|off my list|off our list|from the list|that was the open step|that was the last open|목록에서 빼|목록에서 뺐|\
     목록에서 지|リストから外|scratch that|scratch those two|strike that|strike those two|cross that off|tick that off|\
     tick both off",
);

/// Returns the tasks that each closing phrase names, or the sentence before it, unless more tasks fit.
pub(super) fn closed(text: &str, tasks: &[ComparedTask<'_>]) -> Vec<usize> {
    let parts = sentences(text);
    let closing = |(at, part): (usize, &&str)| {
        let lower = part.to_lowercase();
        let phrase = CLOSINGS.iter().find(|phrase| lower.contains(**phrase))?;
        let count = if phrase.contains(" two") || phrase.contains(" both") { 2 } else { 1 };
        let denies = |word: &str| word.ends_with("n't") || word == "not";
        let before_phrase = lower.split(phrase).next().unwrap_or_default();
        let is_denied = lower.split_whitespace().any(denies) || before_phrase.contains("nothing");
        if is_denied || lower.trim_end().ends_with(['?', '？']) || names_everything_left(part) {
            return None;
        }
        let before = at.checked_sub(1).map(|before| parts[before]);
        let named = |text: &str| closest_tasks(&terms(text), tasks, count);
        let rest = lower.replace(phrase, " ");
        let with_before = |before: &str| named(before).or_else(|| named(&format!("{before} {rest}")));
        named(&rest).or_else(|| before.filter(|text| !text.contains('?')).and_then(with_before))
    };
    parts.iter().enumerate().filter_map(closing).flatten().collect()
}

/// Returns the tasks that a prompt takes back by their verb: "clip yes, but don't resume" of "resume from checkpoint 30k".
pub fn declined(prompt: &str, tasks: &[&str]) -> Vec<usize> {
    static CONDITIONS: WordList = WordList::words("again before first if now on today unless until when without yet");
    let lower = prompt.to_lowercase().replace(['\'', '’'], "");
    let clauses = lower.split([',', '.', ';', '\n']).map(|clause| clause.split_whitespace().collect::<Vec<_>>());
    let declined_in = |words: Vec<&str>| -> Option<usize> {
        let is_conditional = words.iter().any(|word| CONDITIONS.contains(word));
        let at = words.iter().position(|word| *word == "dont").filter(|_| !is_conditional)?;
        let (verb, objects) = words[at + 1..].split_first()?;
        let objects = terms(&objects.join(" "));
        only_one(tasks, |task| {
            let begins = task.split_whitespace().next().is_some_and(|first| first.to_lowercase() == *verb);
            begins && count_shared_terms(&objects, &terms(task)) == objects.len()
        })
    };
    clauses.filter_map(declined_in).collect()
}

/// The longest prompt that drops a task, in characters.
const LONGEST_DROP: usize = 100;

/// Phrases in lower case that drop what they are about, those with which somebody else does it, and those that only put it off.
static DROPS: WordList = WordList::phrases(
    "scrap |kill it|kill that|drop it|drop that|forget it|forget about|skip it|skip that|nobody needs|not needed|\
     don't need|dont need|won't need|no longer need|we don't want|never gonna|not gonna|not doing|leave it out|leave that out|\
     빼자|빼줘|빼주세요|뺍시다|빼죠|빼도 |빼도됨|안해도|안 해도|필요없|필요 없|하지 말자|하지말자|하지 말죠|안 하기로|안하기로|가져갔|가져가기로|한다고 함|\
     한다고 합니다|하기로 했대|는 됐어|은 됐어|는 됐고|은 됐고|는 됐습니다|은 됐습니다|不要|いらない|要らない|やめよう|やめて",
);
static HANDED_OVER: WordList =
    WordList::phrases("님이 하신대|직접 하신대|같이 하신대|님이 하신답니다|직접 하신답니다|맡으신대");
static PUT_OFF: WordList = WordList::phrases("until|unless| yet|for now|first|나중|일단|먼저|아직|まだ|後で");

/// Words that refer to the clause before.
static POINTS_BACK: WordList = WordList::words("it that those them this 그건 그거 그것도 それ");

/// Returns the task of the list before a prompt that the prompt drops, by its number or by a word that no other task has: "3 never gonna
/// matter, kill it", "배지는 제조사마다 다르니 빼자".
pub fn dropped(prompt: &str, answer: &str, listed: &[&str]) -> Option<usize> {
    let folded = in_lower_case(prompt.trim());
    if PUT_OFF.occurs_in(&folded) || folded.contains(['?', '？']) || folded.chars().count() > LONGEST_DROP {
        return None;
    }
    let clauses: Vec<&str> = folded.split([',', '.', ';', '\n', '、', '。']).map(str::trim).collect();
    let is_handed_over = |clause: &&str| HANDED_OVER.occurs_in(clause);
    // "The review of the webhook" is something else than the webhook.
    if let Some(clause) = clauses.iter().copied().find(is_handed_over) {
        let about = topic(clause);
        return only_one(listed, |task| !about.is_empty() && count_shared_terms(&about, &terms(task)) == about.len());
    }
    let at = clauses.iter().position(|clause| drops(clause))?;
    let points_back = clauses[at].split_whitespace().any(|word| POINTS_BACK.contains(word));
    let about = clauses[at.saturating_sub(usize::from(points_back))..=at].join(" ");
    if let Some(number) = label(&about) {
        let is_only = clauses.iter().filter_map(|clause| label(clause)).all(|other| other == number);
        let item = |line: &str| line.trim_start().strip_prefix(number)?.strip_prefix(['.', ')']).map(str::to_owned);
        let item = answer.lines().find_map(item).filter(|_| is_only)?;
        return only_one(listed, |task| item.trim() == task.trim());
    }
    let said = terms(&about);
    only_one(listed, |task| count_shared_terms(&terms(task), &said) > 0 || shares_kanji(&about, task))
}

/// Whether a clause in lower case drops something. "Don't forget about it" does not.
fn drops(clause: &str) -> bool {
    let mut before = DROPS.iter().filter_map(|phrase| Some(clause.split_once(phrase)?.0));
    before.any(|before| !matches!(before.split_whitespace().next_back(), Some("don't" | "dont" | "not" | "never")))
}

/// Returns the digit that a clause begins with as a label: "3 is done", "3번은".
fn label(clause: &str) -> Option<char> {
    let mut letters = clause.chars();
    let digit = letters.next().filter(char::is_ascii_digit)?;
    letters.next().is_none_or(|next| matches!(next, ' ' | '번' | '은' | '는')).then_some(digit)
}

/// Whether two texts have two neighbouring Chinese characters in common, as in 印刷.
fn shares_kanji(a: &str, b: &str) -> bool {
    let is_kanji = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}');
    let pairs = a.chars().zip(a.chars().skip(1)).filter(|(first, second)| is_kanji(*first) && is_kanji(*second));
    pairs.into_iter().any(|(first, second)| b.contains(&String::from_iter([first, second])))
}

/// Words of orders to do a task that do not say which, and words of other requests.
static DO: WordList = WordList::words("begin continue do finish handle implement start tackle");
static NO_ORDERS: WordList = WordList::words(
    "after but check don't dont explain later leave look not show skip tomorrow until when why without 말고",
);

/// Parts of Korean requests that only ask to look at or to explain something.
static KOREAN_NO_ORDERS: WordList =
    WordList::phrases("보여|설명|알려|확인|찾아|읽어|물어|검토|비교|내일|나중|다음 주|다음주");

/// The ends of Korean orders.
static KOREAN_ORDERS: WordList = WordList::words(
    "하자 보자 가자 갑시다 합시다 붙이자 고치자 만들자 넣자 돌리자 옮기자 옮기죠 줘 주세요 세요 시죠 하죠 하는거 십시오 부터 부터요 부탁해요 부탁드려요 부탁드립니다 급해 급해요 급합니다",
);

/// Words at the end of a clause that only names what is to be done: "death recap today".
static NOW: WordList = WordList::words("today now next first then please pls plz");

/// The longest prompt with an order, and the longest order in it, in characters.
const LONGEST_PROMPT: usize = 160;
const LONGEST_ORDER: usize = 60;

/// Returns the tasks that a prompt orders in its own words and an answer reports as done, if no others fit: "ok do the drafts".
///
/// `has_edited` says whether the turn changed files. Without that, all that is ordered must be in the task.
pub fn done_as_ordered(prompt: &str, answer: &str, has_edited: bool, tasks: &[&str]) -> Vec<usize> {
    let folded = in_lower_case(prompt.trim());
    let mut words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let is_no_order = folded.contains(['?', '？', '\n'])
        || words.any(|word| NO_ORDERS.contains(word))
        || KOREAN_NO_ORDERS.occurs_in(&folded);
    let length = folded.chars().count();
    if is_no_order || length > LONGEST_PROMPT || leaves_something(answer) {
        return Vec::new();
    }
    // "Jonas sent the key, do the notarisation"
    let clauses = folded.split([',', '.', ';', '。']).map(str::trim);
    // A longer prompt may name other tasks beside the one that it orders.
    let count = if length > LONGEST_ORDER { 1 } else { usize::MAX };
    let mut orders = clauses.take(count).filter(|clause| clause.chars().count() <= LONGEST_ORDER);
    let ordered = |clause: &str| {
        let task = ordered_in(clause, has_edited, tasks)
            .or_else(|| only_one(tasks, |task| has_edited && orders_it(clause, task, answer)));
        task.map(|task| vec![task]).or_else(|| all_ordered_in(clause, tasks))
    };
    orders.find_map(ordered).unwrap_or_default()
}

/// Returns the tasks whose identifier a turn adds to the code, if its answer names more of the task: "`mergeGuestCart` is called in the
/// login callback" of "call mergeGuestCart in the login callback".
pub fn done_in_code(answer: &str, added: &str, tasks: &[&str]) -> Vec<usize> {
    const LEAST_REPORTED: usize = 2;
    let reports: Vec<Vec<String>> =
        sentences(answer).into_iter().filter(|sentence| reports_an_end(sentence)).map(terms).collect();
    let added: HashSet<&str> = words_of_code(added).collect();
    let is_done = |at: &usize| {
        let identifiers: Vec<&str> = words_of_code(tasks[*at]).filter(|word| is_of_code(word)).collect();
        let rest = identifiers.iter().fold(tasks[*at].to_owned(), |rest, identifier| rest.replace(identifier, " "));
        let others = terms(&rest);
        let is_reported = |said: &Vec<String>| {
            let shared = count_shared_terms(&others, said);
            shared >= LEAST_REPORTED && shared * 2 >= others.len()
        };
        identifiers.iter().any(|name| added.contains(name)) && reports.iter().any(is_reported)
    };
    if reports.is_empty() { Vec::new() } else { (0..tasks.len()).filter(is_done).collect() }
}

fn words_of_code(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether only code has such a word: `mergeGuestCart`, `guest_cart`. "GitHub" and "iOS" are names.
fn is_of_code(word: &str) -> bool {
    let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    word.trim_matches('_').contains('_')
        || word.starts_with(|c: char| c.is_ascii_lowercase()) && word.as_bytes().windows(2).skip(1).any(is_hump)
}

/// Returns the tasks that a clause in lower case orders together, if each part means one: "completions and man page please".
fn all_ordered_in(clause: &str, tasks: &[&str]) -> Option<Vec<usize>> {
    const AND: [&str; 4] = [" and ", " n ", " & ", "이랑 "];
    let and = AND.into_iter().find(|and| clause.contains(and))?;
    let ends = clause.split_whitespace().next_back().is_some_and(|word| NOW.contains(word));
    let parts = clause.split(and).map(|part| {
        let ordered: Vec<String> = terms(part).into_iter().filter(|term| !NOW.contains(term)).collect();
        let is_meant = |task: &&str| count_shared_terms(&ordered, &terms_and_parts(task)) == ordered.len();
        only_one(tasks, |task| !ordered.is_empty() && is_meant(task))
    });
    parts.collect::<Option<Vec<usize>>>().filter(|_| ends)
}

/// Returns the task that a clause in lower case orders: the only one with all its terms, or with most of its own terms in the clause, or
/// with a name that the clause has. A Japanese order must repeat the task.
fn ordered_in(clause: &str, has_edited: bool, tasks: &[&str]) -> Option<usize> {
    const SHORT: usize = 6;
    let words = || clause.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty());
    let is_order = words().any(|word| DO.contains(word)) || KOREAN_ORDERS.ends(clause);
    let has_be_verb = words().any(|word| matches!(word, "is" | "are" | "was" | "were"));
    let only_names_task = !has_be_verb && words().next_back().is_some_and(|word| NOW.contains(word));
    if !is_order && !only_names_task {
        return only_one(tasks, |task| orders_in_japanese(clause, task));
    }
    // "건부터 처리해" says no more than "do it".
    static KOREAN_DO: WordList =
        WordList::words("건부터 거부터 것부터 처리 처리해 진행 진행해 시작 시작해 작업 작업해");
    let is_verb = |term: &String| DO.contains(term) || KOREAN_ORDERS.ends(term) || KOREAN_DO.contains(term);
    let ordered: Vec<String> = terms(clause).into_iter().filter(|term| !is_verb(term)).collect();
    // "Plain docs please" asks for something else.
    let is_asked = words().next_back().is_some_and(|word| matches!(word, "please" | "pls" | "plz"));
    let least = if is_asked && !is_order { 2 } else { 1 };
    let by_all_terms = only_one(tasks, |task| {
        ordered.len() >= least && count_shared_terms(&ordered, &terms_and_parts(task)) == ordered.len()
    });
    let by_most_terms = || {
        only_one(tasks, |task| {
            let all = terms(task);
            let shared = count_shared_terms(&all, &ordered);
            shared >= 2 && shared * 2 > all.len()
        })
    };
    let by_name = || {
        let is_name = |term: &&String| term.is_ascii() && term.len() > 2 && !clause.is_ascii();
        let names: Vec<&String> = ordered.iter().filter(is_name).collect();
        only_one(tasks, |task| names.iter().any(|name| terms(task).contains(name))).filter(|_| words().count() <= SHORT)
    };
    let may_differ = is_order && has_edited;
    by_all_terms.or_else(|| by_most_terms().or_else(by_name).filter(|_| may_differ))
}

/// Whether a clause repeats the first word of a task and says "it" for the rest, which the answer names: "bump it to 7" for "bump the replay
/// header".
fn orders_it(clause: &str, task: &str, answer: &str) -> bool {
    let mut words = clause.split_whitespace();
    let (Some(verb), Some("it" | "them")) = (words.next(), words.next()) else { return false };
    let Some((first, object)) = task.split_once(' ') else { return false };
    first.eq_ignore_ascii_case(verb) && count_shared_terms(&terms(object), &terms(answer)) > 0
}

/// Whether a Japanese order repeats a task with another ending of its verb: "索引に入れて" of "索引に入れる".
fn orders_in_japanese(order: &str, task: &str) -> bool {
    const SHORTEST: usize = 5;
    let stem = task.trim().trim_end_matches('。').strip_suffix(['る', 'す', 'く', 'う']);
    // "入れないで" orders the opposite, and "入れるのは来週" puts it off.
    const ENDINGS: [&str; 5] = ["て", "で", "てください", "ておいて", "よう"];
    let repeats = |stem: &str| order.split_once(stem).is_some_and(|(_, ending)| ENDINGS.contains(&ending));
    order.contains(is_kana) && stem.is_some_and(|stem| stem.chars().count() >= SHORTEST && repeats(stem))
}

/// Returns the task that fits, if no other does.
pub(super) fn only_one<T>(tasks: &[T], fits: impl Fn(&T) -> bool) -> Option<usize> {
    let mut fitting = tasks.iter().enumerate().filter(|(_, task)| fits(task)).map(|(at, _)| at);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Returns the `count` tasks that share the most terms, unless another ties.
fn closest_tasks(said: &[String], tasks: &[ComparedTask<'_>], count: usize) -> Option<Vec<usize>> {
    let shared = |task: &ComparedTask<'_>| count_shared_terms(task.terms(), said);
    let mut counts: Vec<(usize, usize)> =
        tasks.iter().map(shared).enumerate().filter(|(_, shared)| *shared > 0).collect();
    counts.sort_by_key(|(_, shared)| std::cmp::Reverse(*shared));
    let last = counts.get(count - 1)?.1;
    let is_clear = counts.get(count).is_none_or(|(_, next)| *next < last);
    is_clear.then(|| counts[..count].iter().map(|(at, _)| *at).collect())
}

/// Returns the task in another language that a report names by an identifier or by two words of its own.
pub(super) fn reported_in_another_language(report: &str, tasks: &[ComparedTask<'_>]) -> Option<usize> {
    let is_korean = |text: &str| text.contains(is_hangul);
    let ascii: Vec<String> = terms(report).into_iter().filter(|term| term.is_ascii()).collect();
    let is_identifier = |term: &String| term.contains(['_', '.', '/']);
    let is_named = |task: &ComparedTask<'_>| {
        let shared = ascii.iter().filter(|term| task.terms().contains(term));
        shared.clone().count() >= 2 || shared.clone().any(is_identifier)
    };
    let at = closest_tasks(&ascii, tasks, 1)?[0];
    (is_korean(report) != is_korean(tasks[at].text) && is_named(&tasks[at])).then_some(at)
}

/// Phrases of permissions that have come, in lower case.
static ALLOWS: WordList = WordList::phrases(
    "signed off|gave us the ok|gave the ok|gave us the go-ahead|gave the go-ahead|greenlit|approved it|ok 떨어졌|ok 났|ok 받았|\
     승인 떨어졌|승인 났|승인났|승인 받았|승인받았|허락 받았|허락받았|컨펌 났|컨펌 받았|컨펌받았",
);

/// Whether a sentence reports a permission, which is no report of work.
pub(super) fn reports_permission(sentence: &str) -> bool {
    ALLOWS.occurs_in(&sentence.to_lowercase())
}

/// Returns the task that waits for a permission which a sentence reports: "법무팀 OK 떨어졌어요". The task must have all terms of the sentence,
/// because a permission for something else closes nothing.
pub(super) fn allowed(sentence: &str, tasks: &[ComparedTask<'_>]) -> Option<usize> {
    static ASKS: WordList = WordList::phrases("ask |check with |clear |get |request ");
    static KOREAN_ASKS: WordList = WordList::phrases(
        "확인받기|확인 받기|승인 받기|승인받기|허락 받기|컨펌 받기|물어보기|문의하기|문의|협의|협의하기|요청하기",
    );
    static DAYS: WordList = WordList::words("monday tuesday wednesday thursday friday saturday sunday today yesterday");
    if is_no_report(sentence) {
        return None;
    }
    let folded = sentence.to_lowercase();
    let (before, after) = ALLOWS.iter().find_map(|phrase| folded.split_once(phrase))?;
    let after = after.trim_start_matches(is_hangul);
    let said: Vec<String> =
        terms(&format!("{before} {after}")).into_iter().filter(|term| !DAYS.contains(term)).collect();
    only_one(tasks, |task| {
        let folded = task.text.trim().to_lowercase();
        let asks = ASKS.begins(&folded) || KOREAN_ASKS.ends(&folded);
        asks && !said.is_empty() && count_shared_terms(&said, task.terms()) == said.len()
    })
}

/// Whether a Japanese report contains the whole text of a task.
pub(super) fn is_named_in_japanese(report: &str, task: &str) -> bool {
    let task = task.trim().trim_end_matches('。');
    task.contains(is_kana) && task.chars().count() >= 4 && report.contains(task)
}
