//! Shared parts of the English rules: the words of a text, and whether it means what it seems to say.

use crate::host::extract::phrases::{contains_phrase, find_phrase, has_open_quote, starts_with_phrase};

/// Values of a label that was left empty.
const PENDING: &str = "pending|tbd|none|n/a|to be |not yet|open|undecided|needs |nothing|no |not |nope|keep as";

/// Words about a passing state of files, tests, builds or the people who talk.
const STATES: &str = "\
    empty missing failing pass passes passing passed fail fails exist exists broken green red gone fine correct \
    wrong running merged deleted outdated stale done compiles installed unused already";

/// Things in the daily work. If one of `TELLS` follows at once, the sentence is about a place in the code: "the function is called twice",
/// but not "the file system is …".
const LOCAL: &str = "\
    function functions method file files variable test tests line lines class module modules branch script code \
    error bug problem issue commit directory folder helper field";

const TELLS: &str = "\
    is are has have does do only just calls uses takes returns expects needs contains lives sits looks import imports share";

/// Words that turn a state into a rule.
const CONDITIONS: &str = "when whenever even unless if until while after without under";

/// Words that cancel a rule's phrase after them: negated, not yet true, a question, an instruction, or hearsay.
const TAKES_BACK: &str = "\
    if whether should would could might may can unless until once before when why how what which where who had \
    suppose imagine assume assuming pretend not never nobody haven't hasn't didn't don't doesn't wasn't isn't \
    cannot can't maybe perhaps probably likely think say says said claims write add record document explain tell \
    please list find remember describe summarize example will ask grep told wrote they he she someone somebody \
    according previously formerly originally believe";

/// Words that begin a text which means nothing without its context.
pub(super) const VAGUE: &str = "\
    that this it these those option your first second third last next same remaining following former latter \
    number # disagree both up you i i'll i'm he she they wrong plan approach idea suggestion current simplest random \
    monday tuesday wednesday thursday friday";

/// Phrases about something that is no longer true, or true elsewhere.
pub(super) const ELSEWHERE: &str = "\
    the old |previous project|my last |my old |my previous |our old |our last |last job|used to|back in \
    |back then|years ago";

pub(super) fn is_settled_cause(rest: &str) -> bool {
    !starts_with_phrase(rest, PENDING) && !is_in_list(VAGUE, rest.trim_end_matches('.'))
}

/// Whether a text is about a passing state, without a condition that makes it a rule.
pub(super) fn is_passing_state(said: &str) -> bool {
    let state = is_about_code_location(said) || words(said).any(|word| is_in_list(STATES, word));
    state && !words(said).any(|word| is_in_list(CONDITIONS, word))
}

/// Returns the text after a phrase, unless the text before the phrase cancels it.
pub(super) fn text_after_phrase<'a>(low: &'a str, phrase: &str) -> Option<&'a str> {
    let at = find_phrase(low, phrase)?;
    is_lead_affirmative(&low[..at]).then(|| &low[at + phrase.len()..])
}

pub(super) fn is_lead_affirmative(lead: &str) -> bool {
    // "the thing that we decided" is about the thing, and "because we decided" about the consequence.
    let relative =
        words(lead).last().is_some_and(|word| matches!(word, "that" | "as" | "like" | "because" | "since" | "after"));
    lead.chars().count() <= 120
        && !relative
        && !has_open_quote(lead)
        && !contains_phrase(lead, ELSEWHERE)
        && !words(lead).any(|word| is_in_list(TAKES_BACK, word))
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

/// Whether a word is in a list that is separated by spaces.
pub(super) fn is_in_list(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Whether a text is about a place in the code and not about how something behaves.
fn is_about_code_location(said: &str) -> bool {
    let numbered = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let near = words(said).take(4).zip(words(said).skip(1));
    let named =
        said.split_once('`').and_then(|(lead, _)| words(lead).last()).is_some_and(|thing| is_in_list(LOCAL, thing));
    named
        || near.into_iter().any(|(thing, next)| is_in_list(LOCAL, thing) && (is_in_list(TELLS, next) || numbered(next)))
}
