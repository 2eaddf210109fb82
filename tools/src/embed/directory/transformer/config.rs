//! What the files beside the weights say: sizes, how outputs are pooled, and what stands before a text.

use candle_core::{D, Tensor};
use serde::Deserialize;
use serde_json::Value;

use super::super::{Files, unusable};
use crate::embed::ModelFault;

/// Tokens that are read at once, where nothing says less.
const MOST_TOKENS: usize = 512;

/// The sizes of a model, as `config.json` names them.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    model_type: String,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "epsilon")]
    pub(super) layer_norm_eps: f64,
    max_position_embeddings: usize,
    #[serde(default)]
    pub(super) pad_token_id: u32,
    /// The number of the first position.
    #[serde(skip)]
    pub(super) first_position: usize,
    #[serde(skip)]
    pub(super) most_tokens: usize,
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn epsilon() -> f64 {
    1e-12
}

/// What stands between the two halves of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    GeluByTanh,
    Relu,
}

impl Config {
    pub(super) fn of(files: &Files<'_>) -> Result<Self, ModelFault> {
        let mut config: Self = Self::deserialize(&files.config)
            .map_err(|error| unusable(format!("config.json is not that of a BERT model: {error}")))?;
        config.first_position = match config.model_type.as_str() {
            "bert" => 0,
            // Their positions are counted from the one after that of padding.
            "roberta" | "xlm-roberta" | "camembert" => config.pad_token_id as usize + 1,
            other => {
                return Err(unusable(format!(
                    "it is a model of the type {other:?}; bert, roberta, xlm-roberta and model2vec can be used"
                )));
            }
        };
        let heads = config.num_attention_heads;
        if heads == 0 || config.hidden_size == 0 || !config.hidden_size.is_multiple_of(heads) {
            return Err(unusable(format!("config.json: {} dimensions for {heads} heads", config.hidden_size)));
        }
        config.activation()?;
        let said = files.optional("sentence_bert_config.json")?;
        let said = said.and_then(|said| usize::try_from(said.get("max_seq_length")?.as_u64()?).ok());
        let positions = config.max_position_embeddings.saturating_sub(config.first_position);
        config.most_tokens = said.unwrap_or(MOST_TOKENS).min(positions);
        // Two of them stand at the ends of every part.
        if config.most_tokens < 8 {
            return Err(unusable(format!("config.json: {} tokens at once are too few", config.most_tokens)));
        }
        Ok(config)
    }

    pub(super) fn activation(&self) -> Result<Activation, ModelFault> {
        match self.hidden_act.as_str() {
            "gelu" => Ok(Activation::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Ok(Activation::GeluByTanh),
            "relu" => Ok(Activation::Relu),
            other => Err(unusable(format!("config.json: the activation {other:?} is not known"))),
        }
    }
}

/// How the outputs of all tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    Mean,
    /// The output of the first token.
    First,
    Largest,
}

impl Pooling {
    /// As the files of sentence-transformers say; else the mean, which most models are trained for.
    pub(super) fn of(files: &Files<'_>) -> Result<Self, ModelFault> {
        let modules = files.optional("modules.json")?.unwrap_or_default();
        let kinds = modules.as_array().into_iter().flatten().filter_map(|module| module.get("type")?.as_str());
        let known = ["Transformer", "Pooling", "Normalize"];
        if let Some(other) = kinds.into_iter().find(|kind| !known.iter().any(|known| kind.ends_with(known))) {
            return Err(unusable(format!("modules.json asks for {other}, which is not known")));
        }
        let Some(config) = files.optional("1_Pooling/config.json")? else { return Ok(Self::Mean) };
        let is_on = |name: &str| config.get(name).and_then(Value::as_bool).unwrap_or(false);
        let modes = [
            ("pooling_mode_mean_tokens", Self::Mean),
            ("pooling_mode_cls_token", Self::First),
            ("pooling_mode_max_tokens", Self::Largest),
        ];
        let mut chosen = modes.iter().filter(|(name, _)| is_on(name)).map(|(_, pooling)| *pooling);
        match (chosen.next(), chosen.next()) {
            (Some(pooling), None) => Ok(pooling),
            _ => Err(unusable("1_Pooling/config.json asks for another way than mean, cls or max".to_owned())),
        }
    }

    /// One vector for each text; `mask` is 0 where a text is padded.
    pub(super) fn pool(self, outputs: &Tensor, mask: &Tensor) -> candle_core::Result<Tensor> {
        let seen = mask.unsqueeze(D::Minus1)?;
        match self {
            Self::Mean => outputs.broadcast_mul(&seen)?.sum(1)?.broadcast_div(&mask.sum_keepdim(1)?),
            Self::First => outputs.narrow(1, 0, 1)?.squeeze(1),
            Self::Largest => outputs.broadcast_add(&seen.affine(1e9, -1e9)?)?.max(1),
        }
    }
}

/// What a model was trained to read before a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prefixes {
    pub(super) document: String,
    pub(super) query: String,
}

impl Prefixes {
    /// As `config_sentence_transformers.json` says, else those of the E5 family for a model of its name.
    pub(super) fn of(files: &Files<'_>) -> Result<Self, ModelFault> {
        let config = files.optional("config_sentence_transformers.json")?.unwrap_or_default();
        let prompt = |names: &[&str]| {
            let prompts = config.get("prompts")?;
            names.iter().find_map(|name| prompts.get(name)?.as_str()).map(str::to_owned)
        };
        let said = Self {
            document: prompt(&["document", "passage", "corpus"]).unwrap_or_default(),
            query: prompt(&["query"]).unwrap_or_default(),
        };
        let name = files.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let origin = files.config.get("_name_or_path").and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let is_e5 = [name, origin].iter().any(|name| {
            // Instructed ones want whole sentences, which nothing here knows.
            name.split(['-', '_', '/', '.']).any(|part| part == "e5") && !name.contains("instruct")
        });
        Ok(match said == Self::default() && is_e5 {
            true => Self { document: "passage: ".to_owned(), query: "query: ".to_owned() },
            false => said,
        })
    }
}
