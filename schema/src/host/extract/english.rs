//! The rules for English.

mod common;
mod decisions;
mod fixes;

use super::phrases::{SentenceMeaning, find_phrase, phrases, starts_with_phrase, strip_label};
use common::{is_in_list, is_passing_state, is_settled_cause, text_after_phrase, words};
pub(super) use fixes::{is_fix, is_fix_label};

const LEARNING_LABELS: &str = "\
    worth remembering|learned|learnings|learning|key learning|lesson|lesson learned|lessons learned|til|takeaway\
    |key takeaway|note for next time|for next time|note to self|for future reference|gotcha|pitfall|key insight\
    |good to know|what i learned|what we learned";
const REASONS: &str = "\
    because |this is because |that's because |that is because |the reason is |the reason: |the main reason ";
const REASON_LABELS: &str = "reason|reasons|rationale|why|because";

/// Phrases that introduce a learning.
const LEARNINGS: &str = "\
    we found out the hard way that |we learned that |i learned that |i've learned that |we've learned that \
    |we learnt that |i learnt that |we've learned the hard way that |we learned the hard way that \
    |i found out that |we found out that |we discovered that |i discovered that |we've discovered that \
    |i realized that |we realized that |i realised that |we realised that |we now know that |the gotcha is that \
    |the lesson here is |the lesson is |the takeaway is |the key takeaway is ";
/// Phrases that introduce a learning only at the start of a sentence.
const OPENINGS: &str = "learned that |keep in mind that |note for next time";

/// Words about something that happened once.
const EPISODES: &str = "was were had did didn't wasn't weren't forgot";
/// Words that a learning cannot begin with.
const PERSONAL: &str = "i i'm i've you your he she they we we've my it it's there this that nothing nobody someone";

/// Words that may precede "turns out".
const BEFORE_TURNS_OUT: &str = "\
    it as so and but ok okay well ah oh yes now also actually";

pub(super) fn classify_sentence(sentence: &str) -> Option<SentenceMeaning> {
    if sentence.starts_with(['"', '“', '\'']) {
        return None;
    }
    let low = sentence.to_ascii_lowercase();
    let low = low.as_str();
    if decisions::is_decision(low) {
        return Some(SentenceMeaning::Decision);
    }
    if let Some(says) = fixes::classify_repair(low) {
        return Some(says);
    }
    (strip_label(low, LEARNING_LABELS).is_some_and(is_settled_cause) || is_learning(low))
        .then_some(SentenceMeaning::Learning)
}

pub(super) fn is_reason(sentence: &str) -> bool {
    let low = sentence.to_ascii_lowercase();
    starts_with_phrase(&low, REASONS)
}

pub(super) fn is_reason_label(sentence: &str) -> bool {
    strip_label(&sentence.to_ascii_lowercase(), REASON_LABELS).is_some()
}

fn is_learning(low: &str) -> bool {
    if low.starts_with("til ") || low.starts_with("til, ") {
        return !low.starts_with("til about ");
    }
    for phrase in ["turns out", "turned out that"] {
        if let Some(at) = find_phrase(low, phrase) {
            let said = low[at + phrase.len()..].trim_start();
            return words(&low[..at]).all(|word| is_in_list(BEFORE_TURNS_OUT, word)) && is_lasting(said);
        }
    }
    phrases(OPENINGS)
        .any(|phrase| low.strip_prefix(phrase).is_some_and(|said| phrase.ends_with("time") || is_lasting(said)))
        || phrases(LEARNINGS).any(|phrase| text_after_phrase(low, phrase).is_some_and(is_lasting))
}

/// Whether a learning still holds tomorrow: not the state of a file or a test, no single event, and nothing about the people who talk.
fn is_lasting(said: &str) -> bool {
    let said = said.strip_prefix("that ").unwrap_or(said);
    let fine = starts_with_phrase(said, "fine|well|ok|good|great|to be |nice");
    let personal = words(said).next().is_none_or(|word| is_in_list(PERSONAL, word));
    let episode = words(said).any(|word| is_in_list(EPISODES, word));
    !fine && !personal && !episode && !is_passing_state(said)
}
