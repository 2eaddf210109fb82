//! `batchEmbedContents` of the Gemini API.

use serde::{Deserialize, Serialize};

use super::EmbeddingPurpose;

#[derive(Serialize)]
struct GeminiRequest<'t> {
    requests: Vec<GeminiRequestItem<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequestItem<'t> {
    model: &'t str,
    content: GeminiContent<'t>,
    task_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimensionality: Option<usize>,
}

#[derive(Serialize)]
struct GeminiContent<'t> {
    parts: [GeminiText<'t>; 1],
}

#[derive(Serialize)]
struct GeminiText<'t> {
    text: &'t str,
}

#[derive(Deserialize)]
struct GeminiResponse {
    embeddings: Vec<GeminiEmbedding>,
}

#[derive(Deserialize)]
struct GeminiEmbedding {
    values: Vec<f32>,
}

pub(super) fn request_body(
    model: &str,
    texts: &[&str],
    dimensions: Option<usize>,
    purpose: EmbeddingPurpose,
) -> String {
    let model = format!("models/{model}");
    let task_type = match purpose {
        EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
    };
    let requests = texts.iter().map(|text| GeminiRequestItem {
        model: &model,
        content: GeminiContent { parts: [GeminiText { text }] },
        task_type,
        output_dimensionality: dimensions,
    });
    let requests = requests.collect();
    serde_json::to_string(&GeminiRequest { requests }).expect("texts and numbers are JSON")
}

pub(super) fn parse_vectors(body: &[u8]) -> serde_json::Result<Vec<Vec<f32>>> {
    let answer: GeminiResponse = serde_json::from_slice(body)?;
    Ok(answer.embeddings.into_iter().map(|embedding| embedding.values).collect())
}
