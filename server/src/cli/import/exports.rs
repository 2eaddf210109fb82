//! `import jsonl`, `json` and `md`: imports exports with the same ids, types and times.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use schema::files::layout::Layout;
use schema::files::regular_file;
use schema::files::store_file::is_linked_file;
use schema::log::LogKind;
use tools::bulk_import::{ImportMode, IncomingMemory};
use tools::error::ToolError;
use tools::exchange::{ExportLineError, ExportedMemory, MarkdownLogs, from_json};

use super::arguments::ImportFileArguments;
use super::import_session::{ImportSession, ImportSummary, print_summaries};
use crate::cli::output::Printer;
use crate::cli::terminal_text::count_with_unit;

/// The longest line in bytes: a text of 64 KiB with escapes, and its metadata.
const LINE_LIMIT: u64 = 1024 * 1024;

/// Maximum number of unreadable memories in the report.
const MAX_NAMED: usize = 5;

/// Report for invalid fields.
const IGNORED_FIELD: &str = "not valid; the rest was imported";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportFormat {
    Jsonl,
    Json,
    Md,
}

struct ExportReader {
    session: ImportSession,
    /// Memories with the id of another memory are imported last.
    copies: Vec<IncomingMemory>,
    imported: usize,
    rejected: Vec<String>,
    counted: ImportSummary,
}

pub(super) fn import_export(
    project: &Path,
    printer: &Printer,
    format: ImportFormat,
    arguments: &ImportFileArguments,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let effect = if arguments.dry_run { ImportMode::DryRun } else { ImportMode::Write };
    // Opens the source first, so that an error creates no store.
    let source = ExportSource::open(&arguments.file, format)?;
    let mut reader = ExportReader {
        session: ImportSession::open(project, effect)?,
        copies: Vec::new(),
        imported: 0,
        rejected: Vec::new(),
        counted: ImportSummary::new(project, effect),
    };
    reader.read_source(source)?;
    let ExportReader { mut session, copies, imported, mut rejected, mut counted } = reader;
    if imported == 0
        && let Some(first) = rejected.first()
    {
        let text = format!("it contains no memories: {first}; {}", format.suggestion());
        return Err(ToolError::Invalid(text).into());
    }
    copies.into_iter().try_for_each(|copy| session.add(copy))?;
    let outcome = session.finish(project)?;
    let rest = rejected.len().saturating_sub(MAX_NAMED);
    rejected.truncate(MAX_NAMED);
    counted.problems.splice(0..0, rejected);
    if rest > 0 {
        counted.problems.push(format!("{rest} more are unreadable or have invalid fields"));
    }
    print_summaries(printer, &[counted.with_outcome(outcome, started)])
}

/// The opened input.
enum ExportSource {
    Lines(Box<dyn BufRead>),
    Document(Vec<Result<ExportedMemory, ExportLineError>>, u64),
    /// With the number of files, and their bytes.
    Logs(MarkdownLogs, usize, u64),
}

impl ExportSource {
    fn open(path: &Path, format: ImportFormat) -> anyhow::Result<Self> {
        match format {
            ImportFormat::Jsonl => Ok(Self::Lines(open_input(path)?)),
            ImportFormat::Json => {
                let bytes = read_all(path)?;
                let invalid =
                    |error| ToolError::Invalid(format!("{}: {error}; {}", path.display(), format.suggestion()));
                let is_empty = bytes.trim_ascii().is_empty();
                let document = if is_empty { Vec::new() } else { from_json(&bytes).map_err(invalid)? };
                Ok(Self::Document(document, bytes.len() as u64))
            }
            ImportFormat::Md if path.is_dir() => logs_in_folder(path),
            ImportFormat::Md => {
                let text = read_text(path)?;
                let mut logs = MarkdownLogs::default();
                // The export of an empty store is empty.
                if !text.trim().is_empty() && !logs.add(&text, log_kind(path)) {
                    let text = format!(
                        "{} is not an export or a log: it must start with # Memory or a day such as # 2026-01-28; {}",
                        path.display(),
                        format.suggestion()
                    );
                    return Err(ToolError::Invalid(text).into());
                }
                Ok(Self::Logs(logs, 1, text.len() as u64))
            }
        }
    }
}

impl ExportReader {
    fn read_source(&mut self, source: ExportSource) -> anyhow::Result<()> {
        self.counted.files = 1;
        match source {
            ExportSource::Lines(input) => self.read_lines(input),
            ExportSource::Document(memories, bytes) => {
                self.counted.bytes = bytes;
                for (index, memory) in memories.into_iter().enumerate() {
                    self.add_memory(memory, || format!("memory {}", index + 1))?;
                }
                Ok(())
            }
            ExportSource::Logs(logs, files, bytes) => {
                (self.counted.files, self.counted.bytes) = (files, bytes);
                if logs.prose_lines > 0 {
                    let prose = count_with_unit(logs.prose_lines as u64, "line");
                    self.counted.problems.push(format!("skipped {prose} that people wrote; copy such files instead"));
                }
                self.rejected.extend(logs.unusable_fields.iter().map(|odd| format!("{odd}: {IGNORED_FIELD}")));
                for memory in logs.into_memories() {
                    let place = format!("{} of {}", memory.at, memory.path);
                    self.add_memory(Ok(memory), || place)?;
                }
                Ok(())
            }
        }
    }

    fn read_lines(&mut self, mut input: Box<dyn BufRead>) -> anyhow::Result<()> {
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            let read = input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line);
            let read = read.context("cannot read the memories")?;
            if read == 0 {
                return Ok(());
            }
            number += 1;
            self.counted.bytes += read as u64;
            let bytes = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            if !bytes.trim_ascii().is_empty() {
                self.add_memory(ExportedMemory::parse(bytes), || format!("line {number}"))?;
            }
        }
    }

    fn add_memory(
        &mut self,
        memory: Result<ExportedMemory, ExportLineError>,
        place: impl FnOnce() -> String,
    ) -> Result<(), ToolError> {
        let is_copy = memory.as_ref().is_ok_and(ExportedMemory::is_copy);
        let odd = memory.as_ref().map(|memory| memory.odd.clone()).unwrap_or_default();
        match memory.and_then(|memory| memory.into_incoming(&self.session.loaded.sanitizer)) {
            Ok(incoming) => {
                self.imported += 1;
                if !odd.is_empty() {
                    let odd = odd.join(", ");
                    self.rejected.push(format!("{} {odd}: {IGNORED_FIELD}", place()));
                }
                match incoming {
                    Some(copy) if is_copy => self.copies.push(copy),
                    Some(incoming) => self.session.add(incoming)?,
                    None => {}
                }
            }
            Err(error) => self.rejected.push(format!("{}: {error}", place())),
        }
        Ok(())
    }
}

impl ImportFormat {
    /// Other formats that fit.
    fn suggestion(self) -> &'static str {
        match self {
            Self::Jsonl => "import json and import md read the other formats of export",
            Self::Json => "import jsonl and import md read the other formats of export",
            Self::Md => "import jsonl and import json read the other formats of export",
        }
    }
}

/// The logs in a folder, or in the store of a folder.
fn logs_in_folder(folder: &Path) -> anyhow::Result<ExportSource> {
    let store = Layout::new(folder).store_dir().to_owned();
    let folder = if store.is_dir() { &store } else { folder };
    let mut logs = MarkdownLogs::default();
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    for item in fs::read_dir(folder).map_err(|error| refused_error(folder, &error))? {
        let path = item.map_err(|error| refused_error(folder, &error))?.path();
        if let Some(kind) = log_kind(&path).filter(|_| !is_linked_file(&path)) {
            files.insert(path, kind);
        }
    }
    for (path, kind) in &files {
        let text = read_text(path)?;
        bytes += text.len() as u64;
        logs.add_log(&text, *kind);
    }
    if files.is_empty() {
        let text = format!("{} contains no log such as MEMORY.md or 2026-01-28.md", folder.display());
        return Err(ToolError::Invalid(text).into());
    }
    Ok(ExportSource::Logs(logs, files.len(), bytes))
}

fn log_kind(path: &Path) -> Option<LogKind> {
    LogKind::from_path(&path.file_name()?.to_string_lossy())
}

fn open_input(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin().lock())));
    }
    let metadata = fs::metadata(path).map_err(|error| refused_error(path, &error))?;
    if metadata.is_dir() {
        return Err(
            ToolError::Invalid(format!("{} is a folder; import md reads folders of logs", path.display())).into()
        );
    }
    Ok(Box::new(BufReader::new(regular_file::open(path).map_err(|error| refused_error(path, &error))?)))
}

fn read_all(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_input(path)?.read_to_end(&mut bytes).map_err(|error| refused_error(path, &error))?;
    Ok(bytes)
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    String::from_utf8(read_all(path)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        ToolError::Invalid(format!("{}: line {line}: it is not UTF-8", path.display())).into()
    })
}

fn refused_error(path: &Path, error: &io::Error) -> ToolError {
    ToolError::Invalid(format!("cannot read {}: {error}", path.display()))
}
