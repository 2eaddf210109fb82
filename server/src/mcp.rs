//! The MCP side: tools and prompts as hosts see them, and each call handed to the worker. Keeps no state between requests.

mod prompts;
mod text;

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig, Tool as McpTool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use schema::tool::{Definition, MEMORY_FIRST, Tool, definitions};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tools::engine::Progress;
use tools::error::ToolError;

use crate::worker::{Answer, Call, Work};

/// The server as hosts see it.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    work: mpsc::Sender<Work>,
}

impl Memory {
    pub(crate) fn new(work: mpsc::Sender<Work>) -> Self {
        Self { work }
    }

    async fn call(
        &self,
        tool: Tool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ToolError> {
        let call = Call::parse(tool, request.arguments.unwrap_or_default())?;
        let (reply, answer) = oneshot::channel();
        let progress = context.meta.get_progress_token().map(|token| report(token, context.peer.clone()));
        let gone = |_| ToolError::Unavailable("the server is ending".to_owned());
        let work = Work::Call { call, progress, reply };
        self.work.send(work).await.map_err(|_| ToolError::Unavailable("the server is ending".to_owned()))?;
        answer.await.map_err(gone)?
    }
}

impl ServerHandler for Memory {
    fn get_info(&self) -> ServerConfig {
        let implementation =
            Implementation::new("jikime-memory", env!("CARGO_PKG_VERSION")).with_title("jikime-memory");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().build())
            .with_server_info(implementation)
            .with_instructions(MEMORY_FIRST)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(definitions().map(listed).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        definitions().into_iter().find(|definition| definition.tool.name() == name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::by_name(&request.name) else {
            let known = Tool::ALL.map(Tool::name).join(", ");
            let message = format!("unknown tool {:?}: known tools are {known}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        Ok(result(tool, self.call(tool, request, &context).await).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&request).map(GetPromptResponse::from)
    }
}

/// A tool as the list shows it.
fn listed(definition: Definition) -> McpTool {
    let tool = definition.tool;
    let annotations =
        ToolAnnotations::new().read_only(tool.is_read_only()).destructive(false).idempotent(true).open_world(false);
    let listed = McpTool::new(tool.name(), tool.description(), Arc::new(definition.input_schema))
        .with_title(tool.title())
        .with_raw_output_schema(Arc::new(definition.output_schema))
        .with_annotations(annotations);
    if !matches!(tool, Tool::Search | Tool::Save) {
        return listed;
    }
    // These two are needed at any moment; hosts that load tools on demand keep them at hand.
    let mut meta = MetaObject::default();
    meta.insert("anthropic/alwaysLoad".to_owned(), Value::Bool(true));
    listed.with_meta(meta)
}

/// The one place where an outcome becomes an answer of the protocol. All errors are answers that a model can read: a protocol
/// error would reach only the host.
fn result(tool: Tool, outcome: Result<Answer, ToolError>) -> CallToolResult {
    match outcome {
        Ok(answer) => {
            let mut result = CallToolResult::structured(structured(&answer));
            result.content = vec![ContentBlock::text(text::of(&answer))];
            result
        }
        Err(error) => {
            let message = match &error {
                ToolError::Invalid(text) | ToolError::NotFound(text) => format!("{}: {text}", tool.name()),
                ToolError::Unavailable(text) => format!("{} cannot be done now: {text}", tool.name()),
                ToolError::Damaged(text) | ToolError::Internal(text) => {
                    tracing::error!("{}: {text}", tool.name());
                    format!("{} failed: {text}", tool.name())
                }
            };
            CallToolResult::error(vec![ContentBlock::text(message)])
        }
    }
}

fn structured(answer: &Answer) -> Value {
    let value = match answer {
        Answer::Search(output) => serde_json::to_value(output),
        Answer::Get(output) => serde_json::to_value(output),
        Answer::Load(output) => serde_json::to_value(output),
        Answer::Save(output) => serde_json::to_value(output),
        Answer::Stats(output) => serde_json::to_value(output),
        Answer::Reindex(output) => serde_json::to_value(output),
    };
    value.expect("results are plain structs with string keys")
}

/// Passes on how far a call has come, for as long as it runs.
fn report(token: ProgressToken, peer: Peer<RoleServer>) -> mpsc::UnboundedSender<Progress> {
    let (sink, mut steps) = mpsc::unbounded_channel::<Progress>();
    tokio::spawn(async move {
        while let Some(Progress { done, total, path }) = steps.recv().await {
            let step =
                ProgressNotificationParam::new(token.clone(), done as f64).with_total(total as f64).with_message(path);
            if peer.notify_progress(step).await.is_err() {
                return;
            }
        }
    });
    sink
}
