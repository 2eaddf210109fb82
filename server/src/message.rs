//! Parses incoming messages for all transports. Every invalid request gets the error that the specification names, with its id if possible,
//! so that no client waits in vain.

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

/// Methods that version 2026-07-28 removed.
const LEGACY_METHODS: [&str; 4] = ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"];

#[derive(Debug)]
pub(crate) enum IncomingMessage {
    Message(Box<ClientJsonRpcMessage>),
    /// An empty line, or an invalid notification or response. These get no answer.
    Ignored,
    /// An invalid request, and its error.
    Refused(Box<ServerJsonRpcMessage>),
}

pub(crate) fn parse_message(bytes: &[u8]) -> IncomingMessage {
    // Some programs write a byte order mark first.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return IncomingMessage::Ignored;
    }
    match serde_json::from_slice(bytes) {
        Ok(message) => IncomingMessage::Message(Box::new(message)),
        Err(_) => reject_unreadable(bytes),
    }
}

/// The error for a message that is longer than `most` bytes.
pub(crate) fn reject_too_long(bytes: &[u8], length: usize, most: usize) -> IncomingMessage {
    #[derive(serde::Deserialize)]
    struct MessageEnvelope {
        id: Option<Value>,
        method: Option<IgnoredAny>,
    }
    let envelope: Option<MessageEnvelope> = serde_json::from_slice(bytes).ok();
    let (id, is_request) = envelope
        .map_or((None, true), |envelope| (envelope.id.as_ref().and_then(request_id), envelope.method.is_some()));
    if !is_request {
        return IncomingMessage::Ignored;
    }
    let text = format!("the message has {length} bytes; the limit is {most}");
    reject(ErrorData::invalid_request(text, None), id)
}

/// An error for the request with this id, if the id is known.
pub(crate) fn reject(error: ErrorData, id: Option<RequestId>) -> IncomingMessage {
    IncomingMessage::Refused(Box::new(ServerJsonRpcMessage::error(error, id)))
}

/// The error for a request that the library cannot parse: either the method does not exist in this version of the protocol, or its
/// parameters are invalid.
pub(crate) fn unknown_request_error(request: &CustomRequest, version: Option<&ProtocolVersion>) -> ErrorData {
    let method = request.method.as_str();
    let is_modern = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    if is_modern && LEGACY_METHODS.contains(&method) {
        return method_not_found(method);
    }
    let params = request.params.clone().unwrap_or(Value::Object(Map::new()));
    let error = match method {
        "initialize" => params_error::<InitializeRequestParams>(params),
        "tools/call" => params_error::<CallToolRequestParams>(params),
        "prompts/get" => params_error::<GetPromptRequestParams>(params),
        "resources/read" => params_error::<ReadResourceRequestParams>(params),
        "resources/subscribe" => params_error::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => params_error::<UnsubscribeRequestParams>(params),
        "completion/complete" => params_error::<CompleteRequestParams>(params),
        "subscriptions/listen" => params_error::<SubscriptionsListenRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            params_error::<PaginatedRequestParams>(params)
        }
        "ping" | "server/discover" => params_error::<Map<String, Value>>(params),
        _ => return method_not_found(method),
    };
    // The parameters are valid, so the error is in `_meta`.
    let error = error.unwrap_or_else(|| "_meta is not an object".to_owned());
    ErrorData::invalid_params(format!("params of {method}: {error}"), None)
}

fn method_not_found(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {method:?}"), None)
}

fn params_error<P: DeserializeOwned>(params: Value) -> Option<String> {
    if !params.is_object() {
        return Some("not an object".to_owned());
    }
    serde_json::from_value::<P>(params).err().map(|error| error.to_string())
}

/// The error for bytes that are not a message.
fn reject_unreadable(bytes: &[u8]) -> IncomingMessage {
    let value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return reject_not_json(bytes, &error),
    };
    let message: Map<String, Value> = match value {
        Value::Object(message) => message,
        Value::Array(_) => return reject_invalid("batches are not supported; send one message at a time", None),
        _ => return reject_invalid("a message must be a JSON object", None),
    };
    let id = message.get("id");
    if id.is_none() || !message.contains_key("method") && is_response(&message) {
        return IncomingMessage::Ignored;
    }
    let id = id.and_then(self::request_id);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return reject_invalid("a message must have \"jsonrpc\": \"2.0\"", id);
    }
    let Some(id) = id else { return reject_invalid("the id of a request must be a string or an integer", None) };
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        return reject_invalid("the method of a request must be a string", Some(id));
    };
    if is_response(&message) {
        return reject_invalid("a request must not have a result or an error", Some(id));
    }
    reject(unknown_request_error(&CustomRequest::new(method, message.get("params").cloned()), None), Some(id))
}

fn is_response(message: &Map<String, Value>) -> bool {
    message.contains_key("result") || message.contains_key("error")
}

/// If bytes are only invalid UTF-8, the id can still be read.
fn reject_not_json(bytes: &[u8], error: &dyn Display) -> IncomingMessage {
    let mended = String::from_utf8_lossy(bytes);
    let id =
        serde_json::from_str::<Map<String, Value>>(&mended).ok().and_then(|message| request_id(message.get("id")?));
    reject(ErrorData::parse_error(format!("not JSON: {error}"), None), id)
}

fn reject_invalid(what: &'static str, id: Option<RequestId>) -> IncomingMessage {
    reject(ErrorData::invalid_request(what, None), id)
}

fn request_id(value: &Value) -> Option<RequestId> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(incoming: IncomingMessage) -> Value {
        match incoming {
            IncomingMessage::Refused(answer) => {
                let answer = serde_json::to_value(answer).unwrap();
                json!([answer["error"]["code"], answer["id"]])
            }
            IncomingMessage::Ignored => json!("ignored"),
            IncomingMessage::Message(_) => json!("read"),
        }
    }

    #[test]
    fn invalid_messages_get_the_specified_error() {
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
            assert_eq!(answer(parse_message(bytes)), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn too_long_request_gets_an_error_with_its_id() {
        let long = |bytes: &[u8]| answer(reject_too_long(bytes, 9_000, 8_000));
        assert_eq!(
            long(br#"{"method":"tools/call","params":{"x":"long"},"jsonrpc":"2.0","id":7}"#),
            json!([-32600, 7])
        );
        assert_eq!(long(br#"{"method":"tools/call","params":{"x":"cut o"#), json!([-32600, null]));
        assert_eq!(long(br#"{"result":{"x":"long"},"jsonrpc":"2.0","id":7}"#), json!("ignored"));
    }

    #[test]
    fn known_methods_report_their_wrong_parameters() {
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
            let error = unknown_request_error(&CustomRequest::new(method, Some(params.clone())), None);
            assert_eq!(error.code.0, code, "{method} {params}");
            assert!(error.message.contains(says), "{method} {params}: {}", error.message);
        }
        for method in LEGACY_METHODS {
            let request = CustomRequest::new(method, Some(json!({})));
            assert_eq!(
                unknown_request_error(&request, Some(&ProtocolVersion::V_2026_07_28)).code.0,
                -32601,
                "{method}"
            );
        }
    }
}
