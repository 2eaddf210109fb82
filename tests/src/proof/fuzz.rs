//! Input that nobody would send: what is in `tests/fuzz-corpus`, and what becomes of it when it is mangled. Nothing may panic, hang, or
//! say something that is not so.

mod mangle;
pub mod readers;
mod targets;

use std::any::Any;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::proof::{Pace, Random, Tally};
use mangle::mangled;
use targets::Subject;

/// How long one input may take. A debug build on a machine that does much else is slow, and still no hang.
const HANG: Duration = Duration::from_secs(10);

/// Findings after which there is no need of more.
const ENOUGH: usize = 5;

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    HookJson,
    Transcript,
    DailyLog,
    QueueFrame,
    ToolArguments,
    Query,
    Settings,
}

impl Target {
    pub const ALL: [Self; 7] = [
        Self::HookJson,
        Self::Transcript,
        Self::DailyLog,
        Self::QueueFrame,
        Self::ToolArguments,
        Self::Query,
        Self::Settings,
    ];

    /// Its name, and that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::HookJson => "hook-json",
            Self::Transcript => "transcript",
            Self::DailyLog => "daily-log",
            Self::QueueFrame => "queue-frame",
            Self::ToolArguments => "tool-arguments",
            Self::Query => "query",
            Self::Settings => "settings",
        }
    }

    /// Whether it takes more than readers of text.
    pub(super) fn needs_engine(self) -> bool {
        matches!(self, Self::Query | Self::ToolArguments)
    }

    /// What is kept of it, in order of the names.
    pub fn corpus(self) -> Vec<Vec<u8>> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus").join(self.name());
        let listing = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = listing.filter_map(|item| Some(item.ok()?.path())).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
    }
}

/// Reads what is kept, and then mangled input for so long.
pub fn run(target: Target, time: Duration, seed: u64) -> Tally {
    let mut tally = Tally::new("fuzz", target.name());
    let corpus = target.corpus();
    let mut subject = Subject::new(target);
    let mut pace = Pace::default();
    let mut random = Random::new(seed ^ (target as u64) << 32);
    let end = Instant::now() + time;
    let mut kept = corpus.iter();
    while tally.findings.len() < ENOUGH {
        let input = match kept.next() {
            Some(input) => input.clone(),
            None if Instant::now() >= end => break,
            None => mangled(&corpus, &mut random),
        };
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| subject.take(&input)));
        let took = start.elapsed();
        pace.add(took);
        tally.rounds += 1;
        let finding = match outcome {
            Ok(Ok(())) if took < HANG => continue,
            Ok(Ok(())) => format!("took {} ms", took.as_millis()),
            Ok(Err(finding)) => finding,
            Err(panic) => {
                subject = Subject::new(target);
                format!("a panic: {}", said(&*panic))
            }
        };
        let shown: String = String::from_utf8_lossy(&input).chars().take(600).collect();
        tally.findings.push(format!("input {} of seed {seed}: {finding}: {shown:?}", tally.rounds));
    }
    tally.measured = format!("{} kept inputs; an input took {}", corpus.len(), pace.in_words());
    tally
}

/// Panics when an input is not read as it must be; for the targets of cargo-fuzz in `tests/fuzz`, which call it in one process over and over.
pub fn must_bear(target: Target, input: &[u8]) {
    static SUBJECT: Mutex<Option<Subject>> = Mutex::new(None);
    let mut subject = SUBJECT.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = subject.get_or_insert_with(|| Subject::new(target)).take(input);
    assert!(outcome.is_ok(), "{}: {}", target.name(), outcome.err().unwrap_or_default());
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
