//! Vectors as bytes, and their cosines at the speed of memory where the processor allows it.

use std::thread;

use pulp::{Arch, Simd, WithSimd};

use crate::text::script::Script;

/// Rows from which extra threads pay off.
const ROWS_PER_THREAD: usize = 200_000;

/// Rows that stay in the processor's first cache while all questions are compared with them: 20 KB of the built-in model.
const ROWS_PER_BLOCK: usize = 64;

/// Quantises a vector to bytes between -127 and 127, with their scale.
pub(super) fn quantize(vector: &[f32]) -> (f32, Vec<u8>) {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    // Rounds by hand: without SSE 4.1, `f32::round` is a call for each number.
    let nearest = |value: f32| (value + 0.5_f32.copysign(value)) as i8;
    (scale, vector.iter().map(|value| nearest(value / scale).cast_unsigned()).collect())
}

pub(super) struct QuantizedQuery {
    scale: f32,
    /// As wide as a product of two bytes.
    bytes: Vec<i16>,
}

impl QuantizedQuery {
    pub(super) fn from_vector(vector: &[f32]) -> Self {
        let (scale, bytes) = quantize(vector);
        Self { scale, bytes: bytes.into_iter().map(|byte| i16::from(byte.cast_signed())).collect() }
    }
}

/// A question as bytes: one query for all rows, and others for rows in some scripts.
pub(super) struct QuantizedQuestion {
    pub(super) queries: Vec<QuantizedQuery>,
    pub(super) of_script: [usize; 4],
}

impl QuantizedQuestion {
    fn query(&self, script: Script) -> &QuantizedQuery {
        &self.queries[self.of_script[script as usize]]
    }

    fn dims(&self) -> usize {
        self.queries[0].bytes.len()
    }
}

/// Rows of bytes, with the scale and the script of each.
#[derive(Clone, Copy)]
pub(super) struct QuantizedRows<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) scales: &'r [f32],
    pub(super) scripts: &'r [Script],
}

impl<'r> QuantizedRows<'r> {
    /// The rows in blocks of `count`.
    #[inline(always)]
    fn blocks(self, count: usize, dims: usize) -> impl Iterator<Item = Self> {
        let scaled = self.scales.chunks(count).zip(self.scripts.chunks(count));
        self.bytes.chunks(count * dims).zip(scaled).map(|(bytes, (scales, scripts))| Self { bytes, scales, scripts })
    }

    #[inline(always)]
    fn iter(self, dims: usize) -> impl Iterator<Item = (&'r [u8], f32, Script)> {
        let scaled = self.scales.iter().zip(self.scripts);
        self.bytes.chunks_exact(dims).zip(scaled).map(|(bytes, (scale, script))| (bytes, *scale, *script))
    }
}

/// Cosines of each question with all rows. Very many rows are split among threads.
pub(super) fn cosines(questions: &[QuantizedQuestion], rows: QuantizedRows<'_>) -> Vec<Vec<f32>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    cosines_in_threads(questions, rows, processors.min(rows.scales.len() / ROWS_PER_THREAD))
}

fn cosines_in_threads(questions: &[QuantizedQuestion], rows: QuantizedRows<'_>, threads: usize) -> Vec<Vec<f32>> {
    let mut cosines = vec![vec![0.0; rows.scales.len()]; questions.len()];
    let Some(dims) = questions.first().map(QuantizedQuestion::dims) else { return cosines };
    let each = rows.scales.len().div_ceil(threads.max(1)).max(1);
    let mut remaining: Vec<_> = cosines.iter_mut().map(|cosines| cosines.chunks_mut(each)).collect();
    let mut shares = rows.blocks(each, dims).map(|rows| CosineScan {
        questions,
        rows,
        cosines: remaining.iter_mut().filter_map(Iterator::next).collect(),
    });
    thread::scope(|scope| {
        let own = shares.next();
        shares.for_each(|share| drop(scope.spawn(|| share.compare())));
        own.into_iter().for_each(CosineScan::compare);
    });
    cosines
}

/// Compares rows with the processor's SIMD features. A struct, because a closure might be compiled for the baseline
/// processor.
struct CosineScan<'r> {
    questions: &'r [QuantizedQuestion],
    rows: QuantizedRows<'r>,
    /// One slice per question, in their order.
    cosines: Vec<&'r mut [f32]>,
}

impl CosineScan<'_> {
    fn compare(self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(by_pairs::PairwiseScan { simd, scan: self });
        }
        Arch::new().dispatch(self);
    }
}

impl WithSimd for CosineScan<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { questions, rows, mut cosines } = self;
        let dims = questions[0].dims();
        for (number, block) in rows.blocks(ROWS_PER_BLOCK, dims).enumerate() {
            for (question, cosines) in questions.iter().zip(&mut cosines) {
                for ((row, scale, script), cosine) in block.iter(dims).zip(&mut cosines[number * ROWS_PER_BLOCK..]) {
                    let asked = question.query(script);
                    *cosine = dot_product(row, &asked.bytes) as f32 * asked.scale * scale;
                }
            }
        }
    }
}

/// The inner product, in a form that compilers turn into 16-bit multiply-add instructions.
#[inline(always)]
fn dot_product(a: &[u8], b: &[i16]) -> i32 {
    let mut sum = 0;
    // A loop, because a closure might not be inlined into its caller's SIMD features.
    for (a, b) in a.iter().zip(b) {
        sum += i32::from(a.cast_signed()) * i32::from(*b);
    }
    sum
}

/// AVX2 multiplies bytes directly in four steps instead of six, which compilers do not find. One operand must be unsigned,
/// so the question's signs move to the row. Two products fit into 16 bits for bytes from -127.
#[cfg(target_arch = "x86_64")]
mod by_pairs {
    use std::arch::x86_64::__m256i;

    use pulp::NullaryFnOnce;
    use pulp::x86::V3;

    use super::{CosineScan, QuantizedQuestion, ROWS_PER_BLOCK, dot_product};

    /// Bytes per register.
    const WIDTH: usize = 32;

    pub(super) struct PairwiseScan<'r> {
        pub(super) simd: V3,
        pub(super) scan: CosineScan<'r>,
    }

    impl NullaryFnOnce for PairwiseScan<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Self { simd, scan: CosineScan { questions, rows, mut cosines } } = self;
            let dims = questions[0].dims();
            let registers: Vec<_> = questions.iter().map(|question| query_registers(simd, question)).collect();
            let ones: __m256i = pulp::cast([1i16; WIDTH / 2]);
            for (number, block) in rows.blocks(ROWS_PER_BLOCK, dims).enumerate() {
                for ((question, registers), cosines) in questions.iter().zip(&registers).zip(&mut cosines) {
                    for ((row, scale, script), cosine) in block.iter(dims).zip(&mut cosines[number * ROWS_PER_BLOCK..])
                    {
                        let asked = question.query(script);
                        let (row, end) = row.as_chunks::<WIDTH>();
                        let mut sums: __m256i = pulp::cast([0u8; WIDTH]);
                        for (row, [signed, size]) in row.iter().zip(&registers[question.of_script[script as usize]]) {
                            let row = simd.avx2._mm256_sign_epi8(pulp::cast(*row), *signed);
                            let pairs = simd.avx2._mm256_maddubs_epi16(*size, row);
                            sums = simd.avx2._mm256_add_epi32(sums, simd.avx2._mm256_madd_epi16(pairs, ones));
                        }
                        let sums: [i32; WIDTH / 4] = pulp::cast(sums);
                        let mut sum = dot_product(end, asked.bytes.as_chunks::<WIDTH>().1);
                        for part in sums {
                            sum += part;
                        }
                        *cosine = sum as f32 * asked.scale * scale;
                    }
                }
            }
        }
    }

    /// The whole registers of each query, with their absolute values.
    #[inline(always)]
    fn query_registers(simd: V3, question: &QuantizedQuestion) -> Vec<Vec<[__m256i; 2]>> {
        let whole = question.queries.iter().map(|query| query.bytes.as_chunks::<WIDTH>().0);
        let with_sizes = whole.map(|chunks| {
            let signed = chunks.iter().map(|chunk| pulp::cast(chunk.map(|byte| byte as i8)));
            signed.map(|bytes| [bytes, simd.avx2._mm256_abs_epi8(bytes)]).collect()
        });
        with_sizes.collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// With every SIMD level of this processor.
        #[test]
        fn batch_cosines_equal_single_ones(
            asked in prop::collection::vec(-127i8..=127, 1..100),
            rows in prop::collection::vec(prop::collection::vec(-127i8..=127, 100), 0..5),
            copies in 1usize..200,
            threads in 0usize..7,
        ) {
            let dims = asked.len();
            let query = |values: Vec<i8>| QuantizedQuery { scale: 0.5, bytes: values.into_iter().map(i16::from).collect() };
            let reversed: Vec<i8> = asked.iter().rev().copied().collect();
            let two = vec![query(asked.clone()), query(reversed.clone())];
            let one = QuantizedQuestion { queries: two, of_script: [0, 1, 0, 1] };
            let questions = [one, QuantizedQuestion { queries: vec![query(reversed)], of_script: [0; 4] }];
            let rows: Vec<&[i8]> = std::iter::repeat_n(&rows, copies).flatten().map(|row| &row[..dims]).collect();
            let scripts: Vec<Script> = Script::ALL.into_iter().cycle().take(rows.len()).collect();
            let bytes: Vec<u8> = rows.concat().into_iter().map(i8::cast_unsigned).collect();
            let scales: Vec<f32> = (0..rows.len()).map(|row| row as f32 + 1.0).collect();
            let exact = |row: &[i8], asked: &[i16]| row.iter().zip(asked).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>();
            let each = questions.each_ref().map(|question| {
                let placed = rows.iter().zip(&scales).zip(&scripts);
                placed.map(|((row, scale), script)| exact(row, &question.query(*script).bytes) as f32 * 0.5 * scale).collect::<Vec<_>>()
            });
            let single = |row: usize| {
                let asked = questions[0].query(scripts[row]);
                dot_product(&bytes[row * dims..][..dims], &asked.bytes) as f32 * asked.scale * scales[row]
            };
            prop_assert!((0..rows.len()).all(|row| single(row) == each[0][row]));
            let rows = QuantizedRows { bytes: &bytes, scales: &scales, scripts: &scripts };
            prop_assert_eq!(&cosines_in_threads(&questions, rows, threads)[..], &each[..]);
            prop_assert_eq!(&cosines(&questions, rows)[..], &each[..]);
        }
    }

    #[test]
    fn the_largest_numbers_that_there_are_do_not_run_over() {
        const DIMS: usize = 320;
        for signs in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            let [row, asked] = signs.map(|sign| vec![sign; DIMS]);
            let (scale, bytes) = quantize(&row);
            let question = QuantizedQuestion { queries: vec![QuantizedQuery::from_vector(&asked)], of_script: [0; 4] };
            let rows = QuantizedRows { bytes: &bytes, scales: &[scale], scripts: &[Script::Other] };
            let cosine = cosines(&[question], rows)[0][0];
            assert!((cosine - signs[0] * signs[1] * DIMS as f32).abs() < 0.1, "{cosine}");
        }
    }
}
