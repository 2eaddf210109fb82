//! The log of hooks, and the file with their times. A hook has no other place to report an error; `memory_stats` and `doctor` report what
//! is in the log, the page the times.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::files::layout::Layout;
use crate::files::store_file::{self, options_for_private};
use crate::model::error_chain::join_causes;
use crate::model::moment::Moment;
use crate::privacy::redaction::redact;
use crate::privacy::sanitizer::Sanitizer;

/// The size in bytes above which the older half of a file is dropped.
const FILE_LIMIT: u64 = 64 * 1024;

/// The most hooks whose times are reported, and the longest name of one, in bytes. Others may write to the file, too.
const MAX_HOOKS: usize = 20;
const NAME_LIMIT: usize = 32;

/// A week in seconds.
const WEEK: i64 = 7 * 24 * 60 * 60;

/// Logs an error with its causes.
pub fn append_error(layout: &Layout, error: &(dyn Error + 'static)) {
    append_message(layout, &join_causes(error));
}

/// Logs a message on one line, without secrets that a path in it may contain. If that fails, there is nowhere left to report it.
pub fn append_message(layout: &Layout, text: &str) {
    let line = format!("{} {}\n", Moment::now().rfc3339(), redact(text).text.replace(['\n', '\r'], " "));
    append_line(&layout.hook_log_file(), &line);
}

/// Records how long a hook ran.
pub fn append_time(layout: &Layout, hook: &str, took: Duration) {
    append_line(&layout.hook_times_file(), &format!("{} {} {hook}\n", Moment::now().unix(), took.as_micros()));
}

fn append_line(path: &Path, line: &str) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > FILE_LIMIT) {
        drop_older_half(path);
    }
    let file = options_for_private().append(true).create(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

/// How long the runs of a hook took, in milliseconds, without the start of the process.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct HookTimes {
    /// The command, for example `memory-prompt-save`, or `unknown` for an event that has none.
    pub hook: String,
    pub runs: usize,
    pub median_ms: f64,
    /// 95 % of the runs took at most this.
    pub p95_ms: f64,
    pub slowest_ms: f64,
}

/// Returns the times of each hook in the week before `now`, by name.
pub fn recent_times(layout: &Layout, now: &Moment) -> Vec<HookTimes> {
    let text = read_text(&layout.hook_times_file());
    let mut found: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for line in text.lines() {
        let mut parts = line.splitn(3, ' ');
        let at = parts.next().and_then(|at| at.parse::<i64>().ok());
        let took = parts.next().and_then(|took| took.parse().ok());
        if let (Some(at), Some(took), Some(hook)) = (at, took, parts.next())
            && (0..WEEK).contains(&now.unix().saturating_sub(at))
            && hook.len() <= NAME_LIMIT
            && (found.len() < MAX_HOOKS || found.contains_key(hook))
        {
            found.entry(hook).or_default().push(took);
        }
    }
    let times = |(hook, mut took): (&str, Vec<u64>)| {
        took.sort_unstable();
        let percentile = |percent: usize| took[(took.len() * percent).div_ceil(100) - 1] as f64 / 1000.0;
        HookTimes {
            hook: hook.to_owned(),
            runs: took.len(),
            median_ms: percentile(50),
            p95_ms: percentile(95),
            slowest_ms: percentile(100),
        }
    };
    found.into_iter().map(times).collect()
}

/// Returns the messages of the week before `now`, newest first. Older ones are over, or happen again.
pub fn recent_messages(layout: &Layout, now: &Moment) -> Vec<String> {
    let text = read_text(&layout.hook_log_file());
    let is_recent = |line: &&str| {
        let at = line.split(' ').next().and_then(Moment::parse_rfc3339);
        at.is_some_and(|at| now.unix() - at.unix() < WEEK)
    };
    text.lines().rev().filter(is_recent).map(str::to_owned).collect()
}

/// Removes secrets that are known today.
pub fn redact_messages(layout: &Layout, sanitizer: &Sanitizer) {
    let text = read_text(&layout.hook_log_file());
    let redacted = sanitizer.redact(&text);
    if redacted.count > 0 {
        overwrite(&layout.hook_log_file(), redacted.text.as_bytes());
    }
}

fn drop_older_half(path: &Path) {
    let bytes = store_file::read(path).unwrap_or_default();
    let half = &bytes[bytes.len() / 2..];
    let start = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |newline| newline + 1);
    overwrite(path, &half[start..]);
}

/// Returns the text of a file. A missing file is empty.
fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&store_file::read(path).unwrap_or_default()).into_owned()
}

/// Replaces the content of a file, if it exists.
fn overwrite(path: &Path, content: &[u8]) {
    let file = options_for_private().truncate(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(content));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_log_stays_small_and_keeps_the_newest() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        for n in 0..2_000 {
            append_message(&layout, &format!("fault {n}\n{}", "x".repeat(60)));
        }
        assert!(fs::metadata(layout.hook_log_file()).unwrap().len() <= FILE_LIMIT + 200);
        assert!(recent_messages(&layout, &Moment::now())[0].contains("fault 1999 xxx"));
    }

    #[test]
    fn times_of_the_last_week_are_summed_up_by_hook() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        let now = Moment::now();
        let old = now.unix() - WEEK;
        fs::write(
            layout.hook_times_file(),
            format!("{old} 9000000 memory-track\nnot ours\n{0} 5 {1}\n", now.unix(), "x".repeat(33)),
        )
        .unwrap();
        for milliseconds in [3, 1, 2, 400] {
            append_time(&layout, "memory-track", Duration::from_millis(milliseconds));
        }
        let summed =
            HookTimes { hook: "memory-track".to_owned(), runs: 4, median_ms: 2.0, p95_ms: 400.0, slowest_ms: 400.0 };
        assert_eq!(recent_times(&layout, &Moment::now()), [summed]);
    }

    #[test]
    fn fault_older_than_a_week_is_not_reported() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        fs::write(layout.hook_log_file(), "2026-01-01T10:00:00+09:00 old\nnot ours\n2026-01-08T09:00:00+09:00 new\n")
            .unwrap();
        let now = Moment::parse_rfc3339("2026-01-08T11:00:00+09:00").unwrap();
        assert_eq!(recent_messages(&layout, &now), ["2026-01-08T09:00:00+09:00 new"]);
    }
}
