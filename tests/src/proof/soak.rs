//! Runs one server for a long time, with events, searches and file changes, and measures its resources.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::corpus::SyntheticCorpus;
use crate::mcp_client::{Era, McpClient};
use crate::proof::{Durations, ProofResult, RunLength, check_at_rest, texts_in_rows};
use crate::sandbox::{Binaries, Sandbox};

/// The memories of a long run, and the events per search and per file change. This gives 50,000 events, 20,000 searches and 1,000 changes
/// until all new events are sent, and a fifth more after that.
const MEMORIES: u64 = 50_000;
const EVENTS_PER_SEARCH: f64 = 2.5;
const EVENTS_PER_CHANGE: f64 = 50.0;

/// The share of a run with new events. Afterwards, hosts repeat earlier ones, so any further growth is a leak.
const NEW: f64 = 5.0 / 6.0;
const REPEATED_EVENTS: usize = 500;

/// The number of events per day. Events are dated on past days, because nobody has fifty thousand in one.
const EVENTS_PER_DAY: u64 = 1_000;

/// The duration from which a run does all of its work. A shorter run does a proportional part.
const MEASURED: Duration = Duration::from_mins(10);

/// The factor by which a run may exceed the requested time on a slow machine.
const MAX_TIME_FACTOR: u32 = 2;

/// The time limit of a run that does its rounds as fast as possible.
const LONGEST: Duration = Duration::from_mins(10);

/// The number of measurements.
const SAMPLES: u32 = 24;

/// The bytes that a server may use per memory with its vector and index (measured: 535), and a constant for pages that the allocator and
/// SQLite retain (measured in short runs: up to 8.5 MB).
const PER_MEMORY: u64 = 700;
const SLACK: u64 = 12 * 1024 * 1024;

/// The bytes per reader. A server starts up to four on demand (measured: 5 MB of database pages).
const PER_READER: u64 = 6 * 1024 * 1024;

/// Allowed growth while nothing new is sent.
const FLAT: u64 = 4 * 1024 * 1024;

/// The maximum size of both write-ahead logs together.
const LONGEST_LOGS: u64 = 48 * 1024 * 1024;

/// The resources of a server at one time.
#[derive(Debug, Clone, Copy, Default)]
struct ResourceSample {
    seconds: u64,
    memories: u64,
    searches: usize,
    /// Private memory.
    bytes: u64,
    /// File pages, including the program's own, which the system can reclaim.
    pages: u64,
    files: usize,
    threads: usize,
    logs: u64,
}

/// Work so far.
#[derive(Debug, Default)]
struct SoakProgress {
    memories: u64,
    repeated: u64,
    changes: u64,
    searches: Durations,
    keeps: Durations,
}

impl SoakProgress {
    fn events(&self) -> u64 {
        self.memories + self.repeated
    }
}

/// An event: its text, and its line for the queue.
#[derive(Debug, Clone)]
struct SoakEvent {
    text: String,
    line: String,
}

/// Runs the proof. A timed run spreads its work evenly. A run of rounds sends this many events as fast as possible.
pub fn run(binaries: &Binaries, length: RunLength, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("soak", "one server");
    let sandbox = Sandbox::new(binaries.clone());
    let mut client = sandbox.serve(Era::Modern);
    let mut corpus = SyntheticCorpus::new(seed);
    let mut done = SoakProgress::default();
    let mut samples: Vec<ResourceSample> = Vec::new();
    let mut told: Vec<SoakEvent> = Vec::new();
    let (all, pace, limit) = match length {
        RunLength::Time(time) => {
            let share = (time.as_secs_f64() / MEASURED.as_secs_f64()).min(1.0);
            (MEMORIES as f64 / NEW * share, Some(time), time * MAX_TIME_FACTOR)
        }
        RunLength::Rounds(events) => (events as f64, None, LONGEST),
    };
    let mut stream = crate::polling::eventually_some(Duration::from_mins(1), || {
        connect(&sandbox).filter(|_| client.call("memory_stats", json!({})).is_ok())
    });
    let start = Instant::now();
    let share = |done: &SoakProgress| done.events() as f64 / all;
    while share(&done) < 1.0 && start.elapsed() < limit {
        let is_new = share(&done) < NEW || told.is_empty();
        let event = match is_new {
            true => SoakEvent::new(done.memories, &corpus.next().map(|remembered| remembered.text).unwrap_or_default()),
            false => told[done.repeated as usize % told.len()].clone(),
        };
        let took = Instant::now();
        if !send_event(&mut stream, &event.line) {
            // A server closes a connection that was silent for seconds, for example while a file is indexed.
            match connect(&sandbox) {
                Some(again) => stream = again,
                None => tally.findings.push(format!("event {} finds no server", done.events())),
            }
            continue;
        }
        done.keeps.add(took.elapsed());
        match is_new {
            true => done.memories += 1,
            false => done.repeated += 1,
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
        if is_new && told.len() < REPEATED_EVENTS {
            told.push(event);
        }
        if share(&done) * f64::from(SAMPLES) >= (samples.len() + 1) as f64 {
            samples.push(take_sample(&client, &sandbox, start.elapsed(), &done));
        }
        let ahead = pace.and_then(|time| time.mul_f64(share(&done)).checked_sub(start.elapsed()));
        if let Some(ahead) = ahead {
            std::thread::sleep(ahead.min(Duration::from_millis(100)));
        }
    }
    let elapsed = start.elapsed();
    client.close();
    check_samples(&samples, &mut tally);
    if share(&done) < 1.0 {
        tally.findings.push(format!("{} events of {all} in {} s", done.events(), elapsed.as_secs()));
    }
    sandbox.run_cli(["index"]).assert_success();
    match texts_in_rows(&sandbox.store()) {
        Ok(texts) if texts.values().sum::<usize>() as u64 == done.memories => {}
        Ok(texts) => tally.findings.push(format!("{} memories of {}", texts.values().sum::<usize>(), done.memories)),
        Err(error) => tally.findings.push(format!("the rows cannot be read: {error}")),
    }
    tally.findings.extend(check_at_rest(&sandbox.store()));
    tally.rounds = done.events() as usize;
    tally.measured = format!(
        "{} events, {} of them repeated ({}), {} searches ({}), {} changes of files in {} s",
        done.events(),
        done.repeated,
        done.keeps.summary(),
        done.searches.count(),
        done.searches.summary(),
        done.changes,
        elapsed.as_secs()
    );
    tally.table = render_table(&samples);
    tally
}

/// Checks that memory grows only with the number of memories, and not while nothing new is sent.
fn check_samples(samples: &[ResourceSample], tally: &mut ProofResult) {
    let grown = (f64::from(SAMPLES) * NEW) as usize;
    let (Some(warm), Some(grown), Some(end)) = (samples.get(grown / 3), samples.get(grown), samples.last()) else {
        return tally.findings.push("the run was too short for a result".to_owned());
    };
    let mut find = |what: String| tally.findings.push(format!("{what}:\n{}", render_table(samples)));
    let readers_since = |look: &ResourceSample| end.threads.saturating_sub(look.threads) as u64 * PER_READER;
    let allowed = warm.bytes + SLACK + (end.memories - warm.memories) * PER_MEMORY + readers_since(warm);
    if end.bytes > allowed {
        find(format!("{} bytes held at the end, {allowed} allowed", end.bytes));
    }
    if end.bytes > grown.bytes + FLAT + readers_since(grown) {
        find(format!("{} bytes more while nothing new was sent", end.bytes - grown.bytes));
    }
    if end.files > warm.files + 8 || end.threads > warm.threads + 4 {
        find("files or threads grow".to_owned());
    }
    if samples.iter().any(|look| look.logs > LONGEST_LOGS) {
        find("the write-ahead logs grow".to_owned());
    }
}

/// Renders a row per measurement, with the bytes per memory since the first.
fn render_table(samples: &[ResourceSample]) -> String {
    let mut text = String::from(
        "| seconds | memories | searches | memory of its own | for each memory | pages of files | files | threads | write-ahead logs |\n\
         | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let first = samples.first().copied().unwrap_or_default();
    for ResourceSample { seconds, memories, searches, bytes, pages, files, threads, logs } in samples {
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

fn take_sample(client: &McpClient, sandbox: &Sandbox, elapsed: Duration, done: &SoakProgress) -> ResourceSample {
    let process = format!("/proc/{}", client.process_id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
    let kilobytes = |name: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok())
    };
    let count = |of: &str| fs::read_dir(format!("{process}/{of}")).map_or(0, Iterator::count);
    let size = |name: &str| fs::metadata(sandbox.store().join(name)).map_or(0, |metadata| metadata.len());
    ResourceSample {
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
type HookStream = BufReader<std::os::unix::net::UnixStream>;

#[cfg(unix)]
fn connect(sandbox: &Sandbox) -> Option<HookStream> {
    std::os::unix::net::UnixStream::connect(sandbox.socket()?).ok().map(BufReader::new)
}

#[cfg(not(unix))]
type HookStream = BufReader<std::fs::File>;

#[cfg(not(unix))]
fn connect(sandbox: &Sandbox) -> Option<HookStream> {
    // A named pipe opens like a file.
    std::fs::File::options().read(true).write(true).open(sandbox.socket()?).ok().map(BufReader::new)
}

impl SoakEvent {
    /// Creates the queue line of the nth event.
    fn new(n: u64, text: &str) -> Self {
        let now = schema::model::moment::Moment::now();
        let days_ago = (MEMORIES.saturating_sub(n) / EVENTS_PER_DAY) as i64;
        let at = schema::model::moment::Moment::from_unix(now.unix() - days_ago * 86_400, Some(now.offset_seconds()));
        let at = at.unwrap_or(now).rfc3339();
        let text = format!("{text} ({n})");
        let session = format!("session-{}", n / 100);
        let memory = json!({ "session": session, "type": "user_prompt", "at": at, "content": text, "redactions": 0 });
        Self { line: format!("{}\n", json!({ "v": 1, "capture": [memory] })), text }
    }
}

/// Sends a line as a hook does, and returns whether it was saved.
fn send_event(stream: &mut HookStream, line: &str) -> bool {
    let mut answer = String::new();
    let sent = stream.get_mut().write_all(line.as_bytes());
    sent.and_then(|()| stream.read_line(&mut answer)).is_ok() && answer.contains("\"captured\":true")
}
