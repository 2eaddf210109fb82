//! A model of the BERT family that reads sentences: its tokeniser, its layers on the processor, and how its outputs become one vector.

mod config;
mod layers;

use candle_core::{Device, Tensor};
use tokenizers::{Encoding, Tokenizer};

use super::{Files, unusable};
use crate::embed::{EmbedError, Embedded, Embedder, Identity, ModelFault, Vector, WorkPlace};
use config::{Config, Pooling, Prefixes};
use layers::Layers;

/// Tokens that go through the layers at once, padding included: more needs more memory and is no quicker.
const TOKENS_AT_ONCE: usize = 4_096;

/// A model that reads sentences.
#[derive(Debug)]
pub(super) struct Transformer {
    tokenizer: Tokenizer,
    identity: Identity,
    layers: Layers,
    pooling: Pooling,
    prefixes: Prefixes,
    /// Tokens that are read at once.
    most_tokens: usize,
}

impl Transformer {
    pub(super) fn new(files: &Files<'_>) -> Result<Self, ModelFault> {
        let config = Config::of(files)?;
        let pooling = Pooling::of(files)?;
        let tokenizer = files.tokenizer()?;
        let layers = Layers::load(&files.weights, &config)?;
        if tokenizer.get_vocab_size(true) > layers.vocabulary() {
            let (tokens, rows) = (tokenizer.get_vocab_size(true), layers.vocabulary());
            return Err(unusable(format!("tokenizer.json has {tokens} tokens, and model.safetensors {rows}")));
        }
        let identity = files.identity("bert", config.hidden_size);
        Ok(Self {
            tokenizer,
            identity,
            layers,
            pooling,
            prefixes: Prefixes::of(files)?,
            most_tokens: config.most_tokens,
        })
    }

    /// Vectors in the order of the texts. A text that is longer than the model reads goes through in parts, and its vector is their
    /// mean, weighted by their lengths.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vector>, EmbedError> {
        let parts = self.parts(texts)?;
        let mut order: Vec<usize> = (0..parts.len()).collect();
        // Those of about the same length together, so that little is padded.
        order.sort_by_key(|part| std::cmp::Reverse(parts[*part].ids.len()));
        let mut sums = vec![vec![0.0f32; self.identity.dims]; texts.len()];
        let mut rest = order.as_slice();
        while let Some(longest) = rest.first().map(|part| parts[*part].ids.len()) {
            let (batch, after) = rest.split_at((TOKENS_AT_ONCE / longest.max(1)).clamp(1, rest.len()));
            rest = after;
            let batch: Vec<&Part> = batch.iter().map(|part| &parts[*part]).collect();
            let vectors = self.vectors(&batch, longest).map_err(|error| {
                EmbedError::Unavailable(format!("the model {} fails: {error}", self.identity.model))
            })?;
            for (part, vector) in batch.iter().zip(vectors) {
                let length = length(&vector);
                if length.is_finite() && length > 0.0 {
                    let weight = part.ids.len() as f32 / length;
                    sums[part.text].iter_mut().zip(vector).for_each(|(sum, value)| *sum += value * weight);
                }
            }
        }
        Ok(sums.into_iter().map(direction).collect())
    }

    fn parts(&self, texts: &[String]) -> Result<Vec<Part>, EmbedError> {
        let mut parts = Vec::new();
        for (text, words) in texts.iter().enumerate() {
            if words.trim().is_empty() {
                continue;
            }
            let encoding = self.tokenizer.encode(words.as_str(), true);
            let encoding =
                encoding.map_err(|error| EmbedError::Unavailable(format!("cannot split a text: {error}")))?;
            parts.extend(windows(&encoding, self.most_tokens).map(|ids| Part { text, ids }));
        }
        Ok(parts)
    }

    fn vectors(&self, batch: &[&Part], longest: usize) -> candle_core::Result<Vec<Vec<f32>>> {
        let padded = |part: &&Part| {
            let padding = std::iter::repeat_n(self.layers.padding(), longest - part.ids.len());
            part.ids.iter().copied().chain(padding).collect::<Vec<u32>>()
        };
        let ids: Vec<u32> = batch.iter().flat_map(padded).collect();
        let seen = |part: &&Part| {
            let length = part.ids.len();
            (0..longest).map(move |at| if at < length { 1.0f32 } else { 0.0 })
        };
        let mask: Vec<f32> = batch.iter().flat_map(seen).collect();
        let shape = (batch.len(), longest);
        let ids = Tensor::from_vec(ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_vec(mask, shape, &Device::Cpu)?;
        self.pooling.pool(&self.layers.forward(&ids, &mask)?, &mask)?.to_vec2()
    }
}

/// A text, or as much of it as the model reads at once.
struct Part {
    /// The number of the text.
    text: usize,
    ids: Vec<u32>,
}

/// The tokens of a text in parts of at most `most`, each between the special tokens that stand around the whole.
fn windows(encoding: &Encoding, most: usize) -> impl Iterator<Item = Vec<u32>> {
    let ids = encoding.get_ids();
    let is_special = |special: &&u32| **special == 1;
    let before = encoding.get_special_tokens_mask().iter().take_while(is_special).count();
    let after = encoding.get_special_tokens_mask()[before..].iter().rev().take_while(is_special).count();
    let (start, end) = (&ids[..before], &ids[ids.len() - after..]);
    let room = most.saturating_sub(before + after).max(1);
    ids[before..ids.len() - after].chunks(room).map(move |part| [start, part, end].concat())
}

impl Embedder for Transformer {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> WorkPlace {
        WorkPlace::Elsewhere
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        let texts: Vec<String> = texts.iter().map(|text| prefixed(&self.prefixes.document, text)).collect();
        Ok(self.embed(&texts)?.into_iter().map(Embedded::from).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(self.embed(&[prefixed(&self.prefixes.query, text)])?.into_iter().next().flatten())
    }
}

/// A text without words stays one.
fn prefixed(prefix: &str, text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("{prefix}{text}") }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32
}

fn direction(vector: Vec<f32>) -> Vector {
    let length = length(&vector);
    (length.is_finite() && length > 0.0).then(|| vector.into_iter().map(|value| value / length).collect())
}
