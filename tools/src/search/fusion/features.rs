//! Bonuses and penalties apart from words and meaning: for length, questions, times and speakers.

use std::collections::HashSet;

use chrono::NaiveDate;

use crate::search::candidate::Passage;
use crate::search::dates::{self, AskedTimes};
use crate::search::text_features::{self, MAX_UTTERANCE_TOKENS};

/// Greatest penalty of a passage that is too short to say much.
const SHORT_PASSAGE: f32 = 0.15;
/// Tokens from which a passage is not short.
const ENOUGH_TOKENS: f32 = 60.0;
/// Penalty of an utterance that is only a question.
const QUESTION_PENALTY: f32 = 0.065;
/// Bonus of an utterance with a time if the question asks for one, and of one by a speaker whom the question names.
const TIME_BONUS: f32 = 0.08;
const SPEAKER_BONUS: f32 = 0.07;
/// Bonus of a passage of the day that the question names.
const DATE_BONUS: f32 = 0.3;

/// Features of a question besides its words.
#[derive(Debug)]
pub(super) struct QuestionFeatures<'a> {
    asks_when: bool,
    names: HashSet<String>,
    asked_times: &'a AskedTimes,
}

impl<'a> QuestionFeatures<'a> {
    pub(super) fn new(question: &str, asked_times: &'a AskedTimes) -> Self {
        Self {
            asks_when: text_features::asks_for_time(question),
            names: text_features::folded_words(question),
            asked_times,
        }
    }

    /// Bonuses minus penalties of a passage of `length` tokens.
    pub(super) fn bonus(&self, passage: &Passage, length: u32, is_question: bool) -> f32 {
        let text = passage.text();
        let mut bonus = -SHORT_PASSAGE * (1.0 - ((length as f32).ln_1p() / ENOUGH_TOKENS.ln()).min(1.0));
        if length <= MAX_UTTERANCE_TOKENS {
            bonus -= if is_question { QUESTION_PENALTY } else { 0.0 };
            bonus += if self.asks_when && text_features::mentions_time(text) { TIME_BONUS } else { 0.0 };
            bonus += if text_features::is_spoken_by(text, &self.names) { SPEAKER_BONUS } else { 0.0 };
        }
        if !self.asked_times.is_empty()
            && let Some(day) = passage_day(passage)
        {
            // A long text names many times.
            let said = if length <= MAX_UTTERANCE_TOKENS { text } else { "" };
            bonus += DATE_BONUS * self.asked_times.best_fit(day, said);
        }
        bonus
    }
}

/// The day of a passage: of its capture or log, or in its headings or file name.
pub(super) fn passage_day(passage: &Passage) -> Option<NaiveDate> {
    passage.at().map(|at| at.date()).or_else(|| match passage {
        Passage::Chunk(chunk) => dates::first_day(&chunk.heading).or_else(|| dates::first_day(&chunk.path)),
        Passage::Memory(_) => None,
    })
}
