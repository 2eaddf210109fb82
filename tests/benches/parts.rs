//! What parts of a search and of a capture cost by themselves, with the floor of what reads memory.
//!
//! `cargo bench -p jikime-memory-tests --bench parts`. Whole processes are measured by the program `bench`.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use harness::corpus::Corpus;
use tools::embed::LocalModel;
use tools::index::Vectors;

/// Vectors that are compared.
const ROWS: usize = 100_000;

/// Numbers of a vector: of the model in the program, and of a long one, whose signs are compared first.
const LENGTHS: [usize; 2] = [384, 1_536];

/// Texts that are read.
const TEXTS: usize = 1_000;

fn main() {
    divan::main();
}

/// Numbers between -1 and 1, the same in every run.
fn numbers() -> impl Iterator<Item = f32> {
    let mut state = 0x9E37_79B9_u32;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    })
}

fn texts() -> Vec<String> {
    Corpus::new(1).take(TEXTS).map(|remembered| remembered.text).collect()
}

fn length_of(texts: &[String]) -> BytesCount {
    BytesCount::new(texts.iter().map(String::len).sum::<usize>())
}

/// The floor of a comparison with all vectors: their bytes are read, and no more is done with them than adding them up.
#[divan::bench(args = LENGTHS)]
fn reading_the_bytes_of_all_vectors(bencher: Bencher<'_, '_>, dims: usize) {
    let words: Vec<u64> = (0..(ROWS * dims / 8) as u64).collect();
    let sum = || black_box(&words).iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    bencher.counter(BytesCount::new(ROWS * dims)).bench_local(sum);
}

#[divan::bench(args = LENGTHS)]
fn comparing_a_question_with_all_vectors(bencher: Bencher<'_, '_>, dims: usize) {
    let numbers: Vec<f32> = numbers().take(ROWS + dims).collect();
    // Every row begins one number later than the one before, which is as good as rows of their own.
    let rows = (0..ROWS).map(|row| (row as i64, &numbers[row..row + dims]));
    let vectors = Vectors::of(dims, rows);
    let length = numbers[..dims].iter().map(|value| value * value).sum::<f32>().sqrt();
    let question: Vec<f32> = numbers[..dims].iter().map(|value| value / length).collect();
    bencher.counter(BytesCount::new(ROWS * dims)).bench_local(|| vectors.scan(black_box(&question)));
}

#[divan::bench]
fn finding_the_hundred_greatest(bencher: Bencher<'_, '_>) {
    let cosines: Vec<f32> = numbers().take(ROWS).collect();
    let row = [1.0f32; 8];
    let vectors = Vectors::of(row.len(), (0..ROWS as i64).map(|document| (document, &row[..])));
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| vectors.greatest(100, |row| black_box(&cosines)[row]));
}

#[divan::bench]
fn reading_texts_in_tokens(bencher: Bencher<'_, '_>) {
    let texts = texts();
    bencher
        .counter(length_of(&texts))
        .bench_local(|| texts.iter().map(|text| tools::text::analyze(black_box(text)).len()).sum::<usize>());
}

#[divan::bench]
fn embedding_texts(bencher: Bencher<'_, '_>) {
    let (texts, model) = (texts(), LocalModel::built_in());
    bencher
        .counter(ItemsCount::new(TEXTS))
        .bench_local(|| texts.iter().filter_map(|text| model.embed(black_box(text))).count());
}

#[divan::bench]
fn looking_for_secrets_in_texts(bencher: Bencher<'_, '_>) {
    let texts = texts();
    bencher
        .counter(length_of(&texts))
        .bench_local(|| texts.iter().map(|text| schema::redaction::redact(black_box(text)).text.len()).sum::<usize>());
}
