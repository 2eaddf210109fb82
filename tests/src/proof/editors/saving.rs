//! The ways in which editors and scripts save a file. Each writes a line that names the round, by which its last text is known.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::Editor;
use super::shared::{Shared, read};
use crate::canaries::files_below;
use crate::proof::Random;

/// A person who leaves a file alone for longer than that finds it as it is on disk. Below the two seconds that the store waits.
const RELOADED_AFTER: Duration = Duration::from_millis(1_500);

/// Milliseconds of a pause in which the store takes a file as finished and writes what waited. Long enough that this ends before the
/// next save reads the file.
const QUIET: u64 = 4_000;

/// An editor's buffer of one file.
#[derive(Debug)]
struct Buffer {
    path: PathBuf,
    text: String,
    saved: Instant,
}

/// So many saves.
pub(super) fn rounds(shared: &Shared, editor: Editor, rounds: usize, mut random: Random) {
    let mut buffer: Option<Buffer> = None;
    // An old buffer may stay as long as it is, or somebody types in it.
    let grows = editor == Editor::Autosave || random.once_in(2);
    let mut until_quiet = burst(editor, &mut random);
    for round in 1..=rounds {
        shared.round.store(round, Ordering::Release);
        shared.check_written("before a save");
        let sent = shared.sent();
        let saved = match editor {
            Editor::InPlace => in_place(shared, round, &mut random),
            Editor::Formatter => format_all(shared, round),
            Editor::Atomic => atomic(shared, round, &mut random),
            Editor::StaleWriter | Editor::Autosave => save_old(shared, round, &mut buffer, grows),
            Editor::Git => Ok(()),
        };
        if let Err(error) = saved {
            shared.find("the editor failed", error);
        }
        let pause = match editor {
            Editor::StaleWriter => 200,
            Editor::Autosave => 1_000,
            // Next to the two seconds that the store waits: this editor reads the file before each save.
            Editor::InPlace | Editor::Formatter if random.once_in(12) => 1_500 + random.below(1_000) as u64,
            _ => 20 + random.below(300) as u64,
        };
        until_quiet -= 1;
        let is_quiet_next = until_quiet == 0 && round < rounds;
        if is_quiet_next {
            until_quiet = burst(editor, &mut random);
            buffer = None;
        }
        thread::sleep(Duration::from_millis(if is_quiet_next { QUIET + pause } else { pause }));
        shared.met.fetch_add(usize::from(shared.sent() > sent), Ordering::AcqRel);
    }
    shared.check_written("after the last save");
}

/// Saves between two times of quiet.
fn burst(editor: Editor, random: &mut Random) -> usize {
    match editor {
        // Past the ten seconds after which the day continues in another file.
        Editor::StaleWriter => 55 + random.below(10),
        Editor::Autosave => 12 + random.below(4),
        _ => 5 + random.below(20),
    }
}

/// A file of today or long-term memory: the day's own log most of the time.
fn any_file(shared: &Shared, random: &mut Random) -> Option<PathBuf> {
    let logs = shared.logs();
    match random.below(4) {
        0 => Some(shared.long_term()),
        1 if !logs.is_empty() => Some(logs[random.below(logs.len())].clone()),
        _ => logs.into_iter().next(),
    }
}

/// The text with this round's line below the title.
fn marked(text: &str, round: usize) -> String {
    const MARK: &str = "Saved by an editor, for the last time in round ";
    let mark = format!("{MARK}{round}.");
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(MARK)).collect();
    let at = usize::from(lines.first().is_some_and(|line| line.starts_with("# ")));
    if lines.get(at).is_none_or(|line| !line.is_empty()) {
        lines.insert(at, "");
    }
    lines.splice(at + 1..at + 1, [mark.as_str()]);
    if lines.get(at + 2).is_some_and(|line| !line.is_empty()) {
        lines.insert(at + 2, "");
    }
    lines.join("\n") + "\n"
}

fn in_place(shared: &Shared, round: usize, random: &mut Random) -> io::Result<()> {
    let Some(path) = any_file(shared, random) else { return Ok(()) };
    let mut text = marked(&read(&path), round);
    if random.once_in(4) {
        // Some editors drop the last line end.
        text.truncate(text.trim_end().len());
    }
    let mut file = File::options().write(true).truncate(true).open(&path)?;
    thread::sleep(Duration::from_millis(random.below(120) as u64));
    if random.once_in(4) {
        // A long text takes several writes.
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        file.write_all(first)?;
        thread::sleep(Duration::from_millis(random.below(20) as u64));
        file.write_all(second)?;
    } else {
        file.write_all(text.as_bytes())?;
    }
    drop(file);
    shared.wrote(&path, &text);
    Ok(())
}

fn format_all(shared: &Shared, round: usize) -> io::Result<()> {
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    for path in files_below(&shared.sandbox.store()).into_iter().filter(is_markdown) {
        let text = marked(&read(&path), round);
        let text =
            if round.is_multiple_of(2) { text.replace("\n\n\n", "\n\n") } else { text.replace("\n\n## ", "\n\n\n## ") };
        fs::write(&path, &text)?;
        shared.wrote(&path, &text);
    }
    Ok(())
}

fn atomic(shared: &Shared, round: usize, random: &mut Random) -> io::Result<()> {
    let Some(path) = any_file(shared, random) else { return Ok(()) };
    let text = marked(&read(&path), round);
    thread::sleep(Duration::from_millis(random.below(100) as u64));
    let other = path.with_extension("md.new");
    fs::write(&other, &text)?;
    fs::rename(&other, &path)?;
    shared.wrote(&path, &text);
    Ok(())
}

/// Writes the day's log from a buffer that was read at the beginning.
fn save_old(shared: &Shared, round: usize, buffer: &mut Option<Buffer>, grows: bool) -> io::Result<()> {
    let is_fresh = |buffer: &Buffer| buffer.saved.elapsed() > RELOADED_AFTER;
    if buffer.as_ref().is_none_or(is_fresh) {
        let Some(path) = shared.logs().into_iter().next() else { return Ok(()) };
        *buffer = Some(Buffer { text: read(&path), path, saved: Instant::now() });
    }
    let Some(Buffer { path, text, saved }) = buffer else { return Ok(()) };
    if grows {
        *text = typed(text, round);
    }
    *text = marked(text, round);
    fs::write(Path::new(path), &*text)?;
    *saved = Instant::now();
    shared.wrote(path, text);
    Ok(())
}

/// A sentence more, below the title.
fn typed(text: &str, round: usize) -> String {
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!(
        "{title}\n\nSomebody types a long sentence in round {round}, so that the file is longer than before.\n{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_replaces_the_one_before_it() {
        let once = marked("# 2026-01-28\n\n- [10:30:15] **User Prompt**: one\n", 1);
        assert_eq!(
            once,
            "# 2026-01-28\n\nSaved by an editor, for the last time in round 1.\n\n- [10:30:15] **User Prompt**: one\n"
        );
        assert_eq!(marked(&once, 2).matches("Saved by").count(), 1);
        assert!(marked(&once, 2).contains("round 2."));
    }
}
