//! Malformed requests and misbehaving clients: each gets the specified error, and the next valid request is answered.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use harness::{Era, McpClient, Sandbox, eventually, eventually_some, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

const KEPT: &str = "Webhooks are acknowledged after the commit.";

/// Client information of a 2026-07-28 request.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"tests","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

fn start(sandbox: &Sandbox) -> McpClient {
    let mut command = sandbox.memory_command();
    command.arg("serve");
    McpClient::start_silently(command, Era::Legacy)
}

/// The error code and the id of the next response.
#[track_caller]
fn refusal(client: &mut McpClient) -> (i64, Value) {
    let answer = client.next_answer();
    let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"));
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{answer}");
    (code, answer["id"].clone())
}

#[track_caller]
fn assert_still_works(client: &mut McpClient) {
    let result = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(result.expect_success()["results"][0]["snippet"], KEPT);
}

#[rstest]
#[case::garbage(b"this is not a message", PARSE_ERROR, Value::Null)]
#[case::half_an_object(br#"{"jsonrpc":"2.0","id":9,"method":"pi"#, PARSE_ERROR, Value::Null)]
#[case::invalid_utf8(b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\xfe\"}}", PARSE_ERROR, json!(9))]
#[case::binary(b"\x00\x01\x02\xff", PARSE_ERROR, Value::Null)]
#[case::too_deep(&[b'['; 100_000], PARSE_ERROR, Value::Null)]
#[case::batch(
    br#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
    INVALID_REQUEST,
    Value::Null
)]
#[case::empty_batch(b"[]", INVALID_REQUEST, Value::Null)]
#[case::a_text(br#""initialize""#, INVALID_REQUEST, Value::Null)]
#[case::no_version(br#"{"id":9,"method":"ping"}"#, INVALID_REQUEST, json!(9))]
#[case::another_version(br#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#, INVALID_REQUEST, json!(9))]
#[case::no_method(br#"{"jsonrpc":"2.0","id":9}"#, INVALID_REQUEST, json!(9))]
#[case::method_is_a_number(br#"{"jsonrpc":"2.0","id":9,"method":9}"#, INVALID_REQUEST, json!(9))]
#[case::id_is_null(br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, INVALID_REQUEST, Value::Null)]
#[case::id_is_a_fraction(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, INVALID_REQUEST, Value::Null)]
#[case::unknown_method(br#"{"jsonrpc":"2.0","id":"a","method":"no/such/method"}"#, METHOD_NOT_FOUND, json!("a"))]
#[case::params_are_a_list(br#"{"jsonrpc":"2.0","id":9,"method":"tools/list","params":[1]}"#, INVALID_PARAMS, json!(9))]
#[case::params_are_a_text(br#"{"jsonrpc":"2.0","id":9,"method":"ping","params":"x"}"#, INVALID_PARAMS, json!(9))]
#[case::no_tool(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}"#, INVALID_PARAMS, json!(9))]
#[case::tool_is_a_number(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}"#, INVALID_PARAMS, json!(9))]
#[case::arguments_are_a_text(br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"memory_stats","arguments":"x"}}"#, INVALID_PARAMS, json!(9))]
#[case::uri_is_a_number(br#"{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":7}}"#, INVALID_PARAMS, json!(9))]
#[case::no_prompt(br#"{"jsonrpc":"2.0","id":9,"method":"prompts/get","params":{}}"#, INVALID_PARAMS, json!(9))]
#[case::initialize_without_params(br#"{"jsonrpc":"2.0","id":9,"method":"initialize"}"#, INVALID_PARAMS, json!(9))]
fn a_bad_line_is_refused_before_and_after_the_greeting(#[case] line: &[u8], #[case] code: i64, #[case] id: Value) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = start(&sandbox);
    let send = |client: &mut McpClient| {
        client.send_bytes(line);
        client.send_bytes(b"\n");
        assert_eq!(refusal(client), (code, id.clone()));
    };
    send(&mut client);
    client.greet();
    send(&mut client);
    assert_still_works(&mut client);
}

#[rstest]
#[case::unknown_tool(r#""method":"tools/call","params":{"name":"memory_dance","arguments":{},META}"#, INVALID_PARAMS)]
#[case::no_tool(r#""method":"tools/call","params":{META}"#, INVALID_PARAMS)]
#[case::unknown_prompt(r#""method":"prompts/get","params":{"name":"dance",META}"#, INVALID_PARAMS)]
#[case::unknown_resource(r#""method":"resources/read","params":{"uri":"memory://dance",META}"#, INVALID_PARAMS)]
#[case::unknown_method(r#""method":"no/such/method","params":{META}"#, METHOD_NOT_FOUND)]
#[case::method_of_the_past(r#""method":"ping","params":{META}"#, METHOD_NOT_FOUND)]
#[case::method_of_the_past_without_params(r#""method":"resources/subscribe","params":{META}"#, METHOD_NOT_FOUND)]
#[case::without_meta(r#""method":"tools/list","params":{}"#, INVALID_PARAMS)]
fn a_bad_request_of_today_is_refused(#[case] request: &str, #[case] code: i64) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = sandbox.serve(Era::Modern);
    client.tools();
    client.send_line(&format!(r#"{{"jsonrpc":"2.0","id":"x",{}}}"#, request.replace("META", META)));
    assert_eq!(refusal(&mut client), (code, json!("x")));
    assert_still_works(&mut client);
}

#[test]
fn input_before_initialize_does_not_stop_the_server() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = start(&sandbox);
    client.send_line("");
    client.notify("notifications/initialized", Value::Null);
    client.notify("notifications/cancelled", json!({ "requestId": 1 }));
    client.notify("notifications/no_such_thing", Value::Null);
    client.send_line(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"none"}}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":"early","method":"tools/list"}"#);
    assert_eq!(refusal(&mut client), (INVALID_PARAMS, json!("early")));
    client.send_line(r#"{"jsonrpc":"2.0","id":"early","method":"ping"}"#);
    assert_eq!(client.next_answer()["result"], json!({}));
    client.greet();
    assert_still_works(&mut client);
}

#[test]
fn notices_and_answers_that_mean_nothing_are_passed_over() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = sandbox.serve(Era::Legacy);
    client.notify("notifications/no_such_thing", json!({ "a": 1 }));
    client.notify("notifications/cancelled", json!({ "requestId": { "not": "an id" } }));
    client.notify("notifications/cancelled", json!({ "requestId": 4711 }));
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"x"}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#);
    // Responses to those would arrive first.
    client.send_line(r#"{"jsonrpc":"2.0","id":"next","method":"ping"}"#);
    assert_eq!(client.next_answer(), json!({ "jsonrpc": "2.0", "id": "next", "result": {} }));
    assert_still_works(&mut client);
}

#[test]
fn split_line_is_joined_and_torn_line_refused() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    client.send_bytes(br#"{"jsonrpc":"2.0","id":"halves","#);
    // Other work between the halves.
    sandbox.write(".jikime/memory/note.md", "# Note\n\nThe log changed.\n");
    client.send_bytes(b"\"method\":\"ping\"}\n");
    assert_eq!(client.next_answer(), json!({ "jsonrpc": "2.0", "id": "halves", "result": {} }));
    client.send_bytes(br#"{"jsonrpc":"2.0","id":"cut","method":"pi"#);
    client.end_input();
    assert_eq!(refusal(&mut client), (PARSE_ERROR, Value::Null));
    assert!(client.close().status.success());
}

#[test]
fn a_last_line_without_its_end_is_answered() {
    let sandbox = sandbox!();
    let mut client = sandbox.serve(Era::Legacy);
    client.send_bytes(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#);
    client.end_input();
    assert_eq!(client.next_answer(), json!({ "jsonrpc": "2.0", "id": "last", "result": {} }));
    assert!(client.close().status.success());
}

#[test]
fn a_line_of_twenty_megabytes_is_refused_by_its_id() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = sandbox.serve(Era::Legacy);
    let content = "x".repeat(20_000_000);
    let arguments = json!({ "type": "decision", "content": content });
    let error = client.call("memory_save", arguments).unwrap_err();
    assert_eq!(error.code, INVALID_REQUEST);
    assert!(error.message.contains("16777216") && error.message.contains("2000"), "{}", error.message);
    assert_still_works(&mut client);
    // A line without end has no id.
    client.send_bytes(&vec![b'['; 70_000_000]);
    client.send_bytes(b"\n");
    assert_eq!(refusal(&mut client), (INVALID_REQUEST, Value::Null));
    assert_still_works(&mut client);
}

#[test]
fn an_id_in_use_is_refused_and_free_again_afterwards() {
    let sandbox = sandbox!();
    for n in 0..300 {
        let text = format!("The note {n} says this and that of its subject. ").repeat(60);
        sandbox.write(format!(".jikime/memory/notes/{n}.md"), format!("# Note {n}\n\n{text}\n"));
    }
    let mut client = sandbox.serve(Era::Legacy);
    client.send_line(
        r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"memory_reindex","arguments":{"full":true}}}"#,
    );
    client.send_line(r#"{"jsonrpc":"2.0","id":"same","method":"ping"}"#);
    assert_eq!(refusal(&mut client), (INVALID_REQUEST, json!("same")));
    let answer = client.next_answer();
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["files"]), (&json!("same"), &json!(300)));
    client.send_line(r#"{"jsonrpc":"2.0","id":"same","method":"ping"}"#);
    assert_eq!(client.next_answer(), json!({ "jsonrpc": "2.0", "id": "same", "result": {} }));
}

#[test]
fn five_hundred_calls_at_once_are_all_answered() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    let mut client = sandbox.serve(Era::Modern);
    let calls: Vec<_> = (0..500)
        .map(|n| match n % 3 {
            0 => client.send_call("memory_search", json!({ "query": "webhooks commit" })),
            1 => client.send_call("memory_save", json!({ "type": "learning", "content": format!("Learnt {n}.") })),
            _ => client.send_call("memory_stats", json!({})),
        })
        .collect();
    for call in calls {
        assert!(!client.answer(call).unwrap()["isError"].as_bool().unwrap_or_default());
    }
    assert_eq!(sandbox.logs().matches("Learnt ").count(), 167);
}

/// A server whose output the test reads itself, or not at all.
fn spawn(sandbox: &Sandbox) -> Child {
    let mut command = sandbox.memory_command();
    command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn request(id: usize, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{META}}}}}"#) + "\n"
}

#[test]
fn slow_reader_gets_every_answer() {
    const REQUESTS: usize = 10_000;
    let sandbox = sandbox!();
    let mut server = spawn(&sandbox);
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap()).lines();
    let (told, sent) = std::sync::mpsc::channel();
    let sender = thread::spawn(move || {
        for id in 0..REQUESTS {
            stdin.write_all(request(id, "tools/list", "").as_bytes()).unwrap();
            let _ = told.send(id);
        }
    });
    // The server stops reading at some request. Nothing changes for much longer than a hundred requests take.
    let mut last = 0;
    while let Ok(id) = sent.recv_timeout(Duration::from_secs(2)) {
        last = id;
    }
    assert!(last < REQUESTS - 1, "all {REQUESTS} requests were read, and no answer was");
    let mut answered = BTreeSet::new();
    while answered.len() < REQUESTS {
        let answer: Value = serde_json::from_str(&stdout.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(6), "{answer}");
        assert!(answered.insert(answer["id"].as_u64().unwrap()), "{} was answered twice", answer["id"]);
    }
    sender.join().unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn disconnect_during_call_keeps_the_save() {
    let sandbox = sandbox!();
    let mut server = spawn(&sandbox);
    let mut stdin = server.stdin.take().unwrap();
    let arguments = r#""name":"memory_save","arguments":{"type":"learning","content":"Said before it left."}"#;
    stdin.write_all(request(1, "tools/call", arguments).as_bytes()).unwrap();
    stdin
        .write_all(request(2, "tools/call", r#""name":"memory_reindex","arguments":{"full":true}"#).as_bytes())
        .unwrap();
    // Both pipes at once, as if a host crashes.
    drop((stdin, server.stdout.take()));
    let status = eventually_some(Duration::from_secs(20), || server.try_wait().unwrap());
    assert!(status.success(), "{status:?}");
    assert!(sandbox.logs().contains("Said before it left."));
    let mut next = sandbox.serve(Era::Modern);
    eventually(Duration::from_secs(20), || {
        next.call("memory_search", json!({ "query": "said before it left" })).unwrap().expect_success()["count"] == 1
    });
}
