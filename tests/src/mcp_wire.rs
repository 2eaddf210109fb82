//! The lines between client and server: JSON-RPC 2.0 messages, one a line, and what they carry.

use serde_json::Value;

/// A message from the server.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    /// The answer to the request of this id.
    Answer { id: Value, answer: Result<Value, RpcError> },
    /// The server asks the client for something.
    Request { id: Value, method: String },
    /// The server tells, and expects no answer.
    Notification { method: String, params: Value },
}

impl Message {
    /// Reads one line, or says why it is not a JSON-RPC message.
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
            // Without an id it answers what could not be read.
            (id, None, None, Some(error)) => {
                Ok(Self::Answer { id: id.unwrap_or_default(), answer: Err(RpcError::read(error)?) })
            }
            _ => Err("neither a request, a notification nor an answer".to_owned()),
        }
    }
}

/// An error of the protocol, as against a tool that ran and failed.
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

/// What a tool answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// `structuredContent`, the only part that Claude Code shows to the model when there is one.
    pub structured: Option<Value>,
    /// The text blocks of `content`, joined by line ends.
    pub text: String,
    /// `isError`: the tool says that it failed, and how to do better.
    pub is_error: bool,
    /// The whole result as it came.
    pub raw: Value,
}

impl ToolResult {
    /// Reads the result of `tools/call`; panics when it is not one, because that breaks the protocol.
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

    /// Asserts that the tool succeeded, and gives its structured content.
    #[track_caller]
    pub fn expect_success(&self) -> &Value {
        assert!(!self.is_error, "the tool failed: {}", self.text);
        match &self.structured {
            Some(structured) => structured,
            None => panic!("the tool answered without structured content: {}", self.raw),
        }
    }

    /// Asserts that the tool said that it failed, and gives its text.
    #[track_caller]
    pub fn expect_failure(&self) -> &str {
        assert!(self.is_error, "the tool should have failed: {}", self.raw);
        &self.text
    }
}
