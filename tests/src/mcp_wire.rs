//! JSON-RPC 2.0 messages between client and server, one per line.

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) enum ServerMessage {
    /// A response.
    Answer {
        id: Value,
        answer: Result<Value, RpcError>,
    },
    /// A request of the server.
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
        params: Value,
    },
}

impl ServerMessage {
    /// Parses a line. Returns the reason if it is not a JSON-RPC message.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err("no \"jsonrpc\": \"2.0\"".to_owned());
        }
        let id = value.get("id").cloned();
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        match (id, method, value.get("result"), value.get("error")) {
            (Some(id), Some(method), None, None) => Ok(Self::Request { id, method }),
            (None, Some(method), None, None) => {
                Ok(Self::Notification { method, params: value.get("params").cloned().unwrap_or_default() })
            }
            (Some(id), None, Some(result), None) => Ok(Self::Answer { id, answer: Ok(result.clone()) }),
            // A response without an id answers an unreadable message.
            (id, None, None, Some(error)) => {
                Ok(Self::Answer { id: id.unwrap_or_default(), answer: Err(RpcError::read(error)?) })
            }
            _ => Err("neither a request, a notification nor an answer".to_owned()),
        }
    }
}

/// A protocol error, as opposed to a failed tool.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub(crate) fn read(error: &Value) -> Result<Self, String> {
        let code = error.get("code").and_then(Value::as_i64).ok_or("an error without a code")?;
        let message = error.get("message").and_then(Value::as_str).ok_or("an error without a message")?;
        Ok(Self { code, message: message.to_owned(), data: error.get("data").cloned() })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// `structuredContent`, which Claude Code shows to the model instead of the text.
    pub structured: Option<Value>,
    /// The text blocks of `content`, joined by line ends.
    pub text: String,
    /// `isError`: the tool failed and explains why.
    pub is_error: bool,
    pub raw: Value,
}

impl ToolResult {
    /// Parses the result of `tools/call`; panics if it violates the protocol.
    #[track_caller]
    pub(crate) fn read(raw: Value) -> Self {
        let blocks = raw.get("content").and_then(Value::as_array);
        let blocks = blocks.unwrap_or_else(|| panic!("a tool's result has a list of content: {raw}"));
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        Self {
            structured: raw.get("structuredContent").cloned(),
            text: texts.join("\n"),
            is_error: raw.get("isError").and_then(Value::as_bool).unwrap_or(false),
            raw,
        }
    }

    /// Asserts success and returns the structured content.
    #[track_caller]
    pub fn expect_success(&self) -> &Value {
        assert!(!self.is_error, "the tool failed: {}", self.text);
        match &self.structured {
            Some(structured) => structured,
            None => panic!("the tool answered without structured content: {}", self.raw),
        }
    }

    /// Asserts failure and returns the text.
    #[track_caller]
    pub fn expect_failure(&self) -> &str {
        assert!(self.is_error, "the tool should have failed: {}", self.raw);
        &self.text
    }
}
