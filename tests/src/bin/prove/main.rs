//! Checks the promises of docs/dev/reliability.md with long runs: injects faults into the real programs, and reports rounds, faults and
//! findings.
//!
//! `cargo run -p jikime-memory-tests --bin prove -- [--suite NAME] [--part WORDS] [--rounds N] [--minutes N] [--seed N] [--write FILE]
//! [--memory PROGRAM --hook PROGRAM]`. The programs under test are those given, else those in `JIKIME_TEST_PROGRAMS`, else a build with the
//! same profile. Only builds with debug assertions have named crash points; with others, `crash` kills at random moments only. The suite
//! `tests` uses the programs in that folder or its own build.

mod programs;
mod suites;

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use harness::proof::{
    ProofReport, ProofResult, RunLength, concurrency, editors, flood, fuzz, libfuzzer, secrets, soak,
};
use harness::{Binaries, proof};

/// The rounds of crashes and of each editor.
const ROUNDS: usize = 1_000;

fn main() -> ExitCode {
    let proved = ProveArguments::read(std::env::args().skip(1)).and_then(|arguments| {
        let folder = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
        let programs = match (&arguments.memory, &arguments.hook) {
            (Some(memory), Some(hook)) => programs::copy_programs(memory, hook, folder.path())?,
            (None, None) => match Binaries::named() {
                Some(Binaries { memory, hook }) => programs::copy_programs(&memory, &hook, folder.path())?,
                None => programs::build_programs(folder.path())?,
            },
            _ => return Err("--memory and --hook go together".to_owned()),
        };
        let report = run_proofs(&programs, &arguments);
        let table = report.markdown();
        print_line(&table);
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

fn print_line(text: &str) {
    // The reader may have closed the pipe.
    let _ = writeln!(io::stdout(), "{text}");
}

#[derive(Debug)]
struct ProveArguments {
    /// The suite to run, or empty for all suites.
    suite: String,
    /// Words in the names of the parts of the suite `editors` to run, or empty for all.
    part: String,
    rounds: Option<usize>,
    /// The duration of each suite without rounds, in minutes. `None` for its default.
    minutes: Option<u64>,
    seed: u64,
    write: Option<PathBuf>,
    /// The programs under test, or `None` to build them.
    memory: Option<PathBuf>,
    hook: Option<PathBuf>,
}

const SUITES: [&str; 8] = ["crash", "concurrency", "editors", "fuzz", "secrets", "http", "tests", "soak"];

impl ProveArguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            suite: String::new(),
            part: String::new(),
            rounds: None,
            minutes: None,
            seed: 1,
            write: None,
            memory: None,
            hook: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{value:?} is not a number"));
            match name.as_str() {
                "--suite" if SUITES.contains(&value.as_str()) => arguments.suite = value,
                "--suite" => return Err(format!("unknown suite {value:?}; use {}", SUITES.join(", "))),
                "--part" => arguments.part = value,
                "--rounds" => arguments.rounds = Some(usize::try_from(number()?).map_err(|error| error.to_string())?),
                "--minutes" => arguments.minutes = Some(number()?),
                "--seed" => arguments.seed = number()?,
                "--write" => arguments.write = Some(value.into()),
                "--memory" => arguments.memory = Some(value.into()),
                "--hook" => arguments.hook = Some(value.into()),
                _ => return Err(format!("unknown option {name}; see the comment at the top of main.rs")),
            }
        }
        Ok(arguments)
    }

    fn wants(&self, suite: &str) -> bool {
        self.suite.is_empty() || self.suite == suite
    }

    /// Whether to run ordinary tests, which use their own programs.
    fn wants_tests(&self) -> bool {
        self.suite == "tests" || (self.wants("tests") && self.memory.is_none())
    }

    /// Returns the requested time, or the default of the suite in seconds.
    fn time(&self, seconds: u64) -> Duration {
        Duration::from_secs(self.minutes.map_or(seconds, |minutes| 60 * minutes))
    }

    fn length(&self, seconds: u64) -> RunLength {
        RunLength::Time(self.time(seconds))
    }
}

fn run_proofs(binaries: &Binaries, arguments: &ProveArguments) -> ProofReport {
    let mut tallies = Vec::new();
    let mut add = |tally: ProofResult| {
        print_tally(&tally);
        tallies.push(tally);
    };
    if arguments.wants("crash") {
        prove_crash(binaries, arguments).into_iter().for_each(&mut add);
    }
    if arguments.wants("concurrency") {
        add(concurrency::run(binaries, arguments.length(600), arguments.seed));
        add(concurrency::run_opening(binaries, arguments.length(180), arguments.seed));
    }
    if arguments.wants("editors") {
        let rounds = arguments.rounds.unwrap_or(ROUNDS);
        editors::run_all(binaries, &arguments.part, |_| rounds, arguments.seed).into_iter().for_each(&mut add);
    }
    if arguments.wants("fuzz") {
        let time = arguments.time(60);
        let run = |target| fuzz::run(target, RunLength::Time(time), arguments.seed);
        fuzz::FuzzTarget::ALL.into_iter().for_each(|target| add(run(target)));
        // The nightly toolchain is optional.
        if libfuzzer::is_available() {
            fuzz::FuzzTarget::ALL.into_iter().for_each(|target| add(libfuzzer::run(target, time, arguments.seed)));
        }
    }
    if arguments.wants("secrets") {
        add(secrets::run());
    }
    if arguments.wants("http") {
        add(flood::run(binaries, 1_000));
    }
    if arguments.wants_tests() {
        suites::NAMES.into_iter().for_each(|name| add(suites::run_suite(name)));
    }
    if arguments.wants("soak") {
        add(soak::run(binaries, arguments.length(3_600), arguments.seed));
    }
    ProofReport(tallies)
}

/// Reports that a part is done.
fn print_tally(tally: &ProofResult) {
    print_line(&format!("{} {}: {} rounds, {} findings", tally.suite, tally.part, tally.rounds, tally.findings.len()));
}

#[cfg(unix)]
fn prove_crash(binaries: &Binaries, arguments: &ProveArguments) -> Vec<ProofResult> {
    use proof::crash::{CrashScenario, KillPlan, has_points};
    let rounds = arguments.rounds.unwrap_or(ROUNDS).div_ceil(2 * CrashScenario::ALL.len());
    let mut plans = vec![KillPlan::AtMoments { kills: rounds }];
    match has_points(binaries) {
        true => plans.push(KillPlan::AtPoints { rounds }),
        false => print_line("skipped: crashes at points, because these programs have none"),
    }
    // Two threads, because a round mostly waits for processes.
    let (first, second) = CrashScenario::ALL.split_at(CrashScenario::ALL.len() / 2);
    let one_half = |works: &[CrashScenario]| -> Vec<ProofResult> {
        let runs = works.iter().flat_map(|work| plans.iter().map(move |plan| (*work, *plan)));
        runs.map(|(work, plan)| proof::crash::run(binaries, work, plan, arguments.seed)).collect()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| one_half(second));
        let mut tallies = one_half(first);
        tallies.extend(other.join().expect("findings are returned, without a panic"));
        tallies
    })
}

#[cfg(not(unix))]
fn prove_crash(_binaries: &Binaries, _arguments: &ProveArguments) -> Vec<ProofResult> {
    let _ = (thread::available_parallelism(), proof::SeededRandom::new(0));
    Vec::new()
}
