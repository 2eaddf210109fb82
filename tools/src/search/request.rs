//! What a search is asked for, checked and with its defaults.

use chrono::{NaiveDate, NaiveTime};
use schema::layout::STORE_DIR;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::tool::{SearchInput, SearchSource};

use super::query::Query;
use crate::error::ToolError;

/// Hits that are answered when nothing is said.
const DEFAULT_RESULTS: i64 = 6;

/// The relevance from which on a hit is answered when nothing is said.
const DEFAULT_SCORE: f64 = 0.35;

/// Tokens of an answer when nothing is said, of about four characters each.
const DEFAULT_TOKENS: i64 = 1_000;

/// A search that can be done.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) query: Query,
    pub(super) limit: usize,
    pub(super) min_score: f64,
    pub(super) max_tokens: usize,
    pub(super) explain: bool,
    pub(super) narrowing: Narrowing,
}

/// What hits are narrowed to; what is `None` admits all.
#[derive(Debug, Clone, Default)]
pub(super) struct Narrowing {
    pub(super) kind: Option<MemoryType>,
    pub(super) source: Option<SearchSource>,
    pub(super) session_id: Option<String>,
    pub(super) since: Option<i64>,
    pub(super) until: Option<i64>,
    /// A file or folder relative to the store.
    pub(super) path: Option<String>,
}

impl Request {
    pub(super) fn of(input: &SearchInput) -> Result<Self, ToolError> {
        if input.query.trim().is_empty() {
            return Err(invalid("query is empty: say what to look for, in words or as a question"));
        }
        let limit = input.max_results.unwrap_or(DEFAULT_RESULTS);
        if !(1..=50).contains(&limit) {
            return Err(invalid(&format!("maxResults is {limit}: it goes from 1 to 50")));
        }
        let min_score = input.min_score.unwrap_or(DEFAULT_SCORE);
        if !(0.0..=1.0).contains(&min_score) {
            return Err(invalid(&format!("minScore is {min_score}: it goes from 0 to 1")));
        }
        let max_tokens = input.max_tokens.unwrap_or(DEFAULT_TOKENS);
        if max_tokens < 1 {
            return Err(invalid(&format!("maxTokens is {max_tokens}: it starts at 1")));
        }
        Ok(Self {
            query: Query::parse(&input.query),
            limit: limit as usize,
            min_score,
            max_tokens: max_tokens as usize,
            explain: input.explain,
            narrowing: Narrowing::of(input)?,
        })
    }
}

impl Narrowing {
    fn of(input: &SearchInput) -> Result<Self, ToolError> {
        let since = input.since.as_deref().map(|text| moment("since", text, NaiveTime::MIN)).transpose()?;
        let until = input.until.as_deref().map(|text| moment("until", text, END_OF_DAY)).transpose()?;
        if since.is_some() && until.is_some() && since > until {
            return Err(invalid("since is later than until, so that nothing can be found"));
        }
        let path = input.path.as_deref().map(relative_to_store).transpose()?;
        Ok(Self { kind: input.kind, source: input.source, session_id: input.session_id.clone(), since, until, path })
    }

    /// Whether anything is left out, so that more candidates are needed.
    pub(super) fn is_any(&self) -> bool {
        !self.names().is_empty()
    }

    /// The arguments that leave something out.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let Self { kind, source, session_id, since, until, path } = self;
        let set = [
            ("type", kind.is_some()),
            ("source", source.is_some()),
            ("sessionId", session_id.is_some()),
            ("since", since.is_some()),
            ("until", until.is_some()),
            ("path", path.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }
}

const END_OF_DAY: NaiveTime = match NaiveTime::from_hms_opt(23, 59, 59) {
    Some(time) => time,
    None => NaiveTime::MIN,
};

/// A date of this machine's calendar or a moment in RFC 3339, as seconds since 1970.
pub(crate) fn moment(field: &str, text: &str, time: NaiveTime) -> Result<i64, ToolError> {
    let text = text.trim();
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(Moment::from_local_unknown(date, time).unix());
    }
    let at = Moment::parse_rfc3339(text).ok_or_else(|| {
        invalid(&format!("{field} is {text:?}: give a date such as 2026-01-28 or a time such as 2026-01-28T10:30:00Z"))
    })?;
    Ok(at.unix())
}

/// A file or folder as it is written in the index. Where it does not lie in the store there is nothing to find.
fn relative_to_store(path: &str) -> Result<String, ToolError> {
    let given = path.trim().replace('\\', "/");
    let inside = given.trim_start_matches("./").trim_end_matches('/');
    let inside = inside.strip_prefix(STORE_DIR).map_or(inside, |rest| rest.trim_start_matches('/'));
    let is_outside = inside.starts_with('/') || inside.contains(':') || inside.split('/').any(|part| part == "..");
    if is_outside {
        return Err(invalid(&format!(
            "path is {path:?}: give a file or folder of the store, such as {STORE_DIR}/notes"
        )));
    }
    Ok(inside.to_owned())
}

fn invalid(text: &str) -> ToolError {
    ToolError::Invalid(text.to_owned())
}
