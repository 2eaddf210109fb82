//! An evaluation set: stores of documents, and questions with the documents that answer them.

use std::path::Path;

use schema::memory::MemoryType;
use serde_json::Value;

/// Characters of an average document from which on documents are notes, which are found by their passages.
const LONG: usize = 1_500;

#[derive(Debug)]
pub struct Set {
    pub name: String,
    pub groups: Vec<Group>,
    pub shape: Shape,
}

/// What documents are when they are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each says what it is.
    Typed,
    /// Turns of dated sessions: prompts and answers.
    Turns,
    /// Markdown files.
    Notes,
    /// What was concluded, without a session.
    Conclusions,
}

/// A store and what is asked of it.
#[derive(Debug, Clone)]
pub struct Group {
    pub documents: Vec<Document>,
    pub questions: Vec<Question>,
}

#[derive(Debug, Clone, Default)]
pub struct Document {
    pub id: String,
    pub text: String,
    pub session: Option<String>,
    /// As the set has it.
    pub date: Option<String>,
    /// RFC 3339.
    pub at: Option<String>,
    pub kind: Option<MemoryType>,
    /// The document that it replaces.
    pub supersedes: Option<String>,
    /// The file of the store that it is a section of, and the section's heading.
    pub section: Option<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Question {
    pub text: String,
    /// Ids of documents; none when nothing answers it.
    pub relevant: Vec<String>,
    pub class: String,
}

impl Set {
    pub fn read(path: &Path) -> Result<Self, String> {
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
    if documents().all(|document| document.kind.is_some() || document.section.is_some()) {
        return Shape::Typed;
    }
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
    let questions = list("queries").map(|question| Question {
        text: string(&question["text"]).unwrap_or_default(),
        relevant: question["rel"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(string).collect(),
        class: string(&question["cat"]).unwrap_or_default(),
    });
    Group { documents: list("docs").map(document).collect(), questions: questions.collect() }
}

fn document(json: &Value) -> Document {
    Document {
        id: string(&json["id"]).unwrap_or_default(),
        text: string(&json["text"]).unwrap_or_default(),
        session: string(&json["session"]),
        date: string(&json["date"]),
        at: string(&json["at"]),
        kind: json["type"].as_str().and_then(|name| name.parse().ok()),
        supersedes: string(&json["supersedes"]),
        section: string(&json["path"]).map(|path| (path, string(&json["heading"]).unwrap_or_default())),
    }
}

fn string(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty() && text != "None"),
        other => Some(other.to_string()),
    }
}
