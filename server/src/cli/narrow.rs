//! The options by which what is shown is narrowed, the same for every command that shows what is remembered.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use schema::memory::MemoryType;
use schema::moment::Moment;
use tools::engine::{Engine, Wanted};
use tools::error::ToolError;

use super::when;

/// To memories.
#[derive(Debug, Default, Args)]
pub(crate) struct Narrow {
    /// Only memories of a type; several are separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Only this session: its id, or as much of its beginning as tells it apart
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    span: Span,
}

/// To a time and a place.
#[derive(Debug, Default, Args)]
struct Span {
    /// From this time on: a date, a time, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    since: Option<Moment>,
    /// Up to this time
    #[arg(long, value_name = "WHEN", value_parser = when::until)]
    until: Option<Moment>,
    /// Only this log of the store, such as MEMORY.md, or what changed or names this file of the project
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
}

/// Reads a type, and tells shells which there are.
pub(crate) fn memory_type() -> impl TypedValueParser<Value = MemoryType> {
    PossibleValuesParser::new(MemoryType::ALL.map(MemoryType::as_str)).try_map(|name| name.parse::<MemoryType>())
}

impl Narrow {
    pub(crate) fn wanted(self, engine: &mut Engine) -> Result<Wanted, ToolError> {
        let mut wanted = self.span.wanted(engine)?;
        wanted.kinds = self.kinds;
        wanted.filter.session_id = self.session.map(|id| engine.whole_session_id(&id)).transpose()?;
        Ok(wanted)
    }
}

impl Span {
    fn wanted(self, engine: &mut Engine) -> Result<Wanted, ToolError> {
        let mut wanted = Wanted::default();
        if self.since.zip(self.until).is_some_and(|(since, until)| since.unix() > until.unix()) {
            return Err(ToolError::Invalid("--since is later than --until, so that nothing can be found".to_owned()));
        }
        wanted.filter.since = self.since.map(|at| at.utc());
        wanted.filter.until = self.until.map(|at| at.utc());
        if let Some(path) = self.path {
            engine.narrow_to_path(&mut wanted, &path)?;
        }
        Ok(wanted)
    }
}
