//! The network that says what a sentence concludes: vectors of tokens, short convolutions, their maxima, one linear layer. Six such
//! members are averaged, which errs less than one of six times the size. `tests/src/bin/conclusions` makes the weights.

use super::message::{FEATURES, Judged};
use super::tokens::{SIGNS, Token, Vocabulary};

/// What a sentence may be: six conclusions, in the order of `KINDS`, or none.
pub const CLASSES: usize = 7;

/// Tokens that the filters of a head look at together.
pub const WIDTHS: [usize; 4] = [1, 2, 3, 4];

/// Probabilities of the classes.
pub type Probabilities = [f32; CLASSES];

/// The network in its file: hashes of pieces, then members.
#[derive(Debug)]
pub struct Network {
    /// The hashes of the pieces, in ascending order; a piece's number is its place.
    hashes: Vec<u32>,
    dims: usize,
    members: Vec<(Table, Member)>,
}

/// The vectors of tokens of a member: a row of 4-bit numbers for each piece and each sign, and the scale of each dimension.
#[derive(Debug)]
struct Table {
    rows: &'static [u8],
    scales: Vec<f32>,
}

/// What a member does with vectors.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// Filters of each width: a bias and weights each.
    pub filters: Vec<Vec<(f32, Vec<f32>)>>,
    /// Weights of the sentence's own features, of those before it and of those after it.
    pub output: [Vec<Probabilities>; 3],
    pub features: Vec<Probabilities>,
    pub bias: Probabilities,
}

/// The hash of Fowler, Noll and Vo.
pub fn hash(piece: &str) -> u32 {
    piece.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Vocabulary for Network {
    fn piece(&self, text: &str) -> Option<u16> {
        self.hashes.binary_search(&hash(text)).ok().and_then(|at| u16::try_from(at).ok())
    }
}

impl Network {
    /// The network in a file, or `None` when it is cut or of another format.
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

    /// What each sentence of a message concludes.
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

    /// The vectors of tokens, one behind the other.
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
    /// The greatest answer of each filter, then the mean of the vectors.
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

    /// The probabilities by what was pooled of a sentence and of those around it.
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

/// What is left of a file.
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

    /// A scale and numbers of 8 bits.
    fn scaled(&mut self, count: usize) -> Option<Vec<f32>> {
        let scale = self.f32()?;
        Some(self.take(count)?.iter().map(|value| f32::from(*value as i8) * scale).collect())
    }
}
