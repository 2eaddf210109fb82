//! One line of a transcript: which of its fields are read, and what they say.

use std::fmt;

use serde::de::{self, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Thread;
use crate::hook::lenient;
use crate::host_text::{HOST_MARKUP, MACHINE_PROMPT, without_injected};
use crate::moment::Moment;

/// A line, as far as it is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    subtype: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    timestamp: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    is_sidechain: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    is_meta: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    is_compact_summary: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    is_api_error_message: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_source: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    origin: Option<Origin>,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Origin {
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(default)]
    content: Content,
}

/// The texts of a message, which the host writes as a string or as blocks.
#[derive(Debug, Default)]
struct Content {
    texts: Vec<String>,
    holds_tool_result: bool,
}

#[derive(Debug, Deserialize)]
struct Block {
    #[serde(default, rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    text: Option<String>,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A person's prompt.
    Prompt(String),
    /// A turn that the host began itself.
    MachinePrompt,
    /// Text of the answer with this id.
    Answer { id: Option<String>, text: String },
    /// The summary that a compaction left.
    Summary(String),
    /// The mark of a compaction.
    Compaction,
    /// Nothing of ours: bookkeeping, tools, markup, another thread.
    Nothing,
}

impl Line {
    /// Reads a line; `None` when it is torn or no object.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// When it was said, at this machine's offset.
    pub(crate) fn at(&self) -> Option<Moment> {
        let at = Moment::parse_rfc3339(self.timestamp.as_deref()?)?;
        Moment::from_unix(at.unix(), None)
    }

    /// What the line says in a thread.
    pub(crate) fn heard(&self, thread: Thread) -> Heard {
        let other_thread = thread == Thread::Main && self.is_sidechain == Some(true);
        if other_thread || self.is_meta == Some(true) {
            return Heard::Nothing;
        }
        match (self.kind.as_deref(), &self.message) {
            (Some("system"), _) if self.subtype.as_deref() == Some("compact_boundary") => Heard::Compaction,
            (Some("user"), Some(message)) => self.user(&message.content),
            (Some("assistant"), Some(message)) => self.assistant(message),
            _ => Heard::Nothing,
        }
    }

    /// Whether the user stopped the agent here, after which a turn has no end of its own.
    pub(crate) fn is_interruption(&self) -> bool {
        self.user_text().is_some_and(|text| text.starts_with("[Request interrupted by user"))
    }

    /// Whether the user gave a command of the host here, which may begin a turn.
    pub(crate) fn is_command(&self) -> bool {
        self.user_text().is_some_and(|text| text.starts_with("<command-"))
    }

    fn user_text(&self) -> Option<String> {
        let message = self.message.as_ref().filter(|_| self.kind.as_deref() == Some("user"))?;
        message.content.text().filter(|_| self.is_sidechain != Some(true))
    }

    fn user(&self, content: &Content) -> Heard {
        let Some(text) = content.text().filter(|_| !content.holds_tool_result) else { return Heard::Nothing };
        if self.is_compact_summary == Some(true) {
            return Heard::Summary(text);
        }
        let starts = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark));
        if starts(&HOST_MARKUP) {
            return Heard::Nothing;
        }
        let by_machine = self.prompt_source.as_deref() == Some("system")
            || self.origin.as_ref().is_some_and(|origin| origin.kind != "human");
        if by_machine || starts(&MACHINE_PROMPT) { Heard::MachinePrompt } else { Heard::Prompt(text) }
    }

    fn assistant(&self, message: &Message) -> Heard {
        // The host writes its own faults as answers of a model that does not exist.
        if self.is_api_error_message == Some(true) || message.model.as_deref() == Some("<synthetic>") {
            return Heard::Nothing;
        }
        match message.content.text() {
            Some(text) => Heard::Answer { id: message.id.clone(), text },
            None => Heard::Nothing,
        }
    }
}

impl Content {
    /// The texts with a blank line between them and without what was injected; `None` when that leaves nothing.
    fn text(&self) -> Option<String> {
        let texts: Vec<_> = self.texts.iter().map(|text| without_injected(text)).collect();
        let texts: Vec<_> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
        Ok(Content { texts: vec![text.to_owned()], holds_tool_result: false })
    }

    fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(block) = blocks.next_element::<Block>()? {
            match block.kind.as_deref() {
                Some("text") => content.texts.extend(block.text),
                Some("tool_result") => content.holds_tool_result = true,
                _ => {}
            }
        }
        Ok(content)
    }
}
