//! An evaluation set: stores of documents, and questions with the documents that answer them.

use std::path::Path;

use serde_json::Value;

/// Characters of an average document from which on documents are notes, which are found by their passages.
const LONG: usize = 1_500;

#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) shape: Shape,
}

/// What documents are when they are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Turns of dated sessions: prompts and answers.
    Turns,
    /// Markdown files.
    Notes,
    /// What was concluded, without a session.
    Conclusions,
}

/// A store and what is asked of it.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) documents: Vec<Document>,
    pub(crate) questions: Vec<Question>,
}

#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) session: Option<String>,
    /// As the set has it.
    pub(crate) date: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) text: String,
    /// Ids of documents; none when nothing answers it.
    pub(crate) relevant: Vec<String>,
}

impl Set {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
        let json: Value = serde_json::from_str(&text).map_err(|error| fault(&error))?;
        let groups = json["groups"].as_array().ok_or_else(|| fault(&"it has no groups"))?;
        let groups: Vec<Group> = groups.iter().map(group).collect();
        let shape = shape(&groups);
        Ok(Self { name: string(&json["name"]).unwrap_or_default(), groups, shape })
    }
}

fn shape(groups: &[Group]) -> Shape {
    let documents = || groups.iter().flat_map(|group| &group.documents);
    let average = documents().map(|document| document.text.chars().count()).sum::<usize>() / documents().count().max(1);
    let has_sessions = documents().all(|document| document.session.is_some());
    let has_dates = documents().all(|document| document.date.is_some());
    match (has_sessions, has_dates) {
        (true, true) if average < LONG => Shape::Turns,
        (false, _) => Shape::Conclusions,
        _ => Shape::Notes,
    }
}

fn group(json: &Value) -> Group {
    let list = |name: &str| json[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let documents = list("docs").map(|document| Document {
        id: string(&document["id"]).unwrap_or_default(),
        text: string(&document["text"]).unwrap_or_default(),
        session: string(&document["session"]),
        date: string(&document["date"]),
    });
    let questions = list("queries").map(|question| Question {
        text: string(&question["text"]).unwrap_or_default(),
        relevant: question["rel"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(string).collect(),
    });
    Group { documents: documents.collect(), questions: questions.collect() }
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty() && text != "None"),
        other => Some(other.to_string()),
    }
}
