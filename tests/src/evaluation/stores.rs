//! Creates a store on disk from a group of an evaluation set, filled like a real one.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use schema::files::database::LockTimeout;
use schema::intake::capture::{CaptureOutcome, capture};
use schema::intake::prepare::Draft;
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::Settings;
use schema::store::Store;
use schema::tool::{Confidence, Hit, SearchInput, SearchOutput, SearchSource};
use tempfile::TempDir;
use tools::control::Control;
use tools::engine::Engine;

use super::set::{DocumentShape, EvalDocument, EvalGroup, speaker, turn_kind};

/// The number of hits considered.
const DEPTH: i64 = 50;

/// Seconds between two turns of a session.
const TURN: i64 = 20;

#[derive(Debug)]
pub struct EvalStore {
    project: PathBuf,
    /// The folder of the project, unless the caller gave one.
    _folder: Option<TempDir>,
    /// Documents by memory id or path of a note.
    documents: HashMap<String, String>,
    sections: Vec<NoteSection>,
}

/// A section of a file, and the line of its heading.
#[derive(Debug)]
struct NoteSection {
    path: String,
    line: usize,
    document: String,
}

/// The distinct documents of a search, best first, regardless of score.
#[derive(Debug, Clone)]
pub struct RetrievedDocuments {
    /// The score of the first hit, or 0 without hits.
    pub first: f64,
    pub found: Vec<(String, f64)>,
}

/// The first hit of a search with default arguments.
#[derive(Debug, Clone)]
pub struct ShownHit {
    pub documents: Vec<String>,
    pub confidence: Confidence,
}

impl EvalStore {
    pub fn new(group: &EvalGroup, shape: DocumentShape) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let filled = Self::in_project(folder.path(), group, shape)?;
        Ok(Self { _folder: Some(folder), ..filled })
    }

    /// Creates the store in a project, in which a server can use it.
    pub fn in_project(project: &Path, group: &EvalGroup, shape: DocumentShape) -> Result<Self, String> {
        fs::create_dir_all(project).map_err(|error| format!("{}: {error}", project.display()))?;
        let project = project.to_owned();
        let mut filled = Self { project, _folder: None, documents: HashMap::new(), sections: Vec::new() };
        match shape {
            DocumentShape::Notes => filled.write_notes(&group.documents)?,
            DocumentShape::Typed => {
                filled.write_sections(&group.documents)?;
                filled.capture_all(&group.documents, shape)?;
            }
            DocumentShape::Turns | DocumentShape::Conclusions => filled.capture_all(&group.documents, shape)?,
        }
        Ok(filled)
    }

    /// Returns an engine on the store, fully indexed.
    pub fn engine(&self, settings: &Settings) -> Result<Engine, String> {
        let mut engine = Engine::open_with_settings(&self.project, settings).map_err(|error| error.to_string())?;
        engine.refresh(&mut Control::default()).map_err(|error| error.to_string())?;
        while engine.embed_batch_anywhere().map_err(|error| error.to_string())?.has_more {}
        Ok(engine)
    }

    fn write_notes(&mut self, documents: &[EvalDocument]) -> Result<(), String> {
        for (i, document) in documents.iter().enumerate() {
            let name = format!("notes/{i}.md");
            let heading = document.date.as_ref().map(|date| format!("# {date}\n\n")).unwrap_or_default();
            self.write(&name, &format!("{heading}{}\n", document.text))?;
            self.documents.insert(format!(".jikime/memory/{name}"), document.id.clone());
        }
        Ok(())
    }

    fn write_sections(&mut self, documents: &[EvalDocument]) -> Result<(), String> {
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        for document in documents {
            let Some((file, heading)) = &document.section else { continue };
            let text = files.entry(file).or_default();
            let (path, line) = (format!(".jikime/memory/{file}"), text.lines().count() + 1);
            self.sections.push(NoteSection { path, line, document: document.id.clone() });
            write!(text, "## {heading}\n\n{}\n\n", document.text).map_err(|error| error.to_string())?;
        }
        files.into_iter().try_for_each(|(name, text)| self.write(name, &text))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let store = Store::open(&self.project, LockTimeout::Server).map_err(|error| error.to_string())?;
        let path = store.layout().store_path(name);
        let parent = path.parent().ok_or("a note is in a folder")?;
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).map_err(|error| error.to_string())
    }

    fn capture_all(&mut self, documents: &[EvalDocument], shape: DocumentShape) -> Result<(), String> {
        let mut store = Store::open(&self.project, LockTimeout::Server).map_err(|error| error.to_string())?;
        let first_speaker = documents.first().map(|document| speaker(&document.text).to_owned());
        let mut ids: HashMap<&str, MemoryId> = HashMap::new();
        let mut session = None;
        let mut turn = 0;
        for (i, document) in documents.iter().enumerate().filter(|(_, document)| document.section.is_none()) {
            turn = if document.session == session { turn + 1 } else { 0 };
            session.clone_from(&document.session);
            let kind = document.kind.unwrap_or_else(|| match shape {
                DocumentShape::Turns => turn_kind(Some(speaker(&document.text)) == first_speaker.as_deref()),
                _ => MemoryType::Learning,
            });
            let supersedes = document.supersedes.as_deref().and_then(|old| ids.get(old).cloned());
            let draft = Draft {
                attributes: MemoryAttributes { supersedes, ..MemoryAttributes::default() },
                ..Draft::new(
                    document.session.as_ref().map(|session| format!("session-{session}")).unwrap_or_default(),
                    kind,
                    document.text.clone(),
                    document_time(document, i, turn).ok_or("a moment")?,
                )
            };
            match capture(&mut store, draft, &Sanitizer::default()).map_err(|error| error.to_string())? {
                Some(CaptureOutcome::Saved { id, .. } | CaptureOutcome::Waiting { id, .. }) => {
                    self.documents.insert(id.to_string(), document.id.clone());
                    ids.insert(&document.id, id);
                }
                // The first of two equal documents represents both.
                Some(CaptureOutcome::Duplicate(_) | CaptureOutcome::Forgotten) | None => {}
            }
        }
        Ok(())
    }

    /// Searches without a score threshold.
    pub fn ask(&self, engine: &mut Engine, question: &str) -> Result<RetrievedDocuments, String> {
        self.ask_with(engine, question, &[])
    }

    /// Searches for a question and its other phrasings, without a score threshold.
    pub fn ask_with(&self, engine: &mut Engine, question: &str, also: &[String]) -> Result<RetrievedDocuments, String> {
        let input = SearchInput {
            query: question.to_owned(),
            also: also.to_vec(),
            max_results: Some(DEPTH),
            min_score: Some(0.0),
            max_tokens: Some(1_000_000),
            ..SearchInput::default()
        };
        let SearchOutput { results, .. } = engine.search(&input).map_err(|error| error.to_string())?;
        let first = results.first().map_or(0.0, |hit| hit.score);
        let mut found: Vec<(String, f64)> = Vec::new();
        for hit in results {
            for document in self.documents(&hit) {
                if found.iter().all(|(known, _)| known != document) {
                    found.push((document.to_owned(), hit.score));
                }
            }
        }
        Ok(RetrievedDocuments { first, found })
    }

    /// Asks with default arguments; `None` if the answer is empty.
    pub fn first_shown(
        &self,
        engine: &mut Engine,
        question: &str,
        also: &[String],
    ) -> Result<Option<ShownHit>, String> {
        let input = SearchInput { query: question.to_owned(), also: also.to_vec(), ..SearchInput::default() };
        let SearchOutput { results, .. } = engine.search(&input).map_err(|error| error.to_string())?;
        Ok(results.first().map(|hit| ShownHit {
            documents: self.documents(hit).into_iter().map(str::to_owned).collect(),
            confidence: hit.confidence,
        }))
    }

    /// The best hits with an explanation of their scores, regardless of score, each with its documents.
    pub fn explained(&self, engine: &mut Engine, question: &str) -> Result<Vec<(Vec<String>, Hit)>, String> {
        let input = SearchInput {
            query: question.to_owned(),
            max_results: Some(20),
            min_score: Some(0.0),
            max_tokens: Some(1_000_000),
            explain: true,
            ..SearchInput::default()
        };
        let SearchOutput { results, .. } = engine.search(&input).map_err(|error| error.to_string())?;
        let with_documents = |hit: Hit| (self.documents(&hit).into_iter().map(str::to_owned).collect(), hit);
        Ok(results.into_iter().map(with_documents).collect())
    }

    /// The documents of a hit: one, or the sections in its passage.
    fn documents(&self, hit: &Hit) -> Vec<&str> {
        let key = if hit.source == SearchSource::Memory { &hit.id } else { &hit.path };
        let shown = |section: &&NoteSection| {
            section.path == hit.path && (hit.start_line..=hit.end_line).contains(&section.line)
        };
        let sections = self.sections.iter().filter(shown).map(|section| &section.document);
        self.documents.get(key).into_iter().chain(sections).map(String::as_str).collect()
    }
}

/// The time of documents without a date, in Unix seconds.
const YESTERDAY: i64 = 1_767_225_600;

fn document_time(document: &EvalDocument, place: usize, turn: i64) -> Option<Moment> {
    if let Some(at) = &document.at {
        return Moment::parse_rfc3339(at);
    }
    let start = document.date.as_deref().and_then(parse_date).unwrap_or(YESTERDAY + place as i64 * 61);
    Moment::from_unix(start + turn * TURN, Some(0))
}

/// Parses `1:56 pm on 8 May, 2023` into Unix seconds.
fn parse_date(text: &str) -> Option<i64> {
    let (time, date) = text.split_once(" on ")?;
    let (clock, half) = time.trim().split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour = hour.parse::<u32>().ok()? % 12 + if half.eq_ignore_ascii_case("pm") { 12 } else { 0 };
    let mut words = date.split([' ', ',']).filter(|word| !word.is_empty());
    let (day, month, year) = (words.next()?.parse::<u32>().ok()?, words.next()?, words.next()?);
    let month = 1 + MONTHS.iter().position(|name| month.to_lowercase().starts_with(name))?;
    Moment::parse_rfc3339(&format!("{year}-{month:02}-{day:02}T{hour:02}:{minute}:00Z")).map(|at| at.unix())
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
