//! `export`: memories as Markdown or as JSON, from each of which the same store is made again.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use schema::exchange::{Exported, markdown};
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::sanitize::escape_json;
use schema::store::Row;
use tools::engine::{Engine, Selection};

use super::narrow::memory_type;
use super::preview::counted;
use super::when;
use crate::exit;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Only memories of a type; several are separated by commas
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type(), value_delimiter = ',')]
    kinds: Vec<MemoryType>,
    /// Only those of a session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only those from this time on
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    since: Option<Moment>,
    /// Only those up to this time
    #[arg(long, value_name = "WHEN", value_parser = when::until)]
    until: Option<Moment>,
    /// Into this file instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// To read, like the logs; `import md` takes it in again
    Md,
    /// A memory a line; `import jsonl` does
    Jsonl,
    /// One document; `import json` does
    Json,
}

/// Writes the memories that are meant.
pub(crate) fn export(engine: &mut Engine, arguments: ExportArguments) -> anyhow::Result<()> {
    let ExportArguments { format, kinds, session, since, until, out } = arguments;
    let (since, until) = (since.map(|at| at.unix()), until.map(|at| at.unix()));
    let rows = engine.select(&Selection { kinds, session, since, until, ..Selection::default() })?.rows;
    if rows.is_empty() {
        exit::tell("nothing that is remembered is meant, so that the export is empty");
    }
    match out {
        None => match write(&mut io::stdout().lock(), format, &rows) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("cannot write the memories"),
            _ => Ok(()),
        },
        Some(path) => {
            let place = path.display().to_string();
            // Whole or not at all: what was there before stays until then.
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}.tmp", std::process::id()));
            let temporary = path.with_file_name(name);
            let written = private(&temporary).and_then(|mut file| write(&mut file, format, &rows));
            let moved = written.and_then(|()| std::fs::rename(&temporary, &path));
            if moved.is_err() {
                let _ = std::fs::remove_file(&temporary);
            }
            moved.with_context(|| format!("cannot write {place}"))?;
            exit::tell(&format!("wrote {} to {place}", counted(rows.len())));
            Ok(())
        }
    }
}

/// A file for its owner only, where the platform has modes.
fn private(path: &std::path::Path) -> io::Result<File> {
    schema::own_file::private_file().create(true).truncate(true).open(path)
}

fn write(out: &mut impl Write, format: Format, rows: &[Row]) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    match format {
        Format::Md => out.write_all(markdown(rows).as_bytes())?,
        Format::Jsonl => {
            for row in rows {
                writeln!(out, "{}", escape_json(&serde_json::to_string(&Exported::of(row))?))?;
            }
        }
        Format::Json => {
            let memories: Vec<Exported> = rows.iter().map(Exported::of).collect();
            let json = serde_json::to_string_pretty(&serde_json::json!({ "memories": memories }))?;
            writeln!(out, "{}", escape_json(&json))?;
        }
    }
    out.flush()
}
