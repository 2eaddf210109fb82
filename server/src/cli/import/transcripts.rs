//! `import claude-code`, `codex` and `gemini`: imports transcripts into the memory of their project.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::ProgressBar;
use schema::files::layout::Layout;
use schema::model::memory::content_hash;
use tools::bulk_import::{ImportMode, IncomingMemory};
use tools::error::ToolError;
use tools::import::{IMPORT_MARK_PREFIX, ReplayState, TranscriptEnd};

use super::arguments::TranscriptArguments;
use super::import_session::{ImportSession, ImportSummary, print_summaries, progress_bar};
use super::transcript_folders::{TranscriptFile, TranscriptHost, is_folder_of_project, is_same_path, list_transcripts};
use crate::cli::output::Printer;
use crate::cli::terminal_text::count_with_unit;

/// A transcript without changes for this long counts as finished.
const QUIET_TIME: Duration = Duration::from_mins(5);

/// Most places without a project that are named.
const MAX_NAMED: usize = 5;

/// Memories between two updates of the progress bar.
const STEP: usize = 64;

struct TranscriptSources {
    project: PathBuf,
    transcripts: Vec<TranscriptFile>,
    problems: Vec<String>,
}

/// Options of the import.
struct ReplayOptions {
    host: TranscriptHost,
    since: Option<i64>,
    again: bool,
    mode: ImportMode,
}

/// The project is only optional with `--all`.
pub(super) fn import_transcripts(
    host: TranscriptHost,
    project: Option<&Path>,
    printer: &Printer,
    arguments: TranscriptArguments,
) -> anyhow::Result<()> {
    let TranscriptArguments { all, from, since, again, dry_run } = arguments;
    let effect = if dry_run { ImportMode::DryRun } else { ImportMode::Write };
    let wish = ReplayOptions { host, since: since.map(|at| at.unix()), again, mode: effect };
    let sources = match (from, project) {
        (None, project) if all => all_sources(host, project)?,
        (Some(place), Some(project)) => vec![TranscriptSources::from_place(host, project, place)?],
        (None, Some(project)) => vec![project_sources(host, project)?],
        (_, None) => return Err(ToolError::Invalid("give a project with --project".to_owned()).into()),
    };
    let total = sources.iter().flat_map(|sources| &sources.transcripts).map(|transcript| transcript.bytes).sum();
    let bar = progress_bar(total);
    let summaries: anyhow::Result<Vec<ImportSummary>> =
        sources.into_iter().map(|sources| import_into(sources, &wish, &bar)).collect();
    bar.finish_and_clear();
    print_summaries(printer, &summaries?)
}

impl TranscriptSources {
    /// The transcripts of a folder or file that the person named.
    fn from_place(host: TranscriptHost, project: &Path, place: PathBuf) -> anyhow::Result<Self> {
        let name = place.display().to_string();
        let mut sources = Self::from_folders(host, project, &[place])?;
        if sources.transcripts.is_empty() {
            sources.problems.push(format!("{name}: no transcripts of {} directly in it", host.program()));
        }
        Ok(sources)
    }

    fn from_folders(host: TranscriptHost, project: &Path, places: &[PathBuf]) -> anyhow::Result<Self> {
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for place in places {
            let (transcripts, links) = list_transcripts(host, place)?;
            found.extend(transcripts);
            if links > 0 {
                let were = if links == 1 { "was" } else { "were" };
                let links = count_with_unit(links as u64, "link");
                problems.push(format!("{}: {links} {were} not followed", place.display()));
            }
        }
        Ok(Self { project: project.to_owned(), transcripts: found, problems })
    }
}

fn project_sources(host: TranscriptHost, project: &Path) -> anyhow::Result<TranscriptSources> {
    let places = host.places_of(project)?;
    let mut sources = TranscriptSources::from_folders(host, project, &places)?;
    if places.is_empty() {
        sources.problems.push(format!(
            "no transcripts of {} found; give a folder with --from, or import those of all projects with --all",
            project.display()
        ));
    }
    Ok(sources)
}

/// The projects with a memory and their transcripts, this project first. The others are reported.
fn all_sources(host: TranscriptHost, project: Option<&Path>) -> anyhow::Result<Vec<TranscriptSources>> {
    let mut places: Vec<(PathBuf, Vec<PathBuf>)> =
        project.iter().map(|project| (project.to_path_buf(), Vec::new())).collect();
    let (mut problems, mut gone) = (Vec::new(), Vec::new());
    for (folder, root) in host.places(project)? {
        let root =
            root.or_else(|| project.filter(|project| is_folder_of_project(&folder, None, project)).map(Path::to_owned));
        let Some(root) = root else {
            gone.push(folder);
            continue;
        };
        match places.iter_mut().find(|(known, _)| is_same_path(known, &root)) {
            Some((_, folders)) => folders.push(folder),
            None if Layout::new(&root).store_dir().is_dir() => places.push((root, vec![folder])),
            None => {
                let problem = format!("{} has no memory; run jikime-memory import there", root.display());
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    if gone.len() > MAX_NAMED {
        problems.push(format!("{} places: their projects no longer exist", gone.len()));
    } else {
        problems.extend(gone.iter().map(|folder| format!("{}: its project no longer exists", folder.display())));
    }
    let mut sources: Vec<TranscriptSources> = places
        .iter()
        .map(|(root, folders)| TranscriptSources::from_folders(host, root, folders))
        .collect::<anyhow::Result<_>>()?;
    match sources.first_mut() {
        Some(first) => first.problems.extend(problems),
        None => {
            if problems.is_empty() {
                problems.push("no transcripts found".to_owned());
            }
            let project = std::env::current_dir().context("cannot determine the working directory")?;
            sources.push(TranscriptSources { project, transcripts: Vec::new(), problems });
        }
    }
    Ok(sources)
}

fn import_into(sources: TranscriptSources, wish: &ReplayOptions, bar: &ProgressBar) -> anyhow::Result<ImportSummary> {
    let started = Instant::now();
    let TranscriptSources { project, transcripts, problems } = sources;
    let mut counted = ImportSummary { problems, ..ImportSummary::new(&project, wish.mode) };
    if transcripts.is_empty() {
        // Without transcripts, no store is created.
        return Ok(counted);
    }
    let mut intake = ImportSession::open(&project, wish.mode)?;
    let mut before = bar.position();
    for transcript in transcripts {
        let name = transcript.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        bar.set_message(name);
        let key = format!("{IMPORT_MARK_PREFIX}{}", &content_hash(&transcript.path.to_string_lossy())[..32]);
        let is_too_old = wish.since.is_some_and(|since| {
            let changed = transcript.changed.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            i64::try_from(changed.as_secs()).is_ok_and(|changed| changed < since)
        });
        if is_too_old || !wish.again && intake.mark(&key).as_deref() == Some(&transcript.fingerprint()) {
            counted.unchanged += 1;
        } else {
            match replay_transcript(&transcript, &project, &mut intake, wish, &|read| bar.set_position(before + read)) {
                Ok(ReplayState { is_open, is_torn, unreadable_lines: not_understood, .. }) => {
                    counted.files += 1;
                    counted.bytes += transcript.bytes;
                    counted.still_open += usize::from(is_open);
                    counted.torn += usize::from(is_torn);
                    counted.lines_not_understood += not_understood;
                    // Marks only transcripts that were imported completely.
                    if !is_open && wish.since.is_none() {
                        intake.import_marks.push((key, transcript.fingerprint()));
                    }
                }
                Err(ReplayError::Transcript(error)) => {
                    counted.problems.push(format!("cannot read {}: {error}", transcript.path.display()));
                }
                Err(ReplayError::Store(error)) => return Err(error.into()),
            }
        }
        before += transcript.bytes;
        bar.set_position(before);
    }
    let outcome = bar.suspend(|| intake.finish(&project))?;
    Ok(counted.with_outcome(outcome, started))
}

/// An unreadable transcript is skipped; an error of the store ends the import.
enum ReplayError {
    Transcript(io::Error),
    Store(ToolError),
}

/// Imports one transcript.
fn replay_transcript(
    transcript: &TranscriptFile,
    project: &Path,
    intake: &mut ImportSession,
    wish: &ReplayOptions,
    read: &dyn Fn(u64),
) -> Result<ReplayState, ReplayError> {
    let is_quiet = transcript.changed.elapsed().is_ok_and(|age| age > QUIET_TIME);
    let ending = if is_quiet { TranscriptEnd::Complete } else { TranscriptEnd::Growing };
    let loaded = intake.loaded.clone();
    let mut replay =
        wish.host.open_replay(&transcript.path, project, &loaded, ending).map_err(ReplayError::Transcript)?;
    let mut count = 0;
    while let Some(prepared) = replay.next_memory().map_err(ReplayError::Transcript)? {
        count += 1;
        if count % STEP == 0 {
            read(replay.state().position);
        }
        if wish.since.is_none_or(|since| prepared.draft().at.unix() >= since) {
            intake.add(IncomingMemory { prepared, exact: None }).map_err(ReplayError::Store)?;
        }
    }
    Ok(replay.state())
}
