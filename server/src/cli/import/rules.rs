//! `import rules`: proposes the items of instruction files as memories. A person decides about each, or about all with `--yes`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::ProgressBar;
use schema::files::layout::Layout;
use schema::files::project::home_dir;
use schema::intake::prepare::{PreparedMemory, prepare};
use schema::model::memory::MemoryType;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use serde::Serialize;
use tools::bulk_import::ImportMode;
use tools::error::ToolError;
use tools::import::{ForeignMemory, Receiver, RuleFile, SourceError, find_rule_files, read_rules};

use super::arguments::RuleArguments;
use super::import_session::print_summaries;
use super::sources::ImportReceiver;
use crate::cli::confirm::{ask_unless_ended, can_ask, is_yes};
use crate::cli::output::{DIM, KIND, Printer};
use crate::cli::terminal_text::{clean_for_terminal, count_with_unit, one_line};
use crate::exit;

/// The origin of these memories.
const ORIGIN: &str = "rules";

/// The items of all files.
#[derive(Default)]
struct Proposals {
    items: Vec<ForeignMemory>,
    problems: Vec<String>,
}

/// An item as it would be saved.
#[derive(Serialize)]
struct Proposal {
    #[serde(rename = "type")]
    kind: MemoryType,
    content: String,
    from: String,
}

/// An answer to a proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Save,
    Skip,
    SaveRest,
    Quit,
}

pub(super) fn import_rules(project: &Path, printer: &Printer, arguments: &RuleArguments) -> anyhow::Result<()> {
    let started = Instant::now();
    let files = match &arguments.from {
        Some(path) => vec![RuleFile { path: path.clone(), name: path.display().to_string(), is_of_user: false }],
        None => find_rule_files(&home_dir().unwrap_or_default(), project),
    };
    let mut proposals = Proposals::default();
    for file in &files {
        read_rules(file, &mut proposals).map_err(|error| ToolError::Invalid(error.to_string()))?;
    }
    proposals.problems.iter().for_each(|problem| exit::print_warning(problem));
    if proposals.items.is_empty() {
        let text = "found no instructions in CLAUDE.md, AGENTS.md or rules of Cursor; name a file with --from";
        return Err(ToolError::NotFound(text.to_owned()).into());
    }
    let only_shows = arguments.dry_run || !arguments.yes && !can_ask();
    let effect = if only_shows { ImportMode::DryRun } else { ImportMode::Write };
    let bar = ProgressBar::hidden();
    let mut receiver = ImportReceiver::new(ORIGIN, project, effect, &bar);
    if !arguments.yes || only_shows {
        proposals.items = receiver.without_known(proposals.items)?;
    }
    let sanitizer = settings::load(&Layout::new(project)).sanitizer;
    if only_shows {
        return print_proposals(&sanitizer, printer, proposals.items);
    }
    for item in if arguments.yes { proposals.items } else { ask_about(&sanitizer, proposals.items)? } {
        receiver.add(item).map_err(|error| ToolError::Unavailable(error.to_string()))?;
    }
    let places: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
    let summary = receiver.finish(&places, started)?;
    print_summaries(printer, &[summary])
}

/// Prints what would be saved, and how to save it.
fn print_proposals(sanitizer: &Sanitizer, printer: &Printer, items: Vec<ForeignMemory>) -> anyhow::Result<()> {
    let proposals: Vec<Proposal> = items.into_iter().filter_map(|item| proposal(item, sanitizer)).collect();
    printer.print_value(&proposals, || {
        if proposals.is_empty() {
            return "All instructions are saved already.\n".to_owned();
        }
        let lines = proposals.iter().map(|proposal| line(proposal) + "\n");
        let count = count_with_unit(proposals.len() as u64, "proposal");
        format!(
            "{}{count}, nothing is saved yet. Run jikime-memory import rules in a terminal to decide about each, \
             or with --yes to save all.\n",
            lines.collect::<String>()
        )
    })
}

/// An item without its secrets, or `None` if nothing of it is left.
fn proposal(item: ForeignMemory, sanitizer: &Sanitizer) -> Option<Proposal> {
    let from = item.from(ORIGIN);
    let prepared = prepare(item.into_draft(ORIGIN), sanitizer)?;
    Some(Proposal { kind: prepared.draft().kind, content: prepared.draft().content.clone(), from })
}

fn line(proposal: &Proposal) -> String {
    let content = one_line(&proposal.content);
    let from = clean_for_terminal(&proposal.from);
    format!("{KIND}{}{KIND:#}  {content}  {DIM}{from}{DIM:#}", proposal.kind)
}

/// Asks about each item, and returns the accepted ones.
fn ask_about(sanitizer: &Sanitizer, items: Vec<ForeignMemory>) -> anyhow::Result<Vec<ForeignMemory>> {
    let (mut accepted, mut saves_rest) = (Vec::new(), false);
    for item in items {
        let Some(proposal) = proposal(item.clone(), sanitizer) else { continue };
        let answer = if saves_rest { Answer::Save } else { ask(&line(&proposal))? };
        saves_rest |= answer == Answer::SaveRest;
        match answer {
            Answer::Save | Answer::SaveRest => accepted.push(item),
            Answer::Skip => {}
            Answer::Quit => break,
        }
    }
    Ok(accepted)
}

fn ask(question: &str) -> anyhow::Result<Answer> {
    let question = format!("{question}\nSave it? [y]es, [N]o, [a]ll that follow, [q]uit: ");
    let Some(answer) = ask_unless_ended(&question)? else { return Ok(Answer::Quit) };
    Ok(match answer.to_lowercase().as_str() {
        answer if is_yes(answer) => Answer::Save,
        "a" | "all" | "ㅁ" => Answer::SaveRest,
        "q" | "quit" | "ㅂ" => Answer::Quit,
        _ => Answer::Skip,
    })
}

impl Receiver for Proposals {
    fn add(&mut self, memory: ForeignMemory) -> Result<(), SourceError> {
        self.items.push(memory);
        Ok(())
    }

    fn add_event(&mut self, _: PreparedMemory) -> Result<(), SourceError> {
        Ok(())
    }

    fn skip(&mut self, problem: String) {
        self.problems.push(problem);
    }

    fn skip_other_project(&mut self) {}
}
