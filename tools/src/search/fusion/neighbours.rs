//! Reads the neighbours of the best passages, which are their context.

use std::collections::HashMap;

use schema::store::Store;

use super::{PassageEvidence, SearchLegs};
use crate::error::ToolError;
use crate::index::{Document, Index};
use crate::search::candidate::{Passage, UnscoredPassage, is_echo, passes_filter, read_passage};

/// Links the most promising passages with their neighbours, which are read if missing.
pub(super) fn add_neighbours(
    store: &Store,
    index: &Index,
    known: &mut Vec<PassageEvidence>,
    promising: &[usize],
    legs: &SearchLegs<'_>,
) -> Result<(), ToolError> {
    let mut places: HashMap<Document, usize> =
        known.iter().enumerate().filter_map(|(i, known)| Some((known.passage.document?, i))).collect();
    for &at in promising {
        let (before, after) = neighbour_documents(store, index, &known[at].passage)?;
        for (document, is_before) in [(before, true), (after, false)] {
            let Some(document) = document else { continue };
            let other = match places.get(&document) {
                Some(other) => *other,
                None => {
                    let Some(passage) = read_passage(store, index, document)? else { continue };
                    let is_answer = passes_filter(legs.filter, &passage);
                    if is_echo(legs.filter, &passage) {
                        continue;
                    }
                    let mut neighbour =
                        legs.collect_evidence(UnscoredPassage { passage, document: Some(document), is_answer });
                    legs.compare_tokens(&mut neighbour);
                    known.push(neighbour);
                    places.insert(document, known.len() - 1);
                    known.len() - 1
                }
            };
            let (first, second) = if is_before { (other, at) } else { (at, other) };
            known[first].place.after = Some(second);
            known[second].place.before = Some(first);
        }
    }
    Ok(())
}

/// The previous and next document: in its session or in its file.
fn neighbour_documents(
    store: &Store,
    index: &Index,
    gathered: &UnscoredPassage,
) -> Result<(Option<Document>, Option<Document>), ToolError> {
    match (&gathered.passage, gathered.document) {
        (Passage::Memory(row), _) if row.memory.kind.is_event() && !row.memory.session_id.is_empty() => {
            let (before, after) = store.rows().neighbour_seqs(row)?;
            Ok((before.map(Document::Memory), after.map(Document::Memory)))
        }
        (Passage::Chunk(chunk), Some(Document::Chunk(id))) => {
            // Chunk ids of a file are in order.
            let of_file = |id: i64| -> Result<Option<Document>, ToolError> {
                let other = index.chunk(id)?.filter(|other| other.path == chunk.path);
                Ok(other.map(|_| Document::Chunk(id)))
            };
            Ok((of_file(id - 1)?, of_file(id + 1)?))
        }
        _ => Ok((None, None)),
    }
}
