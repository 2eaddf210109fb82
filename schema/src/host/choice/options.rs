//! Finds the options that an answer lists ("2. text", "- **B)** text", "Option A: text"), and the question at its end.

use crate::model::word_list::WordList;
use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::sentences::{in_lower_case, sentences};

/// The longest option and question that are shown, in characters.
pub(super) const LONGEST_OPTION: usize = 160;
pub(super) const LONGEST_QUESTION: usize = 140;

/// How much of the end of an answer is searched for a question, in characters.
const ASKED_WITHIN: usize = 300;

/// The most options of a list.
const MOST_OPTIONS: usize = 9;

/// An option of a list: its label in lower case or its bullet, and its text.
pub(super) struct ListedOption {
    pub(super) label: char,
    pub(super) text: String,
}

/// Returns the options of the last list, unless it lists steps, which are done one after the other. A list without labels must be announced
/// as a choice.
pub(super) fn options(answer: &str) -> Vec<ListedOption> {
    let mut found: Vec<ListedOption> = Vec::new();
    let (mut lead, mut line_before) = ("", "");
    for line in answer.lines().flat_map(split_at_labels).filter(|line| !line.trim().is_empty()) {
        let bullet = || line.trim_start().strip_prefix("- ").filter(|_| presents_alternatives(line_before));
        let bulleted = || bullet().map(|text| ('-', shortened(&clean_line(text), LONGEST_OPTION)));
        match labelled(line).or_else(bulleted) {
            Some((label, text)) => {
                if is_first_label(label) || lead != line_before {
                    found.clear();
                    lead = line_before;
                }
                found.push(ListedOption { label, text });
            }
            None => line_before = line,
        }
    }
    if found.is_empty() {
        found = options_of_sentence(answer).map(|(_, options)| Vec::from(options)).unwrap_or_default();
    }
    let are_steps =
        [lead, last_question(answer).as_deref().unwrap_or_default()].iter().any(|text| announces_steps(text));
    if found.len() > MOST_OPTIONS || are_steps { Vec::new() } else { found }
}

/// Returns the part of an answer before its options.
pub(super) fn before_options(answer: &str) -> &str {
    let is_first = |line: &&str| labelled(line).is_some_and(|(label, _)| is_first_label(label));
    let first = answer.lines().flat_map(split_at_labels).find(is_first);
    let sentence = || options_of_sentence(answer).map(|(sentence, _)| sentence);
    first.or_else(sentence).and_then(|line| before(answer, line)).unwrap_or(answer)
}

fn before<'a>(answer: &'a str, part: &str) -> Option<&'a str> {
    answer.find(part).map(|at| &answer[..at])
}

fn is_first_label(label: char) -> bool {
    matches!(label, '1' | 'a' | '가')
}

/// Returns the last sentence that names two options, and these: "Two ways: store every snapshot, or recompute them."
fn options_of_sentence(answer: &str) -> Option<(&str, [ListedOption; 2])> {
    let named = |sentence: &&str| -> Option<[ListedOption; 2]> {
        let (lead, listed) = sentence.split_once(": ")?;
        let (first, second) = listed.split_once(", or ").filter(|_| presents_alternatives(lead))?;
        let option = |label, text: &str| {
            let text = clean_line(text.trim_end().trim_end_matches('.'));
            ListedOption { label, text: shortened(&text, LONGEST_OPTION) }
        };
        Some([option('1', first), option('2', second)])
    };
    sentences(answer).into_iter().rev().find_map(|sentence| Some((sentence, named(&sentence)?)))
}

/// Returns the part of an answer before options that are labelled with letters within a line: "Two ways: (a) … (b) …". Numbers may also count
/// causes.
pub(in crate::host) fn before_lettered_options(answer: &str) -> &str {
    static WHICH: WordList = WordList::phrases("which|prefer| or |어느|어떤|뭘로|무엇으로");
    let asks = || last_question(answer).is_some_and(|question| WHICH.occurs_in(&question.to_lowercase()));
    if !presents_alternatives(answer) && !asks() {
        return answer;
    }
    let is_lettered = |part: &&str| labelled(part).is_some_and(|(label, _)| label != '1' && is_first_label(label));
    let first = answer.lines().filter(|line| !announces_steps(line)).find_map(|line| {
        let parts = split_at_labels(line);
        (parts.len() > 1).then(|| parts.into_iter().find(is_lettered)).flatten()
    });
    first.and_then(|part| before(answer, part)).unwrap_or(answer)
}

/// Splits a line before the labels of options within it: "a) … b) …", "(가) … (나) …", "Two ways. A. … B. …".
fn split_at_labels(line: &str) -> Vec<&str> {
    const LABELS: [&str; 4] = ["abcde", "ABCDE", "12345", "가나다라마"];
    const STYLES: [(&str, &str); 3] = [("(", ")"), ("", ")"), ("", ".")];
    for (labels, (before, after)) in LABELS.iter().flat_map(|labels| STYLES.map(|style| (labels, style))) {
        let mut starts = label_starts(line, labels, before, after);
        if starts.len() > 1 {
            starts.push(line.len());
            let is_joint = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
            let parts = starts.windows(2).map(|part| before_question(&line[part[0]..part[1]]).trim_matches(is_joint));
            return std::iter::once(line[..starts[0]].trim()).chain(parts).collect();
        }
    }
    vec![line]
}

/// Returns where a line has these labels in their order, such as "(a) ", "(b) ".
fn label_starts(line: &str, labels: &str, before: &str, after: &str) -> Vec<usize> {
    let mut starts: Vec<usize> = Vec::new();
    for label in labels.chars() {
        let mark = format!("{before}{label}{after} ");
        let from = starts.last().map_or(0, |start| start + mark.len());
        let is_start = |at: &usize| line[..from + at].ends_with([' ', ':']) || from + at == 0;
        let Some(at) = line[from..].match_indices(&mark).map(|(at, _)| at).find(is_start) else { break };
        starts.push(from + at);
    }
    starts
}

/// Returns a text without the question at its end.
fn before_question(text: &str) -> &str {
    let question = sentences(text).pop().filter(|last| last.trim_end().ends_with(['?', '？'])).unwrap_or_default();
    text.strip_suffix(question).filter(|rest| !rest.is_empty()).unwrap_or(text)
}

pub(super) fn announces_steps(text: &str) -> bool {
    let folded = in_lower_case(text);
    STEPS.occurs_in(&folded)
}

/// Whether a text announces that one of several things may be chosen.
pub(super) fn presents_alternatives(text: &str) -> bool {
    static WORDS: WordList = WordList::phrases(
        " two ways| three ways| two candidates| three candidates| ways out| options:| the options| two options| three options| alternatives| the question is| either |\
         two representations| two realistic|가지가 있|가지입니다|가지예요|방법과 |선택지|후보는|둘 중|방법: |방법은 두 |방법은 둘|방법은 세 |방법은 셋|候補は|方法は",
    );
    let folded = format!(" {}", text.to_lowercase());
    WORDS.occurs_in(&folded) && !announces_steps(&folded)
}

/// Phrases that announce work, results, causes or rules, which are no options.
static STEPS: WordList = WordList::phrases(
    "causes|reasons:|done:|fixed:|rules:|원인|next step|next:|what's next|still to do|to do:|todo|remaining|what's left|left to do|still open|follow-up|plan:|\
     changes:|changed:|want me to|shall i|should i|like me to|i can:|남은|할 일|다음 |진행할까요|드릴까요",
);

/// Parses a line such as `2. text`, `- **B)** text`, `(가) text` or `Option A: text`.
fn labelled(line: &str) -> Option<(char, String)> {
    let line = line.trim_start().trim_start_matches(['-', '*', '#', ' ']);
    let line = ["Option ", "option ", "옵션 ", "방안 "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    let (line, ends): (&str, &[char]) = line.strip_prefix('(').map_or((line, &['.', ')', ':']), |line| (line, &[')']));
    let label = line.chars().next()?;
    let is_label = label.is_ascii_digit() || matches!(label, 'A'..='E' | 'a'..='e' | '가' | '나' | '다' | '라' | '마');
    let rest = line[label.len_utf8()..].strip_prefix(ends)?;
    let text = clean_line(&rest.replace("**", ""));
    (is_label && rest.starts_with([' ', '*']) && !text.is_empty())
        .then(|| (label.to_ascii_lowercase(), shortened(&text, LONGEST_OPTION)))
}

/// Returns the question at the end of a text.
pub(super) fn last_question(text: &str) -> Option<String> {
    let from = text.char_indices().rev().nth(ASKED_WITHIN).map_or(0, |(at, _)| at);
    let question = sentences(&text[from..]).into_iter().rfind(|sentence| sentence.trim_end().ends_with(['?', '？']))?;
    let question = clean_line(&question.replace("**", ""));
    Some(shortened(&question, LONGEST_QUESTION))
}
