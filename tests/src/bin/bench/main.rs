//! Measures all speed promises with the real programs and baselines from the same run. Prints a table with pass or fail,
//! JSON, and search time by store size.
//!
//! `cargo run --release -p jikime-memory-tests --bin bench` builds the programs as README.md does. Options:
//!
//! - `--programs FOLDER` measures existing programs, such as `bin` of `cargo install --root`. `--memory PROGRAM --hook
//! PROGRAM` sets each.
//!
//! - `--sizes 1000,10000,100000` sets the numbers of memories. Most goals are for the largest size up to 100,000, search
//!   goals also for larger ones.
//!
//! - `--writes` measures saves and hooks only.
//!
//! - `--markdown docs/dev/performance.md` updates the results in that document and its plot. `--json FILE` and `--svg FILE`
//!   write files.
//!
//! - `--vectors FILE --numbers N` measures recall on real vectors; see `vectors.rs`.
//!
//! - `--peer NAME` measures another server in alternation with ours; see `peer.rs`.
//!
//! - `--peers all` compares all described servers and nothing else; see `peers.rs`.

mod arguments;
mod crowd;
mod figures;
mod growth;
mod hooks;
mod memories;
mod page;
mod peer;
mod peers;
mod report;
mod saves;
mod serving;
mod stages;
mod start;
mod vectors;

use std::cmp::Ordering;
use std::env::consts::EXE_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf};

use harness::Binaries;
use harness::benchmark::{BaselinePrograms, describe_machine, install_program};

use arguments::{Outcome, given};
use figures::FigureTable;
use stages::MeasureScope;

/// The size that most goals are for.
const WHOLE: usize = 100_000;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    arguments::refuse_unknown_options()?;
    let sizes = given("--sizes").unwrap_or_else(|| "1000,10000,100000".to_owned());
    let sizes = sizes.split(',').map(|size| Ok(size.trim().replace('_', "").parse()?));
    let mut sizes: Vec<usize> = sizes.collect::<Outcome<_>>()?;
    let has_only_writes = std::env::args().any(|argument| argument == "--writes");
    if has_only_writes && given("--markdown").is_some() {
        return Err("--markdown needs all figures; omit --writes".into());
    }
    let program = |name: &str, package: &str, options: &[&str]| {
        let in_folder =
            given("--programs").map(|folder| Path::new(&folder).join(package).with_extension(EXE_EXTENSION));
        match given(name).map(PathBuf::from).or(in_folder) {
            Some(path) => Ok(fs::canonicalize(path)?),
            None => install_program(package, options),
        }
    };
    let memory: PathBuf = program("--memory", "jikime-memory", &[])?;
    let hook: PathBuf = program("--hook", "jikime-hook", &["--config", "hooks-client/small.toml"])?;
    let binaries = Binaries { memory, hook };
    let given_programs = ["--memory", "--hook", "--programs"].iter().any(|name| given(name).is_some());
    let machine = describe_machine(if given_programs {
        "The programs are those that were given."
    } else {
        "The programs are those that README.md installs."
    });
    if given("--peers").is_some() {
        let block = peers::markdown(&machine, &peers::measure(&binaries)?);
        println!("{block}");
        return given("--markdown").map_or(Ok(()), |path| peers::write(path.as_ref(), &block));
    }
    let floors = BaselinePrograms::build()?;
    let mut table = FigureTable::default();
    let whole = sizes.iter().copied().filter(|size| *size <= WHOLE).max();
    if has_only_writes {
        stages::measure_writes(&binaries, &floors, whole.ok_or("--sizes has no number up to 100000")?, &mut table)?;
        sizes.clear();
    } else {
        vectors::measure(&mut table);
    }
    if let Some(file) = given("--vectors") {
        let dims = given("--numbers").ok_or("--vectors needs --numbers, the numbers of each")?;
        vectors::measure_recall(file.as_ref(), dims.parse()?, &mut table)?;
    }
    let mut grown = Vec::new();
    for size in sizes {
        let extent = match Some(size).cmp(&whole) {
            Ordering::Less => MeasureScope::Growth,
            Ordering::Equal => MeasureScope::Everything,
            Ordering::Greater => MeasureScope::Searches,
        };
        grown.push(stages::measure(&binaries, &floors, size, extent, &mut table)?);
    }
    println!("{machine}\n\n{}", table.text());
    if !grown.is_empty() {
        println!("{}", growth::render_text(&grown));
    }
    if let Some(path) = given("--markdown") {
        report::write(path.as_ref(), &machine, &table, &grown)?;
    }
    if let Some(path) = given("--json") {
        fs::write(path, serde_json::to_string_pretty(&table.json(&grown))?)?;
    }
    if let Some(path) = given("--svg") {
        fs::write(path, growth::render_svg(&grown))?;
    }
    Ok(())
}
