//! Does what a command asks for.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use schema::layout::Layout;
use schema::project::{Request, personal, resolve};
use schema::store::Filter;
use schema::tool::{GetInput, LoadInput, ReindexInput, SaveInput, SearchInput};
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

use super::arguments::{
    Arguments, Command, Common, ListArguments, McpCommand, SaveArguments, SearchArguments, ServeArguments, load_source,
};
use super::export::export;
use super::forget::forget;
use super::import::import;
use super::output::{Listed, Printer};
use super::scrub::scrub;
use super::{clear, curate, demo};
use crate::exit;
use crate::http::{Access, Token};
use crate::serve::{Transport, serve};

/// Runs one command.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { common, command } = arguments;
    let printer = Printer::new(common.json);
    match command {
        Command::Serve(arguments) | Command::Mcp(McpCommand::Serve(arguments)) => {
            serve(&project(common)?, &transport(arguments)?)
        }
        Command::Demo if common.json => Err(ToolError::Invalid("demo has no form for scripts".to_owned()).into()),
        Command::Demo => demo::demo(&printer),
        Command::Index { file, full } => index(&project(common)?, &printer, file, full),
        Command::Import(command) => import(&project(common)?, &printer, command),
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
                Command::Promote(arguments) => curate::promote(&mut engine, &printer, &arguments),
                Command::Pin(arguments) => curate::pin(&mut engine, &printer, &arguments),
                Command::Supersede(arguments) => curate::supersede(&mut engine, &printer, &arguments),
                Command::Export(arguments) => export(&mut engine, arguments),
                Command::Forget(arguments) => forget(&mut engine, &printer, arguments),
                Command::Scrub(arguments) => scrub(&mut engine, &printer, &arguments),
                Command::Gc(arguments) => clear::gc(&mut engine, &printer, arguments),
                Command::Reset(arguments) => clear::reset(&mut engine, &printer, &arguments),
                Command::Stats => printer.stats(&engine.stats()?),
                Command::Load { full, max_tokens } => {
                    printer.loaded(&engine.load(&LoadInput { source: load_source(full), max_tokens })?)
                }
                Command::Serve(_) | Command::Mcp(_) | Command::Demo | Command::Index { .. } | Command::Import(_) => {
                    Ok(())
                }
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
