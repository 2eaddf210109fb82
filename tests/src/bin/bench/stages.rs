//! Measurements of a store of one size.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use harness::benchmark::BaselinePrograms;
use harness::peer::TimedServer;
use harness::{Binaries, Sandbox, run_to_end};
use serde_json::Value;

use crate::arguments::Outcome;
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{FigureTable, percentile};
use crate::growth::GrowthPoint;
use crate::memories::{BenchQuestion, LogLines, sample_memories, sample_questions, write_logs};
use crate::start::{COMMAND_DEADLINE, serve_command, time_command};
use crate::{hooks, page, peer, saves, serving, start, vectors};

/// 40 searches of each class.
const SEARCHES: usize = 360;

const TRANSCRIPTS: u64 = 48_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeasureScope {
    /// Search time only, for the growth.
    Growth,
    /// Search time with its goals.
    Searches,
    Everything,
}

pub(crate) fn measure(
    binaries: &Binaries,
    floors: &BaselinePrograms,
    size: usize,
    extent: MeasureScope,
    table: &mut FigureTable,
) -> Outcome<GrowthPoint> {
    let memories = sample_memories(size);
    let sandbox = Sandbox::new(binaries.clone());
    write_logs(&sandbox, &memories)?;
    let is_whole = extent == MeasureScope::Everything;
    measure_index(&sandbox, size, is_whole, table)?;
    if is_whole {
        start::measure(&sandbox, binaries, floors, table)?;
    }
    let mut server = TimedServer::start(serve_command(&sandbox))?;
    thread::sleep(start::REST);
    if let Some(resident) = server.resident().filter(|_| is_whole) {
        table.add("resident at rest", resident, "MiB", None, Some(AtMost(15.0)));
    }
    let grown = measure_search(&sandbox, &mut server, &memories, extent, table)?;
    if is_whole {
        if let Some(resident) = server.resident() {
            table.add("resident after searches", resident, "MiB", None, Some(AtMost(80.0)));
        }
        peer::measure(&mut server, &memories, &sample_questions(&memories, 90), table)?;
        page::measure(&sandbox, table)?;
        measure_writes_to(&sandbox, server, binaries, floors, table)?;
        measure_import(binaries, table)?;
    } else {
        server.end()?;
    }
    Ok(grown)
}

/// Saves and hooks only, in a store of this size.
pub(crate) fn measure_writes(
    binaries: &Binaries,
    floors: &BaselinePrograms,
    size: usize,
    table: &mut FigureTable,
) -> Outcome<()> {
    let sandbox = Sandbox::new(binaries.clone());
    write_logs(&sandbox, &sample_memories(size))?;
    measure_index(&sandbox, size, false, table)?;
    measure_writes_to(&sandbox, TimedServer::start(serve_command(&sandbox))?, binaries, floors, table)
}

fn measure_writes_to(
    sandbox: &Sandbox,
    mut server: TimedServer,
    binaries: &Binaries,
    floors: &BaselinePrograms,
    table: &mut FigureTable,
) -> Outcome<()> {
    saves::measure(&mut server, table)?;
    saves::measure_found(&mut server, table)?;
    hooks::measure(sandbox, floors, table)?;
    server.end()?;
    saves::measure_large_store(sandbox, table)?;
    saves::measure_concurrent(binaries, table)?;
    hooks::measure_while_indexing(sandbox, table)?;
    hooks::measure_alone(binaries, floors, table)
}

/// Builds rows and index from the logs and measures their size.
fn measure_index(sandbox: &Sandbox, size: usize, is_whole: bool, table: &mut FigureTable) -> Outcome<()> {
    if !is_whole {
        time_command(sandbox, "local", &["index", "--full"]);
        return Ok(());
    }
    // Building the rows is not part of the measured time.
    time_command(sandbox, "none", &["index"]);
    let text = time_command(sandbox, "none", &["index", "--full"]);
    let of_text = store_bytes(&sandbox.store())?;
    let all = time_command(sandbox, "local", &["index", "--full"]);
    let with_vectors = store_bytes(&sandbox.store())?;
    let count = size as f64;
    let each = |part: &str| of_text.get(part).copied().unwrap_or_default() as f64 / count;
    table.add("a memory in its log", each("md"), "bytes", None, None);
    table.add("a memory in memory.db", each("memory.db"), "bytes", None, None);
    table.add("a memory in index.db, text", each("index.db"), "bytes", None, None);
    let total = of_text.values().sum::<u64>() as f64 / count;
    table.add("a memory on disk, without vectors", total, "bytes", None, Some(AtMost(1_200.0)));
    let vectors = (with_vectors.values().sum::<u64>() as f64 - total * count) / count;
    table.add("its vector on disk", vectors, "bytes", None, None);
    table.add("index --full, text only", count / text, "memories/s", None, Some(AtLeast(20_000.0)));
    table.add("index --full, with vectors", count / all, "memories/s", None, Some(AtLeast(5_000.0)));
    // The goal is for 100,000 memories.
    table.add("index --full, with vectors", all, "s", None, Some(AtMost(40.0 * count / 100_000.0)));
    Ok(())
}

/// Returns the bytes of the store by kind of file.
fn store_bytes(store: &Path) -> Outcome<BTreeMap<String, u64>> {
    let mut bytes = BTreeMap::new();
    for item in fs::read_dir(store)? {
        let item = item?;
        let name = item.file_name().to_string_lossy().into_owned();
        let kind = if name.ends_with(".md") { "md" } else { name.trim_end_matches("-wal").trim_end_matches("-shm") };
        *bytes.entry(kind.to_owned()).or_default() += item.metadata()?.len();
    }
    Ok(bytes)
}

fn measure_search(
    sandbox: &Sandbox,
    server: &mut TimedServer,
    memories: &[String],
    extent: MeasureScope,
    table: &mut FigureTable,
) -> Outcome<GrowthPoint> {
    let lines = LogLines::read(sandbox)?;
    // Warm up first.
    serving::search(server, "anything")?;
    let floor = vectors::vectors_read_time(memories.len());
    let before = server.processor();
    let mut times = Vec::new();
    let mut classes: BTreeMap<&str, (Vec<Duration>, usize)> = BTreeMap::new();
    for question in sample_questions(memories, SEARCHES) {
        let (took, hits) = serving::search(server, &question.text)?;
        times.push(took);
        let (of_class, right) = classes.entry(question.class).or_default();
        of_class.push(took);
        *right += usize::from(lines.contain(&hits, &question.holds));
    }
    let processor = match before.zip(server.processor()) {
        Some((before, after)) => after.saturating_sub(before).as_secs_f64() * 1e3 / SEARCHES as f64,
        None => f64::NAN,
    };
    let size = memories.len();
    let goals = if size > 300_000 { [15.0, 40.0, f64::INFINITY] } else { [3.0, 8.0, 15.0] };
    if extent != MeasureScope::Growth {
        let goals = [50, 95, 99].into_iter().zip(goals.map(|goal| goal.is_finite().then_some(AtMost(goal))));
        let goals: Vec<_> = goals.collect();
        table.add_times(&format!("search of {size} memories"), &mut times, Some(floor), &goals);
    }
    if extent == MeasureScope::Everything {
        for (class, (of_class, right)) in &mut classes {
            table.add_times(&format!("  {class}"), of_class, None, &[(50, None), (95, None)]);
            let share = *right as f64 / of_class.len() as f64;
            table.add(format!("  {class}, right answers"), share, "share", None, Some(AtLeast(1.0)));
        }
    }
    times.sort_unstable();
    let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(&times, percent));
    if extent == MeasureScope::Everything {
        let mut times = phrasing_times(server, memories)?;
        table.add_times("  with three other phrasings", &mut times, None, &[(50, None), (95, None)]);
        let growth = percentile(&times, 50) / p50;
        table.add("  with three other phrasings, relative to none", growth, "times", None, Some(AtMost(1.6)));
    }
    Ok(GrowthPoint { memories: size, p50, p95, p99, processor })
}

/// Times of searches that have the next three questions as other phrasings.
fn phrasing_times(server: &mut TimedServer, memories: &[String]) -> Outcome<Vec<Duration>> {
    let questions = sample_questions(memories, SEARCHES);
    let search = |asked: &[BenchQuestion]| {
        let also: Vec<&str> = asked[1..].iter().map(|question| &*question.text).collect();
        Ok(serving::search_with_phrasings(server, &asked[0].text, &also)?.0)
    };
    questions.windows(4).map(search).collect()
}

/// Measures the import of recorded transcripts, copied as other sessions.
fn measure_import(binaries: &Binaries, table: &mut FigureTable) -> Outcome<()> {
    let sandbox = Sandbox::new(binaries.clone());
    let project = sandbox.project().to_string_lossy().into_owned();
    let name: String = project.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = sandbox.home().join(".claude/projects").join(name);
    fs::create_dir_all(&folder)?;
    let mut recorded = Vec::new();
    for item in fs::read_dir(harness::fixtures_dir().join("transcripts"))? {
        let path = item?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let text = fs::read_to_string(&path)?.replace("/home/dev/project", &project);
            recorded.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text));
        }
    }
    let (mut written, mut copy) = (0, 0);
    while written < TRANSCRIPTS {
        for (name, text) in &recorded {
            let session =
                text.split("\"sessionId\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            let text = text.replace(session, &format!("{copy:08x}{}", session.get(8..).unwrap_or_default()));
            written += text.len() as u64;
            let path: PathBuf = folder.join(format!("{name}-{copy}.jsonl"));
            fs::write(&path, text)?;
            // Old enough to count as an ended session.
            fs::File::options().append(true).open(path)?.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
            copy += 1;
        }
    }
    let mut command = sandbox.memory_command();
    command.args(["import", "--json", "claude-code"]);
    let outcome = run_to_end(command, "", COMMAND_DEADLINE);
    let kept: u64 = match &outcome.assert_success().json()["kept"] {
        Value::Object(kept) => kept.values().filter_map(Value::as_u64).sum(),
        _ => 0,
    };
    let rate = written as f64 / 1e6 / outcome.elapsed.as_secs_f64();
    table.add("import of transcripts", rate, "MB/s", None, Some(AtLeast(50.0)));
    table.add("imported memories", kept as f64 / outcome.elapsed.as_secs_f64(), "a second", None, None);
    Ok(())
}
