//! What a search costs as memories grow: latency with vectors and without, against a floor of the same run, and resident memory.
//!
//! `cargo bench -p jikime-memory-tests --bench search`; `--memories N` measures one size alone, `--searches N` sets how often each
//! is searched. Stores are made once and kept in the target directory. Compare ratios of one run, not milliseconds.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use harness::corpus::Corpus;
use schema::settings::{Provider, Settings};
use schema::tool::SearchInput;
use tools::engine::Engine;

/// Numbers of memories that are measured.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// The seeds of what is remembered, and of what is asked.
const SEED: u64 = 1;
const ASKED: u64 = 2;

/// Memories of a day.
const A_DAY: usize = 400;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let argument = |name: &str, default: usize| {
        let given = std::env::args().skip_while(|argument| argument != name).nth(1);
        given.map_or(Ok(default), |text| text.parse())
    };
    let (only, searches) = (argument("--memories", 0)?, argument("--searches", 200)?);
    let floor = floor();
    println!("floor: reading 64 MB takes {:.1} ms\n", floor.as_secs_f64() * 1e3);
    println!(
        "{:>9} {:<10} {:>9} {:>8} {:>8} {:>9} {:>12}",
        "memories", "leg", "made in s", "p50 ms", "p95 ms", "x floor", "resident MB"
    );
    for size in SIZES.into_iter().filter(|size| only == 0 || *size == only) {
        let project = store(size)?;
        for (leg, provider) in [("text", Provider::None), ("installed", Provider::Local)] {
            let settings = Settings { embedding_provider: provider, ..Settings::default() };
            let started = Instant::now();
            let mut engine = Engine::open_with(&project, None, &settings)?;
            engine.refresh()?;
            while engine.embed_some()?.is_more {}
            let made = started.elapsed();
            let mut times = times(&mut engine, searches)?;
            times.sort();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
            println!(
                "{size:>9} {leg:<10} {:>9.1} {:>8.2} {:>8.2} {:>9.2} {:>12}",
                made.as_secs_f64(),
                at(50),
                at(95),
                at(50) / (floor.as_secs_f64() * 1e3),
                resident().map_or_else(|| "–".to_owned(), |bytes| (bytes / 1_000_000).to_string()),
            );
        }
    }
    Ok(())
}

fn times(engine: &mut Engine, searches: usize) -> Outcome<Vec<Duration>> {
    let mut questions = Corpus::new(ASKED);
    // The first reads the vectors, which is no part of a search.
    let ask = |engine: &mut Engine, query: String| engine.search(&SearchInput { query, ..SearchInput::default() });
    ask(engine, questions.question())?;
    let mut times = Vec::new();
    for _ in 0..searches.max(1) {
        let question = questions.question();
        let started = Instant::now();
        ask(engine, question)?;
        times.push(started.elapsed());
    }
    Ok(times)
}

/// A project with so many memories, made unless it is there from an earlier run.
fn store(memories: usize) -> Outcome<PathBuf> {
    let target =
        std::env::current_exe()?.ancestors().nth(3).ok_or("the bench lies in a target directory")?.to_path_buf();
    let project = target.join("bench-search").join(memories.to_string());
    let done = project.join("done");
    if done.exists() {
        return Ok(project);
    }
    let store = project.join(".jikime").join("memory");
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    fs::create_dir_all(&store)?;
    let mut corpus = Corpus::new(SEED);
    for (day, start) in (0..memories).step_by(A_DAY).enumerate() {
        write_day(&store, day, &mut corpus, A_DAY.min(memories - start))?;
    }
    fs::write(done, "")?;
    Ok(project)
}

/// A log as a person could have written it, which is what memories are derived from.
fn write_day(store: &Path, day: usize, corpus: &mut Corpus, count: usize) -> Outcome<()> {
    let date = chrono::NaiveDate::from_ymd_opt(2025, 1, 1).ok_or("a date")? + chrono::Days::new(day as u64);
    let mut text = format!("# {date}\n\n## Learning\n\n");
    for memory in corpus.take(count) {
        writeln!(text, "- {}", memory.text)?;
    }
    Ok(fs::write(store.join(format!("{date}.md")), text)?)
}

/// Reading as much memory as 100,000 vectors take up, a few times: what no scan of them can be faster than by much.
fn floor() -> Duration {
    let bytes = vec![1u8; 64 << 20];
    let read = || {
        let started = Instant::now();
        let sum: u64 = bytes.chunks_exact(8).map(|eight| u64::from(eight[0])).sum();
        std::hint::black_box(sum);
        started.elapsed()
    };
    (0..9).map(|_| read()).min().unwrap_or_default().max(Duration::from_micros(1))
}

/// Bytes that this process holds in memory, where the system says so.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
