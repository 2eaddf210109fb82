//! The server over HTTP: who is let in, and that it is the same server.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use harness::{Sandbox, eventually_some, run_to_end, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const TOKEN: &str = "a token of the tests only";

/// A server that listens on a free port, ended when it is dropped.
struct Server {
    child: Child,
    authority: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.memory_command();
        command.args(["serve", "--http", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.filter_map(|line| line.strip_prefix("serving http://").map(str::to_owned)).next();
        let authority = url.unwrap().strip_suffix("/mcp").unwrap().to_owned();
        Self { child, authority }
    }

    /// Sends a request with these headers beside those that every client sends.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut request = String::from("POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n");
        request.push_str("Accept: application/json, text/event-stream\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.authority));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        // Who is refused before the end of a long body may find the connection closed.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Asks in the manner of 2026-07-28.
    fn ask(&self, token: &str, method: &str, mut params: Value) -> Answer {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let authorization = format!("Bearer {token}");
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post(&headers, &request.to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    /// The message in it, whether it came alone or in a stream of events.
    fn message(&self) -> Value {
        let from = self.body.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("no message: {}", self.body));
        let mut messages = serde_json::Deserializer::from_str(&self.body[from..]).into_iter();
        messages.next().unwrap().unwrap()
    }
}

fn with_token() -> Sandbox {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_HTTP_TOKEN", TOKEN.replace(' ', "-"));
    sandbox
}

fn token() -> String {
    TOKEN.replace(' ', "-")
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;

#[test]
fn the_same_tools_are_served_to_who_has_the_token() {
    let sandbox = with_token();
    let server = Server::start(&sandbox, &[]);
    let tools = server.ask(&token(), "tools/list", json!({})).message();
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 6, "{tools:#}");
    let arguments = json!({ "type": "decision", "content": "Served over HTTP." });
    let saved = server.ask(&token(), "tools/call", json!({ "name": "memory_save", "arguments": arguments })).message();
    assert_eq!(saved["result"]["structuredContent"]["saved"], true, "{saved:#}");
    assert!(sandbox.logs().contains("Served over HTTP."));
    let greeting = server.post(&[("Authorization", &format!("Bearer {}", token()))], INITIALIZE);
    assert_eq!(greeting.status, 200, "{}", greeting.body);
    assert!(greeting.head.contains("mcp-session-id:"), "{}", greeting.head);
    assert_eq!(greeting.message()["result"]["protocolVersion"], "2025-11-25");
}

#[rstest]
#[case::no_token(&[], 401)]
#[case::wrong_token(&[("Authorization", "Bearer another-token-of-some-length")], 401)]
#[case::another_scheme(&[("Authorization", "Basic a-token-of-the-tests-only")], 401)]
#[case::foreign_host(&[("Authorization", "Bearer a-token-of-the-tests-only"), ("Host", "evil.example")], 403)]
#[case::foreign_page(&[("Authorization", "Bearer a-token-of-the-tests-only"), ("Origin", "https://evil.example")], 403)]
#[case::page_of_no_origin(&[("Authorization", "Bearer a-token-of-the-tests-only"), ("Origin", "null")], 403)]
#[case::page_of_this_machine(&[("Authorization", "Bearer a-token-of-the-tests-only"), ("Origin", "http://localhost:3000")], 200)]
fn strangers_are_refused(#[case] headers: &[(&str, &str)], #[case] status: u16) {
    let sandbox = with_token();
    let server = Server::start(&sandbox, &[]);
    let answer = server.post(headers, INITIALIZE);
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.head.contains("www-authenticate: bearer"), status == 401, "{}", answer.head);
}

#[test]
fn a_body_beyond_the_limit_is_refused_and_the_next_request_is_answered() {
    let sandbox = with_token();
    let server = Server::start(&sandbox, &[]);
    let arguments = json!({ "type": "decision", "content": "x".repeat(5_000_000) });
    let refused = server.ask(&token(), "tools/call", json!({ "name": "memory_save", "arguments": arguments }));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert_eq!(server.ask(&token(), "tools/list", json!({})).status, 200);
}

#[test]
fn a_token_is_made_on_first_use_and_stays() {
    let sandbox = sandbox!();
    drop(Server::start(&sandbox, &[]));
    let name =
        if cfg!(windows) { "AppData/Roaming/jikime-memory/http.token" } else { ".config/jikime-memory/http.token" };
    let path = sandbox.home().join(name);
    let token = fs::read_to_string(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let server = Server::start(&sandbox, &[]);
    assert_eq!(fs::read_to_string(&path).unwrap(), token);
    assert_eq!(server.ask(token.trim(), "tools/list", json!({})).status, 200);
    assert_eq!(server.ask("x", "tools/list", json!({})).status, 401);
    let open = Server::start(&sandbox, &["--no-token"]);
    assert_eq!(open.post(&[], INITIALIZE).status, 200, "on this machine it may be left out");
}

#[rstest]
#[case::no_token(&["--http", "192.0.2.1:0", "--no-token"], 1, "a token is needed")]
#[case::no_names(&["--http", "0.0.0.0:0"], 1, "--allow-host")]
#[case::no_address(&["--no-token"], 2, "--http")]
fn what_would_let_strangers_in_is_refused(#[case] arguments: &[&str], #[case] code: i32, #[case] says: &str) {
    let sandbox = with_token();
    let mut command = sandbox.memory_command();
    command.arg("serve").args(arguments);
    let outcome = run_to_end(command, "", Duration::from_secs(60));
    assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    outcome.code(code);
}

#[test]
fn an_address_that_is_taken_is_said_to_be() {
    let sandbox = with_token();
    let server = Server::start(&sandbox, &[]);
    let mut command = sandbox.memory_command();
    command.args(["serve", "--http", &server.authority]);
    let outcome = run_to_end(command, "", Duration::from_secs(60));
    assert!(outcome.stderr.contains(&format!("cannot listen on {}", server.authority)), "{}", outcome.stderr);
    outcome.code(1);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_although_a_client_listens() {
    let sandbox = with_token();
    let mut server = Server::start(&sandbox, &[]);
    let mut stream = TcpStream::connect(&server.authority).unwrap();
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {
            "notifications": { "resourcesListChanged": true },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        server.authority,
        token(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("subscriptions/acknowledged")));
    std::process::Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    let status = eventually_some(Duration::from_secs(10), || server.child.try_wait().unwrap());
    assert!(status.success(), "{status:?}");
}
