//! Fixes of errors in English: a cause with what mended it, or a fault that was mended by doing something.

use super::{among, behind, lead_allows, settled, words};
use crate::extract::phrases::{each, starts};
use crate::extract::{Says, find_words, labelled, opens_quote};

const CAUSE_LABELS: &str = "root cause|cause|the cause";
const FIX_LABELS: &str = "fix|the fix|solution|resolution|fixed";

const CAUSES: &str = "\
    root cause was |root cause is |root cause turned out to be |the cause was |was caused by |were caused by \
    |is caused by |the culprit was |was failing because |failing because of |failed because |happened because \
    |crashed because |was due to |were due to |came from |stemmed from |hung because ";
/// What tells a cause only with a thing behind it: "the issue was closed" tells none.
const THINGS: &str = "the problem was |the issue was |the bug was ";
const ARTICLES: &str = "a an the that our my two how stale missing wrong";

/// What mends the cause that was just said; "I fixed the changelog" need not.
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

/// What is a fault, of which a mending may tell without its cause.
const FAULTS: &str = "\
    error errors bug crash panic deadlock leak race failure failures flaky flake timeout timeouts hang \
    regression overflow corruption segfault";
/// What no error is.
const COSMETIC: &str = "\
    typo typos wording spelling grammar formatting indentation whitespace lint warning warnings title \
    description comment comments readme docs changelog label heading link";
/// Slips of the hand, which nobody meets a second time.
const SLIPS: &str =
    "semicolon comma bracket parenthesis import imports assertion mistyped misspelled mistake typo typos my forgot";
/// Words that make a cause or a fix a guess or a plan.
const GUESSES: &str = "\
    probably likely suspect perhaps maybe possibly might may seems seem could should would will think can unless \
    if apparently";

pub(in crate::extract) fn is_fix(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    is_fix_label(sentence) || mends(&low) || fixed_by_doing(&low)
}

pub(in crate::extract) fn is_fix_label(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    labelled(&low, FIX_LABELS).is_some_and(|rest| settled(rest) && !guessed(rest))
}

pub(super) fn repair(low: &str) -> Option<Says> {
    let known = |rest: &str| !starts(rest, "un|not |fixed|solved|resolved|still ");
    let thing = |rest: &str| words(rest).next().is_some_and(|word| among(ARTICLES, word));
    let caused = labelled(low, CAUSE_LABELS).is_some_and(|rest| settled(rest) && known(rest))
        || each(CAUSES).any(|phrase| behind(low, phrase).is_some_and(known))
        || each(THINGS).any(|phrase| behind(low, phrase).is_some_and(thing));
    let caused = caused && !words(low).any(|word| among(SLIPS, word));
    if (caused
        && (mends(low) || low.split("; ").flat_map(|part| part.split(", ")).any(|clause| mended_by(clause, |_| true))))
        || fixed_by_doing(low)
        || doing_fixed(low)
    {
        return Some(Says::Fixed);
    }
    (caused && !guessed(low)).then_some(Says::Cause)
}

fn mends(low: &str) -> bool {
    !guessed(low)
        && each(FIXES).any(|phrase| {
            find_words(low, phrase).is_some_and(|at| !opens_quote(&low[..at]) && !ends_negated(&low[..at]))
        })
}

/// "Fixed the crash by pinning the version", or "… was fixed by pinning …".
fn fixed_by_doing(low: &str) -> bool {
    let fixer = each(FIXERS).find(|start| low.starts_with(*start)).map(str::len);
    let from = match each(PASSIVES).find_map(|phrase| find_words(low, phrase)) {
        Some(at) if lead_allows(&low[..at]) => at,
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
    let told = words(fault).next().is_some_and(|word| !among("it this that them all by", word));
    // "The tests" alone does not either.
    let bare = words(fault).last().is_some_and(|word| word.starts_with("test"));
    let named = !bare || words(fault).any(|word| among(FAULTS, word));
    let slight = words(fault).any(|word| among(COSMETIC, word)) || words(low).any(|word| among(SLIPS, word));
    told && named && !slight && !guessed(low)
}

/// "Adding a timeout fixed the deadlock".
fn doing_fixed(low: &str) -> bool {
    mended_by(low, |fault| words(fault).any(|word| among(FAULTS, word)))
}

fn mended_by(clause: &str, is_fault: impl Fn(&str) -> bool) -> bool {
    let doing = words(clause).next().is_some_and(|word| word.len() > 4 && word.ends_with("ing"));
    let fault = each(MENDS).find_map(|mends| clause.split_once(mends));
    let fault = fault.is_some_and(|(lead, fault)| !ends_negated(lead) && !opens_quote(lead) && is_fault(fault));
    doing && fault && !guessed(clause) && !words(clause).any(|word| among(COSMETIC, word) || among(SLIPS, word))
}

fn ends_negated(lead: &str) -> bool {
    words(lead)
        .last()
        .is_some_and(|word| matches!(word, "not" | "never" | "be" | "isn't" | "wasn't" | "been" | "nothing" | "nobody"))
}

fn guessed(low: &str) -> bool {
    // "if" and "can" inside a fix are what it is about; only what precedes the mending counts.
    let end = low.find(" by ").unwrap_or(low.len());
    find_words(&low[..end], "to be").is_some()
        || GUESSES.split_ascii_whitespace().any(|guess| find_words(&low[..end], guess).is_some())
}
