//! A line of a transcript: the fields that are read, and their content.

use std::fmt;

use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::host::hook::deserialize_lenient;
use crate::host::host_text::{HOST_MARKUP, MACHINE_PROMPT, strip_injected};
use crate::model::moment::Moment;

/// The thread whose words count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptThread {
    /// The conversation with the user, without words of subagents in the same file.
    Main,
    /// A subagent. In its own file every line is marked as a sidechain.
    Subagent,
}

/// The fields of a line that are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptLine {
    #[serde(default, rename = "type", deserialize_with = "deserialize_lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    subtype: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    timestamp: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_sidechain: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_meta: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_compact_summary: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    is_api_error_message: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    prompt_source: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    origin: Option<PromptOrigin>,
    #[serde(default)]
    message: Option<TranscriptMessage>,
}

#[derive(Debug, Deserialize)]
struct PromptOrigin {
    kind: String,
}

#[derive(Debug, Deserialize)]
struct TranscriptMessage {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    model: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    usage: Option<TokenUsage>,
    #[serde(default)]
    content: MessageContent,
}

/// The tokens that the model read for an answer, partly from its cache.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TokenUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// The texts of a message. The host writes a string or blocks.
#[derive(Debug, Default)]
struct MessageContent {
    texts: Vec<String>,
    has_tool_result: bool,
}

#[derive(Debug, Deserialize)]
struct TextBlock {
    #[serde(default, rename = "type", deserialize_with = "deserialize_lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    text: Option<String>,
}

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineContent {
    /// A person's prompt.
    Prompt(String),
    /// A turn that the host began itself.
    MachinePrompt,
    /// Text of the answer with this id.
    Answer { id: Option<String>, text: String },
    /// The summary of a compaction.
    Summary(String),
    /// The mark of a compaction.
    Compaction,
    /// Nothing that counts: bookkeeping, tools, markup, or another thread.
    Nothing,
}

impl TranscriptLine {
    /// Parses a line. Returns `None` if it is incomplete or not an object.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the model that wrote the line in the main thread.
    pub fn model(&self) -> Option<&str> {
        let is_answer = self.kind.as_deref() == Some("assistant") && self.is_sidechain != Some(true);
        let model = self.message.as_ref().filter(|_| is_answer)?.model.as_deref()?;
        // Errors of the host name a model that does not exist.
        (!model.starts_with('<')).then_some(model)
    }

    /// Returns the tokens of the context in which the main thread answered.
    pub fn context_tokens(&self) -> Option<u64> {
        self.model()?;
        let usage = self.message.as_ref()?.usage.as_ref()?;
        let cached = usage.cache_creation_input_tokens.checked_add(usage.cache_read_input_tokens)?;
        usage.input_tokens.checked_add(cached)
    }

    /// Returns the time of the line, with the offset of this machine.
    pub fn moment(&self) -> Option<Moment> {
        let at = Moment::parse_rfc3339(self.timestamp.as_deref()?)?;
        Moment::from_unix(at.unix(), None)
    }

    /// Returns the content of the line for a thread.
    pub fn content(&self, thread: TranscriptThread) -> LineContent {
        let other_thread = thread == TranscriptThread::Main && self.is_sidechain == Some(true);
        if other_thread || self.is_meta == Some(true) {
            return LineContent::Nothing;
        }
        match (self.kind.as_deref(), &self.message) {
            (Some("system"), _) if self.subtype.as_deref() == Some("compact_boundary") => LineContent::Compaction,
            (Some("user"), Some(message)) => self.user_content(&message.content),
            (Some("assistant"), Some(message)) => self.assistant_content(message),
            _ => LineContent::Nothing,
        }
    }

    /// Whether the user interrupted the agent. The turn then has no end of its own.
    pub fn is_interruption(&self) -> bool {
        self.user_text().is_some_and(|text| text.starts_with("[Request interrupted by user"))
    }

    /// Whether the user gave a command of the host, which may begin a turn.
    pub fn is_command(&self) -> bool {
        self.user_text().is_some_and(|text| text.starts_with("<command-"))
    }

    fn user_text(&self) -> Option<String> {
        let message = self.message.as_ref().filter(|_| self.kind.as_deref() == Some("user"))?;
        message.content.text().filter(|_| self.is_sidechain != Some(true))
    }

    fn user_content(&self, content: &MessageContent) -> LineContent {
        let Some(text) = content.text().filter(|_| !content.has_tool_result) else { return LineContent::Nothing };
        if self.is_compact_summary == Some(true) {
            return LineContent::Summary(text);
        }
        let starts = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
        if starts(&HOST_MARKUP) {
            return LineContent::Nothing;
        }
        let by_machine = self.prompt_source.as_deref() == Some("system")
            || self.origin.as_ref().is_some_and(|origin| origin.kind != "human");
        if by_machine || starts(&MACHINE_PROMPT) { LineContent::MachinePrompt } else { LineContent::Prompt(text) }
    }

    fn assistant_content(&self, message: &TranscriptMessage) -> LineContent {
        // The host writes its own errors as answers of a model that does not exist.
        if self.is_api_error_message == Some(true) || message.model.as_deref() == Some("<synthetic>") {
            return LineContent::Nothing;
        }
        let answer = |text| LineContent::Answer { id: message.id.clone(), text };
        message.content.text().map_or(LineContent::Nothing, answer)
    }
}

impl MessageContent {
    /// Returns the texts with a blank line between them, without injected text, or `None` if nothing is left.
    fn text(&self) -> Option<String> {
        let texts: Vec<_> = self.texts.iter().map(|text| strip_injected(text)).collect();
        let texts: Vec<_> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = MessageContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MessageContent, E> {
        Ok(MessageContent { texts: vec![text.to_owned()], has_tool_result: false })
    }

    fn visit_unit<E: de::Error>(self) -> Result<MessageContent, E> {
        Ok(MessageContent::default())
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<MessageContent, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(MessageContent::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<MessageContent, A::Error> {
        let mut content = MessageContent::default();
        while let Some(block) = blocks.next_element::<TextBlock>()? {
            match block.kind.as_deref() {
                Some("text") => content.texts.extend(block.text),
                Some("tool_result") => content.has_tool_result = true,
                _ => {}
            }
        }
        Ok(content)
    }
}
