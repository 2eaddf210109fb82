//! Fixes of errors in English: a cause with its fix, or a fault that was fixed by doing something.

use super::common::{is_in_list, is_lead_affirmative, is_settled_cause, text_after_phrase, words};
use crate::host::extract::phrases::{
    SentenceMeaning, find_phrase, has_open_quote, phrases, starts_with_phrase, strip_label,
};

const CAUSE_LABELS: &str = "root cause|cause|the cause";
const FIX_LABELS: &str = "fix|the fix|solution|resolution|fixed";

const CAUSES: &str = "\
    root cause was |root cause is |root cause turned out to be |the cause was |was caused by |were caused by \
    |is caused by |the culprit was |was failing because |failing because of |failed because |happened because \
    |crashed because |was due to |were due to |came from |stemmed from |hung because ";
/// Phrases that state a cause only before a noun: "the issue was closed" states none.
const THINGS: &str = "the problem was |the issue was |the bug was ";
const ARTICLES: &str = "a an the that our my two how stale missing wrong";

/// Phrases that fix the cause just mentioned. "I fixed the changelog" may be about something else.
const FIXES: &str = "\
    which fixed |which resolved |which solved |fixed by |fixed it|fixes it|fixed this|fixed that|fixed with \
    |fixed the problem|fixed the issue|fixed the error|solved by |solved it|solves it|solved this\
    |solved the problem|solved the issue|resolved by |resolved it|resolves it|resolved this|resolved the problem\
    |resolved the issue|the fix was to |the fix is to |the fix was a |the solution was to |the solution is to \
    |the solution was a |it is fixed now by |fixed both|fixed them|solved both|cured it";
const FIXERS: &str = "\
    fixed |i fixed |we fixed |i've fixed |we've fixed |resolved |i resolved |we resolved |solved |i solved \
    |we solved |i've resolved ";
const PASSIVES: &str = "was fixed by |were fixed by |got fixed by |was resolved by |was solved by ";
const MENDS: &str = " fixed the | resolved the | solved the ";

/// Faults whose fix is worth remembering without its cause.
const FAULTS: &str = "\
    error errors bug crash panic deadlock leak race failure failures flaky flake timeout timeouts hang \
    regression overflow corruption segfault";
/// Things that are not errors.
const COSMETIC: &str = "\
    typo typos wording spelling grammar formatting indentation whitespace lint warning warnings title \
    description comment comments readme docs changelog label heading link";
/// Slips that nobody makes a second time in the same way.
const SLIPS: &str =
    "semicolon comma bracket parenthesis import imports assertion mistyped misspelled mistake typo typos my forgot";
/// Words that make a cause or a fix a guess or a plan.
const GUESSES: &str = "\
    probably likely suspect perhaps maybe possibly might may seems seem could should would will think can unless \
    if apparently";

pub(in crate::host::extract) fn is_fix(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    is_fix_label(sentence) || is_repair(&low) || is_fixed_by_doing(&low)
}

pub(in crate::host::extract) fn is_fix_label(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    strip_label(&low, FIX_LABELS).is_some_and(|rest| is_settled_cause(rest) && !is_guess(rest))
}

pub(super) fn classify_repair(low: &str) -> Option<SentenceMeaning> {
    let known = |rest: &str| !starts_with_phrase(rest, "un|not |fixed|solved|resolved|still ");
    let thing = |rest: &str| words(rest).next().is_some_and(|word| is_in_list(ARTICLES, word));
    let caused = strip_label(low, CAUSE_LABELS).is_some_and(|rest| is_settled_cause(rest) && known(rest))
        || phrases(CAUSES).any(|phrase| text_after_phrase(low, phrase).is_some_and(known))
        || phrases(THINGS).any(|phrase| text_after_phrase(low, phrase).is_some_and(thing));
    let caused = caused && !words(low).any(|word| is_in_list(SLIPS, word));
    if (caused
        && (is_repair(low)
            || low.split("; ").flat_map(|part| part.split(", ")).any(|clause| names_repair(clause, |_| true))))
        || is_fixed_by_doing(low)
        || is_doing_that_fixed(low)
    {
        return Some(SentenceMeaning::Fixed);
    }
    (caused && !is_guess(low)).then_some(SentenceMeaning::Cause)
}

fn is_repair(low: &str) -> bool {
    !is_guess(low)
        && phrases(FIXES).any(|phrase| {
            find_phrase(low, phrase).is_some_and(|at| !has_open_quote(&low[..at]) && !ends_negated(&low[..at]))
        })
}

/// Recognises "Fixed the crash by pinning the version" and "… was fixed by pinning …".
fn is_fixed_by_doing(low: &str) -> bool {
    let fixer = phrases(FIXERS).find(|start| low.starts_with(*start)).map(str::len);
    let from = match phrases(PASSIVES).find_map(|phrase| find_phrase(low, phrase)) {
        Some(at) if is_lead_affirmative(&low[..at]) => at,
        _ => match fixer {
            Some(at) => at,
            None => return false,
        },
    };
    let doing = low[from..].match_indices(" by ").find(|(at, by)| {
        let word = words(&low[from + at + by.len()..]).next().unwrap_or_default();
        word.len() > 4 && word.ends_with("ing")
    });
    let Some((by, _)) = doing else { return false };
    // "Fixed it by …" alone does not say what was wrong.
    let fault = &low[fixer.unwrap_or(0)..from + by];
    let told = words(fault).next().is_some_and(|word| !is_in_list("it this that them all by", word));
    // Neither does "the tests" alone.
    let bare = words(fault).last().is_some_and(|word| word.starts_with("test"));
    let named = !bare || words(fault).any(|word| is_in_list(FAULTS, word));
    let slight = words(fault).any(|word| is_in_list(COSMETIC, word)) || words(low).any(|word| is_in_list(SLIPS, word));
    told && named && !slight && !is_guess(low)
}

/// Recognises "Adding a timeout fixed the deadlock".
fn is_doing_that_fixed(low: &str) -> bool {
    names_repair(low, |fault| words(fault).any(|word| is_in_list(FAULTS, word)))
}

fn names_repair(clause: &str, is_fault: impl Fn(&str) -> bool) -> bool {
    let doing = words(clause).next().is_some_and(|word| word.len() > 4 && word.ends_with("ing"));
    let fault = phrases(MENDS).find_map(|mends| clause.split_once(mends));
    let fault = fault.is_some_and(|(lead, fault)| !ends_negated(lead) && !has_open_quote(lead) && is_fault(fault));
    doing
        && fault
        && !is_guess(clause)
        && !words(clause).any(|word| is_in_list(COSMETIC, word) || is_in_list(SLIPS, word))
}

fn ends_negated(lead: &str) -> bool {
    words(lead)
        .last()
        .is_some_and(|word| matches!(word, "not" | "never" | "be" | "isn't" | "wasn't" | "been" | "nothing" | "nobody"))
}

fn is_guess(low: &str) -> bool {
    // "if" and "can" inside a fix are part of its topic; only the text before it counts.
    let end = low.find(" by ").unwrap_or(low.len());
    find_phrase(&low[..end], "to be").is_some()
        || GUESSES.split_ascii_whitespace().any(|guess| find_phrase(&low[..end], guess).is_some())
}
