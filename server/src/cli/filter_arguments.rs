//! Filter options of all commands that show memories.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command};
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use strsim::levenshtein;
use tools::engine::{Engine, HistoryFilter};
use tools::error::ToolError;
use tools::time_expression;

#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only these types, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = MemoryTypeParser, value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Only this session: its id or its unique beginning
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    span: SpanArguments,
    /// Only this log, such as MEMORY.md, or memories that change or name this file of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SpanArguments {
    /// Since this time: a date, a time, or an age such as 7d
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_since)]
    pub(super) since: Option<Moment>,
    /// Until this time
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_until)]
    pub(super) until: Option<Moment>,
}

/// Parses a type, also as a log writes it, such as `Error Fix`, or with hyphens.
pub(crate) fn parse_memory_type(name: &str) -> Result<MemoryType, String> {
    let plain = name.trim().to_lowercase().replace(['-', ' '], "_");
    plain.parse().map_err(|_| {
        let known = MemoryType::ALL.map(MemoryType::as_str);
        match known.into_iter().min_by_key(|known| levenshtein(known, &plain)) {
            Some(near) if levenshtein(near, &plain) <= 2 => format!("unknown type {name:?}; use {near}"),
            _ => format!("unknown type {name:?}; the types are {}", known.join(", ")),
        }
    })
}

/// Parses a type. Shell completion and help list all types.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryTypeParser;

impl TypedValueParser for MemoryTypeParser {
    type Value = MemoryType;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<MemoryType, clap::Error> {
        StringValueParser::new().try_map(|name| parse_memory_type(&name)).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(MemoryType::ALL.into_iter().map(|kind| PossibleValue::new(kind.as_str()))))
    }
}

impl FilterArguments {
    pub(crate) fn into_filter(self, engine: &mut Engine) -> Result<HistoryFilter, ToolError> {
        let SpanArguments { since, until } = self.span;
        if since.zip(until).is_some_and(|(since, until)| since.unix() > until.unix()) {
            return Err(ToolError::Invalid("--since is later than --until, so nothing can match".to_owned()));
        }
        let mut wanted = HistoryFilter { kinds: self.kinds, ..HistoryFilter::default() };
        wanted.filter.since = since.map(|at| at.utc());
        wanted.filter.until = until.map(|at| at.utc());
        if let Some(path) = self.path {
            engine.narrow_to_path(&mut wanted, &path)?;
        }
        wanted.filter.session_id = self.session.map(|id| engine.resolve_session_id(&id)).transpose()?;
        Ok(wanted)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("decision", Ok(MemoryType::Decision))]
    #[case("Error Fix", Ok(MemoryType::ErrorFix))]
    #[case("error-fix", Ok(MemoryType::ErrorFix))]
    #[case("decison", Err("unknown type \"decison\"; use decision"))]
    #[case("lernings", Err("unknown type \"lernings\"; use learning"))]
    #[case("idea", Err("unknown type \"idea\"; the types are user_prompt, "))]
    fn type_is_known_by_one_name_in_any_spelling(#[case] name: &str, #[case] expected: Result<MemoryType, &str>) {
        match (parse_memory_type(name), expected) {
            (Err(error), Err(expected)) => assert!(error.starts_with(expected), "{error}"),
            (parsed, expected) => assert_eq!(parsed.map_err(|_| ""), expected),
        }
    }
}
