//! `review`: shows one candidate after another and asks what to do. Nothing changes without an answer.

use std::io::{self, IsTerminal as _};

use clap::Args;
use indicatif::ProgressBar;
use schema::files::layout::STORE_DIR;
use schema::model::memory::short_id;
use schema::model::sharing::TEAM_DIR;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use schema::store::MemoryRow;
use serde::Serialize;
use tools::control::Control;
use tools::curation::scrub::ScrubScope;
use tools::engine::{
    Engine, ForgetExtent, OldDatabases, REVIEW_PAUSE_DAYS, ReviewCandidate, ReviewKind, ReviewReport, Selection,
    ShareOptions,
};
use tools::error::ToolError;

use super::confirm::{ask, ask_unless_ended, is_yes};
use super::output::{DIM, KIND, PLAIN, Printer, STRONG, push_lines};
use super::pager::{self, PIPED_REPORT_COLUMNS};
use super::team::next_step;
use super::terminal_text::{clean_for_terminal, count_with_unit, display_width, without_styles, wrap};
use crate::exit;

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// Print the candidates without asking
    #[arg(long)]
    list: bool,
}

/// A candidate for people and programs. Its texts have no secrets.
#[derive(Debug, Serialize)]
pub(crate) struct ListedCandidate {
    kind: &'static str,
    reason: String,
    /// The older one first.
    memories: Vec<ReviewedMemory>,
}

#[derive(Debug, Serialize)]
struct ReviewedMemory {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    date: String,
    path: String,
    content: String,
}

impl ListedCandidate {
    pub(crate) fn of(candidate: &ReviewCandidate, sanitizer: &Sanitizer) -> Self {
        let memory = |row: &MemoryRow| ReviewedMemory {
            id: row.memory.id.to_string(),
            kind: row.memory.kind.as_str(),
            date: row.memory.at.local_second().replace('T', " "),
            path: row.path.clone(),
            content: sanitizer.clean(&row.memory.content).text.into_owned(),
        };
        Self {
            kind: candidate.kind.name(),
            reason: candidate.reason.clone(),
            memories: std::iter::once(&candidate.older).chain(&candidate.newer).map(memory).collect(),
        }
    }

    /// Formats the texts below each other, numbered if there are two.
    fn text(&self, head: &str, columns: usize) -> String {
        let kind = self.kind.replace('_', " ");
        let mut text = format!("{STRONG}{head}{kind}{STRONG:#}: {}\n", clean_for_terminal(&self.reason));
        for (at, memory) in self.memories.iter().enumerate() {
            let number = if self.memories.len() > 1 { (at + 1).to_string() } else { " ".to_owned() };
            let ReviewedMemory { id, kind, date, path, content } = memory;
            let place = format!("{date}  {}  {}", short_id(id), clean_for_terminal(path));
            text.push_str(&format!("  {STRONG}{number}{STRONG:#}  {KIND}{kind}{KIND:#}  {DIM}{place}{DIM:#}\n"));
            push_lines(&mut text, "     ", PLAIN, wrap(&clean_for_terminal(content), columns.saturating_sub(5)));
        }
        text
    }
}

/// A person's answer about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReviewAnswer {
    Keep,
    /// The newer one supersedes the older one.
    KeepNewer,
    /// The older one supersedes the newer one.
    KeepOlder,
    ReplaceText,
    Forget,
    Close,
    Unblock,
    Redact,
    Share,
    Later,
}

/// A letter, the Korean letter on the same key, and what it does.
type Choice = (char, char, &'static str, ReviewAnswer);

const FORGET: Choice = ('f', 'ㄹ', "forget it", ReviewAnswer::Forget);
const SHARE: Choice = ('t', 'ㅅ', "share it with the team", ReviewAnswer::Share);
const LATER_CHOICE: Choice = ('n', 'ㅜ', "not now", ReviewAnswer::Later);

fn choices(kind: ReviewKind, can_be_shared: bool) -> Vec<Choice> {
    use ReviewAnswer::{Close, Forget, Keep, KeepNewer, KeepOlder, Redact, ReplaceText, Unblock};
    let mut choices: Vec<Choice> = match kind {
        ReviewKind::ChangedValue | ReviewKind::SaidTwice => vec![
            ('k', 'ㅏ', "keep both", Keep),
            ('s', 'ㄴ', "2 supersedes 1", KeepNewer),
            ('r', 'ㄱ', "1 supersedes 2", KeepOlder),
            ('f', 'ㄹ', "forget 1 or 2", Forget),
        ],
        ReviewKind::FinishedTask => vec![('d', 'ㅇ', "done, close 1", Close), ('k', 'ㅏ', "keep it open", Keep)],
        ReviewKind::ReadyTask => vec![
            ('r', 'ㄱ', "ready, 1 is no longer blocked", Unblock),
            ('d', 'ㅇ', "done, close 1", Close),
            ('k', 'ㅏ', "keep it waiting", Keep),
        ],
        ReviewKind::Stale => {
            vec![
                ('k', 'ㅏ', "keep, it still holds", Keep),
                ('s', 'ㄴ', "replace it with a new text", ReplaceText),
                FORGET,
            ]
        }
        ReviewKind::Unused => vec![('k', 'ㅏ', "keep it", Keep), FORGET],
        ReviewKind::SecretFound => {
            vec![('r', 'ㄱ', "remove all secrets", Redact), ('k', 'ㅏ', "keep, it is not a secret", Keep), FORGET]
        }
    };
    choices.extend(can_be_shared.then_some(SHARE));
    choices.push(LATER_CHOICE);
    choices
}

/// Finds the candidates, and asks about each of them on a terminal.
pub(crate) fn run_review(
    engine: &mut Engine,
    printer: &Printer,
    arguments: &ReviewArguments,
    bar: &ProgressBar,
) -> anyhow::Result<()> {
    let mut control = Control::default().with_progress(|step| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
    });
    let report = engine.review(&mut control)?;
    bar.finish_and_clear();
    let sanitizer = settings::load(engine.store().layout()).sanitizer;
    let is_asking = io::stdin().is_terminal() && io::stdout().is_terminal() && engine.is_writable();
    if printer.is_json() || arguments.list || !is_asking || report.candidates.is_empty() {
        return print_list(printer, &report, &sanitizer);
    }
    ask_about_all(engine, printer, &report, &sanitizer)
}

fn print_list(printer: &Printer, report: &ReviewReport, sanitizer: &Sanitizer) -> anyhow::Result<()> {
    let listed: Vec<ListedCandidate> =
        report.candidates.iter().map(|candidate| ListedCandidate::of(candidate, sanitizer)).collect();
    printer.print_paged(&listed, |columns| {
        if listed.is_empty() {
            return format!("Nothing needs a review.{}\n", put_off_text(report.put_off));
        }
        let columns = columns.unwrap_or(PIPED_REPORT_COLUMNS);
        let text = |(at, listed): (usize, &ListedCandidate)| listed.text(&format!("{}. ", at + 1), columns);
        listed.iter().enumerate().map(text).collect::<Vec<_>>().join("\n")
    })
}

fn put_off_text(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" {} put off until later.", count_with_unit(count as u64, "candidate")),
    }
}

/// Asks about each candidate that is still valid after the earlier answers.
fn ask_about_all(
    engine: &mut Engine,
    printer: &Printer,
    report: &ReviewReport,
    sanitizer: &Sanitizer,
) -> anyhow::Result<()> {
    let total = report.candidates.len();
    printer.print_wrapped(&format!(
        "{} to review. Nothing changes until you type a letter and press Enter.",
        count_with_unit(total as u64, "candidate")
    ))?;
    for (at, candidate) in report.candidates.iter().enumerate() {
        if !is_still_valid(engine, candidate)? {
            continue;
        }
        let columns = pager::terminal_columns().unwrap_or(PIPED_REPORT_COLUMNS);
        let listed = ListedCandidate::of(candidate, sanitizer);
        printer.print_text(&format!("\n{}", listed.text(&format!("{}/{total}  ", at + 1), columns)))?;
        loop {
            let can_be_shared = candidate.kind.asks_whether_it_holds() && engine.may_share(&candidate.older)?;
            let Some(answer) = ask_one(&choices(candidate.kind, can_be_shared))? else {
                return printer.print_line("The rest stays for the next review.");
            };
            match carry_out(engine, candidate, answer) {
                Ok(Some(done)) => {
                    printer.print_wrapped(&done)?;
                    // Sharing leaves the question open.
                    if answer != ReviewAnswer::Share {
                        break;
                    }
                }
                Ok(None) => {}
                Err(error) => match error.downcast_ref::<ToolError>() {
                    Some(ToolError::Invalid(reason)) => printer.print_wrapped(&clean_for_terminal(reason))?,
                    _ => return Err(error),
                },
            }
        }
    }
    printer.print_line("\nNo more candidates.")
}

/// Returns `None` if the person quits, and at the end of input.
fn ask_one(choices: &[Choice]) -> anyhow::Result<Option<ReviewAnswer>> {
    let answers = choices.iter().map(|(letter, korean, text, answer)| (*letter, *korean, *text, Some(*answer)));
    let entries: Vec<_> = answers.chain([('q', 'ㅂ', "quit", None)]).collect();
    let menu: Vec<String> =
        entries.iter().map(|(letter, _, text, _)| format!("{STRONG}{letter}{STRONG:#} {text}")).collect();
    let columns = pager::terminal_columns().unwrap_or(PIPED_REPORT_COLUMNS);
    let question = format!("{}\n> ", menu_lines(&menu, columns));
    while let Some(answer) = ask_unless_ended(&question)? {
        let letter = answer.to_lowercase().chars().next();
        match entries.iter().find(|(latin, korean, ..)| letter == Some(*latin) || letter == Some(*korean)) {
            Some((.., answer)) => return Ok(*answer),
            None => exit::print_status("Type one of the letters in the menu and press Enter."),
        }
    }
    Ok(None)
}

/// Joins the entries of a menu into lines of the terminal's width.
fn menu_lines(entries: &[String], columns: usize) -> String {
    let width = |text: &str| display_width(&without_styles(text));
    let mut lines = vec![String::from(" ")];
    for entry in entries {
        let line = lines.last().map_or(0, |line| width(line));
        if line > 1 && line + 3 + width(entry) > columns {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if width(line) > 1 { " · " } else { " " });
            line.push_str(entry);
        }
    }
    lines.join("\n")
}

/// Whether both texts are as they were, and none was replaced or closed.
fn is_still_valid(engine: &mut Engine, candidate: &ReviewCandidate) -> anyhow::Result<bool> {
    for row in std::iter::once(&candidate.older).chain(&candidate.newer) {
        let now = engine.peek(row.memory.id.as_str())?;
        let is_same = |now: &MemoryRow| {
            now.memory.content == row.memory.content
                && now.superseded_by.is_none()
                && now.state.phase == row.state.phase
        };
        if !now.as_ref().is_some_and(is_same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Carries out an answer and returns what was done, or `None` if the person cancelled.
fn carry_out(engine: &mut Engine, candidate: &ReviewCandidate, answer: ReviewAnswer) -> anyhow::Result<Option<String>> {
    let older = candidate.older.memory.id.to_string();
    let newer = candidate.newer.as_ref().map(|newer| newer.memory.id.to_string());
    let done = match (answer, newer) {
        (ReviewAnswer::Keep, _) if candidate.kind == ReviewKind::Stale => {
            engine.confirm(&older)?;
            "Kept; it is compared with the code as it is now.".to_owned()
        }
        (ReviewAnswer::Keep, _) => {
            engine.dismiss(candidate, None)?;
            "Kept; you will not be asked again.".to_owned()
        }
        (ReviewAnswer::Later, _) => {
            engine.put_off(candidate)?;
            format!("You will be asked again in {REVIEW_PAUSE_DAYS} days.")
        }
        (ReviewAnswer::KeepNewer | ReviewAnswer::KeepOlder, newer) => {
            let newer = newer.ok_or_else(|| ToolError::Invalid("there is no newer memory".to_owned()))?;
            let (old, new) = if answer == ReviewAnswer::KeepNewer { (older, newer) } else { (newer, older) };
            engine.supersede(&old, &new)?;
            format!("{} supersedes {}.", short_id(&new), short_id(&old))
        }
        (ReviewAnswer::ReplaceText, _) => return replace_by_new_text(engine, &candidate.older),
        (ReviewAnswer::Close, by) => {
            engine.close_task(&older, by.as_deref())?;
            format!("{} is closed.", short_id(&older))
        }
        (ReviewAnswer::Unblock, _) => {
            engine.unblock_task(&older)?;
            "The task is no longer blocked.".to_owned()
        }
        (ReviewAnswer::Redact, _) => {
            let reach = ScrubScope::for_path(&candidate.older.path);
            let (scrubbed, _) = engine.scrub(reach, OldDatabases::Remove)?;
            let count = count_with_unit(scrubbed.findings.len() as u64, "secret");
            format!("Removed {count}. Rotate these secrets: copies may exist elsewhere.")
        }
        (ReviewAnswer::Share, _) => {
            let (shared, _) = engine.propose(&older, &ShareOptions::default())?;
            let next = next_step(engine.store().layout().project(), &format!("{STORE_DIR}/{TEAM_DIR}"));
            format!("{} is proposed to the team. {next}", short_id(shared.memory.id.as_str()))
        }
        (ReviewAnswer::Forget, newer) => return forget(engine, &older, newer.as_deref()),
    };
    Ok(Some(done))
}

/// Asks for the text that holds now.
fn replace_by_new_text(engine: &mut Engine, old: &MemoryRow) -> anyhow::Result<Option<String>> {
    let content = ask_unless_ended("  What holds now? An empty line cancels.\n> ")?.unwrap_or_default();
    // A single letter was probably meant for the menu.
    if content.chars().count() < 2 {
        return Ok(None);
    }
    let saved = engine.replace(old, content)?;
    Ok(Some(format!("{} supersedes {}.", short_id(&saved.id), short_id(old.memory.id.as_str()))))
}

/// Asks which one to delete, or for a confirmation, and deletes it for good.
fn forget(engine: &mut Engine, older: &str, newer: Option<&str>) -> anyhow::Result<Option<String>> {
    let id = match newer {
        None if is_yes(&ask("  Delete it for good? [y/N] ")?) => older,
        None => return Ok(None),
        Some(newer) => match ask("  Delete which one for good? [1/2, Enter cancels] ")?.as_str() {
            "1" => older,
            "2" => newer,
            _ => return Ok(None),
        },
    };
    engine.finish_forgetting()?;
    let selected = engine.select(&Selection { ids: vec![id.to_owned()], ..Selection::default() })?;
    let forgot = engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Remove)?;
    Ok(Some(match forgot.memories {
        0 => format!("{} changed in the meantime and was not deleted.", short_id(id)),
        _ => format!("Deleted {}.", short_id(id)),
    }))
}
