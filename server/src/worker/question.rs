//! What is asked of the store by those who read it as documents rather than through tools.

use schema::daily_log::LogKind;
use schema::tool::{GetInput, GetOutput, StatsOutput};
use tools::engine::Engine;
use tools::error::ToolError;

/// A question about the store.
#[derive(Debug)]
pub(crate) enum Question {
    /// The text of a log.
    Text(LogKind),
    /// Which logs there are.
    Logs,
    /// A memory, or a passage of a note, by its id.
    Memory(String),
    /// The newest ids that begin so, as many as that.
    Ids(String, usize),
    Stats,
}

/// The answer to a question of the same name.
#[derive(Debug)]
pub(crate) enum Found {
    Text(String),
    Logs(Vec<LogKind>),
    Memory(Box<GetOutput>),
    Ids(Vec<String>),
    Stats(Box<StatsOutput>),
}

impl Question {
    pub(crate) fn answer(self, engine: &mut Engine) -> Result<Found, ToolError> {
        Ok(match self {
            Self::Text(log) => Found::Text(engine.text(&log.file_name())?),
            Self::Logs => Found::Logs(engine.logs()?),
            Self::Memory(id) => Found::Memory(Box::new(engine.get(&GetInput { id: Some(id), ..GetInput::default() })?)),
            Self::Ids(beginning, limit) => Found::Ids(engine.newest_ids(&beginning, limit)?),
            Self::Stats => Found::Stats(Box::new(engine.stats()?)),
        })
    }
}
