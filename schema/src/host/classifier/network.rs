//! The network that classifies sentences: token vectors, short convolutions, max pooling, one linear layer. It averages six members, which
//! is more accurate than one network of six times the size. `tests/src/bin/conclusions` trains the weights.

use super::message::{FEATURES, Judged};
use super::tokens::{SIGNS, Token, Vocabulary};

/// How many classes a sentence can have: six conclusions in the order of `KINDS`, or no conclusion.
pub const CLASSES: usize = 7;

/// How many numbers the vector of a token has.
pub const DIMS: usize = 16;

/// How many tokens the filters see at once.
pub const WIDTHS: [usize; 4] = [1, 2, 3, 4];

/// How many filters there are of each width.
pub const FILTERS: usize = 24;

/// How many values are pooled from a sentence.
pub const POOLED: usize = FILTERS * WIDTHS.len() + DIMS;

/// The probabilities of the classes.
pub type Probabilities = [f32; CLASSES];

/// The network as it is in its file: hashes of pieces, then the members.
#[derive(Debug)]
pub struct ClassifierNetwork {
    /// The hashes of the pieces in ascending order. The index of a piece is its number.
    hashes: Vec<u32>,
    members: Vec<(Table, Member)>,
}

/// The token vectors of a member: a row of 4-bit numbers for each piece and each sign, and a scale for each dimension.
#[derive(Debug)]
struct Table {
    rows: &'static [[u8; DIMS / 2]],
    scales: [f32; DIMS],
}

/// The weights of a member, except its token vectors.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// The filters of each width.
    pub filters: [Filters; WIDTHS.len()],
    /// The weights of the sentence itself, of the one before it and of the one after it.
    pub output: [Vec<Probabilities>; 3],
    pub features: Vec<Probabilities>,
    pub bias: Probabilities,
}

/// The filters of one width.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    pub biases: [f32; FILTERS],
    /// The weights of all filters for each number of a window, so that the filters are computed side by side.
    pub weights: Vec<[f32; FILTERS]>,
}

/// The FNV-1a hash.
pub fn hash(piece: &str) -> u32 {
    piece.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Vocabulary for ClassifierNetwork {
    fn piece(&self, text: &str) -> Option<u16> {
        self.hashes.binary_search(&hash(text)).ok().and_then(|at| u16::try_from(at).ok())
    }
}

impl ClassifierNetwork {
    /// Parses the network in a file. Returns `None` if the file is incomplete or has another format.
    pub fn parse(file: &'static [u8]) -> Option<Self> {
        let mut bytes = Bytes(file);
        let [pieces, dims, filters, members] =
            [bytes.u16()?, bytes.u16()?, bytes.u16()?, bytes.u16()?].map(usize::from);
        if (dims, filters) != (DIMS, FILTERS) {
            return None;
        }
        let hashes = bytes.arrays(pieces)?.iter().map(|hash| u32::from_le_bytes(*hash)).collect();
        let mut member = || {
            let scales = bytes.f32s()?;
            let rows = bytes.arrays(pieces + SIGNS)?;
            Some((Table { rows, scales }, Member::parse(&mut bytes)?))
        };
        let members = (0..members).map(|_| member()).collect::<Option<_>>()?;
        bytes.0.is_empty().then_some(Self { hashes, members })
    }

    /// Returns the class probabilities of each sentence in a message.
    pub fn judge(&self, message: &[Judged]) -> Vec<Probabilities> {
        let mut sums = vec![[0.0; CLASSES]; message.len()];
        for (table, member) in &self.members {
            let pool = |judged: &Judged| member.pool(&self.vectors(table, &judged.tokens));
            let pooled: Vec<_> = message.iter().map(pool).collect();
            for (judged, (sum, own)) in message.iter().zip(sums.iter_mut().zip(&pooled)) {
                let around =
                    [judged.before, judged.after].map(|at| at.and_then(|at| pooled.get(at)).map(Vec::as_slice));
                let classes = member.classes([Some(own), around[0], around[1]], &judged.features);
                sum.iter_mut().zip(classes).for_each(|(sum, class)| *sum += class / self.members.len() as f32);
            }
        }
        sums
    }

    fn vectors(&self, table: &Table, tokens: &[Token]) -> Vec<[f32; DIMS]> {
        let vector = |token: &Token| {
            let row = match token {
                Token::Piece(piece) => usize::from(*piece),
                Token::Sign(sign) => self.hashes.len() + *sign as usize,
            };
            let mut vector = [0.0; DIMS];
            let numbers = table.rows[row].iter().flat_map(|byte| [byte & 15, byte >> 4]);
            for ((value, number), scale) in vector.iter_mut().zip(numbers).zip(&table.scales) {
                *value = (f32::from(number) - 8.0) * scale;
            }
            vector
        };
        tokens.iter().map(vector).collect()
    }
}

impl Filters {
    /// Returns the greatest answer of each filter to any window, at least 0.
    fn greatest(&self, vectors: &[[f32; DIMS]], width: usize) -> [f32; FILTERS] {
        let mut greatest = [0.0f32; FILTERS];
        for window in vectors.windows(width) {
            let mut answers = self.biases;
            for (number, weights) in window.as_flattened().iter().zip(&self.weights) {
                for (answer, weight) in answers.iter_mut().zip(weights) {
                    *answer += number * weight;
                }
            }
            for (greatest, answer) in greatest.iter_mut().zip(answers) {
                *greatest = greatest.max(answer);
            }
        }
        greatest
    }
}

impl Member {
    /// Returns the greatest answer of each filter, then the mean of the vectors.
    fn pool(&self, vectors: &[[f32; DIMS]]) -> Vec<f32> {
        let mut pooled = Vec::with_capacity(POOLED);
        for (filters, width) in self.filters.iter().zip(WIDTHS) {
            pooled.extend(filters.greatest(vectors, width));
        }
        let count = vectors.len().max(1) as f32;
        pooled.extend((0..DIMS).map(|at| vectors.iter().map(|vector| vector[at]).sum::<f32>() / count.sqrt()));
        pooled
    }

    /// Returns the probabilities for the pooled values of a sentence and its neighbours.
    fn classes(&self, pooled: [Option<&[f32]>; 3], features: &[f32; FEATURES]) -> Probabilities {
        let mut classes = self.bias;
        let around = self.output.iter().zip(pooled).filter_map(|(weights, pooled)| Some((weights, pooled?)));
        for (weights, values) in around.chain(std::iter::once((&self.features, features.as_slice()))) {
            for (weights, value) in weights.iter().zip(values) {
                classes.iter_mut().zip(weights).for_each(|(class, weight)| *class += weight * value);
            }
        }
        softmax(classes)
    }

    fn parse(bytes: &mut Bytes) -> Option<Self> {
        let mut member = Self::default();
        for (filters, width) in member.filters.iter_mut().zip(WIDTHS) {
            filters.weights = vec![[0.0; FILTERS]; width * DIMS];
            for at in 0..FILTERS {
                filters.biases[at] = bytes.f32()?;
                let weights = bytes.scaled(width * DIMS)?;
                filters.weights.iter_mut().zip(weights).for_each(|(all, weight)| all[at] = weight);
            }
        }
        for output in &mut member.output {
            *output = bytes.rows(POOLED)?;
        }
        member.features = bytes.rows(FEATURES)?;
        member.bias = bytes.f32s()?;
        Some(member)
    }
}

fn softmax(mut classes: Probabilities) -> Probabilities {
    let greatest = classes.iter().copied().fold(f32::MIN, f32::max);
    classes.iter_mut().for_each(|class| *class = (*class - greatest).exp());
    let sum: f32 = classes.iter().sum();
    classes.map(|class| class / sum)
}

/// The unread rest of a file.
struct Bytes(&'static [u8]);

impl Bytes {
    fn take(&mut self, count: usize) -> Option<&'static [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn arrays<const N: usize>(&mut self, count: usize) -> Option<&'static [[u8; N]]> {
        Some(self.take(count * N)?.as_chunks().0)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn f32(&mut self) -> Option<f32> {
        self.take(4)?.try_into().ok().map(f32::from_le_bytes)
    }

    fn f32s<const N: usize>(&mut self) -> Option<[f32; N]> {
        let numbers: &[[u8; 4]; N] = self.arrays(N)?.try_into().ok()?;
        Some(numbers.map(f32::from_le_bytes))
    }

    /// Reads a scale and 8-bit numbers.
    fn scaled(&mut self, count: usize) -> Option<impl Iterator<Item = f32> + use<>> {
        let scale = self.f32()?;
        Some(self.take(count)?.iter().map(move |value| f32::from(*value as i8) * scale))
    }

    /// Reads a scale and 8-bit numbers for each class.
    fn rows(&mut self, count: usize) -> Option<Vec<Probabilities>> {
        let numbers: Vec<f32> = self.scaled(count * CLASSES)?.collect();
        Some(numbers.as_chunks().0.to_vec())
    }
}
