//! Another server of memories, measured in turns with ours.
//!
//! `--peer COMMAND` starts it, with a home of its own. `--peer-save` and `--peer-search` give the names of its tools and their arguments in
//! JSON. In these `%` is replaced by the text and `@` by a number that no other call has, for servers that merge what has the same title:
//! `--peer-save 'remember {"title":"@","content":"%"}'`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::figures::Table;
use crate::memories::Question;
use crate::serving::Server;
use crate::{Outcome, given};

/// Memories that a peer is given; some take a second for each ten.
const MOST: usize = 2_000;

/// Another server, as the command line gives it.
pub(crate) struct Peer {
    command: String,
    save: Tool,
    search: Tool,
}

impl Peer {
    pub(crate) fn given() -> Outcome<Option<Self>> {
        let Some(command) = given("--peer") else { return Ok(None) };
        Ok(Some(Self { command, save: Tool::given("--peer-save")?, search: Tool::given("--peer-search")? }))
    }

    /// The name of its program.
    pub(crate) fn name(&self) -> &str {
        self.command.split_whitespace().next().and_then(|program| program.rsplit('/').next()).unwrap_or_default()
    }

    /// Starts a server in a project below `home`.
    pub(crate) fn start(&self, home: &Path) -> Outcome<Server> {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().ok_or("--peer is a command")?);
        // A folder that is a project and not the home, which some refuse to remember in.
        let project = home.join("project");
        fs::create_dir_all(project.join(".git"))?;
        command.args(words).current_dir(project).env("HOME", home);
        Server::start(command)
    }

    pub(crate) fn save(&self, server: &mut Server, text: &str) -> Outcome<Duration> {
        Ok(server.call(&self.save.name, &self.save.arguments(text))?.0)
    }
}

/// Saves and searches with a peer what we saved and searched, and puts its figures next to ours.
pub(crate) fn measure(
    ours: &mut Server,
    memories: &[String],
    questions: &[Question],
    table: &mut Table,
) -> Outcome<()> {
    let Some(peer) = Peer::given()? else { return Ok(()) };
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

struct Tool {
    name: String,
    template: String,
    calls: AtomicUsize,
}

impl Tool {
    fn given(option: &str) -> Outcome<Self> {
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
