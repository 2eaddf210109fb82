//! The vectors in memory: one byte per dimension, all scanned by every search. Knows no texts.

mod quantized;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::text::script::Script;
use crate::text::token_hashes::TokenHasher;
use quantized::{QuantizedQuery, QuantizedQuestion, QuantizedRows, quantize};

#[derive(Debug, Clone, Default)]
pub struct Vectors {
    dims: usize,
    /// Row to document, and document to row.
    documents: Vec<i64>,
    rows: HashMap<i64, usize, TokenHasher>,
    /// Rows of values relative to the row's largest, signed, but stored as unsigned bytes as in files.
    bytes: Vec<u8>,
    /// Scale of each row.
    scales: Vec<f32>,
    /// The script of each row's text.
    scripts: Vec<Script>,
    /// The last change included.
    pub(super) watermark: VectorWatermark,
}

/// The vectors of a question: one for all texts, and others for texts in some scripts.
#[derive(Debug, Clone)]
pub struct ScriptVectors {
    vectors: Vec<Vec<f32>>,
    /// Which one is for each script.
    of_script: [usize; 4],
}

impl ScriptVectors {
    pub fn of_all(vector: Vec<f32>) -> Self {
        Self { vectors: vec![vector], of_script: [0; 4] }
    }

    pub fn set(&mut self, script: Script, vector: Vec<f32>) {
        self.of_script[script as usize] = self.vectors.len();
        self.vectors.push(vector);
    }

    pub fn has_own(&self, script: Script) -> bool {
        self.of_script[script as usize] > 0
    }

    pub fn for_script(&self, script: Script) -> &[f32] {
        &self.vectors[self.of_script[script as usize]]
    }
}

/// Vectors in the format of a file. All lists have one element per row.
#[derive(Debug)]
pub(super) struct PackedVectors<'p> {
    pub(super) documents: Cow<'p, [u8]>,
    pub(super) scripts: Cow<'p, [u8]>,
    pub(super) scales: Cow<'p, [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct VectorWatermark {
    pub(super) model: i64,
    pub(super) last_seq: i64,
    pub(super) last_removed: i64,
}

impl Vectors {
    pub(super) fn new(dims: usize, watermark: VectorWatermark) -> Self {
        Self { dims, watermark, ..Self::default() }
    }

    pub fn empty(dims: usize) -> Self {
        Self::new(dims, VectorWatermark::default())
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub fn set(&mut self, document: i64, vector: &[f32], script: Script) {
        assert_eq!(vector.len(), self.dims, "a vector of another length");
        let (scale, bytes) = quantize(vector);
        match self.rows.get(&document) {
            Some(&row) => {
                self.scales[row] = scale;
                self.scripts[row] = script;
                self.bytes[row * self.dims..][..self.dims].copy_from_slice(&bytes);
            }
            None => {
                self.rows.insert(document, self.documents.len());
                self.documents.push(document);
                self.scales.push(scale);
                self.scripts.push(script);
                self.bytes.extend_from_slice(&bytes);
            }
        }
    }

    pub(super) fn reserve(&mut self, count: usize) {
        self.rows.reserve(count);
        self.documents.reserve_exact(count);
        self.scales.reserve_exact(count);
        self.scripts.reserve_exact(count);
        self.bytes.reserve_exact(count * self.dims);
    }

    /// All vectors in packed form, and the numbers in them.
    pub(super) fn pack(&self) -> (PackedVectors<'static>, &[u8]) {
        let packed = PackedVectors {
            documents: self.documents.iter().flat_map(|document| document.to_le_bytes()).collect(),
            scripts: self.scripts.iter().map(|script| *script as u8).collect(),
            scales: self.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect(),
        };
        (packed, &self.bytes)
    }

    /// Adds packed vectors, whose numbers `read` writes into the given buffer; `false` if the length is wrong.
    pub(super) fn unpack<E>(
        &mut self,
        packed: &PackedVectors<'_>,
        read: impl FnOnce(&mut [u8]) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let count = packed.scripts.len();
        if packed.documents.len() != count * 8 || packed.scales.len() != count * 4 {
            return Ok(false);
        }
        let documents = || packed.documents.as_chunks().0.iter().map(|document| i64::from_le_bytes(*document));
        // A later vector of a document replaces an earlier one.
        if !self.is_empty() {
            documents().for_each(|document| self.remove(document));
        }
        let first = self.len();
        for document in documents() {
            if self.rows.insert(document, self.documents.len()).is_some() {
                return Ok(false);
            }
            self.documents.push(document);
        }
        self.scales.extend(packed.scales.as_chunks().0.iter().map(|scale| f32::from_le_bytes(*scale)));
        self.scripts
            .extend(packed.scripts.iter().map(|n| Script::ALL.get(usize::from(*n)).copied().unwrap_or_default()));
        self.bytes.resize((first + count) * self.dims, 0);
        read(&mut self.bytes[first * self.dims..])
    }

    /// Removes a document's vector; the last row moves into its place.
    pub(super) fn remove(&mut self, document: i64) {
        let Some(row) = self.rows.remove(&document) else { return };
        let last = self.documents.len() - 1;
        self.documents.swap_remove(row);
        self.scales.swap_remove(row);
        self.scripts.swap_remove(row);
        if let Some(&moved) = self.documents.get(row) {
            self.rows.insert(moved, row);
            self.bytes.copy_within(last * self.dims..(last + 1) * self.dims, row * self.dims);
        }
        self.bytes.truncate(last * self.dims);
    }

    /// Returns the cosine of each row with each question, using the question's vector for the row's script, of length 1.
    pub fn scan(&self, questions: &[&ScriptVectors]) -> Vec<Vec<f32>> {
        let is_of_length = |question: &&ScriptVectors| question.vectors.iter().all(|vector| vector.len() == self.dims);
        if !questions.iter().all(is_of_length) || self.dims == 0 {
            return vec![Vec::new(); questions.len()];
        }
        let quantized = |question: &&ScriptVectors| {
            let queries = question.vectors.iter().map(|vector| QuantizedQuery::from_vector(vector)).collect();
            QuantizedQuestion { queries, of_script: question.of_script }
        };
        let rows = QuantizedRows { bytes: &self.bytes, scales: &self.scales, scripts: &self.scripts };
        quantized::cosines(&questions.iter().map(quantized).collect::<Vec<_>>(), rows)
    }

    /// Documents with the greatest values, descending.
    pub fn greatest(&self, count: usize, value: impl Fn(usize) -> f32) -> Vec<i64> {
        // Ties are broken by document number, so that the order of rows does not matter.
        let by_value = |a: &(f32, i64), b: &(f32, i64)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        let mut best: Vec<(f32, i64)> = Vec::with_capacity(count * 2);
        let mut least = f32::NEG_INFINITY;
        for (row, document) in self.documents.iter().enumerate() {
            let value = value(row);
            if value < least {
                continue;
            }
            best.push((value, *document));
            // Pruned rarely, because most rows are below the worst kept one by then.
            if count > 0 && best.len() == count * 2 {
                best.select_nth_unstable_by(count - 1, by_value);
                best.truncate(count);
                least = best[count - 1].0;
            }
        }
        best.sort_unstable_by(by_value);
        best.truncate(count);
        best.into_iter().map(|(_, document)| document).collect()
    }

    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    pub fn row(&self, document: i64) -> Option<usize> {
        self.rows.get(&document).copied()
    }
}

#[cfg(test)]
impl Vectors {
    /// Cosine of each row with one vector.
    pub(crate) fn cosines_with(&self, vector: &[f32]) -> Vec<f32> {
        self.scan(&[&ScriptVectors::of_all(vector.to_vec())]).remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_vector(seed: u32, dims: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / u32::MAX as f32 - 0.5
        };
        let vector: Vec<f32> = (0..dims).map(|_| draw()).collect();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }

    #[test]
    fn the_nearest_are_those_of_an_exact_scan() {
        let mut vectors = Vectors::new(64, VectorWatermark::default());
        (0..2000).for_each(|i| vectors.set(i, &unit_vector(i as u32 + 1, 64), Script::Other));
        let query = unit_vector(77_777, 64);
        let exact = |i: i64| unit_vector(i as u32 + 1, 64).iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let mut order: Vec<i64> = (0..2000).collect();
        order.sort_by(|a, b| exact(*b).total_cmp(&exact(*a)));
        let cosines = vectors.cosines_with(&query);
        let found = vectors.greatest(20, |row| cosines[row]);
        assert!(order[..10].iter().all(|document| found.contains(document)), "{found:?} {:?}", &order[..10]);
        assert!((0..2000).all(|i| (cosines[vectors.row(i).unwrap()] - exact(i)).abs() < 0.01));
    }

    #[test]
    fn changing_one_vector_keeps_the_others() {
        let mut vectors = Vectors::new(32, VectorWatermark::default());
        (0..5).for_each(|i| vectors.set(i, &unit_vector(i as u32 + 1, 32), Script::Other));
        vectors.remove(1);
        vectors.remove(4);
        vectors.remove(9);
        vectors.set(2, &unit_vector(100, 32), Script::Other);
        let cosines = vectors.cosines_with(&unit_vector(100, 32));
        assert_eq!((vectors.len(), vectors.greatest(1, |row| cosines[row])), (3, vec![2]));
        assert!(vectors.row(1).is_none() && vectors.row(4).is_none());
        let own = vectors.cosines_with(&unit_vector(4, 32));
        assert!((own[vectors.row(3).unwrap()] - 1.0).abs() < 0.01);
    }

    #[test]
    fn rows_are_compared_with_the_vector_for_their_script() {
        let mut vectors = Vectors::new(32, VectorWatermark::default());
        vectors.set(0, &unit_vector(1, 32), Script::Other);
        vectors.set(1, &unit_vector(2, 32), Script::Hangul);
        let mut question = ScriptVectors::of_all(unit_vector(1, 32));
        question.set(Script::Hangul, unit_vector(2, 32));
        let cosines = vectors.scan(&[&question]).remove(0);
        assert!(cosines.iter().all(|cosine| (cosine - 1.0).abs() < 0.01), "{cosines:?}");
        let plain = vectors.cosines_with(&unit_vector(1, 32));
        assert!(plain[0] == cosines[0] && plain[1] < 0.9, "{plain:?}");
    }

    #[test]
    fn a_query_of_another_length_is_near_to_nothing() {
        let mut vectors = Vectors::new(32, VectorWatermark::default());
        vectors.set(0, &unit_vector(1, 32), Script::Other);
        assert!(vectors.cosines_with(&unit_vector(1, 64)).is_empty());
    }
}
