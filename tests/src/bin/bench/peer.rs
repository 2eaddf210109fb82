//! Measures another memory server in alternation with ours.
//!
//! `--peer COMMAND` starts it with its own home. `--peer-save` and `--peer-search` give its tools and their arguments in JSON. `%` is
//! replaced by the text and `@` by a unique number, for servers that merge equal titles:
//! `--peer-save 'remember {"title":"@","content":"%"}'`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::arguments::{Outcome, given};
use crate::figures::FigureTable;
use crate::memories::BenchQuestion;
use crate::serving::BenchServer;

/// The maximum number of memories for a peer. Some peers need a second for ten.
const MOST: usize = 2_000;

pub(crate) struct PeerServer {
    command: String,
    save: PeerTool,
    search: PeerTool,
}

impl PeerServer {
    pub(crate) fn from_arguments() -> Outcome<Option<Self>> {
        let Some(command) = given("--peer") else { return Ok(None) };
        Ok(Some(Self {
            command,
            save: PeerTool::from_arguments("--peer-save")?,
            search: PeerTool::from_arguments("--peer-search")?,
        }))
    }

    pub(crate) fn name(&self) -> &str {
        self.command.split_whitespace().next().and_then(|program| program.rsplit('/').next()).unwrap_or_default()
    }

    pub(crate) fn start(&self, home: &Path) -> Outcome<BenchServer> {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().ok_or("--peer is a command")?);
        // Not the home directory, where some servers refuse to save.
        let project = home.join("project");
        fs::create_dir_all(project.join(".git"))?;
        command.args(words).current_dir(project).env("HOME", home);
        BenchServer::start(command)
    }

    pub(crate) fn save(&self, server: &mut BenchServer, text: &str) -> Outcome<Duration> {
        Ok(server.call(&self.save.name, &self.save.arguments(text))?.0)
    }
}

/// Repeats our saves and searches with a peer and reports both.
pub(crate) fn measure(
    ours: &mut BenchServer,
    memories: &[String],
    questions: &[BenchQuestion],
    table: &mut FigureTable,
) -> Outcome<()> {
    let Some(peer) = PeerServer::from_arguments()? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let mut server = peer.start(home.path())?;
    let mut saves = Vec::new();
    for text in memories.iter().take(MOST) {
        saves.push(peer.save(&mut server, text)?);
    }
    let (mut of_peer, mut of_ours) = (Vec::<Duration>::new(), Vec::new());
    for question in questions {
        of_peer.push(server.call(&peer.search.name, &peer.search.arguments(&question.text))?.0);
        of_ours.push(ours.search(&question.text)?.0);
    }
    let name = format!("{} with {} memories", peer.name(), saves.len());
    let marks = [50, 95, 99].map(|percent| (percent, None));
    table.add_times(&format!("{name}, save"), &mut saves, None, &marks);
    table.add_times(&format!("{name}, search"), &mut of_peer, None, &marks);
    table.add_times("ours at the same time, all memories, search", &mut of_ours, None, &marks);
    server.end()
}

struct PeerTool {
    name: String,
    template: String,
    calls: AtomicUsize,
}

impl PeerTool {
    fn from_arguments(option: &str) -> Outcome<Self> {
        let text = given(option).ok_or_else(|| format!("--peer needs {option}"))?;
        let (name, template) = text.split_once(' ').ok_or_else(|| format!("{option} is a tool and its arguments"))?;
        Ok(Self { name: name.to_owned(), template: template.to_owned(), calls: AtomicUsize::new(0) })
    }

    fn arguments(&self, text: &str) -> Value {
        let number = self.calls.fetch_add(1, Ordering::Relaxed).to_string();
        let quoted = Value::from(text).to_string();
        let filled = self.template.replace('@', &number).replace('%', &quoted[1..quoted.len() - 1]);
        serde_json::from_str(&filled).unwrap_or(Value::Null)
    }
}
