//! Calls of the six tools: parsing, execution, results.

use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, QueueOwner, ReindexInput, ReindexOutput, SaveInput, SaveOutput,
    SearchInput, SearchOutput, StatsInput, StatsOutput, Tool,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tools::engine::{Audience, Engine, IndexProgress};
use tools::error::ToolError;

use crate::dispatcher::{Dispatcher, ReadNeed};
use crate::request::{ProgressSender, SaveRequest, WriteRequest};

#[derive(Debug)]
pub(super) enum ToolCall {
    Search(SearchInput),
    Get(GetInput),
    Load(LoadInput),
    Save(SaveInput),
    Stats,
    Reindex(ReindexInput),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ToolOutput {
    Search(SearchOutput),
    Get(Box<GetOutput>),
    Load(LoadOutput),
    Save(SaveOutput),
    Stats(Box<StatsOutput>),
    Reindex(ReindexOutput),
}

impl ToolCall {
    /// Parses the arguments of a tool.
    pub(super) fn parse(tool: Tool, arguments: Map<String, Value>) -> Result<Self, ToolError> {
        Ok(match tool {
            Tool::Search => Self::Search(parse_arguments(arguments)?),
            Tool::Get => Self::Get(parse_arguments(arguments)?),
            Tool::Load => Self::Load(parse_arguments(arguments)?),
            Tool::Save => Self::Save(parse_arguments(arguments)?),
            Tool::Stats => {
                let StatsInput {} = parse_arguments(arguments)?;
                Self::Stats
            }
            Tool::Reindex => Self::Reindex(parse_arguments(arguments)?),
        })
    }

    /// Runs the call. Progress goes to `steps`, which are closed before the result is returned.
    pub(super) async fn run(self, dispatcher: &Dispatcher, steps: ProgressSender) -> Result<ToolOutput, ToolError> {
        Ok(match self {
            Self::Search(input) => ToolOutput::Search(run_search(input, dispatcher, steps).await?),
            Self::Get(input) => {
                let need = if input.id.is_some() { ReadNeed::Index } else { ReadNeed::Store };
                let get = move |engine: &mut Engine, _: &dyn Fn() -> bool| {
                    let output = engine.get(&input)?;
                    engine.compact_details(output)
                };
                ToolOutput::Get(Box::new(dispatcher.read(need, Some(steps), get).await?))
            }
            Self::Load(input) => ToolOutput::Load(
                dispatcher.read(ReadNeed::Store, Some(steps), move |engine, _| engine.load(&input)).await?,
            ),
            Self::Save(input) => {
                drop(steps);
                ToolOutput::Save(
                    dispatcher.write(|reply| WriteRequest::Save(SaveRequest::Tool { input, reply })).await?,
                )
            }
            Self::Stats => ToolOutput::Stats(Box::new(read_stats(dispatcher, Some(steps)).await?)),
            Self::Reindex(input) => {
                ToolOutput::Reindex(dispatcher.write(|reply| WriteRequest::Reindex { input, steps, reply }).await?)
            }
        })
    }
}

async fn run_search(
    input: SearchInput,
    dispatcher: &Dispatcher,
    steps: ProgressSender,
) -> Result<SearchOutput, ToolError> {
    let taken = steps.clone();
    let mut output = dispatcher
        .read(ReadNeed::Index, Some(steps), move |engine, may_go_on| {
            let mut report = |step: IndexProgress| drop(taken.send_replace(Some(step)));
            engine.search_with_personal(Audience::Model, &input, &mut report, may_go_on)
        })
        .await?;
    if let Some(text) = dispatcher.indexing_notice() {
        output.notice = Some(output.notice.take().map_or(text.clone(), |notice| format!("{notice}; {text}")));
    }
    Ok(output)
}

/// The statistics of the store, plus the state of this server.
pub(super) async fn read_stats(
    dispatcher: &Dispatcher,
    steps: Option<ProgressSender>,
) -> Result<StatsOutput, ToolError> {
    let mut output = dispatcher.read(ReadNeed::Index, steps, |engine, _| engine.stats()).await?;
    if dispatcher.is_answering() {
        output.queue_answered_by = QueueOwner::ThisServer;
    }
    Ok(output)
}

fn parse_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError::Invalid(format!("arguments: {error}")))
}
