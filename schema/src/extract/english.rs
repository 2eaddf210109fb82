//! The rules for English.

use super::{Says, find_words, labelled, opens_quote};

const DECISION_LABELS: [&str; 7] =
    ["decision", "decided", "final decision", "design decision", "key decision", "agreed", "decision made"];
const LEARNING_LABELS: [&str; 14] = [
    "learned",
    "learning",
    "key learning",
    "lesson",
    "lesson learned",
    "lessons learned",
    "til",
    "takeaway",
    "key takeaway",
    "note for next time",
    "for next time",
    "note to self",
    "for future reference",
    "gotcha",
];
const CAUSE_LABELS: [&str; 3] = ["root cause", "cause", "the cause"];
const FIX_LABELS: [&str; 5] = ["fix", "the fix", "solution", "resolution", "fixed"];
const REASON_LABELS: [&str; 5] = ["reason", "reasons", "rationale", "why", "because"];

/// What an undecided label says.
const PENDING: [&str; 9] = ["pending", "tbd", "none", "n/a", "to be ", "not yet", "open", "undecided", "needs "];

/// Who decides, and how that is said.
const DECIDERS: [&str; 5] = ["we", "i", "we've", "we have", "the team"];
const DECIDED: [&str; 15] = [
    "decided to ",
    "decided not to ",
    "decided on ",
    "decided that ",
    "decided against ",
    "agreed to ",
    "agreed on ",
    "agreed that ",
    "settled on ",
    "opted for ",
    "opted to ",
    "chose ",
    "chose to ",
    "went with ",
    "ended up choosing ",
];
const DECISIONS: [&str; 9] = [
    "let's go with ",
    "lets go with ",
    "let's stick with ",
    "we are going with ",
    "we're going with ",
    "it was decided to ",
    "it was decided that ",
    "the decision was to ",
    "the decision is to ",
];
/// What decided things begin with, after "the" or not, when they mean nothing without the talk around them.
const VAGUE: [&str; 18] = [
    "that", "this", "it", "these", "those", "option", "your", "first", "second", "former", "latter", "number", "#",
    "disagree", "both", "do it", "do that", "do so",
];
/// What an agent does on its way, which is no decision to remember.
const STEPS: [&str; 21] = [
    "check",
    "look",
    "read",
    "try",
    "run",
    "start",
    "inspect",
    "investigate",
    "search",
    "see",
    "ask",
    "wait",
    "skip",
    "continue",
    "proceed",
    "explore",
    "verify",
    "open",
    "take",
    "begin",
    "stop",
];

const LEARNINGS: [&str; 16] = [
    "we learned that ",
    "i learned that ",
    "i've learned that ",
    "we've learned that ",
    "learned that ",
    "we learnt that ",
    "i learnt that ",
    "i found out that ",
    "we found out that ",
    "we now know that ",
    "the lesson here is ",
    "the lesson is ",
    "the takeaway is ",
    "the key takeaway is ",
    "note for next time",
    "it turned out that ",
];

const CAUSES: [&str; 12] = [
    "root cause was ",
    "root cause is ",
    "root cause turned out to be ",
    "the cause was ",
    "was caused by ",
    "were caused by ",
    "is caused by ",
    "the problem was ",
    "the issue was ",
    "the bug was ",
    "the culprit was ",
    "was failing because ",
];
const FIXES: [&str; 15] = [
    "fixed by ",
    "fixed it by ",
    "fixed this by ",
    "fixed that by ",
    "solved by ",
    "solved it by ",
    "resolved by ",
    "resolved it by ",
    "the fix was ",
    "the solution was ",
    "i fixed ",
    "we fixed ",
    "fixed with ",
    "it is fixed now by ",
    "solved this by ",
];
const FIXERS: [&str; 9] = [
    "fixed ",
    "i fixed ",
    "we fixed ",
    "i've fixed ",
    "we've fixed ",
    "resolved ",
    "i resolved ",
    "we resolved ",
    "solved ",
];

/// Words before a rule's words that take the saying back: not so, not yet so, asked, told to say, or told by others.
const TAKES_BACK: [&str; 62] = [
    "if",
    "whether",
    "should",
    "would",
    "could",
    "might",
    "may",
    "can",
    "unless",
    "until",
    "once",
    "before",
    "when",
    "why",
    "how",
    "what",
    "which",
    "where",
    "who",
    "had",
    "suppose",
    "imagine",
    "assume",
    "assuming",
    "pretend",
    "not",
    "never",
    "nobody",
    "haven't",
    "hasn't",
    "didn't",
    "don't",
    "doesn't",
    "wasn't",
    "isn't",
    "cannot",
    "can't",
    "maybe",
    "perhaps",
    "probably",
    "likely",
    "think",
    "say",
    "says",
    "said",
    "claims",
    "write",
    "add",
    "record",
    "document",
    "explain",
    "tell",
    "please",
    "list",
    "find",
    "remember",
    "describe",
    "summarize",
    "example",
    "will",
    "ask",
    "grep",
];
/// Words that make a cause or a fix a guess or a plan.
const GUESSES: [&str; 20] = [
    "probably",
    "likely",
    "suspect",
    "perhaps",
    "maybe",
    "possibly",
    "might",
    "may",
    "seems",
    "seem",
    "could",
    "should",
    "would",
    "will",
    "think",
    "can",
    "unless",
    "if",
    "to be",
    "apparently",
];
/// What may precede "turns out".
const BEFORE_TURNS_OUT: [&str; 14] =
    ["it", "as", "so", "and", "but", "ok", "okay", "well", "ah", "oh", "yes", "now", "also", "actually"];

pub(super) fn says(sentence: &str) -> Option<Says> {
    if sentence.starts_with(['"', '“', '\'']) {
        return None;
    }
    let low = sentence.to_ascii_lowercase();
    let low = low.as_str();
    if labelled(low, &DECISION_LABELS).is_some_and(settled) || decision(low) {
        return Some(Says::Decision);
    }
    if let Some(says) = repair(low) {
        return Some(says);
    }
    (labelled(low, &LEARNING_LABELS).is_some_and(settled) || learning(low)).then_some(Says::Learning)
}

pub(super) fn is_reason(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    [
        "because ",
        "this is because ",
        "that's because ",
        "that is because ",
        "the reason is ",
        "the reason: ",
        "the main reason ",
    ]
    .iter()
    .any(|start| low.starts_with(start))
}

pub(super) fn is_reason_label(sentence: &str) -> bool {
    labelled(&sentence.to_ascii_lowercase(), &REASON_LABELS).is_some()
}

pub(super) fn is_fix(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    is_fix_label(sentence) || mends(&low) || fixed_by_doing(&low)
}

pub(super) fn is_fix_label(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    labelled(&low, &FIX_LABELS).is_some_and(|rest| settled(rest) && !guessed(rest))
}

fn settled(rest: &str) -> bool {
    !PENDING.iter().any(|pending| rest.starts_with(pending)) && !VAGUE.contains(&rest.trim_end_matches('.'))
}

fn decision(low: &str) -> bool {
    let object = DECISIONS
        .iter()
        .find_map(|phrase| behind(low, phrase))
        .or_else(|| DECIDED.iter().find_map(|decided| behind_decider(low, decided)));
    let first = |phrases: &[&str], object: &str| {
        phrases.iter().any(|phrase| {
            object.strip_prefix(phrase).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic() || c == '\''))
        })
    };
    object.is_some_and(|object| {
        let bare = object.strip_prefix("the ").unwrap_or(object);
        !first(&VAGUE, bare) && !first(&STEPS, object)
    })
}

/// What follows the words for deciding when somebody who decides stands before them.
fn behind_decider<'a>(low: &'a str, decided: &str) -> Option<&'a str> {
    let at = find_words(low, decided)?;
    let before = low[..at].trim_end();
    let lead = DECIDERS.iter().filter_map(|decider| before.strip_suffix(decider));
    let mut lead = lead.filter(|lead| !lead.ends_with(|c: char| c.is_alphanumeric() || c == '\''));
    lead.any(lead_allows).then(|| &low[at + decided.len()..])
}

fn learning(low: &str) -> bool {
    if low.starts_with("til ") || low.starts_with("til, ") {
        return true;
    }
    if let Some(at) = find_words(low, "turns out").or_else(|| find_words(low, "turned out that")) {
        let lead = &low[..at];
        let rest = low[at..].trim_start_matches("turns out").trim_start();
        let fine =
            ["fine", "well", "ok", "good", "great", "to be fine", "nice"].iter().any(|word| rest.starts_with(word));
        return words(lead).all(|word| BEFORE_TURNS_OUT.contains(&word)) && !fine;
    }
    LEARNINGS.iter().any(|phrase| match *phrase {
        // Without a subject it must open the sentence.
        "learned that " | "note for next time" => low.starts_with(phrase),
        phrase => behind(low, phrase).is_some(),
    })
}

fn repair(low: &str) -> Option<Says> {
    let caused = labelled(low, &CAUSE_LABELS).is_some_and(|rest| settled(rest) && !rest.starts_with("un"))
        || CAUSES.iter().any(|phrase| {
            behind(low, phrase).is_some_and(|rest| {
                !["unknown", "unclear", "not ", "fixed", "solved", "resolved"].iter().any(|no| rest.starts_with(no))
            })
        });
    if (caused && mends(low)) || fixed_by_doing(low) {
        return Some(Says::Fixed);
    }
    (caused && !guessed(low)).then_some(Says::Cause)
}

fn mends(low: &str) -> bool {
    !guessed(low)
        && (FIXES.iter().any(|phrase| {
            find_words(low, phrase).is_some_and(|at| !opens_quote(&low[..at]) && !ends_negated(&low[..at]))
        }) || FIXERS.iter().any(|start| low.starts_with(start)))
}

/// "Fixed the crash by pinning the version", or "… was fixed by pinning …".
fn fixed_by_doing(low: &str) -> bool {
    let starts = FIXERS.iter().any(|start| low.starts_with(start));
    let passive = ["was fixed by ", "were fixed by ", "got fixed by ", "was resolved by ", "was solved by "];
    let from = match passive.iter().find_map(|phrase| find_words(low, phrase)) {
        Some(at) if lead_allows(&low[..at]) => at,
        _ if starts => 0,
        _ => return false,
    };
    let doing = low[from..].match_indices(" by ").any(|(at, by)| {
        let word = words(&low[from + at + by.len()..]).next().unwrap_or_default();
        word.len() > 4 && word.ends_with("ing")
    });
    doing && !guessed(low)
}

fn ends_negated(lead: &str) -> bool {
    words(lead).last().is_some_and(|word| matches!(word, "not" | "never" | "be" | "isn't" | "wasn't" | "been"))
}

fn guessed(low: &str) -> bool {
    GUESSES.iter().any(|guess| {
        // "if" and "can" inside a fix are what it is about; only what precedes the mending counts.
        let end = low.find(" by ").unwrap_or(low.len());
        find_words(&low[..end], guess).is_some()
    })
}

/// What follows a phrase whose lead does not take it back.
fn behind<'a>(low: &'a str, phrase: &str) -> Option<&'a str> {
    let at = find_words(low, phrase)?;
    lead_allows(&low[..at]).then(|| &low[at + phrase.len()..])
}

fn lead_allows(lead: &str) -> bool {
    // "the thing that we decided" is about the thing.
    let relative = words(lead).last().is_some_and(|word| matches!(word, "that" | "as" | "like"));
    lead.chars().count() <= 120
        && !relative
        && !opens_quote(lead)
        && !words(lead).any(|word| TAKES_BACK.contains(&word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}
