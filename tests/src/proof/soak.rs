//! One server for long: events, searches and changes of files, while what it holds is looked at.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::corpus::Corpus;
use crate::mcp_client::{Era, McpClient};
use crate::proof::{Pace, Tally, at_rest};
use crate::sandbox::{Binaries, Sandbox};

/// Events for each search, and for each change of a file: 50,000, 20,000 and 1,000 in an hour.
const EVENTS_PER_SEARCH: f64 = 2.5;
const EVENTS_PER_CHANGE: f64 = 50.0;
const EVENTS_PER_SECOND: f64 = 50_000.0 / 3_600.0;

/// How often what a server holds is looked at.
const LOOKS: u32 = 12;

/// Bytes that a server may hold for every memory, its vector and what tells where it is among them; and beside, for pages that the
/// allocator and SQLite hold on to.
const PER_MEMORY: u64 = 2_048;
const SLACK: u64 = 24 * 1024 * 1024;

/// The longest write-ahead log.
const LONGEST_LOG: u64 = 64 * 1024 * 1024;

/// What a server holds at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    seconds: u64,
    memories: u64,
    bytes: u64,
    files: usize,
    threads: usize,
    logs: u64,
}

/// Goes on for so long, in the measure of an hour's work, but at least as fast as that.
pub fn run(binaries: &Binaries, time: Duration, seed: u64) -> Tally {
    let mut tally = Tally::new("soak", format!("{} s", time.as_secs()));
    let sandbox = Sandbox::new(binaries.clone());
    let mut client = sandbox.serve(Era::Modern);
    let mut corpus = Corpus::new(seed);
    let (mut searches, mut keeps) = (Pace::default(), Pace::default());
    let (mut events, mut changes) = (0_u64, 0_u64);
    let mut looks: Vec<Held> = Vec::new();
    let start = Instant::now();
    let mut stream = crate::poll::eventually_some(Duration::from_secs(60), || {
        connect(&sandbox).filter(|_| client.call("memory_stats", json!({})).is_ok())
    });
    while start.elapsed() < time {
        let text = corpus.next().map(|remembered| remembered.text).unwrap_or_default();
        let took = Instant::now();
        if !keep(&mut stream, events, &format!("{text} ({events})")) {
            // A server lets go of a connection that was silent for seconds, as one is while a file is indexed.
            match connect(&sandbox) {
                Some(again) => stream = again,
                None => tally.findings.push(format!("event {events} finds nobody")),
            }
            continue;
        }
        keeps.add(took.elapsed());
        events += 1;
        if searches.count() as f64 * EVENTS_PER_SEARCH < events as f64 {
            let took = Instant::now();
            let answer = client.call("memory_search", json!({ "query": corpus.question() }));
            searches.add(took.elapsed());
            if !answer.as_ref().is_ok_and(|answer| !answer.is_error) {
                tally.findings.push(format!("a search: {answer:?}"));
            }
        }
        if changes as f64 * EVENTS_PER_CHANGE < events as f64 {
            let text = format!("# Note {}\n\nVersion {changes}. {text}\n", changes % 40);
            sandbox.write(format!(".jikime/memory/notes/{}.md", changes % 40), text);
            changes += 1;
        }
        if start.elapsed() >= time / LOOKS * (looks.len() as u32 + 1) {
            looks.push(look(&client, &sandbox, start.elapsed(), events));
        }
        // An hour's work in an hour; a short run is not slowed down.
        let due = Duration::from_secs_f64(events as f64 / EVENTS_PER_SECOND);
        if time > Duration::from_secs(600) && due > start.elapsed() {
            std::thread::sleep((due - start.elapsed()).min(Duration::from_millis(100)));
        }
    }
    client.close();
    judge(&looks, &mut tally);
    sandbox.run_cli(["index"]).success();
    tally.findings.extend(at_rest(&sandbox.store()));
    tally.rounds = events as usize;
    tally.measured = format!(
        "{events} events ({}), {} searches ({}), {changes} changes{}",
        keeps.in_words(),
        searches.count(),
        searches.in_words(),
        table(
            &[0, looks.len() / 3, looks.len().saturating_sub(1)].map(|at| looks.get(at).copied().unwrap_or_default())
        )
    );
    tally
}

/// What is held has to be flat: it grows with what is remembered, in memory only, and by little.
fn judge(looks: &[Held], tally: &mut Tally) {
    let warm = looks.len() / 3;
    let (Some(warm), Some(end)) = (looks.get(warm), looks.last()) else {
        return tally.findings.push("the run was too short to tell anything".to_owned());
    };
    let allowed = warm.bytes + SLACK + (end.memories - warm.memories) * PER_MEMORY;
    if end.bytes > allowed {
        tally.findings.push(format!("{} bytes held at the end, {allowed} allowed: {}", end.bytes, table(looks)));
    }
    if end.files > warm.files + 8 || end.threads > warm.threads + 4 {
        tally.findings.push(format!("files or threads grow: {}", table(looks)));
    }
    if looks.iter().any(|look| look.logs > LONGEST_LOG) {
        tally.findings.push(format!("the write-ahead logs grow: {}", table(looks)));
    }
}

/// One line of what was held for each look.
fn table(looks: &[Held]) -> String {
    let mut text = String::new();
    for look in looks {
        let _ = write!(
            text,
            "; at {} s {} memories: {:.1} MB, {} files, {} threads, {:.1} MB of logs",
            look.seconds,
            look.memories,
            look.bytes as f64 / 1e6,
            look.files,
            look.threads,
            look.logs as f64 / 1e6
        );
    }
    text
}

fn look(client: &McpClient, sandbox: &Sandbox, elapsed: Duration, memories: u64) -> Held {
    let process = format!("/proc/{}", client.process_id());
    let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
    let resident =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    let count = |of: &str| fs::read_dir(format!("{process}/{of}")).map_or(0, Iterator::count);
    let size = |name: &str| fs::metadata(sandbox.store().join(name)).map_or(0, |metadata| metadata.len());
    Held {
        seconds: elapsed.as_secs(),
        memories,
        bytes: resident.unwrap_or(0_u64) * 1_024,
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

/// Sends an event as a hook does, and says whether it was kept.
fn keep(stream: &mut Stream, n: u64, text: &str) -> bool {
    let at = schema::moment::Moment::now().rfc3339();
    let memory = json!({
        "session": format!("session-{}", n / 100), "type": "user_prompt", "at": at, "content": text, "redactions": 0,
    });
    let frame = format!("{}\n", json!({ "v": 1, "capture": [memory] }));
    let mut answer = String::new();
    let sent = stream.get_mut().write_all(frame.as_bytes());
    sent.and_then(|()| stream.read_line(&mut answer)).is_ok() && answer.contains("\"captured\":true")
}
