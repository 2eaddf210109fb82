//! The server over HTTP: access control, and the same behaviour as over stdio.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use harness::proof::flood;
use harness::{HttpAnswer, HttpServer, Sandbox, binaries, eventually_some, run_to_end, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const TOKEN: &str = "a token of the tests only";

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
fn token_gives_access_to_the_same_tools() {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let tools = server.ask(&token(), "tools/list", json!({})).message();
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 6, "{tools:#}");
    let arguments = json!({ "type": "decision", "content": "Served over HTTP." });
    let saved = server.ask(&token(), "tools/call", json!({ "name": "memory_save", "arguments": arguments })).message();
    assert_eq!(saved["result"]["structuredContent"]["saved"], true, "{saved:#}");
    assert!(sandbox.logs().contains("Served over HTTP."));
    let greeting = server.post(&[("Authorization", &format!("Bearer {}", token()))], INITIALIZE.as_bytes());
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
    let server = HttpServer::start(&sandbox, &[]);
    let answer = server.post(headers, INITIALIZE.as_bytes());
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.head.contains("www-authenticate: bearer"), status == 401, "{}", answer.head);
}

/// Protects against DNS rebinding by a web page.
#[rstest]
#[case::another_name(&[("Host", "evil.example")], 403)]
#[case::another_name_with_a_port(&[("Host", "evil.example:8080")], 403)]
#[case::a_name_that_begins_like_ours(&[("Host", "localhost.evil.example")], 403)]
#[case::page_of_another_name(&[("Host", "evil.example"), ("Origin", "http://evil.example")], 403)]
#[case::foreign_page(&[("Origin", "https://evil.example")], 403)]
#[case::page_of_no_origin(&[("Origin", "null")], 403)]
#[case::page_of_this_machine(&[("Origin", "http://localhost:3000")], 200)]
fn host_and_origin_are_checked_without_a_token(#[case] headers: &[(&str, &str)], #[case] status: u16) {
    let sandbox = sandbox!();
    let server = HttpServer::start(&sandbox, &["--no-token"]);
    let answer = server.post(headers, INITIALIZE.as_bytes());
    assert_eq!(answer.status, status, "{}", answer.body);
}

#[test]
fn oversized_body_does_not_block_the_next_request() {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let arguments = json!({ "type": "decision", "content": "x".repeat(5_000_000) });
    let refused = server.ask(&token(), "tools/call", json!({ "name": "memory_save", "arguments": arguments }));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert_eq!(server.ask(&token(), "tools/list", json!({})).status, 200);
}

#[test]
fn a_token_is_made_on_first_use_and_stays() {
    let sandbox = sandbox!();
    drop(HttpServer::start(&sandbox, &[]));
    let name =
        if cfg!(windows) { "AppData/Roaming/jikime-memory/http.token" } else { ".config/jikime-memory/http.token" };
    let path = sandbox.home().join(name);
    let token = fs::read_to_string(&path).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let server = HttpServer::start(&sandbox, &[]);
    assert_eq!(fs::read_to_string(&path).unwrap(), token);
    assert_eq!(server.ask(token.trim(), "tools/list", json!({})).status, 200);
    assert_eq!(server.ask("x", "tools/list", json!({})).status, 401);
    let open = HttpServer::start(&sandbox, &["--no-token"]);
    assert_eq!(open.post(&[], INITIALIZE.as_bytes()).status, 200, "on this machine it may be left out");
}

#[rstest]
#[case::no_token(&["--http", "192.0.2.1:0", "--no-token"], 1, "a token is required")]
#[case::no_names(&["--http", "0.0.0.0:0"], 1, "--allow-host")]
#[case::no_address(&["--no-token"], 2, "--http")]
fn insecure_http_settings_are_refused(#[case] arguments: &[&str], #[case] code: i32, #[case] says: &str) {
    let sandbox = with_token();
    let mut command = sandbox.memory_command();
    command.arg("serve").args(arguments);
    let outcome = run_to_end(command, "", Duration::from_mins(1));
    assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    outcome.assert_code(code);
}

#[test]
fn used_address_is_reported() {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let mut command = sandbox.memory_command();
    command.args(["serve", "--http", server.authority()]);
    let outcome = run_to_end(command, "", Duration::from_mins(1));
    assert!(outcome.stderr.contains(&format!("cannot listen on {}", server.authority())), "{}", outcome.stderr);
    outcome.assert_code(1);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_although_a_client_listens() {
    let sandbox = with_token();
    let mut server = HttpServer::start(&sandbox, &[]);
    let params = json!({ "notifications": { "resourcesListChanged": true } });
    let stream = server.begin(&token(), "subscriptions/listen", params);
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("subscriptions/acknowledged")));
    std::process::Command::new("kill").args(["-TERM", &server.process_id().to_string()]).status().unwrap();
    let status = eventually_some(Duration::from_secs(10), || server.try_wait());
    assert!(status.success(), "{status:?}");
}

/// Sends a request of protocols before 2026-07-28.
fn post(server: &HttpServer, body: &[u8]) -> HttpAnswer {
    server.post(&[("Authorization", &format!("Bearer {}", token()))], body)
}

#[rstest]
#[case::garbage(b"this is not a message", -32700, Value::Null)]
#[case::nothing(b" ", 0, Value::Null)]
#[case::half(br#"{"jsonrpc":"2.0","id":9,"method":"pi"#, -32700, Value::Null)]
#[case::invalid_utf8(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"\xff\"}", -32700, json!(9))]
#[case::batch(br#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#, -32600, Value::Null)]
#[case::no_version(br#"{"id":9,"method":"ping"}"#, -32600, json!(9))]
#[case::no_method(br#"{"jsonrpc":"2.0","id":9}"#, -32600, json!(9))]
#[case::params_are_a_list(br#"{"jsonrpc":"2.0","id":9,"method":"tools/list","params":[]}"#, -32602, json!(9))]
fn invalid_body_has_the_specified_error_code(#[case] body: &[u8], #[case] code: i64, #[case] id: Value) {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let refused = post(&server, body);
    assert_eq!(refused.status, 400, "{}", refused.body);
    if code != 0 {
        let error = refused.message();
        assert_eq!((&error["error"]["code"], &error["id"]), (&json!(code), &id), "{error}");
        assert!(refused.head.contains("content-type: application/json"), "{}", refused.head);
    }
    assert_eq!(server.ask(&token(), "tools/list", json!({})).status, 200);
}

#[test]
fn invalid_media_type_is_reported() {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let authorization = format!("Bearer {}", token());
    let refused = server.post(&[("Authorization", &authorization), ("Content-Type", "text/plain")], b"x");
    assert_eq!(refused.status, 415, "{}", refused.body);
    let refused = server.post(&[("Authorization", &authorization), ("Host", "evil.example")], b"x");
    assert_eq!(refused.status, 403, "strangers get no details of the error: {}", refused.body);
}

#[rstest]
#[case::unknown_method("no/such/method", json!({}), -32601)]
#[case::unknown_tool("tools/call", json!({ "name": "memory_dance" }), -32602)]
#[case::arguments_are_a_text("tools/call", json!({ "name": "memory_stats", "arguments": "x" }), -32602)]
#[case::unknown_prompt("prompts/get", json!({ "name": "dance" }), -32602)]
#[case::unknown_resource("resources/read", json!({ "uri": "memory://dance" }), -32602)]
#[case::nothing_to_complete("completion/complete", json!({}), -32602)]
fn invalid_request_has_the_specified_error_code(#[case] method: &str, #[case] params: Value, #[case] code: i64) {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let answer = server.ask(&token(), method, params).message();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &json!(1)), "{answer}");
}

#[test]
fn http_disconnect_does_not_block_others() {
    let sandbox = with_token();
    for n in 0..300 {
        let text = format!("The note {n} says this and that of its subject. ").repeat(60);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("# Note {n}\n\n{text}\n"));
    }
    let server = HttpServer::start(&sandbox, &[]);
    let rebuild = json!({ "name": "memory_reindex", "arguments": { "full": true } });
    let mut halves = server.begin(&token(), "tools/call", rebuild.clone());
    // The first byte shows that the call has started.
    halves.read_exact(&mut [0]).unwrap();
    drop(halves);
    // A request that announces more bytes than it sends.
    let mut half = TcpStream::connect(server.authority()).unwrap();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n", server.authority(), token());
    half.write_all(format!("{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{").as_bytes())
        .unwrap();
    drop(half);
    let stats = server.ask(&token(), "tools/call", json!({ "name": "memory_stats" })).message();
    assert!(!stats["result"]["isError"].as_bool().unwrap_or_default(), "{stats}");
    let whole = server.ask(&token(), "tools/call", rebuild).message();
    assert_eq!(whole["result"]["structuredContent"]["files"], 300, "{whole}");
}

#[test]
fn more_clients_than_workers_are_all_answered() {
    const CLIENTS: usize = 150;
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let together = Barrier::new(CLIENTS);
    let (server, together) = (&server, &together);
    thread::scope(|scope| {
        for n in 0..CLIENTS {
            scope.spawn(move || {
                together.wait();
                let arguments = json!({ "type": "learning", "content": format!("Learnt {n}.") });
                let params = json!({ "name": "memory_save", "arguments": arguments });
                let saved = server.ask(&token(), "tools/call", params).message();
                assert_eq!(saved["result"]["structuredContent"]["saved"], true, "{saved}");
            });
        }
    });
    assert_eq!(sandbox.logs().matches("Learnt ").count(), CLIENTS);
}

#[test]
fn idle_or_unauthorised_crowds_do_not_block_clients() {
    let tally = flood::run(&binaries!(), 200);
    tally.assert_clean();
    assert!(tally.rounds >= 4, "{tally:?}");
}

#[test]
fn incomplete_bodies_do_not_block_other_clients() {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n", server.authority(), token());
    let half = format!("{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{");
    let halves: Vec<TcpStream> = (0..64)
        .map(|n| {
            let mut stream = TcpStream::connect(server.authority()).unwrap();
            // Every other client was authorised before.
            if n % 2 == 0 {
                stream.write_all(format!("{head}Content-Length: 0\r\n\r\n").as_bytes()).unwrap();
                stream.read_exact(&mut [0]).unwrap();
            }
            stream.write_all(half.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.ask(&token(), "tools/list", json!({})).status, 200);
    drop(halves);
}

/// Sends raw bytes and returns the response until the connection closes or is idle.
fn exchange(server: &HttpServer, bytes: &str) -> String {
    let mut stream = TcpStream::connect(server.authority()).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(2))).expect("a socket takes a deadline");
    let _ = stream.write_all(bytes.replace("{host}", server.authority()).as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

const WITHOUT: &str = "Host: {host}\r\nConnection: close\r\n\r\n";

#[rstest]
#[case::parent(&format!("GET /../../etc/passwd HTTP/1.1\r\n{WITHOUT}"))]
#[case::encoded(&format!("GET /mcp/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n{WITHOUT}"))]
#[case::double_slash(&format!("POST //mcp HTTP/1.1\r\n{WITHOUT}"))]
#[case::end_slash(&format!("POST /mcp/ HTTP/1.1\r\n{WITHOUT}"))]
#[case::semicolon(&format!("POST /mcp;x HTTP/1.1\r\n{WITHOUT}"))]
#[case::query(&format!("POST /mcp?token=a-token-of-the-tests-only HTTP/1.1\r\n{WITHOUT}"))]
#[case::another_place(&format!("GET http://evil.example/mcp HTTP/1.1\r\n{WITHOUT}"))]
#[case::other_method(&format!("TRACE /mcp HTTP/1.1\r\n{WITHOUT}"))]
#[case::options(&format!("OPTIONS * HTTP/1.1\r\n{WITHOUT}"))]
#[case::proxy(&format!("CONNECT evil.example:443 HTTP/1.1\r\n{WITHOUT}"))]
#[case::two_lengths("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}{}")]
#[case::length_and_chunks(
    "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /mcp HTTP/1.1\r\n\r\n"
)]
#[case::line_feed_in_a_header("POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer x\n\ny\r\n\r\n")]
#[case::nul("POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer \0\r\n\r\n")]
#[case::no_host("POST /mcp HTTP/1.1\r\n\r\n")]
#[case::old("GET /mcp\r\n\r\n")]
#[case::new("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")]
#[case::no_http("\x16\x03\x01\x02\x00\x01\x00")]
#[case::endless_head(&format!("POST /mcp HTTP/1.1\r\n{}", "X-A: b\r\n".repeat(30_000)))]
fn no_trick_of_a_request_gets_past_the_token(#[case] request: &str) {
    let sandbox = with_token();
    let server = HttpServer::start(&sandbox, &[]);
    let answer = exchange(&server, request);
    assert!(!answer.contains(" 200 ") && !answer.contains(" 202 "), "{answer}");
    assert_eq!(server.ask(&token(), "tools/list", json!({})).status, 200);
}
