//! Everything that is promised about speed, measured in one go through the real programs, with floors of the same run: a table with
//! pass or fail, JSON, and how a search grows with the store.
//!
//! `cargo run --release -p jikime-memory-tests --bin bench` builds the programs as README.md installs them. Options:
//!
//! - `--programs FOLDER` measures programs in a folder, such as `bin` of `cargo install --root`; `--memory PROGRAM --hook PROGRAM` give each.
//! - `--sizes 1000,10000,100000` sets the numbers of memories. Most goals are about the largest up to 100,000, those of searches about
//!   larger ones too.
//! - `--writes` measures saves and hooks alone.
//! - `--markdown docs/performance.md` replaces the block of that document and its plot; `--json FILE` and `--svg FILE` say where those go.
//! - `--vectors FILE --numbers N` looks whether the nearest are found among real vectors: see `vectors.rs`.
//! - `--peer COMMAND` measures another server in turns with ours: see `peer.rs`.

mod crowd;
mod figures;
mod growth;
mod hooks;
mod memories;
mod peer;
mod report;
mod saves;
mod serving;
mod stages;
mod start;
mod vectors;

use std::cmp::Ordering;
use std::env::consts::EXE_EXTENSION;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use harness::Binaries;
use harness::benchmark::{Floors, installed};

use figures::Table;
use stages::Extent;

/// The number of memories that most goals are about.
const WHOLE: usize = 100_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let sizes = given("--sizes").unwrap_or_else(|| "1000,10000,100000".to_owned());
    let sizes = sizes.split(',').map(|size| Ok(size.trim().replace('_', "").parse()?));
    let mut sizes: Vec<usize> = sizes.collect::<Outcome<_>>()?;
    let has_only_writes = std::env::args().any(|argument| argument == "--writes");
    if has_only_writes && given("--markdown").is_some() {
        return Err("--markdown needs all figures; leave --writes out".into());
    }
    let floors = Floors::build()?;
    let program = |name: &str, package: &str, options: &[&str]| {
        let in_folder =
            given("--programs").map(|folder| Path::new(&folder).join(package).with_extension(EXE_EXTENSION));
        match given(name).map(PathBuf::from).or(in_folder) {
            Some(path) => Ok(fs::canonicalize(path)?),
            None => installed(package, options),
        }
    };
    let memory: PathBuf = program("--memory", "jikime-memory", &[])?;
    let hook: PathBuf = program("--hook", "jikime-hook", &["--config", "hooks-client/small.toml"])?;
    let binaries = Binaries { memory, hook };
    let given_programs = ["--memory", "--hook", "--programs"].iter().any(|name| given(name).is_some());
    let machine = report::machine(if given_programs {
        "The programs are those that were given."
    } else {
        "The programs are those that README.md installs."
    });
    let mut table = Table::default();
    let whole = sizes.iter().copied().filter(|size| *size <= WHOLE).max();
    if has_only_writes {
        stages::writes(&binaries, &floors, whole.ok_or("--sizes has no number up to 100000")?, &mut table)?;
        sizes.clear();
    } else {
        vectors::measure(&mut table);
    }
    if let Some(file) = given("--vectors") {
        let dims = given("--numbers").ok_or("--vectors needs --numbers, the numbers of each")?;
        vectors::recall(file.as_ref(), dims.parse()?, &mut table)?;
    }
    let mut grown = Vec::new();
    for size in sizes {
        let extent = match Some(size).cmp(&whole) {
            Ordering::Less => Extent::Growth,
            Ordering::Equal => Extent::Everything,
            Ordering::Greater => Extent::Searches,
        };
        grown.push(stages::measure(&binaries, &floors, size, extent, &mut table)?);
    }
    println!("{machine}\n\n{}", table.text());
    if !grown.is_empty() {
        println!("{}", growth::text(&grown));
    }
    if let Some(path) = given("--markdown") {
        report::write(path.as_ref(), &machine, &table, &grown)?;
    }
    if let Some(path) = given("--json") {
        fs::write(path, serde_json::to_string_pretty(&table.json(&grown))?)?;
    }
    if let Some(path) = given("--svg") {
        fs::write(path, growth::svg(&grown))?;
    }
    Ok(())
}

/// What stands behind `name` on the command line.
fn given(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}
