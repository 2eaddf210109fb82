//! The network that classifies sentences: token vectors, short convolutions, max pooling, one linear layer. It averages six members, which
//! is more accurate than one network of six times the size. `tests/src/bin/conclusions` trains the weights.

use super::message::{FEATURES, Judged};
use super::tokens::{SIGNS, Token, Vocabulary};

/// How many classes a sentence can have: six conclusions in the order of `KINDS`, or no conclusion.
pub const CLASSES: usize = 7;

/// How many tokens the filters see at once.
pub const WIDTHS: [usize; 4] = [1, 2, 3, 4];

/// The probabilities of the classes.
pub type Probabilities = [f32; CLASSES];

/// The network as it is in its file: hashes of pieces, then the members.
#[derive(Debug)]
pub struct ClassifierNetwork {
    /// The hashes of the pieces in ascending order. The index of a piece is its number.
    hashes: Vec<u32>,
    dims: usize,
    members: Vec<(Table, Member)>,
}

/// The token vectors of a member: a row of 4-bit numbers for each piece and each sign, and a scale for each dimension.
#[derive(Debug)]
struct Table {
    rows: &'static [u8],
    scales: Vec<f32>,
}

/// The weights of a member, except its token vectors.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// The filters of each width, each with a bias and weights.
    pub filters: Vec<Vec<(f32, Vec<f32>)>>,
    /// The weights of the sentence itself, of the one before it and of the one after it.
    pub output: [Vec<Probabilities>; 3],
    pub features: Vec<Probabilities>,
    pub bias: Probabilities,
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
        let hashes = (0..pieces).map(|_| bytes.u32()).collect::<Option<_>>()?;
        let mut member = || {
            let scales = (0..dims).map(|_| bytes.f32()).collect::<Option<_>>()?;
            let rows = bytes.take((pieces + SIGNS) * dims / 2)?;
            Some((Table { rows, scales }, Member::parse(&mut bytes, dims, filters)?))
        };
        let members = (0..members).map(|_| member()).collect::<Option<_>>()?;
        bytes.0.is_empty().then_some(Self { hashes, dims, members })
    }

    /// Returns the class probabilities of each sentence in a message.
    pub fn judge(&self, message: &[Judged]) -> Vec<Probabilities> {
        let mut sums = vec![[0.0; CLASSES]; message.len()];
        for (table, member) in &self.members {
            let pool = |judged: &Judged| member.pool(&self.vectors(table, &judged.tokens), self.dims);
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

    /// Returns the vectors of tokens, one after the other.
    fn vectors(&self, table: &Table, tokens: &[Token]) -> Vec<f32> {
        let mut vectors = Vec::with_capacity(tokens.len() * self.dims);
        for token in tokens {
            let row = match token {
                Token::Piece(piece) => usize::from(*piece),
                Token::Sign(sign) => self.hashes.len() + *sign as usize,
            };
            let row = &table.rows[row * self.dims / 2..][..self.dims / 2];
            let numbers = row.iter().flat_map(|byte| [byte & 15, byte >> 4]);
            vectors.extend(numbers.zip(&table.scales).map(|(number, scale)| (f32::from(number) - 8.0) * scale));
        }
        vectors
    }
}

impl Member {
    /// Returns the maximum of each filter, then the mean of the vectors.
    pub fn pool(&self, vectors: &[f32], dims: usize) -> Vec<f32> {
        let mut pooled = Vec::new();
        for (filters, width) in self.filters.iter().zip(WIDTHS) {
            pooled.extend(filters.iter().map(|(bias, weights)| {
                let windows = vectors.windows(width * dims).step_by(dims);
                windows.map(|window| dot(window, weights) + bias).fold(0.0, f32::max)
            }));
        }
        let count = (vectors.len() / dims).max(1) as f32;
        pooled.extend((0..dims).map(|at| vectors.iter().skip(at).step_by(dims).sum::<f32>() / count.sqrt()));
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

    fn parse(bytes: &mut Bytes, dims: usize, filters: usize) -> Option<Self> {
        let mut member = Self::default();
        for width in WIDTHS {
            let of_width = (0..filters).map(|_| Some((bytes.f32()?, bytes.scaled(width * dims)?)));
            member.filters.push(of_width.collect::<Option<_>>()?);
        }
        let pooled = filters * WIDTHS.len() + dims;
        for output in &mut member.output {
            *output = rows(&bytes.scaled(pooled * CLASSES)?);
        }
        member.features = rows(&bytes.scaled(FEATURES * CLASSES)?);
        for class in &mut member.bias {
            *class = bytes.f32()?;
        }
        Some(member)
    }
}

fn rows(values: &[f32]) -> Vec<Probabilities> {
    values.as_chunks().0.to_vec()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for at in 0..8 {
            sums[at] += a[at] * b[at];
        }
    }
    sums.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
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

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn f32(&mut self) -> Option<f32> {
        self.take(4)?.try_into().ok().map(f32::from_le_bytes)
    }

    /// Reads a scale and 8-bit numbers.
    fn scaled(&mut self, count: usize) -> Option<Vec<f32>> {
        let scale = self.f32()?;
        Some(self.take(count)?.iter().map(|value| f32::from(*value as i8) * scale).collect())
    }
}
