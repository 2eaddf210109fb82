//! `import jsonl`, `json` and `md`: what `export` wrote, with the same ids, types and times.

use std::fs;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use schema::bulk::{Arrival, Effect};
use schema::daily_log::LogKind;
use schema::exchange::{Exported, Logs, Unreadable, from_json};
use schema::layout::Layout;
use schema::own_file::is_linked_file;
use schema::regular_file;
use tools::error::ToolError;

use super::{ExportArguments, Intake, Summary, tell};
use crate::cli::output::Printer;
use crate::cli::text::counted;

/// The longest line that is read, in bytes: a text of 64 KiB in escapes, with its metadata.
const LINE_LIMIT: u64 = 1024 * 1024;

/// Memories that are named when they cannot be read.
const NAMED: usize = 5;

/// What is reported of fields that cannot be used as they are.
const ODD: &str = "not valid there; the rest was imported";

/// How an export was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Jsonl,
    Json,
    Md,
}

/// An export on its way in.
struct Reader {
    intake: Intake,
    /// What stands beside another one with the same id comes in last.
    copies: Vec<Arrival>,
    files: usize,
    bytes: u64,
    good: usize,
    refused: Vec<String>,
    problems: Vec<String>,
}

pub(super) fn import(
    project: &Path,
    printer: &Printer,
    format: Format,
    arguments: &ExportArguments,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let effect = if arguments.dry_run { Effect::Tell } else { Effect::Keep };
    // Whatever cannot be read is said before a store is made.
    let source = Source::open(&arguments.file, format)?;
    let mut reader = Reader {
        intake: Intake::open(project, effect)?,
        copies: Vec::new(),
        files: 0,
        bytes: 0,
        good: 0,
        refused: Vec::new(),
        problems: Vec::new(),
    };
    reader.read(source)?;
    let Reader { mut intake, copies, files, bytes, good, mut refused, mut problems } = reader;
    if good == 0
        && let Some(first) = refused.first()
    {
        let text = format!("nothing in it is a memory: {first}; {}", format.advice());
        return Err(ToolError::Invalid(text).into());
    }
    copies.into_iter().try_for_each(|copy| intake.take(copy))?;
    let outcome = intake.finish(project)?;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let rest = refused.len().saturating_sub(NAMED);
    refused.truncate(NAMED);
    problems.splice(0..0, refused);
    if rest > 0 {
        problems.push(format!("{rest} more could not be read or have such fields"));
    }
    let summary = Summary::of(project, &outcome, effect);
    tell(printer, &[Summary { files, bytes, milliseconds, problems, ..summary }])
}

/// What is read, opened.
enum Source {
    Lines(Box<dyn BufRead>),
    Document(Vec<Result<Exported, Unreadable>>, u64),
    Logs(Logs, Vec<PathBuf>, u64),
}

impl Source {
    fn open(path: &Path, format: Format) -> anyhow::Result<Self> {
        match format {
            Format::Jsonl => Ok(Self::Lines(open(path)?)),
            Format::Json => {
                let bytes = all(path)?;
                if bytes.trim_ascii().is_empty() {
                    return Ok(Self::Document(Vec::new(), bytes.len() as u64));
                }
                let document = from_json(&bytes).map_err(|error| {
                    ToolError::Invalid(format!("{}: {error}; {}", path.display(), Format::Json.advice()))
                })?;
                Ok(Self::Document(document, bytes.len() as u64))
            }
            Format::Md if path.is_dir() => logs_in(path),
            Format::Md => {
                let text = text(path)?;
                let named = path.file_name().and_then(|name| LogKind::of(&name.to_string_lossy()));
                let mut logs = Logs::default();
                // Of nothing the export is empty.
                if !text.trim().is_empty() && !logs.add(&text, named) {
                    let text = format!(
                        "{}: an export begins with # Memory or with a day, such as # 2026-01-28, and this neither does nor \
                         bears the name of a log; {}",
                        path.display(),
                        Format::Md.advice()
                    );
                    return Err(ToolError::Invalid(text).into());
                }
                Ok(Self::Logs(logs, Vec::new(), text.len() as u64))
            }
        }
    }
}

impl Reader {
    fn read(&mut self, source: Source) -> anyhow::Result<()> {
        self.files = 1;
        match source {
            Source::Lines(input) => self.lines(input),
            Source::Document(memories, bytes) => {
                self.bytes = bytes;
                for (index, memory) in memories.into_iter().enumerate() {
                    self.take(memory, || format!("memory {}", index + 1))?;
                }
                Ok(())
            }
            Source::Logs(logs, files, bytes) => {
                (self.files, self.bytes) = (files.len().max(1), bytes);
                if logs.prose() > 0 {
                    let prose = counted(logs.prose() as u64, "line");
                    self.problems
                        .push(format!("{prose} that people wrote stayed out: prose and notes are files to copy"));
                }
                self.refused.extend(logs.odd().iter().map(|odd| format!("{odd}: {ODD}")));
                for memory in logs.into_memories() {
                    let place = format!("{} of {}", memory.at, memory.path);
                    self.take(Ok(memory), || place)?;
                }
                Ok(())
            }
        }
    }

    fn lines(&mut self, mut input: Box<dyn BufRead>) -> anyhow::Result<()> {
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            let read = input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line);
            let read = read.context("cannot read the memories")?;
            if read == 0 {
                return Ok(());
            }
            (number, self.bytes) = (number + 1, self.bytes + read as u64);
            let bytes = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            if !bytes.trim_ascii().is_empty() {
                self.take(Exported::parse(bytes), || format!("line {number}"))?;
            }
        }
    }

    fn take(&mut self, memory: Result<Exported, Unreadable>, place: impl FnOnce() -> String) -> Result<(), ToolError> {
        let is_copy = memory.as_ref().is_ok_and(Exported::is_copy);
        let odd = memory.as_ref().map(|memory| memory.odd.clone()).unwrap_or_default();
        match memory.and_then(|memory| memory.arrival(&self.intake.loaded.screen)) {
            Ok(arrival) => {
                self.good += 1;
                if !odd.is_empty() {
                    let odd = odd.join(", ");
                    self.refused.push(format!("{} {odd}: {ODD}", place()));
                }
                match arrival {
                    Some(copy) if is_copy => self.copies.push(copy),
                    Some(arrival) => self.intake.take(arrival)?,
                    None => {}
                }
            }
            Err(error) => self.refused.push(format!("{}: {error}", place())),
        }
        Ok(())
    }
}

impl Format {
    /// What a person may have meant instead.
    fn advice(self) -> &'static str {
        match self {
            Self::Jsonl => "import json and import md read the other formats of export",
            Self::Json => "import jsonl and import md read the other formats of export",
            Self::Md => "import jsonl and import json read the other formats of export",
        }
    }
}

/// The logs of a store that a folder is, or holds.
fn logs_in(folder: &Path) -> anyhow::Result<Source> {
    let store = Layout::new(folder).dir().to_owned();
    let folder = if store.is_dir() { &store } else { folder };
    let mut logs = Logs::default();
    let (mut files, mut bytes) = (Vec::new(), 0);
    for item in fs::read_dir(folder).map_err(|error| refused(folder, &error))? {
        let path = item.map_err(|error| refused(folder, &error))?.path();
        if path.file_name().and_then(|name| LogKind::of(&name.to_string_lossy())).is_some() && !is_linked_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    for path in &files {
        let text = text(path)?;
        bytes += text.len() as u64;
        let kind = path.file_name().and_then(|name| LogKind::of(&name.to_string_lossy()));
        kind.into_iter().for_each(|kind| logs.add_log(&text, kind));
    }
    if files.is_empty() {
        let text = format!("{}: it holds no log, such as MEMORY.md or 2026-01-28.md", folder.display());
        return Err(ToolError::Invalid(text).into());
    }
    Ok(Source::Logs(logs, files, bytes))
}

fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin().lock())));
    }
    let metadata = fs::metadata(path).map_err(|error| refused(path, &error))?;
    if metadata.is_dir() {
        return Err(ToolError::Invalid(format!("{} is a folder; import md reads one of logs", path.display())).into());
    }
    Ok(Box::new(BufReader::new(regular_file::open(path).map_err(|error| refused(path, &error))?)))
}

fn all(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| refused(path, &error))?;
    Ok(bytes)
}

fn text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(all(path)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        ToolError::Invalid(format!("{}: line {line}: it is not UTF-8", path.display())).into()
    })
}

fn refused(path: &Path, error: &io::Error) -> ToolError {
    ToolError::Invalid(format!("cannot read {}: {error}", path.display()))
}
