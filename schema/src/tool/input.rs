//! The arguments of the tools. They are written in camelCase and also read in snake_case. Unknown fields are an error.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

use crate::model::memory::MemoryType;

/// Arguments of `memory_search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchInput {
    /// Words or a question, any language
    pub query: String,
    /// Other phrasings: synonyms, a translation, the statement that would answer
    #[serde(default, deserialize_with = "deserialize_texts", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schemars", schemars(length(max = 4)))]
    pub also: Vec<String>,
    #[serde(
        default,
        alias = "max_results",
        deserialize_with = "deserialize_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1, max = 50)))]
    pub max_results: Option<i64>,
    #[serde(default, alias = "min_score", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub min_score: Option<f64>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SearchSource>,
    #[serde(default, alias = "session_id", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Date, RFC 3339, or age such as 7d
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// File or folder of the memory, such as notes/api.md
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(
        default,
        alias = "max_tokens",
        deserialize_with = "deserialize_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_tokens: Option<i64>,
    /// Explain the scores
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
}

/// The source of a hit, which a search can be limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum SearchSource {
    Chunks,
    Memory,
}

/// Arguments of `memory_get`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// First line, from 1
    #[serde(default, deserialize_with = "deserialize_whole_number", skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    #[serde(default, deserialize_with = "deserialize_whole_number", skip_serializing_if = "Option::is_none")]
    pub lines: Option<i64>,
    /// Instead of path
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(
        default,
        alias = "max_tokens",
        deserialize_with = "deserialize_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("default" = 8000)))]
    pub max_tokens: Option<i64>,
}

/// Arguments of `memory_load`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadInput {
    #[serde(default)]
    pub source: LoadSource,
    #[serde(
        default,
        alias = "max_tokens",
        deserialize_with = "deserialize_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schemars", schemars(extend("default" = 8000)))]
    pub max_tokens: Option<i64>,
}

/// How much `memory_load` loads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum LoadSource {
    /// Long-term memory.
    #[default]
    Startup,
    /// Long-term memory and today's log.
    Full,
}

/// Arguments of `memory_save`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SaveInput {
    #[serde(rename = "type")]
    pub kind: MemoryType,
    pub content: String,
    /// Extra words for searching, in any language, at most 200 characters
    #[serde(default, deserialize_with = "deserialize_joined_texts", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<String>"))]
    pub also: Option<String>,
    #[serde(default, deserialize_with = "deserialize_texts", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Object or its JSON text
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("type" = ["object", "string"])))]
    pub metadata: Option<Value>,
    /// Into MEMORY.md
    #[serde(default, alias = "long_term", skip_serializing_if = "std::ops::Not::not")]
    pub long_term: bool,
    /// Id it replaces
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// Also propose it to the team, if the user allows it
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share: bool,
}

impl SaveInput {
    /// A memory with this text and nothing else.
    pub fn new(kind: MemoryType, content: String) -> Self {
        Self {
            kind,
            content,
            also: None,
            tags: Vec::new(),
            metadata: None,
            long_term: false,
            supersedes: None,
            share: false,
        }
    }
}

/// `memory_stats` has no arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatsInput {}

/// Arguments of `memory_reindex`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReindexInput {
    /// Rebuild everything
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Only this file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A whole number. In JSON 3 and 3.0 are equal, and some models write 3.0.
fn deserialize_whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    match Option::<Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
            let number_in_words = || D::Error::custom(format!("{number} is not a whole number"));
            number.as_i64().or(whole.map(|number| number as i64)).map(Some).ok_or_else(number_in_words)
        }
    }
}

/// A list of texts, one text, or a list as JSON text: some models send lists so.
fn deserialize_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::String(text) => serde_json::from_str(&text).unwrap_or_else(|_| vec![text]),
        other => serde_json::from_value(other).map_err(|_| D::Error::custom("give a list of texts"))?,
    };
    Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
}

/// One text, or several that become one.
fn deserialize_joined_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let texts = deserialize_texts(deserializer)?;
    Ok((!texts.is_empty()).then(|| texts.join("; ")))
}
