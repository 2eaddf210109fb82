//! Resources: memory as documents that people attach to a conversation and that hosts watch.

use std::fmt;

use chrono::NaiveDate;
use rmcp::ErrorData;
use rmcp::model::{Annotations, ArgumentInfo, Resource, ResourceContents, ResourceTemplate, Role};
use schema::daily_log::LogKind;
use schema::moment::Moment;
use schema::sanitize::sanitize;
use schema::tool::{AboutMemory, GetInput, GetOutput, Hit};
use serde_json::json;
use tools::error::ToolError;

use super::{call, text};
use crate::changes::Change;
use crate::dispatcher::{Dispatcher, Need};

/// Daily logs that are listed; older ones are found by their template.
const LISTED: usize = 30;

const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// The URI of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Uri {
    LongTerm,
    Today,
    Daily(NaiveDate),
    /// A memory, or a passage of a note, by the id of a search hit.
    Memory(String),
    Stats,
}

impl Uri {
    pub(super) fn parse(uri: &str) -> Option<Self> {
        Some(match uri.strip_prefix("memory://")? {
            "long-term" => Self::LongTerm,
            "today" => Self::Today,
            "stats" => Self::Stats,
            rest => match rest.split_once('/')? {
                ("daily", date) => match LogKind::of(&format!("{date}.md"))? {
                    LogKind::Daily(date) => Self::Daily(date),
                    LogKind::LongTerm => return None,
                },
                ("memory", id) if !id.is_empty() && !id.contains('/') => Self::Memory(id.to_owned()),
                _ => return None,
            },
        })
    }

    /// What is there to read.
    pub(super) async fn contents(&self, dispatcher: &Dispatcher) -> Result<ResourceContents, ToolError> {
        let (text, mime_type) = match self {
            Self::Memory(id) => {
                let input = GetInput { id: Some(id.clone()), ..GetInput::default() };
                let found = dispatcher.read(Need::Index, None, move |engine, _| engine.get(&input)).await?;
                (memory(&found), MARKDOWN)
            }
            Self::Stats => (json!(call::stats(dispatcher, None).await?).to_string(), JSON),
            Self::LongTerm | Self::Today | Self::Daily(_) => {
                let log = self.log().unwrap_or(LogKind::LongTerm);
                (dispatcher.read(Need::Store, None, move |engine, _| engine.text(log)).await?, MARKDOWN)
            }
        };
        Ok(ResourceContents::text(sanitize(&text), self.to_string()).with_mime_type(mime_type))
    }

    /// The log that it is, if it is one.
    fn log(&self) -> Option<LogKind> {
        match self {
            Self::LongTerm => Some(LogKind::LongTerm),
            Self::Today => Some(LogKind::Daily(Moment::now().date())),
            Self::Daily(date) => Some(LogKind::Daily(*date)),
            Self::Memory(_) | Self::Stats => None,
        }
    }

    /// Whether a change may have changed it. A memory may stand in any file, and statistics count all of them.
    pub(super) fn may_be_changed_by(&self, change: &Change) -> bool {
        match (self.log(), change) {
            (Some(log), Change::Files { changed, .. }) => log.file_names().iter().any(|name| changed.contains(name)),
            _ => true,
        }
    }

    fn resource(&self) -> Resource {
        let (name, title, description, mime_type) = match self {
            Self::LongTerm => (
                "long-term".to_owned(),
                "Long-term memory".to_owned(),
                "MEMORY.md: what every session should know",
                MARKDOWN,
            ),
            Self::Today => ("today".to_owned(), "Today's log".to_owned(), "What was said and done today", MARKDOWN),
            Self::Daily(date) => {
                (date.to_string(), format!("Log of {date}"), "What was said and done that day", MARKDOWN)
            }
            Self::Memory(id) => (id.clone(), "Memory".to_owned(), "One memory", MARKDOWN),
            Self::Stats => {
                ("stats".to_owned(), "Memory statistics".to_owned(), "What there is, and what is wrong", JSON)
            }
        };
        let resource = Resource::new(self.to_string(), name).with_title(title);
        let resource = resource.with_description(description).with_mime_type(mime_type);
        let priority = if *self == Self::LongTerm { 0.8 } else { 0.3 };
        resource.with_annotations(
            Annotations::default().with_audience(vec![Role::User, Role::Assistant]).with_priority(priority),
        )
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongTerm => f.write_str("memory://long-term"),
            Self::Today => f.write_str("memory://today"),
            Self::Daily(date) => write!(f, "memory://daily/{date}"),
            Self::Memory(id) => write!(f, "memory://memory/{id}"),
            Self::Stats => f.write_str("memory://stats"),
        }
    }
}

/// The list of resources when there are these logs: only what can be read.
pub(super) fn list(logs: &[LogKind]) -> Vec<Resource> {
    let today = Uri::Today.log();
    let mut uris = Vec::new();
    uris.extend(logs.contains(&LogKind::LongTerm).then_some(Uri::LongTerm));
    uris.extend(logs.iter().any(|log| Some(*log) == today).then_some(Uri::Today));
    uris.push(Uri::Stats);
    uris.extend(dates(logs).take(LISTED).map(Uri::Daily));
    uris.iter().map(Uri::resource).collect()
}

const DAILY: &str = "memory://daily/{date}";
const MEMORY: &str = "memory://memory/{id}";

/// The templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    [
        (DAILY, "daily", "Log of a day", "What was said and done on a day, as 2026-01-28"),
        (MEMORY, "memory", "Memory by id", "One memory or passage, by the id of a search hit"),
    ]
    .map(|(uri, name, title, description)| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description).with_mime_type(MARKDOWN)
    })
    .to_vec()
}

/// A memory with where it is from, because its reader sees nothing else of it.
fn memory(output: &GetOutput) -> String {
    let mut head = Vec::new();
    if let Some(AboutMemory { kind, date, session_id, superseded_by, .. }) = &output.memory {
        head.extend([kind.to_string(), date.clone()]);
        head.extend((!session_id.is_empty()).then(|| format!("session {session_id}")));
        head.extend(superseded_by.as_ref().map(|id| format!("superseded by memory://memory/{id}")));
    }
    head.push(format!("{}:{}-{}", output.path, output.start_line, output.end_line));
    text::with_notice(format!("{}\n\n{}\n", head.join(" · "), output.content), output.notice.as_deref())
}

/// Why a resource cannot be read.
pub(super) fn fault(uri: &str, error: &ToolError) -> ErrorData {
    let data = Some(json!({ "uri": uri }));
    match error {
        ToolError::Invalid(text) | ToolError::NotFound(text) => {
            ErrorData::resource_not_found(format!("no resource {uri}: {text}"), data)
        }
        ToolError::Unavailable(_) | ToolError::Interrupted | ToolError::Damaged(_) | ToolError::Internal(_) => {
            ErrorData::internal_error(format!("cannot read {uri} now: {error}"), data)
        }
    }
}

/// Nothing is at this URI, and nothing ever will be.
pub(super) fn unknown(uri: &str) -> ErrorData {
    let known = format!("memory://long-term, memory://today, {DAILY} as 2026-01-28, {MEMORY} and memory://stats");
    ErrorData::resource_not_found(format!("no resource {uri:?}: there are {known}"), Some(json!({ "uri": uri })))
}

/// The values that complete what was typed for an argument of a template, at most `limit` ids.
pub(super) async fn complete(
    template: &str,
    argument: &ArgumentInfo,
    limit: usize,
    dispatcher: &Dispatcher,
) -> Result<Vec<String>, ToolError> {
    let typed = argument.value.trim().to_owned();
    match (template, argument.name.as_str()) {
        (DAILY, "date") => {
            let logs = dispatcher.read(Need::Store, None, |engine, _| engine.logs()).await?;
            Ok(dates(&logs).map(|date| date.to_string()).filter(|date| date.starts_with(&typed)).collect())
        }
        (MEMORY, "id") => dispatcher.read(Need::Index, None, move |engine, _| engine.newest_ids(&typed, limit)).await,
        _ => Ok(Vec::new()),
    }
}

/// Whether a template of this URI is listed, or a resource.
pub(super) fn is_known(uri: &str) -> bool {
    [DAILY, MEMORY].contains(&uri) || Uri::parse(uri).is_some()
}

/// The link of a search hit.
pub(super) fn link(hit: &Hit) -> Resource {
    let kind = hit.kind.map_or("note", schema::memory::MemoryType::as_str);
    let name = hit.date.as_ref().map_or_else(|| kind.to_owned(), |date| format!("{kind} {date}"));
    Resource::new(Uri::Memory(hit.id.clone()).to_string(), name)
}

fn dates(logs: &[LogKind]) -> impl Iterator<Item = NaiveDate> {
    logs.iter().filter_map(|log| match log {
        LogKind::Daily(date) => Some(*date),
        LogKind::LongTerm => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_uri_is_what_it_was_read_from_and_what_is_none_is_refused() {
        let good = [
            "memory://long-term",
            "memory://today",
            "memory://daily/2026-01-28",
            "memory://memory/4f36.2",
            "memory://stats",
        ];
        for uri in good {
            assert_eq!(Uri::parse(uri).map(|parsed| parsed.to_string()).as_deref(), Some(uri));
        }
        for uri in [
            "",
            "memory://",
            "memory://daily",
            "memory://daily/",
            "memory://daily/2026-1-28",
            "memory://daily/MEMORY",
            "memory://memory/",
            "memory://memory/a/b",
            "memory://memory/../x",
            "file:///etc/passwd",
            "MEMORY://today",
        ] {
            assert_eq!(Uri::parse(uri), None, "{uri}");
        }
    }

    #[test]
    fn a_change_of_one_log_concerns_that_log_and_what_is_made_of_all() {
        let change = Change::Files { changed: BTreeSet::from(["2026-01-28.md".to_owned()]), logs_differ: false };
        let concerned = |uri: &str| Uri::parse(uri).unwrap().may_be_changed_by(&change);
        assert!(
            concerned("memory://daily/2026-01-28") && concerned("memory://memory/a") && concerned("memory://stats")
        );
        assert!(!concerned("memory://daily/2026-01-27") && !concerned("memory://long-term"));
        assert!(Uri::LongTerm.may_be_changed_by(&Change::Anything));
    }
}
