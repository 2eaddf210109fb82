//! Merges what the phrasings of a question found.
//!
//! A right answer usually matches several phrasings, a wrong one matches one by chance. So candidates are sorted by the
//! mean of their best score and their average score. See docs/dev/retrieval.md for what else was tried.

use std::collections::HashMap;

use super::candidate::Candidate;

/// A candidate of one or more phrasings.
struct MergedCandidate {
    /// As scored by the phrasing that it matches best.
    best: Candidate,
    sum: f32,
}

/// The candidates of all phrasings as one list. The last `parts` lists are of parts of a long question, which counts with its best part.
pub(super) fn merge(mut lists: Vec<Vec<Candidate>>, parts: usize) -> Vec<Candidate> {
    for (phrasing, list) in lists.iter_mut().enumerate() {
        list.iter_mut().for_each(|candidate| candidate.phrasing = phrasing);
    }
    let of_parts = lists.split_off(lists.len().saturating_sub(parts));
    if let Some(question) = lists.first_mut().filter(|_| parts > 0) {
        let all = std::iter::once(std::mem::take(question)).chain(of_parts).collect();
        *question = join_by_passage(all).into_iter().map(|merged| merged.best).collect();
    }
    if lists.len() <= 1 {
        return lists.pop().unwrap_or_default();
    }
    let phrasings = lists.len() as f32;
    let merged = join_by_passage(lists);
    let agreed = |merged: &MergedCandidate| f32::midpoint(merged.best.relevance, merged.sum / phrasings);
    // The first keeps its best score, so that a threshold means the same as for one phrasing.
    let first = merged.iter().max_by(|a, b| agreed(a).total_cmp(&agreed(b)));
    let scale = first.map_or(1.0, |first| first.best.relevance / agreed(first));
    let scaled = |merged: MergedCandidate| Candidate { relevance: agreed(&merged) * scale, ..merged.best };
    merged.into_iter().map(scaled).collect()
}

fn join_by_passage(lists: Vec<Vec<Candidate>>) -> Vec<MergedCandidate> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut merged: Vec<MergedCandidate> = Vec::new();
    for list in lists {
        for candidate in list {
            let Some(&place) = places.get(candidate.passage.id()) else {
                places.insert(candidate.passage.id().to_owned(), merged.len());
                merged.push(MergedCandidate { sum: candidate.relevance, best: candidate });
                continue;
            };
            let known = &mut merged[place];
            known.sum += candidate.relevance;
            if candidate.relevance > known.best.relevance {
                known.best = candidate;
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::ChunkRow;
    use crate::search::candidate::{Passage, ScoreReasons};

    fn candidate(uid: &str, relevance: f32) -> Candidate {
        let text = String::new;
        let (id, start_line, end_line) = (0, 1, 1);
        let chunk =
            ChunkRow { id, uid: uid.to_owned(), path: text(), start_line, end_line, text: text(), heading: text() };
        let (passage, reasons) = (Passage::Chunk(chunk), ScoreReasons::default());
        Candidate { passage, tokens: Vec::new(), matched: 1, relevance, reasons, phrasing: 0 }
    }

    #[test]
    fn agreement_wins_and_the_first_keeps_its_score() {
        let lists = vec![
            vec![candidate("once", 0.6), candidate("twice", 0.5)],
            vec![candidate("twice", 0.55), candidate("other", 0.2)],
        ];
        let mut merged = merge(lists, 0);
        merged.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
        let found: Vec<_> = merged.iter().map(|found| (found.passage.id(), found.phrasing)).collect();
        assert_eq!(found, [("twice", 1), ("once", 0), ("other", 1)]);
        assert!((merged[0].relevance - 0.55).abs() < 1e-6 && merged[1].relevance < 0.55, "{merged:?}");
    }

    #[test]
    fn best_part_of_a_long_question_counts() {
        let lists = vec![vec![candidate("a", 0.2), candidate("b", 0.3)], vec![candidate("a", 0.7)]];
        let merged = merge(lists, 1);
        let found: Vec<_> = merged.iter().map(|found| (found.passage.id(), found.relevance, found.phrasing)).collect();
        assert_eq!(found, [("a", 0.7, 1), ("b", 0.3, 0)]);
    }

    #[test]
    fn one_phrasing_is_not_changed() {
        let merged = merge(vec![vec![candidate("a", 0.7), candidate("b", 0.1)]], 0);
        assert_eq!(merged.iter().map(|found| found.relevance).collect::<Vec<_>>(), [0.7, 0.1]);
    }
}
