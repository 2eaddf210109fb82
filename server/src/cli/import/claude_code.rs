//! `import claude-code`: transcripts, one after the other, into the memory of the project that they are of.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::ProgressBar;
use schema::bulk::{Arrival, Effect};
use schema::capture::{Draft, prepare};
use schema::import::{Ending, READ_BEFORE, Replay};
use schema::layout::Layout;
use schema::memory::content_hash;
use tools::error::ToolError;

use super::places::{Transcript, folders, is_of, is_same, transcripts};
use super::{Intake, Summary, TranscriptArguments, bar, tell};
use crate::cli::output::Printer;
use crate::cli::text;

/// How long ago a transcript changed of which nobody goes on.
const QUIET: Duration = Duration::from_secs(5 * 60);

/// How often the bar moves within a file, in memories.
const STEP: usize = 64;

/// The transcripts of one project.
struct Sources {
    project: PathBuf,
    transcripts: Vec<Transcript>,
    problems: Vec<String>,
}

/// What of the transcripts is wanted.
struct Wish {
    since: Option<i64>,
    again: bool,
    effect: Effect,
}

/// Without a project only where all are meant.
pub(super) fn import(project: Option<&Path>, printer: &Printer, arguments: TranscriptArguments) -> anyhow::Result<()> {
    let TranscriptArguments { all, from, since, again, dry_run } = arguments;
    let effect = if dry_run { Effect::Tell } else { Effect::Keep };
    let wish = Wish { since: since.map(|at| at.unix()), again, effect };
    let sources = match (from, project) {
        (None, project) if all => of_all(project)?,
        (Some(place), Some(project)) => vec![Sources::of(project, &[place])?],
        (None, Some(project)) => vec![of_project(project)?],
        (_, None) => return Err(ToolError::Invalid("name a project with --project".to_owned()).into()),
    };
    let total = sources.iter().flat_map(|sources| &sources.transcripts).map(|transcript| transcript.bytes).sum();
    let bar = bar(total);
    let summaries: anyhow::Result<Vec<Summary>> =
        sources.into_iter().map(|sources| import_into(sources, &wish, &bar)).collect();
    bar.finish_and_clear();
    tell(printer, &summaries?)
}

impl Sources {
    fn of(project: &Path, places: &[PathBuf]) -> anyhow::Result<Self> {
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for place in places {
            let (transcripts, links) = transcripts(place)?;
            found.extend(transcripts);
            if links > 0 {
                let were = if links == 1 { "was" } else { "were" };
                problems.push(format!(
                    "{}: {} {were} not followed",
                    place.display(),
                    text::counted(links as u64, "link")
                ));
            }
        }
        Ok(Self { project: project.to_owned(), transcripts: found, problems })
    }
}

fn of_project(project: &Path) -> anyhow::Result<Sources> {
    let folders = folders()?.into_iter().filter(|(folder, root)| is_of(folder, root.as_deref(), project));
    let places: Vec<PathBuf> = folders.map(|(folder, _)| folder).collect();
    let mut sources = Sources::of(project, &places)?;
    if places.is_empty() {
        sources.problems.push(format!(
            "no transcripts of {} were found; --from names a folder of them, --all takes those of every project",
            project.display()
        ));
    }
    Ok(sources)
}

/// The projects that have a memory, this one first, each with its transcripts. What has none is told.
fn of_all(project: Option<&Path>) -> anyhow::Result<Vec<Sources>> {
    let mut places: Vec<(PathBuf, Vec<PathBuf>)> =
        project.iter().map(|project| (project.to_path_buf(), Vec::new())).collect();
    let mut problems = Vec::new();
    for (folder, root) in folders()? {
        let root = root.or_else(|| project.filter(|project| is_of(&folder, None, project)).map(Path::to_owned));
        let Some(root) = root else {
            problems.push(format!("{}: its project is not there any more", folder.display()));
            continue;
        };
        match places.iter_mut().find(|(known, _)| is_same(known, &root)) {
            Some((_, folders)) => folders.push(folder),
            None if Layout::new(&root).dir().is_dir() => places.push((root, vec![folder])),
            None => problems.push(format!("{} has no memory: run jikime-memory import there", root.display())),
        }
    }
    let mut sources: Vec<Sources> =
        places.iter().map(|(root, folders)| Sources::of(root, folders)).collect::<anyhow::Result<_>>()?;
    match sources.first_mut() {
        Some(first) => first.problems.extend(problems),
        None => {
            if problems.is_empty() {
                problems.push("no transcripts of any project were found".to_owned());
            }
            let project = std::env::current_dir().context("cannot tell the working directory")?;
            sources.push(Sources { project, transcripts: Vec::new(), problems });
        }
    }
    Ok(sources)
}

fn import_into(sources: Sources, wish: &Wish, bar: &ProgressBar) -> anyhow::Result<Summary> {
    let started = Instant::now();
    let Sources { project, transcripts, mut problems } = sources;
    if transcripts.is_empty() {
        // No store is made for nothing.
        let project = project.to_string_lossy().into_owned();
        return Ok(Summary { project, problems, dry_run: wish.effect == Effect::Tell, ..Summary::default() });
    }
    let mut intake = Intake::open(&project, wish.effect)?;
    let mut counted = Summary::default();
    let mut before = bar.position();
    for transcript in transcripts {
        let name = transcript.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        bar.set_message(name);
        let key = format!("{READ_BEFORE}{}", &content_hash(&transcript.path.to_string_lossy())[..32]);
        let is_too_old = wish.since.is_some_and(|since| {
            let changed = transcript.changed.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            i64::try_from(changed.as_secs()).is_ok_and(|changed| changed < since)
        });
        if is_too_old || !wish.again && intake.mark(&key).as_deref() == Some(&transcript.state()) {
            counted.unchanged += 1;
        } else {
            match replay(&transcript, &project, &mut intake, wish, &|read| bar.set_position(before + read)) {
                Ok(Read { is_open, is_torn, not_understood }) => {
                    counted.files += 1;
                    counted.bytes += transcript.bytes;
                    counted.still_open += usize::from(is_open);
                    counted.torn += usize::from(is_torn);
                    counted.lines_not_understood += not_understood;
                    // Part of it was wanted, or part of it is still to come.
                    if !is_open && wish.since.is_none() {
                        intake.marks.push((key, transcript.state()));
                    }
                }
                Err(Fault::Transcript(error)) => {
                    problems.push(format!("cannot read {}: {error}", transcript.path.display()));
                }
                Err(Fault::Store(error)) => return Err(error.into()),
            }
        }
        before += transcript.bytes;
        bar.set_position(before);
    }
    let outcome = bar.suspend(|| intake.finish(&project))?;
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let Summary { files, unchanged, still_open, torn, lines_not_understood, bytes, .. } = counted;
    let summary = Summary::of(&project, &outcome, wish.effect);
    Ok(Summary { files, unchanged, still_open, torn, lines_not_understood, bytes, milliseconds, problems, ..summary })
}

/// What kept a transcript from coming in.
enum Fault {
    Transcript(std::io::Error),
    Store(ToolError),
}

/// How a transcript was read.
struct Read {
    /// Whether the rest of it is still to come.
    is_open: bool,
    is_torn: bool,
    not_understood: usize,
}

/// Takes one transcript in.
fn replay(
    transcript: &Transcript,
    project: &Path,
    intake: &mut Intake,
    wish: &Wish,
    read: &dyn Fn(u64),
) -> Result<Read, Fault> {
    let is_quiet = transcript.changed.elapsed().is_ok_and(|age| age > QUIET);
    let ending = if is_quiet { Ending::Over } else { Ending::Open };
    let screen = intake.loaded.screen.clone();
    let mut replay = Replay::open(&transcript.path, project, &screen, ending).map_err(Fault::Transcript)?;
    let mut count = 0;
    while let Some(draft) = replay.next_memory().map_err(Fault::Transcript)? {
        count += 1;
        if count % STEP == 0 {
            read(replay.position());
        }
        let is_wanted = |draft: &Draft| wish.since.is_none_or(|since| draft.at.unix() >= since);
        if let Some(prepared) = Some(draft).filter(is_wanted).and_then(|draft| prepare(draft, &screen)) {
            intake.take(Arrival { prepared, exact: None }).map_err(Fault::Store)?;
        }
    }
    Ok(Read { is_open: replay.is_open(), is_torn: replay.is_torn(), not_understood: replay.not_understood() })
}
