//! What a line of a transcript says beside words: whose it is, which tools were used, and what came of them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::hook::lenient;

/// The most of a tool's input that is held until its result comes, in bytes.
const INPUT_LIMIT: usize = 64 * 1024;

/// Results that tell of no failure of a tool: it was refused, or never began.
const NEVER_BEGUN: [&str; 7] = [
    "<tool_use_error>",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "[Request interrupted by user",
    "Permission to use ",
    "Claude requested permissions to ",
    "Interrupted by user",
];

/// A line, as far as `transcript::line` leaves it out.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record<'l> {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    #[serde(default, borrow)]
    message: Option<&'l RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct Message<'l> {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    stop_reason: Option<String>,
    #[serde(default, borrow)]
    content: Option<&'l RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct Block<'l> {
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default, borrow)]
    input: Option<&'l RawValue>,
    #[serde(default, deserialize_with = "lenient")]
    tool_use_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    is_error: Option<bool>,
    #[serde(default, borrow)]
    content: Option<&'l RawValue>,
}

/// What a line says of tools.
#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) begun: Vec<Begun>,
    pub(super) done: Vec<Done>,
    /// The message that the line is a part of.
    pub(super) message_id: Option<String>,
    /// Why the model stopped, where the host says it.
    pub(super) stop_reason: Option<String>,
}

/// A tool that was called.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

/// A tool whose result came.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) id: String,
    pub(super) result: Result<(), Failure>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// With these words.
    Failed(String),
    /// It was refused or did not begin, of which hooks are not told.
    NeverBegun,
}

impl<'l> Record<'l> {
    /// Reads a line; `None` when it is torn or no object.
    pub(super) fn parse(bytes: &'l [u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// What the line says of tools. A block that is not understood says nothing.
    pub(super) fn tools(&self) -> Tools {
        let message = self.message.and_then(|raw| serde_json::from_str::<Message<'_>>(raw.get()).ok());
        let Some(message) = message else { return Tools::default() };
        let mut tools = Tools { message_id: message.id, stop_reason: message.stop_reason, ..Tools::default() };
        let blocks = message.content.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        let blocks = blocks.unwrap_or_default().into_iter();
        for block in blocks.filter_map(|raw| serde_json::from_str::<Block<'_>>(raw.get()).ok()) {
            match (block.kind.as_deref(), block.id, block.name, block.tool_use_id) {
                (Some("tool_use"), Some(id), Some(name), _) => {
                    tools.begun.push(Begun { id, name, input: input(block.input) });
                }
                (Some("tool_result"), _, _, Some(id)) => {
                    let failed = block.is_error == Some(true);
                    let result = if failed { Err(Failure::of(block.content)) } else { Ok(()) };
                    tools.done.push(Done { id, result });
                }
                _ => {}
            }
        }
        tools
    }
}

impl Failure {
    fn of(content: Option<&RawValue>) -> Self {
        let text = content.map(text).unwrap_or_default();
        if NEVER_BEGUN.iter().any(|start| text.trim_start().starts_with(start)) {
            return Self::NeverBegun;
        }
        Self::Failed(text)
    }
}

/// A text, or the text blocks of a list.
fn text(raw: &RawValue) -> String {
    match serde_json::from_str(raw.get()) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(blocks)) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The input of a tool without what it is to write, which nobody asks for.
fn input(raw: Option<&RawValue>) -> Value {
    let Some(raw) = raw else { return Value::Null };
    let mut value = serde_json::from_str(raw.get()).unwrap_or_default();
    without_content(&mut value);
    if raw.get().len() > INPUT_LIMIT && value.to_string().len() > INPUT_LIMIT { Value::Null } else { value }
}

fn without_content(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "content" | "old_string" | "new_string" | "new_source"));
            fields.values_mut().for_each(without_content);
        }
        Value::Array(items) => items.iter_mut().for_each(without_content),
        _ => {}
    }
}
