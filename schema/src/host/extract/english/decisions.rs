//! Decisions in English: a decider, a verb of deciding, and a lasting object.

use super::common::{
    ELSEWHERE, VAGUE, is_in_list, is_lead_affirmative, is_passing_state, is_settled_cause, text_after_phrase, words,
};
use crate::host::extract::phrases::{contains_phrase, find_phrase, phrases, starts_with_phrase, strip_label};

const LABELS: &str = "decision|decided|final decision|design decision|key decision|agreed|decision made|final call";
/// Values of a label that permit or postpone something, or talk about the conversation.
const ANSWERS: &str = "\
    approve approved allow allowed deny denied reject rejected accept accepted block proceed continue pass fail \
    ok okay yes no lgtm i i'll i'm you you're that's it's this that let's good great sounds makes";

/// Deciders whose decisions go beyond their next step.
const ALL: &str = "we|we've|we have|we finally|we all|we've now|the team|the team has|we have now";
/// A single decider, whose choice counts only with an alternative or a reason.
const ONE: &str = "i|i've|i have";

const DECIDED: &str = "\
    decided to |decided not to |decided on |decided that |decided against |agreed to |agreed on |agreed that \
    |settled on |opted for |opted to |opted against |standardized on |standardised on |adopted |committed to \
    |ended up choosing ";
/// Everyday verbs, which state a decision only with an alternative or a reason.
const CHOSE: &str = "chose |chosen |went with |gone with |picked |selected |ended up with |switched to ";
const DECISIONS: &str = "\
    our convention is that |our policy is that |let's go with |lets go with |let's stick with \
    |we are going with |we're going with |it was decided to |it was decided that |it was agreed that \
    |it was agreed to |the decision was to |the decision is to ";
/// Plans, which count only with an alternative or a reason.
const PLANS: &str = "\
    we're dropping |we are dropping |let's use |we'll use |we will use |we'll go with |we will go with \
    |we'll keep |we will keep |we're using |we are using |we're going to use |we are going to use \
    |we're sticking with |we are sticking with |we'll stick with |we will stick with |we use ";
const CHOSEN: &str = "was chosen |was picked |was selected |was preferred ";
const AGAINST: &str = " over | instead of | rather than | because | so that | since | in favor of ";
/// Phrases that begin a standing rule, and words that it is about.
const RULES: &str = "from now on|going forward|from here on|as a rule";
const ABOUT: &str = "all every each no never always only any new we";
/// Steps of an agent's work, which are not worth remembering.
const STEPS: &str = "\
    check look read try run start inspect investigate search see ask wait skip continue proceed explore verify \
    open take begin stop rerun re-run rename print return meet talk discuss find list quick grep glance sed cat \
    echo call go grab have eat leave pause postpone wrap move commit push merge fix cancel debugger mock worktree branch";
/// Phrases that mark something as over, as today's, or as the order of the work.
const PASSING: &str =
    "at the time|but later|but then|but dropped| today| tonight| tomorrow| first.| next.| before lunch";

pub(super) fn is_decision(low: &str) -> bool {
    let settles =
        |rest: &str| is_settled_cause(rest) && !words(rest).next().is_some_and(|word| is_in_list(ANSWERS, word));
    strip_label(low, LABELS).is_some_and(settles)
        || is_standing_rule(low)
        || is_passive_decision(low)
        || is_decision_sentence(low)
}

fn is_decision_sentence(low: &str) -> bool {
    let plainly = phrases(DECISIONS)
        .find_map(|phrase| text_after_phrase(low, phrase))
        .or_else(|| phrases(DECIDED).find_map(|decided| text_after_decider(low, decided, ALL)));
    if let Some(object) = plainly {
        return is_lasting_object(object);
    }
    let everyday = phrases(CHOSE).find_map(|chose| text_after_decider(low, chose, ALL));
    if everyday
        .is_some_and(|object| is_lasting_object(object) && (is_weighed_choice(object) || object.contains(" for the ")))
    {
        return true;
    }
    phrases(PLANS)
        .find_map(|phrase| text_after_phrase(low, phrase))
        .or_else(|| phrases(DECIDED).chain(phrases(CHOSE)).find_map(|verb| text_after_decider(low, verb, ONE)))
        .is_some_and(|object| is_lasting_object(object) && is_weighed_choice(object))
}

/// Whether the object is a lasting thing: not a step of the work, not a reference to earlier text, and still true.
fn is_lasting_object(object: &str) -> bool {
    let bare = phrases("the |a new |a |to ").find_map(|article| object.strip_prefix(article)).unwrap_or(object);
    let first = words(bare).next().unwrap_or_default();
    let vague = is_in_list(VAGUE, first) || starts_with_phrase(bare, "#|do it|do that|do so");
    let steps = words(object).zip(words(object).skip(1)).any(|(to, step)| to == "to" && is_in_list(STEPS, step));
    let gone = contains_phrase(object, PASSING);
    !vague
        && !is_in_list(STEPS, first)
        && !steps
        && !gone
        && !phrases(ELSEWHERE).any(|elsewhere| elsewhere != "the old " && object.contains(elsewhere))
}

fn is_weighed_choice(object: &str) -> bool {
    contains_phrase(object, AGAINST)
}

/// Returns the text after a verb of deciding, if a decider precedes the verb.
fn text_after_decider<'a>(low: &'a str, decided: &str, deciders: &str) -> Option<&'a str> {
    let at = find_phrase(low, decided)?;
    let before = low[..at].trim_end();
    let lead = phrases(deciders).filter_map(|decider| before.strip_suffix(decider));
    let mut lead = lead.filter(|lead| !lead.ends_with(|c: char| c.is_alphanumeric() || c == '\''));
    lead.any(is_lead_affirmative).then(|| &low[at + decided.len()..])
}

/// Recognises "From now on, all migrations are additive."
fn is_standing_rule(low: &str) -> bool {
    let rest = phrases(RULES).find_map(|rule| low.strip_prefix(rule));
    rest.is_some_and(|rest| words(rest).next().is_some_and(|word| is_in_list(ABOUT, word)) && !is_passing_state(rest))
}

/// Recognises "PostgreSQL was chosen over MySQL", but not "the first match was chosen".
fn is_passive_decision(low: &str) -> bool {
    phrases(CHOSEN).any(|chosen| {
        find_phrase(low, chosen).is_some_and(|at| {
            let (subject, rest) = (&low[..at], &low[at + chosen.len() - 1..]);
            let named = words(subject).count() <= 3
                && words(subject).next().is_some_and(|word| !is_in_list("the a an it this that which what", word));
            named && is_lead_affirmative(subject) && starts_with_phrase(rest, AGAINST)
        })
    })
}
