//! Calls of the six tools: parsing, execution, results.

use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, QueueOwner, ReindexInput, ReindexOutput, SaveInput, SaveOutput,
    SearchInput, SearchOutput, StatsInput, StatsOutput, Tool,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;
use tools::search::{Asker, append_notice};

use crate::dispatcher::{Dispatcher, ReadNeed};
use crate::request::{ProgressSender, SaveRequest, Work};

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

/// Calls a tool. Progress goes to `progress`, which is closed before the result is returned.
pub(super) async fn call_tool(
    tool: Tool,
    arguments: Map<String, Value>,
    dispatcher: &Dispatcher,
    progress: ProgressSender,
) -> Result<ToolOutput, ToolError> {
    Ok(match tool {
        Tool::Search => ToolOutput::Search(run_search(parse_arguments(arguments)?, dispatcher, progress).await?),
        Tool::Get => {
            let input: GetInput = parse_arguments(arguments)?;
            let need = if input.id.is_some() { ReadNeed::CaughtUpIndex } else { ReadNeed::OpenStore };
            let get = move |engine: &mut Engine, _: Control<'_>| {
                let output = engine.get(&input)?;
                engine.compact_details(output)
            };
            ToolOutput::Get(Box::new(dispatcher.read(need, Some(progress), get).await?))
        }
        Tool::Load => {
            let input: LoadInput = parse_arguments(arguments)?;
            let load = move |engine: &mut Engine, _: Control<'_>| engine.load(&input);
            ToolOutput::Load(dispatcher.read(ReadNeed::OpenStore, Some(progress), load).await?)
        }
        Tool::Save => {
            drop(progress);
            let input: SaveInput = parse_arguments(arguments)?;
            ToolOutput::Save(dispatcher.write(|reply| Work::Save(SaveRequest::Tool { input, reply })).await?)
        }
        Tool::Stats => {
            let StatsInput {} = parse_arguments(arguments)?;
            ToolOutput::Stats(Box::new(read_stats(dispatcher, Some(progress)).await?))
        }
        Tool::Reindex => {
            let input: ReindexInput = parse_arguments(arguments)?;
            ToolOutput::Reindex(dispatcher.write(|reply| Work::Reindex { input, progress, reply }).await?)
        }
    })
}

async fn run_search(
    input: SearchInput,
    dispatcher: &Dispatcher,
    progress: ProgressSender,
) -> Result<SearchOutput, ToolError> {
    let sender = progress.clone();
    let mut output = dispatcher
        .read(ReadNeed::CaughtUpIndex, Some(progress), move |engine, control| {
            let mut control = control.with_progress(|step| drop(sender.send_replace(Some(step))));
            engine.search_as(Asker::Model, &input, &mut control)
        })
        .await?;
    if let Some(text) = dispatcher.indexing_notice() {
        append_notice(&mut output.notice, &text);
    }
    Ok(output)
}

/// The statistics of the store, plus the state of this server.
pub(super) async fn read_stats(
    dispatcher: &Dispatcher,
    progress: Option<ProgressSender>,
) -> Result<StatsOutput, ToolError> {
    let mut output = dispatcher.read(ReadNeed::CaughtUpIndex, progress, |engine, _| engine.stats()).await?;
    if dispatcher.is_answering() {
        output.queue_answered_by = QueueOwner::ThisServer;
    }
    Ok(output)
}

fn parse_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        // The error is about all arguments if one of them is missing or unknown.
        let argument = if path == "." { "arguments" } else { &path };
        ToolError::Invalid(format!("{argument}: {}", error.inner()))
    })
}
