//! Trains the members of the network independently, with Adam on the cross-entropy of sentences. The vector of a token is a projection of
//! its vector in the static model, plus a learned part for frequent tokens.

use std::collections::{HashMap, HashSet};
use std::thread;

use schema::host::classifier::KINDS;
use schema::host::classifier::message::{FEATURES, Judged, judged};
use schema::host::classifier::network::{CLASSES, DIMS, FILTERS, Filters, Member, POOLED, Probabilities, WIDTHS};
use schema::host::classifier::placed_sentences::Place;
use schema::host::classifier::tokens::{SIGNS, Sign, Token};

use crate::labelled::Labelled;
use crate::vocabulary::{Pieces, STATIC_DIMS};

const EPOCHS: usize = 28;
const BATCH: usize = 16;
const RATE: f32 = 0.003;
const DECAY: f32 = 0.02;
/// The share of pooled values, of words, and of neighbours that are dropped during training. A dropped word becomes the unknown one, which
/// is what the network meets most in other messages.
const DROP: f32 = 0.5;
const DROP_WORDS: f32 = 0.35;
const DROP_NEIGHBOURS: f32 = 0.15;
const UNKNOWN: Token = Token::Sign(Sign::Unknown);
/// The minimum number of messages with a token for it to have a learned part.
const MIN_OCCURRENCES: usize = 5;
/// The target probability of the right class.
const TARGET: f32 = 0.95;

/// A training message: its sentences and the class of each, or `None` if unclear.
pub(crate) struct Example {
    pub message: Vec<Judged>,
    pub classes: Vec<Option<usize>>,
}

/// Converts a labelled message. A sentence has the kind of a conclusion if they share at least half of either.
pub(crate) fn example(pieces: &Pieces, labelled: &Labelled) -> Example {
    let message = judged(pieces, &labelled.text, labelled.speaker);
    let class = |judged: &Judged| {
        if judged.sentence.place == Place::Heading {
            return None;
        }
        let range = &judged.sentence.range;
        let common =
            |gold: &std::ops::Range<usize>| range.end.min(gold.end).saturating_sub(range.start.max(gold.start));
        let best = labelled.gold.iter().max_by_key(|(_, gold)| common(gold)).filter(|(_, gold)| common(gold) > 0);
        match best {
            None => Some(KINDS.len()),
            Some((kind, gold)) => (2 * common(gold) >= range.len() || 2 * common(gold) >= gold.len()).then_some(*kind),
        }
    };
    let classes = message.iter().map(class).collect();
    Example { message, classes }
}

/// A trained member and its token vectors.
pub(crate) struct Trained {
    pub member: Member,
    /// The vectors of the pieces, followed by those of the signs.
    pub table: Vec<[f32; DIMS]>,
}

/// The offsets of a member's parts in its weights.
struct WeightOffsets {
    learned: usize,
    filters: [usize; WIDTHS.len()],
    biases: [usize; WIDTHS.len()],
    output: [usize; 3],
    features: usize,
    bias: usize,
    count: usize,
}

impl WeightOffsets {
    fn new(learned: usize) -> Self {
        let mut count = 0;
        let mut take = |size: usize| {
            count += size;
            count - size
        };
        take(STATIC_DIMS * DIMS);
        let learned = take(learned * DIMS);
        let filters = WIDTHS.map(|width| take(FILTERS * width * DIMS));
        let biases = WIDTHS.map(|_| take(FILTERS));
        let output = [(); 3].map(|()| take(POOLED * CLASSES));
        let features = take(FEATURES * CLASSES);
        let bias = take(CLASSES);
        Self { learned, filters, biases, output, features, bias, count }
    }
}

struct Trainer<'a> {
    pieces: &'a Pieces,
    /// The index of each token's learned part.
    learned: HashMap<usize, usize>,
    layout: WeightOffsets,
    weights: Vec<f32>,
    random: Random,
    /// The projection of each piece in the current batch, and the gradient that reaches it. Computed once per batch, which halves the time.
    projected: HashMap<usize, ([f32; DIMS], [f32; DIMS])>,
}

/// The results of the forward pass for a sentence.
struct Forward {
    vectors: Vec<f32>,
    /// For each token, its row in the static model and its learned part.
    parts: Vec<(Option<usize>, Option<usize>)>,
    pooled: Vec<f32>,
    /// The position with the greatest output of each filter.
    greatest: Vec<Option<usize>>,
}

/// Trains members with different initial weights, each on a thread of its own.
pub(crate) fn train(pieces: &Pieces, examples: &[Example], members: u64) -> Vec<Trained> {
    let member = |seed: u64| {
        let mut trainer = Trainer::new(pieces, examples, seed);
        trainer.run(examples);
        Trained { member: trainer.member(), table: trainer.table() }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (1..=members).map(|seed| scope.spawn(move || member(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("training does not panic")).collect()
    })
}

impl<'a> Trainer<'a> {
    fn new(pieces: &'a Pieces, examples: &[Example], seed: u64) -> Self {
        let mut met: HashMap<usize, usize> = HashMap::new();
        for example in examples {
            let tokens = example.message.iter().flat_map(|judged| &judged.tokens).map(|token| number(pieces, *token));
            tokens.collect::<HashSet<_>>().into_iter().for_each(|token| *met.entry(token).or_default() += 1);
        }
        met.entry(number(pieces, UNKNOWN)).or_default();
        let is_sign = |token: usize| token >= pieces.hashes.len();
        let mut kept: Vec<_> = met
            .iter()
            .filter(|(token, met)| **met >= MIN_OCCURRENCES || is_sign(**token))
            .map(|(token, _)| *token)
            .collect();
        kept.sort_unstable();
        let learned: HashMap<_, _> = kept.into_iter().enumerate().map(|(at, token)| (token, at)).collect();
        let layout = WeightOffsets::new(learned.len());
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut weights = vec![0.0; layout.count];
        let mut fill = |from: usize, to: usize, spread: f32| {
            weights[from..to].iter_mut().for_each(|weight| *weight = random.normal() * spread);
        };
        fill(0, layout.learned, 1.0 / (DIMS as f32).sqrt());
        fill(layout.learned, layout.filters[0], 0.05);
        for (at, width) in WIDTHS.into_iter().enumerate() {
            let size = FILTERS * width * DIMS;
            fill(layout.filters[at], layout.filters[at] + size, (2.0 / (width * DIMS) as f32).sqrt());
        }
        fill(layout.output[0], layout.output[1], 0.1);
        Self { pieces, learned, layout, weights, random, projected: HashMap::new() }
    }

    fn run(&mut self, examples: &[Example]) {
        let count = self.layout.count;
        let (mut mean, mut square, mut gradient) = (vec![0.0f32; count], vec![0.0f32; count], vec![0.0f32; count]);
        let mut order: Vec<usize> = (0..examples.len()).collect();
        let steps = (EPOCHS * examples.len().div_ceil(BATCH)) as f32;
        let mut step = 0;
        for _ in 0..EPOCHS {
            for at in (1..order.len()).rev() {
                order.swap(at, self.random.below(at + 1));
            }
            for batch in order.chunks(BATCH) {
                gradient.fill(0.0);
                batch.iter().for_each(|at| self.add_gradient(&examples[*at], &mut gradient));
                self.add_projections(&mut gradient);
                step += 1;
                let rate = RATE * (1.0 - step as f32 / (steps + 1.0)).max(0.02);
                let (first_moment, second_moment) = (1.0 - 0.9f32.powi(step), 1.0 - 0.99f32.powi(step));
                for at in 0..count {
                    let slope = gradient[at] / batch.len() as f32;
                    mean[at] = 0.9 * mean[at] + 0.1 * slope;
                    square[at] = 0.99 * square[at] + 0.01 * slope * slope;
                    let change = (mean[at] / first_moment) / ((square[at] / second_moment).sqrt() + 1e-6);
                    self.weights[at] -= rate * (change + DECAY * self.weights[at]);
                }
            }
        }
    }

    fn add_gradient(&mut self, example: &Example, gradient: &mut [f32]) {
        let forwards: Vec<_> = example.message.iter().map(|judged| self.forward(&judged.tokens)).collect();
        let mut slopes = vec![[0.0f32; POOLED]; forwards.len()];
        for (at, judged) in example.message.iter().enumerate() {
            let Some(class) = example.classes[at] else { continue };
            let mut around = [Some(at), judged.before, judged.after].map(|at| at.map(|at| (at, [0.0f32; POOLED])));
            for (which, neighbour) in around.iter_mut().enumerate() {
                if which > 0 && self.random.share() < DROP_NEIGHBOURS {
                    *neighbour = None;
                }
                if let Some((_, kept)) = neighbour {
                    kept.fill_with(|| if self.random.share() < DROP { 0.0 } else { 1.0 / (1.0 - DROP) });
                }
            }
            let probabilities = self.classes(&forwards, &around, &judged.features);
            let mut errors = probabilities;
            for (other, error) in errors.iter_mut().enumerate() {
                *error -= if other == class { TARGET } else { (1.0 - TARGET) / (CLASSES - 1) as f32 };
                gradient[self.layout.bias + other] += *error;
            }
            for (feature, value) in judged.features.iter().enumerate() {
                add(&mut gradient[self.layout.features + feature * CLASSES..][..CLASSES], &errors, *value);
            }
            for (which, neighbour) in around.iter().enumerate() {
                let Some((of, kept)) = neighbour else { continue };
                for (at, kept) in kept.iter().enumerate().filter(|(_, kept)| **kept != 0.0) {
                    let place = self.layout.output[which] + at * CLASSES;
                    add(&mut gradient[place..][..CLASSES], &errors, forwards[*of].pooled[at] * kept);
                    let slope: f32 = self.weights[place..][..CLASSES]
                        .iter()
                        .zip(&errors)
                        .map(|(weight, error)| weight * error)
                        .sum();
                    slopes[*of][at] += slope * kept;
                }
            }
        }
        for (forward, slopes) in forwards.iter().zip(&slopes) {
            self.add_sentence(forward, slopes, gradient);
        }
    }

    /// Propagates the gradient from the pooled values to filters and vectors.
    fn add_sentence(&mut self, forward: &Forward, slopes: &[f32; POOLED], gradient: &mut [f32]) {
        let tokens = forward.parts.len();
        let mut back = vec![0.0f32; tokens * DIMS];
        for (which, width) in WIDTHS.into_iter().enumerate() {
            for filter in 0..FILTERS {
                let pooled = which * FILTERS + filter;
                let (Some(at), slope) = (forward.greatest[pooled], slopes[pooled]) else { continue };
                if slope == 0.0 {
                    continue;
                }
                gradient[self.layout.biases[which] + filter] += slope;
                let (place, size) = (self.layout.filters[which] + filter * width * DIMS, width * DIMS);
                add(&mut gradient[place..][..size], &forward.vectors[at * DIMS..][..size], slope);
                add(&mut back[at * DIMS..][..size], &self.weights[place..][..size], slope);
            }
        }
        let scale = 1.0 / (tokens.max(1) as f32).sqrt();
        for (back, (row, learned)) in back.chunks_exact_mut(DIMS).zip(&forward.parts) {
            add(back, &slopes[POOLED - DIMS..], scale);
            if let Some((_, slopes)) = row.and_then(|row| self.projected.get_mut(&row)) {
                add(slopes, back, 1.0);
            }
            if let Some(learned) = learned {
                add(&mut gradient[self.layout.learned + learned * DIMS..][..DIMS], back, 1.0);
            }
        }
    }

    /// Propagates the gradient of a batch from the pieces to the weights of the projection.
    fn add_projections(&mut self, gradient: &mut [f32]) {
        let mut rows: Vec<_> = self.projected.drain().collect();
        // Sums round by their order, which a map does not keep.
        rows.sort_unstable_by_key(|(row, _)| *row);
        for (row, (_, slopes)) in rows {
            for (value, place) in self.pieces.rows[row].iter().zip(gradient.chunks_exact_mut(DIMS)) {
                add(place, &slopes, *value);
            }
        }
    }

    fn forward(&mut self, tokens: &[Token]) -> Forward {
        let mut forward = Forward {
            vectors: vec![0.0; tokens.len() * DIMS],
            parts: Vec::new(),
            pooled: vec![0.0; POOLED],
            greatest: Vec::new(),
        };
        for (token, vector) in tokens.iter().zip(forward.vectors.chunks_exact_mut(DIMS)) {
            let is_word = matches!(token, Token::Piece(_));
            let is_left_out = is_word && self.random.share() < DROP_WORDS;
            let is_unlearned = is_word && self.random.share() < DROP_WORDS;
            let token = number(self.pieces, if is_left_out { UNKNOWN } else { *token });
            let parts = (
                (token < self.pieces.rows.len()).then_some(token),
                self.learned.get(&token).copied().filter(|_| !is_unlearned),
            );
            self.vector(parts, vector);
            forward.parts.push(parts);
        }
        for (which, width) in WIDTHS.into_iter().enumerate() {
            for filter in 0..FILTERS {
                let weights = &self.weights[self.layout.filters[which] + filter * width * DIMS..][..width * DIMS];
                let bias = self.weights[self.layout.biases[which] + filter];
                let mut greatest = None;
                let mut most = 0.0;
                for (at, window) in forward.vectors.windows(width * DIMS).step_by(DIMS).enumerate() {
                    let answer = dot(window, weights) + bias;
                    if answer > most {
                        (most, greatest) = (answer, Some(at));
                    }
                }
                forward.pooled[which * FILTERS + filter] = most;
                forward.greatest.push(greatest);
            }
        }
        let scale = 1.0 / (tokens.len().max(1) as f32).sqrt();
        for vector in forward.vectors.chunks_exact(DIMS) {
            add(&mut forward.pooled[POOLED - DIMS..], vector, scale);
        }
        forward
    }

    /// Adds the parts of a token's vector to `vector`.
    fn vector(&mut self, parts: (Option<usize>, Option<usize>), vector: &mut [f32]) {
        if let Some(row) = parts.0 {
            let project = || {
                let mut projection = [0.0; DIMS];
                for (value, weights) in self.pieces.rows[row].iter().zip(self.weights.chunks_exact(DIMS)) {
                    add(&mut projection, weights, *value);
                }
                (projection, [0.0; DIMS])
            };
            add(vector, &self.projected.entry(row).or_insert_with(project).0, 1.0);
        }
        if let Some(learned) = parts.1 {
            add(vector, &self.weights[self.layout.learned + learned * DIMS..][..DIMS], 1.0);
        }
    }

    fn classes(
        &self,
        forwards: &[Forward],
        around: &[Option<(usize, [f32; POOLED])>; 3],
        features: &[f32],
    ) -> Probabilities {
        let mut classes = [0.0; CLASSES];
        add(&mut classes, &self.weights[self.layout.bias..][..CLASSES], 1.0);
        for (which, neighbour) in around.iter().enumerate() {
            let Some((of, kept)) = neighbour else { continue };
            for (at, (value, kept)) in forwards[*of].pooled.iter().zip(kept).enumerate() {
                add(&mut classes, &self.weights[self.layout.output[which] + at * CLASSES..][..CLASSES], value * kept);
            }
        }
        for (at, value) in features.iter().enumerate() {
            add(&mut classes, &self.weights[self.layout.features + at * CLASSES..][..CLASSES], *value);
        }
        let greatest = classes.iter().copied().fold(f32::MIN, f32::max);
        let powers = classes.map(|class| (class - greatest).exp());
        let sum: f32 = powers.iter().sum();
        powers.map(|power| power / sum)
    }

    fn table(&mut self) -> Vec<[f32; DIMS]> {
        let count = self.pieces.hashes.len();
        let row = |token: usize| {
            let mut vector = [0.0; DIMS];
            let learned = self.learned.get(&token).copied();
            self.vector(((token < count).then_some(token), learned), &mut vector);
            vector
        };
        (0..count + SIGNS).map(row).collect()
    }

    fn member(&self) -> Member {
        let rows = |from: usize, count: usize| self.weights[from..][..count * CLASSES].as_chunks().0.to_vec();
        let mut filters: [Filters; WIDTHS.len()] = Default::default();
        for (which, (filters, width)) in filters.iter_mut().zip(WIDTHS).enumerate() {
            let weights = &self.weights[self.layout.filters[which]..];
            filters.biases.copy_from_slice(&self.weights[self.layout.biases[which]..][..FILTERS]);
            let of_number = |at: usize| std::array::from_fn(|filter| weights[filter * width * DIMS + at]);
            filters.weights = (0..width * DIMS).map(of_number).collect();
        }
        Member {
            filters,
            output: self.layout.output.map(|from| rows(from, POOLED)),
            features: rows(self.layout.features, FEATURES),
            bias: rows(self.layout.bias, 1)[0],
        }
    }
}

/// Returns the index of a token: pieces first, then signs.
fn number(pieces: &Pieces, token: Token) -> usize {
    match token {
        Token::Piece(piece) => usize::from(piece),
        Token::Sign(sign) => pieces.hashes.len() + sign as usize,
    }
}

fn add(to: &mut [f32], values: &[f32], by: f32) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += value * by);
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum()
}

/// Marsaglia's xorshift, so that each run produces the same weights.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a random number from 0 to 1.
    fn share(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }

    fn normal(&mut self) -> f32 {
        let (radius, angle) = (self.share().max(1e-7), self.share());
        (-2.0 * radius.ln()).sqrt() * (std::f32::consts::TAU * angle).cos()
    }
}
