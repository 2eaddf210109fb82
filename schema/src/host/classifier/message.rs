//! The input of the network: the tokens of each sentence, its neighbours, and a few features.

use super::placed_sentences::{Place, PlacedSentence, placed_sentences};
use super::tokens::{Sign, Token, Vocabulary, tokens};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The person, in a prompt.
    Person,
    /// The agent, in an answer.
    Agent,
}

/// How many features a sentence has besides its tokens.
pub const FEATURES: usize = 8;

/// The most sentences of a message that are judged, the last ones.
const MOST_SENTENCES: usize = 200;

/// A sentence and everything that it is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    pub sentence: PlacedSentence,
    pub tokens: Vec<Token>,
    /// The previous sentence, or the line that introduces the list.
    pub before: Option<usize>,
    pub after: Option<usize>,
    pub features: [f32; FEATURES],
    pub is_question: bool,
    pub speaker: Speaker,
}

/// Splits a message into sentences, and adds everything that they are judged by.
pub fn judged(vocabulary: &impl Vocabulary, text: &str, speaker: Speaker) -> Vec<Judged> {
    let mut sentences = placed_sentences(text);
    let skipped = sentences.len().saturating_sub(MOST_SENTENCES);
    sentences.drain(..skipped);
    let count = sentences.len();
    let quotes = text.lines().any(|line| line.starts_with("```") || line.starts_with('>'));
    let mut has_asked = false;
    let mut found = Vec::with_capacity(count);
    for (index, sentence) in sentences.iter().enumerate() {
        let words = &text[sentence.range.clone()];
        let is_question = words.trim_end_matches([')', '"', '*', ' ']).ends_with(['?', '？']);
        let next = sentences.get(index + 1);
        let is_next_part = next.is_some_and(|next| sentence.place == Place::Prose || next.passage == sentence.passage);
        let yes = |is: bool| f32::from(u8::from(is));
        found.push(Judged {
            sentence: sentence.clone(),
            tokens: tokens(vocabulary, words, &first_signs(speaker, sentence.place)),
            before: sentence.lead.and_then(|lead| lead.checked_sub(skipped)).or(index.checked_sub(1)),
            after: is_next_part.then_some(index + 1),
            features: [
                yes(speaker == Speaker::Agent),
                yes(count == 1),
                yes(index == 0),
                yes(index + 1 == count),
                yes(is_question),
                yes(quotes),
                (words.chars().count() as f32 / 100.0).min(2.0),
                yes(has_asked),
            ],
            is_question,
            speaker,
        });
        has_asked |= words.ends_with('?');
    }
    found
}

fn first_signs(speaker: Speaker, place: Place) -> Vec<Sign> {
    let speaker = if speaker == Speaker::Agent { Sign::Agent } else { Sign::Person };
    let place = match place {
        Place::Prose => None,
        Place::Item => Some(Sign::Item),
        Place::OpenItem => Some(Sign::OpenItem),
        Place::TickedItem => Some(Sign::TickedItem),
        Place::Heading => Some(Sign::Heading),
    };
    std::iter::once(speaker).chain(place).collect()
}
