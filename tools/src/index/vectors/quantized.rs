//! Vectors as bytes, and their cosines at the speed of memory where the processor allows it.

use std::thread;

use pulp::{Arch, Simd, WithSimd};

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

    /// Cosines with consecutive vectors and their scales. Very many are split among threads.
    pub(super) fn cosines(&self, bytes: &[u8], scales: &[f32]) -> Vec<f32> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        self.cosines_in_threads(bytes, scales, processors.min(scales.len() / ROWS_PER_THREAD))
    }

    fn cosines_in_threads(&self, bytes: &[u8], scales: &[f32], threads: usize) -> Vec<f32> {
        let mut cosines = vec![0.0; scales.len()];
        let each = scales.len().div_ceil(threads.max(1)).max(1);
        let bytes = bytes.chunks(each * self.bytes.len().max(1));
        let rows = bytes.zip(scales.chunks(each)).zip(cosines.chunks_mut(each));
        let mut shares = rows.map(|((bytes, scales), cosines)| CosineScan { query: self, bytes, scales, cosines });
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
    query: &'r QuantizedQuery,
    bytes: &'r [u8],
    scales: &'r [f32],
    cosines: &'r mut [f32],
}

impl CosineScan<'_> {
    fn compare(self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(by_pairs::PairwiseScan { simd, rows: self });
        }
        Arch::new().dispatch(self);
    }
}

impl WithSimd for CosineScan<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { query: asked, bytes, scales, cosines } = self;
        for ((row, scale), cosine) in bytes.chunks_exact(asked.bytes.len()).zip(scales).zip(cosines) {
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

    use super::{CosineScan, dot_product};

    /// Bytes per register.
    const WIDTH: usize = 32;

    pub(super) struct PairwiseScan<'r> {
        pub(super) simd: V3,
        pub(super) rows: CosineScan<'r>,
    }

    impl NullaryFnOnce for PairwiseScan<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let Self { simd, rows: CosineScan { query: asked, bytes, scales, cosines } } = self;
            let (whole, rest) = asked.bytes.as_chunks::<WIDTH>();
            let signed: Vec<__m256i> = whole.iter().map(|chunk| pulp::cast(chunk.map(|byte| byte as i8))).collect();
            let asked_bytes: Vec<[__m256i; 2]> =
                signed.into_iter().map(|bytes| [bytes, simd.avx2._mm256_abs_epi8(bytes)]).collect();
            let ones: __m256i = pulp::cast([1i16; WIDTH / 2]);
            for ((row, scale), cosine) in bytes.chunks_exact(asked.bytes.len()).zip(scales).zip(cosines) {
                let (row, end) = row.as_chunks::<WIDTH>();
                let mut sums: __m256i = pulp::cast([0u8; WIDTH]);
                for (row, [signed, size]) in row.iter().zip(&asked_bytes) {
                    let row = simd.avx2._mm256_sign_epi8(pulp::cast(*row), *signed);
                    let pairs = simd.avx2._mm256_maddubs_epi16(*size, row);
                    sums = simd.avx2._mm256_add_epi32(sums, simd.avx2._mm256_madd_epi16(pairs, ones));
                }
                let sums: [i32; WIDTH / 4] = pulp::cast(sums);
                let mut sum = dot_product(end, rest);
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
            let asked = QuantizedQuery { scale: 0.5, bytes: asked.iter().map(|byte| i16::from(*byte)).collect() };
            let bytes: Vec<u8> = rows.iter().flat_map(|row| row[..dims].iter().map(|byte| byte.cast_unsigned())).collect();
            let scales: Vec<f32> = (0..rows.len()).map(|row| row as f32 + 1.0).collect();
            let each: Vec<f32> =
                bytes.chunks(dims).zip(&scales).map(|(row, scale)| asked.cosine(row, *scale)).collect();
            let exact = |row: &[i8]| row.iter().zip(&asked.bytes).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>();
            for ((row, scale), cosine) in rows.iter().zip(&scales).zip(&each) {
                prop_assert_eq!(*cosine, exact(row) as f32 * 0.5 * scale);
            }
            prop_assert_eq!(&asked.cosines_in_threads(&bytes, &scales, threads), &each);
            prop_assert_eq!(asked.cosines(&bytes, &scales), each);
        }
    }

    #[test]
    fn the_largest_numbers_that_there_are_do_not_run_over() {
        for signs in [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]] {
            let [row, asked] = signs.map(|sign| vec![sign; 384]);
            let (scale, bytes) = quantize(&row);
            let [cosine] = QuantizedQuery::from_vector(&asked).cosines(&bytes, &[scale])[..] else { panic!("one row") };
            assert!((cosine - signs[0] * signs[1] * 384.0).abs() < 0.1, "{cosine}");
        }
    }
}
