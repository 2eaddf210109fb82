//! Messages as they come in, whatever the transport: those that can be read are passed on, all others get the error that the
//! specification names, with the id of the request wherever that can be told, so that nobody waits for an answer in vain.

use std::fmt::Display;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, CompleteRequestParams, CustomRequest, ErrorCode,
    GetPromptRequestParams, InitializeRequestParams, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, RequestId, ServerJsonRpcMessage, SubscribeRequestParams,
    SubscriptionsListenRequestParams, UnsubscribeRequestParams,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

/// Methods that ended with the version 2026-07-28.
const OF_THE_PAST: [&str; 4] = ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"];

/// What came in.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing, or what no answer is due to: notifications and answers that cannot be read.
    Ignored,
    /// What cannot be read, and the answer to it.
    Refused(Box<ServerJsonRpcMessage>),
}

/// Reads one message.
pub(crate) fn read(bytes: &[u8]) -> Incoming {
    // Some programs begin their output with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Incoming::Ignored;
    }
    match serde_json::from_slice(bytes) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(_) => why_unread(bytes),
    }
}

/// The answer to a message that is longer than `most` bytes. Nothing of it is kept but its id.
pub(crate) fn too_long(bytes: &[u8], length: usize, most: usize) -> Incoming {
    #[derive(serde::Deserialize)]
    struct Envelope {
        id: Option<Value>,
        method: Option<IgnoredAny>,
    }
    let envelope: Option<Envelope> = serde_json::from_slice(bytes).ok();
    let (id, is_request) =
        envelope.map_or((None, true), |envelope| (envelope.id.as_ref().and_then(id), envelope.method.is_some()));
    if !is_request {
        return Incoming::Ignored;
    }
    let text = format!("a message has at most {most} bytes, this one has {length}");
    refused(ErrorData::invalid_request(text, None), id)
}

/// An error as the answer to the request of this id, or to one whose id cannot be told.
pub(crate) fn refused(error: ErrorData, id: Option<RequestId>) -> Incoming {
    Incoming::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
}

/// Why a request is none of those that are known: there is no such method in the version that it names, or its parameters are not what
/// the method takes.
pub(crate) fn unknown(request: &CustomRequest, version: Option<&ProtocolVersion>) -> ErrorData {
    let method = request.method.as_str();
    let is_modern = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if is_modern && OF_THE_PAST.contains(&method) {
        return no_method(method);
    }
    let params = request.params.clone().unwrap_or(Value::Object(Map::new()));
    let fault = match method {
        "initialize" => fault::<InitializeRequestParams>(params),
        "tools/call" => fault::<CallToolRequestParams>(params),
        "prompts/get" => fault::<GetPromptRequestParams>(params),
        "resources/read" => fault::<ReadResourceRequestParams>(params),
        "resources/subscribe" => fault::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => fault::<UnsubscribeRequestParams>(params),
        "completion/complete" => fault::<CompleteRequestParams>(params),
        "subscriptions/listen" => fault::<SubscriptionsListenRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            fault::<PaginatedRequestParams>(params)
        }
        "ping" | "server/discover" => fault::<Map<String, Value>>(params),
        _ => return no_method(method),
    };
    // What is right for the method itself is wrong around it, in `_meta`.
    let fault = fault.unwrap_or_else(|| "_meta is not an object".to_owned());
    ErrorData::invalid_params(format!("params of {method}: {fault}"), None)
}

fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"), None)
}

fn fault<P: DeserializeOwned>(params: Value) -> Option<String> {
    if !params.is_object() {
        return Some("not an object".to_owned());
    }
    serde_json::from_value::<P>(params).err().map(|error| error.to_string())
}

/// What to say of bytes that are no message.
fn why_unread(bytes: &[u8]) -> Incoming {
    let value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return not_json(bytes, &error),
    };
    let message: Map<String, Value> = match value {
        Value::Object(message) => message,
        Value::Array(_) => return invalid("batches are not served: send one message at a time", None),
        _ => return invalid("a message is a JSON object", None),
    };
    let id = message.get("id");
    if id.is_none() || !message.contains_key("method") && is_answer(&message) {
        return Incoming::Ignored;
    }
    let id = id.and_then(self::id);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("a message has \"jsonrpc\": \"2.0\"", id);
    }
    let Some(id) = id else { return invalid("the id of a request is a string or an integer", None) };
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return invalid("the method of a request is a string", Some(id));
    };
    if is_answer(&message) {
        return invalid("a request has neither result nor error", Some(id));
    }
    refused(unknown(&CustomRequest::new(method, message.get("params").cloned()), None), Some(id))
}

fn is_answer(message: &Map<String, Value>) -> bool {
    message.contains_key("result") || message.contains_key("error")
}

/// Bytes that are no JSON only because some of them are no UTF-8 may still tell their id.
fn not_json(bytes: &[u8], error: &dyn Display) -> Incoming {
    let mended = String::from_utf8_lossy(bytes);
    let id = serde_json::from_str::<Map<String, Value>>(&mended).ok().and_then(|message| id(message.get("id")?));
    refused(ErrorData::parse_error(format!("not JSON: {error}"), None), id)
}

fn invalid(what: &'static str, id: Option<RequestId>) -> Incoming {
    refused(ErrorData::invalid_request(what, None), id)
}

fn id(value: &Value) -> Option<RequestId> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(incoming: Incoming) -> Value {
        match incoming {
            Incoming::Refused(answer) => {
                let answer = serde_json::to_value(answer).unwrap();
                json!([answer["error"]["code"], answer["id"]])
            }
            Incoming::Ignored => json!("ignored"),
            Incoming::Message(_) => json!("read"),
        }
    }

    #[test]
    fn what_cannot_be_read_gets_the_error_that_the_specification_names() {
        let none = Value::Null;
        let cases: [(&[u8], Value); 22] = [
            (b"garbage", json!([-32700, none])),
            (br#"{"jsonrpc":"2.0","id":1,"method":"pi"#, json!([-32700, none])),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", json!([-32700, 1])),
            (b"\xff\xfe", json!([-32700, none])),
            (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!([-32600, none])),
            (b"[]", json!([-32600, none])),
            (b"7", json!([-32600, none])),
            (br#"{"id":1,"method":"ping"}"#, json!([-32600, 1])),
            (br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!([-32600, "a"])),
            (br#"{"jsonrpc":"2.0","id":1}"#, json!([-32600, 1])),
            (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!([-32600, 1])),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!([-32600, none])),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, json!([-32600, none])),
            (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!([-32600, none])),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, json!([-32600, 1])),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#, json!([-32602, 1])),
            (br#"{"jsonrpc":"2.0","id":1,"method":"no/such/method","params":[1]}"#, json!([-32601, 1])),
            (br#"{"jsonrpc":"2.0","method":7}"#, json!("ignored")),
            (br#"{"jsonrpc":"2.0","id":1,"error":{}}"#, json!("ignored")),
            (b" \r", json!("ignored")),
            (br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, json!("read")),
            (b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such/method\"}\r", json!("read")),
        ];
        for (bytes, expected) in cases {
            assert_eq!(answer(read(bytes)), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_request_that_is_too_long_is_answered_by_its_id() {
        let long = |bytes: &[u8]| answer(too_long(bytes, 9_000, 8_000));
        assert_eq!(
            long(br#"{"method":"tools/call","params":{"x":"long"},"jsonrpc":"2.0","id":7}"#),
            json!([-32600, 7])
        );
        assert_eq!(long(br#"{"method":"tools/call","params":{"x":"cut o"#), json!([-32600, null]));
        assert_eq!(long(br#"{"result":{"x":"long"},"jsonrpc":"2.0","id":7}"#), json!("ignored"));
    }

    #[test]
    fn a_method_that_is_known_has_wrong_parameters_and_any_other_is_not_there() {
        let cases = [
            ("no/such/method", json!({}), -32601, "unknown method"),
            ("tools/call", json!({}), -32602, "missing field `name`"),
            ("tools/call", json!([1]), -32602, "not an object"),
            ("tools/call", json!({ "name": "x", "arguments": "text" }), -32602, "expected a map"),
            ("resources/read", json!({ "uri": 7 }), -32602, "string"),
            ("prompts/get", json!({}), -32602, "missing field `name`"),
            ("completion/complete", json!({}), -32602, "missing field"),
            ("tools/list", json!("all"), -32602, "not an object"),
            ("tools/list", json!({ "_meta": 7 }), -32602, "invalid type: integer `7`"),
            ("initialize", json!({ "protocolVersion": "2025-11-25" }), -32602, "missing field"),
            ("ping", json!([]), -32602, "not an object"),
        ];
        for (method, params, code, says) in cases {
            let error = unknown(&CustomRequest::new(method, Some(params.clone())), None);
            assert_eq!(error.code.0, code, "{method} {params}");
            assert!(error.message.contains(says), "{method} {params}: {}", error.message);
        }
        for method in OF_THE_PAST {
            let request = CustomRequest::new(method, Some(json!({})));
            assert_eq!(unknown(&request, Some(&ProtocolVersion::V_2026_07_28)).code.0, -32601, "{method}");
        }
    }
}
