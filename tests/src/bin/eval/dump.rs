//! Writes the scores of the first hits with their reasons, to fit constants elsewhere. One JSON object per question and leg.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use harness::evaluation::{EvalQuestion, EvalSet, EvalStore};
use serde_json::{Value, json};
use tools::engine::Engine;

use crate::measure::{measured_legs, unanswerable_questions};

pub(crate) fn write<'s>(path: &Path, sets: impl Iterator<Item = &'s EvalSet>) -> Result<(), String> {
    let cannot_write = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = BufWriter::new(File::create(path).map_err(cannot_write)?);
    for set in sets {
        for (place, group) in set.groups.iter().enumerate() {
            let store = EvalStore::new(group, set.shape)?;
            for (leg, settings) in measured_legs(set, None, None) {
                let mut engine = store.engine(&settings)?;
                let own = group.questions.iter().filter(|question| !question.relevant.is_empty());
                let strange = unanswerable_questions(&set.groups, place);
                let asked = own.map(|question| (true, question)).chain(strange.into_iter().map(|other| (false, other)));
                for (is_own, question) in asked {
                    let hits = hits_of(&store, &mut engine, question, is_own)?;
                    let row = json!({
                        "set": set.name, "group": place, "leg": leg, "own": is_own, "query": question.text,
                        "class": question.class, "documents": group.documents.len(), "hits": hits,
                    });
                    writeln!(file, "{row}").map_err(cannot_write)?;
                }
            }
        }
    }
    file.flush().map_err(cannot_write)
}

fn hits_of(
    store: &EvalStore,
    engine: &mut Engine,
    question: &EvalQuestion,
    is_own: bool,
) -> Result<Vec<Value>, String> {
    let hits = store.explained(engine, &question.text)?;
    let row = |(documents, hit): &(Vec<String>, schema::tool::Hit)| {
        let is_in = |ids: &[String]| is_own && documents.iter().any(|id| ids.contains(id));
        json!({
            "ids": documents, "right": is_in(&question.relevant), "newer": is_in(&question.newer), "older": is_in(&question.older),
            "score": hit.score, "reasons": hit.explanation, "date": hit.date, "kind": hit.kind, "snippet": hit.snippet,
        })
    };
    Ok(hits.iter().map(row).collect())
}
