//! The vector leg: how near every document is to the question, and how unusual that is in this store.

use std::collections::HashMap;
use std::sync::Arc;

use super::function_words;
use crate::embed::{Meaning, WorkPlace};
use crate::error::ToolError;
use crate::index::{Index, Loader, Vectors};
use crate::text::script::Script;

/// Documents whose cosine is computed again from their full vectors.
const RESCORED: usize = 100;

/// Vectors from which on candidates are collected by words while they are compared.
const MANY: usize = 10_000;

/// Documents with usual cosines that are imagined beside the real ones of a script, so that a store of two has a usual cosine as
/// well: mean and deviation of texts in the question's script, and in another. A model that adds up words holds languages apart.
const PSEUDO_DOCUMENTS: f64 = 30.0;
const OWN: (f64, f64) = (0.12, 0.1);
const FOREIGN: (f64, f64) = (-0.07, 0.045);

/// How near a text in the question's script is whose cosine is known by the model that adds up words alone, from 0 to 1.
pub(super) fn in_words(cosine: f32) -> f32 {
    let (mean, deviation) = OWN;
    ((cosine - mean as f32) / deviation as f32 / NEAREST).clamp(0.0, 1.0)
}

/// So many deviations above the mean a document is as near as can be.
const NEAREST: f32 = 6.0;

/// Cosines of a question with all documents.
#[derive(Debug)]
pub(super) struct Nearness {
    vectors: Arc<Vectors>,
    /// Of each row.
    cosines: Vec<f32>,
    /// What is usual for texts of each script.
    usual: [Usual; 4],
    /// How many deviations above that the nearest are, from full vectors.
    exact: HashMap<i64, f32>,
    /// The nearest documents, best first.
    pub(super) nearest: Vec<i64>,
}

/// What a question is compared with; this needs no index, so that it is done while somebody else reads in it.
#[derive(Debug)]
pub(super) struct Comparison {
    vectors: Source,
    vector: Vec<f32>,
    own: Script,
    /// Whether texts of all scripts are compared with each other.
    is_together: bool,
}

/// Where the vectors are.
#[derive(Debug)]
enum Source {
    Memory(Arc<Vectors>),
    /// Nobody asked before: they are read when they are compared.
    File(Loader),
}

/// Prepares the comparison of a question with all documents; `None` without vectors to compare.
pub(super) fn prepare(index: &mut Index, meaning: &Meaning, question: &str) -> Result<Option<Comparison>, ToolError> {
    meaning.embedder.readiness()?;
    let identity = meaning.embedder.identity();
    let vectors = match index.loader(identity)? {
        Some(loader) => Source::File(loader),
        None => match index.shared_vectors(identity)?.filter(|vectors| !vectors.is_empty()) {
            Some(vectors) => Source::Memory(vectors),
            None => return Ok(None),
        },
    };
    // A model that adds up words takes those that only ask for a part of what is asked; one that reads sentences needs them.
    let asked = match meaning.embedder.place() {
        WorkPlace::Here => function_words::without(question),
        WorkPlace::Elsewhere => question.to_owned(),
    };
    let Some(vector) = meaning.embedder.embed_query(&asked)? else { return Ok(None) };
    let is_together = meaning.embedder.place() == WorkPlace::Elsewhere;
    Ok(Some(Comparison { vectors, vector, own: Script::of(question), is_together }))
}

impl Comparison {
    /// Whether it takes so long that something else is done meanwhile.
    pub(super) fn is_long(&self) -> bool {
        match &self.vectors {
            Source::Memory(vectors) => vectors.len() >= MANY,
            Source::File(_) => true,
        }
    }

    /// Compares the question with all documents and finds at least the nearest `count`.
    pub(super) fn scan(&self, count: usize) -> Result<Nearness, ToolError> {
        let vectors = match &self.vectors {
            Source::Memory(vectors) => Arc::clone(vectors),
            Source::File(loader) => loader.load()?,
        };
        let cosines = vectors.scan(&self.vector);
        let usual = self.usual(&cosines, vectors.scripts());
        let scripts = vectors.scripts();
        let value = |row: usize| usual[scripts[row] as usize].above(cosines[row]);
        let nearest = if cosines.is_empty() { Vec::new() } else { vectors.greatest(count.max(RESCORED), value) };
        Ok(Nearness { vectors, cosines, usual, exact: HashMap::new(), nearest })
    }

    /// What is usual for texts of each script.
    fn usual(&self, cosines: &[f32], scripts: &[Script]) -> [Usual; 4] {
        let mut sums = Script::ALL
            .map(|script| Sums::imagined(if self.is_together || script == self.own { OWN } else { FOREIGN }));
        let mut counts = [0; 4];
        for (cosine, script) in cosines.iter().zip(scripts) {
            counts[*script as usize] += 1;
            sums[if self.is_together { 0 } else { *script as usize }].add(*cosine);
        }
        std::array::from_fn(|script| {
            let sums = &sums[if self.is_together { 0 } else { script }];
            let (mean, deviation) = sums.usual();
            Usual { mean, deviation, count: counts[script] }
        })
    }

    /// Compares the nearest documents again by their full vectors.
    pub(super) fn look_closely(&self, mut near: Nearness, index: &Index) -> Result<Nearness, ToolError> {
        for document in near.nearest.iter().take(RESCORED) {
            let (Some(row), Some(cosine)) = (near.vectors.row(*document), index.cosine_with(*document, &self.vector)?)
            else {
                continue;
            };
            near.exact.insert(*document, near.usual[near.vectors.scripts()[row] as usize].above(cosine));
        }
        let at = |document: &i64| near.exact.get(document).copied().unwrap_or(f32::MIN);
        near.nearest.sort_by(|a, b| at(b).total_cmp(&at(a)));
        Ok(near)
    }
}

impl Nearness {
    /// How near a document is, from 0, which is usual here or further, to 1; `None` when it has no vector.
    pub(super) fn of(&self, document: i64) -> Option<f32> {
        Some((self.deviations(document)? / NEAREST).clamp(0.0, 1.0))
    }

    /// How far what is usual for texts of a script was seen in this store, up to 1.
    pub(super) fn trust(&self, script: Script) -> f32 {
        let count = self.count(script) as f64;
        ((count + PSEUDO_DOCUMENTS) / (count + 2.0 * PSEUDO_DOCUMENTS)) as f32
    }

    /// How many texts of a script have a vector.
    pub(super) fn count(&self, script: Script) -> usize {
        self.usual[script as usize].count
    }

    /// How many deviations nearer a document is than is usual for texts of its script.
    pub(super) fn deviations(&self, document: i64) -> Option<f32> {
        let scanned = || {
            let row = self.vectors.row(document)?;
            Some(self.usual[self.vectors.scripts()[row] as usize].above(*self.cosines.get(row)?))
        };
        self.exact.get(&document).copied().or_else(scanned)
    }
}

/// The cosines that texts of a script have with a question.
#[derive(Debug, Clone, Copy)]
struct Usual {
    mean: f32,
    deviation: f32,
    /// How many texts there are.
    count: usize,
}

impl Usual {
    fn above(&self, cosine: f32) -> f32 {
        (cosine - self.mean) / self.deviation
    }
}

/// What mean and deviation are computed from.
#[derive(Debug, Clone, Copy)]
struct Sums {
    sum: f64,
    squares: f64,
    count: f64,
}

impl Sums {
    fn imagined((mean, deviation): (f64, f64)) -> Self {
        let squares = PSEUDO_DOCUMENTS * (deviation * deviation + mean * mean);
        Self { sum: PSEUDO_DOCUMENTS * mean, squares, count: PSEUDO_DOCUMENTS }
    }

    fn add(&mut self, cosine: f32) {
        let cosine = f64::from(cosine);
        self.sum += cosine;
        self.squares += cosine * cosine;
        self.count += 1.0;
    }

    fn usual(&self) -> (f32, f32) {
        let mean = self.sum / self.count;
        (mean as f32, (self.squares / self.count - mean * mean).max(1e-6).sqrt() as f32)
    }
}
