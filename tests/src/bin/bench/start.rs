//! Time from the start of a server to its first responses, relative to a minimal process, and its memory at rest.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use harness::benchmark::BaselinePrograms;
use harness::peer::TimedServer;
use harness::{Binaries, Sandbox, run_to_end};

use crate::arguments::Outcome;
use crate::figures::Goal::AtMost;
use crate::figures::{FigureTable, percentile};
use crate::serving;

/// The number of starts, and of searches after each.
const STARTS: usize = 60;
const SEARCHED: usize = 15;

/// The idle time before memory is measured.
pub(crate) const REST: Duration = Duration::from_secs(2);

/// The maximum time until a response, relative to a minimal process.
const ANSWERED: f64 = 4.0;

/// The allowed ratio of a large store to a small one: the noise between two measurements.
pub(crate) const NO_SLOWER: f64 = 1.1;

/// Response times since the start.
#[derive(Debug, Default)]
struct StartTimes {
    initialize: Vec<Duration>,
    listed: Vec<Duration>,
    discovered: Vec<Duration>,
}

impl StartTimes {
    /// Starts a server in each protocol era and returns the first.
    fn add_start(&mut self, sandbox: &Sandbox) -> Outcome<TimedServer> {
        let mut server = TimedServer::spawn(serve_command(sandbox))?;
        server.discover()?;
        self.discovered.push(server.started.elapsed());
        server.end()?;
        let mut server = TimedServer::spawn(serve_command(sandbox))?;
        server.initialize()?;
        self.initialize.push(server.started.elapsed());
        server.list()?;
        self.listed.push(server.started.elapsed());
        Ok(server)
    }
}

pub(crate) fn serve_command(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.memory_command();
    command.arg("serve");
    command
}

pub(crate) fn measure(
    sandbox: &Sandbox,
    binaries: &Binaries,
    floors: &BaselinePrograms,
    table: &mut FigureTable,
) -> Outcome<()> {
    let empty = Sandbox::new(binaries.clone());
    let (mut floor, mut first) = (Vec::new(), Vec::new());
    let [mut full, mut without] = [(); 2].map(|()| StartTimes::default());
    for run in 0..STARTS {
        let started = Instant::now();
        Command::new(&floors.noop).status()?;
        floor.push(started.elapsed());
        without.add_start(&empty)?.end()?;
        let mut server = full.add_start(sandbox)?;
        if run % (STARTS / SEARCHED) == 0 {
            first.push(serving::search(&mut server, "which cache kept the old key")?.0);
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
    table.add_times("start to tools/list, empty store", &mut without.listed, Some(floor), &[(50, None)]);
    let times = percentile(&full.listed, 50) / percentile(&without.listed, 50);
    table.add("start to tools/list, relative to an empty store", times, "times", None, Some(AtMost(NO_SLOWER)));
    table.add_times("the first search of a server", &mut first, None, &[(50, Some(AtMost(30.0)))]);
    let server = TimedServer::start(serve_command(&empty))?;
    thread::sleep(REST);
    if let Some(resident) = server.resident() {
        table.add("resident at rest, empty store", resident, "MiB", None, None);
    }
    Ok(server.end()?)
}

/// Returns the duration of a command in seconds.
pub(crate) fn time_command(sandbox: &Sandbox, provider: &str, arguments: &[&str]) -> f64 {
    let mut command = sandbox.memory_command();
    command.args(arguments).env("JIKIME_EMBEDDING_PROVIDER", provider);
    run_to_end(command, "", COMMAND_DEADLINE).assert_success().elapsed.as_secs_f64()
}

/// Time limit of a command on a large store.
pub(crate) const COMMAND_DEADLINE: Duration = Duration::from_hours(1);
