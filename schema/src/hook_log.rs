//! Faults of hooks, where `memory_stats` finds them: a hook has nobody to tell.

use std::error::Error;
use std::fs;
use std::io::Write as _;

use crate::causes::chain;
use crate::layout::Layout;
use crate::moment::Moment;
use crate::own_file::{self, private_file};
use crate::redaction::redact;
use crate::screen::Screen;

/// The size above which the older half of the log is dropped, in bytes.
const LIMIT: u64 = 64 * 1024;

/// Seconds.
const WEEK: i64 = 7 * 24 * 60 * 60;

/// Notes an error with its causes.
pub fn note_error(layout: &Layout, error: &(dyn Error + 'static)) {
    note(layout, &chain(error));
}

/// Notes a fault on one line, without the secrets that a path in it may hold. A log that cannot be written is given up in
/// silence: there is nowhere left to tell it.
pub fn note(layout: &Layout, text: &str) {
    let path = layout.hook_log();
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LIMIT) {
        halve(layout);
    }
    let line = format!("{} {}\n", Moment::now().rfc3339(), redact(text).text.replace(['\n', '\r'], " "));
    let file = private_file().append(true).create(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// The last faults of the week before `now`, newest first: what is older has passed, or comes again.
pub fn last(layout: &Layout, now: &Moment, limit: usize) -> Vec<String> {
    let bytes = own_file::read(&layout.hook_log()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let is_recent = |line: &&str| {
        let at = line.split(' ').next().and_then(Moment::parse_rfc3339);
        at.is_some_and(|at| now.unix() - at.unix() < WEEK)
    };
    text.lines().rev().filter(is_recent).take(limit).map(str::to_owned).collect()
}

/// Takes secrets out that are known today.
pub fn scrub(layout: &Layout, screen: &Screen) {
    let bytes = own_file::read(&layout.hook_log()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let redacted = screen.redact(&text);
    if redacted.count > 0 {
        let file = private_file().truncate(true).open(layout.hook_log());
        let _ = file.and_then(|mut file| file.write_all(redacted.text.as_bytes()));
    }
}

fn halve(layout: &Layout) {
    let bytes = own_file::read(&layout.hook_log()).unwrap_or_default();
    let half = &bytes[bytes.len() / 2..];
    let start = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |newline| newline + 1);
    let file = private_file().truncate(true).open(layout.hook_log());
    let _ = file.and_then(|mut file| file.write_all(&half[start..]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_faults_stays_small_and_keeps_the_newest() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        for n in 0..2_000 {
            note(&layout, &format!("fault {n}\n{}", "x".repeat(60)));
        }
        assert!(fs::metadata(layout.hook_log()).unwrap().len() <= LIMIT + 200);
        assert!(last(&layout, &Moment::now(), 1)[0].contains("fault 1999 xxx"));
    }

    #[test]
    fn a_fault_of_a_week_ago_is_told_no_more() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        fs::write(layout.hook_log(), "2026-01-01T10:00:00+09:00 old\nnot ours\n2026-01-08T09:00:00+09:00 new\n")
            .unwrap();
        let now = Moment::parse_rfc3339("2026-01-08T11:00:00+09:00").unwrap();
        assert_eq!(last(&layout, &now, 5), ["2026-01-08T09:00:00+09:00 new"]);
    }
}
