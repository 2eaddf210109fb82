//! Parses what `transcript::line` ignores: message ids, tools and their results.

use schema::host::hook::{ToolResponse, deserialize_lenient};
use schema::model::word_list::WordList;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Most bytes of a tool's input kept until its result: with the content to write, and without.
const CONTENT_LIMIT: usize = 1024 * 1024;
const INPUT_LIMIT: usize = 64 * 1024;

/// Results that are no failure of the tool: it was refused or never started.
static NEVER_BEGUN: WordList = WordList::phrases(
    "<tool_use_error>|The user doesn't want to proceed with this tool use|The user doesn't want to take this action|\
     [Request interrupted by user|Permission to use |Claude requested permissions to |Interrupted by user",
);

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolRecord<'l> {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub(super) cwd: Option<String>,
    #[serde(default, borrow)]
    message: Option<&'l RawValue>,
    /// The structured result of the tool, if the line is a result.
    #[serde(default)]
    tool_use_result: ToolResponse,
}

#[derive(Debug, Default, Deserialize)]
struct ToolMessage<'l> {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    stop_reason: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'l RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct ToolBlock<'l> {
    #[serde(default, rename = "type", deserialize_with = "deserialize_lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    name: Option<String>,
    #[serde(default, borrow)]
    input: Option<&'l RawValue>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_error: Option<bool>,
    #[serde(default, borrow)]
    content: Option<&'l RawValue>,
}

/// Tool calls and results of a line.
#[derive(Debug, Default)]
pub(super) struct ToolActivity {
    pub(super) started: Vec<StartedTool>,
    pub(super) finished: Vec<FinishedTool>,
    /// The message that the line belongs to.
    pub(super) message_id: Option<String>,
    /// Why the model stopped, if the host reports it.
    pub(super) stop_reason: Option<String>,
}

/// A tool call.
#[derive(Debug)]
pub(super) struct StartedTool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// A tool result.
#[derive(Debug)]
pub(super) struct FinishedTool {
    pub(super) id: String,
    pub(super) result: Result<ToolResponse, ToolFailure>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolFailure {
    /// With this message.
    Failed(String),
    /// It was refused or did not start; hooks do not see that.
    NeverStarted,
}

impl<'l> ToolRecord<'l> {
    /// Parses a line; `None` if it is torn or not an object.
    pub(super) fn parse(bytes: &'l [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Tool calls and results; unknown blocks are ignored.
    pub(super) fn tools(&self) -> ToolActivity {
        let message = self.message.and_then(|raw| serde_json::from_str::<ToolMessage<'_>>(raw.get()).ok());
        let Some(message) = message else { return ToolActivity::default() };
        let mut tools =
            ToolActivity { message_id: message.id, stop_reason: message.stop_reason, ..ToolActivity::default() };
        let blocks = message.content.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        let blocks = blocks.unwrap_or_default().into_iter();
        for block in blocks.filter_map(|raw| serde_json::from_str::<ToolBlock<'_>>(raw.get()).ok()) {
            match (block.kind.as_deref(), block.id, block.name, block.tool_use_id) {
                (Some("tool_use"), Some(id), Some(name), _) => {
                    tools.started.push(StartedTool { id, name, input: tool_input(block.input) });
                }
                (Some("tool_result"), _, _, Some(id)) => {
                    let result = match block.is_error {
                        Some(true) => Err(ToolFailure::from_content(block.content)),
                        _ => Ok(self.tool_use_result.clone()),
                    };
                    tools.finished.push(FinishedTool { id, result });
                }
                _ => {}
            }
        }
        tools
    }
}

impl ToolFailure {
    fn from_content(content: Option<&RawValue>) -> Self {
        let text = content.map(block_text).unwrap_or_default();
        if NEVER_BEGUN.begins(text.trim_start()) { Self::NeverStarted } else { Self::Failed(text) }
    }
}

/// A text, or the text blocks of a list.
fn block_text(raw: &RawValue) -> String {
    match serde_json::from_str(raw.get()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(blocks)) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// A tool's input; a very large one without the content to write.
fn tool_input(raw: Option<&RawValue>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    let mut value = serde_json::from_str(raw.get()).unwrap_or_default();
    if raw.get().len() <= CONTENT_LIMIT {
        return value;
    }
    strip_content(&mut value);
    if value.to_string().len() > INPUT_LIMIT { Value::Null } else { value }
}

fn strip_content(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "content" | "old_string" | "new_string" | "new_source"));
            fields.values_mut().for_each(strip_content);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_content),
        _ => {}
    }
}
