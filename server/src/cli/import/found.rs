//! `import` without a source: lists what this machine has, and the command for each.

use std::path::{Path, PathBuf};

use schema::files::project::home_dir;
use schema::intake::prepare::PreparedMemory;
use schema::settings::LoadedSettings;
use serde::Serialize;
use tools::import::{
    ForeignMemory, ImportScope, Receiver, RuleFile, SOURCES, Source, SourceError, find_rule_files, read_notes,
    read_rules,
};

use super::auto_memory::note_folders;
use super::transcript_folders::{TranscriptHost, is_folder_of_project, list_transcripts};
use crate::cli::output::{DIM, Printer, STRONG, push_lines};
use crate::cli::terminal_text::{clean_for_terminal, count_of_memories, count_with_unit};

/// The unit of sources that are not counted in files or sessions.
const MEMORY: &str = "memory";

/// Something that can be imported.
#[derive(Debug, Default, Serialize)]
struct FoundSource {
    source: &'static str,
    program: &'static str,
    /// The number of its entries of this project.
    count: u64,
    #[serde(skip)]
    unit: &'static str,
    /// Entries or sessions of other projects.
    of_other_projects: u64,
    places: Vec<PathBuf>,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Counts entries.
#[derive(Default)]
struct Counter {
    count: u64,
    of_others: u64,
}

pub(super) fn list_sources(project: Option<&Path>, printer: &Printer) -> anyhow::Result<()> {
    let home = home_dir().unwrap_or_default();
    let mut found = Vec::new();
    for host in [TranscriptHost::ClaudeCode, TranscriptHost::Codex, TranscriptHost::Gemini] {
        found.extend(found_transcripts(host, project)?);
    }
    if let Some(project) = project {
        found.extend(found_notes(project)?);
        found.extend(found_rules(&home, project));
    }
    let root = project.unwrap_or(&home);
    found.extend(SOURCES.iter().filter_map(|source| found_memories(source, &home, root)));
    printer.print_value(&found, || text(&found))
}

fn text(found: &[FoundSource]) -> String {
    if found.is_empty() {
        let names: Vec<&str> = SOURCES.iter().map(|source| source.program).collect();
        return format!(
            "Found nothing to import on this machine. jikime-memory import --help lists the sources; for {} name a file \
             with --from.\n",
            names.join(", ")
        );
    }
    let mut text = String::new();
    for source in found {
        let others = match source.of_other_projects {
            0 => String::new(),
            count => format!(" of this project, {count} of others"),
        };
        let count = match source.unit {
            MEMORY => count_of_memories(source.count),
            unit => count_with_unit(source.count, unit),
        };
        text.push_str(&format!("{STRONG}{}{STRONG:#}  {count}{others}\n", source.program));
        let places = source.places.iter().take(3).map(|place| clean_for_terminal(&place.to_string_lossy()));
        push_lines(&mut text, "    ", DIM, places);
        let rest = source.places.len().saturating_sub(3);
        if rest > 0 {
            text.push_str(&format!("    {DIM}and {rest} more{DIM:#}\n"));
        }
        text.extend(source.problem.as_ref().map(|problem| format!("    {problem}\n")));
        text.push_str(&format!("    {}\n", source.command));
    }
    text + "Add --dry-run to see what a command would import.\n"
}

fn found_transcripts(host: TranscriptHost, project: Option<&Path>) -> anyhow::Result<Option<FoundSource>> {
    let (mut count, mut others, mut places) = (0, 0, Vec::new());
    for (place, root) in host.places(project)? {
        let transcripts = list_transcripts(host, &place).map_or(0, |(found, _)| found.len() as u64);
        if project.is_some_and(|project| is_folder_of_project(&place, root.as_deref(), project)) {
            count += transcripts;
            let folder = if place.is_file() { place.parent().map(Path::to_owned).unwrap_or(place) } else { place };
            if !places.contains(&folder) {
                places.push(folder);
            }
        } else {
            others += transcripts;
        }
    }
    let all = if count == 0 { " --all" } else { "" };
    Ok((count + others > 0).then(|| FoundSource {
        source: host.name(),
        program: host.program(),
        count,
        unit: "session",
        of_other_projects: others,
        places,
        command: format!("jikime-memory import {}{all}", host.name()),
        problem: None,
    }))
}

fn found_notes(project: &Path) -> anyhow::Result<Option<FoundSource>> {
    let places = note_folders(project)?;
    let count: usize = places.iter().filter_map(|place| read_notes(place).ok()).map(|(notes, _)| notes.len()).sum();
    Ok((count > 0).then(|| FoundSource {
        source: "auto-memory",
        program: "Notes of Claude Code",
        count: count as u64,
        unit: "note",
        places,
        command: "jikime-memory import auto-memory".to_owned(),
        ..FoundSource::default()
    }))
}

fn found_rules(home: &Path, project: &Path) -> Option<FoundSource> {
    let files: Vec<RuleFile> = find_rule_files(home, project);
    let mut counter = Counter::default();
    files.iter().try_for_each(|file| read_rules(file, &mut counter)).ok()?;
    (counter.count > 0).then(|| FoundSource {
        source: "rules",
        program: "Instructions for agents",
        count: counter.count,
        unit: "proposal",
        places: files.into_iter().map(|file| file.path).collect(),
        command: "jikime-memory import rules".to_owned(),
        ..FoundSource::default()
    })
}

fn found_memories(source: &Source, home: &Path, project: &Path) -> Option<FoundSource> {
    let scope = ImportScope { project, all: false, loaded: &LoadedSettings::default() };
    let places = source.find(home, &scope);
    let mut counter = Counter::default();
    let problem = places.iter().find_map(|place| source.read(place, &scope, &mut counter).err());
    let is_found = counter.count + counter.of_others > 0 || problem.is_some();
    let all = if counter.count == 0 { " --all" } else { "" };
    is_found.then(|| FoundSource {
        source: source.name,
        program: source.program,
        count: counter.count,
        unit: MEMORY,
        of_other_projects: counter.of_others,
        places,
        command: format!("jikime-memory import {}{all}", source.name),
        problem: problem.map(|error| error.to_string()),
    })
}

impl Receiver for Counter {
    fn add(&mut self, _: ForeignMemory) -> Result<(), SourceError> {
        self.count += 1;
        Ok(())
    }

    fn add_event(&mut self, _: PreparedMemory) -> Result<(), SourceError> {
        self.count += 1;
        Ok(())
    }

    fn skip(&mut self, _: String) {}

    fn skip_other_project(&mut self) {
        self.of_others += 1;
    }
}
