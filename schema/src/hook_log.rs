//! Faults of hooks, where `memory_stats` finds them: a hook has nobody to tell.

use std::error::Error;
use std::fs;
use std::io::Write as _;

use crate::causes::chain;
use crate::layout::Layout;
use crate::moment::Moment;
use crate::own_file::{self, private_file};
use crate::redaction::redact;

/// The size above which the older half of the log is dropped, in bytes.
const LIMIT: u64 = 64 * 1024;

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

/// The last faults, newest first.
pub fn last(layout: &Layout, limit: usize) -> Vec<String> {
    let bytes = own_file::read(&layout.hook_log()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().rev().take(limit).map(str::to_owned).collect()
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
        assert!(last(&layout, 1)[0].contains("fault 1999 xxx"));
    }
}
