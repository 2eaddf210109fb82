//! The server with the official Rust client: both protocol eras, over stdio and HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness::{Era, HttpServer, Sandbox, sandbox};
use rmcp::model::{
    ArgumentInfo, CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, CompleteRequestParams,
    GetPromptRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, Reference,
    ResourceUpdatedNotificationParam, SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::timeout;

const TOKEN: &str = "a-token-of-the-tests-only";
const KEPT: &str = "Webhooks are acknowledged after the commit.";
/// Enough for a slow rebuild.
const NOTES: usize = 2000;

const PATIENCE: Duration = Duration::from_mins(1);

/// A host that records notifications.
#[derive(Debug, Clone, Default)]
struct RecordingClient {
    steps: Arc<Mutex<Vec<f64>>>,
    updated: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for RecordingClient {
    async fn on_progress(&self, step: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.steps.lock().unwrap().push(step.progress);
    }

    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.updated.lock().unwrap().push(update.uri);
    }
}

type OfficialClient = RunningService<RoleClient, RecordingClient>;

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    }
}

fn sandbox_with_notes() -> Sandbox {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_HTTP_TOKEN", TOKEN);
    for n in 0..NOTES {
        let text = format!("The note {n} says this and that of its subject. ").repeat(40);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("# Note {n}\n\n{text}\n"));
    }
    sandbox
}

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
#[tokio::test]
async fn over_standard_input_and_output(#[case] era: Era) {
    let sandbox = sandbox_with_notes();
    let mut command = sandbox.memory_command();
    command.arg("serve");
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    let client = RecordingClient::default().serve_with_lifecycle(transport, lifecycle(era)).await.unwrap();
    timeout(PATIENCE, exercise(client, era, &sandbox)).await.unwrap();
}

#[rstest]
#[case::legacy(Era::Legacy)]
#[case::modern(Era::Modern)]
#[tokio::test]
async fn over_http(#[case] era: Era) {
    // The client needs a crypto provider even for unencrypted connections.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sandbox = sandbox_with_notes();
    let server = HttpServer::start(&sandbox, &[]);
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.authority()));
    let transport = StreamableHttpClientTransport::from_config(config.auth_header(TOKEN));
    let client = RecordingClient::default().serve_with_lifecycle(transport, lifecycle(era)).await.unwrap();
    timeout(PATIENCE, exercise(client, era, &sandbox)).await.unwrap();
}

/// Uses all features of a server.
async fn exercise(client: OfficialClient, era: Era, sandbox: &Sandbox) {
    let names: Vec<String> = client.list_all_tools().await.unwrap().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    call(&client, "memory_save", json!({ "type": "decision", "content": KEPT })).await;
    let found = call(&client, "memory_search", json!({ "query": "webhooks commit" })).await;
    assert_eq!(found["results"][0]["snippet"], KEPT);
    let id = found["results"][0]["id"].as_str().unwrap().to_owned();
    let refused = client.call_tool(parameters("memory_dance", json!({}))).await;
    assert!(matches!(refused, Err(ServiceError::McpError(error)) if error.code.0 == -32602));

    assert_eq!(client.list_all_prompts().await.unwrap().len(), 4);
    let arguments = json!({ "topic": "webhooks" }).as_object().unwrap().clone();
    let prompt = client.get_prompt(GetPromptRequestParams::new("recall").with_arguments(arguments)).await.unwrap();
    assert!(serde_json::to_string(&prompt.messages).unwrap().contains("webhooks"));

    for resource in client.list_all_resources().await.unwrap() {
        let read = client.read_resource(ReadResourceRequestParams::new(resource.uri.clone())).await.unwrap();
        assert_eq!(serde_json::to_value(&read.contents[0]).unwrap()["uri"], resource.uri.as_str());
    }
    let argument = ArgumentInfo::new("id", &id[..4]);
    let completion = CompleteRequestParams::new(Reference::for_resource("memory://memory/{id}"), argument);
    assert!(client.complete(completion).await.unwrap().completion.values.iter().any(|found| found.starts_with(&id)));

    progress_is_told_and_a_call_can_be_taken_back(&client).await;
    changes_are_told(&client, era, sandbox).await;
    client.cancel().await.unwrap();
}

async fn progress_is_told_and_a_call_can_be_taken_back(client: &OfficialClient) {
    let steps = Arc::clone(&client.service().steps);
    let rebuild = || {
        let request = CallToolRequest::new(parameters("memory_reindex", json!({ "full": true })));
        client.send_cancellable_request(ClientRequest::CallToolRequest(request), PeerRequestOptions::no_options())
    };
    let taken_back = rebuild().await.unwrap();
    wait_until(|| !steps.lock().unwrap().is_empty()).await;
    taken_back.cancel(Some("the test cancels it".to_owned())).await.unwrap();
    let stats = call(client, "memory_stats", json!({})).await;
    assert_eq!(stats["memories"], 1);
    let told = steps.lock().unwrap().len();
    assert!(told < NOTES, "{told} of {NOTES} notes were done although it was taken back");

    steps.lock().unwrap().clear();
    rebuild().await.unwrap().await_response().await.unwrap();
    let told = steps.lock().unwrap().clone();
    assert!(told.len() > 1 && told.is_sorted_by(|one, next| one < next), "{told:?}");
}

#[expect(deprecated, reason = "hosts of the time before 2026-07-28 subscribe to each resource")]
async fn changes_are_told(client: &OfficialClient, era: Era, sandbox: &Sandbox) {
    const URI: &str = "memory://long-term";
    let write = || sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nForty requests a second are allowed.\n");
    match era {
        Era::Legacy => {
            client.subscribe(SubscribeRequestParams::new(URI)).await.unwrap();
            write();
            let updated = Arc::clone(&client.service().updated);
            wait_until(|| updated.lock().unwrap().iter().any(|uri| uri == URI)).await;
        }
        Era::Modern => {
            let filter = SubscriptionFilter::builder().resource_subscription(URI).build();
            let mut subscription = client.listen(filter).await.unwrap();
            write();
            let notice = subscription.next().await.unwrap().unwrap();
            assert!(format!("{notice:?}").contains(URI), "{notice:?}");
        }
    }
}

/// Polls; the caller sets the deadline.
async fn wait_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn parameters(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

async fn call(client: &OfficialClient, tool: &'static str, arguments: Value) -> Value {
    let result: CallToolResult = client.call_tool(parameters(tool, arguments)).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.structured_content.unwrap()
}
