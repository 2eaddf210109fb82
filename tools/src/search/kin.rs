//! Kindred words: how much of a question's words a text says in words that mean much the same, in any language of the model.
//!
//! Each piece of the question is matched with the nearest piece of the text. The mean of a text's vectors blurs a long text;
//! the best match of each word does not: alone it finds 57 % of LoCoMo's turns among the first five, the mean 39 %.

use std::cell::RefCell;
use std::collections::HashMap;

use pulp::{Arch, Simd, WithSimd};

use super::manner::UTTERANCE;
use crate::embed::LocalModel;
use crate::text::hashes::{Hashes, hash};

/// Bytes of a text that are looked at.
const REACH: usize = 16 * 1024;

/// Pieces of a question that are looked for; a long text pasted as a question has more.
const MOST_PIECES: usize = 48;

/// The share of a question that the model has to know; a letter here and there is in every text.
const KNOWN: f32 = 0.5;

/// Pieces of a text within which it says one thing.
const PART: usize = 48;
/// What counts of that part, beside the whole text.
const OF_PART: f32 = 0.8;

/// Pieces less alike than this, as a cosine, have nothing to do with each other.
pub(super) const ALIKE: f32 = 0.3;
/// The same in a long passage.
pub(super) const ALIKE_IN_LONG: f32 = 0.45;

/// The words of a question.
#[derive(Debug)]
pub(super) struct Kin<'m> {
    model: &'m LocalModel,
    /// The direction of each piece.
    pieces: Vec<Vec<f32>>,
    /// What each piece weighs; they add up to 1.
    weights: Vec<f32>,
    known: RefCell<Known>,
}

/// How alike the pieces of a question are to pieces of texts, as far as it was asked.
#[derive(Debug, Default)]
struct Known {
    /// The number of a piece's row plus 1, by the number of the piece; 0 where it was not asked.
    places: Vec<u32>,
    /// Row by row, a cosine for each piece of the question.
    rows: Vec<f32>,
    /// The piece that each row is of.
    tokens: Vec<u32>,
    /// Runs of texts by their hashes: from where to where the rows of their pieces are listed. Texts about one thing share most of them.
    runs: HashMap<u64, (u32, u32), Hashes>,
    listed: Vec<u32>,
    /// Where the row of a piece of the model is unpacked.
    row: Vec<f32>,
}

impl<'m> Kin<'m> {
    /// `None` when the model does not know the question.
    pub(super) fn new(model: &'m LocalModel, question: &str) -> Option<Self> {
        if !knows(model, question) {
            return None;
        }
        let mut tokens: Vec<u32> = Vec::new();
        for token in model.tokens(question) {
            if tokens.len() < MOST_PIECES && !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        // The length of a row is what the piece weighs in a text: little for words that are everywhere.
        let (pieces, lengths): (Vec<Vec<f32>>, Vec<f32>) =
            tokens.iter().filter_map(|token| model.direction(*token)).unzip();
        let sum: f32 = lengths.iter().sum();
        let weights = lengths.iter().map(|length| length / sum).collect();
        (sum > 0.0).then(|| Self { model, pieces, weights, known: RefCell::default() })
    }

    /// How many pieces the question has.
    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// For each piece of the question the cosine of the piece of the text that is most like it, not below 0: mostly that in the
    /// part of it that says most, because a long text has something like every word somewhere. And the pieces of such a text.
    pub(super) fn nearest(&self, text: &str) -> (Vec<f32>, Vec<u32>) {
        let end = (0..=REACH.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let mut known = self.known.borrow_mut();
        let mut rows: Vec<u32> = Vec::with_capacity(text.len() / 3);
        self.model.runs(&text[..end], |run| {
            let (from, to) = self.run(&mut known, run);
            rows.extend_from_slice(&known.listed[from as usize..to as usize]);
        });
        let row = |place: &u32| &known.rows[*place as usize * self.pieces.len()..][..self.pieces.len()];
        let halves: Vec<Vec<f32>> = rows.chunks(PART / 2).map(|rows| self.greatest(rows.iter().map(row))).collect();
        let mut nearest = self.greatest(halves.iter().map(Vec::as_slice));
        if rows.len() > UTTERANCE as usize {
            let parts = halves.windows(2).map(|halves| self.greatest(halves.iter().map(Vec::as_slice)));
            let said = |part: &Vec<f32>| self.share_of(part.iter().map(|cosine| strength(*cosine, ALIKE)));
            if let Some(best) = parts.max_by(|a, b| said(a).total_cmp(&said(b))) {
                nearest.iter_mut().zip(best).for_each(|(whole, part)| *whole += OF_PART * (part - *whole));
            }
            rows.iter_mut().for_each(|row| *row = known.tokens[*row as usize]);
            return (nearest, rows);
        }
        (nearest, Vec::new())
    }

    fn greatest<'r>(&self, rows: impl Iterator<Item = &'r [f32]>) -> Vec<f32> {
        let mut greatest = vec![0.0f32; self.pieces.len()];
        for row in rows {
            greatest.iter_mut().zip(row).for_each(|(greatest, alike)| *greatest = greatest.max(*alike));
        }
        greatest
    }

    /// The share of the question that a text says, from 0 to 1.
    pub(super) fn share(&self, strengths: &[f32]) -> f32 {
        self.share_of(strengths.iter().copied())
    }

    fn share_of(&self, strengths: impl Iterator<Item = f32>) -> f32 {
        self.weights.iter().zip(strengths).map(|(weight, strength)| weight * strength).sum()
    }

    /// Where the rows of a run's pieces are listed, which are looked for when it is met first.
    fn run(&self, known: &mut Known, run: &str) -> (u32, u32) {
        let hash = hash(run);
        if let Some(range) = known.runs.get(&hash) {
            return *range;
        }
        let from = known.listed.len() as u32;
        for piece in &*self.model.pieces(run) {
            let place = self.place(known, *piece);
            known.listed.push(place);
        }
        let range = (from, known.listed.len() as u32);
        known.runs.insert(hash, range);
        range
    }

    /// The number of a token's row, which is computed when it is asked for first.
    fn place(&self, known: &mut Known, token: u32) -> u32 {
        let at = token as usize;
        if known.places.len() <= at {
            known.places.resize(at + 1, 0);
        }
        if let Some(place) = known.places[at].checked_sub(1) {
            return place;
        }
        let place = (known.rows.len() / self.pieces.len()) as u32;
        Arch::new().dispatch(Row { kin: self, known, token });
        known.tokens.push(token);
        known.places[at] = place + 1;
        place
    }
}

/// How alike a piece of a text is to those of the question, with what this processor has. No closure, because what calls one may be
/// compiled for the processor that every program has to do with.
struct Row<'r> {
    kin: &'r Kin<'r>,
    known: &'r mut Known,
    token: u32,
}

impl WithSimd for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { kin, known, token } = self;
        known.row.clear();
        known.row.resize(kin.pieces.first().map_or(0, Vec::len), 0.0);
        let length = kin.model.row_into(token, &mut known.row).unwrap_or(f32::INFINITY);
        for piece in &kin.pieces {
            known.rows.push(product(piece, &known.row) / length);
        }
    }
}

/// Whether a model knows enough of a question to tell what it is about.
pub(super) fn knows(model: &LocalModel, question: &str) -> bool {
    model.coverage(question) >= KNOWN
}

/// How strongly a text says a piece whose nearest has this cosine, from 0 to 1; from `alike` on they have to do with each other.
pub(super) fn strength(cosine: f32, alike: f32) -> f32 {
    ((cosine - alike) / (1.0 - alike)).clamp(0.0, 1.0)
}

#[inline(always)]
pub(super) fn product(a: &[f32], b: &[f32]) -> f32 {
    // Sums of their own, so that they are added at the same time.
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
