//! Finds the decision in a prompt that picks one of the options in the answer before it ("3.", "Both.", "Minor units.", "2번으로"), or that
//! agrees to a recommendation ("convinced").
//!
//! Such a prompt says too little to be a conclusion by itself. In doubt it picks nothing: an order, such as "run the tests", is no choice.

mod agreement;
mod amount;
mod options;
mod pick;

use crate::model::word_list::WordList;
use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::one_off::is_one_off_request;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::small_talk::is_small_talk;
use crate::prose::terms::{is_hangul, terms};
pub use agreement::agrees;
use agreement::{recommendation, without_agreement};
use amount::{corrected, only};
pub(super) use options::before_lettered_options;
use options::{
    LONGEST_OPTION, LONGEST_QUESTION, ListedOption, announces_steps, before_options, last_question, options,
    presents_alternatives,
};
use pick::{OptionPlace, Pick, is_filler, pick};

/// The longest prompt that picks an option, and its longest first clause, in characters.
const LONGEST_PROMPT: usize = 400;
const LONGEST_CLAUSE: usize = 40;

/// The longest recommendation, in characters.
const LONGEST_AGREED: usize = 240;

/// How much of the answer's end is searched for options, in bytes.
const SEARCHED_END: usize = 8 * 1024;

/// The most words of a clause that only names something.
const LONGEST_NAME: usize = 4;

/// The terms of a question that says what is chosen, unlike "Which one do you want?".
const LEAST_TELLING: usize = 3;

/// A prompt, or nothing, and the last answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastTurn {
    pub prompt: String,
    pub answer: String,
}

impl LastTurn {
    /// Begins the next turn.
    pub fn begin(&mut self, prompt: &str) {
        *self = Self { prompt: prompt.to_owned(), answer: String::new() };
    }
}

/// Returns the part of an answer before the options that a prompt picks from, or `None` if it picks nothing.
pub fn answer_before_choice<'a>(prompt: &str, asked: &str, answer: &'a str) -> Option<&'a str> {
    let before = LastTurn { prompt: asked.to_owned(), answer: answer.to_owned() };
    find_choice(prompt, &before).map(|_| before_options(answer))
}

/// Whether a sentence of an answer is one of the options that the answer asks to choose from, and so no decision yet.
pub fn is_offered(sentence: &str, answer: &str) -> bool {
    let end = answer_end(answer);
    let sentence = clean_line(&sentence.replace("**", ""));
    let is_choice = last_question(end).is_some()
        || recommendation(end).is_some() && sentences(end).iter().any(|part| presents_alternatives(part));
    is_choice && options(end).iter().any(|option| sentence.contains(option.text.trim_end_matches('…')))
}

/// Returns the part of an answer that is searched for options.
fn answer_end(answer: &str) -> &str {
    &answer[answer.ceil_char_boundary(answer.len().saturating_sub(SEARCHED_END))..]
}

/// Returns the decision in a prompt that picks one of the things that were offered before it. All texts must be clean.
pub fn find_choice(prompt: &str, before: &LastTurn) -> Option<String> {
    if !may_choose(prompt) {
        return None;
    }
    let prompt = prompt.trim();
    let (clause, rest) = first_clause(prompt);
    let answer = answer_end(&before.answer);
    let options = options(answer);
    let questions = [last_question(answer), last_question(&before.prompt)];
    if let Some(agreed) = find_agreed_recommendation(answer, &options).filter(|_| agrees(prompt)) {
        return Some(agreed);
    }
    let opening = opening(prompt, "");
    if let Some((picked, rest)) = find_picked_options(clause, rest, &options) {
        let asked = questions.iter().flatten().find(|question| terms(question).len() >= LEAST_TELLING);
        let asked = asked.map_or_else(String::new, |question| format!(" (asked: {question})"));
        return Some(format!("{opening}: {}{asked}", join_option(&corrected(picked, &rest), &rest)));
    }
    let question = questions.iter().flatten().find(|question| names_alternatives(question));
    if let Some(question) = question.filter(|question| names_all(clause, question)) {
        return Some(format!("{opening}: {} (asked: {question})", clean_line(prompt)));
    }
    // "dHash it is": the words alone say that something is chosen.
    if committed_part(clause).is_some_and(|named| names_all(named, answer)) {
        return Some(clean_line(prompt));
    }
    let is_short = clause.split_whitespace().count() <= LONGEST_NAME;
    let is_named = is_short && questions[0].is_none() && is_alternative(clause, answer);
    is_named.then(|| format!("{opening}: {}", clean_line(prompt)))
}

/// Whether a clause only names something that an answer presents as an alternative or recommends: "flat. box mutable captures".
fn is_alternative(clause: &str, answer: &str) -> bool {
    let is_presented = |part: &&str| presents_alternatives(part) && names_all(clause, part);
    let is_recommended = || recommendation(answer).is_some_and(|advice| names_all(clause, &advice));
    !is_order(clause) && (sentences(answer).iter().any(is_presented) || is_recommended())
}

/// Whether a clause orders something: "run the tests", "테스트 돌려줘".
fn is_order(clause: &str) -> bool {
    static VERBS: WordList = WordList::words(
        "add build change check commit create delete deploy do finish fix implement make merge move open push remove rename \
         revert review run show start test try update write",
    );
    let begins = clause.split_whitespace().next().unwrap_or_default().to_lowercase();
    VERBS.contains(&begins) || ["줘", "해", "세요", "해라", "봐"].iter().any(|end| clause.ends_with(end))
}

/// Returns the recommendation in an answer, unless the answer lists options or asks for more than permission.
fn find_agreed_recommendation(answer: &str, options: &[ListedOption]) -> Option<String> {
    let asks = last_question(answer).is_some_and(|question| !announces_steps(&question));
    let text = recommendation(answer).filter(|_| options.is_empty() && !asks)?;
    let opening = if text.chars().any(is_hangul) { "합의" } else { "Agreed" };
    Some(format!("{opening}: {}", shortened(&text, LONGEST_AGREED)))
}

/// Returns the options that a clause picks, and what the prompt says besides.
fn find_picked_options(clause: &str, rest: &str, options: &[ListedOption]) -> Option<(String, String)> {
    // A decision leaves out what holds only once.
    let rest: String = sentences(rest)
        .into_iter()
        .filter(|part| part.contains(", ") || !is_one_off_request(&part.to_lowercase()))
        .collect();
    let rest = rest.as_str();
    let besides = if is_filler(rest) { String::new() } else { clean_line(rest) };
    if names_labels(clause) && is_no_pick(rest) {
        return None;
    }
    if let Some(picked) = by_label(clause, options).or_else(|| named_option(clause, options)) {
        return Some((picked, besides));
    }
    // "2번으로 해주세요 음영지역이 많아서"
    let reason = clause.match_indices(' ').map(|(at, _)| clause.split_at(at));
    let reason = reason.filter(|(decided, reason)| {
        decided.contains(is_hangul) && DECIDED.ends(decided) && REASONS.ends(reason.trim_end_matches(['.', '!', '~']))
    });
    if let Some((picked, reason)) =
        reason.into_iter().find_map(|(decided, reason)| Some((by_label(decided, options)?, reason)))
    {
        return Some((picked, clean_line(&[reason.trim(), rest].join(" "))));
    }
    // "B with 5 %", "A로 하고 최대는 300까지만요"
    let (label, addition) =
        clause.rfind(" with ").map(|at| clause.split_at(at)).or_else(|| clause.split_once("로 하고 "))?;
    let picked = by_label(label, options)?;
    let separator = if rest.is_empty() { "" } else { ". " };
    Some((picked, clean_line(&[addition.trim(), separator, rest].concat())))
}

/// Whether the words behind a label ask about the option, reject it, put it off, or name more options: "b) sounds risky, what about locking?",
/// "(b) doesn't work with our ORM", "A, B and C all need a review".
fn is_no_pick(rest: &str) -> bool {
    static STARTS: WordList = WordList::words(
        "are can cannot could did does fails failed looks might seems should sounds was were will would",
    );
    // "Doesn't work" rejects; "don't touch the API" is a limit.
    static REJECTS: WordList = WordList::phrases("doesn't |didn't |isn't ");
    static DOUBTS: WordList = WordList::phrases(
        "not now|not yet|let me ask|it failed|revert that|undo that|must be undone|pros and cons|별로|부담스|부담돼|안 되|안돼|되돌려",
    );
    let Some(said) = sentences(rest).first().map(|said| in_lower_case(said.trim())) else {
        return false;
    };
    let mut words = said.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let names_more = names_labels(first) && matches!(second, "and" | "or" | "&" | "둘");
    names_more
        || STARTS.contains(first)
        || REJECTS.begins(&said)
        || DOUBTS.occurs_in(&said)
        || said.contains(['?', '？'])
}

/// The ends of Korean reasons.
static REASONS: WordList = WordList::words("서 니까 으니 때문에 거든 거든요 라서요 어서요 아서요");

/// The ends of Korean decisions, before a reason.
static DECIDED: WordList = WordList::words(
    "해주세요 해줘 하자 하죠 할게 할게요 합시다 가자 가죠 가요 갑시다 진행해주세요 진행해줘 해주십시오",
);

/// Returns the decision in the answer to a question that the host asked with options, or `None` if it only agrees. `description` is that
/// of the picked option.
pub fn picked_option(question: &str, answer: &str, description: &str) -> Option<String> {
    let answer = clean_line(answer).replace(" (Recommended)", "");
    if answer.is_empty() || is_small_talk(&answer) {
        return None;
    }
    let reason = match shortened(description, LONGEST_OPTION).trim_end_matches('.') {
        "" => String::new(),
        text => format!(", {}", without_capital(text)),
    };
    let opening = opening(&answer, question);
    let question = shortened(question, LONGEST_QUESTION);
    Some(format!("{opening}: {}{reason} (asked: {question})", shortened(&answer, LONGEST_OPTION)))
}

/// Returns a text with a small first letter, unless it begins with a name such as `SQL`.
fn without_capital(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

fn opening(answer: &str, question: &str) -> &'static str {
    if answer.chars().chain(question.chars()).any(is_hangul) { "선택" } else { "Chosen" }
}

/// Whether a prompt is short enough to pick something, and neither a question nor a command nor small talk.
pub fn may_choose(prompt: &str) -> bool {
    let prompt = prompt.trim();
    let (clause, _) = first_clause(prompt);
    prompt.chars().count() <= LONGEST_PROMPT
        && !clause.is_empty()
        && clause.chars().count() <= LONGEST_CLAUSE
        && !prompt.starts_with('/')
        && !clause.contains(['?', '？', '`'])
        && !rejects(clause)
        && (agrees(prompt) || !is_small_talk(prompt))
}

/// Whether a clause says what is not wanted. [`terms`] drops such words, so the clause would seem to pick what it rejects.
fn rejects(clause: &str) -> bool {
    static WORDS: WordList =
        WordList::words("not no nor neither never without except but drop avoid skip reject don't won't isn't");
    let folded = in_lower_case(clause);
    let mut words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| WORDS.contains(word)) || ["말고", "빼고", "아니", "제외"].iter().any(|word| folded.contains(word))
}

/// Joins an option and what the prompt adds to it, as one sentence if the addition begins with a small letter.
fn join_option(option: &str, rest: &str) -> String {
    match rest.chars().next() {
        None => option.to_owned(),
        Some(first) if first.is_lowercase() => format!("{}, {rest}", option.trim_end_matches(['.', '!'])),
        Some(_) if option.ends_with(['.', '!', ')']) => format!("{option} {rest}"),
        Some(_) => format!("{option}. {rest}"),
    }
}

/// Divides a prompt after its first clause. A comma between labels, as in "1, 3", ends none.
fn first_clause(prompt: &str) -> (&str, &str) {
    let (mut clause, mut rest) = split_at_clause_end(prompt);
    while prompt[clause.len()..].starts_with(',') && names_labels(clause) && names_labels(split_at_clause_end(rest).0) {
        let (next, after) = split_at_clause_end(rest);
        clause = &prompt[..prompt.len() - rest.len() + next.len()];
        rest = after;
    }
    (clause, rest)
}

fn names_labels(clause: &str) -> bool {
    matches!(pick(clause), Some(Pick::Places(_)))
}

fn split_at_clause_end(text: &str) -> (&str, &str) {
    let is_end = |(at, c): &(usize, char)| match c {
        '.' | '!' | ',' | ';' | ':' | ')' => text[at + 1..].chars().next().is_none_or(char::is_whitespace),
        '\n' | '—' | '–' | '?' | '？' => true,
        '-' => text[..*at].ends_with(' ') && text[at + 1..].starts_with(' '),
        // "all but 2" leaves something out.
        ' ' => text[*at..].starts_with(" but ") && !text[..*at].to_lowercase().ends_with("all"),
        _ => false,
    };
    let Some((at, c)) = text.char_indices().find(is_end) else { return (text, "") };
    let is_question = matches!(c, '?' | '？');
    let end = if is_question { at + c.len_utf8() } else { at };
    (text[..end].trim_end(), text[at + c.len_utf8()..].trim_start_matches([' ', '-', '–', '—']))
}

/// Returns the texts of the options that a clause names by their labels or places.
fn by_label(clause: &str, options: &[ListedOption]) -> Option<String> {
    match pick(clause)? {
        Pick::All(count) => selectable_texts(options)
            .filter(|all| count.is_none_or(|count| all.len() == count))
            .map(|all| all.join("; ")),
        Pick::Places(places) => {
            let mut texts: Vec<String> = Vec::new();
            for place in places {
                let text = &find_option(&place, options)?.text;
                let is_all = matches!(pick(text), Some(Pick::All(_)));
                let text =
                    selectable_texts(options).filter(|_| is_all).map_or_else(|| text.clone(), |all| all.join("; "));
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            Some(texts.join("; "))
        }
    }
}

/// Returns the texts of all options except one that says "both" itself, or `None` if there are fewer than two.
fn selectable_texts(options: &[ListedOption]) -> Option<Vec<&str>> {
    let texts = options.iter().map(|option| option.text.as_str());
    let texts: Vec<&str> = texts.filter(|text| !says_all(text)).collect();
    (texts.len() >= 2).then_some(texts)
}

fn says_all(text: &str) -> bool {
    let first = split_at_clause_end(text).0;
    matches!(pick(first), Some(Pick::All(_))) || text.to_lowercase().starts_with("both")
}

fn find_option<'o>(place: &OptionPlace, options: &'o [ListedOption]) -> Option<&'o ListedOption> {
    let nth = |number: usize| options.get(number.checked_sub(1)?);
    match place {
        OptionPlace::Nth(number) => nth(*number),
        OptionPlace::Last => options.last(),
        OptionPlace::Label(label) => {
            let by_number = || nth(label.to_digit(10)?.try_into().ok()?);
            options.iter().find(|option| option.label == *label).or_else(by_number)
        }
    }
}

/// Returns the only option that a clause names.
fn named_option(clause: &str, options: &[ListedOption]) -> Option<String> {
    let fitting = options.iter().filter(|option| options.len() >= 2 && names_all(clause, &option.text));
    only(fitting).map(|option| option.text.clone())
}

/// Whether all terms of a clause are in a text, apart from words of agreement.
fn names_all(clause: &str, text: &str) -> bool {
    let (named, offered) = (terms(&without_agreement(clause)), terms(text));
    !named.is_empty() && named.iter().all(|term| offered.binary_search(term).is_ok())
}

/// Whether a question names alternatives.
fn names_alternatives(question: &str) -> bool {
    let folded = question.to_lowercase();
    [" or ", " vs", "which", "아니면", "중에", "중 ", "어느"].iter().any(|word| folded.contains(word))
}

/// Returns the part of a clause that names what is chosen, if it says that something is.
fn committed_part(clause: &str) -> Option<&str> {
    static BEGINS: WordList = WordList::phrases("go with |let's go with |let's use |we'll use ");
    static ENDS: WordList =
        WordList::phrases(" it is|로 하자|로 가자|로 갑시다|로 하죠|로 할게|로 할게요|로 결정|로 해줘|로 해주세요");
    let folded = clause.to_lowercase();
    if ENDS.ends(&folded) || BEGINS.begins(&folded) {
        return Some(clause);
    }
    // "GPU 한 장뿐이라 LoRA 가자"
    let before = clause.strip_suffix(" 가자").or_else(|| clause.strip_suffix(" ㄱㄱ"))?;
    before.split_whitespace().next_back().filter(|word| word.is_ascii() && !WORK_NAMES.contains(&word.to_lowercase()))
}

/// Names of work that is not chosen but done: "commit ㄱㄱ".
static WORK_NAMES: WordList = WordList::words("build ci commit deploy merge pr push rebase release test");

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LIST: &str = "Three ways to do the merge:\n\n1. `figment`, which tracks provenance\n2. **config-rs**, the older crate\n\
                        3. merge the tables by hand\n\nWhich one do you want?";
    const LETTERS: &str =
        "Options:\n\nA. retry only `Unavailable`\nB. a budget of 10 % of calls\nC. both\n\nWhich do you prefer?";
    const FOUR: &str = "A) Redis\nB) Valkey\nC) an LRU in the process\nD) drop the cache\n\nWhich one?";
    const OR: &str = "Both work. Should amounts be stored as decimals or in minor units?";
    const ADVICE: &str = "dHash is cheap; pHash copes better with brightness. For photos dHash is enough.";
    const KOREAN: &str =
        "선택지는 세 가지입니다.\n\n1. 마지막 저장이 이긴다\n2. 두 버전을 모두 보관한다\n3. CRDT\n\n2번이 안전합니다.";

    #[rstest]
    #[case::number(
        "3. Error spans matter more to me.",
        LIST,
        Some("Chosen: merge the tables by hand. Error spans matter more to me.")
    )]
    #[case::number_alone("2", LIST, Some("Chosen: config-rs, the older crate"))]
    #[case::place("the last one please", LIST, Some("Chosen: merge the tables by hand"))]
    #[case::letter("Option A, but log it", LETTERS, Some("Chosen: retry only `Unavailable`, but log it"))]
    #[case::letter_by_place("the second one", LETTERS, Some("Chosen: a budget of 10 % of calls"))]
    #[case::both(
        "Both. Budget at 5 % though.",
        LETTERS,
        Some("Chosen: retry only `Unavailable`; a budget of 5 % of calls. Budget at 5 % though.")
    )]
    #[case::both_by_its_letter("C", LETTERS, Some("Chosen: retry only `Unavailable`; a budget of 10 % of calls"))]
    #[case::letter_with_amount("B with 5 %", LETTERS, Some("Chosen: a budget of 5 % of calls, with 5 %"))]
    #[case::two_letters("A, B.", LETTERS, Some("Chosen: retry only `Unavailable`; a budget of 10 % of calls"))]
    #[case::letter_d("D", FOUR, Some("Chosen: drop the cache"))]
    #[case::small_d("d, please", FOUR, Some("Chosen: drop the cache"))]
    #[case::option_d("Option D. It is unused.", FOUR, Some("Chosen: drop the cache. It is unused."))]
    #[case::korean_option_d("옵션 D", FOUR, Some("선택: drop the cache"))]
    #[case::contraction("I'd go with B", FOUR, Some("Chosen: Valkey"))]
    #[case::contraction_without_option("I'd go ahead", FOUR, None)]
    #[case::both_of_four("Both.", FOUR, None)]
    #[case::korean_both("둘 다", FOUR, None)]
    #[case::korean_two("2번이랑 3번", KOREAN, Some("선택: 두 버전을 모두 보관한다; CRDT"))]
    #[case::korean_all("전부 다 해주세요", KOREAN, Some("선택: 마지막 저장이 이긴다; 두 버전을 모두 보관한다; CRDT"))]
    #[case::name_in_a_list("figment", LIST, Some("Chosen: `figment`, which tracks provenance"))]
    #[case::name_in_a_question(
        "Minor units. Cents for all currencies.",
        OR,
        Some(
            "Chosen: Minor units. Cents for all currencies. (asked: Should amounts be stored as decimals or in minor units?)"
        )
    )]
    #[case::commitment("dHash it is. Distance 6.", ADVICE, Some("dHash it is. Distance 6."))]
    #[case::korean(
        "2번. 제목만 다르면 최신 걸로",
        KOREAN,
        Some("선택: 두 버전을 모두 보관한다. 제목만 다르면 최신 걸로")
    )]
    #[case::korean_particle("2번으로 하자", KOREAN, Some("선택: 두 버전을 모두 보관한다"))]
    #[case::korean_reason(
        "2번으로 해주세요 음영지역이 많아서",
        KOREAN,
        Some("선택: 두 버전을 모두 보관한다. 음영지역이 많아서")
    )]
    #[case::korean_rejected_by_others("2번으로 하자 했는데 보안팀이 반대했어요", KOREAN, None)]
    #[case::korean_question("1번으로 하자 하면 비용이 얼마나 드나요", KOREAN, None)]
    #[case::korean_go("1이랑 3 ㄱㄱ", KOREAN, Some("선택: 마지막 저장이 이긴다; CRDT"))]
    #[case::limited_to_once(
        "2. for the first try only take 5 % of the data",
        LIST,
        Some("Chosen: config-rs, the older crate")
    )]
    #[case::polite("2번으로요.", KOREAN, Some("선택: 두 버전을 모두 보관한다"))]
    #[case::emphasis("yeah figment obviously", LIST, Some("Chosen: `figment`, which tracks provenance"))]
    #[case::bullet(
        "largest remainder. ties by id",
        "The question is who gets the odd cents:\n\n- the first seller, who is unfair\n- largest remainder: by the loss\n\nThe second is off by one.",
        Some("Chosen: largest remainder: by the loss, ties by id")
    )]
    #[case::within_a_line(
        "a. keep it simple",
        "a) write a hash into the header. b) ship old sims as wasm. b is a lot of work.",
        Some("Chosen: write a hash into the header, keep it simple")
    )]
    #[case::korean_within_a_line(
        "A로 하고 최대는 300까지만요",
        "차이가 100으로 고정입니다. A. 폭을 넓힌다 B. 봇을 넣는다",
        Some("선택: 폭을 넓힌다. 최대는 300까지만요")
    )]
    #[case::place_in_a_sentence(
        "the second. we have time but no memory",
        "It needs 210 GB. Two ways: store every fourth snapshot (blurred), or recompute with checkpoints (Revolve).",
        Some("Chosen: recompute with checkpoints (Revolve), we have time but no memory")
    )]
    #[case::doubted("b) sounds risky, what about locking?", LETTERS, None)]
    #[case::asked_about("A: pros and cons?", LETTERS, None)]
    #[case::asked_about_in_korean("A. 이건 왜 200이죠?", LETTERS, None)]
    #[case::rejected_with_a_reason("(b) doesn't work with our ORM", LETTERS, None)]
    #[case::put_off("b, but not now", LETTERS, None)]
    #[case::ruled_out("a. was ruled out yesterday", LETTERS, None)]
    #[case::several("A, B and C all need a review by Dana", LETTERS, None)]
    #[case::none_of_two("A, B 둘 다 별로네요", LETTERS, None)]
    #[case::with_a_rejected_one("B, not A", LETTERS, Some("Chosen: a budget of 10 % of calls, not A"))]
    #[case::with_a_limit(
        "B. don't touch the API",
        LETTERS,
        Some("Chosen: a budget of 10 % of calls, don't touch the API")
    )]
    #[case::with_a_number(
        "2. 5 seconds is enough",
        LIST,
        Some("Chosen: config-rs, the older crate. 5 seconds is enough")
    )]
    #[case::korean_with_a_later_step("1번. 캐시는 나중에", KOREAN, Some("선택: 마지막 저장이 이긴다. 캐시는 나중에"))]
    #[case::done_things("b", "Done: (a) renamed the column, (b) dropped the index. Anything else?", None)]
    #[case::causes("b, yes, check it", "Possible causes: (a) the DNS cache, (b) the pool. Which is likely?", None)]
    #[case::before_a_question(
        "(b)",
        "Two ways: (a) one table, (b) two tables. Which do you prefer?",
        Some("Chosen: two tables.")
    )]
    #[case::korean_letters(
        "나안으로 가죠",
        "방법은 둘입니다. (가) 필터를 켠다 (나) 뷰를 둔다",
        Some("선택: 뷰를 둔다")
    )]
    #[case::bullet_of_a_report("the cache. now", "Changed:\n- the cache\n- the log", None)]
    #[case::alternative(
        "flat. box mutable captures",
        "Two representations: flat closures, or linked environments. Flat is faster.",
        Some("Chosen: flat closures, box mutable captures")
    )]
    #[case::either(
        "rustls. no openssl anywhere",
        "Either vendor OpenSSL or take rustls.",
        Some("Chosen: rustls. no openssl anywhere")
    )]
    #[case::korean_advice_named(
        "swap. 벽돌되면 출장비가 더 나옴",
        "현장 기기라면 swap을 권합니다.",
        Some("선택: swap. 벽돌되면 출장비가 더 나옴")
    )]
    #[case::korean_commitment(
        "gpu 1장뿐임 ㅠ lora 가자",
        "LoRA(r=32)는 한 장으로 됩니다. 차이가 크지는 않습니다.",
        Some("gpu 1장뿐임 ㅠ lora 가자")
    )]
    #[case::recommended_order("run the tests", "I would run the tests first.", None)]
    #[case::korean_order("테스트 돌려줘", "테스트를 먼저 돌리는 게 좋습니다.", None)]
    #[case::no_alternative("the parser", "Neither parser handles CRLF.", None)]
    #[case::korean_step("commit ㄱㄱ", "다 고쳤습니다. commit 준비됐습니다.", None)]
    #[case::order("run the tests", OR, None)]
    #[case::order_with_a_name("use dHash now", ADVICE, None)]
    #[case::rejected("Not figment.", LIST, None)]
    #[case::rejected_name("drop config-rs", LIST, None)]
    #[case::rejected_in_korean("2번 말고", KOREAN, None)]
    #[case::question("why 3?", LIST, None)]
    #[case::no_such_option("4", LIST, None)]
    #[case::agreement("yes please", LIST, None)]
    #[case::advice(
        "convinced",
        "I'd keep linear scan and split live ranges. Coloring triples the time.",
        Some("Agreed: I'd keep linear scan and split live ranges.")
    )]
    #[case::korean_advice(
        "네 그렇게 하죠",
        "배치보다 이벤트로 처리하는 게 좋겠습니다.",
        Some("합의: 배치보다 이벤트로 처리하는 게 좋겠습니다.")
    )]
    #[case::agreement_and_question("ok", "I'd use Redis. Or is Valkey there already?", None)]
    #[case::permission("yes", "I'd keep linear scan. Shall I?", Some("Agreed: I'd keep linear scan."))]
    #[case::doubt("ok?", "I'd keep linear scan.", None)]
    #[case::agreement_to_a_guess("ok", "I'd expect it to pass. I'd already pushed it.", None)]
    #[case::agreement_to_a_report("ok", "The build is green.", None)]
    #[case::agreement_to_a_wish("sure", "I'd need the key first.", None)]
    #[case::agreement_and_order("ok, run the tests", "I'd keep linear scan.", None)]
    #[case::nothing_offered("3", "The build is green.", None)]
    #[case::step("2", "Next steps:\n1. run the migration\n2. add an alert\n\nWhich first?", None)]
    #[case::offer("1", "I can:\n1. add a test\n2. commit\n\nWhich do you want me to do?", None)]
    #[case::other_name("pnpm it is", ADVICE, None)]
    #[case::number_in_a_sentence("fix 3 tests", LIST, None)]
    fn prompt_picks_what_was_offered(#[case] prompt: &str, #[case] answered: &str, #[case] expected: Option<&str>) {
        let before = LastTurn { prompt: String::new(), answer: answered.to_owned() };
        assert_eq!(find_choice(prompt, &before).as_deref(), expected);
    }

    #[rstest]
    #[case::sentence("Keeps spans.", "Chosen: figment, keeps spans (asked: Which one?)")]
    #[case::name("SQL dump.", "Chosen: figment, SQL dump (asked: Which one?)")]
    #[case::nothing("", "Chosen: figment (asked: Which one?)")]
    fn description_of_an_option_is_its_reason(#[case] description: &str, #[case] expected: &str) {
        assert_eq!(picked_option("Which one?", "figment", description).as_deref(), Some(expected));
    }

    #[rstest]
    #[case::list(LIST, "Three ways to do the merge:\n\n")]
    #[case::in_a_sentence("It needs 210 GB. Two ways: store it, or recompute it.", "It needs 210 GB.")]
    #[case::within_a_line("It scans all. (a) filter it (b) drop it", "It scans all. ")]
    #[case::none(OR, OR)]
    fn options_are_cut_off(#[case] answer: &str, #[case] expected: &str) {
        assert_eq!(before_options(answer), expected);
    }

    #[rstest]
    #[case::option("1. `figment`, which tracks provenance", LIST, true)]
    #[case::lettered("A) Redis", FOUR, true)]
    #[case::other("Three ways to do the merge:", LIST, false)]
    #[case::no_question("1. Redis", "We decided:\n1. Redis\n2. Valkey for tests", false)]
    fn options_are_no_decisions(#[case] sentence: &str, #[case] answer: &str, #[case] expected: bool) {
        assert_eq!(is_offered(sentence, answer), expected);
    }

    #[test]
    fn person_may_have_offered_it() {
        let asked = "Health checks: do we use the standard grpc.health.v1 or our own /ping?";
        let before = LastTurn {
            prompt: "rust cli. clap or hand rolled?".to_owned(),
            answer: "clap. The derive API is the shortest.".to_owned(),
        };
        let chosen = find_choice("clap but builder api, the derive macros are slow", &before);
        let expected = "Chosen: clap but builder api, the derive macros are slow (asked: clap or hand rolled?)";
        assert_eq!(chosen.as_deref(), Some(expected));

        let before = LastTurn { prompt: asked.to_owned(), answer: "`/ping` needs an HTTP port.".to_owned() };
        let expected = format!("Chosen: Standard one. (asked: {asked})");
        assert_eq!(find_choice("Standard one.", &before), Some(expected));
    }
}
