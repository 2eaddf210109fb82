//! Calls of the six tools: their arguments, who runs them, and their results.

use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, QueueServer, ReindexInput, ReindexOutput, SaveInput, SaveOutput,
    SearchInput, SearchOutput, StatsInput, StatsOutput, Tool,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tools::engine::Progress;
use tools::error::ToolError;

use crate::dispatcher::{Dispatcher, Need};
use crate::request::{Save, Steps, Write};

/// A call of a tool with its arguments.
#[derive(Debug)]
pub(super) enum Call {
    Search(SearchInput),
    Get(GetInput),
    Load(LoadInput),
    Save(SaveInput),
    Stats,
    Reindex(ReindexInput),
}

/// The result of a call.
#[derive(Debug)]
pub(super) enum Answer {
    Search(SearchOutput),
    Get(GetOutput),
    Load(LoadOutput),
    Save(SaveOutput),
    Stats(Box<StatsOutput>),
    Reindex(ReindexOutput),
}

impl Call {
    /// Reads the arguments of a tool. An error says which arguments fit.
    pub(super) fn parse(tool: Tool, arguments: Map<String, Value>) -> Result<Self, ToolError> {
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

    /// Has the call run. Its progress is reported to `steps`, which are closed before the result is returned.
    pub(super) async fn run(self, dispatcher: &Dispatcher, steps: Steps) -> Result<Answer, ToolError> {
        Ok(match self {
            Self::Search(input) => Answer::Search(search(input, dispatcher, steps).await?),
            Self::Get(input) => {
                let need = if input.id.is_some() { Need::Index } else { Need::Store };
                Answer::Get(dispatcher.read(need, Some(steps), move |engine, _| engine.get(&input)).await?)
            }
            Self::Load(input) => {
                Answer::Load(dispatcher.read(Need::Store, Some(steps), move |engine, _| engine.load(&input)).await?)
            }
            Self::Save(input) => {
                drop(steps);
                Answer::Save(dispatcher.write(|reply| Write::Save(Save::Tool { input, reply })).await?)
            }
            Self::Stats => Answer::Stats(Box::new(stats(dispatcher, Some(steps)).await?)),
            Self::Reindex(input) => {
                Answer::Reindex(dispatcher.write(|reply| Write::Reindex { input, steps, reply }).await?)
            }
        })
    }
}

async fn search(input: SearchInput, dispatcher: &Dispatcher, steps: Steps) -> Result<SearchOutput, ToolError> {
    let taken = steps.clone();
    let mut output = dispatcher
        .read(Need::Index, Some(steps), move |engine, may_go_on| {
            engine.search_while(&input, &mut |step: Progress| drop(taken.send_replace(Some(step))), may_go_on)
        })
        .await?;
    if let Some(text) = dispatcher.indexing_notice() {
        output.notice = Some(output.notice.take().map_or(text.clone(), |notice| format!("{notice}; {text}")));
    }
    Ok(output)
}

/// The statistics of the store, with what only the server knows.
pub(super) async fn stats(dispatcher: &Dispatcher, steps: Option<Steps>) -> Result<StatsOutput, ToolError> {
    let mut output = dispatcher.read(Need::Index, steps, |engine, _| engine.stats()).await?;
    if dispatcher.is_answering() {
        output.queue_answered_by = QueueServer::ThisServer;
    }
    Ok(output)
}

fn read<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| ToolError::Invalid(format!("arguments: {error}")))
}
