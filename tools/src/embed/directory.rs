//! A model in a directory, as its makers publish it: `config.json`, `tokenizer.json`, `model.safetensors`. Says which kind it is, and
//! reads what all kinds have.

mod model2vec;
mod transformer;

use std::path::Path;
use std::sync::Arc;

use schema::regular_file;
use sha2::{Digest, Sha256};
use tokenizers::Tokenizer;

use super::local::{hex, read};
use super::{EmbedError, Embedder, Identity, ModelFault};
use model2vec::Model2Vec;
use transformer::Transformer;

/// Opens the model in a directory. Reads all of it, which takes a moment.
pub(super) fn open(path: &Path) -> Result<Arc<dyn Embedder>, EmbedError> {
    let opened = Files::read(path).and_then(|files| match files.is_static()? {
        true => Ok(Arc::new(Model2Vec::new(&files)?) as Arc<dyn Embedder>),
        false => Ok(Arc::new(Transformer::new(&files)?) as Arc<dyn Embedder>),
    });
    opened.map_err(|source| EmbedError::Model { path: path.display().to_string(), source })
}

/// The files of a model.
struct Files<'p> {
    path: &'p Path,
    config: serde_json::Value,
    weights: Vec<u8>,
}

impl<'p> Files<'p> {
    fn read(path: &'p Path) -> Result<Self, ModelFault> {
        let config = json(&path.join("config.json"))?;
        let weights = path.join("model.safetensors");
        let weights = read(&weights).map_err(|error| unreadable(&weights, &error))?;
        Ok(Self { path, config, weights })
    }

    /// Whether it has one vector for each token and no layers.
    fn is_static(&self) -> Result<bool, ModelFault> {
        Ok(self.tensors()?.tensor("embeddings").is_ok())
    }

    fn tensors(&self) -> Result<safetensors::SafeTensors<'_>, ModelFault> {
        safetensors::SafeTensors::deserialize(&self.weights)
            .map_err(|error| unusable(format!("model.safetensors is damaged or no such file: {error}")))
    }

    /// A file that need not be there.
    fn optional(&self, name: &str) -> Result<Option<serde_json::Value>, ModelFault> {
        let path = self.path.join(name);
        if path.exists() { json(&path).map(Some) } else { Ok(None) }
    }

    /// The tokeniser, which gives a text whole.
    fn tokenizer(&self) -> Result<Tokenizer, ModelFault> {
        let path = self.path.join("tokenizer.json");
        let bytes = read(&path).map_err(|error| unreadable(&path, &error))?;
        let fault = |error: tokenizers::Error| unusable(format!("tokenizer.json: {error}"));
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(fault)?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(fault)?;
        Ok(tokenizer)
    }

    /// Whose vectors these are. Two directories may have one name; their vectors are still not the same.
    fn identity(&self, kind: &str, dims: usize) -> Identity {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let model = format!("{kind}:{name}-{}", hex(&Sha256::digest(&self.weights)[..4]));
        Identity { provider: "local".to_owned(), model, dims }
    }
}

fn json(path: &Path) -> Result<serde_json::Value, ModelFault> {
    let text = regular_file::read(path, regular_file::LARGEST).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&text).map_err(|error| unusable(format!("{}: {error}", name(path))))
}

fn unreadable(path: &Path, error: &std::io::Error) -> ModelFault {
    ModelFault::Unreadable(format!("{}: {error}", name(path)))
}

fn unusable(text: String) -> ModelFault {
    ModelFault::Unusable(text)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
