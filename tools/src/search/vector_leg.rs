//! The vector leg: how near each document is to the question, and how unusual that is in this store.

use std::collections::HashMap;
use std::sync::Arc;

use super::query::Translations;
use super::stop_words;
use crate::embed::{EmbeddingLocation, EmbeddingModel, LocalModel};
use crate::error::ToolError;
use crate::index::{Index, ScriptVectors, VectorLoader, Vectors};
use crate::text::script::Script;

/// Documents whose cosine is recomputed from full vectors.
const RESCORED: usize = 100;

/// Number of vectors from which the word search runs in parallel.
const SLOW_FROM_VECTORS: usize = 10_000;

/// Virtual documents with usual cosines, so that small stores have a usual cosine too: mean and deviation for texts in the
/// question's script, and in another. A model that sums words separates languages.
const PSEUDO_DOCUMENTS: f64 = 30.0;
const SAME_SCRIPT_PRIOR: (f64, f64) = (0.12, 0.1);
const CROSS_SCRIPT_PRIOR: (f64, f64) = (-0.07, 0.045);

/// Nearness from 0 to 1 of a text in the question's script, from its cosine in a model that sums words.
pub(super) fn similarity_in_script(cosine: f32) -> f32 {
    let (mean, deviation) = SAME_SCRIPT_PRIOR;
    ((cosine - mean as f32) / deviation as f32 / MAX_DEVIATIONS).clamp(0.0, 1.0)
}

/// Standard deviations above the mean that count as 1.
pub(super) const MAX_DEVIATIONS: f32 = 6.0;

#[derive(Debug)]
pub(super) struct VectorScores {
    vectors: Arc<Vectors>,
    /// Per row.
    cosines: Vec<f32>,
    /// Usual cosines per script.
    baselines: [ScriptBaseline; 4],
    /// Standard deviations of the nearest documents, from full vectors.
    exact: HashMap<i64, f32>,
    /// Best first.
    pub(super) nearest: Vec<i64>,
}

/// A comparison that needs no index, so it can run while another thread reads the index.
#[derive(Debug)]
pub(super) struct VectorComparison {
    vectors: VectorSource,
    question: ScriptVectors,
    query_script: Script,
    /// Whether texts of all scripts form one group.
    is_across_scripts: bool,
    /// Whether the index has the full vectors.
    is_stored: bool,
}

#[derive(Debug)]
enum VectorSource {
    Memory(Arc<Vectors>),
    /// First search: reads the vectors while comparing.
    File(VectorLoader),
}

/// Prepares a comparison with all documents; `None` without vectors.
pub(super) fn prepare_comparison(
    index: &mut Index,
    model: &EmbeddingModel,
    question: &str,
    translations: &Translations,
) -> Result<Option<VectorComparison>, ToolError> {
    model.embedder.readiness()?;
    let identity = model.embedder.identity();
    let vectors = match index.loader(identity)? {
        Some(loader) => VectorSource::File(loader),
        None => match index.shared_vectors(identity)?.filter(|vectors| !vectors.is_empty()) {
            Some(vectors) => VectorSource::Memory(vectors),
            None => return Ok(None),
        },
    };
    // A model that sums words would mistake function words for content; one that reads sentences needs them.
    let asked = match model.embedder.location() {
        EmbeddingLocation::InProcess => words_vectors(&model.local_model, question, translations),
        EmbeddingLocation::Remote => model.embedder.embed_query(question)?.map(ScriptVectors::of_all),
    };
    let Some(asked) = asked else { return Ok(None) };
    let is_together = model.embedder.location() == EmbeddingLocation::Remote;
    Ok(Some(VectorComparison {
        vectors,
        question: asked,
        query_script: Script::detect(question),
        is_across_scripts: is_together,
        is_stored: true,
    }))
}

/// A comparison with the vectors of the built-in model, which replaces a service that fails.
pub(super) fn compare_locally(
    vectors: &Arc<Vectors>,
    local: &EmbeddingModel,
    question: &str,
    translations: &Translations,
) -> Result<Option<VectorComparison>, ToolError> {
    let Some(asked) = words_vectors(&local.local_model, question, translations) else { return Ok(None) };
    let vectors = VectorSource::Memory(Arc::clone(vectors));
    Ok(Some(VectorComparison {
        vectors,
        question: asked,
        query_script: Script::detect(question),
        is_across_scripts: false,
        is_stored: false,
    }))
}

/// The vectors of a question in a model that knows words: for texts in other scripts those of its translated words.
fn words_vectors(model: &LocalModel, question: &str, translations: &Translations) -> Option<ScriptVectors> {
    let mut vectors = ScriptVectors::of_all(model.embed(&stop_words::strip_stop_words(question))?);
    for script in Script::ALL {
        if let Some(vector) = translations.for_script(script).and_then(|text| model.embed(&text)) {
            vectors.set(script, vector);
        }
    }
    Some(vectors)
}

impl VectorComparison {
    /// Compares with vectors that another phrasing has read.
    pub(super) fn use_vectors(&mut self, vectors: &Arc<Vectors>) {
        self.vectors = VectorSource::Memory(Arc::clone(vectors));
    }

    /// Whether it is slow enough to run in parallel.
    pub(super) fn is_slow(&self) -> bool {
        match &self.vectors {
            VectorSource::Memory(vectors) => vectors.len() >= SLOW_FROM_VECTORS,
            VectorSource::File(_) => true,
        }
    }

    /// Compares the question with all documents and finds the nearest `count`.
    pub(super) fn scan(&self, count: usize) -> Result<VectorScores, ToolError> {
        let vectors = match &self.vectors {
            VectorSource::Memory(vectors) => Arc::clone(vectors),
            VectorSource::File(loader) => loader.load()?,
        };
        let cosines = vectors.scan_by_script(&self.question);
        let usual = self.baselines(&cosines, vectors.scripts());
        let scripts = vectors.scripts();
        let value = |row: usize| usual[scripts[row] as usize].deviations_above(cosines[row]);
        let nearest = if cosines.is_empty() { Vec::new() } else { vectors.greatest(count, value) };
        Ok(VectorScores { vectors, cosines, baselines: usual, exact: HashMap::new(), nearest })
    }

    /// Usual cosines per script.
    fn baselines(&self, cosines: &[f32], scripts: &[Script]) -> [ScriptBaseline; 4] {
        let mut sums = Script::ALL.map(|script| {
            let is_own = self.is_across_scripts || script == self.query_script || self.question.has_own(script);
            RunningStats::from_prior(if is_own { SAME_SCRIPT_PRIOR } else { CROSS_SCRIPT_PRIOR })
        });
        for (cosine, script) in cosines.iter().zip(scripts) {
            sums[if self.is_across_scripts { 0 } else { *script as usize }].add(*cosine);
        }
        std::array::from_fn(|script| {
            let sums = &sums[if self.is_across_scripts { 0 } else { script }];
            let (mean, deviation) = sums.mean_and_deviation();
            ScriptBaseline { mean, deviation }
        })
    }

    /// Compares the nearest documents again by full vectors.
    pub(super) fn rescore_nearest(&self, mut near: VectorScores, index: &Index) -> Result<VectorScores, ToolError> {
        if !self.is_stored {
            return Ok(near);
        }
        for document in near.nearest.iter().take(RESCORED) {
            let Some(row) = near.vectors.row(*document) else { continue };
            let script = near.vectors.scripts()[row];
            let Some(cosine) = index.cosine_with(*document, self.question.for_script(script))? else { continue };
            near.exact.insert(*document, near.baselines[script as usize].deviations_above(cosine));
        }
        let at = |document: &i64| near.exact.get(document).copied().unwrap_or(f32::MIN);
        near.nearest.sort_by(|a, b| at(b).total_cmp(&at(a)));
        Ok(near)
    }
}

impl VectorScores {
    pub(super) fn vectors(&self) -> &Arc<Vectors> {
        &self.vectors
    }

    /// Nearness from 0, which is usual or less, to 1; `None` without a vector.
    pub(super) fn nearness(&self, document: i64) -> Option<f32> {
        Some((self.deviations(document)? / MAX_DEVIATIONS).clamp(0.0, 1.0))
    }

    /// Standard deviations of a document above usual for its script.
    pub(super) fn deviations(&self, document: i64) -> Option<f32> {
        let scanned = || {
            let row = self.vectors.row(document)?;
            Some(self.baselines[self.vectors.scripts()[row] as usize].deviations_above(*self.cosines.get(row)?))
        };
        self.exact.get(&document).copied().or_else(scanned)
    }
}

/// Distribution of a script's cosines with a question.
#[derive(Debug, Clone, Copy)]
struct ScriptBaseline {
    mean: f32,
    deviation: f32,
}

impl ScriptBaseline {
    fn deviations_above(&self, cosine: f32) -> f32 {
        (cosine - self.mean) / self.deviation
    }
}

#[derive(Debug, Clone, Copy)]
struct RunningStats {
    sum: f64,
    squares: f64,
    count: f64,
}

impl RunningStats {
    fn from_prior((mean, deviation): (f64, f64)) -> Self {
        let squares = PSEUDO_DOCUMENTS * (deviation * deviation + mean * mean);
        Self { sum: PSEUDO_DOCUMENTS * mean, squares, count: PSEUDO_DOCUMENTS }
    }

    fn add(&mut self, cosine: f32) {
        let cosine = f64::from(cosine);
        self.sum += cosine;
        self.squares += cosine * cosine;
        self.count += 1.0;
    }

    fn mean_and_deviation(&self) -> (f32, f32) {
        let mean = self.sum / self.count;
        (mean as f32, (self.squares / self.count - mean * mean).max(1e-6).sqrt() as f32)
    }
}
