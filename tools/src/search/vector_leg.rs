//! The vector leg: how near each document is to the question, and how unusual that is in this store.

use std::collections::HashMap;
use std::sync::Arc;

use super::leg_weights::crowding;
use super::query::Translations;
use super::stop_words;
use crate::embed::{EmbedError, Embedder, EmbeddingLocation, EmbeddingModel};
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

/// Standard deviations above the mean that count as 1.
const MAX_DEVIATIONS: f32 = 6.0;

/// Standard deviations that chance brings in a large store.
const CHANCE: f32 = 1.9;

/// The vectors that questions are compared with. A comparison needs no index, so it can run while another thread reads that.
#[derive(Debug)]
pub(super) struct VectorLeg<'m> {
    model: &'m EmbeddingModel,
    vectors: VectorSource,
    /// Whether the index has the full vectors.
    is_stored: bool,
}

#[derive(Debug)]
enum VectorSource {
    Memory(Arc<Vectors>),
    /// First search: reads the vectors while comparing.
    File(VectorLoader),
}

/// A question in the model's vectors.
#[derive(Debug)]
pub(super) struct VectorQuestion {
    vectors: ScriptVectors,
    script: Script,
    /// Whether texts of all scripts form one group.
    is_across_scripts: bool,
}

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
    /// Deviations by which the nearest documents are near by chance.
    by_chance: f32,
}

impl<'m> VectorLeg<'m> {
    /// Compares with the vectors of the index; `None` without any.
    pub(super) fn from_index(index: &mut Index, model: &'m EmbeddingModel) -> Result<Option<Self>, ToolError> {
        model.embedder.readiness()?;
        let identity = model.embedder.identity();
        let vectors = match index.loader(identity)? {
            Some(loader) => Some(VectorSource::File(loader)),
            None => index.shared_vectors(identity)?.filter(|vectors| !vectors.is_empty()).map(VectorSource::Memory),
        };
        Ok(vectors.map(|vectors| Self { model, vectors, is_stored: true }))
    }

    /// Compares with vectors of the built-in model, which replaces a service that fails.
    pub(super) fn from_fallback(vectors: &Arc<Vectors>, local: &'m EmbeddingModel) -> Self {
        Self { model: local, vectors: VectorSource::Memory(Arc::clone(vectors)), is_stored: false }
    }

    /// A question to compare; `None` if the model has no vector for it.
    pub(super) fn embed(&self, text: &str, translations: &Translations) -> Result<Option<VectorQuestion>, ToolError> {
        let is_across_scripts = self.model.embedder.location() == EmbeddingLocation::Remote;
        // A model that sums words would mistake function words for content; one that reads sentences needs them.
        let vectors = match is_across_scripts {
            false => words_vectors(&*self.model.embedder, text, translations)?,
            true => self.model.embedder.embed_query(text)?.map(ScriptVectors::of_all),
        };
        Ok(vectors.map(|vectors| VectorQuestion { vectors, script: Script::detect(text), is_across_scripts }))
    }

    /// Whether it is slow enough to run in parallel.
    pub(super) fn is_slow(&self) -> bool {
        match &self.vectors {
            VectorSource::Memory(vectors) => vectors.len() >= SLOW_FROM_VECTORS,
            VectorSource::File(_) => true,
        }
    }

    /// Compares each question with all documents. The number next to a question is how many nearest documents it gets.
    pub(super) fn scan(&self, questions: &[(&VectorQuestion, usize)]) -> Result<Vec<VectorScores>, ToolError> {
        let vectors = match &self.vectors {
            VectorSource::Memory(vectors) => Arc::clone(vectors),
            VectorSource::File(loader) => loader.load()?,
        };
        let asked: Vec<&ScriptVectors> = questions.iter().map(|(question, _)| &question.vectors).collect();
        let scanned = vectors.scan(&asked).into_iter().zip(questions);
        let scores = scanned.map(|(cosines, (question, count))| VectorScores::new(&vectors, question, cosines, *count));
        Ok(scores.collect())
    }

    /// Compares the nearest documents again by full vectors.
    pub(super) fn rescore_nearest(
        &self,
        question: &VectorQuestion,
        mut near: VectorScores,
        index: &Index,
    ) -> Result<VectorScores, ToolError> {
        if !self.is_stored {
            return Ok(near);
        }
        for document in near.nearest.iter().take(RESCORED) {
            let Some(row) = near.vectors.row(*document) else { continue };
            let script = near.vectors.scripts()[row];
            let Some(cosine) = index.cosine_with(*document, question.vectors.for_script(script))? else { continue };
            near.exact.insert(*document, near.baselines[script as usize].deviations_above(cosine));
        }
        let at = |document: &i64| near.exact.get(document).copied().unwrap_or(f32::MIN);
        near.nearest.sort_by(|a, b| at(b).total_cmp(&at(a)));
        Ok(near)
    }
}

/// The vectors of a question in a model that knows words: for texts in other scripts those of its translated words.
fn words_vectors(
    model: &dyn Embedder,
    question: &str,
    translations: &Translations,
) -> Result<Option<ScriptVectors>, EmbedError> {
    let Some(own) = model.embed_query(&stop_words::strip_stop_words(question))? else { return Ok(None) };
    let mut vectors = ScriptVectors::of_all(own);
    for script in Script::ALL {
        if let Some(text) = translations.for_script(script)
            && let Some(vector) = model.embed_query(&text)?
        {
            vectors.set(script, vector);
        }
    }
    Ok(Some(vectors))
}

impl VectorQuestion {
    /// Usual cosines per script.
    fn baselines(&self, cosines: &[f32], scripts: &[Script]) -> [ScriptBaseline; 4] {
        let mut sums = Script::ALL.map(|script| {
            let is_own = self.is_across_scripts || script == self.script || self.vectors.has_own(script);
            RunningStats::from_prior(if is_own { SAME_SCRIPT_PRIOR } else { CROSS_SCRIPT_PRIOR })
        });
        for (cosine, script) in cosines.iter().zip(scripts) {
            sums[if self.is_across_scripts { 0 } else { *script as usize }].add(*cosine);
        }
        std::array::from_fn(|script| sums[if self.is_across_scripts { 0 } else { script }].baseline())
    }
}

impl VectorScores {
    fn new(vectors: &Arc<Vectors>, question: &VectorQuestion, cosines: Vec<f32>, count: usize) -> Self {
        let scripts = vectors.scripts();
        let baselines = question.baselines(&cosines, scripts);
        let value = |row: usize| baselines[scripts[row] as usize].deviations_above(cosines[row]);
        let nearest = if cosines.is_empty() { Vec::new() } else { vectors.greatest(count, value) };
        let by_chance = if question.is_across_scripts { 0.0 } else { CHANCE * crowding(vectors.len() as u64) };
        Self { vectors: Arc::clone(vectors), cosines, baselines, exact: HashMap::new(), nearest, by_chance }
    }

    /// Nearness from 0, which is usual or less, to 1; `None` without a vector.
    pub(super) fn nearness(&self, document: i64) -> Option<f32> {
        Some((self.deviations(document)? / MAX_DEVIATIONS).clamp(0.0, 1.0))
    }

    /// Standard deviations of a document above usual for its script, less what chance brings in a large store.
    pub(super) fn deviations(&self, document: i64) -> Option<f32> {
        let scanned = || {
            let row = self.vectors.row(document)?;
            Some(self.baselines[self.vectors.scripts()[row] as usize].deviations_above(*self.cosines.get(row)?))
        };
        Some(self.exact.get(&document).copied().or_else(scanned)? - self.by_chance)
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

    fn baseline(&self) -> ScriptBaseline {
        let mean = self.sum / self.count;
        let deviation = (self.squares / self.count - mean * mean).max(1e-6).sqrt() as f32;
        ScriptBaseline { mean: mean as f32, deviation }
    }
}
