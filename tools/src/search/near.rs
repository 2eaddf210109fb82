//! The vector leg: how near every document is to the question, and how unusual that is in this store.

use std::collections::HashMap;
use std::sync::Arc;

use super::function_words;
use crate::embed::{Meaning, WorkPlace};
use crate::error::ToolError;
use crate::index::{Index, Vectors};
use crate::text::script::Script;

/// Documents whose cosine is computed again from their full vectors.
const RESCORED: usize = 100;

/// Documents with usual cosines that are imagined beside the real ones of a script, so that a store of two has a usual cosine as
/// well: mean and deviation of texts in the question's script, and in another. A model that adds up words holds languages apart.
const PSEUDO_DOCUMENTS: f64 = 30.0;
const OWN: (f64, f64) = (0.12, 0.1);
const FOREIGN: (f64, f64) = (-0.07, 0.045);

/// So many deviations above the mean a document is as near as can be.
const NEAREST: f32 = 6.0;

/// Cosines of a question with all documents.
#[derive(Debug)]
pub(super) struct Nearness {
    vectors: Arc<Vectors>,
    /// How many deviations each row is above the mean of its script.
    above: Vec<f32>,
    /// The same from full vectors, for the nearest.
    exact: HashMap<i64, f32>,
    /// The nearest documents, best first.
    pub(super) nearest: Vec<i64>,
    /// How many texts of each script have a vector.
    counts: [usize; 4],
}

/// The nearness of documents to a question, at least the nearest `count`; `None` without vectors to compare.
pub(super) fn nearness(
    index: &mut Index,
    meaning: &Meaning,
    question: &str,
    count: usize,
) -> Result<Option<Nearness>, ToolError> {
    meaning.embedder.readiness()?;
    let Some(vectors) = index.shared_vectors(meaning.embedder.identity())? else { return Ok(None) };
    if vectors.is_empty() {
        return Ok(None);
    }
    // A model that adds up words takes those that only ask for a part of what is asked; one that reads sentences needs them.
    let asked = match meaning.embedder.place() {
        WorkPlace::Here => function_words::without(question),
        WorkPlace::Elsewhere => question.to_owned(),
    };
    let Some(vector) = meaning.embedder.embed_query(&asked)? else { return Ok(None) };
    let cosines = vectors.scan(&vector);
    let own = Script::of(question);
    let is_together = meaning.embedder.place() == WorkPlace::Elsewhere;
    let usual = Script::ALL.map(|script| {
        let of_script = cosines.iter().zip(vectors.scripts()).filter(|(_, found)| is_together || **found == script);
        usual(of_script.map(|(cosine, _)| *cosine), if is_together || script == own { OWN } else { FOREIGN })
    });
    let above = |cosine: f32, row: usize| {
        let (mean, deviation) = usual[vectors.scripts()[row] as usize];
        (cosine - mean) / deviation
    };
    let scanned: Vec<f32> = cosines.iter().enumerate().map(|(row, cosine)| above(*cosine, row)).collect();
    let mut nearest = vectors.greatest(&scanned, count.max(RESCORED));
    let mut exact = HashMap::new();
    for document in nearest.iter().take(RESCORED) {
        let of_document = index.vector(*document)?.filter(|found| found.len() == vector.len());
        if let (Some(of_document), Some(row)) = (of_document, vectors.row(*document)) {
            exact.insert(*document, above(of_document.iter().zip(&vector).map(|(a, b)| a * b).sum(), row));
        }
    }
    let at = |document: &i64| exact.get(document).copied().unwrap_or(f32::MIN);
    nearest.sort_by(|a, b| at(b).total_cmp(&at(a)));
    let counts = Script::ALL.map(|script| vectors.scripts().iter().filter(|found| **found == script).count());
    Ok(Some(Nearness { vectors: Arc::clone(&vectors), above: scanned, exact, nearest, counts }))
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
        self.counts[script as usize]
    }

    /// How many deviations nearer a document is than is usual for texts of its script.
    pub(super) fn deviations(&self, document: i64) -> Option<f32> {
        let scanned = || self.vectors.row(document).and_then(|row| self.above.get(row)).copied();
        self.exact.get(&document).copied().or_else(scanned)
    }
}

/// Mean and deviation of cosines, and of imagined ones beside them.
fn usual(cosines: impl Iterator<Item = f32>, (of_mean, of_deviation): (f64, f64)) -> (f32, f32) {
    let imagined = PSEUDO_DOCUMENTS * (of_deviation * of_deviation + of_mean * of_mean);
    let start = (PSEUDO_DOCUMENTS * of_mean, imagined, PSEUDO_DOCUMENTS);
    let (sum, squares, count) = cosines
        .map(f64::from)
        .fold(start, |(sum, squares, count), cosine| (sum + cosine, squares + cosine * cosine, count + 1.0));
    let mean = sum / count;
    (mean as f32, (squares / count - mean * mean).max(1e-6).sqrt() as f32)
}
