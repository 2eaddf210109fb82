//! The buffer of a session's tool use: one line for each use. At a failure, a compaction and the end of the turn they become a memory.
//!
//! A process that takes the uses moves them to a second file, whose lock it holds while it saves them. The lock of the buffer is held only
//! for the move, so that other processes can add uses meanwhile.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::crash_point;
use crate::files::database::LockTimeout;
use crate::files::layout::Layout;
use crate::files::lock::lock_within;
use crate::files::store_file::{self, options_for_private, verify};
use crate::host::hook::{ToolChange, ToolUse};
use crate::host::session_context::GIVEN;
use crate::model::failure::{Attempt, Success, is_settled_by};
use crate::model::memory::MemoryId;
use crate::model::moment::Moment;
use crate::model::tool_usage::{self, FileEdit};
use crate::privacy::sanitizer::Sanitizer;
use crate::store::StoreError;

/// The endings of a session's two files: the uses that wait, and those that a process is saving.
const BUFFERS: [&str; 2] = ["jsonl", "taken"];

/// The longest file name and command, in bytes. Longer ones lose their end.
const LINE_LIMIT: usize = 1_024;

/// The longest text of a change, in bytes.
const CHANGE_LIMIT: usize = 16 * 1_024;

/// How long an unused buffer stays, and an unused list of the memories that a session was given.
const MAX_IDLE: Duration = Duration::from_hours(24);
/// A review reads the lists of 180 days, so they stay a month longer.
const MAX_GIVEN_IDLE: Duration = Duration::from_hours(210 * 24);

/// A use of a file or a command, as a line of a buffer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferedUse {
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The change of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The attempt that succeeded after it had failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<Attempt>,
    /// The id of the prompt at the start of a turn. It is empty if that prompt has no memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// If the turn goes on: the files whose changes a failure or a compaction has already saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<String>,
}

/// The content of a buffer: each file and each command once, in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUses {
    pub files: Vec<String>,
    pub commands: Vec<String>,
    pub changes: Vec<FileEdit>,
    pub succeeded: Vec<Success>,
    /// The prompt at the start of the turn, unless the turn has none.
    pub prompt: Option<TurnPrompt>,
    /// The files whose changes a failure or a compaction has already saved.
    pub recorded: Vec<String>,
    /// The time of the last use.
    pub at: Moment,
}

/// The prompt at the start of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPrompt {
    /// `None` if the prompt means nothing by itself and was not stored.
    pub memory: Option<MemoryId>,
    /// When the turn began.
    pub at: Moment,
}

/// Returns a use as a line of the buffer, or a success after a failure, which is worth recording even if it changed nothing.
pub fn to_buffered_use(
    ToolUse { attempt, changed, .. }: &ToolUse,
    is_success: bool,
    at: &Moment,
    sanitizer: &Sanitizer,
) -> BufferedUse {
    let succeeded = is_success.then(|| attempt.clone());
    let mut line = BufferedUse { at: at.rfc3339(), succeeded, ..BufferedUse::default() };
    match changed {
        Some(ToolChange::File { path, change }) => {
            line.file = Some(clean_use(path, sanitizer));
            line.change = change.as_ref().map(|text| text[..text.floor_char_boundary(CHANGE_LIMIT)].to_owned());
        }
        Some(ToolChange::Command(command)) => line.command = Some(clean_use(command, sanitizer)),
        None => line.command = attempt.input.as_deref().filter(|_| is_success).map(|input| clean_use(input, sanitizer)),
    }
    line
}

/// Appends the start of a turn.
pub fn begin(layout: &Layout, session_id: &str, prompt: &TurnPrompt) -> Result<(), StoreError> {
    resume(layout, session_id, Some(prompt), Vec::new(), &prompt.at)
}

/// Appends that a turn goes on whose changes to these files were saved.
pub fn resume(
    layout: &Layout,
    session_id: &str,
    prompt: Option<&TurnPrompt>,
    recorded: Vec<String>,
    at: &Moment,
) -> Result<(), StoreError> {
    if prompt.is_none() && recorded.is_empty() {
        return Ok(());
    }
    let at = prompt.map_or(at, |prompt| &prompt.at).rfc3339();
    let prompt = prompt.map(|prompt| prompt.memory.as_ref().map(ToString::to_string).unwrap_or_default());
    append(layout, session_id, &BufferedUse { at, prompt, recorded, ..BufferedUse::default() })
}

/// Appends a line to the buffer of a session.
pub fn append(layout: &Layout, session_id: &str, line: &BufferedUse) -> Result<(), StoreError> {
    let path = layout.session_file(session_id, BUFFERS[0]);
    let io_error = |source| StoreError::Io { doing: "append to", path: path.clone(), source };
    let json = serde_json::to_string(line).map_err(|error| io_error(error.into()))?;
    let mut buffer = options_for_private().append(true).create(true).open(&path).map_err(io_error)?;
    // A crash can have left an incomplete line at the end.
    lock_buffer(&buffer).and_then(|()| buffer.write_all(format!("\n{json}\n").as_bytes())).map_err(io_error)
}

/// Returns a file or a command in the form in which it is stored.
fn clean_use(text: &str, sanitizer: &Sanitizer) -> String {
    let text = sanitizer.clean(text).text;
    text[..text.floor_char_boundary(LINE_LIMIT)].to_owned()
}

/// Waits for other processes that lock the buffer, which takes them microseconds, but not for one that hangs.
fn lock_buffer(buffer: &File) -> io::Result<()> {
    lock_within(buffer, LockTimeout::Hook.duration())
}

/// Passes the content of the buffer to `save`, unless it is empty, and forgets it if that succeeds. Does nothing while another process
/// takes uses of the same session.
///
/// A process that is killed leaves its uses to the next one, which passes them on again.
pub fn take_uses(
    layout: &Layout,
    session_id: &str,
    save: impl FnOnce(ToolUses) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let [path, taken] = BUFFERS.map(|ending| layout.session_file(session_id, ending));
    if !path.exists() && !taken.exists() {
        return Ok(());
    }
    let io_error = |source| StoreError::Io { doing: "take the tool use from", path: path.clone(), source };
    let mut taken = options_for_private().read(true).create(true).truncate(false).open(&taken).map_err(io_error)?;
    match lock_buffer(&taken) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        locked => locked.map_err(io_error)?,
    }
    move_uses(&path, &mut taken).map_err(io_error)?;
    let text = read_buffer(&mut taken).map_err(io_error)?;
    if let Some(uses) = parse_buffer(&text) {
        save(uses)?;
        crash_point::crash_if_armed("track.kept");
    }
    taken.set_len(0).map_err(io_error)
}

/// Returns the files that the current turn of a session changed so far. The buffer stays as it is.
pub fn files_of_turn(layout: &Layout, session_id: &str) -> Vec<String> {
    let read = |ending| store_file::read(&layout.session_file(session_id, ending)).unwrap_or_default();
    let text = BUFFERS.map(|ending| String::from_utf8_lossy(&read(ending)).into_owned()).join("\n");
    parse_buffer(&text).map(|uses| uses.files_of_turn()).unwrap_or_default()
}

/// Moves the content of a buffer to the end of an open file.
fn move_uses(path: &Path, taken: &mut File) -> io::Result<()> {
    let Some((buffer, text)) = open_buffer(path)? else { return Ok(()) };
    // A crash can have left an incomplete line at the end.
    taken.seek(SeekFrom::End(0))?;
    taken.write_all(format!("\n{text}").as_bytes())?;
    crash_point::crash_if_armed("track.moved");
    buffer.set_len(0)
}

/// Removes buffers that have been empty for a day, and lists of given memories that have not grown for seven months. A younger buffer may
/// just have been opened by a writer.
pub fn remove_old_files(layout: &Layout) {
    let is_done = |path: &Path, metadata: &fs::Metadata| {
        let is_given = path.extension().is_some_and(|ending| ending == GIVEN);
        let max_idle = if is_given { MAX_GIVEN_IDLE } else { MAX_IDLE };
        let is_old = metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > max_idle));
        // Earlier versions wrote lists with this extension.
        is_old && (metadata.len() == 0 || is_given || path.extension().is_some_and(|ending| ending == "shown"))
    };
    if verify(&layout.track_dir()).is_err() {
        return;
    }
    for item in fs::read_dir(layout.track_dir()).into_iter().flatten().filter_map(Result::ok) {
        if item.metadata().is_ok_and(|metadata| is_done(&item.path(), &metadata)) {
            // The end of another session may remove the file at the same time.
            let _ = fs::remove_file(item.path());
        }
    }
}

/// Replaces each use in all buffers with what `edit` returns for it; `None` removes it. The second argument of `edit` says whether the
/// buffer belongs to `session_id`.
pub fn rewrite_uses(
    layout: &Layout,
    session_id: Option<&str>,
    edit: &dyn Fn(BufferedUse, bool) -> Option<BufferedUse>,
) -> Result<(), StoreError> {
    if verify(&layout.track_dir()).is_err() {
        return Ok(());
    }
    let listing = fs::read_dir(layout.track_dir()).into_iter().flatten();
    for path in listing.filter_map(|item| Some(item.ok()?.path())) {
        let Some(ending) = BUFFERS.into_iter().find(|ending| path.extension().is_some_and(|found| found == *ending))
        else {
            continue;
        };
        let is_own = session_id.is_some_and(|session_id| path == layout.session_file(session_id, ending));
        rewrite_buffer(&path, &|line| edit(line, is_own)).map_err(StoreError::io("rewrite", path.clone()))?;
    }
    Ok(())
}

/// Replaces each use in a buffer, if there is one.
fn rewrite_buffer(path: &Path, edit: &dyn Fn(BufferedUse) -> Option<BufferedUse>) -> io::Result<()> {
    let Some((mut buffer, before)) = open_buffer(path)? else { return Ok(()) };
    let lines = before.lines().filter_map(|line| serde_json::from_str::<BufferedUse>(line).ok()).filter_map(edit);
    let after: String = lines.filter_map(|line| serde_json::to_string(&line).ok()).map(|line| line + "\n").collect();
    if after != before {
        buffer.set_len(0)?;
        buffer.seek(SeekFrom::Start(0))?;
        buffer.write_all(after.as_bytes())?;
    }
    Ok(())
}

/// Opens and locks a buffer, if there is one, and returns it with its content.
fn open_buffer(path: &Path) -> io::Result<Option<(File, String)>> {
    let mut buffer = match options_for_private().read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    lock_buffer(&buffer)?;
    let text = read_buffer(&mut buffer)?;
    Ok(Some((buffer, text)))
}

fn read_buffer(buffer: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    buffer.seek(SeekFrom::Start(0))?;
    buffer.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse_buffer(text: &str) -> Option<ToolUses> {
    let mut taken: Option<ToolUses> = None;
    // A process that was killed while it moved the lines leaves them in both files.
    let mut known = HashSet::new();
    let lines = text.lines().filter(|line| known.insert(*line));
    // A crash can leave an incomplete line. Skip it.
    for line in lines.filter_map(|line| serde_json::from_str::<BufferedUse>(line).ok()) {
        let Some(at) = Moment::parse_rfc3339(&line.at) else { continue };
        taken.get_or_insert_with(|| ToolUses::new(at)).add(line, at);
    }
    taken
}

impl ToolUses {
    pub fn new(at: Moment) -> Self {
        let (files, commands, changes, succeeded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { files, commands, changes, succeeded, prompt: None, recorded: Vec::new(), at }
    }

    pub fn add(&mut self, line: BufferedUse, at: Moment) {
        // The time of a use. A prompt may have no use after it.
        let is_start = line.prompt.is_some() || !line.recorded.is_empty();
        if !is_start || self.is_empty() {
            self.at = if self.is_empty() { at } else { self.at.max(at) };
        }
        if let Some(prompt) = line.prompt {
            self.prompt = Some(TurnPrompt { memory: MemoryId::parse(&prompt), at });
        }
        self.recorded.extend(line.recorded);
        if let (Some(file), Some(text)) = (&line.file, line.change) {
            self.changes.push(FileEdit { file: file.clone(), text });
        }
        self.succeeded.extend(line.succeeded.map(|attempt| Success { attempt, at: at.rfc3339() }));
        for (list, item) in [(&mut self.files, line.file), (&mut self.commands, line.command)] {
            list.extend(item.filter(|item| !list.contains(item)));
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty()
    }

    /// Removes the successes of what failed again: only the last attempt settles earlier failures.
    pub fn remove_successes(&mut self, failure: &str) {
        self.succeeded.retain(|success| !is_settled_by(failure, &success.attempt));
    }

    /// Returns the files that the turn changed so far.
    pub fn files_of_turn(&self) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for file in self.recorded.iter().chain(&self.files) {
            if !files.contains(file) {
                files.push(file.clone());
            }
        }
        files
    }

    /// Returns the text of the memory about these uses.
    pub fn text(&self) -> Option<String> {
        tool_usage::describe(&self.files, &self.commands, &self.changes)
    }
}

#[cfg(test)]
mod tests;
