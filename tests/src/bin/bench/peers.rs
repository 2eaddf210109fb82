//! Measures our server and others in alternation, and makes one table of all.
//!
//! `--peers all` measures all descriptions in `tests/peers`, `--peers NAME,FILE.json` ours and these. All servers save, search and start
//! in turns, so that the load of the machine is the same for all. A server that fails gets a row with the reason.

mod answers;
mod concurrent;
mod report;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::peer::{Peer, PeerDescription, PeerError, TimedServer};
use harness::{Binaries, files_below};
use serde_json::Value;
use tempfile::TempDir;

use crate::arguments::{Outcome, given};
use crate::memories::{BenchQuestion, sample_memories, sample_questions};
use crate::peer::installed_folder;
use answers::AnswerKey;
use report::PeerRow;

pub(crate) use report::{markdown, write};

/// The number of memories without `--peers-memories`. Some servers need a second for five.
const MEMORIES: usize = 2_000;
/// Saves, searches and starts of one server before it is the next one's turn.
const TURN: usize = 50;
/// Ten of each class.
const QUESTIONS: usize = 90;
const STARTS: usize = 5;
const HOOKS: usize = 50;

/// The total time for the saves of a server. A slower server gets fewer memories.
const SAVING: Duration = Duration::from_mins(5);

/// A server that is measured.
struct Contestant {
    peer: Peer,
    home: TempDir,
    /// Absent before the first start, and after a failure.
    server: Option<TimedServer>,
    row: PeerRow,
}

/// Measures all servers of the command line.
pub(crate) fn measure(binaries: &Binaries) -> Outcome<Vec<PeerRow>> {
    let count = given("--peers-memories").map_or(Ok(MEMORIES), |count| count.replace('_', "").parse())?;
    let folder = tempfile::tempdir()?;
    let bin = folder.path().join("bin");
    binaries.copy_to(&bin);
    let mut contestants = contestants(&bin)?;
    let memories = sample_memories(count);
    let questions = sample_questions(&memories, QUESTIONS);
    each(&mut contestants, "start", Contestant::start_empty);
    for turn in memories.chunks(TURN) {
        each(&mut contestants, "", |contestant| contestant.save(turn));
    }
    let key = AnswerKey::new(&memories);
    for (number, question) in questions.iter().enumerate() {
        let progress = if number == 0 { "search" } else { "" };
        each(&mut contestants, progress, |contestant| contestant.search(question, &key));
    }
    each(&mut contestants, "hook", Contestant::run_hooks);
    each(&mut contestants, "weigh", Contestant::weigh);
    for number in 0..STARTS {
        each(&mut contestants, if number == 0 { "restart" } else { "" }, Contestant::restart);
    }
    each(&mut contestants, "save at once", Contestant::save_at_once);
    Ok(contestants.into_iter().map(|contestant| contestant.row).collect())
}

/// Returns ours first, then the given ones.
fn contestants(ours: &Path) -> Outcome<Vec<Contestant>> {
    let given = given("--peers").unwrap_or_else(|| "all".to_owned());
    let all = PeerDescription::names()?;
    let ours_first: Vec<String> = all.iter().take(1).cloned().collect();
    let others = match given.as_str() {
        "all" => all,
        given => given.split(',').map(|name| name.trim().to_owned()).collect(),
    };
    let others = others.into_iter().filter(|name| !ours_first.contains(name));
    let names: Vec<String> = ours_first.iter().cloned().chain(others).collect();
    let installed = installed_folder()?;
    let new = |(number, name): (usize, &String)| {
        let peer = Peer::named(name, if number == 0 { ours } else { &installed })?;
        let row = PeerRow::new(&peer.description);
        Ok(Contestant { peer, home: tempfile::tempdir()?, server: None, row })
    };
    names.iter().enumerate().map(new).collect()
}

/// Does the same with each server that has not failed.
fn each(contestants: &mut [Contestant], progress: &str, mut work: impl FnMut(&mut Contestant) -> Outcome<()>) {
    for contestant in contestants.iter_mut().filter(|contestant| contestant.row.failure.is_none()) {
        if !progress.is_empty() {
            let _ = writeln!(io::stderr(), "{}: {progress}", contestant.peer.name());
        }
        if let Err(error) = work(contestant) {
            let _ = writeln!(io::stderr(), "{}: {error}", contestant.peer.name());
            contestant.row.failure = Some(short_reason(error.as_ref()));
            contestant.server = None;
        }
    }
}

/// The reason of a failure without paths of this machine, because documents have it.
fn short_reason(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref::<PeerError>() {
        Some(PeerError::Start { .. }) => "not installed".to_owned(),
        Some(PeerError::Refused { method, .. }) => format!("{method} failed"),
        Some(error) => error.to_string(),
        None => "failed".to_owned(),
    }
}

impl Contestant {
    fn server(&mut self) -> Outcome<&mut TimedServer> {
        Ok(self.server.as_mut().ok_or("the server does not run")?)
    }

    fn start_empty(&mut self) -> Outcome<()> {
        self.server = Some(self.peer.start(self.home.path())?);
        self.row.bytes = bytes_below(self.home.path());
        Ok(())
    }

    fn save(&mut self, memories: &[String]) -> Outcome<()> {
        for text in memories {
            if self.row.saves.iter().sum::<Duration>() > SAVING {
                return Ok(());
            }
            let server = self.server.as_mut().ok_or("the server does not run")?;
            self.row.saves.push(self.peer.save(server, text)?);
        }
        Ok(())
    }

    fn search(&mut self, question: &BenchQuestion, key: &AnswerKey) -> Outcome<()> {
        let server = self.server.as_mut().ok_or("the server does not run")?;
        let (took, answer) = match self.peer.search(server, &question.text) {
            // Some questions are invalid queries for some servers.
            Err(PeerError::Refused { answer, .. }) => (None, answer),
            answer => answer.map(|(took, text)| (Some(took), text))?,
        };
        self.row.searches.extend(took);
        if let Some(is_right) = key.judge(question, self.row.saves.len(), &answer) {
            let (right, all) = self.row.right.entry(question.class).or_default();
            *right += usize::from(is_right && took.is_some());
            *all += 1;
        }
        Ok(())
    }

    fn run_hooks(&mut self) -> Outcome<()> {
        let Some(hook) = &self.peer.description.hook else { return Ok(()) };
        for number in 0..HOOKS {
            let text = format!("{number}: why does the watcher miss files that editors replace?");
            let (command, input) = self.peer.hook(hook, self.home.path(), &text)?;
            self.row.hooks.push(time_hook(command, &input)?);
        }
        Ok(())
    }

    /// Measures memory and the bytes on disk, and stops the server.
    fn weigh(&mut self) -> Outcome<()> {
        self.row.resident = self.server()?.resident();
        if let Some(server) = self.server.take() {
            server.stop();
        }
        self.row.bytes = bytes_below(self.home.path()).saturating_sub(self.row.bytes);
        Ok(())
    }

    fn restart(&mut self) -> Outcome<()> {
        let server = self.peer.start(self.home.path())?;
        self.row.starts.push(server.started.elapsed());
        server.stop();
        Ok(())
    }

    fn save_at_once(&mut self) -> Outcome<()> {
        self.row.concurrent = Some(concurrent::measure(&self.peer)?);
        Ok(())
    }
}

fn time_hook(mut command: Command, input: &Value) -> Outcome<Duration> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.to_string().as_bytes())?;
    }
    child.wait()?.success().then(|| started.elapsed()).ok_or_else(|| "the hook failed".into())
}

/// Returns the size of all files, also of logs and caches.
fn bytes_below(folder: &Path) -> u64 {
    files_below(folder).iter().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum()
}
