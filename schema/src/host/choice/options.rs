//! Finds the options that an answer lists ("2. text", "- **B)** text", "Option A: text"), and the question at its end.

use crate::model::word_list::WordList;
use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::sentences::sentences;

/// The longest option and question that are shown, in characters.
pub(super) const LONGEST_OPTION: usize = 160;
pub(super) const LONGEST_QUESTION: usize = 140;

/// How much of the end of an answer is searched for a question, in characters.
const ASKED_WITHIN: usize = 300;

/// The most options of a list.
const MOST_OPTIONS: usize = 9;

/// An option of a list: its label in lower case, and its text.
pub(super) struct ListedOption {
    pub(super) label: String,
    pub(super) text: String,
}

/// Returns the options of the last list, unless it lists steps, which are done one after the other. A list without labels must be announced
/// as a choice.
pub(super) fn options(answer: &str) -> Vec<ListedOption> {
    let mut found: Vec<ListedOption> = Vec::new();
    let (mut lead, mut line_before) = ("", "");
    for line in answer.lines().filter(|line| !line.trim().is_empty()) {
        let bullet = || line.trim_start().strip_prefix("- ").filter(|_| presents_alternatives(line_before));
        let bulleted = || bullet().map(|text| (String::new(), shortened(&clean_line(text), LONGEST_OPTION)));
        match labelled(line).or_else(bulleted) {
            Some((label, text)) => {
                if matches!(label.as_str(), "1" | "a") || lead != line_before {
                    found.clear();
                    lead = line_before;
                }
                found.push(ListedOption { label, text });
            }
            None => line_before = line,
        }
    }
    let are_steps =
        [lead, last_question(answer).as_deref().unwrap_or_default()].iter().any(|text| announces_steps(text));
    if found.len() > MOST_OPTIONS || are_steps { Vec::new() } else { found }
}

/// Returns the part of an answer before its options.
pub(super) fn before_options(answer: &str) -> &str {
    let is_first = |line: &&str| labelled(line).is_some_and(|(label, _)| matches!(label.as_str(), "1" | "a"));
    answer.lines().find(is_first).and_then(|line| answer.split(line).next()).unwrap_or(answer)
}

pub(super) fn announces_steps(text: &str) -> bool {
    let folded = text.to_lowercase().replace('’', "'");
    STEPS.occurs_in(&folded)
}

/// Whether a text announces that one of several things may be chosen.
pub(super) fn presents_alternatives(text: &str) -> bool {
    static WORDS: WordList = WordList::phrases(
        " two ways| three ways| ways out| options:| the options| two options| three options| alternatives| the question is| either |\
         two representations| two realistic|가지가 있|가지입니다|가지예요|방법과 |선택지|후보는|둘 중|候補は|方法は",
    );
    let folded = format!(" {}", text.to_lowercase());
    WORDS.occurs_in(&folded) && !announces_steps(&folded)
}

/// Phrases that announce work to do, or work that is done.
static STEPS: WordList = WordList::phrases(
    "next step|next:|what's next|still to do|to do:|todo|remaining|what's left|left to do|still open|follow-up|plan:|\
     changes:|changed:|want me to|shall i|should i|like me to|i can:|남은|할 일|다음 |진행할까요|드릴까요",
);

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
pub(super) fn last_question(text: &str) -> Option<String> {
    let from = text.char_indices().rev().nth(ASKED_WITHIN).map_or(0, |(at, _)| at);
    let question = sentences(&text[from..]).into_iter().rfind(|sentence| sentence.trim_end().ends_with(['?', '？']))?;
    let question = clean_line(&question.replace("**", ""));
    Some(shortened(&question, LONGEST_QUESTION))
}
