//! Other MCP servers, described by a file, so that programs can compare them with ours.
//!
//! `tests/peers/NAME.json` describes a server; `docs/dev/performance.md` explains the fields. A peer runs with its own home and without
//! the user's variables, so that it finds no data and no keys of the user.

mod answer_text;
mod connection;
mod description;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

pub use answer_text::{DocumentMarks, plain_text};
pub use connection::{PeerError, TimedServer, result_text};
pub use description::{PeerDescription, PeerHook, PeerRuntime, PeerTool};

use crate::environment;

/// A described server, and where it is installed.
#[derive(Debug)]
pub struct Peer {
    pub description: PeerDescription,
    installed: PathBuf,
    /// The unique numbers so far.
    numbers: AtomicUsize,
}

impl Peer {
    /// Reads a description: `NAME` of `tests/peers/NAME.json`, or the path of a JSON file.
    pub fn named(name: &str, installed: &Path) -> Result<Self, PeerError> {
        Ok(Self::new(PeerDescription::named(name)?, installed))
    }

    pub fn new(description: PeerDescription, installed: &Path) -> Self {
        Self { description, installed: installed.to_owned(), numbers: AtomicUsize::new(0) }
    }

    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Starts the server and waits for its list of tools. Servers with the same home share a store.
    pub fn start(&self, home: &Path) -> Result<TimedServer, PeerError> {
        TimedServer::start(self.command(home)?)
    }

    /// Saves a text and returns the time of the call.
    pub fn save(&self, server: &mut TimedServer, text: &str) -> Result<Duration, PeerError> {
        Ok(self.call(server, &self.description.save, text)?.0)
    }

    /// Searches and returns the time of the call and the text of the result.
    pub fn search(&self, server: &mut TimedServer, question: &str) -> Result<(Duration, String), PeerError> {
        self.call(server, &self.description.search, question)
    }

    /// Calls a tool of the description, and returns the time of the call and the text of the result.
    pub fn call(&self, server: &mut TimedServer, tool: &PeerTool, text: &str) -> Result<(Duration, String), PeerError> {
        let (took, result) = server.call(&tool.tool, &tool.filled(text, self.next_number()))?;
        Ok((took, result_text(&result)))
    }

    /// Returns the command that starts the server.
    pub fn command(&self, home: &Path) -> Result<Command, PeerError> {
        self.command_of(&self.description.command, home)
    }

    /// Returns the command of a hook with this text, and its standard input.
    pub fn hook(&self, hook: &PeerHook, home: &Path, text: &str) -> Result<(Command, Value), PeerError> {
        // The paths first, because the text may contain their marks.
        let input = description::each_text(&hook.input, &|text| self.with_paths(text, home));
        let input = description::filled(&input, text, self.next_number());
        Ok((self.command_of(&hook.command, home)?, input))
    }

    /// Returns the project of a home: not the home itself, where some servers refuse to save.
    pub fn project(home: &Path) -> PathBuf {
        home.join("project")
    }

    fn command_of(&self, words: &[String], home: &Path) -> Result<Command, PeerError> {
        let project = Self::project(home);
        fs::create_dir_all(project.join(".git")).map_err(|error| self.cannot_start(&error))?;
        // Programs look for a branch.
        fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").map_err(|error| self.cannot_start(&error))?;
        let mut words = words.iter().map(|word| self.with_paths(word, home));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(project).env_clear();
        command.envs(environment::inherited()).env("HOME", home).env("USERPROFILE", home);
        let own = &self.description.environment;
        command.envs(own.iter().map(|(name, value)| (name, self.with_paths(value, home))));
        Ok(command)
    }

    fn with_paths(&self, text: &str, home: &Path) -> String {
        let paths = [("{installed}", self.installed.as_path()), ("{home}", home), ("{project}", &Self::project(home))];
        paths.iter().fold(text.to_owned(), |text, (mark, path)| text.replace(mark, &path.to_string_lossy()))
    }

    fn next_number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn cannot_start(&self, reason: &dyn std::fmt::Display) -> PeerError {
        PeerError::Start { command: self.description.command.join(" "), reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests;
