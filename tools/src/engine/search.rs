//! `memory_search`: the settings of a search, and what happens to its hits afterwards.

use std::collections::BTreeSet;

use schema::files::layout::STORE_DIR;
use schema::host::session_context::{Given, record_given};
use schema::model::moment::Moment;
use schema::settings::Settings;
use schema::tool::{SearchInput, SearchOutput, SearchSource};

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
}
