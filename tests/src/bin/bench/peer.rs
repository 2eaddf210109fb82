//! Another server of memories, measured beside ours in turns.
//!
//! `--peer COMMAND` starts it, with a home of its own. What its tools are called and take is told by `--peer-save` and `--peer-search`, each
//! the name of a tool and its arguments in JSON, in which `%` stands for the text: `--peer-save 'remember {"content":"%"}'`.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::figures::Table;
use crate::memories::Question;
use crate::serving::Server;
use crate::{Outcome, given};

/// Memories that a peer is given; some take a second for each ten.
const MOST: usize = 2_000;

/// Saves and searches with a peer what we saved and searched, and puts its figures beside ours.
pub(crate) fn measure(
    ours: &mut Server,
    memories: &[String],
    questions: &[Question],
    table: &mut Table,
) -> Outcome<()> {
    let Some(command) = given("--peer") else { return Ok(()) };
    let (save, search) = (Tool::given("--peer-save")?, Tool::given("--peer-search")?);
    let home = tempfile::tempdir()?;
    let mut words = command.split_whitespace();
    let mut command = Command::new(words.next().ok_or("--peer is a command")?);
    // A folder that is a project and not the home, which some refuse to remember in.
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".git"))?;
    command.args(words).current_dir(project).env("HOME", home.path());
    let mut peer = Server::start(command)?;
    let mut saves = Vec::new();
    for text in memories.iter().take(MOST) {
        saves.push(peer.call(&save.name, &save.arguments(text))?.0);
    }
    let (mut of_peer, mut of_ours) = (Vec::<Duration>::new(), Vec::new());
    for question in questions {
        of_peer.push(peer.call(&search.name, &search.arguments(&question.text))?.0);
        of_ours.push(ours.search(&question.text)?.0);
    }
    let name = format!("peer with {} memories", saves.len());
    let marks = [50, 95, 99].map(|percent| (percent, None));
    table.add_times(&format!("{name}, save"), &mut saves, None, &marks);
    table.add_times(&format!("{name}, search"), &mut of_peer, None, &marks);
    table.add_times("ours at the same time, all memories, search", &mut of_ours, None, &marks);
    peer.end()
}

struct Tool {
    name: String,
    template: String,
}

impl Tool {
    fn given(option: &str) -> Outcome<Self> {
        let text = given(option).ok_or_else(|| format!("--peer needs {option}"))?;
        let (name, template) = text.split_once(' ').ok_or_else(|| format!("{option} is a tool and its arguments"))?;
        Ok(Self { name: name.to_owned(), template: template.to_owned() })
    }

    fn arguments(&self, text: &str) -> Value {
        let quoted = Value::from(text).to_string();
        let filled = self.template.replace('%', &quoted[1..quoted.len() - 1]);
        serde_json::from_str(&filled).unwrap_or(Value::Null)
    }
}
