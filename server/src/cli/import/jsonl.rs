//! `import jsonl`: what `export` wrote, with the same ids, types and times.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use schema::bulk::Effect;
use schema::exchange::Exported;
use tools::error::ToolError;

use super::{Intake, LineArguments, Summary, tell};
use crate::cli::output::Printer;

/// The longest line that is read, in bytes: a text of 64 KiB in escapes, with its metadata.
const LINE_LIMIT: u64 = 1024 * 1024;

/// Lines that are named when they cannot be read.
const NAMED: usize = 5;

pub(super) fn import(project: &Path, printer: &Printer, arguments: &LineArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut input: Box<dyn BufRead> = if arguments.file == Path::new("-") {
        Box::new(BufReader::new(io::stdin().lock()))
    } else {
        let refused = |error| ToolError::Invalid(format!("cannot read {}: {error}", arguments.file.display()));
        Box::new(BufReader::new(File::open(&arguments.file).map_err(refused)?))
    };
    let effect = if arguments.dry_run { Effect::Tell } else { Effect::Keep };
    let mut intake = Intake::open(project, effect)?;
    let (mut number, mut bytes, mut refused, mut good) = (0_u64, 0_u64, Vec::new(), 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line).context("cannot read the memories")?;
        if read == 0 {
            break;
        }
        (number, bytes) = (number + 1, bytes + read as u64);
        if line.trim_ascii().is_empty() {
            continue;
        }
        match Exported::parse(&line).and_then(|exported| exported.arrival(&intake.loaded.screen)) {
            Ok(arrival) => {
                good += 1;
                arrival.map_or(Ok(()), |arrival| intake.take(arrival))?;
            }
            Err(error) => refused.push(format!("line {number}: {error}")),
        }
    }
    if good == 0 && !refused.is_empty() {
        return Err(ToolError::Invalid(format!("no line is a memory: {}", refused[0])).into());
    }
    let outcome = intake.finish(project)?;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rest = refused.len().saturating_sub(NAMED);
    refused.truncate(NAMED);
    if rest > 0 {
        refused.push(format!("{rest} more lines are no memories"));
    }
    let summary = Summary::of(project, &outcome, effect);
    tell(printer, &[Summary { files: 1, bytes, milliseconds, problems: refused, ..summary }])
}
