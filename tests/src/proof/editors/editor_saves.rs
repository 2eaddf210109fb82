//! The ways in which editors and scripts save a file. Each save writes a line with the round, which identifies the last text.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::editor::Editor;
use super::loop_state::{LoopState, read};
use super::verdict;
use crate::canaries::files_below;
use crate::proof::SeededRandom;

/// The time after which an editor reloads a file that it has not written. It is less than the two seconds for which the store waits.
const RELOADED_AFTER: Duration = Duration::from_millis(1_500);

/// A pause after which the store treats a file as finished and begins to write what waits, in milliseconds.
const QUIET: u64 = 2_500;

#[derive(Debug)]
struct EditorBuffer {
    path: PathBuf,
    text: String,
    saved: Instant,
}

pub(super) fn run_rounds(shared: &LoopState, editor: Editor, rounds: usize, mut random: SeededRandom) {
    let mut buffer: Option<EditorBuffer> = None;
    // An old buffer may keep its length, or grow.
    let grows = editor == Editor::Autosave || random.once_in(2);
    let mut until_quiet = burst_length(editor, &mut random);
    for round in 1..=rounds {
        shared.round.store(round, Ordering::Release);
        shared.check_written("before a save");
        let sent = shared.count_sent();
        let saved = match editor {
            Editor::InPlace => save_in_place(shared, round, &mut random),
            Editor::Formatter => format_all(shared, round),
            Editor::Atomic => save_atomically(shared, round, &mut random),
            Editor::StaleWriter | Editor::Autosave => save_stale_buffer(shared, round, &mut buffer, grows),
            Editor::Git => Ok(()),
        };
        if let Err(error) = saved {
            shared.add_finding("the editor failed", error);
        }
        let pause = match editor {
            Editor::StaleWriter => 200,
            Editor::Autosave => 1_000,
            // Near the store's two seconds, because this editor reads the file before each save.
            Editor::InPlace | Editor::Formatter if random.once_in(12) => 1_500 + random.below(1_000) as u64,
            _ => 20 + random.below(300) as u64,
        };
        until_quiet -= 1;
        let is_quiet_next = until_quiet == 0 && round < rounds;
        if is_quiet_next {
            until_quiet = burst_length(editor, &mut random);
            buffer = None;
        }
        if is_quiet_next {
            thread::sleep(Duration::from_millis(QUIET));
            // The store restores an overwritten entry only once, so the next save must not overwrite it again.
            verdict::wait_until_restored(shared);
        }
        thread::sleep(Duration::from_millis(pause));
        shared.encounters.fetch_add(usize::from(shared.count_sent() > sent), Ordering::AcqRel);
    }
    shared.check_written("after the last save");
}

/// Returns the number of saves between two quiet periods.
fn burst_length(editor: Editor, random: &mut SeededRandom) -> usize {
    match editor {
        // Longer than the ten seconds after which the day continues in another file.
        Editor::StaleWriter => 55 + random.below(10),
        Editor::Autosave => 12 + random.below(4),
        _ => 5 + random.below(20),
    }
}

/// Returns a log of today, mostly its first file, or the long-term memory.
fn pick_file(shared: &LoopState, random: &mut SeededRandom) -> Option<PathBuf> {
    let logs = shared.logs();
    match random.below(4) {
        0 => Some(shared.long_term()),
        1 if !logs.is_empty() => Some(logs[random.below(logs.len())].clone()),
        _ => logs.into_iter().next(),
    }
}

/// Adds the line of this round below the title.
fn with_round_line(text: &str, round: usize) -> String {
    const MARK: &str = "Saved by an editor, for the last time in round ";
    let mark = format!("{MARK}{round}.");
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(MARK)).collect();
    let at = usize::from(lines.first().is_some_and(|line| line.starts_with("# ")));
    if lines.get(at).is_none_or(|line| !line.is_empty()) {
        lines.insert(at, "");
    }
    lines.insert(at + 1, &mark);
    if lines.get(at + 2).is_some_and(|line| !line.is_empty()) {
        lines.insert(at + 2, "");
    }
    lines.join("\n") + "\n"
}

fn save_in_place(shared: &LoopState, round: usize, random: &mut SeededRandom) -> io::Result<()> {
    let Some(path) = pick_file(shared, random) else { return Ok(()) };
    let mut text = with_round_line(&read(&path), round);
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
    shared.record_write(&path, &text);
    Ok(())
}

fn format_all(shared: &LoopState, round: usize) -> io::Result<()> {
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    for path in files_below(&shared.sandbox.store()).into_iter().filter(is_markdown) {
        let text = with_round_line(&read(&path), round);
        let text =
            if round.is_multiple_of(2) { text.replace("\n\n\n", "\n\n") } else { text.replace("\n\n## ", "\n\n\n## ") };
        fs::write(&path, &text)?;
        shared.record_write(&path, &text);
    }
    Ok(())
}

fn save_atomically(shared: &LoopState, round: usize, random: &mut SeededRandom) -> io::Result<()> {
    let Some(path) = pick_file(shared, random) else { return Ok(()) };
    let text = with_round_line(&read(&path), round);
    thread::sleep(Duration::from_millis(random.below(100) as u64));
    let other = path.with_extension("md.new");
    fs::write(&other, &text)?;
    fs::rename(&other, &path)?;
    shared.record_write(&path, &text);
    Ok(())
}

/// Writes the log of the day from a buffer that was read at the start.
fn save_stale_buffer(
    shared: &LoopState,
    round: usize,
    buffer: &mut Option<EditorBuffer>,
    grows: bool,
) -> io::Result<()> {
    let is_fresh = |buffer: &EditorBuffer| buffer.saved.elapsed() > RELOADED_AFTER;
    if buffer.as_ref().is_none_or(is_fresh) {
        let Some(path) = shared.logs().into_iter().next() else { return Ok(()) };
        *buffer = Some(EditorBuffer { text: read(&path), path, saved: Instant::now() });
    }
    let Some(EditorBuffer { path, text, saved }) = buffer else { return Ok(()) };
    if grows {
        *text = with_sentence(text, round);
    }
    *text = with_round_line(text, round);
    fs::write(Path::new(path), &*text)?;
    *saved = Instant::now();
    shared.record_write(path, text);
    Ok(())
}

/// Adds a sentence below the title.
fn with_sentence(text: &str, round: usize) -> String {
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    format!(
        "{title}\n\nSomebody types a long sentence in round {round}, so that the file is longer than before.\n{rest}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_round_line_replaces_the_previous_one() {
        let once = with_round_line("# 2026-01-28\n\n- [10:30:15] **User Prompt**: one\n", 1);
        assert_eq!(
            once,
            "# 2026-01-28\n\nSaved by an editor, for the last time in round 1.\n\n- [10:30:15] **User Prompt**: one\n"
        );
        assert_eq!(with_round_line(&once, 2).matches("Saved by").count(), 1);
        assert!(with_round_line(&once, 2).contains("round 2."));
    }
}
