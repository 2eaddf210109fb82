//! An evaluation set: stores of documents, and questions with the documents that answer them.

use std::collections::HashMap;
use std::path::Path;

use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use serde_json::Value;

use crate::fixtures::read_json;

/// The average number of characters from which documents are notes, which are found by their passages.
const LONG: usize = 1_500;

#[derive(Debug, Clone)]
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
    /// Documents that say how things are now, and those that say how they were before.
    pub newer: Vec<String>,
    pub older: Vec<String>,
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

    /// Returns the questions about one store with the documents of all stores. Documents that several stores have are there once. Sessions of
    /// a later store are inserted after as many sessions as in their own.
    pub fn in_one_store(&self) -> Self {
        let mut sessions: Vec<Vec<EvalDocument>> = Vec::new();
        let mut questions = Vec::new();
        for (number, group) in self.groups.iter().enumerate() {
            let is_own = |id: &str| !id.starts_with(DECOY);
            let rename = |id: &String| if is_own(id) { format!("{number} {id}") } else { id.clone() };
            for (place, session) in group.documents.chunk_by(|a, b| a.session == b.session).enumerate() {
                if number > 0 && !is_own(&session[0].id) {
                    continue;
                }
                let named = |document: &EvalDocument| EvalDocument {
                    id: rename(&document.id),
                    session: document.session.as_ref().map(rename),
                    at: None,
                    ..document.clone()
                };
                sessions.insert(place.min(sessions.len()), session.iter().map(named).collect());
            }
            questions.extend(group.questions.iter().map(|question| {
                let renamed = |ids: &[String]| ids.iter().map(rename).collect();
                let (relevant, newer) = (renamed(&question.relevant), renamed(&question.newer));
                EvalQuestion { relevant, newer, older: renamed(&question.older), ..question.clone() }
            }));
        }
        let mut group = EvalGroup { documents: sessions.concat(), questions };
        date_sessions(&mut group);
        Self { name: format!("{} in one store", self.name), groups: vec![group], shape: self.shape }
    }

    /// Reads a file that must be a set.
    pub fn read(path: &Path) -> Result<Self, String> {
        Self::read_if_set(path)?.ok_or_else(|| format!("{}: it has no groups", path.display()))
    }

    /// Reads a file; `None` if its JSON is something else than a set.
    pub fn read_if_set(path: &Path) -> Result<Option<Self>, String> {
        let json: Value = read_json(path)?;
        let Some(listed) = json["groups"].as_array() else { return Ok(None) };
        let mut groups: Vec<EvalGroup> = match json["decoys"].as_array() {
            Some(decoys) => listed.iter().map(|group| parse_chats(group, decoys)).collect(),
            None => listed.iter().map(parse_group).collect(),
        };
        groups.iter_mut().for_each(date_sessions);
        let shape = detect_shape(&groups);
        Ok(Some(Self { name: to_string(&json["name"]).unwrap_or_default(), groups, shape }))
    }

    /// A set of turns without the names of their speakers, which captured prompts do not have.
    pub fn without_speakers(&self) -> Option<Self> {
        let is_named = |document: &EvalDocument| document.text.split_once(": ").is_some();
        let mut documents = self.groups.iter().flat_map(|group| &group.documents);
        if self.shape != DocumentShape::Turns || !documents.all(is_named) {
            return None;
        }
        let groups = self.groups.iter().map(|group| {
            let mut group = group.clone();
            let first = group.documents.first().map(|document| speaker(&document.text).to_owned());
            for document in &mut group.documents {
                document.kind = Some(turn_kind(first.as_deref() == Some(speaker(&document.text))));
                document.text = document.text.split_once(": ").map_or("", |(_, said)| said).to_owned();
            }
            group
        });
        let name = format!("{} without names", self.name);
        Some(Self { name, groups: groups.collect(), shape: DocumentShape::Typed })
    }
}

/// The type of a turn: the one who speaks first asks, the other answers.
pub(super) fn turn_kind(is_first_speaker: bool) -> MemoryType {
    if is_first_speaker { MemoryType::UserPrompt } else { MemoryType::AssistantResponse }
}

/// The speaker of a turn that begins with a name.
pub(super) fn speaker(text: &str) -> &str {
    text.split_once(": ").map_or("", |(name, _)| name)
}

/// Gives turns of undated chats a time: a chat a day, a turn every 20 seconds.
fn date_sessions(group: &mut EvalGroup) {
    let (mut session, mut day, mut turn) = (None, -1, 0);
    for document in group.documents.iter_mut().filter(|document| document.kind.is_some()) {
        if document.session.is_none() || document.at.is_some() || document.date.is_some() {
            continue;
        }
        (day, turn) = if document.session == session { (day, turn + 1) } else { (day + 1, 0) };
        session.clone_from(&document.session);
        let at = FIRST_CHAT + day * 86_400 + turn * 20;
        document.at = Moment::from_unix(at, Some(0)).map(|at| at.rfc3339());
    }
}

/// Other phrasings by question: the items of a file.
pub fn read_phrasings(path: &Path) -> Result<HashMap<String, Vec<String>>, String> {
    let json: Value = read_json(path)?;
    let items = json["items"].as_array().ok_or_else(|| format!("{}: it has no items", path.display()))?;
    let texts = |item: &Value| item["also"].as_array().into_iter().flatten().filter_map(to_string).collect();
    Ok(items.iter().filter_map(|item| Some((to_string(&item["question"])?, texts(item)))).collect())
}
/// The time of the first undated chat: 2026-01-05, 9 o'clock.
const FIRST_CHAT: i64 = 1_767_603_600;

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
        relevant: ids(&question["rel"]),
        class: to_string(&question["cat"]).unwrap_or_default(),
        also: Vec::new(),
        newer: ids(&question["newer"]),
        older: ids(&question["older"]),
    });
    EvalGroup { documents: list("docs").map(parse_document).collect(), questions: questions.collect() }
}

/// The beginning of the ids of chats that all stores of a set have.
const DECOY: &str = "decoy ";

/// Parses a group of past chats among unrelated ones, each a session. The bug report is the question, and every turn of the
/// chats that decided its rule is an answer; the last of these chats has the valid rule.
fn parse_chats(json: &Value, decoys: &[Value]) -> EvalGroup {
    let list = |name: &str| json[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let mut chats: Vec<(String, &Value)> = list("decoy_order")
        .filter_map(Value::as_u64)
        .filter_map(|place| Some((format!("{DECOY}{place}"), decoys.get(usize::try_from(place).ok()?)?)))
        .collect();
    let gold: Vec<&Value> = list("gold").collect();
    for (place, chat) in gold.iter().enumerate() {
        let at = chat["insert_at"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
        chats.insert((at + place).min(chats.len()), (format!("gold {place}"), &chat["turns"]));
    }
    let mut documents = Vec::new();
    for (session, turns) in &chats {
        for (place, turn) in turns.as_array().into_iter().flatten().enumerate() {
            let id = format!("{session}:{place}");
            documents.push(EvalDocument { id, session: Some(session.clone()), ..parse_document(turn) });
        }
    }
    let of_gold = |chats: std::ops::Range<usize>| -> Vec<String> {
        let is_listed = |id: &str| chats.clone().any(|place| id.starts_with(&format!("gold {place}:")));
        documents.iter().map(|document| document.id.clone()).filter(|id| is_listed(id)).collect()
    };
    let is_amended = json["amended"].as_bool() == Some(true);
    let last = gold.len().saturating_sub(1);
    let question = EvalQuestion {
        also: Vec::new(),
        text: to_string(&json["query"]).unwrap_or_default(),
        relevant: of_gold(0..gold.len()),
        class: if is_amended { "amended" } else { "decided" }.to_owned(),
        newer: if is_amended { of_gold(last..gold.len()) } else { Vec::new() },
        older: if is_amended { of_gold(0..last) } else { Vec::new() },
    };
    EvalGroup { documents, questions: vec![question] }
}

/// The type of a turn whose role is given.
fn role_kind(json: &Value) -> Option<MemoryType> {
    json["role"].as_str().map(|role| turn_kind(role == "user"))
}

fn ids(json: &Value) -> Vec<String> {
    json.as_array().into_iter().flatten().filter_map(to_string).collect()
}

fn parse_document(json: &Value) -> EvalDocument {
    EvalDocument {
        id: to_string(&json["id"]).unwrap_or_default(),
        text: to_string(&json["text"]).unwrap_or_default(),
        session: to_string(&json["session"]),
        date: to_string(&json["date"]),
        at: to_string(&json["at"]),
        kind: json["type"].as_str().and_then(|name| name.parse().ok()).or_else(|| role_kind(json)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_of_all_stores_are_in_one() {
        let turn = |text: &str| serde_json::json!({ "role": "user", "text": text });
        let decoys = serde_json::json!([[turn("a")], [turn("b")], [turn("c")]]);
        let group = |order: [usize; 3], place: usize, text: &str| serde_json::json!({ "query": text, "decoy_order": order, "gold": [{ "insert_at": place, "turns": [turn(text)] }] });
        let groups = [group([0, 1, 2], 1, "x"), group([2, 1, 0], 3, "y")];
        let decoys = decoys.as_array().unwrap();
        let groups: Vec<EvalGroup> = groups.iter().map(|group| parse_chats(group, decoys)).collect();
        let set = EvalSet { name: "s".to_owned(), groups, shape: DocumentShape::Typed }.in_one_store();
        let texts: Vec<&str> = set.groups[0].documents.iter().map(|document| &*document.text).collect();
        assert_eq!(texts, ["a", "x", "b", "y", "c"]);
        let days: Vec<&str> =
            set.groups[0].documents.iter().filter_map(|document| document.at.as_deref()?.get(8..10)).collect();
        assert_eq!(days, ["05", "06", "07", "08", "09"]);
        let relevant: Vec<&str> = set.groups[0].questions.iter().map(|question| &*question.relevant[0]).collect();
        assert_eq!(relevant, ["0 gold 0:0", "1 gold 0:0"]);
    }
}
