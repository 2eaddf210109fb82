//! The command line of the benchmark.

use std::path::PathBuf;
use std::time::Duration;

/// The parts of the benchmark.
pub(crate) const PARTS: [&str; 5] = ["sde", "notes", "pairs", "stories", "code"];

/// Minutes for each set of a server without `--minutes`. Some servers need a second for five saves.
const MINUTES: u64 = 10;

#[derive(Debug)]
pub(crate) struct CodingArguments {
    /// Descriptions of other servers, by name or file.
    pub(crate) peers: Vec<String>,
    /// The folder that `tests/peers/install` filled.
    pub(crate) installed: PathBuf,
    pub(crate) parts: Vec<String>,
    /// The time for each set of a server.
    pub(crate) limit: Duration,
    /// Earlier reports, whose servers are not measured again.
    pub(crate) earlier: Vec<PathBuf>,
    /// A folder with our programs.
    pub(crate) programs: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) markdown: Option<PathBuf>,
}

impl CodingArguments {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            peers: Vec::new(),
            installed: ".".into(),
            parts: PARTS.map(str::to_owned).to_vec(),
            limit: Duration::from_mins(MINUTES),
            earlier: Vec::new(),
            programs: None,
            json: None,
            svg: None,
            markdown: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--peer" => arguments.peers.extend(list(&value)),
                "--peers-installed" => arguments.installed = value.into(),
                "--parts" => arguments.parts = parts(&value)?,
                "--minutes" => arguments.limit = Duration::from_mins(number(&value)?),
                "--with" => arguments.earlier.extend(list(&value).map(PathBuf::from)),
                "--programs" => arguments.programs = Some(value.into()),
                "--json" => arguments.json = Some(value.into()),
                "--svg" => arguments.svg = Some(value.into()),
                "--markdown" => arguments.markdown = Some(value.into()),
                _ => {
                    return Err(format!(
                        "unknown option {name}; use --peer, --peers-installed, --parts, --minutes, --with, --programs, --json, --svg, --markdown"
                    ));
                }
            }
        }
        Ok(arguments)
    }
}

fn list(value: &str) -> impl Iterator<Item = String> {
    value.split(',').map(|name| name.trim().to_owned())
}

fn parts(value: &str) -> Result<Vec<String>, String> {
    let unknown = list(value).find(|part| !PARTS.contains(&part.as_str()));
    unknown.map_or_else(|| Ok(list(value).collect()), |part| Err(format!("no part {part:?}; use {}", PARTS.join(", "))))
}

fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("{value:?} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<CodingArguments, String> {
        CodingArguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let read = read("--peer a,b.json --peer c --minutes 2 --parts notes,code --json out.json").unwrap();
        assert_eq!(
            (read.peers, read.parts),
            (["a", "b.json", "c"].map(str::to_owned).to_vec(), ["notes", "code"].map(str::to_owned).to_vec())
        );
        assert_eq!((read.limit, read.json), (Duration::from_mins(2), Some("out.json".into())));
    }

    #[test]
    fn invalid_options_name_the_valid_ones() {
        for (line, reason) in [
            ("--parts all", "no part \"all\"; use sde, notes"),
            ("--minutes x", "\"x\" is not a number"),
            ("--json", "--json needs a value"),
            ("--peers a", "unknown option --peers; use --peer,"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
