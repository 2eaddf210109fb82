//! Pairs of a question and the entry that answers it in another language or in other words, among five hundred entries.

use std::path::Path;

use schema::memory::MemoryType;
use serde_json::Value;

use super::set::{Document, Group, Question, Set, Shape};
use crate::corpus::Corpus;

/// Entries of the store that pairs are asked in.
pub const ENTRIES: usize = 500;

#[derive(Debug, Clone)]
pub struct Pair {
    /// The two languages, or `paraphrase`.
    pub kind: String,
    pub question: String,
    pub entry: String,
}

/// What a file of pairs has.
#[derive(Debug, Clone)]
pub struct Pairs {
    pub name: String,
    pub pairs: Vec<Pair>,
    /// Other entries, mostly about the like.
    pub fillers: Vec<String>,
}

impl Pairs {
    pub fn read(path: &Path) -> Result<Self, String> {
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
        let json: Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
        let listed = json["pairs"].as_array().ok_or_else(|| fault(&"it has no pairs"))?;
        let field = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let pair =
            |pair| Pair { kind: field(pair, "kind"), question: field(pair, "question"), entry: field(pair, "entry") };
        let fillers = json["fillers"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            name: field(&json, "name"),
            pairs: listed.iter().map(pair).collect(),
            fillers: fillers.map(str::to_owned).collect(),
        })
    }
}

/// Pairs as a set: their entries and fillers, the memories of another set, and made-up ones up to [`ENTRIES`].
pub fn pairs(Pairs { name, pairs, fillers }: &Pairs, beside: &Set) -> Set {
    let saved =
        |id: String, text: String| Document { id, text, kind: Some(MemoryType::Decision), ..Document::default() };
    let mut documents: Vec<Document> =
        pairs.iter().enumerate().map(|(i, pair)| saved(format!("pair {i}"), pair.entry.clone())).collect();
    documents.extend(fillers.iter().enumerate().map(|(i, text)| saved(format!("filler {i}"), text.clone())));
    let others = beside.groups.iter().flat_map(|group| &group.documents);
    documents.extend(others.filter(|document| document.section.is_none()).cloned());
    let missing = ENTRIES.saturating_sub(documents.len());
    let made_up = Corpus::new(7).take(missing).enumerate();
    documents.extend(made_up.map(|(i, memory)| saved(format!("made up {i}"), memory.text)));
    let questions = pairs.iter().enumerate().map(|(i, pair)| Question {
        text: pair.question.clone(),
        relevant: vec![format!("pair {i}")],
        class: pair.kind.clone(),
    });
    let group = Group { questions: questions.collect(), documents };
    Set { name: name.clone(), groups: vec![group], shape: Shape::Typed }
}
