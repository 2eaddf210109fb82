//! The MCP side: tools, prompts and resources as hosts see them, and each call handed to the dispatcher. Keeps no state between requests
//! but what a host of an earlier protocol subscribed to.

mod call;
mod notices;
mod prompts;
mod resources;
mod text;

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
use schema::sanitize::sanitize;
use schema::tool::{MEMORY_FIRST, Tool};
use serde_json::Value;
use tokio::sync::watch;
use tools::engine::Progress;
use tools::error::ToolError;

use crate::changes::Changes;
use crate::dispatcher::{Dispatcher, Need};
use crate::message;
use call::{Answer, Call};
use notices::Subscriptions;
use resources::Uri;

/// Characters up to which a host should show a long answer itself, rather than lay it aside in a file.
const LONG_ANSWER: u32 = 200_000;

/// The list of tools. Their schemas are read once, and looked at with every call.
static TOOLS: LazyLock<Vec<McpTool>> = LazyLock::new(|| Tool::ALL.map(listed).to_vec());

/// Makes what the first questions of a host need. Best done beside its greeting, by a thread that has nothing else to do.
pub(crate) fn prepare() {
    LazyLock::force(&TOOLS);
}

/// The server as one host sees it.
#[derive(Debug)]
pub(crate) struct Memory {
    dispatcher: Dispatcher,
    changes: Changes,
    /// Whether the connection or the server ends, so that nobody goes on listening.
    ending: watch::Receiver<bool>,
    subscriptions: Subscriptions,
}

impl Memory {
    pub(crate) fn new(dispatcher: Dispatcher, changes: Changes, ending: watch::Receiver<bool>) -> Self {
        Self { dispatcher, changes, ending, subscriptions: Subscriptions::default() }
    }

    async fn call(
        &self,
        tool: Tool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, ToolError> {
        let call = Call::parse(tool, request.arguments.unwrap_or_default())?;
        let (progress, steps) = watch::channel(None);
        let token = context.meta.get_progress_token();
        let answered = async {
            let called = call.run(&self.dispatcher, progress);
            // What has to wait for its turn tells how far that is.
            let told = async {
                if let Some(token) = token {
                    tokio::select! {
                        () = tell(steps, token, &context.peer) => {}
                        // From then on nobody may be there to take a step.
                        () = self.ended() => {}
                    }
                }
            };
            tokio::join!(called, told).0
        };
        self.unless_cancelled(context, answered).await
    }

    /// Does something until the host takes its request back. What is under way when the server ends is finished.
    async fn unless_cancelled<T>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => done,
            () = context.ct.cancelled() => if *self.ending.borrow() { work.await } else { Err(ToolError::Interrupted) },
        }
    }

    async fn ended(&self) {
        // Whoever would tell is gone: that is the end as well.
        let _ = self.ending.clone().wait_for(|ending| *ending).await.is_err();
    }
}

impl ServerHandler for Memory {
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
        let Some(tool) = Tool::by_name(&request.name) else {
            let known = Tool::ALL.map(Tool::name).join(", ");
            let message = format!("unknown tool {:?}: known tools are {known}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let started = Instant::now();
        let outcome = self.call(tool, request, &context).await;
        tracing::debug!("{} took {} ms: {}", tool.name(), started.elapsed().as_millis(), text::for_log(&outcome));
        Ok(result(tool, outcome).into())
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

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let logs = self.dispatcher.read(Need::Store, None, |engine, _| engine.logs()).await;
        let logs = logs.map_err(|error| unlisted(&error))?;
        Ok(ListResourcesResult::with_all_items(resources::list(&logs)))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let parsed = Uri::parse(&uri).ok_or_else(|| resources::unknown(&uri))?;
        let contents = parsed.contents(&self.dispatcher).await.map_err(|error| resources::fault(&uri, &error))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let found = match &request.r#ref {
            Reference::Resource(resource) if resources::is_known(&resource.uri) => {
                let limit = CompletionInfo::MAX_VALUES + 1;
                resources::complete(&resource.uri, &request.argument, limit, &self.dispatcher).await
            }
            Reference::Prompt(prompt) if prompts::is_known(&prompt.name) => Ok(Vec::new()),
            other => {
                let name = other.as_prompt_name().or(other.as_resource_uri()).unwrap_or_default();
                return Err(ErrorData::invalid_params(format!("nothing to complete of {name:?}"), None));
            }
        };
        let mut values = found.map_err(|error| unlisted(&error))?;
        let has_more = values.len() > CompletionInfo::MAX_VALUES;
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_pagination(values, None, has_more);
        Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    /// What the library could not read as a request that it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(message::unknown(&request, context.protocol_version().as_ref()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(notices::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        notices::listen(context, &self.changes, self.ending.clone()).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.subscriptions.begin(context.peer, &self.changes);
    }

    // Hosts of the protocols before 2026-07-28 subscribe in this way.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if Uri::parse(&request.uri).is_none() {
            return Err(resources::unknown(&request.uri));
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

/// Why there is no list.
fn unlisted(error: &ToolError) -> ErrorData {
    ErrorData::internal_error(format!("cannot look into the store now: {error}"), None)
}

/// A tool as the list shows it.
fn listed(tool: Tool) -> McpTool {
    let (arguments, result) = tool.schemas();
    let annotations =
        ToolAnnotations::new().read_only(tool.is_read_only()).destructive(false).idempotent(true).open_world(false);
    let listed = McpTool::new(tool.name(), tool.description(), schema(arguments))
        .with_title(tool.title())
        .with_raw_output_schema(schema(result))
        .with_annotations(annotations);
    let hint = match tool {
        // These two are needed at any moment; hosts that load tools on demand keep them at hand.
        Tool::Search | Tool::Save => ("anthropic/alwaysLoad", Value::Bool(true)),
        // A long answer is what was asked for here, and has a budget of its own.
        Tool::Get | Tool::Load => ("anthropic/maxResultSizeChars", Value::from(LONG_ANSWER)),
        Tool::Stats | Tool::Reindex => return listed,
    };
    let mut meta = MetaObject::default();
    meta.insert(hint.0.to_owned(), hint.1);
    listed.with_meta(meta)
}

fn schema(text: &str) -> Arc<JsonObject> {
    Arc::new(serde_json::from_str(text).expect("what was made of a type is an object"))
}

/// The one place where an outcome becomes an answer of the protocol. All errors are answers that a model can read: a protocol
/// error would reach only the host.
fn result(tool: Tool, outcome: Result<Answer, ToolError>) -> CallToolResult {
    match outcome {
        Ok(answer) => {
            let answer = text::outgoing(answer);
            let mut result = CallToolResult::structured(structured(&answer));
            result.content = content(&answer);
            result
        }
        Err(error) => {
            let message = match &error {
                ToolError::Invalid(text) | ToolError::NotFound(text) => format!("{}: {text}", tool.name()),
                ToolError::Unavailable(text) => format!("{} cannot be done now: {text}", tool.name()),
                ToolError::Interrupted => format!("{}: {error}", tool.name()),
                ToolError::Damaged(text) | ToolError::Internal(text) => {
                    tracing::error!("{} failed", tool.name());
                    // It may quote what was asked.
                    tracing::trace!("{text}");
                    format!("{} failed: {text}", tool.name())
                }
            };
            CallToolResult::error(vec![ContentBlock::text(sanitize(&message))])
        }
    }
}

/// The text of an answer, and of a search links to its hits, as far as they cost no more than the structure, which some hosts show in
/// their place.
fn content(answer: &Answer) -> Vec<ContentBlock> {
    let text = text::of(answer);
    let Answer::Search(output) = answer else { return vec![ContentBlock::text(text)] };
    let mut left = structured(answer).to_string().len().saturating_sub(text.len());
    let links = output.results.iter().map(resources::link).map(ContentBlock::resource_link).take_while(|link| {
        let cost = serde_json::to_string(link).map_or(usize::MAX, |link| link.len());
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    });
    let links: Vec<ContentBlock> = links.collect();
    std::iter::once(ContentBlock::text(text)).chain(links).collect()
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

/// Passes on how far a call has come, until it is done. Steps that come faster than they are taken are left out.
async fn tell(mut steps: watch::Receiver<Option<Progress>>, token: ProgressToken, peer: &Peer<RoleServer>) {
    let mut told = 0;
    while steps.changed().await.is_ok() {
        // What was damaged and has been mended is done once more, which is no progress.
        let Some(Progress { done, total, path }) = steps.borrow_and_update().clone().filter(|step| step.done > told)
        else {
            continue;
        };
        told = done;
        let step = ProgressNotificationParam::new(token.clone(), done as f64)
            .with_total(total as f64)
            .with_message(sanitize(&path));
        if peer.notify_progress(step).await.is_err() {
            return;
        }
    }
}
