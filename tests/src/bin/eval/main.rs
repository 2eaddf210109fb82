//! Measures retrieval: loads evaluation sets through the real capture and search, and prints what is found of what is relevant.
//!
//! `cargo run --release -p jikime-memory-tests --bin eval -- --data DIR [--baseline FILE] [--json FILE] [--set NAME]`

mod measure;
mod report;
mod set;
mod stores;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use measure::{Measured, measure};
use report::{compare, json, print};
use set::Set;

fn main() -> ExitCode {
    match Arguments::read(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// What is asked for on the command line.
#[derive(Debug, Default)]
struct Arguments {
    data: PathBuf,
    baseline: Option<PathBuf>,
    json: Option<PathBuf>,
    /// Sets whose name holds this; all when empty.
    set: String,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self::default();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--data" => arguments.data = value.into(),
                "--baseline" => arguments.baseline = Some(value.into()),
                "--json" => arguments.json = Some(value.into()),
                "--set" => arguments.set = value,
                _ => return Err(format!("there is no {name}; there is --data, --baseline, --json, --set")),
            }
        }
        if arguments.data.as_os_str().is_empty() {
            return Err("say with --data where the sets are".to_owned());
        }
        Ok(arguments)
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut measured: Vec<Measured> = Vec::new();
    for path in sets(&arguments.data)? {
        let set = Set::read(&path)?;
        if set.name.contains(&arguments.set) {
            let of_set = measure(&set)?;
            of_set.iter().for_each(print);
            measured.extend(of_set);
        }
    }
    if let Some(path) = &arguments.baseline {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        compare(&measured, &text)?;
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, json(&measured)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// The files of a directory that are sets, by name.
fn sets(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    if paths.is_empty() { Err(format!("{}: there is no set", dir.display())) } else { Ok(paths) }
}
