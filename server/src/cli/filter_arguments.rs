//! Filter options of all commands that show memories.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use tools::engine::{Engine, HistoryFilter};
use tools::error::ToolError;

use super::time_argument;

#[derive(Debug, Default, Args)]
pub(crate) struct FilterArguments {
    /// Only these types, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type_parser(), value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Only this session: its id or its unique beginning
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    span: SpanArguments,
}

#[derive(Debug, Default, Args)]
struct SpanArguments {
    /// Since this time: a date, a time, or an age such as 7d
    #[arg(long, value_name = "WHEN", value_parser = time_argument::parse_since)]
    since: Option<Moment>,
    /// Until this time
    #[arg(long, value_name = "WHEN", value_parser = time_argument::parse_until)]
    until: Option<Moment>,
    /// Only this log, such as MEMORY.md, or memories that change or name this file of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

/// Parses a type. Shell completion lists all types.
pub(crate) fn memory_type_parser() -> impl TypedValueParser<Value = MemoryType> {
    PossibleValuesParser::new(MemoryType::ALL.map(MemoryType::as_str)).try_map(|name| name.parse::<MemoryType>())
}

impl FilterArguments {
    pub(crate) fn into_filter(self, engine: &mut Engine) -> Result<HistoryFilter, ToolError> {
        let mut wanted = self.span.into_filter(engine)?;
        wanted.kinds = self.kinds;
        wanted.filter.session_id = self.session.map(|id| engine.resolve_session_id(&id)).transpose()?;
        Ok(wanted)
    }
}

impl SpanArguments {
    fn into_filter(self, engine: &mut Engine) -> Result<HistoryFilter, ToolError> {
        let mut wanted = HistoryFilter::default();
        if self.since.zip(self.until).is_some_and(|(since, until)| since.unix() > until.unix()) {
            return Err(ToolError::Invalid("--since is later than --until, so nothing can match".to_owned()));
        }
        wanted.filter.since = self.since.map(|at| at.utc());
        wanted.filter.until = self.until.map(|at| at.utc());
        if let Some(path) = self.path {
            engine.narrow_to_path(&mut wanted, &path)?;
        }
        Ok(wanted)
    }
}
