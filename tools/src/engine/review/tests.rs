use std::collections::{BTreeMap, HashMap};
use std::fs;

use schema::intake::capture::{CaptureOutcome, capture};
use schema::intake::prepare::Draft;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::Settings;
use serde::Deserialize;

use super::*;
use crate::control::Control;

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
    let engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
    (project, engine)
}

/// Saves a text at a second, as a model does, which closes no tasks.
fn save(engine: &mut Engine, kind: MemoryType, content: &str, second: i64) -> String {
    let draft = Draft::new(format!("s{second}"), kind, content, Moment::from_unix(second, Some(0)).unwrap());
    match capture(&mut engine.store, draft, &Sanitizer::default()).unwrap().unwrap() {
        CaptureOutcome::Saved { id, .. } => id.to_string(),
        other => panic!("{content}: {other:?}"),
    }
}

fn candidates(engine: &mut Engine) -> Vec<ReviewCandidate> {
    let report = engine.review(&mut Control::default()).unwrap();
    assert!(report.is_complete);
    report.candidates
}

/// The candidates of a review among the pairs of a file.
#[derive(Debug, Default)]
struct ReviewFigures {
    /// For each kind the candidates that are right, all candidates, and all that there are.
    counts: BTreeMap<String, [usize; 3]>,
    wrong: Vec<(ReviewKind, [String; 2])>,
    missed: Vec<String>,
}

/// Saves all pairs of a file in one store. A candidate of two pairs is wrong too.
fn measure(file: &str) -> ReviewFigures {
    let path = format!("{}/../tests/review/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let pairs: Vec<ReviewPair> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let (_project, mut engine) = engine();
    let mut expected = HashMap::new();
    let mut figures = ReviewFigures::default();
    for (at, pair) in pairs.into_iter().enumerate() {
        let second = 1_769_563_800 + at as i64 * 120;
        // An answer would close the task at once.
        let of_newer =
            pair.newer_type.map_or(pair.of, |kind| if kind.is_event() { MemoryType::Learning } else { kind });
        let older = save(&mut engine, pair.of, &pair.older, second);
        let newer = save(&mut engine, of_newer, &pair.newer, second + 61);
        if let Some(kind) = &pair.kind {
            figures.counts.entry(kind.clone()).or_default()[2] += 1;
        }
        expected.insert((older, newer), (pair.kind, pair.newer));
    }
    for candidate in candidates(&mut engine) {
        let (older, newer) = (candidate.older.memory, candidate.newer.unwrap().memory);
        let kind = expected.remove(&(older.id.to_string(), newer.id.to_string())).and_then(|(kind, _)| kind);
        let count = figures.counts.entry(candidate.kind.name().to_owned()).or_default();
        count[1] += 1;
        if kind.as_deref() == Some(candidate.kind.name()) {
            count[0] += 1;
        } else {
            figures.wrong.push((candidate.kind, [older.content, newer.content]));
        }
    }
    figures.missed =
        expected.into_values().filter_map(|(kind, text)| kind.map(|kind| format!("{kind}: {text}"))).collect();
    figures
}

#[test]
fn at_least_four_of_five_candidates_are_right() {
    for (file, kinds) in [("tuned", 4), ("held-out", 3), ("ready-held-out", 1)] {
        let figures = measure(file);
        let of_the_set: Vec<_> = figures.counts.values().filter(|[.., all]| *all > 0).collect();
        assert_eq!(of_the_set.len(), kinds, "{figures:#?}");
        for [right, found, all] in of_the_set {
            assert!(right * 5 >= found * 4 && right * 4 >= all * 3, "{file}: {figures:#?}");
        }
    }
}

const DAY: i64 = 86_400;

fn kinds(engine: &mut Engine) -> Vec<ReviewKind> {
    candidates(engine).into_iter().map(|candidate| candidate.kind).collect()
}

#[test]
fn decisions_keep_candidates_away() {
    let (_project, mut engine) = engine();
    let saved = Moment::now().unix() - DAY;
    save(&mut engine, MemoryType::Decision, "The cache in src/cache.rs lives for 10 minutes", saved);
    save(&mut engine, MemoryType::Decision, "The cache in src/cache.rs lives for 20 minutes", saved + 100);
    save(&mut engine, MemoryType::Learning, "Docker needs a restart after each change of its proxy settings", saved);
    save(
        &mut engine,
        MemoryType::Learning,
        "After each change of its proxy settings, docker needs a restart.",
        saved + 100,
    );
    let found = candidates(&mut engine);
    assert_eq!(kinds(&mut engine), [ReviewKind::ChangedValue, ReviewKind::SaidTwice]);
    let past = Moment::from_unix(saved, Some(0));
    engine.dismiss(&found[0], past).unwrap();
    assert_eq!(kinds(&mut engine).len(), 2, "the time is over");
    engine.dismiss(&found[0], Moment::from_unix(Moment::now().unix() + DAY, Some(0))).unwrap();
    assert_eq!(kinds(&mut engine), [ReviewKind::SaidTwice]);
    let (older, newer) = (&found[1].older.memory.id, &found[1].newer.as_ref().unwrap().memory.id);
    engine.supersede(older.as_str(), newer.as_str()).unwrap();
    assert_eq!(kinds(&mut engine), []);
}

#[test]
fn next_review_goes_on_with_new_memories() {
    let (_project, mut engine) = engine();
    let similar = [
        "The importer skips empty lines",
        "Empty lines: the importer skips them",
        "The importer skips all empty lines",
    ];
    for number in 0..250 {
        let (kind, text) = match number % 100 {
            0 => (MemoryType::Learning, similar[number / 100].to_owned()),
            _ => (MemoryType::UserPrompt, format!("Import file {number}")),
        };
        save(&mut engine, kind, &text, 1_769_563_800 + number as i64 * 100);
    }
    let mut steps = 0;
    let first = engine.review(&mut Control::default().with_progress(|_| steps += 1).cancelled_if(|| true)).unwrap();
    assert_eq!(
        (first.is_complete, first.candidates.len(), steps),
        (false, 1, 3),
        "200 memories are one step of each pass"
    );
    for _ in 0..2 {
        let report =
            engine.review(&mut Control::default().with_progress(|_| steps += 1).cancelled_if(|| true)).unwrap();
        assert_eq!((report.is_complete, report.candidates.len(), steps), (true, 3, 3));
    }
}

#[test]
fn unused_needs_records_of_half_a_year() {
    let (_project, mut engine) = engine();
    let now = Moment::now().unix();
    let old = now - 200 * DAY;
    let given_lately = save(&mut engine, MemoryType::Preference, "Answer in Korean", old);
    save(&mut engine, MemoryType::Preference, "Prefers tables", old);
    save(&mut engine, MemoryType::Preference, "Wants diagrams", now - 9 * DAY);
    let at = |seconds: i64| Moment::from_unix(seconds, Some(0)).unwrap().rfc3339();
    let file = engine.store.layout().track_dir().join("s.given");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (first, expected) in [(now - 100 * DAY, vec![]), (now - 190 * DAY, vec!["Prefers tables"])] {
        fs::write(&file, format!("brief {} x\nsearch {} {given_lately}\n", at(first), at(now - 90 * DAY))).unwrap();
        let found = candidates(&mut engine);
        assert!(found.iter().all(|candidate| candidate.kind == ReviewKind::Unused));
        let texts: Vec<&str> = found.iter().map(|candidate| candidate.older.memory.content.as_str()).collect();
        assert_eq!(texts, expected);
    }
}

#[test]
fn commit_finishes_a_task() {
    let (_project, mut engine) = engine();
    save(&mut engine, MemoryType::Task, "Add an index on orders.customer_id", 1_769_563_800);
    let commands = |message: &str| format!("Commands: cargo test; git commit -am \"{message}\"");
    save(&mut engine, MemoryType::ToolUsage, &commands("docs: explain the index"), 1_769_563_900);
    assert_eq!(kinds(&mut engine), []);
    save(&mut engine, MemoryType::ToolUsage, &commands("db: add an index on orders.customer_id"), 1_769_564_000);
    assert_eq!(kinds(&mut engine), [ReviewKind::FinishedTask]);
}

#[test]
fn kept_pair_is_not_marked_as_replaced() {
    let (_project, mut engine) = engine();
    save(&mut engine, MemoryType::Convention, "Lines in Python are at most 88 characters", 1_769_563_800);
    save(&mut engine, MemoryType::Convention, "Lines in Python are at most 100 characters", 1_769_563_900);
    let flags = |engine: &mut Engine| -> Vec<String> {
        let input = serde_json::from_value(serde_json::json!({ "query": "how long are lines in Python?" })).unwrap();
        engine.search(&input).unwrap().results.into_iter().flat_map(|hit| hit.flags).collect()
    };
    assert_eq!(flags(&mut engine), ["superseded"]);
    let found = candidates(&mut engine);
    engine.dismiss(&found[0], Moment::from_unix(Moment::now().unix() + DAY, Some(0))).unwrap();
    let report = engine.review(&mut Control::default()).unwrap();
    assert_eq!((report.candidates.len(), report.put_off), (0, 1));
    assert_eq!(flags(&mut engine), ["superseded"], "nothing is decided");
    engine.dismiss(&found[0], None).unwrap();
    assert_eq!(engine.review(&mut Control::default()).unwrap().put_off, 0);
    assert_eq!(flags(&mut engine), Vec::<String>::new());
}
