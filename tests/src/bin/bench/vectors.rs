//! Compares a question with all vectors: the time relative to reading the same memory, and the recall.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use harness::benchmark::pseudo_random_numbers;
use tools::index::{ScriptVectors, Vectors};
use tools::text::script::Script;

use crate::arguments::Outcome;
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{FigureTable, percentile};

/// The number of vectors, and of comparisons.
const ROWS: usize = 100_000;
const RUNS: usize = 40;

/// The dimensions of the built-in model, whose vectors are compared by bytes, and of a long one, whose vectors are compared by signs first.
const SHORT: usize = 320;
const LONG: usize = 1_536;

/// The maximum time relative to reading the same memory.
const READ: f64 = 1.3;

/// More bytes than any cache holds.
const UNCACHED: usize = 256 << 20;

/// The number of vectors that serve as questions and are excluded from the store.
const ASKED: usize = 20;

/// The number of nearest vectors wanted, and of vectors that a search computes exactly.
const NEAREST: usize = 10;
const RESCORED: usize = 100;

/// Returns the median time to read this many bytes, in milliseconds.
pub(crate) fn measure_memory_read(count: usize) -> f64 {
    let bytes = vec![1u8; UNCACHED];
    // The `memcmp` of the C library is fast, however this program is compiled.
    let (one, other) = bytes.split_at(UNCACHED / 2);
    let read = || {
        let started = Instant::now();
        black_box(black_box(one) == black_box(other));
        started.elapsed()
    };
    let mut times: Vec<_> = (0..RUNS).map(|_| read()).collect();
    times.sort_unstable();
    percentile(&times, 50) * count as f64 / UNCACHED as f64
}

/// Returns the time to read the vectors of this many memories, in milliseconds.
pub(crate) fn vectors_read_time(memories: usize) -> f64 {
    measure_memory_read(memories * SHORT)
}

pub(crate) fn measure(table: &mut FigureTable) {
    for (dims, most) in [(SHORT, Some(READ)), (LONG, None)] {
        let numbers: Vec<f32> = pseudo_random_numbers().take(ROWS + dims).collect();
        // Each row overlaps with the next except for one number. The result is the same as with independent rows.
        let vectors = vectors_of(dims, (0..ROWS).map(|row| (row as i64, &numbers[row..row + dims])));
        let question = ScriptVectors::of_all(normalized(&numbers[..dims]));
        let compare = || {
            let started = Instant::now();
            black_box(vectors.scan(&[black_box(&question)]));
            started.elapsed()
        };
        let mut times: Vec<_> = (0..RUNS).map(|_| compare()).collect();
        let floor = measure_memory_read(ROWS * dims);
        let goal = most.map(|most| AtMost(most * floor));
        table.add_times(&format!("comparing {ROWS} vectors of {dims} numbers"), &mut times, Some(floor), &[(50, goal)]);
    }
}

/// Measures the recall of the ten nearest among real vectors. The file contains only 32-bit little-endian floats.
pub(crate) fn measure_recall(file: &Path, dims: usize, table: &mut FigureTable) -> Outcome<()> {
    let bytes = fs::read(file)?;
    let (numbers, rest) = bytes.as_chunks();
    let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    if dims == 0 || !rest.is_empty() || numbers.is_empty() || !numbers.len().is_multiple_of(dims) {
        return Err(format!("{} holds no vectors of {dims} numbers", file.display()).into());
    }
    let rows: Vec<Vec<f32>> = numbers.chunks(dims).map(normalized).collect();
    let is_asked = |row: &usize| row.is_multiple_of(ASKED);
    let compared = || (0..rows.len()).filter(|row| !is_asked(row));
    let vectors = vectors_of(dims, compared().map(|row| (row as i64, &rows[row][..])));
    let (mut found, mut wanted) = (0, 0);
    for question in (0..rows.len()).filter(is_asked) {
        let exact = |row: usize| rows[row].iter().zip(&rows[question]).map(|(a, b)| a * b).sum::<f32>();
        let mut nearest: Vec<(f32, i64)> = compared().map(|row| (exact(row), row as i64)).collect();
        nearest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        nearest.truncate(NEAREST);
        let cosines = vectors.scan(&[&ScriptVectors::of_all(rows[question].clone())]).remove(0);
        let rescored = vectors.greatest(RESCORED, |row| cosines[row]);
        found += nearest.iter().filter(|(_, row)| rescored.contains(row)).count();
        wanted += nearest.len();
    }
    let name = format!("of the {NEAREST} nearest of {} vectors of {dims} numbers", vectors.len());
    table.add(name, found as f64 / wanted as f64, "share", None, Some(AtLeast(0.99)));
    Ok(())
}

/// The vectors of documents with unknown script.
fn vectors_of<'v>(dims: usize, rows: impl Iterator<Item = (i64, &'v [f32])>) -> Vectors {
    let mut vectors = Vectors::empty(dims);
    rows.for_each(|(document, vector)| vectors.set(document, vector, Script::None));
    vectors
}

fn normalized(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
