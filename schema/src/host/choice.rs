//! Finds the decision in a prompt that picks one of the options in the answer before it: "3.", "Both.", "Minor units.", "2번으로".
//!
//! Such a prompt says too little to be a conclusion by itself. In doubt it picks nothing: an order, such as "run the tests", is no choice.

use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::small_talk::is_small_talk;
use crate::prose::supersession::sentences;
use crate::prose::terms::{is_hangul, terms};

/// The longest prompt that picks an option, and its longest first clause, in characters.
const LONGEST_PROMPT: usize = 400;
const LONGEST_CLAUSE: usize = 40;

/// How much of the answer's end is searched for options, in bytes, and how much of that end for a question, in characters.
const REACH: usize = 8 * 1024;
const ASKED_WITHIN: usize = 300;

/// The longest option and question that are shown, in characters.
const LONGEST_OPTION: usize = 160;
const LONGEST_QUESTION: usize = 140;

/// The most options of a list.
const MOST: usize = 9;

/// What was said before a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exchange<'t> {
    /// The prompt before it, or nothing.
    pub asked: &'t str,
    /// The answer to that.
    pub answered: &'t str,
}

/// The last prompt and the last answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastExchange {
    asked: String,
    answered: String,
}

impl LastExchange {
    pub fn new(asked: String, answered: String) -> Self {
        Self { asked, answered }
    }

    pub fn ask(&mut self, prompt: &str) {
        *self = Self::new(prompt.to_owned(), String::new());
    }

    pub fn answer(&mut self, text: &str) {
        text.clone_into(&mut self.answered);
    }

    pub fn as_ref(&self) -> Exchange<'_> {
        Exchange { asked: &self.asked, answered: &self.answered }
    }
}

/// Returns the decision in a prompt that picks one of the things that were offered before it. All texts must be clean.
pub fn choice(prompt: &str, before: Exchange<'_>) -> Option<String> {
    if !may_choose(prompt) {
        return None;
    }
    let prompt = prompt.trim();
    let (clause, rest) = first_clause(prompt);
    let answer = &before.answered[before.answered.ceil_char_boundary(before.answered.len().saturating_sub(REACH))..];
    let options = options(answer);
    let question = last_question(answer).filter(|question| offers(question));
    let question = question.or_else(|| last_question(before.asked).filter(|question| offers(question)));
    let opening = opening(prompt, "");
    if let Some(picked) = by_label(clause, &options).or_else(|| named_option(clause, &options)) {
        let end = if picked.ends_with(['.', '!', ')']) || rest.is_empty() { "" } else { "." };
        return Some(format!("{opening}: {picked}{end} {}", clean_line(rest)).trim_end().to_owned());
    }
    if let Some(question) = question.filter(|question| names_all(clause, question)) {
        return Some(format!("{opening}: {} (asked: {question})", clean_line(prompt)));
    }
    // "dHash it is": the words alone say that something is chosen.
    (commits(clause) && names_all(clause, answer)).then(|| clean_line(prompt))
}

/// Returns the decision in the answer to a question that the host asked with options, or `None` if it only agrees. `description` is that
/// of the picked option.
pub fn picked_option(question: &str, answer: &str, description: &str) -> Option<String> {
    let answer = clean_line(answer).replace(" (Recommended)", "");
    if answer.is_empty() || is_small_talk(&answer) {
        return None;
    }
    let description = shortened(description, LONGEST_OPTION);
    let reason = Some(description.trim_end_matches('.')).filter(|text| !text.is_empty());
    let reason = reason.map(|text| format!(", {}", without_capital(text)));
    let opening = opening(&answer, question);
    let question = shortened(question, LONGEST_QUESTION);
    Some(format!("{opening}: {}{} (asked: {question})", shortened(&answer, LONGEST_OPTION), reason.unwrap_or_default()))
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
        && !is_small_talk(prompt)
}

/// Whether a clause says what is not wanted. [`terms`] drops such words, so the clause would seem to pick what it rejects.
fn rejects(clause: &str) -> bool {
    const WORDS: [&str; 15] = [
        "not", "no", "nor", "neither", "never", "without", "except", "but", "drop", "avoid", "skip", "reject", "don't",
        "won't", "isn't",
    ];
    let folded = clause.to_lowercase().replace('’', "'");
    let mut words = folded.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| WORDS.contains(&word)) || ["말고", "빼고", "아니", "제외"].iter().any(|word| folded.contains(word))
}

/// Divides a prompt after its first clause.
fn first_clause(prompt: &str) -> (&str, &str) {
    let is_end = |(at, c): &(usize, char)| match c {
        '.' | '!' | ',' | ';' | ':' | ')' => prompt[at + 1..].chars().next().is_none_or(char::is_whitespace),
        '\n' | '—' | '–' | '?' | '？' => true,
        '-' => prompt[..*at].ends_with(' ') && prompt[at + 1..].starts_with(' '),
        _ => false,
    };
    let Some((at, c)) = prompt.char_indices().find(is_end) else { return (prompt, "") };
    let is_question = matches!(c, '?' | '？');
    let end = if is_question { at + c.len_utf8() } else { at };
    (prompt[..end].trim(), prompt[at + c.len_utf8()..].trim_start_matches([' ', '-', '–', '—']))
}

/// An option of a list: its label in lower case, and its text.
struct Listed {
    label: String,
    text: String,
}

/// Returns the options of the last list with labels, unless it lists steps, which are done one after the other.
fn options(answer: &str) -> Vec<Listed> {
    let mut found: Vec<Listed> = Vec::new();
    let (mut lead, mut line_before) = ("", "");
    for line in answer.lines().filter(|line| !line.trim().is_empty()) {
        match labelled(line) {
            Some((label, text)) => {
                if matches!(label.as_str(), "1" | "a") {
                    found.clear();
                    lead = line_before;
                }
                found.push(Listed { label, text });
            }
            None => line_before = line,
        }
    }
    let are_steps =
        [lead, last_question(answer).as_deref().unwrap_or_default()].iter().any(|text| announces_steps(text));
    if found.len() > MOST || are_steps { Vec::new() } else { found }
}

fn announces_steps(text: &str) -> bool {
    let folded = text.to_lowercase().replace('’', "'");
    STEPS.iter().any(|word| folded.contains(word))
}

/// Phrases that announce work to do, or work that is done.
const STEPS: [&str; 24] = [
    "next step",
    "next:",
    "what's next",
    "still to do",
    "to do:",
    "todo",
    "remaining",
    "what's left",
    "left to do",
    "still open",
    "follow-up",
    "plan:",
    "changes:",
    "changed:",
    "want me to",
    "shall i",
    "should i",
    "like me to",
    "i can:",
    "남은",
    "할 일",
    "다음 ",
    "진행할까요",
    "드릴까요",
];

/// Returns the part of an answer before its options.
pub fn without_options(answer: &str) -> &str {
    let first =
        answer.lines().find(|line| labelled(line).is_some_and(|(label, _)| matches!(label.as_str(), "1" | "a")));
    first.map_or(answer, |line| answer.split(line).next().unwrap_or_default())
}

/// Parses a line such as `2. text`, `- **B)** text` or `Option A: text`.
fn labelled(line: &str) -> Option<(String, String)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '#', ' ']);
    let line = ["Option ", "option ", "옵션 ", "방안 "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    let length = line.chars().take_while(char::is_ascii_alphanumeric).count();
    let label = &line[..length];
    let is_label = length == 1 && label.chars().all(|c| c.is_ascii_digit() || matches!(c, 'A'..='E' | 'a'..='e'));
    let rest = line[length..].strip_prefix(['.', ')', ':'])?;
    let text = clean_line(&rest.replace("**", ""));
    (is_label && rest.starts_with([' ', '*']) && !text.is_empty())
        .then(|| (label.to_lowercase(), shortened(&text, LONGEST_OPTION)))
}

/// Returns the question at the end of a text.
fn last_question(text: &str) -> Option<String> {
    let from = text.char_indices().rev().nth(ASKED_WITHIN).map_or(0, |(at, _)| at);
    let question = sentences(&text[from..]).into_iter().rfind(|sentence| sentence.trim_end().ends_with(['?', '？']))?;
    let question = clean_line(&question.replace("**", ""));
    Some(shortened(&question, LONGEST_QUESTION))
}

/// Returns the text of the option that a clause names by its label or its place.
fn by_label(clause: &str, options: &[Listed]) -> Option<String> {
    let folded = clause.to_lowercase();
    if options.len() >= 2 && ALL.contains(&folded.as_str()) {
        let each = options.iter().map(|option| option.text.as_str());
        let each: Vec<&str> = each.filter(|text| !ALL.iter().any(|all| text.to_lowercase().starts_with(all))).collect();
        return Some(each.join("; "));
    }
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut named = words.filter(|word| !FILLERS.contains(word));
    let label = label(named.next()?, options.len())?;
    if named.next().is_some() {
        return None;
    }
    let by_place = || label.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    options.iter().find(|option| option.label == label).or_else(by_place).map(|option| option.text.clone())
}

/// Words that pick all options.
const ALL: [&str; 8] = ["both", "all of them", "all", "all three", "둘 다", "둘다", "전부", "모두"];

/// Words next to a label that say nothing else.
const FILLERS: [&str; 31] = [
    "option",
    "number",
    "no",
    "go",
    "with",
    "let",
    "s",
    "lets",
    "take",
    "i",
    "d",
    "say",
    "the",
    "one",
    "please",
    "pick",
    "choose",
    "use",
    "yes",
    "ok",
    "then",
    "그럼",
    "그냥",
    "하자",
    "가자",
    "해줘",
    "해주세요",
    "갑시다",
    "하죠",
    "좋아",
    "네",
];

/// Returns the label that a word names: `2`, `b`, `2번으로`, `second`.
fn label(word: &str, last: usize) -> Option<String> {
    const PLACES: [&[&str]; 4] =
        [&["first", "첫번째", "첫째"], &["second", "두번째"], &["third", "세번째"], &["fourth", "네번째"]];
    if let Some(at) = PLACES.iter().position(|words| words.contains(&word)) {
        return Some((at + 1).to_string());
    }
    if word == "last" {
        return Some(last.to_string());
    }
    let bare = ["으로요", "로요", "이요", "요", "으로", "로"]
        .iter()
        .find_map(|particle| word.strip_suffix(particle))
        .unwrap_or(word);
    let bare = ["번", "안"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare);
    (bare.len() == 1 && bare.is_ascii()).then(|| bare.to_owned())
}

/// Returns the only option that a clause names.
fn named_option(clause: &str, options: &[Listed]) -> Option<String> {
    let mut fitting = options.iter().filter(|option| options.len() >= 2 && names_all(clause, &option.text));
    let option = fitting.next()?;
    fitting.next().is_none().then(|| option.text.clone())
}

/// Whether all terms of a clause are in a text.
fn names_all(clause: &str, text: &str) -> bool {
    let (named, offered) = (terms(clause), terms(text));
    !named.is_empty() && named.iter().all(|term| offered.binary_search(term).is_ok())
}

/// Whether a question names alternatives.
fn offers(question: &str) -> bool {
    let folded = question.to_lowercase();
    [" or ", " vs", "which", "아니면", "중에", "중 ", "어느"].iter().any(|word| folded.contains(word))
}

/// Whether a clause says that something is chosen.
fn commits(clause: &str) -> bool {
    let folded = clause.to_lowercase();
    let ends = [
        " it is",
        "로 하자",
        "로 가자",
        "로 갑시다",
        "로 하죠",
        "로 할게",
        "로 할게요",
        "로 결정",
        "로 해줘",
        "로 해주세요",
    ];
    let begins = ["go with ", "let's go with ", "let's use ", "we'll use "];
    ends.iter().any(|end| folded.ends_with(end)) || begins.iter().any(|begin| folded.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const LIST: &str = "Three ways to do the merge:\n\n1. `figment`, which tracks provenance\n2. **config-rs**, the older crate\n\
                        3. merge the tables by hand\n\nWhich one do you want?";
    const LETTERS: &str =
        "Options:\n\nA. retry only `Unavailable`\nB. a budget of 10 % of calls\nC. both\n\nWhich do you prefer?";
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
    #[case::letter("Option A, but log it", LETTERS, Some("Chosen: retry only `Unavailable`. but log it"))]
    #[case::letter_by_place("the second one", LETTERS, Some("Chosen: a budget of 10 % of calls"))]
    #[case::both(
        "Both. Budget at 5 % though.",
        LETTERS,
        Some("Chosen: retry only `Unavailable`; a budget of 10 % of calls. Budget at 5 % though.")
    )]
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
    #[case::polite("2번으로요.", KOREAN, Some("선택: 두 버전을 모두 보관한다"))]
    #[case::order("run the tests", OR, None)]
    #[case::order_with_a_name("use dHash now", ADVICE, None)]
    #[case::rejected("Not figment.", LIST, None)]
    #[case::rejected_name("drop config-rs", LIST, None)]
    #[case::rejected_in_korean("2번 말고", KOREAN, None)]
    #[case::question("why 3?", LIST, None)]
    #[case::no_such_option("4", LIST, None)]
    #[case::agreement("yes please", LIST, None)]
    #[case::nothing_offered("3", "The build is green.", None)]
    #[case::step("2", "Next steps:\n1. run the migration\n2. add an alert\n\nWhich first?", None)]
    #[case::offer("1", "I can:\n1. add a test\n2. commit\n\nWhich do you want me to do?", None)]
    #[case::other_name("pnpm it is", ADVICE, None)]
    #[case::number_in_a_sentence("fix 3 tests", LIST, None)]
    fn prompt_picks_what_was_offered(#[case] prompt: &str, #[case] answered: &str, #[case] expected: Option<&str>) {
        assert_eq!(choice(prompt, Exchange { asked: "", answered }).as_deref(), expected);
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
    #[case::none(OR, OR)]
    fn options_are_cut_off(#[case] answer: &str, #[case] expected: &str) {
        assert_eq!(without_options(answer), expected);
    }

    #[test]
    fn person_may_have_offered_it() {
        let asked = "Health checks: do we use the standard grpc.health.v1 or our own /ping?";
        let before = Exchange { asked, answered: "`/ping` needs an HTTP port." };
        let expected = format!("Chosen: Standard one. (asked: {asked})");
        assert_eq!(choice("Standard one.", before), Some(expected));
    }
}
