//! Long texts in parts that a model reads whole, parts in batches that a service takes, and the vectors of parts as one.

use crate::embed::Vector;

/// A part of fewer tokens is too short to be refused for its length.
pub(super) const FEWEST_TOKENS: usize = 16;

/// One text or a piece of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'t> {
    /// The number of the text.
    pub(super) text: usize,
    pub(super) words: &'t str,
}

/// How many tokens a text has at most, near enough: tokenisers differ, and none of them is here. Letters go in pairs at least,
/// digits and signs alone; what is not ASCII takes two and what lies beyond the first plane three.
pub(super) fn tokens(text: &str) -> usize {
    text.chars().map(half_tokens).sum::<usize>().div_ceil(2)
}

fn half_tokens(character: char) -> usize {
    match character {
        ' ' | 'a'..='z' | 'A'..='Z' => 1,
        '\0'..='\x7F' => 2,
        '\u{80}'..='\u{FFFF}' => 4,
        _ => 6,
    }
}

/// A text in parts of about the same length, each at most `most` tokens long, cut between paragraphs, sentences or words where
/// that can be. A text without words has no parts.
pub(super) fn split(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let most = most.max(FEWEST_TOKENS);
    let count = tokens(text).div_ceil(most);
    let aim = tokens(text).div_ceil(count.max(1)).min(most);
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let end = if tokens(rest) <= most { rest.len() } else { cut(rest, aim, most) };
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then(|| part.trim_end())
    })
}

/// Where to cut: as near to `aim` as there is a good place, and before `most` at any rate.
fn cut(text: &str, aim: usize, most: usize) -> usize {
    let mut halves = 0;
    // The best place so far: how good it is, and where.
    let mut best = (0, 0);
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        halves += half_tokens(character);
        if halves > most * 2 {
            return if best.0 > 0 { best.1 } else { at };
        }
        let worth = match (before, character) {
            ('\n', '\n') => 4,
            ('\n', _) => 3,
            ('.' | '?' | '!' | '。' | '？' | '！', ' ') => 2,
            (_, ' ') => 1,
            _ => 0,
        };
        // Not before three quarters of the way: parts of a few words say little.
        if at > 0 && worth >= best.0 && worth > 0 && halves * 2 > aim * 3 {
            best = (worth, at);
        }
        before = character;
    }
    if best.0 > 0 { best.1 } else { text.len() }
}

/// Parts in batches of at most so many texts and tokens. A part that is larger than a whole batch may be goes alone.
pub(super) fn batches<'b, 't>(
    parts: &'b [Part<'t>],
    most_texts: usize,
    most_tokens: usize,
) -> impl Iterator<Item = &'b [Part<'t>]> {
    let mut rest = parts;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fitting = rest.iter().take(most_texts).take_while(|part| {
            sum += tokens(part.words);
            sum <= most_tokens
        });
        let count = fitting.count().max(1).min(rest.len());
        let (batch, after) = rest.split_at(count);
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

/// The vectors of the parts of one text, added up.
#[derive(Debug, Default)]
pub(super) struct Sum(Vec<f64>);

impl Sum {
    /// Adds the direction of a part's vector with the part's length as its weight.
    pub(super) fn add(&mut self, part: &Part<'_>, vector: &[f32]) {
        let length = length(vector.iter().copied().map(f64::from));
        if length == 0.0 {
            return;
        }
        self.0.resize(vector.len(), 0.0);
        let weight = part.words.len() as f64 / length;
        self.0.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f64::from(*value) * weight);
    }

    /// The vector of the text.
    pub(super) fn direction(self) -> Vector {
        let length = length(self.0.iter().copied());
        (length > 0.0).then(|| self.0.iter().map(|value| (value / length) as f32).collect())
    }
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}
