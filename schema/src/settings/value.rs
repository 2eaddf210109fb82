//! Parses and represents the values of settings, from files and from the environment.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde_json::Value as Json;
use toml::de::DeValue as Value;

use crate::model::age::Age;

/// The weights of the search legs, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegWeights {
    pub words: u16,
    pub vector: u16,
}

impl LegWeights {
    /// The best result on the development sets with the built-in model.
    pub const LOCAL_MODEL_DEFAULT: Self = Self { words: 65, vector: 5 };
    /// The weights that other products state: 0.7 for vectors and 0.3 for words.
    pub const VECTOR_HEAVY: Self = Self { words: 30, vector: 70 };
}

/// The source of embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingProvider {
    /// A service whose key is set, otherwise the built-in model.
    Auto,
    OpenAi,
    Gemini,
    /// The built-in model, or a model file.
    Local,
    /// No embeddings. Searches use words only.
    None,
}

impl EmbeddingProvider {
    pub(super) const ALL: [Self; 5] = [Self::Auto, Self::OpenAi, Self::Gemini, Self::Local, Self::None];

    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Local => "local",
            Self::None => "none",
        }
    }
}

impl Display for EmbeddingProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The cases in which a session starts with a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BriefMode {
    Always,
    /// Only after a compaction.
    AfterCompaction,
    Never,
}

impl BriefMode {
    pub const ALL: [Self; 3] = [Self::Always, Self::AfterCompaction, Self::Never];

    /// The word in a settings file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "on",
            Self::AfterCompaction => "compact-only",
            Self::Never => "off",
        }
    }
}

/// The details that are recorded about edits, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edits {
    Off,
    /// The names of changed files.
    Names,
    /// The names of changed files, and the changes.
    Full,
}

/// The maximum number of patterns or globs in one file, and their maximum length in bytes.
const MAX_TEXTS: usize = 100;
const MAX_TEXT_LENGTH: usize = 1_000;

pub(super) fn parse_switch(value: &Value<'_>) -> Option<bool> {
    match (value, value.as_str()) {
        (Value::Boolean(on), _) => Some(*on),
        (_, Some("on" | "true" | "yes" | "1")) => Some(true),
        (_, Some("off" | "false" | "no" | "0")) => Some(false),
        _ => None,
    }
}

pub(super) fn parse_number(value: &Value<'_>, range: RangeInclusive<usize>) -> Option<usize> {
    let number = match value {
        Value::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => value.as_str()?.parse().ok(),
    };
    number.filter(|number| range.contains(number))
}

/// Parses a score from 0 to 1.
pub(super) fn parse_score(value: &Value<'_>) -> Option<f64> {
    let score: f64 = match value {
        Value::Float(number) => number.as_str().parse().ok(),
        Value::Integer(number) => number.as_str().parse().ok(),
        _ => value.as_str()?.parse().ok(),
    }?;
    (0.0..=1.0).contains(&score).then_some(score)
}

pub(super) fn parse_text(value: &Value<'_>) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(super) fn parse_texts(value: &Value<'_>) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= MAX_TEXTS)?;
    let is_fit = |text: &&str| !text.is_empty() && text.len() <= MAX_TEXT_LENGTH;
    list.iter().map(|item| item.as_ref().as_str().filter(is_fit).map(str::to_owned)).collect()
}

/// Parses a text with `read`. `never` gives `Some(None)`.
pub(super) fn parse_unless_never<T>(value: &Value<'_>, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match value.as_str()? {
        "never" => Some(None),
        text => read(text).map(Some),
    }
}

/// Parses an age such as `180d`, `26w`, `6mo` or `1y` into days. Old settings may contain `6m` for six months.
pub fn parse_days(text: &str) -> Option<u32> {
    let months = text.trim().strip_suffix(['m', 'M']).map(|number| format!("{number}mo"));
    Age::parse(months.as_deref().unwrap_or(text))?.to_days().filter(|days| *days > 0)
}

/// Parses a size such as `500KB`, `50MB` or `1GB` into bytes.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let units = [("kb", 1_000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("b", 1)];
    let text = text.trim().to_ascii_lowercase();
    let (number, bytes) = units.into_iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(bytes)
}

/// Parses a preset or two numbers such as `65/5`. The measured weights give `Some(None)`.
pub(super) fn parse_weights(value: &Value<'_>) -> Option<Option<LegWeights>> {
    match value.as_str()? {
        "measured" => Some(None),
        "stated" => Some(Some(LegWeights::VECTOR_HEAVY)),
        text => {
            let numbers: Vec<u16> = text.split('/').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
            let [words, vector] = numbers[..] else { return None };
            let is_possible = numbers.iter().all(|number| *number <= 100) && numbers.iter().any(|number| *number > 0);
            is_possible.then_some(Some(LegWeights { words, vector }))
        }
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    Default,
    User(PathBuf),
    Project(PathBuf),
    Environment(&'static str),
    /// A switch was turned off because a setting that may restrict recording is invalid.
    Fallback,
}

/// Returns a value of a settings file as JSON.
pub(super) fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::String(text) => Json::from(text.as_ref()),
        Value::Boolean(on) => Json::Bool(*on),
        Value::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or(Json::Null, Json::from),
        Value::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        Value::Array(items) => items.iter().map(|item| to_json(item.as_ref())).collect(),
        Value::Datetime(at) => Json::from(at.to_string()),
        Value::Table(_) => Json::Null,
    }
}
