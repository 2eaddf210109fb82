//! The vectors in memory: one byte a dimension, scanned whole for every search. No part of it knows what a document says.

use std::collections::HashMap;

use crate::text::script::Script;

/// The vectors of all documents.
#[derive(Debug, Default)]
pub struct Vectors {
    dims: usize,
    /// The document of each row, and the row of each document.
    documents: Vec<i64>,
    rows: HashMap<i64, usize>,
    /// Row by row, each number a share of the row's largest.
    bytes: Vec<i8>,
    /// What a byte of a row is worth.
    scales: Vec<f32>,
    /// The script of each row's text.
    scripts: Vec<Script>,
    /// Documents whose vectors in the tables cannot be used.
    pub(super) spoiled: Vec<i64>,
    /// Up to where changes were taken in.
    pub(super) mark: Mark,
}

/// How far the tables were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) model: i64,
    pub(super) last_seq: i64,
    pub(super) last_removed: i64,
}

impl Vectors {
    pub(super) fn new(dims: usize, mark: Mark) -> Self {
        Self { dims, mark, ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Sets the vector of a document.
    pub(super) fn set(&mut self, document: i64, vector: &[f32], script: Script) {
        debug_assert_eq!(vector.len(), self.dims);
        self.spoiled.retain(|spoiled| *spoiled != document);
        let (scale, bytes) = quantised(vector);
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

    /// Forgets the vector of a document: the last one takes its row.
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

    /// Notes that what the tables have for a document is no vector.
    pub(super) fn spoil(&mut self, document: i64) {
        self.remove(document);
        self.spoiled.push(document);
    }

    /// The cosine of every row with a vector of length 1.
    pub fn scan(&self, vector: &[f32]) -> Vec<f32> {
        let (scale, bytes) = quantised(vector);
        if bytes.len() != self.dims || self.dims == 0 {
            return Vec::new();
        }
        let rows = self.bytes.chunks_exact(self.dims).zip(&self.scales);
        rows.map(|(row, of_row)| product(row, &bytes) as f32 * scale * of_row).collect()
    }

    /// The documents with the greatest of these values, one a row, the greatest first.
    pub fn greatest(&self, values: &[f32], count: usize) -> Vec<i64> {
        let mut order: Vec<usize> = (0..values.len()).collect();
        let by_value = |a: &usize, b: &usize| {
            // The number of the document last, so that rows may lie in any order.
            values[*b].total_cmp(&values[*a]).then(self.documents[*a].cmp(&self.documents[*b]))
        };
        if count < order.len() {
            order.select_nth_unstable_by(count, by_value);
            order.truncate(count);
        }
        order.sort_by(by_value);
        order.into_iter().map(|row| self.documents[row]).collect()
    }

    /// The scripts of the rows.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// The row of a document, when it has a vector.
    pub fn row(&self, document: i64) -> Option<usize> {
        self.rows.get(&document).copied()
    }
}

/// A vector as bytes and what each is worth.
fn quantised(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    (scale, vector.iter().map(|value| (value / scale).round() as i8).collect())
}

/// The inner product. Sixteen bits hold any product of two bytes, and the compiler adds them many at a time.
fn product(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(seed: u32, dims: usize) -> Vec<f32> {
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
        let mut vectors = Vectors::new(64, Mark::default());
        (0..2000).for_each(|i| vectors.set(i, &unit(i as u32 + 1, 64), Script::Other));
        let query = unit(77_777, 64);
        let exact = |i: i64| unit(i as u32 + 1, 64).iter().zip(&query).map(|(a, b)| a * b).sum::<f32>();
        let mut order: Vec<i64> = (0..2000).collect();
        order.sort_by(|a, b| exact(*b).total_cmp(&exact(*a)));
        let cosines = vectors.scan(&query);
        let found = vectors.greatest(&cosines, 20);
        assert!(order[..10].iter().all(|document| found.contains(document)), "{found:?} {:?}", &order[..10]);
        assert!((0..2000).all(|i| (cosines[vectors.row(i).unwrap()] - exact(i)).abs() < 0.01));
    }

    #[test]
    fn what_is_removed_or_set_again_leaves_the_others_as_they_are() {
        let mut vectors = Vectors::new(32, Mark::default());
        (0..5).for_each(|i| vectors.set(i, &unit(i as u32 + 1, 32), Script::Other));
        vectors.remove(1);
        vectors.remove(4);
        vectors.remove(9);
        vectors.set(2, &unit(100, 32), Script::Other);
        assert_eq!((vectors.len(), vectors.greatest(&vectors.scan(&unit(100, 32)), 1)), (3, vec![2]));
        assert!(vectors.row(1).is_none() && vectors.row(4).is_none());
        let own = vectors.scan(&unit(4, 32));
        assert!((own[vectors.row(3).unwrap()] - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_query_of_another_length_is_near_to_nothing() {
        let mut vectors = Vectors::new(32, Mark::default());
        vectors.set(0, &unit(1, 32), Script::Other);
        assert!(vectors.scan(&unit(1, 64)).is_empty());
    }
}
