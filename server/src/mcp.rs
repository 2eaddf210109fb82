//! The MCP server: tools, prompts and resources. Calls go to the dispatcher. The only state between requests is subscriptions of hosts with
//! an earlier protocol.

mod notifications;
mod prompts;
mod resources;
mod result_text;
mod tool_call;

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo,
    ContentBlock, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Reference, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    Tool as McpTool, ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use schema::privacy::output_text::clean_text;
use schema::tool::{MEMORY_FIRST, Tool};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tools::control::IndexProgress;
use tools::error::ToolError;

use crate::change_feed::ChangeFeed;
use crate::dispatcher::{Dispatcher, ReadNeed};
use crate::message;
use notifications::Subscriptions;
use resources::ResourceUri;
use tool_call::ToolOutput;

/// The field of `_meta` with which a client asks for links to hits.
const LINKS: &str = "jikime-memory/links";

/// Maximum number of characters that a host should show directly instead of writing them to a file.
const LONG_ANSWER: u32 = 200_000;

/// Schemas are parsed once, because every call needs them.
static TOOLS: LazyLock<Vec<McpTool>> = LazyLock::new(|| Tool::ALL.map(tool_entry).to_vec());

/// Parses the schemas. An idle thread does this during the handshake.
pub(crate) fn prepare_tool_list() {
    LazyLock::force(&TOOLS);
}

/// The server for one connection.
#[derive(Debug)]
pub(crate) struct McpServer {
    dispatcher: Dispatcher,
    changes: ChangeFeed,
    /// Is cancelled when the connection or the server ends, which stops listeners.
    ending: CancellationToken,
    subscriptions: Subscriptions,
}

impl McpServer {
    pub(crate) fn new(dispatcher: Dispatcher, changes: ChangeFeed, ending: CancellationToken) -> Self {
        Self { dispatcher, changes, ending, subscriptions: Subscriptions::default() }
    }

    async fn call(
        &self,
        tool: Tool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolOutput, ToolError> {
        let (progress, progress_receiver) = watch::channel(None);
        let token = context.meta.get_progress_token();
        let answered = async {
            let called = tool_call::call_tool(tool, request.arguments.unwrap_or_default(), &self.dispatcher, progress);
            // While the call waits, the host gets progress.
            let reporting = async {
                if let Some(token) = token {
                    tokio::select! {
                        () = report_progress(progress_receiver, token, &context.peer) => {}
                        // While the server ends, the host may not read its output, and this must not block.
                        () = self.ending.cancelled() => {}
                    }
                }
            };
            tokio::join!(called, reporting).0
        };
        let mut answered = pin!(answered);
        tokio::select! {
            output = &mut answered => output,
            () = context.ct.cancelled() => {
                // While the server is ending, calls are finished.
                if self.ending.is_cancelled() { answered.await } else { Err(ToolError::Interrupted) }
            }
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let implementation =
            Implementation::new("jikime-memory", env!("CARGO_PKG_VERSION")).with_title("jikime-memory");
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(MEMORY_FIRST)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<McpTool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::from_name(&request.name) else {
            let known = Tool::ALL.map(Tool::name).join(", ");
            let message = format!("unknown tool {:?}: known tools are {known}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let wants_links = context.meta.get(LINKS).is_some_and(|wanted| *wanted == Value::Bool(true));
        let started = Instant::now();
        let outcome = self.call(tool, request, &context).await;
        tracing::debug!(
            "{} took {} ms: {}",
            tool.name(),
            started.elapsed().as_millis(),
            result_text::outcome_for_log(&outcome)
        );
        Ok(tool_result(tool, outcome, wants_links).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list_prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get_prompt(&request, &self.dispatcher).await.map(GetPromptResponse::from)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let logs = self.dispatcher.read(ReadNeed::OpenStore, None, |engine, _| engine.logs()).await;
        let logs = logs.map_err(|error| list_error(&error))?;
        Ok(ListResourcesResult::with_all_items(resources::list_resources(&logs)))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::resource_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let parsed = ResourceUri::parse(&uri).ok_or_else(|| resources::not_found(&uri))?;
        let contents = parsed.read(&self.dispatcher).await.map_err(|error| resources::resource_error(&uri, &error))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let found = match &request.r#ref {
            Reference::Resource(resource) if resources::is_known_uri(&resource.uri) => {
                let limit = CompletionInfo::MAX_VALUES + 1;
                resources::complete(&resource.uri, &request.argument, limit, &self.dispatcher).await
            }
            Reference::Prompt(prompt) if prompts::is_known_prompt(&prompt.name) => Ok(Vec::new()),
            other => {
                let name = other.as_prompt_name().or(other.as_resource_uri()).unwrap_or_default();
                return Err(ErrorData::invalid_params(format!("unknown prompt or resource {name:?}"), None));
            }
        };
        let mut values = found.map_err(|error| list_error(&error))?;
        let has_more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(values, None, has_more);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    /// Requests that the library does not know or cannot parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(message::unknown_request_error(&request, context.protocol_version().as_ref()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(notifications::accepted_filter(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        notifications::notify_listener(context, &self.changes, &self.ending).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.subscriptions.start_notifying(context.peer, &self.changes);
    }

    // Hosts with a protocol before 2026-07-28 subscribe like this.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if ResourceUri::parse(&request.uri).is_none() {
            return Err(resources::not_found(&request.uri));
        }
        self.subscriptions.add(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }
}

fn list_error(error: &ToolError) -> ErrorData {
    ErrorData::internal_error(format!("cannot read the store: {error}"), None)
}

/// A tool as listed to hosts.
fn tool_entry(tool: Tool) -> McpTool {
    let (arguments, result) = tool.schemas();
    let annotations =
        ToolAnnotations::new().read_only(tool.is_read_only()).destructive(false).idempotent(true).open_world(false);
    let listed = McpTool::new(tool.name(), tool.description(), parse_schema(arguments))
        .with_title(tool.title())
        .with_raw_output_schema(parse_schema(result))
        .with_annotations(annotations);
    let hint = match tool {
        // Hosts that load tools on demand should always load these two.
        Tool::Search | Tool::Save => ("anthropic/alwaysLoad", Value::Bool(true)),
        // These results may be long and have their own token limit.
        Tool::Get | Tool::Load => ("anthropic/maxResultSizeChars", Value::from(LONG_ANSWER)),
        Tool::Stats | Tool::Reindex => return listed,
    };
    let mut meta = MetaObject::default();
    meta.insert(hint.0.to_owned(), hint.1);
    listed.with_meta(meta)
}

fn parse_schema(text: &str) -> Arc<JsonObject> {
    Arc::new(serde_json::from_str(text).expect("the schema of a struct is an object"))
}

/// Converts an outcome to an MCP result. All errors are tool results, because models do not see protocol errors.
fn tool_result(tool: Tool, outcome: Result<ToolOutput, ToolError>, wants_links: bool) -> CallToolResult {
    match outcome {
        Ok(mut answer) => {
            result_text::clean_output(&mut answer);
            let value = serde_json::to_value(&answer).expect("results are plain structs with string keys");
            let mut result = CallToolResult::structured(value);
            result.content = content_blocks(&answer, wants_links);
            result
        }
        Err(error) => {
            let message = match &error {
                ToolError::Invalid(text) | ToolError::NotFound(text) => format!("{}: {text}", tool.name()),
                ToolError::Unavailable(text) => format!("{} is unavailable: {text}", tool.name()),
                ToolError::Interrupted => format!("{}: {error}", tool.name()),
                ToolError::Damaged(text) | ToolError::Internal(text) => {
                    tracing::error!("{} failed", tool.name());
                    // The text may quote the request.
                    tracing::trace!("{text}");
                    format!("{} failed: {text}", tool.name())
                }
            };
            CallToolResult::error(vec![ContentBlock::text(clean_text(&message))])
        }
    }
}

/// The text of a result. A search also gets links to its hits if the client asks for them.
fn content_blocks(answer: &ToolOutput, wants_links: bool) -> Vec<ContentBlock> {
    let text = result_text::tool_output_text(answer);
    let ToolOutput::Search(output) = answer else { return vec![ContentBlock::text(text)] };
    let linked = output.results.iter().filter(|_| wants_links);
    let links = linked.map(resources::hit_link).map(ContentBlock::resource_link);
    std::iter::once(ContentBlock::text(text)).chain(links).collect()
}

/// Sends progress to the host until the call ends. If progress is faster than the connection, some steps are dropped.
async fn report_progress(
    mut progress: watch::Receiver<Option<IndexProgress>>,
    token: ProgressToken,
    peer: &Peer<RoleServer>,
) {
    let mut reported = 0;
    while progress.changed().await.is_ok() {
        // A repair restarts the work. The host sees progress again when the work passes the last reported step.
        let Some(IndexProgress { done, total, path }) =
            progress.borrow_and_update().clone().filter(|step| step.done > reported)
        else {
            continue;
        };
        reported = done;
        let step = ProgressNotificationParam::new(token.clone(), done as f64)
            .with_total(total as f64)
            .with_message(clean_text(&path));
        if peer.notify_progress(step).await.is_err() {
            return;
        }
    }
}
