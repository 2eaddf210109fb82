//! Marks memories whose code changed since. Only hits are compared, after the search.

use schema::model::memory::MemoryId;
use schema::tool::{Confidence, Hit, SearchOutput, SearchSource};

use super::Engine;
use crate::error::ToolError;

impl Engine {
    /// Marks hits whose code changed, and puts them behind the next ones that are better now.
    pub(super) fn mark_changed_code(&mut self, output: &mut SearchOutput) -> Result<(), ToolError> {
        self.change_detector.begin();
        let mut is_demoted = false;
        for hit in output.results.iter_mut().filter(|hit| hit.source == SearchSource::Memory) {
            let Some(id) = MemoryId::parse(&hit.id) else { continue };
            let rows = self.store.rows();
            let Some(row) = rows.by_id(&id)? else { continue };
            let changes = self.change_detector.changes(rows, &row)?;
            hit.code = changes.summary();
            hit.score = (hit.score * changes.demotion() * 1000.0).round() / 1000.0;
            is_demoted |= changes.demotion() < 1.0;
        }
        if is_demoted {
            put_changed_behind(&mut output.results);
        }
        Ok(())
    }
}

/// Moves changed hits down past better ones. All others keep their order, which follows more than the score.
fn put_changed_behind(hits: &mut [Hit]) {
    let first = hits.first().map(|hit| hit.id.clone());
    for start in (0..hits.len()).rev() {
        let mut at = start;
        while hits[at].code.is_some() && at + 1 < hits.len() && hits[at + 1].score > hits[at].score {
            hits.swap(at, at + 1);
            at += 1;
        }
    }
    // How far the first hit leads the others is not known any more.
    if hits.first().map(|hit| &hit.id) != first.as_ref() {
        hits.iter_mut().for_each(|hit| hit.confidence = Confidence::Suggested);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn hit((id, score, code): &(&str, f64, Option<&str>)) -> Hit {
        let hit = json!({
            "id": id, "source": "memory", "path": "2026-01-28.md", "start_line": 1, "end_line": 1, "snippet": id, "score": score,
            "confidence": "suggested", "code": code,
        });
        serde_json::from_value(hit).unwrap()
    }

    #[rstest]
    #[case::behind_a_better_one(&[("a", 0.63, Some("x")), ("b", 0.65, None), ("c", 0.5, None)], "bac")]
    #[case::still_best(&[("a", 0.63, Some("x")), ("b", 0.6, None)], "ab")]
    #[case::both_changed(&[("a", 0.5, Some("x")), ("b", 0.6, Some("y")), ("c", 0.7, None)], "cba")]
    #[case::others_keep_their_order(&[("a", 0.3, None), ("b", 0.6, None), ("c", 0.4, Some("x")), ("d", 0.5, None)], "abdc")]
    fn changed_hit_moves_behind_better_ones(#[case] hits: &[(&str, f64, Option<&str>)], #[case] expected: &str) {
        let mut hits: Vec<Hit> = hits.iter().map(hit).collect();
        put_changed_behind(&mut hits);
        assert_eq!(hits.iter().map(|hit| hit.id.as_str()).collect::<String>(), expected);
    }
}
