//! Microbenchmarks of parts of a search and of a capture: `cargo bench -p jikime-memory-tests --bench parts`.
//!
//! The program `bench` measures whole processes and the comparison of vectors.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use harness::benchmark::pseudo_random_numbers;
use harness::corpus::SyntheticCorpus;
use tools::embed::LocalModel;
use tools::index::Vectors;
use tools::text::script::Script;

const ROWS: usize = 100_000;

const TEXTS: usize = 1_000;

fn main() {
    divan::main();
}

fn texts() -> Vec<String> {
    SyntheticCorpus::new(1).take(TEXTS).map(|remembered| remembered.text).collect()
}

fn length_of(texts: &[String]) -> BytesCount {
    BytesCount::new(texts.iter().map(String::len).sum::<usize>())
}

#[divan::bench]
fn finding_the_hundred_greatest(bencher: Bencher<'_, '_>) {
    let cosines: Vec<f32> = pseudo_random_numbers().take(ROWS).collect();
    let row = [1.0f32; 8];
    let mut vectors = Vectors::empty(row.len());
    (0..ROWS as i64).for_each(|document| vectors.set(document, &row, Script::None));
    bencher.counter(ItemsCount::new(ROWS)).bench_local(|| vectors.greatest(100, |row| black_box(&cosines)[row]));
}

#[divan::bench]
fn reading_texts_in_tokens(bencher: Bencher<'_, '_>) {
    let texts = texts();
    bencher.counter(length_of(&texts)).bench_local(|| {
        for text in &texts {
            tools::text::visit(black_box(text), |piece| drop(black_box(piece.token())));
        }
    });
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
    bencher.counter(length_of(&texts)).bench_local(|| {
        texts.iter().map(|text| schema::privacy::redaction::redact(black_box(text)).text.len()).sum::<usize>()
    });
}
