//! `batchEmbedContents` of the Gemini API.

use serde::{Deserialize, Serialize};

use super::Purpose;

#[derive(Serialize)]
struct Body<'t> {
    requests: Vec<One<'t>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct One<'t> {
    model: &'t str,
    content: Content<'t>,
    task_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimensionality: Option<usize>,
}

#[derive(Serialize)]
struct Content<'t> {
    parts: [Text<'t>; 1],
}

#[derive(Serialize)]
struct Text<'t> {
    text: &'t str,
}

#[derive(Deserialize)]
struct Answer {
    embeddings: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    values: Vec<f32>,
}

pub(super) fn body(model: &str, texts: &[&str], dimensions: Option<usize>, purpose: Purpose) -> String {
    let model = format!("models/{model}");
    let task_type = match purpose {
        Purpose::Document => "RETRIEVAL_DOCUMENT",
        Purpose::Query => "RETRIEVAL_QUERY",
    };
    let requests = texts.iter().map(|text| One {
        model: &model,
        content: Content { parts: [Text { text }] },
        task_type,
        output_dimensionality: dimensions,
    });
    let requests = requests.collect();
    serde_json::to_string(&Body { requests }).expect("texts and numbers are JSON")
}

pub(super) fn vectors(body: &[u8]) -> serde_json::Result<Vec<Vec<f32>>> {
    let answer: Answer = serde_json::from_slice(body)?;
    Ok(answer.embeddings.into_iter().map(|embedding| embedding.values).collect())
}
