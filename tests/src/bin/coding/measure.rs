//! Measures each part with each server. A part that fails becomes a note.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use harness::coding::{self, CodeChangeCase, MemoryServer, coding_data, measure_code_changes, measure_retrieval};
use harness::evaluation::EvalSet;
use harness::peer::{Peer, PeerError};
use harness::stories::{self, StoryResult, own_stories, play_by_tools};
use serde_json::Value;

use crate::arguments::CodingArguments;
use crate::figures::{SDE, ServerFigures};

/// Our own description.
pub(crate) const OURS: &str = "jikime-memory";

/// How many stories of ours are played at once.
const AT_ONCE: usize = 4;

/// The data of all parts.
struct CodingData {
    retrieval: Vec<EvalSet>,
    stories: Vec<Value>,
    changes: Vec<CodeChangeCase>,
}

/// Measures the servers that are not in earlier reports. Those that were given come first, in their order.
pub(crate) fn measure(
    servers: &[MemoryServer],
    arguments: &CodingArguments,
    mut earlier: Vec<ServerFigures>,
) -> Result<Vec<ServerFigures>, String> {
    let data = CodingData::read(arguments)?;
    let mut measured = Vec::new();
    for server in servers {
        let name = ServerFigures::name_of(&server.peer.description, is_by_tool(server));
        measured.push(match earlier.iter().position(|known| known.name == name) {
            Some(place) => earlier.remove(place),
            None => measure_server(server, &data, arguments.limit),
        });
    }
    measured.extend(earlier);
    Ok(measured)
}

impl CodingData {
    fn read(arguments: &CodingArguments) -> Result<Self, String> {
        let has = |part: &str| arguments.parts.iter().any(|given| given == part);
        let mut retrieval = coding::retrieval_sets()?;
        retrieval.retain(|set| has(part_of(set)));
        let stories = if has("stories") { all_stories()? } else { Vec::new() };
        let changes =
            if has("code") { CodeChangeCase::read_all(&coding_data("code-changes.json"))? } else { Vec::new() };
        Ok(Self { retrieval, stories, changes })
    }
}

/// Whether the server is ours, but measured like the others.
fn is_by_tool(server: &MemoryServer) -> bool {
    server.ours.is_none() && server.peer.description.name == OURS
}

fn part_of(set: &EvalSet) -> &'static str {
    match set.name.as_str() {
        name if name.starts_with(SDE) => "sde",
        "notes" => "notes",
        _ => "pairs",
    }
}

/// Returns the stories of all files in turns, so that those that a slow server gets are of all kinds.
fn all_stories() -> Result<Vec<Value>, String> {
    let folder = own_stories("");
    let listing = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut files: Vec<_> = paths.iter().map(|path| stories::read(path).into_iter()).collect();
    let mut all = Vec::new();
    loop {
        let turn: Vec<Value> = files.iter_mut().filter_map(Iterator::next).collect();
        if turn.is_empty() {
            return Ok(all);
        }
        all.extend(turn);
    }
}

fn measure_server(server: &MemoryServer, data: &CodingData, limit: Duration) -> ServerFigures {
    let mut figures = ServerFigures::new(&server.peer.description, is_by_tool(server));
    for set in &data.retrieval {
        progress(&figures.name, &set.name);
        match measure_retrieval(server, set, limit) {
            Ok(counts) => figures.add_retrieval(&set.name, &counts),
            Err(error) => figures.notes.push(failed(&set.name, &error)),
        }
    }
    if !data.stories.is_empty() {
        progress(&figures.name, "stories");
        match play_stories(server, &data.stories, limit) {
            Ok(results) => figures.add_stories(&results, data.stories.len()),
            Err(error) => figures.notes.push(failed("stories", &error)),
        }
    }
    if !data.changes.is_empty() {
        progress(&figures.name, "code");
        match measure_code_changes(server, &data.changes) {
            Ok(counts) => figures.add_code_changes(&counts),
            Err(error) => figures.notes.push(failed("code changes", &error)),
        }
    }
    figures
}

fn play_stories(server: &MemoryServer, all: &[Value], limit: Duration) -> Result<Vec<StoryResult>, PeerError> {
    match &server.ours {
        Some(binaries) => Ok(stories::play_all(all, binaries, AT_ONCE)),
        None => play_in_time(&server.peer, all, limit),
    }
}

fn play_in_time(peer: &Peer, all: &[Value], limit: Duration) -> Result<Vec<StoryResult>, PeerError> {
    let started = Instant::now();
    all.iter().take_while(|_| started.elapsed() < limit).map(|story| play_by_tools(story, peer)).collect()
}

fn progress(server: &str, part: &str) {
    let _ = writeln!(io::stderr(), "{server}: {part}");
}

/// Reports a failure, and returns its reason without paths of this machine, because documents have it.
fn failed(part: &str, error: &PeerError) -> String {
    let reason = match error {
        PeerError::Start { .. } => "not installed".to_owned(),
        PeerError::Refused { method, .. } => format!("{method} failed"),
        PeerError::Failed(_) => "failed".to_owned(),
        error => error.to_string(),
    };
    progress(part, &error.to_string());
    format!("{part}: {reason}")
}
