//! Fuzzing with the files in `tests/fuzz-corpus` and mutations of them. No reader may panic, hang or return a wrong result.

mod mangle;
pub mod readers;
mod targets;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::proof::{Durations, ProofResult, RunLength, SeededRandom};
use mangle::mangled_input;
use targets::FuzzSubject;
pub use targets::FuzzTarget;

/// The time limit of an input. It allows for a debug build on a busy machine.
const HANG: Duration = Duration::from_secs(10);

/// The number of findings after which a run stops.
const ENOUGH: usize = 5;

/// Reads the corpus, then mutations of it.
pub fn run(target: FuzzTarget, length: RunLength, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("fuzz", target.name());
    let corpus = target.corpus();
    let mut subject = FuzzSubject::new(target);
    let mut pace = Durations::default();
    let mut random = SeededRandom::new(seed ^ (target as u64) << 32);
    let started = Instant::now();
    let mut kept = corpus.iter();
    while tally.findings.len() < ENOUGH {
        let input = match kept.next() {
            Some(input) => input.clone(),
            None if length.is_over(started, tally.rounds) => break,
            None => mangled_input(&corpus, &mut random),
        };
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| subject.read_input(&input)));
        let took = start.elapsed();
        pace.add(took);
        tally.rounds += 1;
        let finding = match outcome {
            Ok(Ok(())) if took < HANG => continue,
            Ok(Ok(())) => format!("took {} ms", took.as_millis()),
            Ok(Err(finding)) => finding,
            Err(panic) => {
                subject = FuzzSubject::new(target);
                format!("a panic: {}", panic_message(&*panic))
            }
        };
        let shown: String = String::from_utf8_lossy(&input).chars().take(600).collect();
        tally.findings.push(format!("input {} of seed {seed}: {finding}: {shown:?}", tally.rounds));
    }
    tally.measured = format!("{} corpus files; an input took {}", corpus.len(), pace.summary());
    tally
}

/// Panics if an input is read incorrectly. The cargo-fuzz targets in `tests/fuzz` call this repeatedly in one process.
pub fn assert_reads(target: FuzzTarget, input: &[u8]) {
    static SUBJECT: Mutex<Option<FuzzSubject>> = Mutex::new(None);
    let mut subject = SUBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = subject.get_or_insert_with(|| FuzzSubject::new(target)).read_input(input);
    assert!(outcome.is_ok(), "{}: {}", target.name(), outcome.err().unwrap_or_default());
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
