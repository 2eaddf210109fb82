//! A search request: what is asked, by whom, and how to score. Validates it and applies defaults.

use schema::files::layout::STORE_DIR;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::settings::{LegWeights, SEARCH_RESULTS, SEARCH_TOKENS};
use schema::tool::{SearchInput, SearchSource};

use super::echo::EchoFilter;
use super::query::{self, Query};
use super::tags::comparable_tag;
use crate::embed::EmbeddingModel;
use crate::error::ToolError;
use crate::time_expression::{parse_since, parse_until};

/// The maximum number of phrasings in addition to the question.
const MAX_ALSO: usize = 4;

/// Score from which a hit is returned, unless the caller or the settings give one.
pub(super) const DEFAULT_SCORE: f64 = 0.35;

/// How to search, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct SearchOptions<'m> {
    /// `None` for a search by words alone.
    pub model: Option<&'m EmbeddingModel>,
    pub scoring: Scoring,
    pub asker: Asker,
    /// The session of the host, or an empty text.
    pub session_id: &'m str,
}

/// The one who asks a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A person, to whom every memory is shown.
    Person,
    /// A model, which knows its current turn.
    Model,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoring {
    /// All legs. `None` for the measured weights of this kind of model.
    Full(Option<LegWeights>),
    /// Only the words of the passage itself.
    Words,
    /// 0.7 of the vector score and 0.3 of the word score, and nothing else.
    Stated,
}

impl From<Option<LegWeights>> for Scoring {
    fn from(weights: Option<LegWeights>) -> Self {
        if weights == Some(LegWeights::VECTOR_HEAVY) { Self::Stated } else { Self::Full(weights) }
    }
}

/// A valid search request.
#[derive(Debug, Clone)]
pub(super) struct SearchRequest {
    /// The question, then its other phrasings, then parts of a long question.
    pub(super) phrasings: Vec<Phrasing>,
    /// The number of parts.
    pub(super) parts: usize,
    pub(super) limit: usize,
    pub(super) min_score: f64,
    /// Whether the caller left the threshold to the search.
    pub(super) has_default_score: bool,
    pub(super) max_tokens: usize,
    pub(super) explain: bool,
    pub(super) filter: SearchFilter,
}

/// One wording of the question.
#[derive(Debug, Clone)]
pub(super) struct Phrasing {
    text: String,
    pub(super) query: Query,
}

impl Phrasing {
    pub(super) fn new(text: &str) -> Self {
        // Longer text was pasted, and its start says what it is about.
        Self { text: query::truncated_query(text).to_owned(), query: Query::parse(text) }
    }

    pub(super) fn question(&self) -> &str {
        &self.text
    }
}

/// Filter of hits; `None` matches everything.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchFilter {
    pub(super) kind: Option<MemoryType>,
    pub(super) source: Option<SearchSource>,
    pub(super) session_id: Option<String>,
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    /// A file or folder relative to the store.
    pub(super) path: Option<String>,
    /// A comparable tag.
    pub(super) tag: Option<String>,
    /// A model's current turn.
    pub(super) echo: Option<EchoFilter>,
}

impl SearchRequest {
    /// The question itself.
    pub(super) fn query(&self) -> &Query {
        &self.phrasings[0].query
    }

    pub(super) fn question(&self) -> &str {
        self.phrasings[0].question()
    }

    pub(super) fn query_of(&self, phrasing: usize) -> &Query {
        &self.phrasings[phrasing].query
    }

    pub(super) fn from_input(input: &SearchInput) -> Result<Self, ToolError> {
        if input.query.trim().is_empty() {
            return Err(ToolError::Invalid("query is empty: give words or a question".to_owned()));
        }
        let limit = input.max_results.unwrap_or(SEARCH_RESULTS as i64);
        if !(1..=50).contains(&limit) {
            return Err(ToolError::Invalid(format!("maxResults is {limit}: use a number from 1 to 50")));
        }
        let min_score = input.min_score.unwrap_or(DEFAULT_SCORE);
        if !(0.0..=1.0).contains(&min_score) {
            return Err(ToolError::Invalid(format!("minScore is {min_score}: use a number from 0 to 1")));
        }
        let max_tokens = input.max_tokens.unwrap_or(SEARCH_TOKENS as i64);
        if max_tokens < 1 {
            return Err(ToolError::Invalid(format!("maxTokens is {max_tokens}: use 1 or more")));
        }
        Ok(Self {
            phrasings: parse_phrasings(input)?,
            parts: 0,
            limit: limit as usize,
            min_score,
            has_default_score: input.min_score.is_none(),
            max_tokens: max_tokens as usize,
            explain: input.explain,
            filter: SearchFilter::from_input(input)?,
        })
    }
}

/// The distinct wordings of a question.
fn parse_phrasings(input: &SearchInput) -> Result<Vec<Phrasing>, ToolError> {
    if input.also.len() > MAX_ALSO {
        let given = input.also.len();
        return Err(ToolError::Invalid(format!("also has {given} phrasings: give at most {MAX_ALSO}")));
    }
    let mut phrasings = vec![Phrasing::new(&input.query)];
    for text in &input.also {
        let phrasing = Phrasing::new(text);
        if !phrasing.query.is_empty() && phrasings.iter().all(|known| known.query != phrasing.query) {
            phrasings.push(phrasing);
        }
    }
    Ok(phrasings)
}

impl SearchFilter {
    fn from_input(input: &SearchInput) -> Result<Self, ToolError> {
        let since = parse_moment("since", input.since.as_deref(), parse_since)?;
        let until = parse_moment("until", input.until.as_deref(), parse_until)?;
        if since.is_some() && until.is_some() && since > until {
            return Err(ToolError::Invalid("since is later than until, so nothing can match".to_owned()));
        }
        let path = input.path.as_deref().map(store_path).transpose()?;
        let empty = |tag: &str| ToolError::Invalid(format!("tag is {tag:?}: give a word such as auth"));
        let tag = input.tag.as_deref().map(|tag| comparable_tag(tag).ok_or_else(|| empty(tag))).transpose()?;
        Ok(Self {
            kind: input.kind,
            source: input.source,
            session_id: input.session_id.clone(),
            since,
            until,
            path,
            tag,
            echo: None,
        })
    }

    /// Whether it filters anything, so that more candidates are needed.
    pub(super) fn excludes_something(&self) -> bool {
        !self.argument_names().is_empty()
    }

    /// The arguments that filter.
    pub(super) fn argument_names(&self) -> Vec<&'static str> {
        let Self { kind, source, session_id, since, until, path, tag, echo: _ } = self;
        let set = [
            ("type", kind.is_some()),
            ("source", source.is_some()),
            ("sessionId", session_id.is_some()),
            ("since", since.is_some()),
            ("until", until.is_some()),
            ("path", path.is_some()),
            ("tag", tag.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }
}

fn parse_moment(
    field: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<Moment, String>,
) -> Result<Option<i64>, ToolError> {
    let wrong = |text: &str, forms| ToolError::Invalid(format!("{field} is {text:?}: {forms}"));
    text.map(|text| parse(text).map(|at| at.unix()).map_err(|forms| wrong(text.trim(), forms))).transpose()
}

/// A path as in the index. A path outside the store is an error.
fn store_path(path: &str) -> Result<String, ToolError> {
    let given = path.trim().replace('\\', "/");
    let inside = given.trim_start_matches("./").trim_end_matches('/');
    let inside = inside.strip_prefix(STORE_DIR).map_or(inside, |rest| rest.trim_start_matches('/'));
    let is_outside = inside.starts_with('/') || inside.contains(':') || inside.split('/').any(|part| part == "..");
    if is_outside {
        return Err(ToolError::Invalid(format!(
            "path is {path:?}: give a file or folder of the store, such as {STORE_DIR}/notes"
        )));
    }
    Ok(inside.to_owned())
}
