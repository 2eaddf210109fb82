use std::collections::{BTreeMap, HashMap};
use std::fs;

use schema::intake::capture::{CaptureOutcome, Destination, Draft, capture};
use schema::model::memory::{MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::Settings;
use serde::Deserialize;

use super::*;

/// A pair of the set in `tests/review/`.
#[derive(Debug, Deserialize)]
struct ReviewPair {
    /// The kind of candidate, or none.
    kind: Option<String>,
    #[serde(rename = "type")]
    of: MemoryType,
    /// The type of the newer text, if it is another one.
    newer_type: Option<MemoryType>,
    older: String,
    newer: String,
}

fn engine() -> (tempfile::TempDir, Engine) {
    let project = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(project.path(), None, &Settings::default()).unwrap();
    (project, engine)
}

/// Saves a text at a second, as a model does, which closes no tasks.
fn save(engine: &mut Engine, kind: MemoryType, content: &str, second: i64) -> String {
    let draft = Draft {
        session_id: format!("s{second}"),
        kind,
        content: content.to_owned(),
        at: Moment::from_unix(second, Some(0)).unwrap(),
        attributes: MemoryAttributes::default(),
        destination: Destination::Daily,
    };
    match capture(&mut engine.store, draft, &Sanitizer::default()).unwrap().unwrap() {
        CaptureOutcome::Saved { id, .. } => id.to_string(),
        other => panic!("{content}: {other:?}"),
    }
}

fn candidates(engine: &mut Engine) -> Vec<ReviewCandidate> {
    let report = engine.review(&mut |_| {}, &|| true).unwrap();
    assert!(report.is_complete);
    report.candidates
}

/// For each kind the candidates that are right, all candidates, and all that there are.
fn measure(file: &str) -> BTreeMap<String, [usize; 3]> {
    let path = format!("{}/../tests/review/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let pairs: Vec<ReviewPair> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (_project, mut engine) = engine();
    let mut expected = HashMap::new();
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for (at, pair) in pairs.iter().enumerate() {
        let second = 1_769_563_800 + at as i64 * 120;
        // Tasks are not closed here by answers, because the review is for what that misses.
        let of_newer = pair.newer_type.map_or(pair.of, |kind| if kind.is_event() { MemoryType::Learning } else { kind });
        let older = save(&mut engine, pair.of, &pair.older, second);
        let newer = save(&mut engine, of_newer, &pair.newer, second + 61);
        expected.insert((older, newer), pair.kind.clone());
        if let Some(kind) = &pair.kind {
            counts.entry(kind.clone()).or_default()[2] += 1;
        }
    }
    for candidate in candidates(&mut engine) {
        let newer = candidate.newer.as_ref().unwrap();
        let ids = (candidate.older.memory.id.to_string(), newer.memory.id.to_string());
        let is_right = expected.remove(&ids).flatten().as_deref() == Some(candidate.kind.name());
        let count = counts.entry(candidate.kind.name().to_owned()).or_default();
        count[0] += usize::from(is_right);
        count[1] += 1;
        if std::env::var_os("SHOW_REVIEW").is_some() && !is_right {
            println!("wrong: {} {}\n  {}\n  {}", candidate.kind.name(), candidate.reason, candidate.older.memory.content, newer.memory.content);
        }
    }
    if std::env::var_os("SHOW_REVIEW").is_some() {
        for ((older, newer), kind) in expected.iter().filter(|(_, kind)| kind.is_some()) {
            let text = |id: &str| engine.store.rows().by_id(&schema::model::memory::MemoryId::parse(id).unwrap()).unwrap().unwrap().memory.content;
            println!("missed: {}\n  {}\n  {}", kind.as_ref().unwrap(), text(older), text(newer));
        }
        println!("{file}: {counts:?}");
    }
    counts
}

#[test]
fn at_least_four_of_five_candidates_are_right() {
    for file in ["tuned", "held-out"] {
        let counts = measure(file);
        assert_eq!(counts.len(), 3, "{counts:?}");
        for (kind, [right, found, all]) in counts {
            assert!(right * 5 >= found * 4 && right * 2 >= all, "{file}, {kind}: {right} of {found}, {all} in all");
        }
    }
}
