//! Splits long texts into parts, packs parts into batches, and joins the vectors of parts.

/// A part of fewer tokens cannot be too long.
pub(super) const MIN_TOKENS: usize = 16;

/// A text or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPart<'t> {
    /// Index of the text.
    pub(super) text: usize,
    pub(super) words: &'t str,
}

/// Upper estimate of a text's tokens, because tokenisers differ. Letters count a half, digits and signs one, non-ASCII two,
/// and characters beyond the first plane three.
pub(super) fn estimate_tokens(text: &str) -> usize {
    text.chars().map(estimate_half_tokens).sum::<usize>().div_ceil(2)
}

fn estimate_half_tokens(character: char) -> usize {
    match character {
        ' ' | 'a'..='z' | 'A'..='Z' => 1,
        '\0'..='\x7F' => 2,
        '\u{80}'..='\u{FFFF}' => 4,
        _ => 6,
    }
}

/// Splits a text into parts of similar length with at most `most` tokens, preferably between paragraphs, sentences or
/// words. A text without words has no parts.
pub(super) fn split_text(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let most = most.max(MIN_TOKENS);
    let count = estimate_tokens(text).div_ceil(most);
    let aim = estimate_tokens(text).div_ceil(count.max(1)).min(most);
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let end = if estimate_tokens(rest) <= most { rest.len() } else { find_cut(rest, aim, most) };
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then(|| part.trim_end())
    })
}

/// The split point: the best one near `aim`, always before `most`.
fn find_cut(text: &str, aim: usize, most: usize) -> usize {
    let mut halves = 0;
    // Quality and place of the best split point so far.
    let mut best = (0, 0);
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        halves += estimate_half_tokens(character);
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
        // Not before three quarters of the way: short parts carry little meaning.
        if at > 0 && worth >= best.0 && worth > 0 && halves * 2 > aim * 3 {
            best = (worth, at);
        }
        before = character;
    }
    if best.0 > 0 { best.1 } else { text.len() }
}

/// Packs parts into batches with these limits. An oversized part gets its own batch.
pub(super) fn batch_parts<'b, 't>(
    parts: &'b [TextPart<'t>],
    most_texts: usize,
    most_tokens: usize,
) -> impl Iterator<Item = &'b [TextPart<'t>]> {
    let mut rest = parts;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fitting = rest.iter().take(most_texts).take_while(|part| {
            sum += estimate_tokens(part.words);
            sum <= most_tokens
        });
        let count = fitting.count().max(1).min(rest.len());
        let (batch, after) = rest.split_at(count);
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

/// Accumulates the vectors of a text's parts.
#[derive(Debug, Default)]
pub(super) struct DirectionSum(Vec<f64>);

impl DirectionSum {
    /// Adds a part's direction, weighted by the part's length.
    pub(super) fn add(&mut self, part: &TextPart<'_>, vector: &[f32]) {
        let length = vector_length(vector.iter().copied().map(f64::from));
        if length == 0.0 {
            return;
        }
        self.0.resize(vector.len(), 0.0);
        let weight = part.words.len() as f64 / length;
        self.0.iter_mut().zip(vector).for_each(|(sum, value)| *sum += f64::from(*value) * weight);
    }

    /// The text's vector.
    pub(super) fn into_vector(self) -> Option<Vec<f32>> {
        let length = vector_length(self.0.iter().copied());
        (length > 0.0).then(|| self.0.iter().map(|value| (value / length) as f32).collect())
    }
}

fn vector_length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}
