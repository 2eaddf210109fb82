//! From the start of a server to its first answers, as times of a process that does nothing, and what it holds when it has nothing to do.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use harness::benchmark::Floors;
use harness::{Binaries, Sandbox};

use crate::Outcome;
use crate::figures::Goal::AtMost;
use crate::figures::{Table, percentile};
use crate::serving::Server;

/// How often a server is started, and how often it is then searched.
const STARTS: usize = 60;
const SEARCHED: usize = 15;

/// How long it rests before its memory is looked at.
pub(crate) const REST: Duration = Duration::from_secs(2);

/// Times of a process that does nothing until a server has answered.
const ANSWERED: f64 = 4.0;

/// What a large store may add to that: what two measurements of the same differ by.
pub(crate) const NO_SLOWER: f64 = 1.1;

/// When a server answered, from its start on.
#[derive(Debug, Default)]
struct Starts {
    initialize: Vec<Duration>,
    listed: Vec<Duration>,
    discovered: Vec<Duration>,
}

impl Starts {
    /// Starts a server in each era, and answers the first.
    fn once(&mut self, sandbox: &Sandbox) -> Outcome<Server> {
        let mut server = Server::spawn(serve(sandbox))?;
        server.discover()?;
        self.discovered.push(server.started.elapsed());
        server.end()?;
        let mut server = Server::spawn(serve(sandbox))?;
        server.initialize()?;
        self.initialize.push(server.started.elapsed());
        server.list()?;
        self.listed.push(server.started.elapsed());
        Ok(server)
    }
}

/// What hosts start.
pub(crate) fn serve(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.memory_command();
    command.arg("serve");
    command
}

pub(crate) fn measure(sandbox: &Sandbox, binaries: &Binaries, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let empty = Sandbox::new(binaries.clone());
    let (mut floor, mut first) = (Vec::new(), Vec::new());
    let [mut full, mut without] = [(); 2].map(|()| Starts::default());
    for run in 0..STARTS {
        let started = Instant::now();
        Command::new(&floors.noop).status()?;
        floor.push(started.elapsed());
        without.once(&empty)?.end()?;
        let mut server = full.once(sandbox)?;
        if run % (STARTS / SEARCHED) == 0 {
            first.push(server.search("which cache kept the old key")?.0);
        }
        server.end()?;
    }
    floor.sort_unstable();
    let floor = percentile(&floor, 50);
    let goal = [(50, Some(AtMost(ANSWERED * floor))), (95, None)];
    table.add("a process that does nothing, p50", floor, "ms", None, None);
    table.add_times("start to initialize", &mut full.initialize, Some(floor), &goal);
    table.add_times("start to tools/list", &mut full.listed, Some(floor), &goal);
    table.add_times("start to server/discover", &mut full.discovered, Some(floor), &goal);
    table.add_times("start to tools/list, of an empty store", &mut without.listed, Some(floor), &[(50, None)]);
    let times = percentile(&full.listed, 50) / percentile(&without.listed, 50);
    table.add("start to tools/list, to that of an empty store", times, "times", None, Some(AtMost(NO_SLOWER)));
    table.add_times("the first search of a server", &mut first, None, &[(50, Some(AtMost(30.0)))]);
    let server = Server::start(serve(&empty))?;
    thread::sleep(REST);
    if let Some(resident) = server.resident() {
        table.add("resident at rest, of an empty store", resident, "MiB", None, None);
    }
    server.end()
}
