//! The layers of BERT (Devlin et al., 2018) on the processor: embeddings, then attention and a feed-forward net, again and again.

use std::collections::HashMap;

use candle_core::{D, DType, Device, Module as _, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::{Embedding, LayerNorm, Linear};

use super::super::unusable;
use super::config::{Activation, Config};
use crate::embed::ModelFault;

/// Beginnings of names that some makers put before all of them.
const BEGINNINGS: [&str; 4] = ["", "bert.", "roberta.", "0.auto_model."];

/// All layers of a model.
#[derive(Debug)]
pub(super) struct Layers {
    words: Embedding,
    /// The embeddings of positions and of the first type of token, added up.
    positions: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
    padding: u32,
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attention_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    norm: LayerNorm,
    heads: usize,
    activation: Activation,
}

impl Layers {
    pub(super) fn load(bytes: &[u8], config: &Config) -> std::result::Result<Self, ModelFault> {
        let weights = Weights::read(bytes)?;
        let hidden = config.hidden_size;
        let words = weights.matrix("embeddings.word_embeddings.weight", None, hidden)?;
        let positions = weights.matrix("embeddings.position_embeddings.weight", None, hidden)?;
        let end = config.first_position + config.most_tokens;
        if positions.dims()[0] < end {
            return Err(unusable(format!("it has {} positions instead of {end}", positions.dims()[0])));
        }
        let types = weights.matrix("embeddings.token_type_embeddings.weight", None, hidden)?;
        let positions = positions
            .narrow(0, config.first_position, config.most_tokens)
            .and_then(|positions| positions.broadcast_add(&types.narrow(0, 0, 1)?))
            .map_err(|error| unusable(error.to_string()))?;
        let norm = weights.norm("embeddings.LayerNorm", config)?;
        let layers = (0..config.num_hidden_layers).map(|number| Layer::load(&weights, config, number));
        Ok(Self {
            words: Embedding::new(words, hidden),
            positions,
            norm,
            layers: layers.collect::<std::result::Result<_, _>>()?,
            padding: config.pad_token_id,
        })
    }

    /// How many tokens have an embedding.
    pub(super) fn vocabulary(&self) -> usize {
        self.words.embeddings().dims().first().copied().unwrap_or_default()
    }

    /// The token that fills up a batch.
    pub(super) fn padding(&self) -> u32 {
        if (self.padding as usize) < self.vocabulary() { self.padding } else { 0 }
    }

    /// The outputs for tokens, text by text; `mask` is 0 where a text is padded.
    pub(super) fn forward(&self, ids: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (_, length) = ids.dims2()?;
        let embedded = self.words.forward(ids)?.broadcast_add(&self.positions.narrow(0, 0, length)?)?;
        // Nothing attends to padding.
        let bias = mask.affine(1e9, -1e9)?.unsqueeze(1)?.unsqueeze(1)?;
        let mut outputs = self.norm.forward(&embedded)?;
        for layer in &self.layers {
            outputs = layer.forward(&outputs, &bias)?;
        }
        Ok(outputs)
    }
}

impl Layer {
    fn load(weights: &Weights, config: &Config, number: usize) -> std::result::Result<Self, ModelFault> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let linear = |part: &str, from, to| weights.linear(&name(part), from, to);
        Ok(Self {
            query: linear("attention.self.query", hidden, hidden)?,
            key: linear("attention.self.key", hidden, hidden)?,
            value: linear("attention.self.value", hidden, hidden)?,
            attended: linear("attention.output.dense", hidden, hidden)?,
            attention_norm: weights.norm(&name("attention.output.LayerNorm"), config)?,
            wide: linear("intermediate.dense", hidden, wide)?,
            narrow: linear("output.dense", wide, hidden)?,
            norm: weights.norm(&name("output.LayerNorm"), config)?,
            heads: config.num_attention_heads,
            activation: config.activation()?,
        })
    }

    fn forward(&self, inputs: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let attended = self.attended.forward(&self.attend(inputs, bias)?)?;
        let attended = self.attention_norm.forward(&(inputs + attended)?)?;
        let wide = self.wide.forward(&attended)?;
        let wide = match self.activation {
            Activation::Gelu => wide.gelu_erf()?,
            Activation::GeluByTanh => wide.gelu()?,
            Activation::Relu => wide.relu()?,
        };
        self.norm.forward(&(self.narrow.forward(&wide)? + attended)?)
    }

    fn attend(&self, inputs: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let (texts, length, hidden) = inputs.dims3()?;
        let size = hidden / self.heads;
        let by_head = |linear: &Linear| {
            linear.forward(inputs)?.reshape((texts, length, self.heads, size))?.transpose(1, 2)?.contiguous()
        };
        let (query, key, value) = (by_head(&self.query)?, by_head(&self.key)?, by_head(&self.value)?);
        let scores = query.matmul(&key.transpose(D::Minus2, D::Minus1)?.contiguous()?)?;
        let scores = (scores / (size as f64).sqrt())?.broadcast_add(bias)?;
        let attended = softmax_last_dim(&scores)?.matmul(&value)?;
        attended.transpose(1, 2)?.contiguous()?.reshape((texts, length, hidden))
    }
}

/// Weights by their names, as 32-bit floats.
struct Weights {
    tensors: HashMap<String, Tensor>,
    beginning: &'static str,
}

impl Weights {
    fn read(bytes: &[u8]) -> std::result::Result<Self, ModelFault> {
        let tensors = candle_core::safetensors::load_buffer(bytes, &Device::Cpu)
            .map_err(|error| unusable(format!("model.safetensors is damaged or no such file: {error}")))?;
        let is_there =
            |beginning: &&&str| tensors.contains_key(&format!("{beginning}embeddings.word_embeddings.weight"));
        let beginning = BEGINNINGS.iter().find(is_there);
        let beginning = beginning.ok_or_else(|| unusable("model.safetensors is of no BERT model".to_owned()))?;
        Ok(Self { beginning, tensors })
    }

    /// A tensor of which the last size is known, and the one before it may be.
    fn matrix(&self, name: &str, from: Option<usize>, to: usize) -> std::result::Result<Tensor, ModelFault> {
        let tensor = self.numbers(name)?;
        match tensor.dims() {
            [rows, columns] if *columns == to && *rows > 0 && from.is_none_or(|from| from == *rows) => Ok(tensor),
            other => Err(unusable(format!("{name} has the shape {other:?}"))),
        }
    }

    fn row(&self, name: &str, length: usize) -> std::result::Result<Tensor, ModelFault> {
        let tensor = self.numbers(name)?;
        match tensor.dims() {
            [found] if *found == length => Ok(tensor),
            other => Err(unusable(format!("{name} has the shape {other:?}"))),
        }
    }

    fn linear(&self, name: &str, from: usize, to: usize) -> std::result::Result<Linear, ModelFault> {
        let weight = self.matrix(&format!("{name}.weight"), Some(to), from)?;
        Ok(Linear::new(weight, Some(self.row(&format!("{name}.bias"), to)?)))
    }

    fn norm(&self, name: &str, config: &Config) -> std::result::Result<LayerNorm, ModelFault> {
        let weight = self.row(&format!("{name}.weight"), config.hidden_size)?;
        let bias = self.row(&format!("{name}.bias"), config.hidden_size)?;
        Ok(LayerNorm::new(weight, bias, config.layer_norm_eps))
    }

    fn numbers(&self, name: &str) -> std::result::Result<Tensor, ModelFault> {
        let found = self.tensors.get(&format!("{}{name}", self.beginning));
        let found = found.ok_or_else(|| unusable(format!("model.safetensors lacks {name}")))?;
        let tensor = found.to_dtype(DType::F32).map_err(|error| unusable(format!("{name}: {error}")))?;
        // One that is no number makes the sum none.
        let sum = tensor.sum_all().and_then(|sum| sum.to_scalar::<f32>());
        match sum {
            Ok(sum) if sum.is_finite() => Ok(tensor),
            Ok(_) => Err(unusable(format!("{name} holds what is no number"))),
            Err(error) => Err(unusable(format!("{name}: {error}"))),
        }
    }
}
