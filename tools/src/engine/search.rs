//! `memory_search`: the settings of a search, and what happens to its hits afterwards.

use std::collections::BTreeSet;

use schema::files::layout::STORE_DIR;
use schema::host::session_context::{Given, record_given};
use schema::model::memory::MemoryId;
use schema::model::moment::Moment;
use schema::settings::Settings;
use schema::tool::{Confidence, Hit, SearchInput, SearchOutput, SearchSource};

use super::{Engine, file_access};
use crate::control::Control;
use crate::embed::EmbeddingLocation;
use crate::error::ToolError;
use crate::search::{self, Asker, SearchOptions, append_notice};

impl Engine {
    /// `memory_search`: the hits of the project, and behind them the best ones of the user's personal memory.
    pub fn search_as(
        &mut self,
        asker: Asker,
        input: &SearchInput,
        control: &mut Control<'_>,
    ) -> Result<SearchOutput, ToolError> {
        let mut output = self.search_project(asker, input, control)?;
        self.add_personal_hits(asker, input, &mut output, control);
        Ok(output)
    }

    /// A search of this project alone, for a person.
    pub fn search(&mut self, input: &SearchInput) -> Result<SearchOutput, ToolError> {
        self.search_project(Asker::Person, input, &mut Control::default())
    }

    /// Fills missing fields of a request from the settings.
    pub(super) fn with_defaults(&self, input: &SearchInput) -> SearchInput {
        let Settings { search_results, search_min_score, search_tokens, .. } = self.loaded.settings;
        SearchInput {
            max_results: input.max_results.or(Some(search_results as i64)),
            min_score: input.min_score.or(search_min_score),
            max_tokens: input.max_tokens.or(Some(search_tokens as i64)),
            ..input.clone()
        }
    }

    /// Reports progress while new events are indexed, and may wait some seconds for the question's vector.
    pub(super) fn search_project(
        &mut self,
        asker: Asker,
        input: &SearchInput,
        control: &mut Control<'_>,
    ) -> Result<SearchOutput, ToolError> {
        let input = &self.with_defaults(input);
        let query_vector = self.query_vector(input)?;
        let now = Moment::now();
        let model = self.model.as_ref().map(|model| match model.embedder.location() {
            EmbeddingLocation::InProcess => model.clone(),
            EmbeddingLocation::Remote => {
                model.with_query_vector(query_vector.unwrap_or_else(|| model.without_request()))
            }
        });
        let mut output = self.with_repair(|engine| {
            let scoring = engine.loaded.settings.search_weights.into();
            let options = SearchOptions { model: model.as_ref(), scoring, asker, session_id: &engine.session_id };
            search::search(&mut engine.store, &mut engine.index, options, input, &now, control)
        })?;
        self.add_encoding_notice(&mut output);
        self.add_notice(&mut output.notice);
        self.record_hits(&output);
        self.mark_changed_code(&mut output)?;
        if asker == Asker::Model {
            self.make_compact(&mut output)?;
        }
        Ok(output)
    }

    /// Records which memories the host's session was given. A search succeeds whether or not that can be written.
    fn record_hits(&self, output: &SearchOutput) {
        let hits = output.results.iter().filter(|hit| hit.source == SearchSource::Memory).map(|hit| hit.id.as_str());
        if !self.session_id.is_empty() && self.is_writable() {
            let _ = record_given(self.store.layout(), &self.session_id, Given::Search, hits);
        }
    }

    /// Adds a notice for hits from files that are not UTF-8.
    fn add_encoding_notice(&self, output: &mut SearchOutput) {
        let is_doubtful = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        let hits = output.results.iter();
        let doubtful = hits.filter(|hit| is_doubtful(&hit.snippet) || hit.heading.as_deref().is_some_and(is_doubtful));
        let files: BTreeSet<&str> = doubtful.filter_map(|hit| hit.path.strip_prefix(STORE_DIR)).collect();
        let about = |path: &str| file_access::read_file(self.store.layout(), path.trim_start_matches('/')).ok()?.notice;
        for text in files.into_iter().filter_map(about) {
            append_notice(&mut output.notice, &text);
        }
    }

    /// Marks hits whose code changed, and puts them behind the next ones that are better now.
    fn mark_changed_code(&mut self, output: &mut SearchOutput) -> Result<(), ToolError> {
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
