//! The rules for English.

mod decisions;
mod fixes;

use super::phrases::{each, has, starts};
use super::{Says, find_words, labelled, opens_quote};
pub(super) use fixes::{is_fix, is_fix_label};

const LEARNING_LABELS: &str = "\
    worth remembering|learned|learnings|learning|key learning|lesson|lesson learned|lessons learned|til|takeaway\
    |key takeaway|note for next time|for next time|note to self|for future reference|gotcha|pitfall|key insight\
    |good to know|what i learned|what we learned";
const REASONS: &str = "\
    because |this is because |that's because |that is because |the reason is |the reason: |the main reason ";
const REASON_LABELS: &str = "reason|reasons|rationale|why|because";

/// What a label says that was left empty.
const PENDING: &str = "pending|tbd|none|n/a|to be |not yet|open|undecided|needs |nothing|no |not |nope|keep as";
/// What begins a talk that means nothing without what was said before.
const VAGUE: &str = "\
    that this it these those option your first second third last next same remaining following former latter \
    number # disagree both up you i i'll i'm he she they wrong plan approach idea suggestion current simplest random \
    monday tuesday wednesday thursday friday";

/// What a finder of something begins with.
const LEARNINGS: &str = "\
    we found out the hard way that |we learned that |i learned that |i've learned that |we've learned that \
    |we learnt that |i learnt that |we've learned the hard way that |we learned the hard way that \
    |i found out that |we found out that |we discovered that |i discovered that |we've discovered that \
    |i realized that |we realized that |i realised that |we realised that |we now know that |the gotcha is that \
    |the lesson here is |the lesson is |the takeaway is |the key takeaway is ";
/// The same, where only the opening of a sentence will do.
const OPENINGS: &str = "learned that |keep in mind that |note for next time";

/// What tells of a passing state: of files, of tests, of a build, of those who speak.
const STATES: &str = "\
    empty missing failing pass passes passing passed fail fails exist exists broken green red gone fine correct \
    wrong running merged deleted outdated stale done compiles installed unused already";
/// What is looked at in the work of the day, when what is told of it follows at once: "the function is called twice",
/// but no "the file system is …".
const LOCAL: &str = "\
    function functions method file files variable test tests line lines class module modules branch script code \
    error bug problem issue commit directory folder helper field";
const TELLS: &str = "\
    is are has have does do only just calls uses takes returns expects needs contains lives sits looks import imports share";
/// What tells of what happened once.
const EPISODES: &str = "was were had did didn't wasn't weren't forgot";
/// What such a finding may not begin with.
const PERSONAL: &str = "i i'm i've you your he she they we we've my it it's there this that nothing nobody someone";
/// What makes a state a rule.
const CONDITIONS: &str = "when whenever even unless if until while after without under";

/// Words before a rule's words that take the saying back: not so, not yet so, asked, told to say, or told by others.
const TAKES_BACK: &str = "\
    if whether should would could might may can unless until once before when why how what which where who had \
    suppose imagine assume assuming pretend not never nobody haven't hasn't didn't don't doesn't wasn't isn't \
    cannot can't maybe perhaps probably likely think say says said claims write add record document explain tell \
    please list find remember describe summarize example will ask grep told wrote they he she someone somebody \
    according previously formerly originally believe";
/// Where something was so that is no more.
const ELSEWHERE: &str = "\
    the old |previous project|my last |my old |my previous |our old |our last |last job|used to|back in \
    |back then|years ago";
/// What may precede "turns out".
const BEFORE_TURNS_OUT: &str = "\
    it as so and but ok okay well ah oh yes now also actually";

pub(super) fn says(sentence: &str) -> Option<Says> {
    if sentence.starts_with(['"', '“', '\'']) {
        return None;
    }
    let low = sentence.to_ascii_lowercase();
    let low = low.as_str();
    if decisions::decision(low) {
        return Some(Says::Decision);
    }
    if let Some(says) = fixes::repair(low) {
        return Some(says);
    }
    (labelled(low, LEARNING_LABELS).is_some_and(settled) || learning(low)).then_some(Says::Learning)
}

pub(super) fn is_reason(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    starts(&low, REASONS)
}

pub(super) fn is_reason_label(sentence: &str) -> bool {
    labelled(&sentence.to_ascii_lowercase(), REASON_LABELS).is_some()
}

fn settled(rest: &str) -> bool {
    !starts(rest, PENDING) && !among(VAGUE, rest.trim_end_matches('.'))
}

fn learning(low: &str) -> bool {
    if low.starts_with("til ") || low.starts_with("til, ") {
        return !low.starts_with("til about ");
    }
    for phrase in ["turns out", "turned out that"] {
        if let Some(at) = find_words(low, phrase) {
            let said = low[at + phrase.len()..].trim_start();
            return words(&low[..at]).all(|word| among(BEFORE_TURNS_OUT, word)) && lasts(said);
        }
    }
    each(OPENINGS).any(|phrase| low.strip_prefix(phrase).is_some_and(|said| phrase.ends_with("time") || lasts(said)))
        || each(LEARNINGS).any(|phrase| behind(low, phrase).is_some_and(lasts))
}

/// Whether what was found out holds tomorrow: no state of a file or a test, nothing that happened once, no talk of
/// those who speak.
fn lasts(said: &str) -> bool {
    let said = said.strip_prefix("that ").unwrap_or(said);
    let fine = starts(said, "fine|well|ok|good|great|to be |nice");
    let personal = words(said).next().is_none_or(|word| among(PERSONAL, word));
    let episode = words(said).any(|word| among(EPISODES, word));
    !fine && !personal && !episode && !passing(said)
}

/// Whether it tells of a state that passes, with no condition that makes it a rule.
fn passing(said: &str) -> bool {
    let state = local(said) || words(said).any(|word| among(STATES, word));
    state && !words(said).any(|word| among(CONDITIONS, word))
}

/// Whether it tells of a place in the sources and not of how something behaves.
fn local(said: &str) -> bool {
    let numbered = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let near = words(said).take(4).zip(words(said).skip(1));
    let named = said.split_once('`').and_then(|(lead, _)| words(lead).last()).is_some_and(|thing| among(LOCAL, thing));
    named || near.into_iter().any(|(thing, next)| among(LOCAL, thing) && (among(TELLS, next) || numbered(next)))
}

/// What follows a phrase whose lead does not take it back.
fn behind<'a>(low: &'a str, phrase: &str) -> Option<&'a str> {
    let at = find_words(low, phrase)?;
    lead_allows(&low[..at]).then(|| &low[at + phrase.len()..])
}

fn lead_allows(lead: &str) -> bool {
    // "the thing that we decided" is about the thing, "because we decided" about what came of it.
    let relative =
        words(lead).last().is_some_and(|word| matches!(word, "that" | "as" | "like" | "because" | "since" | "after"));
    lead.chars().count() <= 120
        && !relative
        && !opens_quote(lead)
        && !has(lead, ELSEWHERE)
        && !words(lead).any(|word| among(TAKES_BACK, word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

/// Whether a word is one of a list that is parted by spaces.
fn among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}
