//! Trains the network that finds conclusions, from the labelled messages in `tests/extraction`, and measures it.
//!
//! `conclusions train` writes the weights; `conclusions cross` trains without each fifth of the messages and measures on it;
//! `conclusions score FILE` measures the written weights, and `predict` prints what they take, as JSON. Nothing is fetched, and every run
//! of one build gives the same weights.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program is for")]

mod file;
mod labelled;
mod training;
mod vocabulary;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use labelled::{Labelled, Measure, name, read};
use schema::host::classifier::network::ClassifierNetwork;
use schema::host::classifier::{Conclusion, LEAST_CONFIDENCE, classify_with};
use training::{Example, example, train};
use vocabulary::{Pieces, choose};

/// Pieces of words that the network knows, and members that are averaged: together they stay below 400 KB.
const PIECES: usize = 6_000;
const MEMBERS: u64 = 6;

const FOLDS: usize = 5;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["train"] => write_weights(&weights()),
        ["cross"] => cross(FOLDS),
        ["cross", folds] => cross(folds.parse().expect("a number of folds")),
        ["score", file] => score(&read(Path::new(file)), &written()),
        ["predict", file] => println!("{}", predictions(&read(Path::new(file)), &written())),
        _ => eprintln!("usage: conclusions train | cross [FOLDS] | score FILE | predict FILE"),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn weights() -> PathBuf {
    root().join("schema/src/host/classifier/weights.bin")
}

/// Returns the network in the file of weights, which may be newer than the built-in one.
fn written() -> ClassifierNetwork {
    let file = fs::read(weights()).expect("the weights can be read");
    // The network borrows its file for good, as the product's is built in.
    ClassifierNetwork::parse(Vec::leak(file)).expect("training wrote the weights")
}

fn prepared() -> (Vec<Labelled>, Pieces) {
    let messages = read(&root().join("tests/extraction"));
    let pieces = choose(&root().join("tools/model/static-32k-320-int4.bin"), PIECES, &messages);
    println!("{} messages, {} pieces", messages.len(), pieces.hashes.len());
    (messages, pieces)
}

fn network(pieces: &Pieces, examples: &[Example]) -> (Vec<u8>, ClassifierNetwork) {
    let bytes = file::write(pieces, &train(pieces, examples, MEMBERS));
    // The network borrows its file for good, as the product's is built in.
    let network = ClassifierNetwork::parse(Vec::leak(bytes.clone())).expect("it was just written");
    (bytes, network)
}

fn write_weights(path: &Path) {
    let (messages, pieces) = prepared();
    let examples: Vec<_> = messages.iter().map(|labelled| example(&pieces, labelled)).collect();
    let (bytes, _) = network(&pieces, &examples);
    fs::write(path, &bytes).expect("the file can be written");
    println!("{} bytes", bytes.len());
}

fn cross(folds: usize) {
    let (messages, pieces) = prepared();
    let mut networks = Vec::new();
    for fold in 0..folds.min(FOLDS) {
        let rest = messages.iter().filter(|labelled| labelled.block % FOLDS != fold);
        let examples: Vec<_> = rest.map(|labelled| example(&pieces, labelled)).collect();
        networks.push(network(&pieces, &examples).1);
        println!("fold {fold} is trained");
    }
    let tested: Vec<_> = messages.into_iter().filter(|labelled| labelled.block % FOLDS < networks.len()).collect();
    thresholds(&tested, |labelled, least| {
        classify_with(&networks[labelled.block % FOLDS], &labelled.text, labelled.speaker, least)
    });
}

fn thresholds(messages: &[Labelled], found: impl Fn(&Labelled, &[f32; 6]) -> Vec<Conclusion>) {
    for hundredths in (40..=96).step_by(4) {
        let mut measure = Measure::default();
        let least = [hundredths as f32 / 100.0; 6];
        messages.iter().for_each(|labelled| drop(measure.add(labelled, &found(labelled, &least))));
        println!("{:.2}: {}", least[0], measure.line());
    }
}

fn found(network: &ClassifierNetwork, labelled: &Labelled) -> Vec<Conclusion> {
    classify_with(network, &labelled.text, labelled.speaker, &LEAST_CONFIDENCE)
}

fn score(messages: &[Labelled], network: &ClassifierNetwork) {
    let mut measure = Measure::default();
    for labelled in messages {
        measure.add(labelled, &found(network, labelled)).iter().for_each(|note| println!("{note}"));
    }
    println!("{}", measure.line());
}

/// What is taken from each message, by its id.
fn predictions(messages: &[Labelled], network: &ClassifierNetwork) -> serde_json::Value {
    let found = |labelled: &Labelled| {
        let found = found(network, labelled).into_iter();
        found.map(|found| serde_json::json!({ "type": name(found.kind), "text": found.text })).collect::<Vec<_>>()
    };
    messages
        .iter()
        .map(|labelled| (labelled.id.clone(), found(labelled).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use schema::host::classifier::classify;

    use super::*;
    use crate::labelled::overlap;

    fn measured(file: &str) -> Measure {
        let mut measure = Measure::default();
        for labelled in read(&root().join("tests/extraction/heldout").join(file)) {
            measure.add(&labelled, &classify(&labelled.text, labelled.speaker));
        }
        measure
    }

    /// Messages that were written apart from the training set, half of them without a conclusion that differ little from others with one.
    #[rstest]
    #[case("heldout.txt", 0.85, 0.5)]
    #[case("second.txt", 0.88, 0.5)]
    #[case("third.txt", 0.9, 0.5)]
    #[case("fourth.txt", 0.84, 0.33)]
    #[case("fifth.txt", 0.82, 0.4)]
    #[case::plain_statements("plain.txt", 0.9, 0.65)]
    #[case::said_by_people("said.txt", 0.9, 0.85)]
    fn built_in_weights_hold_on_unseen_messages(#[case] file: &str, #[case] precision: f32, #[case] recall: f32) {
        let measure = measured(file);
        assert!(measure.precision() >= precision && measure.recall() >= recall, "{}", measure.line());
        assert!(measure.share_of_negatives() <= 0.05, "{}", measure.line());
    }

    #[test]
    fn overlap_counts_words_and_pairs_of_other_letters() {
        assert_eq!(overlap("Use Redis", "use redis!"), 1.0);
        assert_eq!(overlap("쓰기로 했다", "쓰기로"), 0.8);
        assert_eq!(overlap("a", "b"), 0.0);
    }
}
