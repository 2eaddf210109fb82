//! Resources: memory as documents that people attach to a conversation and that hosts watch.

use std::fmt;

use chrono::NaiveDate;
use rmcp::ErrorData;
use rmcp::model::{Annotations, ArgumentInfo, Resource, ResourceContents, ResourceTemplate, Role};
use schema::log::LogKind;
use schema::model::moment::Moment;
use schema::privacy::output_text::clean_text;
use schema::tool::{GetInput, GetOutput, Hit, MemoryDetails};
use serde_json::json;
use tools::error::ToolError;

use super::{result_text, tool_call};
use crate::change_feed::StoreChange;
use crate::dispatcher::{Dispatcher, ReadNeed};

/// Number of daily logs in the list. Older logs can be read by URI.
const LISTED: usize = 30;

const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResourceUri {
    LongTerm,
    Today,
    Daily(NaiveDate),
    /// A memory, or a passage of a note. The id comes from a search hit.
    Memory(String),
    Stats,
}

impl ResourceUri {
    pub(super) fn parse(uri: &str) -> Option<Self> {
        Some(match uri.strip_prefix("memory://")? {
            "long-term" => Self::LongTerm,
            "today" => Self::Today,
            "stats" => Self::Stats,
            rest => match rest.split_once('/')? {
                ("daily", date) => Self::Daily(log_date(LogKind::from_path(&format!("{date}.md"))?)?),
                ("memory", id) if !id.is_empty() && !id.contains('/') => Self::Memory(id.to_owned()),
                _ => return None,
            },
        })
    }

    pub(super) async fn read(&self, dispatcher: &Dispatcher) -> Result<ResourceContents, ToolError> {
        let (text, mime_type) = match self {
            Self::Memory(id) => {
                let input = GetInput { id: Some(id.clone()), ..GetInput::default() };
                let found = dispatcher.read(ReadNeed::CaughtUpIndex, None, move |engine, _| engine.get(&input)).await?;
                (memory_text(&found), MARKDOWN)
            }
            Self::Stats => (json!(tool_call::read_stats(dispatcher, None).await?).to_string(), JSON),
            Self::LongTerm | Self::Today | Self::Daily(_) => {
                let log = self.log_kind().unwrap_or(LogKind::LongTerm);
                (dispatcher.read(ReadNeed::OpenStore, None, move |engine, _| engine.log_text(log)).await?, MARKDOWN)
            }
        };
        Ok(ResourceContents::text(clean_text(&text), self.to_string()).with_mime_type(mime_type))
    }

    fn log_kind(&self) -> Option<LogKind> {
        match self {
            Self::LongTerm => Some(LogKind::LongTerm),
            Self::Today => Some(LogKind::Daily(Moment::now().date())),
            Self::Daily(date) => Some(LogKind::Daily(*date)),
            Self::Memory(_) | Self::Stats => None,
        }
    }

    /// Whether a change may affect this resource. A memory can be in any file, and statistics depend on all files.
    pub(super) fn may_be_changed_by(&self, change: &StoreChange) -> bool {
        match (self.log_kind(), change) {
            (Some(log), StoreChange::Files { changed, .. }) => {
                log.file_names().iter().any(|name| changed.contains(name))
            }
            _ => true,
        }
    }
}

impl fmt::Display for ResourceUri {
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

/// Lists only resources that can be read now.
pub(super) fn list_resources(logs: &[LogKind]) -> Vec<Resource> {
    let mut listed = Vec::new();
    if logs.contains(&LogKind::LongTerm) {
        let about = "MEMORY.md: what every session should know";
        listed.push(list_entry(&ResourceUri::LongTerm, "long-term", "Long-term memory", about, MARKDOWN));
    }
    if logs.contains(&LogKind::Daily(Moment::now().date())) {
        let about = "Events and memories of today";
        listed.push(list_entry(&ResourceUri::Today, "today", "Today's log", about, MARKDOWN));
    }
    let about = "Number of memories, state of the index, and problems";
    listed.push(list_entry(&ResourceUri::Stats, "stats", "Memory statistics", about, JSON));
    listed.extend(log_dates(logs).take(LISTED).map(|date| {
        let (name, title) = (date.to_string(), format!("Log of {date}"));
        list_entry(&ResourceUri::Daily(date), &name, &title, "Events and memories of that day", MARKDOWN)
    }));
    listed
}

fn list_entry(uri: &ResourceUri, name: &str, title: &str, about: &str, mime_type: &str) -> Resource {
    let priority = if *uri == ResourceUri::LongTerm { 0.8 } else { 0.3 };
    let annotations = Annotations::default().with_audience(vec![Role::User, Role::Assistant]).with_priority(priority);
    let resource = Resource::new(uri.to_string(), name).with_title(title).with_description(about);
    resource.with_mime_type(mime_type).with_annotations(annotations)
}

const DAILY: &str = "memory://daily/{date}";
const MEMORY: &str = "memory://memory/{id}";

pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    [
        (DAILY, "daily", "Log of a day", "Events and memories of a day, for example 2026-01-28"),
        (MEMORY, "memory", "Memory by id", "One memory or passage, by id from a search hit"),
    ]
    .map(|(uri, name, title, description)| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description).with_mime_type(MARKDOWN)
    })
    .to_vec()
}

/// A memory with its source, because a resource has no other fields.
fn memory_text(output: &GetOutput) -> String {
    let mut head = Vec::new();
    if let Some(MemoryDetails { kind, date, session_id, superseded_by, .. }) = &output.memory {
        head.extend([kind.to_string(), date.clone()]);
        head.extend((!session_id.is_empty()).then(|| format!("session {session_id}")));
        head.extend(superseded_by.as_ref().map(|id| format!("superseded by memory://memory/{id}")));
    }
    head.push(format!("{}:{}-{}", output.path, output.start_line, output.end_line));
    result_text::with_notice_line(format!("{}\n\n{}\n", head.join(" · "), output.content), output.notice.as_deref())
}

pub(super) fn resource_error(uri: &str, error: &ToolError) -> ErrorData {
    let data = Some(json!({ "uri": uri }));
    match error {
        ToolError::Invalid(text) | ToolError::NotFound(text) => {
            ErrorData::resource_not_found(format!("no resource {uri}: {text}"), data)
        }
        ToolError::Unavailable(_) | ToolError::Interrupted | ToolError::Damaged(_) | ToolError::Internal(_) => {
            ErrorData::internal_error(format!("cannot read {uri}: {error}"), data)
        }
    }
}

pub(super) fn not_found(uri: &str) -> ErrorData {
    let known =
        format!("memory://long-term, memory://today, {DAILY}, for example 2026-01-28, {MEMORY} and memory://stats");
    ErrorData::resource_not_found(
        format!("no resource {uri:?}: known resources are {known}"),
        Some(json!({ "uri": uri })),
    )
}

/// Completes the argument of a template: dates, or at most `limit` ids.
pub(super) async fn complete(
    template: &str,
    argument: &ArgumentInfo,
    limit: usize,
    dispatcher: &Dispatcher,
) -> Result<Vec<String>, ToolError> {
    let typed = argument.value.trim().to_owned();
    match (template, argument.name.as_str()) {
        (DAILY, "date") => {
            let logs = dispatcher.read(ReadNeed::OpenStore, None, |engine, _| engine.logs()).await?;
            Ok(log_dates(&logs).map(|date| date.to_string()).filter(|date| date.starts_with(&typed)).collect())
        }
        (MEMORY, "id") => {
            dispatcher.read(ReadNeed::CaughtUpIndex, None, move |engine, _| engine.newest_ids(&typed, limit)).await
        }
        _ => Ok(Vec::new()),
    }
}

pub(super) fn is_known_uri(uri: &str) -> bool {
    [DAILY, MEMORY].contains(&uri) || ResourceUri::parse(uri).is_some()
}

/// A link to a search hit.
pub(super) fn hit_link(hit: &Hit) -> Resource {
    let kind = hit.kind.map_or("note", schema::model::memory::MemoryType::as_str);
    let name = hit.date.as_ref().map_or_else(|| kind.to_owned(), |date| format!("{kind} {date}"));
    Resource::new(ResourceUri::Memory(hit.id.clone()).to_string(), name)
}

fn log_dates(logs: &[LogKind]) -> impl Iterator<Item = NaiveDate> {
    logs.iter().copied().filter_map(log_date)
}

fn log_date(log: LogKind) -> Option<NaiveDate> {
    match log {
        LogKind::Daily(date) => Some(date),
        LogKind::LongTerm | LogKind::Team => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn uri_round_trips_and_invalid_uris_are_rejected() {
        let good = [
            "memory://long-term",
            "memory://today",
            "memory://daily/2026-01-28",
            "memory://memory/4f36.2",
            "memory://stats",
        ];
        for uri in good {
            assert_eq!(ResourceUri::parse(uri).map(|parsed| parsed.to_string()).as_deref(), Some(uri));
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
            assert_eq!(ResourceUri::parse(uri), None, "{uri}");
        }
    }

    #[test]
    fn changed_log_affects_its_resource_memories_and_stats() {
        let change = StoreChange::Files { changed: BTreeSet::from(["2026-01-28.md".to_owned()]), logs_differ: false };
        let concerned = |uri: &str| ResourceUri::parse(uri).unwrap().may_be_changed_by(&change);
        assert!(
            concerned("memory://daily/2026-01-28") && concerned("memory://memory/a") && concerned("memory://stats")
        );
        assert!(!concerned("memory://daily/2026-01-27") && !concerned("memory://long-term"));
        assert!(ResourceUri::LongTerm.may_be_changed_by(&StoreChange::Anything));
    }
}
