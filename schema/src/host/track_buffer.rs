//! The buffer of a session's tool use: one line for each use. At the end of the turn they become one memory.
//!
//! A process that takes the uses moves them to a second file, whose lock it holds while it saves them. The lock of the buffer is held only
//! for the move, so that other processes can add uses meanwhile.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::files::crash_point;
use crate::files::database::LockTimeout;
use crate::files::layout::Layout;
use crate::files::store_file::{self, options_for_private, verify};
use crate::host::given::GIVEN;
use crate::host::hook::{ToolUse, Used};
use crate::model::failure::{Attempt, Success};
use crate::model::memory::MemoryId;
use crate::model::moment::Moment;
use crate::model::tool_usage::{self, FileChange};
use crate::privacy::sanitizer::Sanitizer;
use crate::store::StoreError;

/// The endings of a session's two files: the uses that wait, and those that a process is saving.
const BUFFERS: [&str; 2] = ["jsonl", "taken"];

/// The longest file name and command, in bytes. Longer ones lose their end.
const LINE_LIMIT: usize = 1_024;

/// The longest text of a change, in bytes.
const CHANGE_LIMIT: usize = 16 * 1_024;

/// How many topics of failures are stored, the newest ones.
const TOPICS: usize = 100;

/// How long an unused buffer stays, and an unused list of the memories that a session was given.
const MAX_IDLE: Duration = Duration::from_hours(24);
const GIVEN_KEPT: Duration = Duration::from_hours(180 * 24);

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
}

/// The content of a buffer: each file and each command once, in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUses {
    pub files: Vec<String>,
    pub commands: Vec<String>,
    pub changes: Vec<FileChange>,
    pub succeeded: Vec<Success>,
    /// The memory of the prompt at the start of the turn. The inner `None` is a prompt without a memory; the outer `None` is a turn without
    /// a prompt.
    pub prompt: Option<Option<MemoryId>>,
    /// The time of the last use.
    pub at: Moment,
}

/// Appends a use, or a success after a failure, which is worth recording even if it changed nothing.
pub fn append_use(
    layout: &Layout,
    session_id: &str,
    used: &Used,
    is_success: bool,
    at: &Moment,
    sanitizer: &Sanitizer,
) -> Result<(), StoreError> {
    let mut line = line_of(used, is_success, sanitizer);
    line.at = at.rfc3339();
    append_line(layout, session_id, &line)
}

/// Returns a use as a line of the buffer, without its time.
pub fn line_of(Used { attempt, changed, .. }: &Used, is_success: bool, sanitizer: &Sanitizer) -> BufferedUse {
    let mut line = BufferedUse { succeeded: is_success.then(|| attempt.clone()), ..BufferedUse::default() };
    match changed {
        Some(ToolUse::File { path, change }) => {
            line.file = Some(clean_use(path, sanitizer));
            line.change = change.as_ref().map(|text| text[..text.floor_char_boundary(CHANGE_LIMIT)].to_owned());
        }
        Some(ToolUse::Command(command)) => line.command = Some(clean_use(command, sanitizer)),
        None => line.command = attempt.input.as_deref().filter(|_| is_success).map(|input| clean_use(input, sanitizer)),
    }
    line
}

/// Appends the start of a turn, with the memory of its prompt if there is one.
pub fn begin(layout: &Layout, session_id: &str, prompt: Option<&MemoryId>, at: &Moment) -> Result<(), StoreError> {
    let prompt = Some(prompt.map(ToString::to_string).unwrap_or_default());
    append_line(layout, session_id, &BufferedUse { at: at.rfc3339(), prompt, ..BufferedUse::default() })
}

fn append_line(layout: &Layout, session_id: &str, line: &BufferedUse) -> Result<(), StoreError> {
    let path = layout.session_file(session_id, BUFFERS[0]);
    let fault = |source| StoreError::Io { doing: "append to", path: path.clone(), source };
    let json = serde_json::to_string(line).map_err(|error| fault(error.into()))?;
    let mut buffer = options_for_private().append(true).create(true).open(&path).map_err(fault)?;
    // A crash can have left an incomplete line at the end.
    lock_buffer(&buffer).and_then(|()| buffer.write_all(format!("\n{json}\n").as_bytes())).map_err(fault)
}

/// Returns a file or a command in the form in which it is stored.
pub fn clean_use(text: &str, sanitizer: &Sanitizer) -> String {
    let text = sanitizer.clean(text).text;
    text[..text.floor_char_boundary(LINE_LIMIT)].to_owned()
}

/// Waits for other processes that lock the buffer, which takes them microseconds, but not for one that hangs.
fn lock_buffer(buffer: &File) -> io::Result<()> {
    let deadline = Instant::now() + LockTimeout::Hook.duration();
    loop {
        match buffer.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(Duration::from_micros(100)),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

/// Passes the content of the buffer to `keep`, unless it is empty, and forgets it if that succeeds. Does nothing while another process
/// takes uses of the same session.
///
/// A process that is killed leaves its uses to the next one, which passes them on again.
pub fn take_uses<E: From<StoreError>>(
    layout: &Layout,
    session_id: &str,
    keep: impl FnOnce(ToolUses) -> Result<(), E>,
) -> Result<(), E> {
    let [path, taken] = BUFFERS.map(|ending| layout.session_file(session_id, ending));
    if !path.exists() && !taken.exists() {
        return Ok(());
    }
    let fault = |source| StoreError::Io { doing: "take the tool use from", path: path.clone(), source };
    let mut taken = options_for_private().read(true).create(true).truncate(false).open(&taken).map_err(fault)?;
    match lock_buffer(&taken) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
        locked => locked.map_err(fault)?,
    }
    move_uses(&path, &mut taken).map_err(fault)?;
    let text = read_buffer(&mut taken).map_err(fault)?;
    if let Some(uses) = parse_buffer(&text) {
        keep(uses)?;
        crash_point::crash_if_armed("track.kept");
    }
    taken.set_len(0).map_err(fault)?;
    Ok(())
}

/// Returns the files that the current turn of a session changed so far. The buffer stays as it is.
pub fn files_of_turn(layout: &Layout, session_id: &str) -> Vec<String> {
    let read = |ending| store_file::read(&layout.session_file(session_id, ending)).unwrap_or_default();
    let text = BUFFERS.map(|ending| String::from_utf8_lossy(&read(ending)).into_owned()).join("\n");
    parse_buffer(&text).map(|uses| uses.files).unwrap_or_default()
}

/// Moves the content of a buffer to the end of an open file.
fn move_uses(path: &Path, taken: &mut File) -> io::Result<()> {
    let mut buffer = match options_for_private().read(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    lock_buffer(&buffer)?;
    let text = read_buffer(&mut buffer)?;
    // A crash can have left an incomplete line at the end.
    taken.seek(SeekFrom::End(0))?;
    taken.write_all(format!("\n{text}").as_bytes())?;
    crash_point::crash_if_armed("track.moved");
    buffer.set_len(0)
}

/// Removes buffers that have been empty for a day, and lists of given memories that have not grown for half a year. A younger buffer may
/// just have been opened by a writer.
pub fn remove_old_files(layout: &Layout) {
    let is_done = |path: &Path, metadata: &fs::Metadata| {
        let is_given = path.extension().is_some_and(|ending| ending == GIVEN);
        let kept = if is_given { GIVEN_KEPT } else { MAX_IDLE };
        let is_old = metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > kept));
        // Earlier versions wrote lists with this extension.
        is_old && (metadata.len() == 0 || is_given || path.extension().is_some_and(|ending| ending == "shown"))
    };
    if verify(&layout.track_dir()).is_err() {
        return;
    }
    let Ok(listing) = fs::read_dir(layout.track_dir()) else { return };
    for item in listing.filter_map(Result::ok) {
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
    let own = |ending| session_id.map(|session_id| layout.session_file(session_id, ending));
    let Ok(listing) = fs::read_dir(layout.track_dir()) else { return Ok(()) };
    for path in listing.filter_map(|item| Some(item.ok()?.path())) {
        let Some(ending) = BUFFERS.into_iter().find(|ending| path.extension().is_some_and(|found| found == *ending))
        else {
            continue;
        };
        let fault = |source| StoreError::Io { doing: "rewrite", path: path.clone(), source };
        let mut buffer = match options_for_private().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(fault)?,
        };
        lock_buffer(&buffer).map_err(fault)?;
        let before = read_buffer(&mut buffer).map_err(fault)?;
        let lines = before.lines().filter_map(|line| serde_json::from_str::<BufferedUse>(line).ok());
        let lines = lines.filter_map(|line| edit(line, Some(&path) == own(ending).as_ref()));
        let after: String =
            lines.filter_map(|line| serde_json::to_string(&line).ok()).map(|line| line + "\n").collect();
        if after != before {
            let rewritten = buffer.set_len(0).and_then(|()| buffer.seek(SeekFrom::Start(0)));
            rewritten.and_then(|_| buffer.write_all(after.as_bytes())).map_err(fault)?;
        }
    }
    Ok(())
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
        taken.get_or_insert_with(|| ToolUses::new(at)).take_in(line, at);
    }
    taken
}

impl ToolUses {
    pub fn new(at: Moment) -> Self {
        let (files, commands, changes, succeeded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { files, commands, changes, succeeded, prompt: None, at }
    }

    pub fn take_in(&mut self, line: BufferedUse, at: Moment) {
        // The time of a use. A prompt may have no use after it.
        if line.prompt.is_none() || self.is_empty() {
            self.at = if self.is_empty() { at } else { self.at.max(at) };
        }
        if let Some(prompt) = line.prompt {
            self.prompt = Some(MemoryId::parse(&prompt));
        }
        if let (Some(file), Some(text)) = (&line.file, line.change) {
            self.changes.push(FileChange { file: file.clone(), text });
        }
        self.succeeded.extend(line.succeeded.map(|attempt| Success { attempt, at: at.rfc3339() }));
        for (list, item) in [(&mut self.files, line.file), (&mut self.commands, line.command)] {
            list.extend(item.filter(|item| !list.contains(item)));
        }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty()
    }

    /// Returns the text of the memory about these uses.
    pub fn text(&self) -> Option<String> {
        tool_usage::describe(&self.files, &self.commands, &self.changes)
    }
}

/// Records the topics of a failure. A later success is compared with them first.
pub fn note_failure(layout: &Layout, topics: &[String]) -> io::Result<()> {
    let path = layout.failed();
    let mut known = failed(layout);
    if topics.iter().all(|topic| known.contains(topic)) {
        return Ok(());
    }
    known.extend(topics.iter().filter(|topic| !known.contains(topic)).cloned().collect::<Vec<_>>());
    let first = known.len().saturating_sub(TOPICS);
    let mut file = options_for_private().create(true).truncate(true).open(&path)?;
    file.write_all((known[first..].join("\n") + "\n").as_bytes())
}

/// Whether something with these topics failed lately, according to this project's hooks. Losing the list loses no memory.
pub fn has_failed(layout: &Layout, topics: &[String]) -> bool {
    let known = failed(layout);
    topics.iter().any(|topic| known.contains(topic))
}

fn failed(layout: &Layout) -> Vec<String> {
    let bytes = store_file::read(&layout.failed()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(project: &tempfile::TempDir) -> Layout {
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        layout
    }

    fn taken(layout: &Layout, session: &str) -> Option<ToolUses> {
        let mut found = None;
        take_uses(layout, session, |taken| {
            found = Some(taken);
            Ok::<(), StoreError>(())
        })
        .unwrap();
        found
    }

    fn file(path: &str) -> Used {
        let attempt = Attempt { tool: "Edit".into(), input: Some(path.into()), passed: false };
        Used {
            attempt,
            changed: Some(ToolUse::File { path: path.into(), change: Some("+ x".into()) }),
            is_success_known: true,
        }
    }

    fn command(line: &str) -> Used {
        let attempt = Attempt { tool: "Bash".into(), input: Some(line.into()), passed: false };
        Used { attempt, changed: Some(ToolUse::Command(line.into())), is_success_known: true }
    }

    #[test]
    fn success_after_failure_is_recorded_without_a_change() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        let used = Used { changed: None, ..command("./check.py") };
        let topics = used.attempt.topics();
        assert!(!has_failed(&layout, &topics));
        note_failure(&layout, &topics).unwrap();
        assert!(has_failed(&layout, &topics) && !has_failed(&layout, &file("a").attempt.topics()));
        let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
        append_use(&layout, "s", &used, true, &at, &Sanitizer::default()).unwrap();
        let taken = taken(&layout, "s").unwrap();
        assert_eq!(taken.commands, ["./check.py"]);
        assert_eq!(taken.succeeded, [Success { attempt: used.attempt, at: at.rfc3339() }]);
    }

    #[test]
    fn only_the_newest_topics_of_failures_are_stored() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        for n in 0..TOPICS + 5 {
            note_failure(&layout, &[n.to_string()]).unwrap();
        }
        assert!(!has_failed(&layout, &["4".to_owned()]) && has_failed(&layout, &["5".to_owned()]));
    }

    #[test]
    fn taken_buffer_has_each_use_once_and_is_then_empty() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        let at = |second| Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap();
        begin(&layout, "s", MemoryId::parse("0af3").as_ref(), &at(0)).unwrap();
        for (second, used) in [file("a"), command("make"), file("a")].iter().enumerate() {
            append_use(&layout, "s", used, false, &at(second as i64), &Sanitizer::default()).unwrap();
        }
        append_use(&layout, "../other", &file("b"), false, &at(9), &Sanitizer::default()).unwrap();
        let change = FileChange { file: "a".into(), text: "+ x".into() };
        let expected = ToolUses {
            files: vec!["a".into()],
            commands: vec!["make".into()],
            changes: vec![change.clone(), change],
            prompt: Some(MemoryId::parse("0af3")),
            ..ToolUses::new(at(2))
        };
        assert_eq!(taken(&layout, "s"), Some(expected));
        assert_eq!(taken(&layout, "s"), None);
        assert_eq!(taken(&layout, "../other").unwrap().files, ["b"], "sessions do not take each other's lines");
    }

    #[test]
    fn uses_that_cannot_be_stored_stay_in_the_buffer() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        append_use(&layout, "s", &file("a"), false, &Moment::now(), &Sanitizer::default()).unwrap();
        take_uses(&layout, "s", |_| Err(StoreError::NeedsServer)).unwrap_err();
        assert!(taken(&layout, "s").is_some());
    }

    #[test]
    fn use_is_added_while_the_buffer_is_saved() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        let add = |name: &str| append_use(&layout, "s", &file(name), false, &Moment::now(), &Sanitizer::default());
        add("a").unwrap();
        take_uses(&layout, "s", |first| {
            assert_eq!(first.files, ["a"]);
            add("b").unwrap();
            assert_eq!(taken(&layout, "s"), None, "one process at a time takes uses");
            Ok::<(), StoreError>(())
        })
        .unwrap();
        assert_eq!(taken(&layout, "s").unwrap().files, ["b"]);
    }

    #[test]
    fn killed_process_leaves_its_uses_to_the_next_one() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        append_use(&layout, "s", &file("a"), false, &Moment::now(), &Sanitizer::default()).unwrap();
        let [waiting, moved] = BUFFERS.map(|ending| layout.session_file("s", ending));
        let line = fs::read_to_string(&waiting).unwrap();
        fs::write(&moved, format!("{line}{}", &line[..9])).unwrap();
        append_use(&layout, "s", &file("b"), false, &Moment::now(), &Sanitizer::default()).unwrap();
        let uses = taken(&layout, "s").unwrap();
        assert_eq!((uses.files, uses.changes.len()), (vec!["a".to_owned(), "b".to_owned()], 2));
        assert_eq!(taken(&layout, "s"), None);
    }

    #[test]
    fn no_use_is_lost_between_appending_and_taking() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        let mut seen = Vec::new();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let layout = &layout;
                    scope.spawn(move || {
                        for n in 0..50 {
                            append_use(
                                layout,
                                "s",
                                &file(&format!("{writer}-{n}")),
                                false,
                                &Moment::now(),
                                &Sanitizer::default(),
                            )
                            .unwrap();
                        }
                    })
                })
                .collect();
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                seen.extend(taken(&layout, "s").into_iter().flat_map(|taken| taken.files));
            }
        });
        seen.extend(taken(&layout, "s").into_iter().flat_map(|taken| taken.files));
        assert_eq!(seen.len(), 200);
    }
}
