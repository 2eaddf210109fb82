//! Tasks that are closed in other words than their own: "take that off the list", or in another language.

use crate::prose::supersession::sentences;
use crate::prose::terms::{is_hangul, terms};

/// Phrases that close a task, in lower case.
const CLOSINGS: [&str; 10] = [
    "off the list",
    "off my list",
    "off our list",
    "from the list",
    "that was the open step",
    "that was the last open",
    "목록에서 빼",
    "목록에서 뺐",
    "목록에서 지",
    "リストから外",
];

/// Returns the task that each closing phrase names, or the sentence before it, unless several tasks fit.
pub(super) fn closed(text: &str, tasks: &[&str]) -> Vec<usize> {
    let parts = sentences(text);
    let closing = |(at, part): (usize, &&str)| {
        let lower = part.to_lowercase();
        let phrase = CLOSINGS.iter().find(|phrase| lower.contains(**phrase))?;
        let is_denied = lower.split_whitespace().any(|word| word.ends_with("n't") || word == "not");
        if is_denied || lower.trim_end().ends_with(['?', '？']) {
            return None;
        }
        let before = at.checked_sub(1).map(|before| parts[before]);
        let named = |text: &str| only_best(&terms(text), tasks);
        named(&lower.replace(phrase, " ")).or_else(|| before.filter(|text| !text.contains('?')).and_then(named))
    };
    parts.iter().enumerate().filter_map(closing).collect()
}

/// Returns the task that shares the most terms, if no other shares as many.
fn only_best(said: &[String], tasks: &[&str]) -> Option<usize> {
    let shared = |task: &&str| terms(task).iter().filter(|term| said.contains(term)).count();
    let counts: Vec<usize> = tasks.iter().map(shared).collect();
    let best = *counts.iter().max().filter(|best| **best > 0)?;
    let mut with_best = counts.iter().enumerate().filter(|(_, count)| **count == best).map(|(at, _)| at);
    with_best.next().filter(|_| with_best.next().is_none())
}

/// Returns the task in another language that a report names by an identifier or by two words of its own.
pub(super) fn reported_in_another_language(report: &str, tasks: &[&str]) -> Option<usize> {
    let is_korean = |text: &str| text.chars().any(is_hangul);
    let ascii: Vec<String> = terms(report).into_iter().filter(|term| term.is_ascii()).collect();
    let is_identifier = |term: &String| term.contains(['_', '.', '/']);
    let is_named = |task: &&str| {
        let all = terms(task);
        let shared = ascii.iter().filter(|term| all.contains(term));
        shared.clone().count() >= 2 || shared.clone().any(is_identifier)
    };
    let at = only_best(&ascii, tasks)?;
    (is_korean(report) != is_korean(tasks[at]) && is_named(&tasks[at])).then_some(at)
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}')
}

/// Whether a Japanese sentence reports that something is finished.
pub(super) fn reports_in_japanese(sentence: &str) -> bool {
    const ENDS: [&str; 5] = ["しました", "できました", "なりました", "終わった", "完了"];
    const OPEN: [&str; 4] = ["ません", "まだ", "残り", "予定"];
    sentence.chars().any(is_kana)
        && ENDS.iter().any(|end| sentence.contains(end))
        && !OPEN.iter().any(|word| sentence.contains(word))
}

/// Whether a Japanese report contains the whole text of a task.
pub(super) fn is_named_in_japanese(report: &str, task: &str) -> bool {
    let task = task.trim().trim_end_matches('。');
    task.chars().any(is_kana) && task.chars().count() >= 4 && report.contains(task)
}
