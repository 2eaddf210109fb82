//! `search`, in one project or in all that the user's registry has.

use std::fs;
use std::path::{Path, PathBuf};

use schema::files::layout::Layout;
use schema::settings;
use schema::tool::{SearchInput, SearchOutput};
use serde::Serialize;
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;
use tools::registry::registered_projects;
use tools::search::Asker;

use super::arguments::SearchArguments;
use super::opening::open_engine;
use super::output::{Printer, STRONG, hits_text};
use super::terminal_text::clean_for_terminal;
use crate::exit;

/// The hits of a project.
#[derive(Debug, Serialize)]
struct ProjectHits {
    project: PathBuf,
    #[serde(flatten)]
    output: SearchOutput,
}

pub(crate) fn run_search(engine: &mut Engine, printer: &Printer, arguments: SearchArguments) -> anyhow::Result<()> {
    let input = search_input(engine, arguments)?;
    engine.prepare_embedder();
    printer.print_hits(&engine.search_as(Asker::Person, &input, &mut Control::default())?)
}

/// Searches all registered projects and this one, and prints the project with the best hit first. A project that cannot be read is named.
pub(crate) fn search_all_projects(here: &Path, printer: &Printer, arguments: &SearchArguments) -> anyhow::Result<()> {
    if !settings::load(&Layout::new(here)).settings.other_projects {
        let text = "the setting other_projects is off here: `jikime-memory config set --user other_projects on` turns it on, and from \
                    then on init and serve register projects";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let mut projects = registered_projects()?;
    let here = &fs::canonicalize(here).unwrap_or_else(|_| here.to_owned());
    if !projects.contains(here) && Layout::new(here).store_dir().exists() {
        projects.push(here.to_owned());
    }
    let mut found = Vec::new();
    for project in projects {
        if !settings::load(&Layout::new(&project)).settings.other_projects {
            continue;
        }
        match search_project(&project, arguments.clone()) {
            Ok(output) if output.results.is_empty() => {}
            Ok(output) => found.push(ProjectHits { project, output }),
            Err(error) if matches!(error.downcast_ref(), Some(ToolError::Invalid(_))) => return Err(error),
            Err(error) => exit::print_warning(&format!("{}: {error:#}", project.display())),
        }
    }
    let best = |found: &ProjectHits| found.output.results.first().map_or(0.0, |hit| hit.score);
    found.sort_by(|a, b| best(b).total_cmp(&best(a)));
    printer.print_paged(&found, |columns| match found.is_empty() {
        true => "No project has a hit.\n".to_owned(),
        false => found.iter().map(|found| project_text(found, columns)).collect::<Vec<_>>().join("\n"),
    })
}

fn search_project(project: &Path, arguments: SearchArguments) -> anyhow::Result<SearchOutput> {
    let mut engine = open_engine(project)?;
    engine.refresh_to_read(&mut Control::default())?;
    let input = search_input(&mut engine, arguments)?;
    engine.prepare_embedder();
    Ok(engine.search(&input)?)
}

fn project_text(found: &ProjectHits, columns: Option<usize>) -> String {
    let name = found.project.file_name().unwrap_or_default().to_string_lossy();
    let place = clean_for_terminal(&found.project.display().to_string());
    format!("{STRONG}{}{STRONG:#}  {place}\n{}", clean_for_terminal(&name), hits_text(&found.output, columns))
}

fn search_input(engine: &mut Engine, arguments: SearchArguments) -> Result<SearchInput, ToolError> {
    Ok(SearchInput {
        query: arguments.query.join(" "),
        also: arguments.also,
        max_results: arguments.max_results,
        min_score: arguments.min_score,
        kind: arguments.kind,
        source: arguments.source,
        session_id: arguments.session.map(|id| engine.resolve_session_id(&id)).transpose()?,
        since: arguments.span.since.map(|at| at.rfc3339()),
        until: arguments.span.until.map(|at| at.rfc3339()),
        tag: arguments.tag,
        path: arguments.path,
        // The token limit is for models; people can scroll.
        max_tokens: Some(i64::from(u16::MAX)),
        explain: arguments.explain,
    })
}
