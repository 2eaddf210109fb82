//! `stats`: number, growth, most opened memories, size and problems.

use std::fmt::Write as _;

use schema::model::memory::short_id;
use schema::model::moment::Moment;
use schema::store::{Locator, RecallCount};
use schema::tool::{StatsOutput, TypeCount};
use serde::Serialize;
use tools::engine::{DiskUsage, Engine, HistoryFilter};

use super::filter_arguments::FilterArguments;
use super::list::ListedMemory;
use super::output::{DIM, KIND, PLAIN, Printer, STRONG, push_lines};
use super::pager::PIPED_REPORT_COLUMNS;
use super::terminal_text::{
    clean_for_terminal, count_with_unit, display_width, fit_columns, format_bytes, group_thousands, pad_columns, wrap,
};

/// Number of most opened memories.
const MAX_OPENED: usize = 5;

/// Months in the text output; JSON has all.
const MAX_MONTHS: usize = 12;

/// Columns of the longest bar.
const MAX_BAR: u64 = 24;

/// The output of `memory_stats` and more fields.
#[derive(Debug, Serialize)]
struct StatsReport<'s> {
    #[serde(flatten)]
    store: &'s StatsOutput,
    storage: DiskUsage,
    growth: GrowthCounts,
    recalled: Vec<MemoryOpens>,
}

/// Statistics of a selection, without sizes on disk.
#[derive(Debug, Serialize)]
struct FilteredStatsReport {
    memories: u64,
    sessions: u64,
    types: Vec<TypeCount>,
    growth: GrowthCounts,
    recalled: Vec<MemoryOpens>,
}

#[derive(Debug, Serialize)]
struct GrowthCounts {
    last_7_days: u64,
    last_30_days: u64,
    months: Vec<MonthCount>,
}

#[derive(Debug, Serialize)]
struct MonthCount {
    month: String,
    memories: u64,
}

#[derive(Debug, Serialize)]
struct MemoryOpens {
    times: u64,
    /// RFC 3339 in UTC.
    last: Option<String>,
    memory: ListedMemory,
}

pub(crate) fn run_stats(engine: &mut Engine, printer: &Printer, narrow: FilterArguments) -> anyhow::Result<()> {
    let wanted = narrow.into_filter(engine)?;
    if wanted != HistoryFilter::default() {
        let usage = engine.filtered_usage(&wanted, MAX_OPENED)?;
        let stats = FilteredStatsReport {
            memories: usage.memories,
            sessions: usage.sessions,
            types: usage.types.into_iter().map(|(kind, count)| TypeCount { kind, count }).collect(),
            growth: GrowthCounts::new(usage.months, usage.last_7_days, usage.last_30_days),
            recalled: opened_memories(usage.recalled, &mut engine.locator()),
        };
        return printer.print_paged(&stats, |columns| render_filtered(&stats, columns.unwrap_or(PIPED_REPORT_COLUMNS)));
    }
    let output = engine.stats()?;
    let usage = engine.store_usage(MAX_OPENED)?;
    let stats = StatsReport {
        store: &output,
        storage: usage.storage,
        growth: GrowthCounts::new(usage.months, usage.last_7_days, usage.last_30_days),
        recalled: opened_memories(usage.recalled, &mut engine.locator()),
    };
    printer.print_paged(&stats, |columns| render_stats(&stats, columns.unwrap_or(PIPED_REPORT_COLUMNS)))
}

impl GrowthCounts {
    fn new(months: Vec<(String, u64)>, last_7_days: u64, last_30_days: u64) -> Self {
        let months = months.into_iter().map(|(month, memories)| MonthCount { month, memories });
        Self { last_7_days, last_30_days, months: months.collect() }
    }
}

fn opened_memories(recalled: Vec<RecallCount>, locator: &mut Locator) -> Vec<MemoryOpens> {
    let opens = recalled.into_iter().map(|RecallCount { row, last }| MemoryOpens {
        times: row.access_count.max(0).unsigned_abs(),
        last,
        memory: ListedMemory::with_lines(&row, locator),
    });
    opens.collect()
}

fn render_filtered(stats: &FilteredStatsReport, columns: usize) -> String {
    if stats.memories == 0 {
        return "No memories match.\n".to_owned();
    }
    let mut text = String::new();
    add_memory_counts(&mut text, (stats.memories, stats.sessions), &stats.types, columns);
    add_growth(&mut text, &stats.growth, columns);
    add_opened_memories(&mut text, &stats.recalled, columns);
    text.trim_start().to_owned()
}

fn render_stats(stats: &StatsReport<'_>, columns: usize) -> String {
    let mut text = String::new();
    push_lines(&mut text, "", STRONG, wrap(&clean_for_terminal(&stats.store.project), columns));
    add_memory_counts(&mut text, (stats.store.memories, stats.store.sessions), &stats.store.types, columns);
    if stats.store.redactions > 0 {
        add_row(&mut text, "secrets removed", &group_thousands(stats.store.redactions), columns);
    }
    add_growth(&mut text, &stats.growth, columns);
    add_opened_memories(&mut text, &stats.recalled, columns);
    add_storage(&mut text, &stats.storage, columns);
    add_index(&mut text, stats.store, columns);
    for problem in &stats.store.problems {
        let problem = format!("problem: {}", clean_for_terminal(problem));
        push_lines(&mut text, "", PLAIN, wrap(&problem, columns));
    }
    text
}

fn add_heading(text: &mut String, name: &str, about: &str, columns: usize) {
    let about = fit_columns(about, columns.saturating_sub(display_width(name) + 2));
    let _ = writeln!(text, "\n{STRONG}{name}{STRONG:#}  {about}");
}

fn add_memory_counts(text: &mut String, (memories, sessions): (u64, u64), types: &[TypeCount], columns: usize) {
    let about = match sessions {
        0 => group_thousands(memories),
        sessions => format!("{}, of {}", group_thousands(memories), count_with_unit(sessions, "session")),
    };
    add_heading(text, "Memories", &about, columns);
    let most = types.iter().map(|counted| counted.count).max().unwrap_or_default();
    for counted in types {
        add_bar(text, counted.kind.as_str(), counted.count, most, columns);
    }
}

fn add_growth(text: &mut String, growth: &GrowthCounts, columns: usize) {
    if growth.months.is_empty() {
        return;
    }
    let about =
        format!("{} in 7 days, {} in 30", group_thousands(growth.last_7_days), group_thousands(growth.last_30_days));
    add_heading(text, "Growth", &about, columns);
    let shown = &growth.months[growth.months.len().saturating_sub(MAX_MONTHS)..];
    let most = shown.iter().map(|month| month.memories).max().unwrap_or_default();
    for month in shown {
        add_bar(text, &month.month, month.memories, most, columns);
    }
}

fn add_opened_memories(text: &mut String, recalled: &[MemoryOpens], columns: usize) {
    if recalled.is_empty() {
        return;
    }
    add_heading(text, "Opened most", "", columns);
    for MemoryOpens { times, memory, .. } in recalled {
        let times = format!("{:<4}", format!("{times}×"));
        let id = short_id(&memory.id);
        let before = "  ".len() + display_width(&times) + 2 + display_width(id) + 2;
        let line = fit_columns(&memory.one_line(), columns.saturating_sub(before));
        let _ = writeln!(text, "  {times}  {DIM}{id}{DIM:#}  {line}");
    }
}

fn add_storage(text: &mut String, storage: &DiskUsage, columns: usize) {
    add_heading(text, "Storage", &format_bytes(storage.total()), columns);
    for (name, amount) in [
        ("Markdown", storage.markdown),
        ("memory.db", storage.rows),
        ("index.db", storage.index),
        ("waiting", storage.spooled),
        ("other", storage.other),
    ] {
        if amount > 0 {
            add_row(text, name, &format_bytes(amount), columns);
        }
    }
}

fn add_index(text: &mut String, store: &StatsOutput, columns: usize) {
    let last = store.last_indexed.as_deref().and_then(Moment::parse_rfc3339);
    let local = last.and_then(|at| Moment::from_unix(at.unix(), None));
    let about =
        local.map_or("never updated".to_owned(), |at| format!("updated {}", at.local_second().replace('T', " ")));
    add_heading(text, "Index", &about, columns);
    add_row(text, "files", &group_thousands(store.files), columns);
    add_row(text, "passages", &group_thousands(store.chunks), columns);
    if store.pending > 0 {
        add_row(text, "not indexed yet", &group_thousands(store.pending), columns);
    }
    let embedding = &store.embedding;
    let model = embedding.model.as_deref().map(|model| format!(" {}", clean_for_terminal(model))).unwrap_or_default();
    add_row(text, "vectors", &format!("{:.0}% by {}{model}", embedding.coverage * 100.0, embedding.provider), columns);
    add_row(text, "hook events go to", store.queue_answered_by.describe(), columns);
    if store.queue > 0 {
        add_row(text, "queued on disk", &group_thousands(store.queue), columns);
    }
}

/// Columns of a name.
const NAME_COLUMNS: usize = 18;

fn add_row(text: &mut String, name: &str, value: &str, columns: usize) {
    let room = columns.saturating_sub(NAME_COLUMNS + 4);
    let _ = writeln!(text, "  {KIND}{}{KIND:#}  {}", pad_columns(name, NAME_COLUMNS), fit_columns(value, room));
}

fn add_bar(text: &mut String, name: &str, count: u64, most: u64, columns: usize) {
    let number = format!("{:>7}", group_thousands(count));
    let room = (columns.saturating_sub(NAME_COLUMNS + 4 + display_width(&number) + 2) as u64).min(MAX_BAR);
    let length = (count * room).checked_div(most).unwrap_or_default().max(count.min(1));
    let bar = "▇".repeat(usize::try_from(length).unwrap_or_default());
    let line = format!("{number}  {DIM}{bar}{DIM:#}");
    let _ = writeln!(text, "  {KIND}{}{KIND:#}  {line}", pad_columns(name, NAME_COLUMNS));
}
