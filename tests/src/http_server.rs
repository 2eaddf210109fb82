//! An HTTP server under test, and raw requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::program_output::end;
use crate::sandbox::Sandbox;

const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// A server on a free port, ended on drop.
#[derive(Debug)]
pub struct HttpServer {
    child: Child,
    authority: String,
}

#[derive(Debug, Clone)]
pub struct HttpAnswer {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: String,
}

impl HttpServer {
    /// Starts `jikime-memory serve --http` with these arguments and waits until it listens.
    #[track_caller]
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.memory_command();
        command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let url = lines.find_map(|line| line.strip_prefix("serving http://").map(str::to_owned));
        let authority = url.as_deref().and_then(|url| url.strip_suffix("/mcp")).expect("the server tells its URL");
        Self { child, authority: authority.to_owned() }
    }

    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the exit status, if the server has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of this process can be waited for")
    }

    /// Sends a request with these additional headers.
    #[track_caller]
    pub fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> HttpAnswer {
        HttpAnswer::read_from(self.send(headers, body))
    }

    /// Sends a request and returns its connection.
    #[track_caller]
    pub fn send(&self, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let common = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        let is_given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        let all: Vec<(&str, &str)> =
            headers.iter().copied().chain(common.into_iter().filter(|(name, _)| !is_given(name))).collect();
        send_request(&self.authority, "POST", "/mcp", &all, body)
    }

    /// Sends a request of the 2026-07-28 protocol.
    #[track_caller]
    pub fn ask(&self, token: &str, method: &str, params: Value) -> HttpAnswer {
        let (headers, body) = modern_request(token, method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.post(&headers, body.as_bytes())
    }

    /// Sends such a request without waiting for the response.
    #[track_caller]
    pub fn begin(&self, token: &str, method: &str, params: Value) -> TcpStream {
        let (headers, body) = modern_request(token, method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send(&headers, body.as_bytes())
    }
}

/// Returns the headers and the body of a 2026-07-28 request.
fn modern_request(token: &str, method: &str, mut params: Value) -> (Vec<(&'static str, String)>, String) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut headers = vec![
        ("Authorization", format!("Bearer {token}")),
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", method.to_owned()),
    ];
    headers.extend(params["name"].as_str().or(params["uri"].as_str()).map(|name| ("Mcp-Name", name.to_owned())));
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (headers, request.to_string())
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Sends a request to a server and returns the connection.
#[track_caller]
pub(crate) fn send_request(
    authority: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(authority).expect("the server listens");
    stream.set_read_timeout(Some(ANSWER_DEADLINE)).expect("a socket takes a deadline");
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request.push_str(&format!("Host: {authority}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    // A server that rejects a request early may close the connection before the end of a long body.
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(body));
    stream
}

impl HttpAnswer {
    /// Reads the whole response.
    #[track_caller]
    pub fn read_from(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Returns the message in a plain response or in an event stream.
    #[track_caller]
    pub fn message(&self) -> Value {
        let from = self.body.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("no message: {}", self.body));
        let mut messages = serde_json::Deserializer::from_str(&self.body[from..]).into_iter();
        messages.next().and_then(Result::ok).unwrap_or_else(|| panic!("half a message: {}", self.body))
    }
}
