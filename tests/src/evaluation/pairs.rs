//! Pairs of a question and its answer in another language or in other words, among five hundred entries.

use std::path::Path;

use schema::model::memory::MemoryType;
use serde_json::Value;

use super::set::{DocumentShape, EvalDocument, EvalGroup, EvalQuestion, EvalSet};
use crate::corpus::SyntheticCorpus;
use crate::fixtures::read_json;

/// Entries of the store.
pub const ENTRIES: usize = 500;

#[derive(Debug, Clone)]
pub struct EvalPair {
    /// The two languages, or `paraphrase`.
    pub kind: String,
    pub question: String,
    pub entry: String,
}

/// Contents of a file of pairs.
#[derive(Debug, Clone)]
pub struct PairSet {
    pub name: String,
    pub pairs: Vec<EvalPair>,
    /// Other entries, mostly on similar topics.
    pub fillers: Vec<String>,
}

impl PairSet {
    pub fn read(path: &Path) -> Result<Self, String> {
        let json: Value = read_json(path)?;
        let listed = json["pairs"].as_array().ok_or_else(|| format!("{}: it has no pairs", path.display()))?;
        let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let pair = |pair| EvalPair {
            kind: field(pair, "kind"),
            question: field(pair, "question"),
            entry: field(pair, "entry"),
        };
        let fillers = json["fillers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            name: field(&json, "name"),
            pairs: listed.iter().map(pair).collect(),
            fillers: fillers.map(str::to_owned).collect(),
        })
    }
}

/// Builds a set from pairs and fillers, the memories of another set, and synthetic ones up to [`ENTRIES`].
pub fn pairs_as_set(PairSet { name, pairs, fillers }: &PairSet, beside: &EvalSet) -> EvalSet {
    let saved = |id: String, text: String| EvalDocument {
        id,
        text,
        kind: Some(MemoryType::Decision),
        ..EvalDocument::default()
    };
    let mut documents: Vec<EvalDocument> =
        pairs.iter().enumerate().map(|(i, pair)| saved(format!("pair {i}"), pair.entry.clone())).collect();
    documents.extend(fillers.iter().enumerate().map(|(i, text)| saved(format!("filler {i}"), text.clone())));
    let others = beside.groups.iter().flat_map(|group| &group.documents);
    documents.extend(others.filter(|document| document.section.is_none()).cloned());
    let missing = ENTRIES.saturating_sub(documents.len());
    let made_up = SyntheticCorpus::new(7).take(missing).enumerate();
    documents.extend(made_up.map(|(i, memory)| saved(format!("made up {i}"), memory.text)));
    let questions = pairs.iter().enumerate().map(|(i, pair)| EvalQuestion {
        text: pair.question.clone(),
        relevant: vec![format!("pair {i}")],
        class: pair.kind.clone(),
        also: Vec::new(),
        newer: Vec::new(),
        older: Vec::new(),
    });
    let group = EvalGroup { questions: questions.collect(), documents };
    EvalSet { name: name.clone(), groups: vec![group], shape: DocumentShape::Typed }
}

/// Fills each store of a set up to a number of documents: with synthetic memories.
pub fn add_distractors(set: &mut EvalSet, count: usize) {
    let made_up: Vec<EvalDocument> = SyntheticCorpus::new(11)
        .take(count)
        .enumerate()
        .map(|(i, memory)| EvalDocument {
            id: format!("distractor {i}"),
            text: memory.text,
            kind: Some(MemoryType::Decision),
            ..EvalDocument::default()
        })
        .collect();
    for group in &mut set.groups {
        let missing = count.saturating_sub(group.documents.len());
        group.documents.extend(made_up.iter().take(missing).cloned());
    }
}
