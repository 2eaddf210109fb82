//! A repository whose commits differ in long-term memory and in a log, and git operations between them.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::loop_state::{DEADLINE, LoopState, read};
use crate::program_output::{ProgramOutput, run_to_end};
use crate::proof::SeededRandom;

#[derive(Debug)]
pub(super) struct GitEditor {
    /// The files that differ between commits, relative to the project.
    tracked: Vec<String>,
    refused: AtomicUsize,
}

impl GitEditor {
    /// Creates three commits: a first one, `left` with more lines at the top, and `right` with more lines at the end, so
    /// that both merge.
    pub(super) fn set_up(shared: &LoopState, random: &mut SeededRandom) -> io::Result<Self> {
        let store = shared.sandbox.store();
        let log = match random.once_in(2) {
            true => shared.logs().first().cloned().unwrap_or_default(),
            // The log of another day, which no hook writes.
            false => {
                let log = store.join("2026-01-28.md");
                fs::write(&log, "# 2026-01-28\n\n- [09:00:00] **User Prompt**: A prompt of the first commit.\n")?;
                log
            }
        };
        let files = [store.join("MEMORY.md"), log];
        let project = shared.sandbox.project();
        let below = |path: &PathBuf| path.strip_prefix(&project).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let git = Self { tracked: files.iter().map(below).collect(), refused: AtomicUsize::new(0) };
        let run = |arguments: &[&str]| {
            git.run(shared, arguments).assert_success();
        };
        run(&["init", "--quiet", "--initial-branch", "first"]);
        git.commit(shared, "first");
        run(&["checkout", "--quiet", "-b", "left"]);
        for file in &files {
            fs::write(file, add_lines_on_top(&read(file), "left"))?;
        }
        git.commit(shared, "left");
        run(&["checkout", "--quiet", "-b", "right", "first"]);
        for file in &files {
            let lines = (0..5).map(|n| format!("Line {n} is of the branch on the right.\n")).collect::<String>();
            fs::write(file, read(file) + "\n" + &lines)?;
        }
        git.commit(shared, "right");
        run(&["checkout", "--quiet", "first"]);
        shared.sandbox.run_cli(["index"]).assert_success();
        let _ = shared.tracked.set(files.to_vec());
        Ok(git)
    }

    fn commit(&self, shared: &LoopState, name: &str) {
        // The store's `.gitignore` excludes its logs.
        let mut add = vec!["add", "--force"];
        add.extend(self.tracked.iter().map(String::as_str));
        self.run(shared, &add).assert_success();
        self.run(shared, &["commit", "--quiet", "--message", name]).assert_success();
    }

    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::Acquire)
    }

    pub(super) fn run_rounds(&self, shared: &LoopState, rounds: usize, mut random: SeededRandom) {
        for round in 1..=rounds {
            shared.round.store(round, Ordering::Release);
            shared.check_written("before git");
            let sent = shared.count_sent();
            shared.git_writes.fetch_add(1, Ordering::AcqRel);
            match random.below(4) {
                0 => self.merge(shared),
                n => self.checkout(shared, &["left", "right", "first"][n - 1..n]),
            }
            self.record_committed_texts(shared);
            shared.git_writes.fetch_add(1, Ordering::AcqRel);
            shared.check_written("after git");
            shared.encounters.fetch_add(usize::from(shared.count_sent() > sent), Ordering::AcqRel);
            let pause = if random.once_in(10) { 2_500 } else { 50 + random.below(500) as u64 };
            thread::sleep(Duration::from_millis(pause));
        }
        shared.check_written("after the last of git");
    }

    fn checkout(&self, shared: &LoopState, to: &[&str]) {
        let arguments = [&["checkout", "--quiet", "--force"], to].concat();
        let outcome = self.run(shared, &arguments);
        if !outcome.status.success() || !outcome.stderr.is_empty() {
            record_failure(shared, &arguments, &outcome);
        }
    }

    fn merge(&self, shared: &LoopState) {
        self.checkout(shared, &["--detach", "left"]);
        let arguments = ["merge", "--quiet", "--no-edit", "right"];
        let outcome = self.run(shared, &arguments);
        // Git refuses to overwrite uncommitted changes.
        let is_refused = outcome.stderr.contains("would be overwritten by merge");
        match outcome.status.success() {
            true => {}
            false if is_refused => drop(self.refused.fetch_add(1, Ordering::AcqRel)),
            false => record_failure(shared, &arguments, &outcome),
        }
    }

    /// Records the committed texts as git's last ones, after a checkout or a merge.
    fn record_committed_texts(&self, shared: &LoopState) {
        for name in &self.tracked {
            let shown = self.run(shared, &["show", &format!("HEAD:{name}")]);
            match shown.status.success() {
                true => shared.record_write(&shared.sandbox.project().join(name), &shown.stdout),
                false => record_failure(shared, &["show", name], &shown),
            }
        }
    }

    fn run(&self, shared: &LoopState, arguments: &[&str]) -> ProgramOutput {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(shared.sandbox.project());
        // Ignores the user's configuration.
        command.env("HOME", shared.sandbox.home()).env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        command.env_remove("XDG_CONFIG_HOME").env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Dev").env(format!("GIT_{who}_EMAIL"), "dev@example.com");
        }
        run_to_end(command, "", DEADLINE)
    }
}

fn record_failure(shared: &LoopState, arguments: &[&str], outcome: &ProgramOutput) {
    let written = format!("{}{}", outcome.stdout, outcome.stderr);
    shared.add_finding(
        "git failed",
        format!("git {} ended with {}: {}", arguments.join(" "), outcome.status, written.trim()),
    );
}

/// Adds lines below the title.
fn add_lines_on_top(text: &str, branch: &str) -> String {
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    let lines = (0..5).map(|n| format!("Line {n} is of the branch on the {branch}.\n")).collect::<String>();
    format!("{title}\n\n{lines}{rest}")
}
