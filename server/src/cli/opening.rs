//! The options of all commands, and how they open the project and its memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use schema::files::layout::Layout;
use schema::files::project::{ProjectContext, ProjectReason, checkout_dir, personal_project, resolve};
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;

use crate::exit;
use crate::network::ReqwestNetwork;
use crate::setup::host_dirs::ProjectDirs;

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

#[derive(Debug, Args)]
pub(crate) struct CommonArguments {
    /// The project directory [default: the project of the working directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) project: Option<PathBuf>,
    /// Use your personal memory, for hosts without projects
    #[arg(long, global = true, conflicts_with = "project", help_heading = GLOBAL)]
    pub(crate) personal: bool,
    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Do not use a pager
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) no_pager: bool,
}

/// Runs a command on an existing memory.
pub(super) fn with_memory<T>(
    common: CommonArguments,
    command: impl FnOnce(&mut Engine) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_engine(&require_store(resolve_project(common)?)?, command)
}

/// Runs a command that deletes memories unless `dry_run`. Deletion also works on a full disk.
pub(super) fn with_deletable_memory(
    common: CommonArguments,
    dry_run: bool,
    command: impl FnOnce(&mut Engine) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if dry_run {
        return with_memory(common, command);
    }
    let project = require_store(resolve_project(common)?)?;
    run_with_engine(Engine::open_to_delete(&project, Some(Arc::new(ReqwestNetwork::default())))?, command)
}

/// Runs a command after the index is synchronised.
pub(super) fn with_engine<T>(
    project: &Path,
    command: impl FnOnce(&mut Engine) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    run_with_engine(open_engine(project)?, command)
}

/// Fails without a memory, because commands that only read must not create one.
pub(super) fn require_store(project: PathBuf) -> Result<PathBuf, ToolError> {
    if Layout::new(&project).store_dir().exists() {
        return Ok(project);
    }
    let is_personal = personal_project().is_ok_and(|personal| personal.root == project);
    let how = if is_personal { "jikime-memory --personal save creates one" } else { "jikime-memory init creates one" };
    Err(ToolError::NotFound(format!("{} has no memory yet; {how}", project.display())))
}

pub(super) fn resolve_project(common: CommonArguments) -> anyhow::Result<PathBuf> {
    if common.personal {
        return Ok(personal_project()?.root);
    }
    let request = ProjectContext::from_environment(common.project).context("cannot determine the working directory")?;
    Ok(resolve(&request)?.root)
}

/// The project of a command that creates a missing store. It warns if no project is there.
pub(super) fn resolve_project_to_write(common: CommonArguments) -> anyhow::Result<PathBuf> {
    if common.personal {
        return resolve_project(common);
    }
    let request = ProjectContext::from_environment(common.project).context("cannot determine the working directory")?;
    let project = resolve(&request)?;
    let store = Layout::new(&project.root).store_dir().to_owned();
    if project.reason == ProjectReason::Start && !store.exists() {
        exit::print_warning(&format!(
            "{} is not in a project (no .jikime folder and no git repository here or above); its memory is created in {}. \
             --project names another project, --personal uses your own memory",
            project.root.display(),
            store.display()
        ));
    }
    Ok(project.root)
}

/// The directories of the project whose hosts are set up.
pub(super) fn resolve_project_dirs(common: CommonArguments, is_for_user: bool) -> anyhow::Result<ProjectDirs> {
    if common.personal {
        let text = "--personal does not work here; --scope user sets up a host for all your projects";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let request = ProjectContext::from_environment(common.project).context("cannot determine the working directory")?;
    match resolve(&request) {
        Ok(project) => Ok(ProjectDirs { files: checkout_dir(&request, &project), project: project.root }),
        // A setup for all projects needs no project, for example in the home directory.
        Err(_) if is_for_user => Ok(ProjectDirs::for_project(&request.working_directory)),
        Err(error) => Err(error.into()),
    }
}

/// Opens the store without reporting repairs.
pub(super) fn open_quietly(project: &Path) -> Result<Engine, ToolError> {
    Engine::open(project, None, Some(Arc::new(ReqwestNetwork::default())))
}

/// Opens the store and reports repairs on standard error.
pub(super) fn open_engine(project: &Path) -> anyhow::Result<Engine> {
    let mut engine = open_quietly(project)?;
    print_repair_messages(&mut engine);
    Ok(engine)
}

pub(super) fn print_repair_messages(engine: &mut Engine) {
    for message in engine.take_repair_messages() {
        exit::print_warning(&message);
    }
}

fn run_with_engine<T>(mut engine: Engine, command: impl FnOnce(&mut Engine) -> anyhow::Result<T>) -> anyhow::Result<T> {
    engine.refresh_to_read(&mut Control::default())?;
    print_repair_messages(&mut engine);
    let done = command(&mut engine);
    print_repair_messages(&mut engine);
    done
}
