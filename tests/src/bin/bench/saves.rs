//! Saves of one server and of several servers at once, next to plain appends, plain rows and a peer.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use harness::{Binaries, Sandbox, eventually_some};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::Outcome;
use crate::crowd::{self, TURNS, Taken, WORKERS};
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{Goal, Table, percentile};
use crate::memories::{Save, kept, needle, saves};
use crate::peer::Peer;
use crate::serving::Server;
use crate::start::serve;

/// Saves of one server.
const SAVES: usize = 1_100;

/// The type of all saves where they have one type.
const ONE_TYPE: &str = "learning";

/// Runs of several servers, each in a store of its own. Their median counts.
const ROUNDS: usize = 3;

/// The least rate of saves of all types, as a share of the rate with one type, and as a multiple of a peer's.
const OF_ONE_TYPE: f64 = 0.8;
const OF_A_PEER: f64 = 1.5;

/// Saves that are looked for, by words that no other memory has.
const FOUND: usize = 10;
const NEVER_USED: usize = 23_000_000;

/// How soon what was saved has to be found by its meaning.
const MEANT: Duration = Duration::from_secs(2);

/// One memory of every type after the other.
pub(crate) fn measure(server: &mut Server, table: &mut Table) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let (mut file, database) = (appending(folder.path())?, inserting(folder.path())?);
    let [mut append, mut insert, mut times] = [(); 3].map(|()| Vec::with_capacity(SAVES));
    for save in saves("alone", SAVES) {
        append.push(timed(|| append_locked(&mut file, &save.text))?);
        insert.push(timed(|| insert_row(&database, &save.text))?);
        times.push(server.call("memory_save", &arguments(&save))?.0);
    }
    table.add_times("an append under a lock", &mut append, None, &[(50, None), (99, None)]);
    table.add_times("a row into SQLite", &mut insert, None, &[(50, None), (99, None)]);
    let floor = percentile(&insert, 50);
    table.add_times("save, all types", &mut times, Some(floor), &[(50, Some(AtMost(0.5))), (99, Some(AtMost(5.0)))]);
    Ok(())
}

/// Whether what was saved is found by its words at once, and how soon by its meaning.
pub(crate) fn found(server: &mut Server, table: &mut Table) -> Outcome<()> {
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
    table.add("what was just saved is found by its words", share, "share", None, Some(AtLeast(1.0)));
    let goal = AtMost(MEANT.as_secs_f64() * 1e3);
    table.add_times("from a save until its vector counts", &mut meant, None, &[(50, None), (100, Some(goal))]);
    Ok(())
}

/// Saves of several servers at once into a large store.
pub(crate) fn into_large(sandbox: &Sandbox, table: &mut Table) -> Outcome<()> {
    let run = by_servers(sandbox, &saves("large", WORKERS * TURNS))?;
    let name = format!("{WORKERS} x {TURNS} saves of all types, large store");
    Rates::of(&[run]).add(&name, None, Some(AtLeast(4_000.0)), table);
    Ok(())
}

/// Saves of several servers at once: of one type, of all types, and of a peer. Each run has a store of its own, and they take turns.
pub(crate) fn at_once(binaries: &Binaries, table: &mut Table) -> Outcome<()> {
    let peer = Peer::given()?;
    let [mut append, mut insert, mut one, mut all, mut of_peer] = [(); 5].map(|()| Vec::with_capacity(ROUNDS));
    for round in 0..ROUNDS {
        let saves = saves(&format!("round{round}"), WORKERS * TURNS);
        let of_one_type: Vec<Save> = saves.iter().cloned().map(|save| Save { kind: ONE_TYPE, ..save }).collect();
        append.push(by_appends(&saves)?);
        insert.push(by_rows(&saves)?);
        one.push(by_servers(&Sandbox::new(binaries.clone()), &of_one_type)?);
        all.push(by_servers(&Sandbox::new(binaries.clone()), &saves)?);
        if let Some(peer) = &peer {
            of_peer.push(by_peer(peer, &saves)?);
        }
    }
    let [append, insert, one, all] = [append, insert, one, all].map(|runs| Rates::of(&runs));
    let count = format!("{WORKERS} x {TURNS}");
    let (floor, rate) = (Some(insert.rate), all.rate);
    let to_one_type = rate / one.rate;
    table.add(format!("{count} appends under a lock"), append.rate, "a second", None, None);
    table.add(format!("{count} rows into SQLite"), insert.rate, "a second", None, None);
    one.add(&format!("{count} saves of one type"), floor, None, table);
    all.add(&format!("{count} saves of all types"), floor, None, table);
    table.add("  to saves of one type", to_one_type, "times", None, Some(AtLeast(OF_ONE_TYPE)));
    if let Some(peer) = &peer {
        let of_peer = Rates::of(&of_peer);
        let to_peer = rate / of_peer.rate;
        table.add(format!("{count} saves of {}", peer.name()), of_peer.rate, "a second", floor, None);
        table.add("  refused", of_peer.refused as f64, "saves", None, None);
        table.add("  our saves of all types to these", to_peer, "times", None, Some(AtLeast(OF_A_PEER)));
    }
    Ok(())
}

/// Saves of several workers at once.
struct Run {
    taken: Taken,
    /// Saves that were answered with an error.
    refused: usize,
    /// Acknowledged saves that are missing afterwards, or there twice.
    lost: usize,
}

/// The figures of several runs of the same.
struct Rates {
    /// Acknowledged saves in a second, the median of the runs.
    rate: f64,
    /// Of single saves in all runs.
    times: Vec<Duration>,
    /// Of all runs together.
    refused: usize,
    lost: usize,
}

impl Rates {
    fn of(runs: &[Run]) -> Self {
        let rate = |run: &Run| (run.taken.each.len() - run.refused) as f64 / run.taken.all.as_secs_f64();
        let mut rates: Vec<f64> = runs.iter().map(rate).collect();
        rates.sort_unstable_by(f64::total_cmp);
        let times = runs.iter().flat_map(|run| run.taken.each.clone()).collect();
        let (refused, lost) = (runs.iter().map(|run| run.refused).sum(), runs.iter().map(|run| run.lost).sum());
        Self { rate: rates[rates.len() / 2], times, refused, lost }
    }

    /// Adds rows, the first with the rate of plain appends or rows for comparison.
    fn add(mut self, name: &str, floor: Option<f64>, goal: Option<Goal>, table: &mut Table) {
        table.add(name, self.rate, "a second", floor, goal);
        table.add_times("  a save", &mut self.times, None, &[(50, None), (99, None)]);
        table.add("  refused", self.refused as f64, "saves", None, Some(AtMost(0.0)));
        table.add("  acknowledged, and lost or there twice", self.lost as f64, "saves", None, Some(AtMost(0.0)));
    }
}

/// Several servers of ours on one store. Acknowledged saves are looked up when all servers have ended.
fn by_servers(sandbox: &Sandbox, saves: &[Save]) -> Outcome<Run> {
    let start = || {
        let mut server = Server::start(serve(sandbox))?;
        server.call("memory_stats", &json!({}))?;
        Ok(server)
    };
    let (taken, saved) = saved_by(start, |server, save| server.call("memory_save", &arguments(save)).map(drop), saves)?;
    let lost = saved.len() - kept(sandbox, &saved)?;
    Ok(Run { taken, refused: saves.len() - saved.len(), lost })
}

/// Several servers of a peer on one store. Acknowledged saves are not looked up.
fn by_peer(peer: &Peer, saves: &[Save]) -> Outcome<Run> {
    let home = tempfile::tempdir()?;
    let save = |server: &mut Server, save: &Save| peer.save(server, &save.text).map(drop);
    let (taken, saved) = saved_by(|| peer.start(home.path()), save, saves)?;
    Ok(Run { taken, refused: saves.len() - saved.len(), lost: 0 })
}

/// Has servers save all at once and end, and returns the acknowledged saves.
fn saved_by(
    start: impl Fn() -> Outcome<Server>,
    save: impl Fn(&mut Server, &Save) -> Outcome<()> + Sync,
    saves: &[Save],
) -> Outcome<(Taken, Vec<&Save>)> {
    let workers: Outcome<Vec<_>> = (0..WORKERS).map(|_| Ok((start()?, Vec::new()))).collect();
    let mut workers = workers?;
    let taken = crowd::at_once(&mut workers, |(server, saved), worker, turn| {
        let one = &saves[worker * TURNS + turn];
        saved.extend(save(server, one).is_ok().then_some(one));
        Ok(())
    })?;
    let mut acknowledged = Vec::new();
    for (server, saved) in workers {
        server.end()?;
        acknowledged.extend(saved);
    }
    Ok((taken, acknowledged))
}

/// The floor: a line in a log under a lock.
fn by_appends(saves: &[Save]) -> Outcome<Run> {
    let folder = tempfile::tempdir()?;
    let files: Outcome<Vec<File>> = (0..WORKERS).map(|_| appending(folder.path())).collect();
    let append = |file: &mut File, worker: usize, turn: usize| append_locked(file, &saves[worker * TURNS + turn].text);
    Ok(Run { taken: crowd::at_once(&mut files?, append)?, refused: 0, lost: 0 })
}

/// The floor: a row in a database.
fn by_rows(saves: &[Save]) -> Outcome<Run> {
    let folder = tempfile::tempdir()?;
    let databases: Outcome<Vec<Connection>> = (0..WORKERS).map(|_| inserting(folder.path())).collect();
    let insert = |db: &mut Connection, worker: usize, turn: usize| insert_row(db, &saves[worker * TURNS + turn].text);
    Ok(Run { taken: crowd::at_once(&mut databases?, insert)?, refused: 0, lost: 0 })
}

fn arguments(save: &Save) -> Value {
    json!({ "type": save.kind, "content": save.text })
}

fn appending(folder: &Path) -> Outcome<File> {
    Ok(File::options().create(true).append(true).open(folder.join("log"))?)
}

fn append_locked(file: &mut File, text: &str) -> Outcome<()> {
    file.lock()?;
    file.write_all(format!("{text}\n").as_bytes())?;
    Ok(file.unlock()?)
}

fn inserting(folder: &Path) -> Outcome<Connection> {
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

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}
