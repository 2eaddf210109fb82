//! The embeddings endpoint of OpenAI, which Ollama, LM Studio, llama.cpp, vLLM and others speak as well.

use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Body<'t> {
    model: &'t str,
    input: &'t [&'t str],
    /// Only where it is not the model's own: few of the others know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
    /// Which of the texts it belongs to.
    index: Option<usize>,
}

pub(super) fn body(model: &str, texts: &[&str], dimensions: Option<usize>) -> String {
    serde_json::to_string(&Body { model, input: texts, dimensions }).expect("texts and numbers are JSON")
}

/// The vectors in the order of their texts; where two claim one place, one of them is missing.
pub(super) fn vectors(body: &[u8]) -> serde_json::Result<Vec<Vec<f32>>> {
    let mut items = serde_json::from_slice::<Answer>(body)?.data;
    if items.iter().all(|item| item.index.is_some()) {
        items.sort_by_key(|item| item.index);
        items.dedup_by_key(|item| item.index);
    }
    Ok(items.into_iter().map(|item| item.embedding).collect())
}
