//! Does what a command asks for.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use schema::layout::Layout;
use schema::project::{ProjectError, Request, checkout, personal, resolve};
use schema::tool::{LoadInput, ReindexInput, SaveInput, SearchInput};
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

use super::arguments::{
    Arguments, Command, Common, McpCommand, SaveArguments, SearchArguments, ServeArguments, load_source,
};
use super::backfill::backfill;
use super::doctor::doctor;
use super::export::export;
use super::forget::forget;
use super::import::import;
use super::init::init;
use super::list::list;
use super::output::Printer;
use super::scrub::scrub;
use super::show::show;
use super::uninstall::uninstall;
use super::{browse, completions, config, curate, demo, gc, sessions, stats, timeline};
use crate::exit;
use crate::http::{Access, Token};
use crate::network::Http;
use crate::serve::{Transport, serve};
use crate::setup::site::Site;

/// What is found is no error, and scripts want to know of it all the same.
fn examine(common: Common) -> anyhow::Result<ExitCode> {
    let printer = Printer::new(common.json);
    let request = Request::from_environment(common.project).context("cannot tell the working directory")?;
    let project = if common.personal { personal() } else { resolve(&request) };
    let files = project.as_ref().ok().map(|project| checkout(&request, project));
    Ok(if doctor(&project, files.as_deref(), &printer)? { ExitCode::SUCCESS } else { ExitCode::from(exit::USER) })
}

/// Runs one command.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { common, command } = arguments;
    let printer = Printer::new(common.json).paged(!common.no_pager);
    let deletes = command.deletes();
    let done = match command {
        Command::Doctor => return examine(common),
        Command::Serve(arguments) | Command::Mcp(McpCommand::Serve(arguments)) => {
            serve(&project(common)?, &transport(arguments)?)
        }
        Command::Init(arguments) => init(&site(common, arguments.is_for_user())?, &printer, &arguments),
        Command::Uninstall(arguments) => uninstall(&site(common, arguments.is_for_user())?, &printer, &arguments),
        Command::Demo | Command::Browse(_) | Command::Completions { .. } | Command::Man { .. } if common.json => {
            Err(ToolError::Invalid("this command has no form for scripts: leave out --json".to_owned()).into())
        }
        Command::Completions { shell } => completions::completions(shell),
        Command::Man { out } => completions::man(out.as_deref()),
        Command::Config(command) => config::config(project(common), &printer, &command),
        Command::Browse(arguments) => browse::browse(&existing(project(common)?)?, &arguments),
        Command::Demo => demo::demo(&printer),
        Command::EmbedBackfill => backfill(&project(common)?, open),
        Command::Index { file, full } => index(&project(common)?, &printer, file, full),
        Command::Import(command) => {
            let project = match project(common) {
                // All projects are meant, so that it does not matter where this is called.
                Err(error)
                    if command.is_of_all() && matches!(error.downcast_ref(), Some(ProjectError::Home { .. })) =>
                {
                    None
                }
                project => Some(project?),
            };
            import(project.as_deref(), &printer, command)
        }
        Command::Search(arguments) => with_memory(common, |engine| search(engine, &printer, arguments)),
        Command::List(arguments) => with_memory(common, |engine| list(engine, &printer, arguments)),
        Command::Show { what } => with_memory(common, |engine| show(engine, &printer, what)),
        Command::Save(arguments) => with_engine(&project(common)?, |engine| save(engine, &printer, arguments)),
        Command::Promote(arguments) => with_memory(common, |engine| curate::promote(engine, &printer, &arguments)),
        Command::Pin(arguments) => with_memory(common, |engine| curate::pin(engine, &printer, &arguments)),
        Command::Supersede(arguments) => with_memory(common, |engine| curate::supersede(engine, &printer, &arguments)),
        Command::Export(arguments) => with_memory(common, |engine| export(engine, arguments)),
        Command::Forget(arguments) => to_delete(common, deletes, |engine| forget(engine, &printer, arguments)),
        Command::Scrub(arguments) => to_delete(common, deletes, |engine| scrub(engine, &printer, &arguments)),
        Command::Gc(arguments) => to_delete(common, deletes, |engine| gc::gc(engine, &printer, arguments)),
        Command::Timeline(arguments) => with_memory(common, |engine| timeline::timeline(engine, &printer, arguments)),
        Command::Sessions(arguments) => with_memory(common, |engine| sessions::sessions(engine, &printer, arguments)),
        Command::Stats(arguments) => with_memory(common, |engine| stats::stats(engine, &printer, arguments)),
        Command::Load { full, max_tokens } => with_memory(common, |engine| {
            printer.loaded(&engine.load(&LoadInput { source: load_source(full), max_tokens })?)
        }),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Runs a command on the memory of a project that has one.
fn with_memory(common: Common, command: impl FnOnce(&mut Engine) -> anyhow::Result<()>) -> anyhow::Result<()> {
    with_engine(&existing(project(common)?)?, command)
}

/// The same for a command that deletes memories, unless it only shows which: it works on a full disk.
fn to_delete(
    common: Common,
    deletes: bool,
    command: impl FnOnce(&mut Engine) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let project = existing(project(common)?)?;
    if deletes {
        return run_on(Engine::open_to_delete(&project, Some(Arc::new(Http::default())))?, command);
    }
    with_engine(&project, command)
}

/// Runs a command with an index that is in sync.
fn with_engine(project: &Path, command: impl FnOnce(&mut Engine) -> anyhow::Result<()>) -> anyhow::Result<()> {
    run_on(open(project)?, command)
}

fn run_on(mut engine: Engine, command: impl FnOnce(&mut Engine) -> anyhow::Result<()>) -> anyhow::Result<()> {
    engine.refresh()?;
    tell_news(&mut engine);
    let done = command(&mut engine);
    tell_news(&mut engine);
    done
}

/// A project that has a memory: looking for one makes none.
fn existing(project: PathBuf) -> Result<PathBuf, ToolError> {
    if Layout::new(&project).dir().exists() {
        return Ok(project);
    }
    Err(ToolError::NotFound(format!("{} has no memory yet; jikime-memory init makes one", project.display())))
}

fn project(common: Common) -> anyhow::Result<PathBuf> {
    if common.personal {
        return Ok(personal()?.root);
    }
    let request = Request::from_environment(common.project).context("cannot tell the working directory")?;
    Ok(resolve(&request)?.root)
}

/// The project whose hosts are meant. The user's own memory is what some hosts get by themselves.
fn site(common: Common, is_for_user: bool) -> anyhow::Result<Site> {
    if common.personal {
        let text = "--personal is not for this: --scope user sets a host up for all projects of yours";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let request = Request::from_environment(common.project).context("cannot tell the working directory")?;
    match resolve(&request) {
        Ok(project) => Ok(Site { files: checkout(&request, &project), project: project.root }),
        // In the home directory, say: what is set up for all projects needs none.
        Err(_) if is_for_user => Ok(Site::at(&request.working_directory)),
        Err(error) => Err(error.into()),
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
pub(super) fn open(project: &Path) -> anyhow::Result<Engine> {
    let mut engine = Engine::open(project, None, Some(Arc::new(Http::default())))?;
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
        session_id: arguments.session.map(|id| engine.whole_session_id(&id)).transpose()?,
        since: arguments.since.map(|at| at.rfc3339()),
        until: arguments.until.map(|at| at.rfc3339()),
        path: arguments.path,
        // People scroll; the budget is for models.
        max_tokens: Some(i64::from(u16::MAX)),
        explain: arguments.explain,
    };
    engine.prepare_embedding();
    printer.found(&engine.search(&input)?)
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
    let mut done: Result<_, ToolError> = engine.reindex(&ReindexInput { full, path: file }, &mut report, &|| true);
    if let Ok(output) = &mut done {
        output.embedded += embed_elsewhere(&mut engine, &bar);
    }
    bar.finish_and_clear();
    tell_news(&mut engine);
    printer.indexed(&done?)
}

/// Has vectors made that a server would have made in the background, and answers how many.
fn embed_elsewhere(engine: &mut Engine, bar: &ProgressBar) -> usize {
    let mut embedded = 0;
    loop {
        match engine.embed_some() {
            Ok(worked) => {
                embedded += worked.embedded;
                bar.set_message(format!("{embedded} vectors"));
                if !worked.is_more {
                    return embedded;
                }
            }
            Err(error) => {
                exit::warn(&format!("vectors are missing: {error}"));
                return embedded;
            }
        }
    }
}

/// A bar on a terminal, nothing elsewhere.
fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files  {per_sec}  {eta} left  {wide_msg}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
