//! Reads messages with labelled conclusions, from `tests/extraction/*.txt` or a JSON file, and measures how well predictions match the
//! labels.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use schema::host::classifier::{Conclusion, KINDS, Speaker};
use schema::model::memory::MemoryType;

/// A message with its labelled conclusions.
#[derive(Debug, Clone)]
pub(crate) struct Labelled {
    pub id: String,
    pub speaker: Speaker,
    pub text: String,
    /// The index of each conclusion's kind, and its range in the text.
    pub gold: Vec<(usize, Range<usize>)>,
    /// The block of the message. Cross-validation keeps blocks together, because neighbouring messages are variants of each other.
    pub block: usize,
}

/// The letters for the kinds in training files.
const LETTERS: &str = "DLFPCO";

/// The names of the kinds in JSON files.
const NAMES: [&str; 6] = ["decision", "learning", "error_fix", "preference", "convention", "open_step"];

/// The number of lines in a block.
const BLOCK: usize = 12;

/// Returns the name of a kind.
pub(crate) fn name(kind: MemoryType) -> &'static str {
    KINDS.iter().position(|other| *other == kind).map_or("none", |at| NAMES[at])
}

/// Reads the messages of one file, or of all files in a folder, sorted by name.
pub(crate) fn read(path: &Path) -> Vec<Labelled> {
    let is_file = path.is_file();
    let mut files: Vec<PathBuf> = if is_file {
        vec![path.to_owned()]
    } else {
        fs::read_dir(path).expect("the folder exists").map(|entry| entry.expect("it can be read").path()).collect()
    };
    files.retain(|file| is_file || file.extension().is_some_and(|end| end == "txt"));
    files.sort();
    files.iter().flat_map(|file| read_file(file)).collect()
}

fn read_file(file: &Path) -> Vec<Labelled> {
    let text = fs::read_to_string(file).expect("the file can be read");
    if file.extension().is_some_and(|end| end == "json") {
        return from_json(&text);
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| from_line(line, format!("{name}:{}", number + 1), number / BLOCK)).collect()
}

/// Parses `u|Text with [[D a decision]] in it`, where `\n` is a line break. An unclosed conclusion extends to the end.
fn from_line(line: &str, id: String, block: usize) -> Labelled {
    let (speaker, body) = line.split_once('|').unwrap_or_else(|| panic!("{id}: no speaker"));
    let speaker = match speaker {
        "u" => Speaker::Person,
        "a" => Speaker::Agent,
        _ => panic!("{id}: {speaker:?} is no speaker"),
    };
    let body = body.replace("\\n", "\n").replace("\\t", "\t");
    let (mut text, mut gold) = (String::new(), Vec::new());
    let mut rest = body.as_str();
    while let Some((plain, marked)) = rest.split_once("[[") {
        text.push_str(plain);
        let kind = marked.split_once(' ').and_then(|(letter, _)| LETTERS.find(letter).filter(|_| letter.len() == 1));
        let Some(kind) = kind else {
            text.push_str("[[");
            rest = marked;
            continue;
        };
        let (inner, after) = marked[2..].split_once("]]").unwrap_or((&marked[2..], ""));
        let start = text.len();
        text.push_str(inner);
        gold.push((kind, start..text.len()));
        rest = after;
    }
    text.push_str(rest);
    Labelled { id, speaker, text, gold, block }
}

fn from_json(text: &str) -> Vec<Labelled> {
    let set: serde_json::Value = serde_json::from_str(text).expect("the set is JSON");
    let items = set["items"].as_array().expect("the set has items");
    items
        .iter()
        .map(|item| {
            let words = |value: &serde_json::Value| value.as_str().expect("it is a text").to_owned();
            let text = words(&item["text"]);
            let gold = item["gold"].as_array().expect("an item has its gold").iter().map(|gold| {
                let kind = NAMES.iter().position(|name| gold["type"] == **name).expect("the kind is known");
                let start = text.find(&words(&gold["text"])).expect("the conclusion is in the text");
                (kind, start..start + words(&gold["text"]).len())
            });
            let speaker = if item["speaker"] == "user" { Speaker::Person } else { Speaker::Agent };
            Labelled { id: words(&item["id"]), speaker, gold: gold.collect(), text: text.clone(), block: 0 }
        })
        .collect()
}

/// Counts matches between predictions and labels. A prediction is right if the kind is equal and the F1 of the tokens is at least 0.5.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measure {
    /// Right, wrong and missed predictions by kind.
    pub kinds: [[usize; 3]; 6],
    pub negatives: usize,
    /// Messages without a conclusion for which one was predicted.
    pub wrong_negatives: usize,
    /// Predictions of a real conclusion with the wrong kind.
    pub mistaken: usize,
}

impl Measure {
    pub(crate) fn add(&mut self, labelled: &Labelled, found: &[Conclusion]) -> Vec<String> {
        let mut notes = Vec::new();
        let mut is_used = vec![false; found.len()];
        for (kind, range) in &labelled.gold {
            let gold = &labelled.text[range.clone()];
            let fits =
                |(_, found): &(usize, &Conclusion)| found.kind == KINDS[*kind] && overlap(&found.text, gold) >= 0.5;
            let best = found.iter().enumerate().filter(|(at, _)| !is_used[*at]).filter(fits);
            match best.max_by(|a, b| overlap(&a.1.text, gold).total_cmp(&overlap(&b.1.text, gold))) {
                Some((at, _)) => {
                    is_used[at] = true;
                    self.kinds[*kind][0] += 1;
                }
                None => {
                    self.kinds[*kind][2] += 1;
                    notes.push(format!("missed {} {} | {gold}", labelled.id, NAMES[*kind]));
                }
            }
        }
        for (found, _) in found.iter().zip(&is_used).filter(|(_, is_used)| !**is_used) {
            let kind = KINDS.iter().position(|kind| *kind == found.kind).expect("it is one of them");
            self.kinds[kind][1] += 1;
            let is_other =
                |(_, range): &(usize, Range<usize>)| overlap(&found.text, &labelled.text[range.clone()]) >= 0.5;
            self.mistaken += usize::from(labelled.gold.iter().any(is_other));
            let negative = if labelled.gold.is_empty() { " (negative)" } else { "" };
            notes.push(format!(
                "wrong{negative} {} {} {:.2} | {}",
                labelled.id, NAMES[kind], found.confidence, found.text
            ));
        }
        self.negatives += usize::from(labelled.gold.is_empty());
        self.wrong_negatives += usize::from(labelled.gold.is_empty() && !found.is_empty());
        notes
    }

    fn sum(&self, which: usize) -> usize {
        self.kinds.iter().map(|kind| kind[which]).sum()
    }

    pub(crate) fn precision(&self) -> f32 {
        share(self.sum(0), self.sum(1))
    }

    pub(crate) fn recall(&self) -> f32 {
        share(self.sum(0), self.sum(2))
    }

    /// Returns the share of messages without a conclusion for which one was predicted.
    pub(crate) fn share_of_negatives(&self) -> f32 {
        share(self.wrong_negatives, self.negatives - self.wrong_negatives)
    }

    pub(crate) fn line(&self) -> String {
        let kind = |(name, counts): (&str, &[usize; 3])| {
            format!("{name} {:.2}/{:.2}", share(counts[0], counts[1]), share(counts[0], counts[2]))
        };
        let kinds: Vec<_> = NAMES.into_iter().zip(&self.kinds).map(kind).collect();
        let wrong = self.share_of_negatives();
        format!(
            "precision {:.3} recall {:.3} negatives {wrong:.3} mistaken {} | {}",
            self.precision(),
            self.recall(),
            self.mistaken,
            kinds.join(", ")
        )
    }
}

fn share(part: usize, rest: usize) -> f32 {
    part as f32 / (part + rest).max(1) as f32
}

/// Returns the F1 of the tokens of two texts. Tokens are ASCII words, and pairs of other characters.
pub(crate) fn overlap(a: &str, b: &str) -> f32 {
    let (a, b) = (counted(a), counted(b));
    let common: usize = a.iter().map(|(token, count)| count.min(b.get(token).unwrap_or(&0))).sum();
    let all: usize = a.values().chain(b.values()).sum();
    2.0 * common as f32 / all.max(1) as f32
}

fn counted(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let low = text.to_lowercase();
    let is_ascii = |c: char| c.is_ascii_alphanumeric();
    for word in low.split(|c: char| !c.is_alphanumeric()) {
        for run in word.chars().collect::<Vec<_>>().chunk_by(|a, b| is_ascii(*a) == is_ascii(*b)) {
            let size = if is_ascii(run[0]) { run.len() } else { run.len().min(2) };
            run.windows(size).for_each(|token| *counts.entry(token.iter().collect()).or_insert(0) += 1);
        }
    }
    counts
}
