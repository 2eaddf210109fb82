//! `team`, `share`, `approve` and `retire`: what the members of a project share through git.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use chrono::NaiveDate;
use clap::{Args, Subcommand};
use schema::files::layout::{Layout, STORE_DIR};
use schema::model::memory::short_id;
use schema::model::moment::Moment;
use schema::model::sharing::{SharedState, TEAM_DIR, author_from_name, team_author, team_path};
use schema::settings::{self, SettingsOwner, toml_literal};
use schema::store::MemoryRow;
use serde::Serialize;
use tools::engine::{Engine, ShareOptions, TeamFinding, TeamOutcome};
use tools::error::ToolError;

use super::config_set::write_user_setting;
use super::output::{DIM, KIND, Printer, STRONG};
use super::team_server::TeamServerCommand;
use super::terminal_text::{clean_for_terminal, count_with_unit, one_line};
use crate::exit;
use crate::team_client::TeamConnection;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Set your name in the team, and create its files
    Init {
        /// Your name in the team [default: user.name of git]
        #[arg(long, value_name = "NAME")]
        author: Option<String>,
    },
    /// Find secrets, personal data and unknown lines in the team's files
    #[command(after_help = "The exit status is 1 if there are findings, else 0. Use it in a pre-commit hook or in CI.")]
    Check,
    #[command(flatten)]
    Server(TeamServerCommand),
}

#[derive(Debug, Args)]
pub(crate) struct ShareArguments {
    /// The id or its unique beginning
    id: String,
    /// Replace e-mail addresses, phone numbers, home directories, and your user name and computer name by placeholders
    #[arg(long)]
    anonymise: bool,
    /// The last day on which it is valid; then it counts as retired
    #[arg(long, value_name = "YYYY-MM-DD")]
    expires: Option<NaiveDate>,
    /// The id of the shared memory that it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
}

/// A shared memory for people and programs.
#[derive(Debug, Serialize)]
struct SharedItem {
    id: String,
    author: String,
    state: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    date: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
}

#[derive(Debug, Serialize)]
struct ListedFinding {
    path: String,
    line: usize,
    what: String,
}

impl SharedItem {
    fn of(row: &MemoryRow, now: &Moment) -> Self {
        Self {
            id: row.memory.id.to_string(),
            author: team_author(&row.path).unwrap_or_default().to_owned(),
            state: row.shared_state(now).unwrap_or(SharedState::Proposed).name(),
            kind: row.memory.kind.as_str(),
            date: row.memory.at.date().to_string(),
            content: row.memory.content.clone(),
            superseded_by: row.superseded_by.as_ref().map(ToString::to_string),
        }
    }

    fn line(&self) -> String {
        let Self { id, author, kind, date, content, .. } = self;
        let text = clean_for_terminal(&one_line(content));
        format!("  {}  {KIND}{kind}{KIND:#}  {text}  {DIM}{author}, {date}{DIM:#}\n", short_id(id))
    }
}

/// Prints what is shared, by state.
pub(super) fn list_team(engine: &mut Engine, printer: &Printer) -> anyhow::Result<()> {
    let now = Moment::now();
    let listed: Vec<SharedItem> = engine.shared_memories()?.iter().map(|row| SharedItem::of(row, &now)).collect();
    printer.print_paged(&listed, |_| {
        if listed.is_empty() {
            return "Nothing is shared yet. Begin with `jikime-memory team init`; then `jikime-memory share ID` proposes a memory.\n".to_owned();
        }
        let parts = [SharedState::Proposed, SharedState::Approved, SharedState::Retired].map(|state| {
            let of_state: Vec<&SharedItem> = listed.iter().filter(|shared| shared.state == state.name()).collect();
            let head = format!("{STRONG}{} {}{STRONG:#}\n", of_state.len(), state.name());
            let lines: String = of_state.iter().map(|shared| shared.line()).collect();
            (!of_state.is_empty()).then(|| head + &lines)
        });
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
    })
}

/// Sets the user's name and creates the files of the team.
pub(super) fn init_team(engine: &mut Engine, printer: &Printer, given: Option<&str>) -> anyhow::Result<()> {
    let layout = engine.store().layout().clone();
    let known = settings::load(&layout).settings.team_author;
    let author = match (given, known) {
        (None, Some(known)) => known,
        _ => {
            let author = new_author(layout.project(), given)?;
            let literal = toml_literal("team_author", std::slice::from_ref(&author), SettingsOwner::User);
            write_user_setting("team_author", &literal.map_err(ToolError::Invalid)?)?;
            author
        }
    };
    engine.init_team()?;
    #[derive(Serialize)]
    struct Joined<'j> {
        author: &'j str,
        path: String,
        is_ignored: bool,
    }
    let path = format!("{STORE_DIR}/{}", team_path(&author));
    let joined = Joined { author: &author, is_ignored: is_ignored(&layout, &path), path };
    let next = next_step(layout.project(), &format!("{STORE_DIR}/{TEAM_DIR} and {STORE_DIR}/.gitignore"));
    printer.print_value(&joined, || {
        let path = &joined.path;
        let ignored = format!(
            "git ignores {path}, so nothing is shared. Remove the rule that `git check-ignore -v {path}` prints."
        );
        let next = if joined.is_ignored && !TeamConnection::has_server(layout.project()) { &ignored } else { &next };
        format!("You are {author} in this team. `jikime-memory share ID` writes to {path}.\n{next}\n")
    })
}

/// Returns the name that was given, or else that of git, as the name of an author.
fn new_author(project: &Path, given: Option<&str>) -> Result<String, ToolError> {
    let of_git = || {
        let asked = Command::new("git").args(["config", "user.name"]).current_dir(project).output().ok()?;
        String::from_utf8(asked.stdout).ok()
    };
    let name = given.map(str::to_owned).or_else(of_git).unwrap_or_default();
    author_from_name(&name).ok_or_else(|| {
        let name = name.trim();
        let text = if name.is_empty() {
            "git has no user.name".to_owned()
        } else {
            format!("{name:?} does not begin with a letter")
        };
        ToolError::Invalid(format!("{text}; give a name with --author"))
    })
}

/// Whether git leaves a file out. Without git nothing is left out.
fn is_ignored(layout: &Layout, path: &str) -> bool {
    let asked = Command::new("git")
        .args(["check-ignore", "--quiet", path])
        .current_dir(layout.project())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Prints what should not be in the files of the team. The exit status is 1 if there is anything.
pub(super) fn check_team(engine: &Engine, printer: &Printer) -> anyhow::Result<ExitCode> {
    let listed = |TeamFinding { path, line, what }| ListedFinding { path: format!("{STORE_DIR}/{path}"), line, what };
    let findings: Vec<ListedFinding> = engine.check_team()?.into_iter().map(listed).collect();
    printer.print_value(&findings, || {
        if findings.is_empty() {
            return "Nothing was found in the team's files.\n".to_owned();
        }
        let line = |found: &ListedFinding| format!("{}:{}: {}\n", found.path, found.line, found.what);
        findings.iter().map(line).collect::<String>() + &count_with_unit(findings.len() as u64, "finding") + "\n"
    })?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::USER) })
}

/// How what was written reaches the others.
pub(super) fn next_step(project: &Path, files: &str) -> String {
    if TeamConnection::has_server(project) {
        "`jikime-memory team sync` sends it to the others; a running MCP server does so every ten minutes.".to_owned()
    } else {
        format!("Commit and push {files}, so that the others get it.")
    }
}

pub(super) fn share(engine: &mut Engine, printer: &Printer, arguments: &ShareArguments) -> anyhow::Result<()> {
    let ShareArguments { id, anonymise, expires, supersedes } = arguments;
    let options = ShareOptions { anonymise: *anonymise, expires: *expires, supersedes: supersedes.clone() };
    print_change(engine.propose(id, &options)?, engine, printer)
}

/// Prints the result of a command for a shared memory.
pub(super) fn print_change(
    (row, outcome): (MemoryRow, TeamOutcome),
    engine: &Engine,
    printer: &Printer,
) -> anyhow::Result<()> {
    let shared = SharedItem::of(&row, &Moment::now());
    let (id, state) = (short_id(&shared.id), shared.state);
    let next = next_step(engine.store().layout().project(), &format!("{STORE_DIR}/{TEAM_DIR}"));
    printer.print_value(&shared, || match outcome {
        TeamOutcome::Recorded => format!("{id} is {state}. {next}\n"),
        TeamOutcome::Unchanged => format!("{id} was {state} already.\n"),
    })
}
