//! What subagents did and reported, from transcripts of their own beside that of their session.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::record::Record;
use super::replay::Scene;
use crate::hook::{Use, lenient};
use crate::moment::Moment;
use crate::own_file::is_linked_file;
use crate::regular_file;
use crate::screen::Screen;
use crate::transcript::Thread;
use crate::transcript::line::{Heard, Line};
use crate::transcript::lines::Forward;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened {
    Used(Use),
    Failed(String),
    Reported(String),
}

/// Something that happened in a subagent.
#[derive(Debug, Clone)]
pub(super) struct Side {
    pub(super) at: Moment,
    pub(super) session_id: Option<String>,
    pub(super) happened: Happened,
}

/// What the host notes about a subagent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    #[serde(default, deserialize_with = "lenient")]
    agent_type: Option<String>,
}

/// All that happened in the subagents of a session, in the order of time. What cannot be read says nothing.
pub(super) fn side_events(folder: &Path, project: &Path, screen: &Screen) -> VecDeque<Side> {
    let Ok(listing) = fs::read_dir(folder) else { return VecDeque::new() };
    let mut files: Vec<PathBuf> = listing.filter_map(|item| Some(item.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl") && !is_linked_file(path));
    files.sort();
    let mut events = Vec::new();
    for file in files {
        read(&file, project, screen, &mut events);
    }
    events.sort_by_key(|side| side.at);
    events.into()
}

fn read(path: &Path, project: &Path, screen: &Screen, events: &mut Vec<Side>) {
    let Ok(mut lines) = Forward::open(path, 0) else { return };
    let about = regular_file::read(&path.with_extension("meta.json"), regular_file::LARGEST).ok();
    let about: About = about.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let mut scene = Scene::new(project, screen, String::new());
    let mut report: Option<(Option<String>, String, Moment)> = None;
    while let Ok(Some(bytes)) = lines.next() {
        let (Some(line), Some(record)) = (Line::parse(bytes), Record::parse(bytes)) else { continue };
        let Some(at) = line.at() else { continue };
        let session_id = record.session_id.clone().filter(|id| !id.is_empty());
        if let Some(session_id) = &session_id {
            scene.session_id.clone_from(session_id);
        }
        let side = |happened| Side { at, session_id: session_id.clone(), happened };
        if let Heard::Answer { id, text } = line.heard(Thread::Subagent) {
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
        if !tools.begun.is_empty() {
            // What is said before a tool is called is no report yet.
            report = None;
        }
        scene.begin(tools.begun);
        for done in tools.done {
            events.extend(scene.done(done, record.cwd.as_deref()).map(side));
        }
    }
    let Some((_, text, at)) = report else { return };
    let text = about.agent_type.filter(|kind| !kind.is_empty()).map_or(text.clone(), |kind| format!("{kind}: {text}"));
    let session_id = Some(scene.session_id).filter(|id| !id.is_empty());
    events.push(Side { at, session_id, happened: Happened::Reported(text) });
}
