//! Calls of the six tools, as the worker does them.

use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, ReindexInput, ReindexOutput, SaveInput, SaveOutput, SearchInput,
    SearchOutput, StatsInput, StatsOutput, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

/// A call of a tool with its arguments.
#[derive(Debug)]
pub(crate) enum Call {
    Search(SearchInput),
    Get(GetInput),
    Load(LoadInput),
    Save(SaveInput),
    Stats,
    Reindex(ReindexInput),
}

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Answer {
    Search(SearchOutput),
    Get(GetOutput),
    Load(LoadOutput),
    Save(SaveOutput),
    Stats(Box<StatsOutput>),
    Reindex(ReindexOutput),
}

impl Call {
    /// Reads the arguments of a tool; what does not fit is answered with what would.
    pub(crate) fn parse(tool: Tool, arguments: Map<String, Value>) -> Result<Self, ToolError> {
        Ok(match tool {
            Tool::Search => Self::Search(read(arguments)?),
            Tool::Get => Self::Get(read(arguments)?),
            Tool::Load => Self::Load(read(arguments)?),
            Tool::Save => Self::Save(read(arguments)?),
            Tool::Stats => {
                let StatsInput {} = read(arguments)?;
                Self::Stats
            }
            Tool::Reindex => Self::Reindex(read(arguments)?),
        })
    }

    pub(crate) fn run(
        self,
        engine: &mut Engine,
        progress: &watch::Sender<Option<Progress>>,
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<Answer, ToolError> {
        let mut report = |step: Progress| drop(progress.send_replace(Some(step)));
        Ok(match self {
            Self::Search(input) => Answer::Search(engine.search_while(&input, &mut report, may_go_on)?),
            Self::Get(input) => Answer::Get(engine.get(&input)?),
            Self::Load(input) => Answer::Load(engine.load(&input)?),
            Self::Save(input) => Answer::Save(engine.save(&input)?),
            Self::Stats => Answer::Stats(Box::new(engine.stats()?)),
            Self::Reindex(input) => Answer::Reindex(engine.reindex(&input, &mut report, may_go_on)?),
        })
    }
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError::Invalid(format!("arguments: {error}")))
}
