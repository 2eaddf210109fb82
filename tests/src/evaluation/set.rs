//! An evaluation set: stores of documents, and questions with the documents that answer them.

use std::collections::HashMap;
use std::path::Path;

use schema::model::memory::MemoryType;
use serde_json::Value;

/// The average number of characters from which documents are notes, which are found by their passages.
const LONG: usize = 1_500;

#[derive(Debug)]
pub struct EvalSet {
    pub name: String,
    pub groups: Vec<EvalGroup>,
    pub shape: DocumentShape,
}

/// How documents are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentShape {
    /// Each has a type.
    Typed,
    /// Prompts and answers of dated sessions.
    Turns,
    /// Markdown files.
    Notes,
    /// Conclusions without a session.
    Conclusions,
}

/// A store and its questions.
#[derive(Debug, Clone)]
pub struct EvalGroup {
    pub documents: Vec<EvalDocument>,
    pub questions: Vec<EvalQuestion>,
}

#[derive(Debug, Clone, Default)]
pub struct EvalDocument {
    pub id: String,
    pub text: String,
    pub session: Option<String>,
    /// As in the set.
    pub date: Option<String>,
    /// RFC 3339.
    pub at: Option<String>,
    pub kind: Option<MemoryType>,
    pub supersedes: Option<String>,
    /// The file and heading, if the document is a section of a file.
    pub section: Option<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct EvalQuestion {
    pub text: String,
    /// The ids of the right documents, or empty if the question is unanswerable.
    pub relevant: Vec<String>,
    pub class: String,
    /// Other phrasings, from another file.
    pub also: Vec<String>,
}

impl EvalSet {
    /// Only the questions that have other phrasings, with these.
    pub fn with_phrasings(mut self, phrasings: &HashMap<String, Vec<String>>) -> Self {
        for group in &mut self.groups {
            group.questions.retain_mut(|question| {
                question.also = phrasings.get(&question.text).cloned().unwrap_or_default();
                !question.also.is_empty()
            });
        }
        self.groups.retain(|group| !group.questions.is_empty());
        self
    }

    pub fn read(path: &Path) -> Result<Self, String> {
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
        let json: Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
        let groups = json["groups"].as_array().ok_or_else(|| fault(&"it has no groups"))?;
        let groups: Vec<EvalGroup> = groups.iter().map(parse_group).collect();
        let shape = detect_shape(&groups);
        Ok(Self { name: to_string(&json["name"]).unwrap_or_default(), groups, shape })
    }
}

/// Other phrasings by question: the items of a file.
pub fn read_phrasings(path: &Path) -> Result<HashMap<String, Vec<String>>, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
    let items = json["items"].as_array().ok_or_else(|| fault(&"it has no items"))?;
    let texts = |item: &Value| item["also"].as_array().into_iter().flatten().filter_map(to_string).collect();
    Ok(items.iter().filter_map(|item| Some((to_string(&item["question"])?, texts(item)))).collect())
}

fn detect_shape(groups: &[EvalGroup]) -> DocumentShape {
    let documents = || groups.iter().flat_map(|group| &group.documents);
    if documents().all(|document| document.kind.is_some() || document.section.is_some()) {
        return DocumentShape::Typed;
    }
    let average = documents().map(|document| document.text.chars().count()).sum::<usize>() / documents().count().max(1);
    let has_sessions = documents().all(|document| document.session.is_some());
    let has_dates = documents().all(|document| document.date.is_some());
    match (has_sessions, has_dates) {
        (true, true) if average < LONG => DocumentShape::Turns,
        (false, _) => DocumentShape::Conclusions,
        _ => DocumentShape::Notes,
    }
}

fn parse_group(json: &Value) -> EvalGroup {
    let list = |name: &str| json[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let questions = list("queries").map(|question| EvalQuestion {
        text: to_string(&question["text"]).unwrap_or_default(),
        relevant: question["rel"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(to_string).collect(),
        class: to_string(&question["cat"]).unwrap_or_default(),
        also: Vec::new(),
    });
    EvalGroup { documents: list("docs").map(parse_document).collect(), questions: questions.collect() }
}

fn parse_document(json: &Value) -> EvalDocument {
    EvalDocument {
        id: to_string(&json["id"]).unwrap_or_default(),
        text: to_string(&json["text"]).unwrap_or_default(),
        session: to_string(&json["session"]),
        date: to_string(&json["date"]),
        at: to_string(&json["at"]),
        kind: json["type"].as_str().and_then(|name| name.parse().ok()),
        supersedes: to_string(&json["supersedes"]),
        section: to_string(&json["path"]).map(|path| (path, to_string(&json["heading"]).unwrap_or_default())),
    }
}

fn to_string(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty() && text != "None"),
        other => Some(other.to_string()),
    }
}
