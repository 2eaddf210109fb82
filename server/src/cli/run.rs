//! Does what a command asks for.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use schema::layout::Layout;
use schema::project::{ProjectError, Request, personal, resolve};
use schema::store::Filter;
use schema::tool::{GetInput, LoadInput, ReindexInput, SaveInput, SearchInput};
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

use super::arguments::{
    Arguments, Command, Common, ListArguments, McpCommand, SaveArguments, SearchArguments, ServeArguments, load_source,
};
use super::demo;
use super::doctor::doctor;
use super::init::init;
use super::output::{Listed, Printer};
use super::uninstall::uninstall;
use crate::exit;
use crate::http::{Access, Token};
use crate::serve::{Transport, serve};

/// Runs one command.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Command::Doctor => examine(arguments.common),
        _ => answer(arguments).map(|()| ExitCode::SUCCESS),
    }
}

/// What is found is no error, and scripts want to know of it all the same.
fn examine(common: Common) -> anyhow::Result<ExitCode> {
    let printer = Printer::new(common.json);
    let project = if common.personal {
        personal()
    } else {
        resolve(&Request::from_environment(common.project).context("cannot tell the working directory")?)
    };
    Ok(if doctor(&project, &printer)? { ExitCode::SUCCESS } else { ExitCode::from(exit::USER) })
}

fn answer(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { common, command } = arguments;
    let printer = Printer::new(common.json);
    match command {
        Command::Serve(arguments) | Command::Mcp(McpCommand::Serve(arguments)) => {
            serve(&project(common)?, &transport(arguments)?)
        }
        Command::Init(arguments) => init(&host_project(common, arguments.is_for_user())?, &printer, &arguments),
        Command::Uninstall(arguments) => {
            uninstall(&host_project(common, arguments.is_for_user())?, &printer, &arguments)
        }
        Command::Demo if common.json => Err(ToolError::Invalid("demo has no form for scripts".to_owned()).into()),
        Command::Demo => demo::demo(&printer),
        Command::Index { file, full } => index(&project(common)?, &printer, file, full),
        other => {
            let project = project(common)?;
            if !matches!(other, Command::Save(_)) && !Layout::new(&project).dir().exists() {
                let text = format!("{} has no memory yet; jikime-memory save makes one", project.display());
                return Err(ToolError::NotFound(text).into());
            }
            let mut engine = open(&project)?;
            engine.refresh()?;
            tell_news(&mut engine);
            let done = match other {
                Command::Search(arguments) => search(&mut engine, &printer, arguments),
                Command::List(arguments) => list(&mut engine, &printer, arguments),
                Command::Show { what } => show(&mut engine, &printer, what),
                Command::Save(arguments) => save(&mut engine, &printer, arguments),
                Command::Delete { id } => printer.deleted(&Listed::of(&engine.delete(&id)?)),
                Command::Stats => printer.stats(&engine.stats()?),
                Command::Load { full, max_tokens } => {
                    printer.loaded(&engine.load(&LoadInput { source: load_source(full), max_tokens })?)
                }
                Command::Serve(_)
                | Command::Mcp(_)
                | Command::Demo
                | Command::Index { .. }
                | Command::Doctor
                | Command::Init(_)
                | Command::Uninstall(_) => Ok(()),
            };
            tell_news(&mut engine);
            done
        }
    }
}

fn project(common: Common) -> anyhow::Result<PathBuf> {
    if common.personal {
        return Ok(personal()?.root);
    }
    let request = Request::from_environment(common.project).context("cannot tell the working directory")?;
    Ok(resolve(&request)?.root)
}

/// The project whose hosts are meant. The user's own memory is what some hosts get by themselves.
fn host_project(common: Common, is_for_user: bool) -> anyhow::Result<PathBuf> {
    if common.personal {
        let text = "--personal is not for this: --scope user sets a host up for all projects of yours";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    match project(common) {
        // In the home directory, say: what is set up for all projects needs none.
        Err(error) if is_for_user && error.is::<ProjectError>() => {
            std::env::current_dir().context("cannot tell the working directory")
        }
        project => project,
    }
}

/// How hosts are talked to. A token is told of by its place.
fn transport(arguments: ServeArguments) -> anyhow::Result<Transport> {
    let ServeArguments { http, no_token, allow_host } = arguments;
    let Some(address) = http else { return Ok(Transport::Stdio) };
    let (token, place) =
        if no_token { (None, None) } else { Token::obtain().map(|(token, place)| (Some(token), Some(place)))? };
    let access = Access { address, token, hosts: allow_host };
    access.check()?;
    if let Some(place) = place {
        exit::tell(&format!("the token that clients need is in {place}"));
    }
    Ok(Transport::Http(access))
}

/// Opens the store and tells on standard error what had to be mended.
fn open(project: &Path) -> anyhow::Result<Engine> {
    let mut engine = Engine::open(project, None)?;
    tell_news(&mut engine);
    Ok(engine)
}

fn tell_news(engine: &mut Engine) {
    for note in engine.take_news() {
        exit::warn(&note);
    }
}

fn search(engine: &mut Engine, printer: &Printer, arguments: SearchArguments) -> anyhow::Result<()> {
    let input = SearchInput {
        query: arguments.query.join(" "),
        max_results: arguments.max_results,
        min_score: arguments.min_score,
        kind: arguments.kind,
        source: arguments.source,
        session_id: arguments.session,
        since: arguments.since,
        until: arguments.until,
        path: arguments.path,
        // People scroll; the budget is for models.
        max_tokens: Some(i64::from(u16::MAX)),
        explain: arguments.explain,
    };
    printer.found(&engine.search(&input)?)
}

fn list(engine: &mut Engine, printer: &Printer, arguments: ListArguments) -> anyhow::Result<()> {
    let filter = Filter { kind: arguments.kind, session_id: arguments.session, ..Filter::default() };
    let rows = engine.list(&filter, arguments.limit)?;
    let is_narrowed = filter != Filter::default() || arguments.limit == 0;
    printer.list(&rows.iter().map(Listed::of).collect::<Vec<_>>(), is_narrowed)
}

fn show(engine: &mut Engine, printer: &Printer, what: String) -> anyhow::Result<()> {
    let is_path = what.ends_with(".md") || what.contains('/');
    // People scroll; the budget is for models.
    let mut input = GetInput { max_tokens: Some(i64::from(u32::MAX)), ..GetInput::default() };
    if is_path {
        input.path = Some(what);
    } else {
        input.id = Some(engine.whole_id(&what)?);
    }
    printer.shown(&engine.get(&input)?)
}

fn save(engine: &mut Engine, printer: &Printer, arguments: SaveArguments) -> anyhow::Result<()> {
    let mut content = arguments.content.join(" ");
    if content == "-" {
        content.clear();
        std::io::stdin().read_to_string(&mut content).context("cannot read standard input")?;
    }
    let input = SaveInput {
        kind: arguments.kind,
        content,
        metadata: arguments.metadata.map(serde_json::Value::String),
        long_term: arguments.long_term,
        supersedes: arguments.supersedes.map(|id| engine.whole_id(&id)).transpose()?,
    };
    printer.saved(&engine.save(&input)?)
}

fn index(project: &Path, printer: &Printer, file: Option<String>, full: bool) -> anyhow::Result<()> {
    let mut engine = open(project)?;
    let bar = bar();
    let mut report = |step: Progress| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(step.path);
    };
    let done: Result<_, ToolError> = engine.reindex(&ReindexInput { full, path: file }, &mut report, &|| true);
    bar.finish_and_clear();
    tell_news(&mut engine);
    printer.indexed(&done?)
}

/// A bar on a terminal, nothing elsewhere.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files  {per_sec}  {eta} left  {wide_msg}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
