//! Searches, and the newest memories if there is no question.

use std::collections::HashSet;
use std::time::Instant;

use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::model::state_note::Standing;
use schema::store::{MemoryFilter, MemoryRow};
use schema::tool::{Hit, SearchInput};
use serde::{Deserialize, Serialize};
use tools::control::Control;
use tools::engine::{Engine, HistoryFilter};
use tools::error::ToolError;
use tools::search::Asker;
use tools::time_expression::parse_since;

use super::{MemoryItem, memory_type};

/// The most hits, which are found at each keystroke, and the newest memories that are listed or filtered.
pub(in crate::page) const HITS: i64 = 20;
pub(in crate::page) const NEWEST: usize = 50;
const FILTERED: usize = 2_000;

/// The length of an answer is limited for models only.
const TOKENS: i64 = 65_535;

/// The flag of what was replaced, and of what only seems to be.
const SUPERSEDED: &str = "superseded";
const OUTDATED: &str = "outdated";

/// A question and filters. An empty field allows everything.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::page) struct SearchForm {
    pub(in crate::page) q: String,
    #[serde(rename = "type")]
    pub(in crate::page) kind: String,
    pub(in crate::page) tag: String,
    /// An age such as `7d`.
    pub(in crate::page) since: String,
    /// The id of a session or its beginning.
    pub(in crate::page) session: String,
    /// A file or a folder of the project, or of the store.
    pub(in crate::page) file: String,
    /// `confirmed` or `core`.
    pub(in crate::page) standing: String,
    /// `hide` or `only`.
    pub(in crate::page) superseded: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct SearchAnswer {
    pub(in crate::page) memories: Vec<MemoryItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) notice: Option<String>,
    pub(in crate::page) milliseconds: u64,
}

impl SearchForm {
    /// Whether any filter is set.
    pub(in crate::page) fn is_filtered(&self) -> bool {
        [&self.kind, &self.tag, &self.since, &self.session, &self.file, &self.standing, &self.superseded]
            .iter()
            .any(|filter| !filter.trim().is_empty())
    }

    fn session_id(&self, engine: &mut Engine) -> Result<Option<String>, ToolError> {
        let session = self.session.trim();
        (!session.is_empty()).then(|| engine.resolve_session_id(session)).transpose()
    }

    fn since(&self) -> Result<Option<Moment>, ToolError> {
        let since = self.since.trim();
        (!since.is_empty()).then(|| parse_since(since).map_err(ToolError::Invalid)).transpose()
    }

    /// Answers without the memories that are `hidden`.
    pub(in crate::page) fn answer(
        &self,
        engine: &mut Engine,
        hidden: &HashSet<String>,
    ) -> Result<SearchAnswer, ToolError> {
        let started = Instant::now();
        let (mut memories, notice) = match (self.q.trim(), self.tag.trim()) {
            ("", "") => (self.newest(engine, hidden)?, None),
            ("", tag) => self.hits(engine, tag)?,
            (query, _) => self.hits(engine, query)?,
        };
        memories.retain(|memory| !hidden.contains(&memory.id));
        let milliseconds = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Ok(SearchAnswer { memories, notice, milliseconds })
    }

    fn hits(&self, engine: &mut Engine, query: &str) -> Result<(Vec<MemoryItem>, Option<String>), ToolError> {
        let session_id = self.session_id(engine)?;
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let input = SearchInput {
            query: query.to_owned(),
            max_results: Some(HITS),
            kind: memory_type(self.kind.trim())?,
            session_id,
            since: self.since()?.map(|at| at.rfc3339()),
            tag: given(self.tag.trim_start_matches('#')),
            path: given(&self.file),
            max_tokens: Some(TOKENS),
            ..SearchInput::default()
        };
        let output = engine.search_as(Asker::Person, &input, &mut Control::default())?;
        let mut found = Vec::new();
        for hit in output.results {
            let row = engine.peek(&hit.id)?;
            let mut memory = MemoryItem::of_hit(hit);
            // The search also marks what only seems to be replaced, which a person has not decided.
            let is_replaced = row.as_ref().is_some_and(|row| row.superseded_by.is_some());
            for flag in memory.flags.iter_mut().filter(|flag| *flag == SUPERSEDED && !is_replaced) {
                OUTDATED.clone_into(flag);
            }
            if self.admits(engine, row.as_ref())? {
                found.push(memory);
            }
        }
        Ok((found, output.notice))
    }

    /// The newest conclusions, or the newest memories of a type.
    fn newest(&self, engine: &mut Engine, hidden: &HashSet<String>) -> Result<Vec<MemoryItem>, ToolError> {
        let kinds = match memory_type(self.kind.trim())? {
            Some(kind) => vec![kind],
            None => MemoryType::ALL.into_iter().filter(|kind| !kind.is_event()).collect(),
        };
        let mut wanted = HistoryFilter {
            kinds,
            filter: MemoryFilter {
                session_id: self.session_id(engine)?,
                since: self.since()?.map(|at| at.utc()),
                ..MemoryFilter::default()
            },
            file: None,
        };
        if !self.file.trim().is_empty() {
            engine.narrow_to_path(&mut wanted, &self.file)?;
        }
        // Some filters apply to what was read.
        let reach = if self.standing.is_empty() && self.superseded.is_empty() { NEWEST } else { FILTERED };
        let mut found = Vec::new();
        for row in engine.list_history(&wanted, reach + hidden.len())? {
            if found.len() < NEWEST && self.admits(engine, Some(&row))? {
                found.push(MemoryItem::of_row(&row));
            }
        }
        Ok(found)
    }

    /// Whether a memory passes the filters that the engine does not know. A passage of Markdown has no row.
    fn admits(&self, engine: &Engine, row: Option<&MemoryRow>) -> Result<bool, ToolError> {
        let is_replaced = row.is_some_and(|row| row.superseded_by.is_some());
        let is_wanted = match self.superseded.as_str() {
            "hide" => !is_replaced,
            "only" => is_replaced,
            _ => true,
        };
        let least = match self.standing.as_str() {
            "confirmed" => Standing::Confirmed,
            "core" => Standing::Core,
            _ => return Ok(is_wanted),
        };
        let standing = row.map(|row| engine.store().rows().standing(row)).transpose()?;
        Ok(is_wanted && standing.is_some_and(|standing| standing >= least))
    }
}

impl MemoryItem {
    fn of_hit(hit: Hit) -> Self {
        Self {
            id: hit.id,
            kind: hit.kind,
            date: hit.date.unwrap_or_default().chars().take(16).collect(),
            path: hit.path,
            session_id: hit.session_id.unwrap_or_default(),
            excerpt: hit.snippet,
            score: Some(hit.score),
            confidence: Some(hit.confidence.as_str()),
            flags: hit.flags,
            code: hit.code,
        }
    }
}
