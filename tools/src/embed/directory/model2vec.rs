//! A model of model2vec: one vector for each token of a tokeniser, and a text is their mean.

use safetensors::tensor::{Dtype, TensorView};
use tokenizers::Tokenizer;

use super::{Files, unusable};
use crate::embed::{EmbedError, Embedded, Embedder, Identity, ModelFault, Vector, WorkPlace, half};

/// A model whose tokens have one vector each.
#[derive(Debug)]
pub(super) struct Model2Vec {
    tokenizer: Tokenizer,
    identity: Identity,
    /// Row by row.
    rows: Vec<f32>,
    /// What each token weighs; empty: all the same.
    weights: Vec<f32>,
    /// The row of each token; empty: the one of its number.
    mapping: Vec<f32>,
    unknown: Option<u32>,
}

impl Model2Vec {
    pub(super) fn new(files: &Files<'_>) -> Result<Self, ModelFault> {
        let tensors = files.tensors()?;
        let view = tensors.tensor("embeddings").map_err(|error| unusable(error.to_string()))?;
        let &[count, dims] = view.shape() else {
            return Err(unusable(format!("embeddings has the shape {:?}", view.shape())));
        };
        if count == 0 || dims == 0 {
            return Err(unusable("embeddings is empty".to_owned()));
        }
        let rows = numbers("embeddings", &view)?;
        let optional = |name: &str| match tensors.tensor(name) {
            Ok(view) => numbers(name, &view),
            Err(_) => Ok(Vec::new()),
        };
        let (weights, mapping) = (optional("weights")?, optional("mapping")?);
        if mapping.iter().any(|row| *row < 0.0 || *row >= count as f32) {
            return Err(unusable("mapping leads beyond embeddings".to_owned()));
        }
        let tokenizer = files.tokenizer()?;
        let tokens = tokenizer.get_vocab_size(true);
        let has = [mapping.len(), weights.len()].into_iter().find(|length| *length > 0).unwrap_or(count);
        if tokens > has {
            return Err(unusable(format!("tokenizer.json has {tokens} tokens, and model.safetensors {has}")));
        }
        let unknown = ["[UNK]", "<unk>"].iter().find_map(|token| tokenizer.token_to_id(token));
        Ok(Self { tokenizer, identity: files.identity("model2vec", dims), rows, weights, mapping, unknown })
    }

    fn embed(&self, text: &str) -> Result<Vector, EmbedError> {
        let fault = |error: tokenizers::Error| EmbedError::Unavailable(format!("cannot split a text: {error}"));
        let encoding = self.tokenizer.encode_fast(text, false).map_err(fault)?;
        let dims = self.identity.dims;
        let mut sum = vec![0.0f32; dims];
        for token in encoding.get_ids().iter().filter(|token| Some(**token) != self.unknown) {
            let token = *token as usize;
            let row = self.mapping.get(token).map_or(token, |row| *row as usize);
            let weight = self.weights.get(token).copied().unwrap_or(1.0);
            if let Some(row) = self.rows.get(row * dims..(row + 1) * dims) {
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * weight);
            }
        }
        let length = sum.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32;
        let is_direction = length.is_finite() && length > 0.0;
        Ok(is_direction.then(|| sum.into_iter().map(|value| value / length).collect()))
    }
}

impl Embedder for Model2Vec {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> WorkPlace {
        WorkPlace::Here
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        texts.iter().map(|text| Ok(self.embed(text)?.into())).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.embed(text)
    }
}

/// The numbers of a tensor, each of them finite.
fn numbers(name: &str, view: &TensorView<'_>) -> Result<Vec<f32>, ModelFault> {
    let data = view.data();
    let numbers: Vec<f32> = match view.dtype() {
        Dtype::F32 => chunks::<4>(data).map(f32::from_le_bytes).collect(),
        Dtype::F64 => chunks::<8>(data).map(|bytes| f64::from_le_bytes(bytes) as f32).collect(),
        Dtype::F16 => chunks::<2>(data).map(|bytes| half::read(u16::from_le_bytes(bytes))).collect(),
        Dtype::BF16 => chunks::<2>(data).map(|[low, high]| f32::from_le_bytes([0, 0, low, high])).collect(),
        Dtype::I8 => chunks::<1>(data).map(|bytes| f32::from(i8::from_le_bytes(bytes))).collect(),
        Dtype::I32 => chunks::<4>(data).map(|bytes| i32::from_le_bytes(bytes) as f32).collect(),
        Dtype::I64 => chunks::<8>(data).map(|bytes| i64::from_le_bytes(bytes) as f32).collect(),
        other => return Err(unusable(format!("{name} holds {other:?}"))),
    };
    match numbers.iter().all(|number| number.is_finite()) {
        true => Ok(numbers),
        false => Err(unusable(format!("{name} holds what is no number"))),
    }
}

fn chunks<const N: usize>(data: &[u8]) -> impl Iterator<Item = [u8; N]> {
    data.as_chunks::<N>().0.iter().copied()
}
