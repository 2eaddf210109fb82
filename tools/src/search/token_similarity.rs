//! Similar tokens: how much of a question a text says in words of similar meaning, in any language of the model.
//!
//! Matches each piece of the question with the nearest piece of the text. A mean vector blurs a long text, a best match
//! does not: alone it finds 57 % of LoCoMo's turns in the top five, the mean 39 %.

use std::cell::RefCell;
use std::collections::HashMap;

use pulp::{Arch, Simd, WithSimd};

use super::text_features::UTTERANCE;
use crate::embed::{LocalModel, visit_runs};
use crate::text::token_hashes::{TokenHasher, token_hash};

/// Bytes of a text that are examined.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Most pieces of a question; pasted text has more.
const MAX_PIECES: usize = 48;

/// Least share of a question that the model must know, because single letters are in every text.
const MIN_COVERAGE: f32 = 0.5;

/// Pieces of a window of the text.
const PART: usize = 48;
/// Weight of the best window; the rest is for the whole text.
const PART_SHARE: f32 = 0.8;

/// Cosine from which pieces are related.
pub(super) const MIN_COSINE: f32 = 0.3;
/// The same in a long passage.
pub(super) const MIN_COSINE_IN_LONG: f32 = 0.45;

#[derive(Debug)]
pub(super) struct TokenSimilarity<'m> {
    model: &'m LocalModel,
    /// Directions of the pieces.
    pieces: Vec<Vec<f32>>,
    /// Weights of the pieces; their sum is 1.
    weights: Vec<f32>,
    table: RefCell<SimilarityTable>,
}

/// Cached cosines between pieces of the question and of texts.
#[derive(Debug, Default)]
struct SimilarityTable {
    /// Row number plus 1 of each piece; 0 if not computed.
    places: Vec<u32>,
    /// One cosine per piece of the question.
    rows: Vec<f32>,
    /// The piece of each row.
    tokens: Vec<u32>,
    /// Runs by hash: the range that lists the rows of their pieces. Similar texts share most runs.
    runs: HashMap<u64, (u32, u32), TokenHasher>,
    listed: Vec<u32>,
    /// Buffer for a piece's unpacked row.
    row: Vec<f32>,
}

impl<'m> TokenSimilarity<'m> {
    /// `None` if the model does not know the question.
    pub(super) fn new(model: &'m LocalModel, question: &str) -> Option<Self> {
        if !is_known_question(model, question) {
            return None;
        }
        let mut tokens: Vec<u32> = Vec::new();
        for token in model.piece_ids(question) {
            if tokens.len() < MAX_PIECES && !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        // A row's length is the piece's weight: small for common words.
        let (pieces, lengths): (Vec<Vec<f32>>, Vec<f32>) =
            tokens.iter().filter_map(|token| model.piece_direction(*token)).unzip();
        let sum: f32 = lengths.iter().sum();
        let weights = lengths.iter().map(|length| length / sum).collect();
        (sum > 0.0).then(|| Self { model, pieces, weights, table: RefCell::default() })
    }

    /// Number of pieces of the question.
    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// For each piece of the question the greatest cosine with a piece of the text, at least 0. Mostly that of the best
    /// window, because a long text has something similar to every word somewhere. Also returns the pieces of a long text.
    pub(super) fn nearest_tokens(&self, text: &str) -> (Vec<f32>, Vec<u32>) {
        let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let mut known = self.table.borrow_mut();
        let mut rows: Vec<u32> = Vec::with_capacity(text.len() / 3);
        visit_runs(&text[..end], |run| {
            let (from, to) = self.rows_of_run(&mut known, run);
            rows.extend_from_slice(&known.listed[from as usize..to as usize]);
        });
        let row = |place: &u32| &known.rows[*place as usize * self.pieces.len()..][..self.pieces.len()];
        let halves: Vec<Vec<f32>> = rows.chunks(PART / 2).map(|rows| self.row_maxima(rows.iter().map(row))).collect();
        let mut nearest = self.row_maxima(halves.iter().map(Vec::as_slice));
        if rows.len() > UTTERANCE as usize {
            let parts = halves.windows(2).map(|halves| self.row_maxima(halves.iter().map(Vec::as_slice)));
            let said = |part: &Vec<f32>| self.mean_share(part.iter().map(|cosine| match_strength(*cosine, MIN_COSINE)));
            if let Some(best) = parts.max_by(|a, b| said(a).total_cmp(&said(b))) {
                nearest.iter_mut().zip(best).for_each(|(whole, part)| *whole += PART_SHARE * (part - *whole));
            }
            rows.iter_mut().for_each(|row| *row = known.tokens[*row as usize]);
            return (nearest, rows);
        }
        (nearest, Vec::new())
    }

    fn row_maxima<'r>(&self, rows: impl Iterator<Item = &'r [f32]>) -> Vec<f32> {
        let mut greatest = vec![0.0f32; self.pieces.len()];
        for row in rows {
            greatest.iter_mut().zip(row).for_each(|(greatest, alike)| *greatest = greatest.max(*alike));
        }
        greatest
    }

    /// The share of the question that a text says, from 0 to 1.
    pub(super) fn matched_share(&self, strengths: &[f32]) -> f32 {
        self.mean_share(strengths.iter().copied())
    }

    fn mean_share(&self, strengths: impl Iterator<Item = f32>) -> f32 {
        self.weights.iter().zip(strengths).map(|(weight, strength)| weight * strength).sum()
    }

    /// The rows of a run's pieces, computed at first use.
    fn rows_of_run(&self, known: &mut SimilarityTable, run: &str) -> (u32, u32) {
        let hash = token_hash(run);
        if let Some(range) = known.runs.get(&hash) {
            return *range;
        }
        let from = known.listed.len() as u32;
        for piece in &*self.model.run_piece_ids(run) {
            let place = self.row_of_token(known, *piece);
            known.listed.push(place);
        }
        let range = (from, known.listed.len() as u32);
        known.runs.insert(hash, range);
        range
    }

    /// The row of a token, computed at first use.
    fn row_of_token(&self, known: &mut SimilarityTable, token: u32) -> u32 {
        let at = token as usize;
        if known.places.len() <= at {
            known.places.resize(at + 1, 0);
        }
        if let Some(place) = known.places[at].checked_sub(1) {
            return place;
        }
        let place = (known.rows.len() / self.pieces.len()) as u32;
        Arch::new().dispatch(SimilarityRow { similarity: self, table: known, token });
        known.tokens.push(token);
        known.places[at] = place + 1;
        place
    }
}

/// Compares a piece with those of the question with the processor's SIMD features. A struct, because a closure might be
/// compiled for the baseline processor.
struct SimilarityRow<'r> {
    similarity: &'r TokenSimilarity<'r>,
    table: &'r mut SimilarityTable,
    token: u32,
}

impl WithSimd for SimilarityRow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { similarity, table: known, token } = self;
        known.row.clear();
        known.row.resize(similarity.pieces.first().map_or(0, Vec::len), 0.0);
        let length = similarity.model.copy_row(token, &mut known.row).unwrap_or(f32::INFINITY);
        for piece in &similarity.pieces {
            known.rows.push(dot_product(piece, &known.row) / length);
        }
    }
}

/// Whether the model knows enough of a question.
pub(super) fn is_known_question(model: &LocalModel, question: &str) -> bool {
    model.coverage(question) >= MIN_COVERAGE
}

/// Strength from 0 to 1 of a piece whose nearest has this cosine; `alike` is the least cosine of related pieces.
pub(super) fn match_strength(cosine: f32, alike: f32) -> f32 {
    ((cosine - alike) / (1.0 - alike)).clamp(0.0, 1.0)
}

#[inline(always)]
pub(super) fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    // Independent sums, so that they are computed in parallel.
    let mut sums = [0.0f32; 16];
    let (a, _) = a.as_chunks::<16>();
    let (b, _) = b.as_chunks::<16>();
    for i in 0..a.len().min(b.len()) {
        for lane in 0..16 {
            sums[lane] += a[i][lane] * b[i][lane];
        }
    }
    sums.iter().sum()
}
