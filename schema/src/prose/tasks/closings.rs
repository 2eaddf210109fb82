//! Tasks that are closed in other words than their own: "take that off the list", or in another language.

use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::terms::{is_hangul, shared_terms, terms};

/// Phrases that close a task, in lower case. Those with "two" or "both" close two.
static CLOSINGS: WordList = WordList::phrases(
    "off the list|off my list|off our list|from the list|that was the open step|that was the last open|목록에서 빼|목록에서 뺐|\
     목록에서 지|リストから外|scratch that|scratch those two|strike that|strike those two|cross that off|tick that off|\
     tick both off",
);

/// Returns the tasks that each closing phrase names, or the sentence before it, unless more tasks fit.
pub(super) fn closed(text: &str, tasks: &[&str]) -> Vec<usize> {
    let parts = sentences(text);
    let closing = |(at, part): (usize, &&str)| {
        let lower = part.to_lowercase();
        let phrase = CLOSINGS.iter().find(|phrase| lower.contains(**phrase))?;
        let count = if phrase.contains(" two") || phrase.contains(" both") { 2 } else { 1 };
        let is_denied = lower.split_whitespace().any(|word| word.ends_with("n't") || word == "not");
        if is_denied || lower.trim_end().ends_with(['?', '？']) {
            return None;
        }
        let before = at.checked_sub(1).map(|before| parts[before]);
        let named = |text: &str| best(&terms(text), tasks, count);
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
            begins && shared_terms(&objects, &terms(task)) == objects.len()
        })
    };
    clauses.filter_map(declined_in).collect()
}

/// Returns the task that fits, if no other does.
pub(super) fn only_one(tasks: &[&str], fits: impl Fn(&str) -> bool) -> Option<usize> {
    let mut fitting = tasks.iter().enumerate().filter(|(_, task)| fits(task)).map(|(at, _)| at);
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Returns so many tasks that share the most terms, if no other shares as many.
fn best(said: &[String], tasks: &[&str], count: usize) -> Option<Vec<usize>> {
    let shared = |task: &&str| shared_terms(&terms(task), said);
    let mut counts: Vec<(usize, usize)> =
        tasks.iter().map(shared).enumerate().filter(|(_, shared)| *shared > 0).collect();
    counts.sort_by_key(|(_, shared)| std::cmp::Reverse(*shared));
    let last = counts.get(count - 1)?.1;
    let is_clear = counts.get(count).is_none_or(|(_, next)| *next < last);
    is_clear.then(|| counts[..count].iter().map(|(at, _)| *at).collect())
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
    let at = best(&ascii, tasks, 1)?[0];
    (is_korean(report) != is_korean(tasks[at]) && is_named(&tasks[at])).then_some(at)
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}')
}

/// Whether a Japanese sentence reports that something is finished.
pub(super) fn reports_in_japanese(sentence: &str) -> bool {
    static ENDS: WordList = WordList::words("しました できました なりました 終わった 完了");
    static OPEN: WordList = WordList::words("ません まだ 残り 予定");
    sentence.chars().any(is_kana) && ENDS.occurs_in(sentence) && !OPEN.occurs_in(sentence)
}

/// Whether a Japanese report contains the whole text of a task.
pub(super) fn is_named_in_japanese(report: &str, task: &str) -> bool {
    let task = task.trim().trim_end_matches('。');
    task.chars().any(is_kana) && task.chars().count() >= 4 && report.contains(task)
}
