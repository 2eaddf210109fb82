//! One round's project: what was done in it, what it is to hold, and what is wrong with it in the end.

use std::process::Command;

use serde_json::Value;

use super::attempt::{Blow, End, attempt};
use crate::proof::{Ledger, age_temporary_files, at_rest, texts_in_rows};
use crate::sandbox::{Binaries, Sandbox};

pub(super) struct Field {
    pub(super) sandbox: Sandbox,
    pub(super) ledger: Ledger,
    findings: Vec<String>,
    hits: usize,
    texts: usize,
}

impl Field {
    pub(super) fn new(binaries: Binaries) -> Self {
        let mut sandbox = Sandbox::new(binaries);
        // Vectors are made in idle moments and are in nobody's way; the rounds are about what is kept.
        sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
        Self { sandbox, ledger: Ledger::default(), findings: Vec::new(), hits: 0, texts: 0 }
    }

    /// A text that nobody said before.
    pub(super) fn text(&mut self) -> String {
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

    pub(super) fn find(&mut self, finding: String) {
        self.findings.push(finding);
    }

    pub(super) fn count_hit(&mut self) {
        self.hits += 1;
    }

    /// Runs a program, and says whether it came to its end, which has to be a good one.
    pub(super) fn run(&mut self, command: Command, input: &str, blow: Option<&Blow>) -> bool {
        let name = format!("{:?}", command.get_args().collect::<Vec<_>>());
        match attempt(command, input, blow) {
            End::Own { status, .. } if status.success() => return true,
            End::Own { status, stdout, stderr } => {
                self.find(format!("{name} ended with {status}: {stdout}{stderr}"));
            }
            End::Killed => self.hits += 1,
            End::Hung => self.find(format!("{name} hung")),
        }
        false
    }

    /// Runs the command line.
    pub(super) fn cli(&mut self, arguments: &[&str], blow: Option<&Blow>) -> bool {
        let mut command = self.sandbox.memory_command();
        command.args(arguments);
        self.run(command, "", blow)
    }

    /// Runs a hook of an event.
    pub(super) fn hook(&mut self, command: &str, event: &Value, blow: Option<&Blow>) -> bool {
        let command = self.sandbox.hook_command(command);
        self.run(command, &event.to_string(), blow)
    }

    /// Sends a prompt, and notes whether it is to be kept.
    pub(super) fn prompt(&mut self, text: &str, blow: Option<&Blow>) {
        let event = prompt(&self.sandbox, text);
        self.ledger.try_to_keep(text);
        if self.hook("memory-prompt-save", &event, blow) {
            self.ledger.keep(text);
        }
    }

    /// Whether a hook ends at a point.
    pub(super) fn is_killed_at(&mut self, point: &'static str) -> bool {
        let event = prompt(&self.sandbox, "a prompt");
        self.hook("memory-prompt-save", &event, Some(&Blow::At { point, time: 1 }));
        self.hits > 0
    }

    /// Opens the store once more, as whoever comes next does, and gives everything that is wrong then.
    pub(super) fn findings(mut self) -> Vec<String> {
        let store = self.sandbox.store();
        age_temporary_files(&store);
        self.cli(&["index"], None);
        match texts_in_rows(&store) {
            Ok(there) => self.findings.extend(self.ledger.findings(&there)),
            Err(error) => self.findings.push(format!("the rows cannot be read: {error}")),
        }
        self.findings.extend(at_rest(&store));
        self.findings
    }
}

/// The event of a prompt.
pub(super) fn prompt(sandbox: &Sandbox, text: &str) -> Value {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = text.into();
    event
}
