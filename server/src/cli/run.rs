//! Runs commands.

use std::path::Path;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use schema::files::project::ProjectError;
use schema::tool::{LoadInput, LoadSource, ReindexInput};
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;

use super::arguments::{CliArguments, CliCommand, McpCommand, ServeArguments, ViewArguments};
use super::backfill::{BackfillArguments, run_backfill};
use super::curate::IdArgument;
use super::doctor::run_doctor;
use super::edit::run_edit;
use super::export::run_export;
use super::forget::run_forget;
use super::import::{ImportCommand, run_import};
use super::init::run_init;
use super::insights::run_insights;
use super::list::run_list;
use super::opening::{
    CommonArguments, open_engine, print_repair_messages, require_store, resolve_project, resolve_project_dirs,
    resolve_project_to_write, with_deletable_memory, with_engine, with_memory,
};
use super::output::Printer;
use super::review::run_review;
use super::save::run_save;
use super::scrub::run_scrub;
use super::search::{run_search, search_all_projects};
use super::show::run_show;
use super::team::TeamCommand;
use super::uninstall::run_uninstall;
use super::{
    browse, completions, config, curate, demo, gc, migrate, sessions, stats, tasks, team, team_server, timeline,
};
use crate::exit;
use crate::http::{BearerToken, HttpAccess};
use crate::page::PageSettings;
use crate::serve::{Transport, serve};

/// Exit status 1 of a check tells scripts that something was found.
fn run_team(common: CommonArguments, printer: &Printer, command: Option<TeamCommand>) -> anyhow::Result<ExitCode> {
    match command {
        None => with_memory(common, |engine| team::list_team(engine, printer))?,
        Some(TeamCommand::Init { author }) => {
            with_engine(&resolve_project_to_write(common)?, |engine| {
                team::init_team(engine, printer, author.as_deref())
            })?;
        }
        Some(TeamCommand::Server(command)) => team_server::run(common, printer, command)?,
        Some(TeamCommand::Check) => return with_memory(common, |engine| team::check_team(engine, printer)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one command.
pub(crate) fn run(arguments: CliArguments) -> anyhow::Result<ExitCode> {
    let CliArguments { common, command } = arguments;
    if common.json && !command.has_json() {
        return Err(ToolError::Invalid("this command cannot print JSON; remove --json".to_owned()).into());
    }
    let printer = Printer::new(common.json, !common.no_pager);
    let done = match command {
        CliCommand::Doctor(arguments) => return run_doctor(common, &arguments),
        CliCommand::Serve(arguments) | CliCommand::Mcp(McpCommand::Serve(arguments)) => {
            serve(&resolve_project_to_write(common)?, &serve_transport(arguments)?)
        }
        CliCommand::Init(arguments) => {
            run_init(&resolve_project_dirs(common, arguments.is_for_user())?, &printer, &arguments)
        }
        CliCommand::Uninstall(arguments) => {
            run_uninstall(&resolve_project_dirs(common, arguments.is_for_user())?, &printer, &arguments)
        }
        CliCommand::Completions { shell } => completions::print_completions(shell),
        CliCommand::Man { out } => completions::write_man_pages(out.as_deref()),
        CliCommand::Config(command) => config::run_config(common, &printer, &command),
        CliCommand::Browse(arguments) => browse::browse(&require_store(resolve_project(common)?)?, &arguments),
        CliCommand::View(ViewArguments { port, no_open }) => {
            let settings = PageSettings { port, opens_browser: !no_open };
            serve(&require_store(resolve_project(common)?)?, &Transport::Page(settings))
        }
        CliCommand::Demo => demo::run_demo(&printer),
        CliCommand::EmbedBackfill(BackfillArguments { project_dir, session_id }) => {
            let common = CommonArguments { project: common.project.or(project_dir), ..common };
            run_backfill(&resolve_project(common)?, session_id.as_deref())
        }
        CliCommand::Index { file, full } => run_index(&resolve_project_to_write(common)?, &printer, file, full),
        CliCommand::Migrate => migrate::run_migrate(&require_store(resolve_project(common)?)?, &printer),
        CliCommand::Import { source } => {
            let project = match resolve_project_to_write(common) {
                // Listing, and importing all projects, work in any directory.
                Err(error)
                    if source.as_ref().is_none_or(ImportCommand::concerns_all_projects)
                        && matches!(error.downcast_ref(), Some(ProjectError::Home { .. })) =>
                {
                    None
                }
                project => Some(project?),
            };
            run_import(project.as_deref(), &printer, source)
        }
        CliCommand::Search(arguments) if arguments.all_projects => {
            search_all_projects(&resolve_project(common)?, &printer, &arguments)
        }
        CliCommand::Search(arguments) => with_memory(common, |engine| run_search(engine, &printer, arguments)),
        CliCommand::List(arguments) => with_memory(common, |engine| run_list(engine, &printer, arguments)),
        CliCommand::Show { what } => with_memory(common, |engine| run_show(engine, &printer, &what)),
        CliCommand::Save(arguments) => {
            with_engine(&resolve_project_to_write(common)?, |engine| run_save(engine, &printer, arguments))
        }
        CliCommand::Edit(arguments) => with_memory(common, |engine| run_edit(engine, &printer, arguments)),
        CliCommand::Insights => with_memory(common, |engine| run_insights(engine, &printer)),
        CliCommand::Promote(arguments) => with_memory(common, |engine| curate::promote(engine, &printer, &arguments)),
        CliCommand::Pin(arguments) => with_memory(common, |engine| curate::pin(engine, &printer, &arguments)),
        CliCommand::Supersede(arguments) => {
            with_memory(common, |engine| curate::supersede(engine, &printer, &arguments))
        }
        CliCommand::Confirm(arguments) => with_memory(common, |engine| curate::confirm(engine, &printer, &arguments)),
        CliCommand::Review(arguments) => {
            with_memory(common, |engine| run_review(engine, &printer, &arguments, &progress_bar("memories")))
        }
        CliCommand::Team { command } => return run_team(common, &printer, command),
        CliCommand::Share(arguments) => with_memory(common, |engine| team::share(engine, &printer, &arguments)),
        CliCommand::Approve(IdArgument { id }) => {
            with_memory(common, |engine| team::print_change(engine.approve(&id)?, engine, &printer))
        }
        CliCommand::Retire(IdArgument { id }) => {
            with_memory(common, |engine| team::print_change(engine.retire(&id)?, engine, &printer))
        }
        CliCommand::Export(arguments) => with_memory(common, |engine| run_export(engine, arguments)),
        CliCommand::Forget(arguments) => {
            with_deletable_memory(common, arguments.consent.dry_run, |engine| run_forget(engine, &printer, arguments))
        }
        CliCommand::Scrub(arguments) => {
            with_deletable_memory(common, arguments.dry_run, |engine| run_scrub(engine, &printer, &arguments))
        }
        CliCommand::Gc(arguments) => {
            with_deletable_memory(common, arguments.consent.dry_run, |engine| gc::run_gc(engine, &printer, arguments))
        }
        CliCommand::Timeline(arguments) => {
            with_memory(common, |engine| timeline::run_timeline(engine, &printer, arguments))
        }
        CliCommand::Tasks(arguments) => with_memory(common, |engine| tasks::tasks(engine, &printer, &arguments)),
        CliCommand::Sessions(arguments) => {
            with_memory(common, |engine| sessions::run_sessions(engine, &printer, arguments))
        }
        CliCommand::Stats(arguments) => with_memory(common, |engine| stats::run_stats(engine, &printer, arguments)),
        CliCommand::Load { brief: true, .. } => {
            with_memory(common, |engine| printer.print_brief(engine.brief()?.as_deref()))
        }
        CliCommand::Load { full, max_tokens, .. } => with_memory(common, |engine| {
            let source = if full { LoadSource::Full } else { LoadSource::Startup };
            printer.print_loaded(&engine.load(&LoadInput { source, max_tokens })?)
        }),
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Chooses the transport. Prints the place of the token, never the token.
fn serve_transport(arguments: ServeArguments) -> anyhow::Result<Transport> {
    let ServeArguments { http, no_token, allow_host } = arguments;
    let Some(address) = http else { return Ok(Transport::Stdio) };
    let (token, place) =
        if no_token { (None, None) } else { BearerToken::obtain().map(|(token, place)| (Some(token), Some(place)))? };
    let access = HttpAccess { address, token, allowed_hosts: allow_host };
    access.check()?;
    if let Some(place) = place {
        exit::print_status(&format!("clients need the token in {place}"));
    }
    Ok(Transport::Http(access))
}

fn run_index(project: &Path, printer: &Printer, file: Option<String>, full: bool) -> anyhow::Result<()> {
    let mut engine = open_engine(project)?;
    let bar = progress_bar("files");
    let mut control = Control::default().with_progress(|step| {
        bar.set_length(step.total as u64);
        bar.set_position(step.done as u64);
        bar.set_message(step.path);
    });
    let mut done: Result<_, ToolError> = engine.reindex(&ReindexInput { full, path: file }, &mut control);
    if let Ok(output) = &mut done {
        output.embedded += embed_with_service(&mut engine, &bar);
    }
    bar.finish_and_clear();
    print_repair_messages(&mut engine);
    printer.print_indexed(&done?)
}

/// Makes the missing vectors, which a server would make in the background. Returns their number.
fn embed_with_service(engine: &mut Engine, bar: &ProgressBar) -> usize {
    let mut embedded = 0;
    loop {
        match engine.embed_batch_anywhere() {
            Ok(worked) => {
                embedded += worked.embedded;
                bar.set_message(format!("{embedded} vectors"));
                if !worked.has_more {
                    return embedded;
                }
            }
            Err(error) => {
                exit::print_warning(&format!("vectors are missing: {error}"));
                return embedded;
            }
        }
    }
}

/// A progress bar, which the library hides without a terminal. `unit` is what it counts.
fn progress_bar(unit: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!(
        "{{bar:30}} {{pos}}/{{len}} {unit}  {{per_sec}}  {{eta}} left  {{wide_msg}}"
    ));
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
