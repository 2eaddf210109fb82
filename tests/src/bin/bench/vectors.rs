//! The comparison of a question with all vectors: beside the reading of as much memory, and whether it finds the nearest.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use harness::benchmark::numbers;
use tools::index::Vectors;

use crate::Outcome;
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{Table, percentile};

/// Vectors that are compared, and how often.
const ROWS: usize = 100_000;
const RUNS: usize = 40;

/// Numbers of a vector: of the model in the program, whose bytes are compared, and of a long one, whose signs are compared first.
const SHORT: usize = 384;
const LONG: usize = 1_536;

/// How often the memory that holds them may be read meanwhile.
const READ: f64 = 1.3;

/// Bytes that no cache holds.
const UNCACHED: usize = 256 << 20;

/// Every so many of real vectors is a question and is left out of what is compared.
const ASKED: usize = 20;

/// The nearest that are looked for, and how many a search computes again from their full numbers.
const NEAREST: usize = 10;
const RESCORED: usize = 100;

/// Milliseconds in which this machine reads so many bytes from memory, the median.
pub(crate) fn reading(count: usize) -> f64 {
    let bytes = vec![1u8; UNCACHED];
    // Compared with each other, which the system's library does as fast as can be, however this program is compiled.
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

/// Milliseconds in which it reads the vectors of so many memories.
pub(crate) fn reading_of(memories: usize) -> f64 {
    reading(memories * SHORT)
}

pub(crate) fn measure(table: &mut Table) {
    for (dims, most) in [(SHORT, Some(READ)), (LONG, None)] {
        let numbers: Vec<f32> = numbers().take(ROWS + dims).collect();
        // Every row begins one number later than the one before, which is as good as rows of their own.
        let vectors = Vectors::of(dims, (0..ROWS).map(|row| (row as i64, &numbers[row..row + dims])));
        let question = of_length_one(&numbers[..dims]);
        let compare = || {
            let started = Instant::now();
            black_box(vectors.scan(black_box(&question)));
            started.elapsed()
        };
        let mut times: Vec<_> = (0..RUNS).map(|_| compare()).collect();
        let floor = reading(ROWS * dims);
        let goal = most.map(|most| AtMost(most * floor));
        table.add_times(&format!("comparing {ROWS} vectors of {dims} numbers"), &mut times, Some(floor), &[(50, goal)]);
    }
}

/// How many of the ten nearest are found among real vectors: a file of nothing but their numbers, four bytes each, the lowest first.
pub(crate) fn recall(file: &Path, dims: usize, table: &mut Table) -> Outcome<()> {
    let bytes = fs::read(file)?;
    let (numbers, rest) = bytes.as_chunks();
    let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
    if dims == 0 || !rest.is_empty() || numbers.is_empty() || !numbers.len().is_multiple_of(dims) {
        return Err(format!("{} holds no vectors of {dims} numbers", file.display()).into());
    }
    let rows: Vec<Vec<f32>> = numbers.chunks(dims).map(of_length_one).collect();
    let is_asked = |row: &usize| row.is_multiple_of(ASKED);
    let compared = || (0..rows.len()).filter(|row| !is_asked(row));
    let vectors = Vectors::of(dims, compared().map(|row| (row as i64, &rows[row][..])));
    let (mut found, mut wanted) = (0, 0);
    for question in (0..rows.len()).filter(is_asked) {
        let exact = |row: usize| rows[row].iter().zip(&rows[question]).map(|(a, b)| a * b).sum::<f32>();
        let mut nearest: Vec<(f32, i64)> = compared().map(|row| (exact(row), row as i64)).collect();
        nearest.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        nearest.truncate(NEAREST);
        let cosines = vectors.scan(&rows[question]);
        let rescored = vectors.greatest(RESCORED, |row| cosines[row]);
        found += nearest.iter().filter(|(_, row)| rescored.contains(row)).count();
        wanted += nearest.len();
    }
    let name = format!("of the {NEAREST} nearest of {} vectors of {dims} numbers", vectors.len());
    table.add(name, found as f64 / wanted as f64, "share", None, Some(AtLeast(0.99)));
    Ok(())
}

fn of_length_one(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
