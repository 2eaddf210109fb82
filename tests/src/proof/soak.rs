//! One server for long: events, searches and changes of files, while what it holds is looked at.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::corpus::Corpus;
use crate::mcp_client::{Era, McpClient};
use crate::proof::{Pace, Tally, at_rest, texts_in_rows};
use crate::sandbox::{Binaries, Sandbox};

/// The memories of a long run, and how many events there are for each search and for each change of a file: 50,000, 20,000 and 1,000 of
/// them until everything is said that is new, and a fifth more after that.
const MEMORIES: u64 = 50_000;
const EVENTS_PER_SEARCH: f64 = 2.5;
const EVENTS_PER_CHANGE: f64 = 50.0;

/// The share of a run in which what is told is new. Then hosts tell the same again, as many of them as there are below: whatever grows now is
/// not what is remembered.
const NEW: f64 = 5.0 / 6.0;
const TOLD_AGAIN: usize = 500;

/// The events of a day. They are told of days that are over, as many as it takes: nobody says fifty thousand things in one.
const EVENTS_PER_DAY: u64 = 1_000;

/// From this time on a run is a long one. It does all of its work, evenly in the time that is asked for. One that is shorter does as much as
/// it can.
const MEASURED: Duration = Duration::from_secs(600);

/// How much longer than asked for a run goes on where the machine is slow.
const PATIENCE: u32 = 2;

/// How often what a server holds is looked at.
const LOOKS: u32 = 24;

/// Bytes that a server may hold for every memory, its vector and what tells where it is among them (measured: 535); and beside, for pages
/// that the allocator and SQLite hold on to.
const PER_MEMORY: u64 = 700;
const SLACK: u64 = 8 * 1024 * 1024;

/// Bytes that a reader may hold, of which a server starts up to four when they are needed: pages of two databases (measured: 5 MB).
const PER_READER: u64 = 6 * 1024 * 1024;

/// Bytes that may come to it while nothing new is told.
const FLAT: u64 = 4 * 1024 * 1024;

/// The longest that the write-ahead logs of both databases may be together.
const LONGEST_LOGS: u64 = 48 * 1024 * 1024;

/// What a server holds at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    seconds: u64,
    memories: u64,
    searches: usize,
    /// Memory of its own, which nobody else can have.
    bytes: u64,
    /// Pages of files, the program's own among them, that the system takes back when it needs them.
    pages: u64,
    files: usize,
    threads: usize,
    logs: u64,
}

/// What was done so far.
#[derive(Debug, Default)]
struct Done {
    memories: u64,
    again: u64,
    changes: u64,
    searches: Pace,
    keeps: Pace,
}

impl Done {
    fn events(&self) -> u64 {
        self.memories + self.again
    }
}

/// An event on its way: what it says, and the line that tells it.
#[derive(Debug, Clone)]
struct Event {
    text: String,
    line: String,
}

/// Goes on for so long, or until a long run's work is done.
pub fn run(binaries: &Binaries, time: Duration, seed: u64) -> Tally {
    let mut tally = Tally::new("soak", "one server");
    let sandbox = Sandbox::new(binaries.clone());
    let mut client = sandbox.serve(Era::Modern);
    let mut corpus = Corpus::new(seed);
    let mut done = Done::default();
    let mut looks: Vec<Held> = Vec::new();
    let mut told: Vec<Event> = Vec::new();
    let is_measured = time >= MEASURED;
    let all = MEMORIES as f64 / NEW;
    let mut stream = crate::poll::eventually_some(Duration::from_secs(60), || {
        connect(&sandbox).filter(|_| client.call("memory_stats", json!({})).is_ok())
    });
    let start = Instant::now();
    let share = |done: &Done| match is_measured {
        true => done.events() as f64 / all,
        false => start.elapsed().as_secs_f64() / time.as_secs_f64(),
    };
    while share(&done) < 1.0 && start.elapsed() < time * PATIENCE {
        let is_new = share(&done) < NEW || told.is_empty();
        let event = match is_new {
            true => Event::new(done.memories, &corpus.next().map(|remembered| remembered.text).unwrap_or_default()),
            false => told[done.again as usize % told.len()].clone(),
        };
        let took = Instant::now();
        if !keep(&mut stream, &event.line) {
            // A server lets go of a connection that was silent for seconds, as one is while a file is indexed.
            match connect(&sandbox) {
                Some(again) => stream = again,
                None => tally.findings.push(format!("event {} finds nobody", done.events())),
            }
            continue;
        }
        done.keeps.add(took.elapsed());
        match is_new {
            true => done.memories += 1,
            false => done.again += 1,
        }
        if done.searches.count() as f64 * EVENTS_PER_SEARCH < done.events() as f64 {
            let took = Instant::now();
            let answer = client.call("memory_search", json!({ "query": corpus.question() }));
            done.searches.add(took.elapsed());
            if !answer.as_ref().is_ok_and(|answer| !answer.is_error) {
                tally.findings.push(format!("a search: {answer:?}"));
            }
        }
        if done.changes as f64 * EVENTS_PER_CHANGE < done.events() as f64 {
            let n = done.changes % 40;
            let text = format!("# Note {n}\n\nVersion {}. {}\n", done.changes, event.text);
            sandbox.write(format!(".jikime/memory/notes/{n}.md"), text);
            done.changes += 1;
        }
        if is_new && told.len() < TOLD_AGAIN {
            told.push(event);
        }
        if share(&done) * f64::from(LOOKS) >= (looks.len() + 1) as f64 {
            looks.push(look(&client, &sandbox, start.elapsed(), &done));
        }
        let due = time.mul_f64(done.events() as f64 / all);
        if is_measured && due > start.elapsed() {
            std::thread::sleep((due - start.elapsed()).min(Duration::from_millis(100)));
        }
    }
    let elapsed = start.elapsed();
    client.close();
    judge(&looks, &mut tally);
    if share(&done) < 1.0 {
        tally.findings.push(format!("{} events of {all} in {} s", done.events(), elapsed.as_secs()));
    }
    sandbox.run_cli(["index"]).success();
    match texts_in_rows(&sandbox.store()) {
        Ok(texts) if texts.values().sum::<usize>() as u64 == done.memories => {}
        Ok(texts) => tally.findings.push(format!("{} memories of {}", texts.values().sum::<usize>(), done.memories)),
        Err(error) => tally.findings.push(format!("the rows cannot be read: {error}")),
    }
    tally.findings.extend(at_rest(&sandbox.store()));
    tally.rounds = done.events() as usize;
    tally.measured = format!(
        "{} events, {} of them told again ({}), {} searches ({}), {} changes of files in {} s",
        done.events(),
        done.again,
        done.keeps.in_words(),
        done.searches.count(),
        done.searches.in_words(),
        done.changes,
        elapsed.as_secs()
    );
    tally.table = table(&looks);
    tally
}

/// What is held grows with what is remembered, in memory only and by little, and not at all while nothing new is told.
fn judge(looks: &[Held], tally: &mut Tally) {
    let grown = (f64::from(LOOKS) * NEW) as usize;
    let (Some(warm), Some(grown), Some(end)) = (looks.get(grown / 3), looks.get(grown), looks.last()) else {
        return tally.findings.push("the run was too short to tell anything".to_owned());
    };
    let mut find = |what: String| tally.findings.push(format!("{what}:\n{}", table(looks)));
    let readers_since = |look: &Held| end.threads.saturating_sub(look.threads) as u64 * PER_READER;
    let allowed = warm.bytes + SLACK + (end.memories - warm.memories) * PER_MEMORY + readers_since(warm);
    if end.bytes > allowed {
        find(format!("{} bytes held at the end, {allowed} allowed", end.bytes));
    }
    if end.bytes > grown.bytes + FLAT + readers_since(grown) {
        find(format!("{} bytes more while nothing new was told", end.bytes - grown.bytes));
    }
    if end.files > warm.files + 8 || end.threads > warm.threads + 4 {
        find("files or threads grow".to_owned());
    }
    if looks.iter().any(|look| look.logs > LONGEST_LOGS) {
        find("the write-ahead logs grow".to_owned());
    }
}

/// A line of what was held for each look, with the bytes that came to it for every memory since the first.
fn table(looks: &[Held]) -> String {
    let mut text = String::from(
        "| seconds | memories | searches | memory of its own | for each memory | pages of files | files | threads | write-ahead logs |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let first = looks.first().copied().unwrap_or_default();
    for Held { seconds, memories, searches, bytes, pages, files, threads, logs } in looks {
        let each = bytes.saturating_sub(first.bytes).checked_div(memories - first.memories);
        let each = each.map_or_else(String::new, |each| format!("{each} bytes"));
        let [bytes, pages, logs] = [bytes, pages, logs].map(|size| format!("{:.1} MB", *size as f64 / 1e6));
        let _ = writeln!(
            text,
            "| {seconds} | {memories} | {searches} | {bytes} | {each} | {pages} | {files} | {threads} | {logs} |"
        );
    }
    text
}

fn look(client: &McpClient, sandbox: &Sandbox, elapsed: Duration, done: &Done) -> Held {
    let process = format!("/proc/{}", client.process_id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
    let kilobytes = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
    };
    let count = |of: &str| fs::read_dir(format!("{process}/{of}")).map_or(0, Iterator::count);
    let size = |name: &str| fs::metadata(sandbox.store().join(name)).map_or(0, |metadata| metadata.len());
    Held {
        seconds: elapsed.as_secs(),
        memories: done.memories,
        searches: done.searches.count(),
        bytes: kilobytes("RssAnon:").unwrap_or_default() * 1_024,
        pages: kilobytes("RssFile:").unwrap_or_default() * 1_024,
        files: count("fd"),
        threads: count("task"),
        logs: size("memory.db-wal") + size("index.db-wal"),
    }
}

#[cfg(unix)]
type Stream = BufReader<std::os::unix::net::UnixStream>;

#[cfg(unix)]
fn connect(sandbox: &Sandbox) -> Option<Stream> {
    std::os::unix::net::UnixStream::connect(sandbox.socket()?).ok().map(BufReader::new)
}

#[cfg(not(unix))]
type Stream = BufReader<std::fs::File>;

#[cfg(not(unix))]
fn connect(sandbox: &Sandbox) -> Option<Stream> {
    // The pipe of a server opens like a file.
    std::fs::File::options().read(true).write(true).open(sandbox.socket()?).ok().map(BufReader::new)
}

impl Event {
    /// What a hook sends of the nth event.
    fn new(n: u64, text: &str) -> Self {
        let now = schema::moment::Moment::now();
        let days_ago = (MEMORIES.saturating_sub(n) / EVENTS_PER_DAY) as i64;
        let at = schema::moment::Moment::from_unix(now.unix() - days_ago * 86_400, Some(now.offset_seconds()));
        let at = at.unwrap_or(now).rfc3339();
        let text = format!("{text} ({n})");
        let session = format!("session-{}", n / 100);
        let memory = json!({ "session": session, "type": "user_prompt", "at": at, "content": text, "redactions": 0 });
        Self { line: format!("{}\n", json!({ "v": 1, "capture": [memory] })), text }
    }
}

/// Sends a line as a hook does, and says whether it was kept.
fn keep(stream: &mut Stream, line: &str) -> bool {
    let mut answer = String::new();
    let sent = stream.get_mut().write_all(line.as_bytes());
    sent.and_then(|()| stream.read_line(&mut answer)).is_ok() && answer.contains("\"captured\":true")
}
