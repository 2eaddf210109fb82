//! Proves what docs/reliability.md promises, at length: puts faults into the real programs, and prints rounds, faults and findings.
//!
//! `cargo run -p jikime-memory-tests --bin prove -- [--form long|short] [--suite NAME] [--part WORDS] [--rounds N] [--minutes N] [--seed N] [--write FILE]
//! [--memory PROGRAM --hook PROGRAM]`. The short form is that of `.ci/run`. It runs the given programs, else those in the folder that
//! `JIKIME_TEST_PROGRAMS` names, else it builds them as it was built itself. The points at which programs are killed are in builds with debug
//! assertions only: with others, `crash` kills at random moments and says so. The suite `tests` runs the programs of that folder or builds its own.

mod programs;
mod suites;

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use harness::proof::{Report, Tally, concurrency, editors, flood, fuzz, libfuzzer, secrets, soak};
use harness::{Binaries, proof};

/// How much is done, when nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Long,
    /// For every change of the project: a few minutes, in which a server is at work beside the other suites.
    Short,
}

impl Form {
    /// Rounds of crashes in all.
    fn rounds(self) -> usize {
        match self {
            Self::Long => 1_000,
            Self::Short => 50,
        }
    }

    /// One of two times, in seconds.
    fn time(self, long: u64, short: u64) -> Duration {
        Duration::from_secs(if self == Self::Long { long } else { short })
    }
}

fn main() -> ExitCode {
    let proved = Arguments::read(std::env::args().skip(1)).and_then(|arguments| {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let programs = match (&arguments.memory, &arguments.hook) {
            (Some(memory), Some(hook)) => programs::copied(memory, hook, folder.path())?,
            (None, None) => match Binaries::named() {
                Some(Binaries { memory, hook }) => programs::copied(&memory, &hook, folder.path())?,
                None => programs::built(folder.path())?,
            },
            _ => return Err("--memory and --hook go together".to_owned()),
        };
        let report = prove(&programs, &arguments);
        let table = report.markdown();
        say(&table);
        if let Some(path) = &arguments.write {
            fs::write(path, &table).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(report.is_clean())
    });
    match proved {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "prove: {error}");
            ExitCode::from(2)
        }
    }
}

fn say(text: &str) {
    // Whoever closed the pipe has seen enough.
    let _ = writeln!(io::stdout(), "{text}");
}

/// What is asked for on the command line.
#[derive(Debug)]
struct Arguments {
    /// The only suite that is wanted; all when empty.
    suite: String,
    /// Words that the wanted parts of the suite `editors` have in their names; all when empty.
    part: String,
    form: Form,
    rounds: Option<usize>,
    /// How long each suite goes on that has no rounds; its own time when nothing is said.
    minutes: Option<u64>,
    seed: u64,
    write: Option<PathBuf>,
    /// The programs under test, where they are not to be built.
    memory: Option<PathBuf>,
    hook: Option<PathBuf>,
}

const SUITES: [&str; 8] = ["crash", "concurrency", "editors", "fuzz", "secrets", "http", "tests", "soak"];

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            suite: String::new(),
            part: String::new(),
            form: Form::Long,
            rounds: None,
            minutes: None,
            seed: 1,
            write: None,
            memory: None,
            hook: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{value:?} is no number"));
            match name.as_str() {
                "--suite" if SUITES.contains(&value.as_str()) => arguments.suite = value,
                "--suite" => return Err(format!("there is no suite {value:?}; there is {}", SUITES.join(", "))),
                "--part" => arguments.part = value,
                "--form" if value == "long" => arguments.form = Form::Long,
                "--form" if value == "short" => arguments.form = Form::Short,
                "--rounds" => arguments.rounds = Some(usize::try_from(number()?).map_err(|error| error.to_string())?),
                "--minutes" => arguments.minutes = Some(number()?),
                "--seed" => arguments.seed = number()?,
                "--write" => arguments.write = Some(value.into()),
                "--memory" => arguments.memory = Some(value.into()),
                "--hook" => arguments.hook = Some(value.into()),
                _ => return Err(format!("there is no {name}; see the head of this program")),
            }
        }
        Ok(arguments)
    }

    fn wants(&self, suite: &str) -> bool {
        self.suite.is_empty() || self.suite == suite
    }

    /// Whether ordinary tests are run too. They test programs of their own, and whoever wants the short form runs them anyway.
    fn wants_tests(&self) -> bool {
        self.suite == "tests" || (self.wants("tests") && self.form == Form::Long && self.memory.is_none())
    }

    /// How long a suite goes on: as was asked for, or its own time in seconds.
    fn time(&self, long: u64, short: u64) -> Duration {
        self.minutes.map_or_else(|| self.form.time(long, short), |minutes| Duration::from_secs(60 * minutes))
    }
}

fn prove(binaries: &Binaries, arguments: &Arguments) -> Report {
    let soak = || {
        let soak = || soak::run(binaries, arguments.time(3_600, 300), arguments.seed);
        arguments.wants("soak").then(soak).inspect(told)
    };
    thread::scope(|scope| {
        let beside = (arguments.form == Form::Short).then(|| scope.spawn(soak));
        let mut tallies = all_but_soak(binaries, arguments);
        tallies.extend(match beside {
            Some(soak) => soak.join().expect("what is found is told and not panicked about"),
            None => soak(),
        });
        Report(tallies)
    })
}

fn all_but_soak(binaries: &Binaries, arguments: &Arguments) -> Vec<Tally> {
    let mut tallies = Vec::new();
    let mut add = |tally: Tally| {
        told(&tally);
        tallies.push(tally);
    };
    if arguments.wants("crash") {
        crash(binaries, arguments).into_iter().for_each(&mut add);
    }
    if arguments.wants("concurrency") {
        add(concurrency::run(binaries, arguments.time(600, 60), arguments.seed));
        add(concurrency::opening(binaries, arguments.time(180, 20), arguments.seed));
    }
    if arguments.wants("editors") {
        let rounds = |editor| match arguments.form {
            Form::Long => arguments.rounds.unwrap_or(Form::Long.rounds()),
            Form::Short => arguments.rounds.unwrap_or(editors::short(editor)),
        };
        editors::run_all(binaries, &arguments.part, rounds, arguments.seed).into_iter().for_each(&mut add);
    }
    if arguments.wants("fuzz") {
        let time = arguments.time(60, 10);
        fuzz::Target::ALL.into_iter().for_each(|target| add(fuzz::run(target, time, arguments.seed)));
        // Nothing is asked of whoever has no nightly toolchain.
        if libfuzzer::is_there() {
            fuzz::Target::ALL.into_iter().for_each(|target| add(libfuzzer::run(target, time, arguments.seed)));
        }
    }
    if arguments.wants("secrets") {
        add(secrets::run());
    }
    if arguments.wants("http") {
        add(flood::run(binaries, 1_000));
    }
    if arguments.wants_tests() {
        suites::NAMES.into_iter().for_each(|name| add(suites::run(name, arguments.form)));
    }
    tallies
}

/// Says that a part is done.
fn told(tally: &Tally) {
    say(&format!("{} {}: {} rounds, {} findings", tally.suite, tally.part, tally.rounds, tally.findings.len()));
}

#[cfg(unix)]
fn crash(binaries: &Binaries, arguments: &Arguments) -> Vec<Tally> {
    use proof::crash::Work;
    let rounds = arguments.rounds.unwrap_or(arguments.form.rounds()).div_ceil(Work::ALL.len());
    // Two at a time: a round waits for processes most of the time.
    let (first, second) = Work::ALL.split_at(Work::ALL.len() / 2);
    let one_half = |works: &[Work]| -> Vec<Tally> {
        works.iter().map(|work| proof::crash::run(binaries, *work, rounds, arguments.seed)).collect()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| one_half(second));
        let mut tallies = one_half(first);
        tallies.extend(other.join().expect("a round that finds something tells it"));
        tallies
    })
}

#[cfg(not(unix))]
fn crash(_binaries: &Binaries, _arguments: &Arguments) -> Vec<Tally> {
    let _ = (thread::available_parallelism(), proof::Random::new(0));
    Vec::new()
}
