//! `export`: writes memories as Markdown or JSON. Importing either format restores the same store.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use schema::files::store_file::{options_for_private, read_or_create_key};
use schema::model::memory::MemoryType;
use schema::model::state_note::StateNote;
use schema::privacy::anonymiser::Anonymiser;
use schema::privacy::output_text::escape_json_text;
use schema::store::MemoryRow;
use tools::engine::{Engine, Selection};
use tools::error::ToolError;
use tools::exchange::{ExportedMemory, render_markdown};

use super::filter_arguments::{MemoryTypeParser, SpanArguments};
use super::preview::memory_count_text;
use crate::exit;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Only these types, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = MemoryTypeParser, value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    span: SpanArguments,
    /// Replace e-mail addresses, phone numbers, home directories, and your user name and computer name
    #[arg(long)]
    anonymise: bool,
    /// Write to this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Markdown like the logs, for `import md`
    Md,
    /// One memory per line, for `import jsonl`
    Jsonl,
    /// One document, for `import json`
    Json,
}

/// Writes the selected memories.
pub(crate) fn run_export(engine: &mut Engine, arguments: ExportArguments) -> anyhow::Result<()> {
    let ExportArguments { format, kinds, session, span, anonymise, out } = arguments;
    let (since, until) = (span.since.map(|at| at.unix()), span.until.map(|at| at.unix()));
    let mut rows = engine.select(&Selection { kinds, session, since, until, ..Selection::default() })?.rows;
    let notes = rows.iter().map(|row| engine.store().rows().notes_about(&row.memory.id));
    let mut notes = notes.collect::<Result<Vec<_>, _>>().context("cannot read the states of the memories")?;
    if anonymise {
        let anonymiser = Anonymiser::new(read_or_create_key(&engine.store().layout().anonymous_key()));
        tools::exchange::anonymise(anonymiser, &mut rows, &mut notes);
    }
    if rows.is_empty() {
        exit::print_status("No memories match; the export is empty");
    }
    let Some(path) = out else {
        return match write_export(&mut io::stdout().lock(), format, &rows, &notes) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot write the memories"),
            _ => Ok(()),
        };
    };
    let place = path.display().to_string();
    // Renames a temporary file, so that an old export stays until the new one is complete.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let file = options_for_private().create(true).truncate(true).open(&temporary);
    let written = file.and_then(|mut file| write_export(&mut file, format, &rows, &notes));
    let moved = written.and_then(|()| std::fs::rename(&temporary, &path));
    if moved.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    moved.map_err(|cause| ToolError::Unavailable(format!("cannot write {place}: {cause}")))?;
    exit::print_status(&format!("wrote {} to {place}", memory_count_text(rows.len())));
    Ok(())
}

/// Writes memories, each with the notes about it.
fn write_export(
    out: &mut impl Write,
    format: ExportFormat,
    rows: &[MemoryRow],
    notes: &[Vec<StateNote>],
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let memories = rows.iter().zip(notes).map(|(row, notes)| ExportedMemory::from_row(row, notes));
    match format {
        ExportFormat::Md => out.write_all(render_markdown(rows, &notes.concat()).as_bytes())?,
        ExportFormat::Jsonl => {
            for memory in memories {
                writeln!(out, "{}", escape_json_text(&serde_json::to_string(&memory)?))?;
            }
        }
        ExportFormat::Json => {
            let memories: Vec<ExportedMemory> = memories.collect();
            let json = serde_json::to_string_pretty(&serde_json::json!({ "memories": memories }))?;
            writeln!(out, "{}", escape_json_text(&json))?;
        }
    }
    out.flush()
}
