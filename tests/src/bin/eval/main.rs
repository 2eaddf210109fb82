//! Measures retrieval: loads evaluation sets through the real capture and search, and prints the recall.
//!
//! `cargo run --release -p jikime-memory-tests --bin eval -- [--data DIR] [--baseline FILE] [--fail-on-drop yes] [--json
//! FILE] [--plot FILE] [--set NAME,…] [--model PATH] [--weights N/N/N] [--also FILE] [--among N] [--dump FILE]
//! [--goals yes] [--held-out yes]`. Without `--data` it uses the sets of the project and those beside the checkout.

mod dump;
mod goals;
mod held_out;
mod measure;
mod plot;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness::evaluation::{self, EvalSet, EvalStore, PairSet};
use measure::{LegMeasurement, measure};
use report::{compare_with_baseline, print, print_pairs, render_json};
use schema::settings::{EmbeddingProvider, LegWeights, Settings};

fn main() -> ExitCode {
    match EvalArguments::read(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// The file of other phrasings among the sets.
const PHRASINGS: &str = "also_dev.json";

#[derive(Debug)]
struct EvalArguments {
    /// Directory of additional sets.
    data: Option<PathBuf>,
    baseline: Option<PathBuf>,
    fails_on_drop: bool,
    json: Option<PathBuf>,
    plot: Option<PathBuf>,
    /// Only sets whose name contains one of these, separated by commas.
    set: String,
    /// A model file in our format, measured in addition to the built-in one.
    model: Option<String>,
    /// Weights of words and vectors.
    weights: Option<LegWeights>,
    /// A file for the scores of the first hits, one question a line.
    dump: Option<PathBuf>,
    /// Documents that each store has at least; others are added.
    among: usize,
    /// Whether to measure questions with other phrasings too, and to print the goals.
    has_goals: bool,
    /// Whether to cross-validate, which is slow.
    holds_out: bool,
    /// Other phrasings: only questions that have some are measured, without and with them.
    also: Option<PathBuf>,
}

impl EvalArguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            data: None,
            baseline: None,
            fails_on_drop: false,
            json: None,
            plot: None,
            set: String::new(),
            model: None,
            weights: None,
            dump: None,
            among: 0,
            has_goals: false,
            holds_out: false,
            also: None,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--data" => arguments.data = Some(value.into()),
                "--baseline" => arguments.baseline = Some(value.into()),
                "--fail-on-drop" => arguments.fails_on_drop = value == "yes",
                "--json" => arguments.json = Some(value.into()),
                "--plot" => arguments.plot = Some(value.into()),
                "--set" => arguments.set = value,
                "--model" => arguments.model = Some(value),
                "--weights" => arguments.weights = Some(parse_weights(&value)?),
                "--also" => arguments.also = Some(value.into()),
                "--dump" => arguments.dump = Some(value.into()),
                "--among" => arguments.among = value.parse().map_err(|_| format!("{value:?} is not a number"))?,
                "--goals" => arguments.has_goals = value == "yes",
                "--held-out" => arguments.holds_out = value == "yes",
                _ => {
                    return Err(format!(
                        "unknown option {name}; use --data, --baseline, --fail-on-drop, --json, --plot, --set, --model, --weights, --also, --dump, --among, --goals, --held-out"
                    ));
                }
            }
        }
        Ok(arguments)
    }
}

impl EvalArguments {
    /// The file with other phrasings: for goals, by default that among the other sets.
    fn phrasings(&self) -> Option<PathBuf> {
        let beside = || self.data.clone().or_else(evaluation::sets_beside_checkout).map(|dir| dir.join(PHRASINGS));
        let found = || beside().filter(|path| self.has_goals && path.is_file());
        self.also.clone().or_else(found)
    }

    fn names(&self, set: &str) -> bool {
        self.set.split(',').any(|part| set.contains(part))
    }
}

fn parse_weights(text: &str) -> Result<LegWeights, String> {
    let parts: Vec<u16> = text.split('/').map(|part| part.parse().ok()).collect::<Option<_>>().unwrap_or_default();
    match parts[..] {
        [words, vector] => Ok(LegWeights { words, vector }),
        _ => Err(format!("{text:?} does not have the form 65/5")),
    }
}

fn run(arguments: &EvalArguments) -> Result<(), String> {
    let own = EvalSet::read(&evaluation::own_sets().join("project.json"))?;
    let files_of_pairs =
        ["pairs.json", "pairs-held-out.json", "languages.json"].map(|name| evaluation::own_sets().join(name));
    let pairs = files_of_pairs.iter().map(|path| PairSet::read(path)).collect::<Result<Vec<_>, _>>()?;
    let mut sets: Vec<EvalSet> = pairs.iter().map(|pairs| evaluation::pairs_as_set(pairs, &own)).collect();
    sets.insert(0, own);
    sets.extend(read_other_sets(arguments.data.as_deref())?);
    if arguments.among > 0 {
        sets.iter_mut().for_each(|set| evaluation::add_distractors(set, arguments.among));
    }
    if let Some(path) = &arguments.dump {
        return dump::write(path, sets.iter().filter(|set| arguments.names(&set.name)));
    }
    if let Some(path) = arguments.phrasings() {
        let phrasings = evaluation::read_phrasings(&path)?;
        let mut phrased: Vec<EvalSet> = sets.iter().map(|set| set.clone().with_phrasings(&phrasings)).collect();
        phrased.retain(|set| !set.groups.is_empty());
        if arguments.has_goals {
            phrased.iter_mut().for_each(|set| set.name.push_str(goals::PHRASED));
            sets.extend(phrased);
        } else {
            sets = phrased;
        }
    }
    let mut measured: Vec<LegMeasurement> = Vec::new();
    for set in sets.iter().filter(|set| arguments.names(&set.name)) {
        let of_set = measure(set, arguments.model.as_deref(), arguments.weights)?;
        of_set.iter().for_each(print);
        if arguments.holds_out {
            of_set.iter().for_each(report::print_thresholds);
            report::print_weights(&set.name, held_out::fit_weights(set)?.as_ref());
        }
        measured.extend(of_set);
        if let Some(of_set) = pairs.iter().find(|pairs| pairs.name == set.name) {
            print_pairs(&of_set.pairs, &pair_ranks(set)?);
        }
    }
    report::print_table(&measured);
    if arguments.has_goals {
        report::print_lines(&goals::table(&measured));
    }
    let write =
        |path: &Path, text: &str| std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()));
    if let Some(path) = &arguments.json {
        write(path, &render_json(&measured))?;
    }
    if let Some(path) = &arguments.plot {
        write(path, &plot::render_svg(&measured))?;
    }
    let Some(path) = &arguments.baseline else { return Ok(()) };
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let worse = compare_with_baseline(&measured, &text)?;
    if worse.is_empty() {
        return Ok(());
    }
    let worse = format!("worse than the baseline by more than chance: {}", worse.join(", "));
    if arguments.fails_on_drop {
        return Err(worse);
    }
    report::print_error(&worse);
    Ok(())
}

/// Ranks of the answers of a set of pairs, from 1.
fn pair_ranks(set: &EvalSet) -> Result<Vec<Option<usize>>, String> {
    let settings = Settings { embedding_provider: EmbeddingProvider::Local, ..Settings::default() };
    let mut ranks = Vec::new();
    for group in &set.groups {
        let store = EvalStore::new(group, set.shape)?;
        let mut engine = store.engine(&settings)?;
        for question in &group.questions {
            let found = store.ask(&mut engine, &question.text)?.found;
            ranks.push(found.iter().position(|(id, _)| question.relevant.contains(id)).map(|place| place + 1));
        }
    }
    Ok(ranks)
}

/// The sets of the given directory, or of the one beside the checkout.
fn read_other_sets(dir: Option<&Path>) -> Result<Vec<EvalSet>, String> {
    let Some(dir) = dir.map(Path::to_path_buf).or_else(evaluation::sets_beside_checkout) else {
        report::print_note("no sets beside the checkout; use --data DIR for LoCoMo, KorQuAD, sde-bench and BEAM");
        return Ok(Vec::new());
    };
    let mut sets = Vec::new();
    for path in set_files(&dir)? {
        match EvalSet::read_if_set(&path)? {
            Some(set) => {
                let without_names = set.without_speakers();
                sets.push(set);
                sets.extend(without_names);
            }
            None => report::print_note(&format!("{} is not a retrieval set", path.display())),
        }
    }
    Ok(sets)
}

/// The sets in a directory, by name.
fn set_files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let listing = std::fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    if paths.is_empty() { Err(format!("{}: no set found", dir.display())) } else { Ok(paths) }
}
