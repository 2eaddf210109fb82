//! OpenAI's embeddings endpoint, also offered by Ollama, LM Studio, llama.cpp, vLLM and others.

use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct OpenAiRequest<'t> {
    model: &'t str,
    input: &'t [&'t str],
    /// Only sent if it differs from the model's own, because few other servers know the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct OpenAiResponse {
    data: Vec<OpenAiEmbedding>,
}

#[derive(Deserialize)]
struct OpenAiEmbedding {
    embedding: Vec<f32>,
    /// Index of the text.
    index: Option<usize>,
}

pub(super) fn request_body(model: &str, texts: &[&str], dimensions: Option<usize>) -> String {
    serde_json::to_string(&OpenAiRequest { model, input: texts, dimensions }).expect("texts and numbers are JSON")
}

/// Vectors in the order of their texts. If two have the same index, one is missing.
pub(super) fn parse_vectors(body: &[u8]) -> serde_json::Result<Vec<Vec<f32>>> {
    let mut items = serde_json::from_slice::<OpenAiResponse>(body)?.data;
    if items.iter().all(|item| item.index.is_some()) {
        items.sort_by_key(|item| item.index);
        items.dedup_by_key(|item| item.index);
    }
    Ok(items.into_iter().map(|item| item.embedding).collect())
}
