//! `stats`: what is remembered, how it grows, what it weighs, what of it is read, and what is wrong.

use std::fmt::Write as _;

use clap::Args;
use schema::moment::Moment;
use schema::store::{Locator, Recalls};
use schema::tool::{StatsOutput, TypeCount};
use serde::Serialize;
use tools::engine::{Engine, Storage, Usage, UsageOfSome, Wanted};

use super::list::Listed;
use super::narrow::Narrow;
use super::output::{DIM, KIND, Printer, STRONG, short};
use super::text::{bytes, counted, fit, grouped, harmless, padded, width, wrapped};

/// Memories that are told as those that are opened most.
const RECALLED: usize = 5;

/// Months of growth that people are told; JSON has all.
const MONTHS: usize = 12;

/// Columns of the longest bar.
const BAR: u64 = 24;

/// Columns of a line where lines have no end.
const LONGEST: usize = 120;

#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    narrow: Narrow,
}

/// What `memory_stats` answers, and what only people ask.
#[derive(Debug, Serialize)]
struct Stats<'s> {
    #[serde(flatten)]
    store: &'s StatsOutput,
    storage: Bytes,
    growth: Growth,
    recalled: Vec<Recalled>,
}

/// The same of some memories, which have no place on disk of their own.
#[derive(Debug, Serialize)]
struct StatsOfSome {
    memories: u64,
    sessions: u64,
    types: Vec<TypeCount>,
    growth: Growth,
    recalled: Vec<Recalled>,
}

#[derive(Debug, Serialize)]
struct Bytes {
    markdown: u64,
    rows: u64,
    index: u64,
    waiting: u64,
    other: u64,
}

#[derive(Debug, Serialize)]
struct Growth {
    last_7_days: u64,
    last_30_days: u64,
    months: Vec<Month>,
}

#[derive(Debug, Serialize)]
struct Month {
    month: String,
    memories: u64,
}

/// A memory that was opened, and how often.
#[derive(Debug, Serialize)]
struct Recalled {
    times: u64,
    /// RFC 3339 in UTC.
    last: Option<String>,
    memory: Listed,
}

pub(crate) fn stats(engine: &mut Engine, printer: &Printer, arguments: StatsArguments) -> anyhow::Result<()> {
    let wanted = arguments.narrow.wanted(engine)?;
    if wanted != Wanted::default() {
        let stats = StatsOfSome::of(&engine.usage_of(&wanted, RECALLED)?, &mut engine.locator());
        return printer.read(&stats, |columns| told_of_some(&stats, columns.unwrap_or(LONGEST)));
    }
    let output = engine.stats()?;
    let usage = engine.usage(RECALLED)?;
    let stats = Stats::of(&output, &usage, &mut engine.locator());
    printer.read(&stats, |columns| told(&stats, &usage.storage, columns.unwrap_or(LONGEST)))
}

impl<'s> Stats<'s> {
    fn of(store: &'s StatsOutput, usage: &Usage, locator: &mut Locator) -> Self {
        let Storage { markdown, rows, index, waiting, other } = usage.storage;
        Self {
            store,
            storage: Bytes { markdown, rows, index, waiting, other },
            growth: Growth::of(&usage.months, usage.last_7_days, usage.last_30_days),
            recalled: usage.recalled.iter().map(|recalls| Recalled::of(recalls, locator)).collect(),
        }
    }
}

impl StatsOfSome {
    fn of(usage: &UsageOfSome, locator: &mut Locator) -> Self {
        Self {
            memories: usage.memories,
            sessions: usage.sessions,
            types: usage.types.iter().map(|(kind, count)| TypeCount { kind: *kind, count: *count }).collect(),
            growth: Growth::of(&usage.months, usage.last_7_days, usage.last_30_days),
            recalled: usage.recalled.iter().map(|recalls| Recalled::of(recalls, locator)).collect(),
        }
    }
}

impl Growth {
    fn of(months: &[(String, u64)], last_7_days: u64, last_30_days: u64) -> Self {
        let months = months.iter().map(|(month, memories)| Month { month: month.clone(), memories: *memories });
        Self { last_7_days, last_30_days, months: months.collect() }
    }
}

impl Recalled {
    fn of(recalls: &Recalls, locator: &mut Locator) -> Self {
        Self {
            times: recalls.row.access_count.max(0).unsigned_abs(),
            last: recalls.last.clone(),
            memory: Listed::located(&recalls.row, locator),
        }
    }
}

fn told_of_some(stats: &StatsOfSome, columns: usize) -> String {
    if stats.memories == 0 {
        return "Nothing remembered is of this kind.\n".to_owned();
    }
    let mut text = String::new();
    memories(&mut text, (stats.memories, stats.sessions), &stats.types, columns);
    growth(&mut text, &stats.growth, columns);
    recalled(&mut text, &stats.recalled, columns);
    text.trim_start().to_owned()
}

fn told(stats: &Stats<'_>, storage: &Storage, columns: usize) -> String {
    let mut text = String::new();
    for line in wrapped(&harmless(&stats.store.project), columns) {
        let _ = writeln!(text, "{STRONG}{line}{STRONG:#}");
    }
    memories(&mut text, (stats.store.memories, stats.store.sessions), &stats.store.types, columns);
    if stats.store.redactions > 0 {
        row(&mut text, "secrets taken out", &grouped(stats.store.redactions), columns);
    }
    growth(&mut text, &stats.growth, columns);
    recalled(&mut text, &stats.recalled, columns);
    weight(&mut text, storage, columns);
    index(&mut text, stats.store, columns);
    for problem in &stats.store.problems {
        for line in wrapped(&format!("problem: {}", harmless(problem)), columns) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

fn head(text: &mut String, name: &str, about: &str, columns: usize) {
    let about = fit(about, columns.saturating_sub(width(name) + 2));
    let _ = writeln!(text, "\n{STRONG}{name}{STRONG:#}  {about}");
}

fn memories(text: &mut String, (memories, sessions): (u64, u64), types: &[TypeCount], columns: usize) {
    let about = match sessions {
        0 => grouped(memories),
        sessions => format!("{}, of {}", grouped(memories), counted(sessions, "session")),
    };
    head(text, "Memories", &about, columns);
    let most = types.iter().map(|counted| counted.count).max().unwrap_or_default();
    for counted in types {
        bar(text, counted.kind.as_str(), counted.count, most, columns);
    }
}

fn growth(text: &mut String, growth: &Growth, columns: usize) {
    if growth.months.is_empty() {
        return;
    }
    let about = format!("{} in 7 days, {} in 30", grouped(growth.last_7_days), grouped(growth.last_30_days));
    head(text, "Growth", &about, columns);
    let shown = &growth.months[growth.months.len().saturating_sub(MONTHS)..];
    let most = shown.iter().map(|month| month.memories).max().unwrap_or_default();
    for month in shown {
        bar(text, &month.month, month.memories, most, columns);
    }
}

fn recalled(text: &mut String, recalled: &[Recalled], columns: usize) {
    if recalled.is_empty() {
        return;
    }
    head(text, "Opened most", "", columns);
    for Recalled { times, memory, .. } in recalled {
        let times = format!("{times}×");
        let id = short(&memory.id);
        let before = "  ".len() + width(&times).max(4) + 2 + width(id) + 2;
        let line = fit(&memory.line(), columns.saturating_sub(before));
        let _ = writeln!(text, "  {}  {DIM}{id}{DIM:#}  {line}", padded(&times, width(&times).max(4)));
    }
}

fn weight(text: &mut String, storage: &Storage, columns: usize) {
    head(text, "Storage", &bytes(storage.total()), columns);
    for (name, amount) in [
        ("Markdown", storage.markdown),
        ("memory.db", storage.rows),
        ("index.db", storage.index),
        ("waiting", storage.waiting),
        ("other", storage.other),
    ] {
        if amount > 0 {
            row(text, name, &bytes(amount), columns);
        }
    }
}

fn index(text: &mut String, store: &StatsOutput, columns: usize) {
    let last = store.last_indexed.as_deref().and_then(Moment::parse_rfc3339);
    let local = last.and_then(|at| Moment::from_unix(at.unix(), None));
    let about = local.map_or("never made".to_owned(), |at| format!("of {}", at.local_second().replace('T', " ")));
    head(text, "Index", &about, columns);
    row(text, "files", &grouped(store.files), columns);
    row(text, "chunks", &grouped(store.chunks), columns);
    if store.pending > 0 {
        row(text, "not indexed yet", &grouped(store.pending), columns);
    }
    let embedding = &store.embedding;
    let model = embedding.model.as_deref().map(|model| format!(" {}", harmless(model))).unwrap_or_default();
    row(text, "vectors", &format!("{:.0}% by {}{model}", embedding.coverage * 100.0, embedding.provider), columns);
    row(text, "hooks answered by", store.queue_answered_by.as_str(), columns);
    if store.queue > 0 {
        row(text, "in the spool", &grouped(store.queue), columns);
    }
}

/// Columns of a name.
const NAME: usize = 18;

fn row(text: &mut String, name: &str, value: &str, columns: usize) {
    let room = columns.saturating_sub(NAME + 4);
    let _ = writeln!(text, "  {KIND}{}{KIND:#}  {}", padded(name, NAME), fit(value, room));
}

fn bar(text: &mut String, name: &str, count: u64, most: u64, columns: usize) {
    let number = grouped(count);
    let number = format!("{}{number}", " ".repeat(7_usize.saturating_sub(width(&number))));
    let room = (columns.saturating_sub(NAME + 4 + width(&number) + 2) as u64).min(BAR);
    let length = (count * room).checked_div(most).unwrap_or_default().max(count.min(1));
    let bar = "▇".repeat(usize::try_from(length).unwrap_or_default());
    let line = format!("{number}  {DIM}{bar}{DIM:#}");
    let _ = writeln!(text, "  {KIND}{}{KIND:#}  {line}", padded(name, NAME));
}
