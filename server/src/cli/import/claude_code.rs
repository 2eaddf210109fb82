//! `import claude-code`: transcripts, one after the other, into the memory of the project that they are of.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use schema::bulk::{Arrival, Effect};
use schema::capture::{Draft, prepare};
use schema::import::{Ending, Replay};
use schema::layout::Layout;
use schema::memory::content_hash;
use tools::error::ToolError;

use super::places::{Transcript, folders, is_of, is_same, transcripts};
use super::{Intake, Summary, TranscriptArguments, bar, tell};
use crate::cli::moments::first_of;
use crate::cli::output::Printer;

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

pub(super) fn import(project: &Path, printer: &Printer, arguments: TranscriptArguments) -> anyhow::Result<()> {
    let TranscriptArguments { all, from, since, again, dry_run } = arguments;
    let since = since.as_deref().map(|text| first_of("since", text)).transpose()?;
    let effect = if dry_run { Effect::Tell } else { Effect::Keep };
    let wish = Wish { since, again, effect };
    let sources = match (from, all) {
        (Some(place), _) => vec![Sources::of(project, &[place])?],
        (None, false) => vec![of_project(project)?],
        (None, true) => of_all(project)?,
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
                problems.push(format!("{}: {links} links were not followed", place.display()));
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
fn of_all(project: &Path) -> anyhow::Result<Vec<Sources>> {
    let mut places: Vec<(PathBuf, Vec<PathBuf>)> = vec![(project.to_owned(), Vec::new())];
    let mut problems = Vec::new();
    for (folder, root) in folders()? {
        let root = root.or_else(|| is_of(&folder, None, project).then(|| project.to_owned()));
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
    sources[0].problems.extend(problems);
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
        let key = format!("imported {}", &content_hash(&transcript.path.to_string_lossy())[..32]);
        let is_too_old = wish.since.is_some_and(|since| {
            let changed = transcript.changed.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            i64::try_from(changed.as_secs()).is_ok_and(|changed| changed < since)
        });
        if is_too_old || !wish.again && intake.mark(&key).as_deref() == Some(&transcript.state()) {
            counted.unchanged += 1;
        } else {
            match replay(&transcript, &project, &mut intake, wish, &|read| bar.set_position(before + read)) {
                Ok(is_open) => {
                    counted.files += 1;
                    counted.bytes += transcript.bytes;
                    counted.still_open += usize::from(is_open);
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
    let Summary { files, unchanged, still_open, bytes, .. } = counted;
    let summary = Summary::of(&project, &outcome, wish.effect);
    Ok(Summary { files, unchanged, still_open, bytes, milliseconds, problems, ..summary })
}

/// What kept a transcript from coming in.
enum Fault {
    Transcript(std::io::Error),
    Store(ToolError),
}

/// Takes one transcript in, and says whether the rest of it is still to come.
fn replay(
    transcript: &Transcript,
    project: &Path,
    intake: &mut Intake,
    wish: &Wish,
    read: &dyn Fn(u64),
) -> Result<bool, Fault> {
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
    Ok(replay.is_open())
}
