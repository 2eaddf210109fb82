//! Finds the conclusions in a message: decisions, learnings, fixes, preferences, conventions and open steps, in English and Korean.
//!
//! A small network judges every sentence by its words and the sentences around it; docs/dev/conclusions.md has its accuracy. In doubt it
//! rejects, because a wrong conclusion costs more than a missed one. It ignores code, block quotes, tables and questions.

mod cues;
mod listed_steps;
pub mod message;
pub mod network;
mod pasted_output;
pub mod placed_sentences;
mod plain;
mod summarized_steps;
pub mod tokens;

use std::ops::Range;
use std::sync::LazyLock;

use crate::model::memory::MemoryType;
use cues::{CONVENTION, ERROR_FIX, LEARNING, OPEN_STEP, PREFERENCE};
pub(crate) use cues::{counts_steps, introduces_steps};
use listed_steps::listed_steps;
pub use message::Speaker;
use message::{Judged, judged};
use network::{ClassifierNetwork, Probabilities};
use placed_sentences::Place;
pub(crate) use summarized_steps::summarized_steps;

/// The kinds of conclusions, in the order of the network's classes. An open step is a task.
pub const KINDS: [MemoryType; 6] = [
    MemoryType::Decision,
    MemoryType::Learning,
    MemoryType::ErrorFix,
    MemoryType::Preference,
    MemoryType::Convention,
    MemoryType::Task,
];

/// The least confidence for each kind, chosen on messages outside the training set so that about nine of ten conclusions are right, and few
/// sentences of ordinary chats count as conclusions.
pub const LEAST_CONFIDENCE: [f32; 6] = [0.88, 0.72, 0.84, 0.76, 0.84, 0.70];

/// The share of the least confidence that suffices for an uncertain conclusion; see docs/dev/stories.md.
const UNCERTAIN: f32 = 0.4;

/// The share of the least confidence that suffices for a sentence with a cue of the kind.
const WITH_CUE: f32 = 0.75;

/// The confidence that suffices for a sentence that states a conclusion by its opening.
const LEAST_STATED: f32 = 0.08;

/// The least probability of a conclusion of any kind in plain words of a person, and in a message that also asks something: there the
/// network expects no conclusion.
const LEAST_PLAIN: f32 = 0.1;
const LEAST_PLAIN_WITH_QUESTION: f32 = 0.01;

/// The weight that the opening of a sentence has in the guess of a kind.
const STATED_WEIGHT: f32 = 1.0;

/// The share of the least confidence that is enough for a sentence after a conclusion of the same kind, such as a reason or the fix of a
/// cause.
const NEIGHBOUR: f32 = 0.8;

/// The most sentences of one conclusion.
const MOST_SENTENCES: usize = 2;

/// The longest message that is read, in bytes. Longer ones are pasted files and logs.
const LONGEST_MESSAGE: usize = 64 * 1024;

/// The shortest conclusion in columns (Hangul takes two), the shortest open step in a list of them, and the longest conclusion in characters.
const LEAST_COLUMNS: usize = 12;
const LEAST_STEP: usize = 6;
const MOST_CHARACTERS: usize = 600;

/// A conclusion in a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// One of `KINDS`.
    pub kind: MemoryType,
    /// The sentences that state it, unchanged.
    pub text: String,
    /// Their place in the message, in bytes.
    pub range: Range<usize>,
    /// From 0 to 1.
    pub confidence: f32,
}

static NETWORK: LazyLock<ClassifierNetwork> = LazyLock::new(|| {
    ClassifierNetwork::parse(include_bytes!("classifier/weights.bin"))
        .expect("a test reads the weights that are built in")
});

/// Returns the conclusions in a message, in order. Private parts must be removed before.
pub fn classify(text: &str, speaker: Speaker) -> Vec<Conclusion> {
    classify_with(&NETWORK, text, speaker, &LEAST_CONFIDENCE)
}

/// Returns the conclusions in a message, including uncertain ones.
pub(crate) fn classify_loosely(text: &str, speaker: Speaker) -> Vec<Conclusion> {
    classify_with(&NETWORK, text, speaker, &LEAST_CONFIDENCE.map(|least| least * UNCERTAIN))
}

/// Whether a person takes back what was said before, as in "forget it".
pub(crate) fn takes_back(prompt: &str) -> bool {
    plain::last_retraction(prompt).is_some()
}

/// Returns the conclusions in a message according to a network and the least confidence for each kind.
pub fn classify_with(network: &ClassifierNetwork, text: &str, speaker: Speaker, least: &[f32; 6]) -> Vec<Conclusion> {
    if text.len() > LONGEST_MESSAGE {
        return Vec::new();
    }
    let message = judged(network, text, speaker);
    let probabilities = network.judge(&message);
    accepted(text, &message, &probabilities, least)
}

/// Returns the likeliest kind of a text that a person saves without a type, or `None` if the text has no sentence. Unlike [`classify`], it
/// always decides if it can judge.
pub fn likeliest_kind(text: &str) -> Option<MemoryType> {
    let message = judged(&*NETWORK, text, Speaker::Person);
    let mut sums = [0.0_f32; KINDS.len()];
    for (judged, probabilities) in message.iter().zip(NETWORK.judge(&message)) {
        sums.iter_mut().zip(probabilities).for_each(|(sum, probability)| *sum += probability);
        let sentence = &text[judged.sentence.range.clone()];
        if let Some(class) = cues::stated_kind(sentence).or_else(|| plain::plain_kind(sentence)) {
            sums[class] += STATED_WEIGHT;
        }
    }
    let best = sums.iter().zip(KINDS).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(sum, _)| **sum > 0.0).map(|(_, kind)| kind)
}

/// Returns the conclusions with enough confidence, with the sentences that belong to them.
fn accepted(text: &str, message: &[Judged], probabilities: &[Probabilities], least: &[f32; 6]) -> Vec<Conclusion> {
    let mut found: Vec<Conclusion> = Vec::new();
    let mut last: Option<LastAccepted> = None;
    let retraction = plain::last_retraction(text).unwrap_or_default();
    let asks = message.iter().any(|judged| judged.is_question);
    let least_plain = if asks { LEAST_PLAIN_WITH_QUESTION } else { LEAST_PLAIN };
    let is_listed = |judged: &Judged| {
        text_before(text, message, judged).is_some_and(cues::is_steps_heading)
            && !cues::is_no_step(&text[judged.sentence.range.clone()])
    };
    let first_listed = message.iter().position(is_listed).unwrap_or_default();
    for (index, (judged, probabilities)) in message.iter().zip(probabilities).enumerate() {
        let range = judged.sentence.range.clone();
        let sentence = &text[range.clone()];
        let before = text_before(text, message, judged);
        let step = is_listed_step(judged, before).then_some(OPEN_STEP);
        if is_excluded(sentence, judged, step, retraction) {
            continue;
        }
        let judged_kind = judge_sentence(sentence, before, judged, probabilities, step, least_plain, least);
        let Some((class, confidence)) = judged_kind else { continue };
        // A list of open steps repeats what the sentences before it say is missing.
        let is_repeated = || index < first_listed && step.is_none() && !cues::begins_with_steps_heading(sentence);
        let is_first_of_prompt = judged.speaker == Speaker::Person && judged.before.is_none();
        if class == OPEN_STEP && (is_repeated() || is_first_of_prompt && cues::begins_with_next(sentence)) {
            continue;
        }
        let kind = KINDS[class];
        let has_cue = confidence < least[class] && cues::has_cue(class, sentence);
        let needed = if has_cue { least[class] * WITH_CUE } else { least[class] };
        let is_previous = |at: usize| at + 1 == index && message[at].sentence.passage == judged.sentence.passage;
        let previous = last.filter(|last| is_previous(last.index));
        let is_reason = previous.is_some() && plain::is_reason(sentence);
        let continued = previous.zip(found.last_mut().filter(|before| before.kind == kind || is_reason));
        if let Some((previous, before)) = continued {
            if confidence < needed * NEIGHBOUR && !is_reason {
                continue;
            }
            // Skip further sentences of the same kind: two are enough.
            if previous.sentences < MOST_SENTENCES && fits(&text[before.range.start..range.end], LEAST_COLUMNS) {
                before.range.end = range.end;
                before.confidence = before.confidence.max(confidence);
                before.text = text[before.range.clone()].to_owned();
            }
            last = Some(LastAccepted { index, sentences: previous.sentences + 1 });
        } else if confidence >= needed {
            found.push(Conclusion { kind, text: sentence.to_owned(), range, confidence });
            last = Some(LastAccepted { index, sentences: 1 });
        }
    }
    found.into_iter().flat_map(|conclusion| separate(text, conclusion)).collect()
}

/// The last sentence that belongs to a conclusion.
#[derive(Debug, Clone, Copy)]
struct LastAccepted {
    index: usize,
    /// The number of this sentence in its conclusion, from 1.
    sentences: usize,
}

/// Whether a sentence cannot be a conclusion. Sentences of a person up to `retraction` were taken back.
fn is_excluded(sentence: &str, judged: &Judged, step: Option<usize>, retraction: usize) -> bool {
    let least_columns = if step.is_some() { LEAST_STEP } else { LEAST_COLUMNS };
    let is_heading = judged.sentence.place == Place::Heading;
    // A sentence with a secret is an instruction for now, and says little without the secret.
    let is_redacted = sentence.contains("[redacted: ");
    let is_taken_back = judged.speaker == Speaker::Person && judged.sentence.range.end <= retraction;
    judged.is_question
        || is_heading
        || is_taken_back
        || is_redacted
        || cues::names_no_step(sentence)
        || !fits(sentence, least_columns)
}

/// Returns the class of a sentence and its confidence, or `None` if the sentence is certainly no conclusion.
fn judge_sentence(
    sentence: &str,
    before: Option<&str>,
    judged: &Judged,
    probabilities: &Probabilities,
    step: Option<usize>,
    least_plain: f32,
    least: &[f32; 6],
) -> Option<(usize, f32)> {
    let is_japanese = sentence.chars().any(is_kana);
    let is_plain_step = step.is_some() && before.is_some_and(cues::is_steps_heading)
        || cues::begins_with_steps_heading(sentence)
        || before.is_some_and(cues::counts_steps);
    let stated = match is_japanese {
        false if is_plain_step => Some(OPEN_STEP),
        true => step.or_else(|| cues::japanese_kind(sentence)),
        false => {
            let may_be_plain = judged.speaker == Speaker::Person && any(probabilities) >= least_plain;
            let plain = || may_be_plain.then(|| plain::plain_kind(sentence)).flatten();
            stated_kind(sentence, judged.speaker, probabilities, step).or_else(plain)
        }
    };
    if let Some(class) = stated {
        return Some((class, probabilities[class].max(least[class])));
    }
    // The network knows no Japanese, so its guesses do not count.
    if is_japanese {
        return None;
    }
    let (class, confidence) = confidence(probabilities);
    let teaches = matches!(class, LEARNING | ERROR_FIX);
    let is_order = teaches && judged.speaker == Speaker::Person && plain::is_request(sentence);
    (!is_order).then_some((class, confidence))
}

/// Separates the steps of a list in one sentence, because each has its own end.
fn separate(text: &str, conclusion: Conclusion) -> Vec<Conclusion> {
    if conclusion.kind != KINDS[OPEN_STEP] {
        return vec![conclusion];
    }
    let step = |range: Range<usize>| Conclusion { text: text[range.clone()].to_owned(), range, ..conclusion.clone() };
    listed_steps(text, conclusion.range.clone()).into_iter().map(step).collect()
}

/// Returns the kind of conclusion that a sentence states by its opening or its list.
fn stated_kind(sentence: &str, speaker: Speaker, probabilities: &Probabilities, step: Option<usize>) -> Option<usize> {
    let is_person = speaker == Speaker::Person;
    if let Some(kept) = plain::kind_to_remember(sentence).filter(|_| is_person) {
        return Some(kept);
    }
    if is_person && plain::is_preference(sentence) {
        return Some(PREFERENCE);
    }
    if !is_person && plain::promises_a_rule(sentence) {
        return Some(CONVENTION);
    }
    cues::stated_kind(sentence).or(step).filter(|class| probabilities[*class] >= LEAST_STATED)
}

/// Returns the sentence before another one, or the line that introduces its list.
fn text_before<'t>(text: &'t str, message: &[Judged], judged: &Judged) -> Option<&'t str> {
    let before = message.get(judged.before?)?;
    Some(&text[before.sentence.range.clone()])
}

/// Whether a sentence is an item in a list of open steps.
fn is_listed_step(judged: &Judged, before: Option<&str>) -> bool {
    let is_item = matches!(judged.sentence.place, Place::Item | Place::OpenItem) && judged.sentence.lead.is_some();
    is_item && before.is_some_and(cues::introduces_steps)
}

fn fits(text: &str, least_columns: usize) -> bool {
    let columns: usize = text.chars().map(|c| if c >= '\u{1100}' { 2 } else { 1 }).sum();
    // A single word is a name or a term that somebody looks up. Japanese has no spaces.
    let is_sentence = text.split_whitespace().nth(1).is_some() || text.chars().any(is_kana);
    is_sentence && columns >= least_columns && text.chars().count() <= MOST_CHARACTERS
}

/// The confidence that a sentence is a conclusion of any kind.
fn any(probabilities: &Probabilities) -> f32 {
    1.0 - probabilities[KINDS.len()]
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}')
}

/// Returns the likeliest kind and its confidence. If a sentence is surely a conclusion, its kind may be less certain.
fn confidence(probabilities: &Probabilities) -> (usize, f32) {
    let (class, of_kind) = (0..KINDS.len())
        .map(|class| (class, probabilities[class]))
        .fold((0, 0.0f32), |best, of| if of.1 > best.1 { of } else { best });
    (class, any(probabilities).min(of_kind * DOUBT_OF_KIND))
}

/// How much more likely a conclusion of any kind may be than the likeliest kind.
const DOUBT_OF_KIND: f32 = 1.3;

#[cfg(test)]
mod tests;
