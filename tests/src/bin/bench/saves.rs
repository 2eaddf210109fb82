//! Measures saves of one and of several servers, compared with plain appends, plain rows and a peer.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use harness::peer::{Peer, TimedServer};
use harness::{Binaries, Sandbox, eventually_some};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::arguments::Outcome;
use crate::crowd::{self, CrowdTimes, TURNS, WORKERS};
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{FigureTable, Goal, percentile};
use crate::memories::{SampleSave, count_saved, needle, sample_saves};
use crate::peer;
use crate::start::serve_command;

const SAVES: usize = 1_100;

/// The type for runs with a single type.
const ONE_TYPE: &str = "learning";

/// The number of runs of several servers, each with its own store. The median counts.
const ROUNDS: usize = 3;

/// The minimum rate of saves of all types, relative to one type and to a peer.
const OF_ONE_TYPE: f64 = 0.8;
const OF_A_PEER: f64 = 1.5;

/// The number of saves that are searched for by unique words, and the first number of such a word.
const FOUND: usize = 10;
const NEVER_USED: usize = 23_000_000;

/// The time within which a save must be found by its vector.
const MEANT: Duration = Duration::from_secs(2);

/// Measures saves of all types in turn.
pub(crate) fn measure(server: &mut TimedServer, table: &mut FigureTable) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let (mut file, database) = (open_log(folder.path())?, open_database(folder.path())?);
    let [mut append, mut insert, mut times] = [(); 3].map(|()| Vec::with_capacity(SAVES));
    for save in sample_saves("alone", SAVES) {
        append.push(time_work(|| append_locked(&mut file, &save.text))?);
        insert.push(time_work(|| insert_row(&database, &save.text))?);
        times.push(server.call("memory_save", &arguments(&save))?.0);
    }
    table.add_times("an append under a lock", &mut append, None, &[(50, None), (99, None)]);
    table.add_times("a row into SQLite", &mut insert, None, &[(50, None), (99, None)]);
    let floor = percentile(&insert, 50);
    table.add_times("save, all types", &mut times, Some(floor), &[(50, Some(AtMost(0.5))), (99, Some(AtMost(5.0)))]);
    Ok(())
}

/// Measures whether a save is found by words at once, and how soon by its vector.
pub(crate) fn measure_found(server: &mut TimedServer, table: &mut FigureTable) -> Outcome<()> {
    let (mut at_once, mut meant) = (0, Vec::new());
    for number in 0..FOUND {
        let word = needle(NEVER_USED + number);
        let content = format!("The {word} service retries three times before it gives up.");
        let asked = json!({ "query": word, "explain": true, "maxResults": 1 });
        server.call("memory_save", &json!({ "type": "decision", "content": content }))?;
        let saved = Instant::now();
        let mut is_first = true;
        eventually_some(MEANT * 10, || {
            let (_, result) = match server.call("memory_search", &asked) {
                Ok(answer) => answer,
                Err(error) => return Some(Err(error)),
            };
            let hit = &result["structuredContent"]["results"][0];
            let is_found = hit["snippet"].as_str().is_some_and(|text| text.contains(&word));
            at_once += usize::from(std::mem::take(&mut is_first) && is_found);
            let counts = hit["explanation"].as_str().is_some_and(|why| is_found && why.contains("vector"));
            counts.then_some(Ok(()))
        })?;
        meant.push(saved.elapsed());
    }
    let share = at_once as f64 / FOUND as f64;
    table.add("a new save is found by its words", share, "share", None, Some(AtLeast(1.0)));
    let goal = AtMost(MEANT.as_secs_f64() * 1e3);
    table.add_times("from a save until its vector is found", &mut meant, None, &[(50, None), (100, Some(goal))]);
    Ok(())
}

pub(crate) fn measure_large_store(sandbox: &Sandbox, table: &mut FigureTable) -> Outcome<()> {
    let run = run_servers(sandbox, &sample_saves("large", WORKERS * TURNS))?;
    let name = format!("{WORKERS} x {TURNS} saves of all types, large store");
    SaveRates::from_runs(&[run]).add(&name, None, Some(AtLeast(4_000.0)), table);
    Ok(())
}

/// Measures concurrent saves of one type, of all types, and of a peer, in alternation and each in a new store.
pub(crate) fn measure_concurrent(binaries: &Binaries, table: &mut FigureTable) -> Outcome<()> {
    let peer = peer::given_peer()?;
    let [mut append, mut insert, mut one, mut all, mut of_peer] = [(); 5].map(|()| Vec::with_capacity(ROUNDS));
    for round in 0..ROUNDS {
        let saves = sample_saves(&format!("round{round}"), WORKERS * TURNS);
        let of_one_type: Vec<SampleSave> =
            saves.iter().cloned().map(|save| SampleSave { kind: ONE_TYPE, ..save }).collect();
        append.push(run_appends(&saves)?);
        insert.push(run_rows(&saves)?);
        one.push(run_servers(&Sandbox::new(binaries.clone()), &of_one_type)?);
        all.push(run_servers(&Sandbox::new(binaries.clone()), &saves)?);
        if let Some(peer) = &peer {
            of_peer.push(run_peer(peer, &saves)?);
        }
    }
    let [append, insert, one, all] = [append, insert, one, all].map(|runs| SaveRates::from_runs(&runs));
    let count = format!("{WORKERS} x {TURNS}");
    let (floor, rate) = (Some(insert.rate), all.rate);
    let to_one_type = rate / one.rate;
    table.add(format!("{count} appends under a lock"), append.rate, "a second", None, None);
    table.add(format!("{count} rows into SQLite"), insert.rate, "a second", None, None);
    one.add(&format!("{count} saves of one type"), floor, None, table);
    all.add(&format!("{count} saves of all types"), floor, None, table);
    table.add("  relative to saves of one type", to_one_type, "times", None, Some(AtLeast(OF_ONE_TYPE)));
    if let Some(peer) = &peer {
        let of_peer = SaveRates::from_runs(&of_peer);
        let to_peer = rate / of_peer.rate;
        table.add(format!("{count} saves of {}", peer.name()), of_peer.rate, "a second", floor, None);
        table.add("  refused", of_peer.refused as f64, "saves", None, None);
        table.add("  our saves of all types relative to these", to_peer, "times", None, Some(AtLeast(OF_A_PEER)));
    }
    Ok(())
}

struct SaveRun {
    taken: CrowdTimes,
    /// Saves that returned an error.
    refused: usize,
    /// Acknowledged saves that are missing or duplicated.
    lost: usize,
}

/// Results of repeated runs.
struct SaveRates {
    /// Median of acknowledged saves per second.
    rate: f64,
    /// Times of single saves in all runs.
    times: Vec<Duration>,
    /// Total of all runs.
    refused: usize,
    lost: usize,
}

impl SaveRates {
    fn from_runs(runs: &[SaveRun]) -> Self {
        let rate = |run: &SaveRun| (run.taken.turns.len() - run.refused) as f64 / run.taken.total.as_secs_f64();
        let mut rates: Vec<f64> = runs.iter().map(rate).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let times = runs.iter().flat_map(|run| run.taken.turns.clone()).collect();
        let (refused, lost) = (runs.iter().map(|run| run.refused).sum(), runs.iter().map(|run| run.lost).sum());
        Self { rate: rates[rates.len() / 2], times, refused, lost }
    }

    /// Adds rows, the first relative to plain appends or rows.
    fn add(mut self, name: &str, floor: Option<f64>, goal: Option<Goal>, table: &mut FigureTable) {
        table.add(name, self.rate, "a second", floor, goal);
        table.add_times("  a save", &mut self.times, None, &[(50, None), (99, None)]);
        table.add("  refused", self.refused as f64, "saves", None, Some(AtMost(0.0)));
        table.add("  acknowledged, but lost or duplicated", self.lost as f64, "saves", None, Some(AtMost(0.0)));
    }
}

/// Runs several of our servers on one store, and checks the acknowledged saves after all servers have ended.
fn run_servers(sandbox: &Sandbox, saves: &[SampleSave]) -> Outcome<SaveRun> {
    let start = || {
        let mut server = TimedServer::start(serve_command(sandbox))?;
        server.call("memory_stats", &json!({}))?;
        Ok(server)
    };
    let save =
        |server: &mut TimedServer, save: &SampleSave| Ok(server.call("memory_save", &arguments(save)).map(drop)?);
    let (taken, saved) = run_saves(start, save, |server| Ok(server.end()?), saves)?;
    let lost = saved.len() - count_saved(sandbox, &saved)?;
    Ok(SaveRun { taken, refused: saves.len() - saved.len(), lost })
}

/// Runs several servers of a peer on one store, without checking the saves.
fn run_peer(peer: &Peer, saves: &[SampleSave]) -> Outcome<SaveRun> {
    let home = tempfile::tempdir()?;
    let save = |server: &mut TimedServer, save: &SampleSave| Ok(peer.save(server, &save.text).map(drop)?);
    let end = |server: TimedServer| {
        server.stop();
        Ok(())
    };
    let (taken, saved) = run_saves(|| Ok(peer.start(home.path())?), save, end, saves)?;
    Ok(SaveRun { taken, refused: saves.len() - saved.len(), lost: 0 })
}

/// Runs concurrent saves and returns the acknowledged ones.
fn run_saves(
    start: impl Fn() -> Outcome<TimedServer>,
    save: impl Fn(&mut TimedServer, &SampleSave) -> Outcome<()> + Sync,
    end: impl Fn(TimedServer) -> Outcome<()>,
    saves: &[SampleSave],
) -> Outcome<(CrowdTimes, Vec<&SampleSave>)> {
    let workers: Outcome<Vec<_>> = (0..WORKERS).map(|_| Ok((start()?, Vec::new()))).collect();
    let mut workers = workers?;
    let taken = crowd::run_crowd(&mut workers, |(server, saved), worker, turn| {
        let one = &saves[worker * TURNS + turn];
        saved.extend(save(server, one).is_ok().then_some(one));
        Ok(())
    })?;
    let mut acknowledged = Vec::new();
    for (server, saved) in workers {
        end(server)?;
        acknowledged.extend(saved);
    }
    Ok((taken, acknowledged))
}

/// Runs the baseline for logs: appends under a lock.
fn run_appends(saves: &[SampleSave]) -> Outcome<SaveRun> {
    let folder = tempfile::tempdir()?;
    let files: Outcome<Vec<File>> = (0..WORKERS).map(|_| open_log(folder.path())).collect();
    let append = |file: &mut File, worker: usize, turn: usize| append_locked(file, &saves[worker * TURNS + turn].text);
    Ok(SaveRun { taken: crowd::run_crowd(&mut files?, append)?, refused: 0, lost: 0 })
}

/// Runs the baseline for rows: inserts into a database.
fn run_rows(saves: &[SampleSave]) -> Outcome<SaveRun> {
    let folder = tempfile::tempdir()?;
    let databases: Outcome<Vec<Connection>> = (0..WORKERS).map(|_| open_database(folder.path())).collect();
    let insert = |db: &mut Connection, worker: usize, turn: usize| insert_row(db, &saves[worker * TURNS + turn].text);
    Ok(SaveRun { taken: crowd::run_crowd(&mut databases?, insert)?, refused: 0, lost: 0 })
}

fn arguments(save: &SampleSave) -> Value {
    json!({ "type": save.kind, "content": save.text })
}

fn open_log(folder: &Path) -> Outcome<File> {
    Ok(File::options().create(true).append(true).open(folder.join("log"))?)
}

fn append_locked(file: &mut File, text: &str) -> Outcome<()> {
    file.lock()?;
    file.write_all(format!("{text}\n").as_bytes())?;
    Ok(file.unlock()?)
}

fn open_database(folder: &Path) -> Outcome<Connection> {
    let db = Connection::open(folder.join("rows.db"))?;
    db.busy_timeout(Duration::from_secs(10))?;
    db.pragma_update(None, "journal_mode", "wal")?;
    db.pragma_update(None, "synchronous", "normal")?;
    db.execute_batch("CREATE TABLE IF NOT EXISTS rows (n INTEGER PRIMARY KEY, text TEXT NOT NULL)")?;
    Ok(db)
}

fn insert_row(db: &Connection, text: &str) -> Outcome<()> {
    db.prepare_cached("INSERT INTO rows (text) VALUES (?1)")?.execute([text])?;
    Ok(())
}

fn time_work(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}
