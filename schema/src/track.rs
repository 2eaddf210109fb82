//! The buffer of one session's tool use: a line for each use, until the end of the turn makes one memory of them.
//!
//! Lines are appended and taken under a lock on the buffer itself, so that a use noted while the buffer is taken is kept.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::crash;
use crate::database::Patience;
use crate::hook::Use;
use crate::layout::Layout;
use crate::moment::Moment;
use crate::own_file::{private_file, verify};
use crate::screen::Screen;
use crate::shown::SHOWN;
use crate::store::StoreError;

/// The longest line of a buffer in bytes; a longer one is noted without its end.
const LINE_LIMIT: usize = 1_024;

/// How long a buffer stays after its session used it last.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

/// A use as it stands in a buffer: of a file or of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a buffer held: each file and each command once, in the order of their first use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub files: Vec<String>,
    pub commands: Vec<String>,
    /// When the last of them was.
    pub at: Moment,
}

/// Notes a use.
pub fn append(
    layout: &Layout,
    session_id: &str,
    tool_use: &Use,
    at: &Moment,
    screen: &Screen,
) -> Result<(), StoreError> {
    let clean = |text: &str| noted(text, screen);
    let (file, command) = match tool_use {
        Use::File(path) => (Some(clean(path)), None),
        Use::Command(line) => (None, Some(clean(line))),
    };
    let path = layout.of_session(session_id, "jsonl");
    let fault = |source| StoreError::Io { doing: "append to", path: path.clone(), source };
    let mut json =
        serde_json::to_vec(&Line { at: at.rfc3339(), file, command }).map_err(|error| fault(error.into()))?;
    json.push(b'\n');
    let mut buffer = private_file().append(true).create(true).open(&path).map_err(fault)?;
    lock(&buffer).and_then(|()| buffer.write_all(&json)).map_err(fault)
}

/// A file or a command as it is noted.
pub(crate) fn noted(text: &str, screen: &Screen) -> String {
    let text = screen.clean(text).text;
    text[..text.floor_char_boundary(LINE_LIMIT)].to_owned()
}

/// Waits for those who note or take at the same time, which they do in microseconds, but not for one that hangs.
fn lock(buffer: &File) -> io::Result<()> {
    let deadline = Instant::now() + Patience::Hook.limit();
    loop {
        match buffer.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(Duration::from_micros(100)),
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

/// Hands what the buffer holds to `keep`, and empties it when that succeeds. An empty buffer is not handed over.
pub fn take<E: From<StoreError>>(
    layout: &Layout,
    session_id: &str,
    keep: impl FnOnce(Taken) -> Result<(), E>,
) -> Result<(), E> {
    let path = layout.of_session(session_id, "jsonl");
    let fault = |source| StoreError::Io { doing: "take", path: path.clone(), source };
    let mut buffer = match private_file().read(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(fault)?,
    };
    lock(&buffer).map_err(fault)?;
    let text = whole(&mut buffer).map_err(fault)?;
    if let Some(taken) = parse(&text) {
        keep(taken)?;
        crash::point("track.kept");
    }
    buffer.set_len(0).map_err(fault)?;
    Ok(())
}

/// Removes buffers that have been empty for a day, and lists of what was shown that nobody added to for a day. A younger one may
/// have a writer that has just opened it.
pub fn tidy(layout: &Layout) {
    let is_old =
        |metadata: &fs::Metadata| metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > UNUSED));
    let is_done = |path: &Path, metadata: &fs::Metadata| {
        metadata.len() == 0 || path.extension().is_some_and(|ending| ending == SHOWN)
    };
    if verify(&layout.track()).is_err() {
        return;
    }
    let Ok(listing) = fs::read_dir(layout.track()) else { return };
    for item in listing.filter_map(Result::ok) {
        if item.metadata().is_ok_and(|metadata| is_old(&metadata) && is_done(&item.path(), &metadata)) {
            // Another session's end may be tidying as well.
            let _ = fs::remove_file(item.path());
        }
    }
}

/// Rewrites every buffer by what `edit` makes of each of its uses; `None` takes one out. It is told whether the buffer is that of
/// `session_id`.
pub fn rewrite(
    layout: &Layout,
    session_id: Option<&str>,
    edit: &dyn Fn(Line, bool) -> Option<Line>,
) -> Result<(), StoreError> {
    if verify(&layout.track()).is_err() {
        return Ok(());
    }
    let own = session_id.map(|session_id| layout.of_session(session_id, "jsonl"));
    let Ok(listing) = fs::read_dir(layout.track()) else { return Ok(()) };
    for path in listing.filter_map(|item| Some(item.ok()?.path())) {
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let fault = |source| StoreError::Io { doing: "rewrite", path: path.clone(), source };
        let mut buffer = match private_file().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(fault)?,
        };
        lock(&buffer).map_err(fault)?;
        let before = whole(&mut buffer).map_err(fault)?;
        let lines = before.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let lines = lines.filter_map(|line| edit(line, Some(&path) == own.as_ref()));
        let after: String =
            lines.filter_map(|line| serde_json::to_string(&line).ok()).map(|line| line + "\n").collect();
        if after != before {
            let rewritten = buffer.set_len(0).and_then(|()| buffer.seek(SeekFrom::Start(0)));
            rewritten.and_then(|_| buffer.write_all(after.as_bytes())).map_err(fault)?;
        }
    }
    Ok(())
}

fn whole(buffer: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    buffer.seek(SeekFrom::Start(0))?;
    buffer.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(text: &str) -> Option<Taken> {
    let mut taken: Option<Taken> = None;
    // A torn line is what a crash left; it says nothing.
    for line in text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let Some(at) = Moment::parse_rfc3339(&line.at) else { continue };
        let taken = taken.get_or_insert_with(|| Taken { files: Vec::new(), commands: Vec::new(), at });
        taken.at = taken.at.max(at);
        for (list, item) in [(&mut taken.files, line.file), (&mut taken.commands, line.command)] {
            list.extend(item.filter(|item| !list.contains(item)));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(project: &tempfile::TempDir) -> Layout {
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        layout
    }

    fn taken(layout: &Layout, session: &str) -> Option<Taken> {
        let mut found = None;
        take(layout, session, |taken| {
            found = Some(taken);
            Ok::<(), StoreError>(())
        })
        .unwrap();
        found
    }

    #[test]
    fn a_buffer_names_each_use_once_and_is_empty_afterwards() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        let at = |second| Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap();
        for (second, used) in
            [Use::File("a".into()), Use::Command("make".into()), Use::File("a".into())].iter().enumerate()
        {
            append(&layout, "s", used, &at(second as i64), &Screen::default()).unwrap();
        }
        append(&layout, "../other", &Use::File("b".into()), &at(9), &Screen::default()).unwrap();
        let expected = Taken { files: vec!["a".into()], commands: vec!["make".into()], at: at(2) };
        assert_eq!(taken(&layout, "s"), Some(expected));
        assert_eq!(taken(&layout, "s"), None);
        assert_eq!(taken(&layout, "../other").unwrap().files, ["b"], "sessions do not take each other's lines");
    }

    #[test]
    fn what_could_not_be_kept_stays_in_the_buffer() {
        let project = tempfile::tempdir().unwrap();
        let layout = layout(&project);
        append(&layout, "s", &Use::File("a".into()), &Moment::now(), &Screen::default()).unwrap();
        take(&layout, "s", |_| Err(StoreError::NeedsServer)).unwrap_err();
        assert!(taken(&layout, "s").is_some());
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
                            append(
                                layout,
                                "s",
                                &Use::File(format!("{writer}-{n}")),
                                &Moment::now(),
                                &Screen::default(),
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
