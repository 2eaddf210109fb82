//! Vectors as bytes, and their cosines at the speed of memory where the processor allows it.

use std::thread;

use pulp::{Arch, Simd, WithSimd};

use crate::text::script::Script;

/// Rows from which extra threads pay off.
const ROWS_PER_THREAD: usize = 200_000;

/// Quantises a vector to bytes between -127 and 127, with their scale.
pub(super) fn quantize(vector: &[f32]) -> (f32, Vec<u8>) {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    (scale, vector.iter().map(|value| ((value / scale).round() as i8).cast_unsigned()).collect())
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

    pub(super) fn cosine(&self, bytes: &[u8], scale: f32) -> f32 {
        dot_product(bytes, &self.bytes) as f32 * self.scale * scale
    }
}

/// A question as bytes: one query for all rows, and others for rows in some scripts.
pub(super) struct QuantizedQuestion {
    queries: Vec<QuantizedQuery>,
    of_script: [usize; 4],
}

/// Rows of bytes, with the scale and the script of each.
#[derive(Clone, Copy)]
pub(super) struct QuantizedRows<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) scales: &'r [f32],
    pub(super) scripts: &'r [Script],
}

impl QuantizedQuestion {
    pub(super) fn new(queries: Vec<QuantizedQuery>, of_script: [usize; 4]) -> Self {
        Self { queries, of_script }
    }

    fn query(&self, script: Script) -> &QuantizedQuery {
        &self.queries[self.of_script[script as usize]]
    }

    fn dims(&self) -> usize {
        self.queries[0].bytes.len()
    }

    /// Cosines with all rows. Very many are split among threads.
    pub(super) fn cosines(&self, rows: QuantizedRows<'_>) -> Vec<f32> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        self.cosines_in_threads(rows, processors.min(rows.scales.len() / ROWS_PER_THREAD))
    }

    fn cosines_in_threads(&self, rows: QuantizedRows<'_>, threads: usize) -> Vec<f32> {
        let mut cosines = vec![0.0; rows.scales.len()];
        let each = rows.scales.len().div_ceil(threads.max(1)).max(1);
        let bytes = rows.bytes.chunks(each * self.dims().max(1));
        let parts = bytes.zip(rows.scales.chunks(each)).zip(rows.scripts.chunks(each)).zip(cosines.chunks_mut(each));
        let mut shares = parts.map(|(((bytes, scales), scripts), cosines)| CosineScan {
            question: self,
            rows: QuantizedRows { bytes, scales, scripts },
            cosines,
        });
        thread::scope(|scope| {
            let own = shares.next();
            shares.for_each(|share| drop(scope.spawn(|| share.compare())));
            if let Some(own) = own {
                own.compare();
            }
        });
        cosines
    }
}

/// Compares rows with the processor's SIMD features. A struct, because a closure might be compiled for the baseline
/// processor.
struct CosineScan<'r> {
    question: &'r QuantizedQuestion,
    rows: QuantizedRows<'r>,
    cosines: &'r mut [f32],
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
        let Self { question, rows: QuantizedRows { bytes, scales, scripts }, cosines } = self;
        let rows = bytes.chunks_exact(question.dims()).zip(scales).zip(scripts);
        for (((row, scale), script), cosine) in rows.zip(cosines) {
            let asked = question.query(*script);
            *cosine = dot_product(row, &asked.bytes) as f32 * asked.scale * scale;
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

    use super::{CosineScan, QuantizedRows, dot_product};

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
            let Self { simd, scan: CosineScan { question, rows: QuantizedRows { bytes, scales, scripts }, cosines } } =
                self;
            let whole = question.queries.iter().map(|query| query.bytes.as_chunks::<WIDTH>().0);
            let queries: Vec<Vec<[__m256i; 2]>> = whole
                .map(|chunks| {
                    let signed = chunks.iter().map(|chunk| pulp::cast(chunk.map(|byte| byte as i8)));
                    signed.map(|bytes| [bytes, simd.avx2._mm256_abs_epi8(bytes)]).collect()
                })
                .collect();
            let ones: __m256i = pulp::cast([1i16; WIDTH / 2]);
            let rows = bytes.chunks_exact(question.dims()).zip(scales).zip(scripts);
            for (((row, scale), script), cosine) in rows.zip(cosines) {
                let asked = question.query(*script);
                let (row, end) = row.as_chunks::<WIDTH>();
                let mut sums: __m256i = pulp::cast([0u8; WIDTH]);
                for (row, [signed, size]) in row.iter().zip(&queries[question.of_script[*script as usize]]) {
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
            threads in 0usize..7,
        ) {
            let dims = asked.len();
            let reversed: Vec<i16> = asked.iter().rev().map(|byte| i16::from(*byte)).collect();
            let queries = [asked.iter().map(|byte| i16::from(*byte)).collect(), reversed]
                .map(|bytes| QuantizedQuery { scale: 0.5, bytes });
            let asked = QuantizedQuestion::new(queries.into(), [0, 1, 0, 1]);
            let scripts: Vec<Script> = Script::ALL.into_iter().cycle().take(rows.len()).collect();
            let bytes: Vec<u8> = rows.iter().flat_map(|row| row[..dims].iter().map(|byte| byte.cast_unsigned())).collect();
            let scales: Vec<f32> = (0..rows.len()).map(|row| row as f32 + 1.0).collect();
            let each: Vec<f32> = bytes.chunks(dims).zip(&scales).zip(&scripts)
                .map(|((row, scale), script)| asked.query(*script).cosine(row, *scale)).collect();
            let exact = |row: &[i8], asked: &[i16]| row.iter().zip(asked).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>();
            for (((row, scale), script), cosine) in rows.iter().zip(&scales).zip(&scripts).zip(&each) {
                prop_assert_eq!(*cosine, exact(row, &asked.query(*script).bytes) as f32 * 0.5 * scale);
            }
            let rows = QuantizedRows { bytes: &bytes, scales: &scales, scripts: &scripts };
            prop_assert_eq!(&asked.cosines_in_threads(rows, threads), &each);
            prop_assert_eq!(asked.cosines(rows), each);
        }
    }

    #[test]
    fn the_largest_numbers_that_there_are_do_not_run_over() {
        for signs in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            let [row, asked] = signs.map(|sign| vec![sign; 384]);
            let (scale, bytes) = quantize(&row);
            let question = QuantizedQuestion::new(vec![QuantizedQuery::from_vector(&asked)], [0; 4]);
            let rows = QuantizedRows { bytes: &bytes, scales: &[scale], scripts: &[Script::Other] };
            let [cosine] = question.cosines(rows)[..] else { panic!("one row") };
            assert!((cosine - signs[0] * signs[1] * 384.0).abs() < 0.1, "{cosine}");
        }
    }
}
