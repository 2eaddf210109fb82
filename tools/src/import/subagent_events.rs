//! Reads what subagents did and reported from their transcripts next to the session's.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use schema::files::regular_file;
use schema::files::store_file::is_linked_file;
use schema::host::hook::deserialize_lenient;
use schema::host::transcript::TranscriptThread;
use schema::host::transcript::line::{LineContent, TranscriptLine};
use schema::host::transcript::line_reader::ForwardLines;
use schema::model::moment::Moment;
use schema::settings::LoadedSettings;
use serde::Deserialize;

use super::replay_context::{ReplayContext, ReplayEvent};
use super::tool_record::ToolRecord;

/// An event in a subagent.
#[derive(Debug, Clone)]
pub(super) struct SubagentRecord {
    pub(super) at: Moment,
    pub(super) session_id: Option<String>,
    pub(super) event: ReplayEvent,
}

/// The host's metadata of a subagent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubagentMeta {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    agent_type: Option<String>,
}

/// All events of a session's subagents, in order of time. Unreadable files are skipped.
pub(super) fn read_subagent_events(folder: &Path, project: &Path, loaded: &LoadedSettings) -> VecDeque<SubagentRecord> {
    let Ok(listing) = fs::read_dir(folder) else { return VecDeque::new() };
    let mut files: Vec<PathBuf> = listing.filter_map(|item| Some(item.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl") && !is_linked_file(path));
    files.sort();
    let mut events = Vec::new();
    for file in files {
        let context = ReplayContext::new(project, loaded, String::new());
        read_transcript(&file, context, &mut events);
    }
    events.sort_by_key(|record| record.at);
    events.into()
}

fn read_transcript(path: &Path, mut context: ReplayContext<'_>, events: &mut Vec<SubagentRecord>) {
    let Ok(mut lines) = ForwardLines::open(path, 0) else { return };
    let about = regular_file::read(&path.with_extension("meta.json"), regular_file::MAX_BYTES).ok();
    let about: SubagentMeta = about.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut report: Option<(Option<String>, String, Moment)> = None;
    while let Ok(Some(bytes)) = lines.next_line() {
        let (Some(line), Some(record)) = (TranscriptLine::parse(bytes), ToolRecord::parse(bytes)) else { continue };
        let Some(at) = line.moment() else { continue };
        let session_id = record.session_id.clone().filter(|id| !id.is_empty());
        if let Some(session_id) = &session_id {
            context.session_id.clone_from(session_id);
        }
        let record_of = |event| SubagentRecord { at, session_id: session_id.clone(), event };
        if let LineContent::Answer { id, text } = line.content(TranscriptThread::Subagent) {
            match &mut report {
                Some((known, whole, last)) if known.is_some() && *known == id => {
                    whole.push_str("\n\n");
                    whole.push_str(&text);
                    *last = at;
                }
                report => *report = Some((id, text, at)),
            }
        }
        let tools = record.tools();
        if !tools.started.is_empty() {
            // Text before a tool call is not the report yet.
            report = None;
        }
        context.start_tools(tools.started);
        for done in tools.finished {
            events.extend(context.finish_tool(done, record.cwd.as_deref()).map(record_of));
        }
    }
    let Some((_, text, at)) = report else { return };
    let agent_type = about.agent_type.filter(|kind| !kind.is_empty());
    let session_id = Some(context.session_id).filter(|id| !id.is_empty());
    events.push(SubagentRecord { at, session_id, event: ReplayEvent::Reported { agent_type, text } });
}
