//! The project of a round: its actions, expected contents and findings.

use std::process::Command;

use serde_json::Value;

use super::kill::{KillTime, ProgramEnd, run_until_killed};
use crate::proof::{ExpectedMemories, age_temporary_files, check_at_rest, texts_in_rows};
use crate::sandbox::{Binaries, Sandbox};

pub(super) struct CrashRun {
    pub(super) sandbox: Sandbox,
    pub(super) ledger: ExpectedMemories,
    findings: Vec<String>,
    hits: usize,
    texts: usize,
}

impl CrashRun {
    pub(super) fn new(binaries: Binaries) -> Self {
        let mut sandbox = Sandbox::new(binaries);
        // Embedding runs in idle moments and does not matter here.
        sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
        Self { sandbox, ledger: ExpectedMemories::default(), findings: Vec::new(), hits: 0, texts: 0 }
    }

    /// Returns a unique text.
    pub(super) fn new_text(&mut self) -> String {
        self.texts += 1;
        let n = self.texts;
        match n % 3 {
            0 => format!("text {n} is said in two lines,\nof which this is the second"),
            1 => format!("text {n} is short"),
            _ => format!("text {n} {}and an end", "has many words and some of them in 한국어, ".repeat(40)),
        }
    }

    pub(super) fn hits(&self) -> usize {
        self.hits
    }

    pub(super) fn add_finding(&mut self, finding: String) {
        self.findings.push(finding);
    }

    pub(super) fn count_hit(&mut self) {
        self.hits += 1;
    }

    /// Runs a program and returns whether it ended by itself. It must not fail.
    pub(super) fn run(&mut self, command: Command, input: &str, blow: Option<&KillTime>) -> bool {
        let name = format!("{:?}", command.get_args().collect::<Vec<_>>());
        match run_until_killed(command, input, blow) {
            ProgramEnd::ByItself { status, .. } if status.success() => return true,
            ProgramEnd::ByItself { status, stdout, stderr } => {
                self.add_finding(format!("{name} ended with {status}: {stdout}{stderr}"));
            }
            ProgramEnd::Killed => self.hits += 1,
            ProgramEnd::Hung => self.add_finding(format!("{name} hung")),
        }
        false
    }

    pub(super) fn run_cli(&mut self, arguments: &[&str], blow: Option<&KillTime>) -> bool {
        let mut command = self.sandbox.memory_command();
        command.args(arguments);
        self.run(command, "", blow)
    }

    pub(super) fn run_hook(&mut self, command: &str, event: &Value, blow: Option<&KillTime>) -> bool {
        let command = self.sandbox.hook_command(command);
        self.run(command, &event.to_string(), blow)
    }

    /// Sends a prompt and records whether it must be saved.
    pub(super) fn send_prompt(&mut self, text: &str, blow: Option<&KillTime>) {
        let event = self.sandbox.prompt_event(text);
        self.ledger.allow(text);
        if self.run_hook("memory-prompt-save", &event, blow) {
            self.ledger.expect(text);
        }
    }

    /// Whether a hook is killed at a point.
    pub(super) fn is_killed_at(&mut self, point: &'static str) -> bool {
        let event = self.sandbox.prompt_event("a prompt");
        self.run_hook("memory-prompt-save", &event, Some(&KillTime::AtPoint { point, time: 1 }));
        self.hits > 0
    }

    /// Opens the store again and returns all findings.
    pub(super) fn findings(mut self) -> Vec<String> {
        let store = self.sandbox.store();
        age_temporary_files(&store);
        self.run_cli(&["index"], None);
        match texts_in_rows(&store) {
            Ok(there) => self.findings.extend(self.ledger.findings(&there)),
            Err(error) => self.findings.push(format!("the rows cannot be read: {error}")),
        }
        self.findings.extend(check_at_rest(&store));
        self.findings
    }
}
