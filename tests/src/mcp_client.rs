//! An MCP client of `jikime-memory serve` over standard input and output.
//!
//! It is stricter than a host: it panics if standard output contains anything but messages, and if a response is missing.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_wire::{RpcError, ServerMessage, ToolResult};
use crate::polling::{eventually, poll};
use crate::program_output::end;

/// Time limit of a response; a test may change it.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// Time limit of a server's exit after the end of its input.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// The time within which one of several servers must own the queue.
const OWNER_DEADLINE: Duration = Duration::from_secs(30);

/// The time limit of indexing.
const INDEXING_DEADLINE: Duration = Duration::from_secs(30);

const LEGACY_VERSION: &str = "2025-11-25";
const MODERN_VERSION: &str = "2026-07-28";

/// Protocol eras of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `initialize` with 2025-11-25, followed by a session.
    Legacy,
    /// `server/discover` with 2026-07-28. Each request contains version, client and capabilities.
    Modern,
}

/// A sent request; see [`McpClient::answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

#[derive(Debug, Clone)]
pub struct ServerExit {
    pub status: ExitStatus,
    pub stderr: String,
}

/// A running server and its connection. Drop closes the connection and waits for the server's exit.
#[derive(Debug)]
pub struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    era: Era,
    greeting: Value,
    next_id: u64,
    answers: HashMap<u64, Result<Value, RpcError>>,
    notifications: Vec<(String, Value)>,
    timeout: Duration,
}

impl McpClient {
    /// Starts a server and initialises it.
    #[track_caller]
    pub fn start(command: Command, era: Era) -> Self {
        let mut client = Self::start_silently(command, era);
        client.greet();
        client
    }

    /// Starts a server without initialising it.
    #[track_caller]
    pub fn start_silently(mut command: Command, era: Era) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdin = child.stdin.take();
        let lines = read_lines(child.stdout.take().expect("standard output is piped"));
        let stderr = collect_text(child.stderr.take().expect("standard error is piped"));
        Self {
            child,
            stdin,
            lines,
            stderr,
            era,
            greeting: Value::Null,
            next_id: 0,
            answers: HashMap::new(),
            notifications: Vec::new(),
            timeout: ANSWER_DEADLINE,
        }
    }

    /// Initialises the server.
    #[track_caller]
    pub fn greet(&mut self) {
        self.greeting = match self.era {
            Era::Legacy => {
                let hello = json!({
                    "protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": client_info(),
                });
                let greeting = self.expect_answer("initialize", hello);
                assert_eq!(greeting["protocolVersion"], LEGACY_VERSION, "{greeting}");
                self.notify("notifications/initialized", Value::Null);
                greeting
            }
            Era::Modern => {
                let greeting = self.expect_answer("server/discover", json!({}));
                let versions = greeting["supportedVersions"].as_array();
                let speaks_ours = versions.is_some_and(|versions| versions.iter().any(|found| found == MODERN_VERSION));
                assert!(speaks_ours, "{MODERN_VERSION} is not among supportedVersions: {greeting}");
                greeting
            }
        };
    }

    #[track_caller]
    fn expect_answer(&mut self, method: &str, params: Value) -> Value {
        self.request(method, params).unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Returns the server's initial response: name, version, capabilities, instructions.
    pub fn greeting(&self) -> &Value {
        &self.greeting
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Sets the time limit of each response.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Calls a tool with a progress token, as Claude Code does, and waits for the result.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<ToolResult, RpcError> {
        let id = self.send_call(tool, arguments);
        self.answer(id).map(ToolResult::read)
    }

    /// Waits until the server has indexed everything.
    #[track_caller]
    pub fn wait_until_indexed(&mut self) {
        eventually(INDEXING_DEADLINE, || {
            let stats = self.call("memory_stats", json!({})).expect("a tool that answers");
            is_indexed(stats.expect_success())
        });
    }

    /// Returns the owner of the queue from this server's view: `this_server`, `another_server` or `nobody`.
    #[track_caller]
    pub fn queue_answered_by(&mut self) -> String {
        let stats = self.call("memory_stats", json!({})).expect("an answer");
        stats.expect_success()["queue_answered_by"].as_str().expect("a word").to_owned()
    }

    /// Waits until a server owns the queue, and returns its index.
    #[track_caller]
    pub fn owner_of(servers: &mut [Self]) -> usize {
        let mut asked = || servers.iter_mut().position(|server| server.queue_answered_by() == "this_server");
        poll(OWNER_DEADLINE, &mut asked).unwrap_or_else(|| panic!("no server has the queue after {OWNER_DEADLINE:?}"))
    }

    /// Calls a tool without waiting; [`Self::answer`] returns the raw result.
    #[track_caller]
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> RequestId {
        let token = self.next_id;
        let mut params = json!({ "name": tool, "_meta": { "progressToken": token } });
        params["arguments"] = arguments;
        self.send_request("tools/call", params)
    }

    #[track_caller]
    pub fn tools(&mut self) -> Vec<Value> {
        let list = self.expect_answer("tools/list", json!({}));
        list["tools"].as_array().unwrap_or_else(|| panic!("no list of tools: {list}")).clone()
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send_request(method, params);
        self.answer(id)
    }

    /// Sends a request without waiting, so that several can run at once.
    #[track_caller]
    pub fn send_request(&mut self, method: &str, params: Value) -> RequestId {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let params = self.add_metadata(params);
        if !params.is_null() {
            message["params"] = params;
        }
        self.send_line(&message.to_string());
        RequestId(id)
    }

    #[track_caller]
    pub fn notify(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send_line(&message.to_string());
    }

    /// Cancels a request, as a host does when its user interrupts.
    #[track_caller]
    pub fn cancel(&mut self, id: RequestId) {
        self.notify("notifications/cancelled", json!({ "requestId": id.0, "reason": "the test cancels it" }));
    }

    /// Adds the client, version and capabilities that the modern era requires.
    fn add_metadata(&self, mut params: Value) -> Value {
        if self.era == Era::Modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN_VERSION.into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client_info();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        params
    }

    /// Sends a raw line.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("the connection is open until it is closed or dropped");
        if let Err(error) = writeln!(stdin, "{line}").and_then(|()| stdin.flush()) {
            panic!("the server does not read {line}: {error}; standard error: {}", self.stderr());
        }
    }

    /// Sends raw bytes without a line end.
    #[track_caller]
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the connection is open until it is closed or dropped");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).unwrap_or_else(|error| {
            panic!("the server does not read {} bytes: {error}", bytes.len());
        });
    }

    /// Waits for the next message and returns it unparsed.
    #[track_caller]
    pub fn next_answer(&mut self) -> Value {
        let deadline = Instant::now() + self.timeout;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|why| panic!("no answer: {why}; standard error: {}", self.stderr()));
            match ServerMessage::parse(&line) {
                Ok(ServerMessage::Answer { .. }) => {
                    return serde_json::from_str(&line).expect("it was parsed just now");
                }
                _ => self.handle_line(&line),
            }
        }
    }

    #[track_caller]
    pub fn answer(&mut self, id: RequestId) -> Result<Value, RpcError> {
        match self.answer_or_end(id) {
            Some(answer) => answer,
            None => panic!("the server closed its output at request {}; standard error: {}", id.0, self.stderr()),
        }
    }

    /// Waits for a response, or returns `None` if the server ends before it responds.
    #[track_caller]
    pub fn answer_or_end(&mut self, id: RequestId) -> Option<Result<Value, RpcError>> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(answer) = self.answers.remove(&id.0) {
                return Some(answer);
            }
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.handle_line(&line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    let timeout = self.timeout;
                    panic!("no answer within {timeout:?} to request {}; standard error: {}", id.0, self.stderr());
                }
            }
        }
    }

    /// Returns the parameters of a method's notifications so far.
    #[track_caller]
    pub fn notifications(&mut self, method: &str) -> Vec<Value> {
        while let Ok(line) = self.lines.try_recv() {
            self.handle_line(&line);
        }
        self.notifications.iter().filter(|(name, _)| name == method).map(|(_, params)| params.clone()).collect()
    }

    #[track_caller]
    fn handle_line(&mut self, line: &str) {
        match ServerMessage::parse(line) {
            Ok(ServerMessage::Answer { id, answer }) => match id.as_u64().filter(|id| *id < self.next_id) {
                Some(id) => drop(self.answers.insert(id, answer)),
                // Only valid for a line whose id was unreadable.
                None => assert!(id.is_null() && answer.is_err(), "a response without a request: {line}"),
            },
            Ok(ServerMessage::Request { id, method }) => self.refuse(&id, &method),
            Ok(ServerMessage::Notification { method, params }) => self.notifications.push((method, params)),
            Err(why) => panic!(
                "standard output has a line that is not a message ({why}): {line:?}; standard error: {}",
                self.stderr()
            ),
        }
    }

    /// Answers a request of the server. This client has no capabilities, so only `ping` succeeds.
    #[track_caller]
    fn refuse(&mut self, id: &Value, method: &str) {
        let answer = match method {
            "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
            _ => json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": format!("no method {method}") },
            }),
        };
        self.send_line(&answer.to_string());
    }

    /// Returns the standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child of this process can be waited for").is_none()
    }

    /// Closes the server's input; it may still respond.
    pub fn end_input(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes the connection and waits for the server's exit.
    #[track_caller]
    pub fn close(mut self) -> ServerExit {
        self.end_input();
        let ended = self.wait(END_DEADLINE);
        let status = ended.unwrap_or_else(|| panic!("still running {END_DEADLINE:?} after its input was closed"));
        ServerExit { status, stderr: self.stderr() }
    }

    /// Kills the server; earlier responses can still be read.
    pub fn kill_now(&mut self) {
        end(&mut self.child);
    }

    /// Kills the server without a chance to clean up, as in a power cut.
    pub fn kill(mut self) {
        end(&mut self.child);
        // A killed server may leave half a line, which must not be checked on drop.
        self.stdin = None;
    }

    /// Waits for the server's exit, and checks the rest of its output.
    #[track_caller]
    fn wait(&mut self, deadline: Duration) -> Option<ExitStatus> {
        let status = poll(deadline, || self.child.try_wait().expect("a child of this process can be waited for"))?;
        // The rest of its output is in the pipe, which a child process may keep open.
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(200)) {
            if let Err(why) = ServerMessage::parse(&line) {
                panic!("standard output has a line that is not a message ({why}): {line:?}");
            }
        }
        Some(status)
    }
}

/// Whether the answer of `memory_stats` says that everything is indexed.
pub(crate) fn is_indexed(stats: &Value) -> bool {
    let is_done = |pending: &Value| pending.as_u64().unwrap_or(0) == 0;
    is_done(&stats["pending"]) && is_done(&stats["queue"]) && is_done(&stats["embedding"]["pending"])
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let was_open = self.stdin.take().is_some();
        if thread::panicking() || !was_open {
            return end(&mut self.child);
        }
        let ended = self.wait(END_DEADLINE);
        if ended.is_none() {
            end(&mut self.child);
            panic!("still running {END_DEADLINE:?} after its input was closed; {}", self.stderr());
        }
    }
}

fn client_info() -> Value {
    json!({ "name": "jikime-memory-tests", "version": env!("CARGO_PKG_VERSION") })
}

/// Forwards lines. Text after the last line end counts as an invalid line.
fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            let text = String::from_utf8_lossy(&line);
            // Removes only the line end, so that empty lines are visible.
            let text = text.strip_suffix('\n').map_or_else(|| format!("{text} (cut off)"), str::to_owned);
            if sender.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}

fn collect_text(mut stderr: ChildStderr) -> Arc<Mutex<String>> {
    let collected = Arc::new(Mutex::new(String::new()));
    let text = Arc::clone(&collected);
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut bytes) {
            let piece = String::from_utf8_lossy(&bytes[..length]);
            text.lock().unwrap_or_else(PoisonError::into_inner).push_str(&piece);
        }
    });
    collected
}
