//! `uninstall`: removes the setup from host files, and the memory only with `--purge`.

use std::fs;
use std::path::Path;

use clap::Args;
use schema::files::layout::Layout;
use schema::files::project::personal_project;
use schema::files::store_file;
use schema::intake::queue;
use schema::log::{LONG_TERM_FILE, LogKind};
use schema::model::sharing::is_team_file;
use schema::model::word_list::WordList;
use serde::Serialize;
use tools::error::ToolError;

use super::init::{FileReport, file_reports};
use super::output::Printer;
use super::setup_changes::{confirm_changes, show_changes};
use super::terminal_text::count_with_unit;
use crate::exit;
use crate::setup::change::FileChange;
use crate::setup::detect::{DetectedKind, DetectedPart, detect_all};
use crate::setup::host::{Host, ProgramCommands, SetupScope};
use crate::setup::host_dirs::{HostDirs, ProjectDirs};
use crate::setup::plan::{SetupContext, SetupPlan, SkippedFile};
use crate::setup::program_copies::{delete_copies, existing_copies};

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    /// The host to remove the setup from; may be repeated [default: all]
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// Remove the setup of this project, or of all your projects [default: project, or the usual scope of --host]
    #[arg(long)]
    scope: Option<SetupScope>,
    /// Delete the memory of this project too
    #[arg(long)]
    purge: bool,
    /// Only show the files that would change
    #[arg(long)]
    dry_run: bool,
    /// Show the changed lines of each file
    #[arg(long)]
    diff: bool,
    /// Skip the confirmation prompt
    #[arg(long, short = 'y')]
    yes: bool,
}

impl UninstallArguments {
    /// Removing a setup for all projects needs no current project.
    pub(crate) fn is_for_user(&self) -> bool {
        let is_of_user = |host: &Host| host.default_scope() == SetupScope::User;
        let is_all_of_user = !self.host.is_empty() && self.host.iter().all(is_of_user);
        !self.purge && self.scope.map_or(is_all_of_user, |scope| scope == SetupScope::User)
    }

    /// Whether nothing of this user's setup shall be left.
    fn is_for_all_of_user(&self) -> bool {
        self.scope == Some(SetupScope::User) && self.host.is_empty()
    }

    /// Whether files for all projects are included.
    fn concerns_user(&self) -> bool {
        match self.scope {
            Some(scope) => scope == SetupScope::User,
            None => self.host.iter().any(|host| host.default_scope() == SetupScope::User),
        }
    }
}

#[derive(Debug, Serialize)]
struct UninstallReport<'r> {
    project: &'r Path,
    dry_run: bool,
    files: Vec<FileReport<'r>>,
    memory: StoreFate,
    notes: &'r [String],
}

/// The result for the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum StoreFate {
    None,
    Kept,
    /// Deleted because it was empty.
    #[serde(rename = "removed, nothing was remembered")]
    Emptied,
    Deleted,
}

/// Files of a store without memories.
static FILES_WITHOUT_MEMORIES: WordList =
    WordList::words(".gitignore setup.json store.lock index.lock queue.lock embedding.lock backfill.lock open.lock");

/// Removes the setup from the selected host files.
pub(crate) fn run_uninstall(
    site: &ProjectDirs,
    printer: &Printer,
    arguments: &UninstallArguments,
) -> anyhow::Result<()> {
    let project = site.project.as_path();
    if arguments.purge && arguments.scope == Some(SetupScope::User) {
        let text = "--purge deletes a project's memory, but --scope user selects no project; remove one of them";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let places = HostDirs::from_environment();
    let plans = plan_uninstall(site, &places, arguments)?;
    let changes: Vec<FileChange> = plans.iter().flat_map(|plan| plan.changes.clone()).collect();
    let notes: Vec<String> = plans.iter().flat_map(|plan| plan.notes.clone()).collect();
    let left: Vec<SkippedFile> = plans.iter().flat_map(|plan| plan.skipped.clone()).collect();
    let memory = store_fate(project, arguments, plans.iter().any(SetupPlan::leaves_parts))?;
    left.iter().for_each(|left| exit::print_warning(&format!("{}; it was not changed", left.reason)));
    if !printer.is_json() {
        notes.iter().for_each(|note| exit::print_warning(note));
        show_changes(printer, &changes, arguments.diff)?;
        if memory == StoreFate::Deleted {
            printer.print_wrapped(&describe_purge(&Layout::new(project)))?;
        }
    }
    let has_copies = arguments.is_for_all_of_user() && !existing_copies(&places).is_empty();
    if has_copies && !printer.is_json() {
        let folder = places.copies_dir().map(|folder| places.display_path(&folder)).unwrap_or_default();
        printer.print_wrapped(&format!(
            "Deletes the programs in {folder}, which projects that were set up with npx or uvx start"
        ))?;
    }
    let is_needed = !changes.is_empty() || memory == StoreFate::Deleted || has_copies;
    if is_needed && !arguments.dry_run && !confirm_changes(printer, &changes, "Do this?", arguments.yes)? {
        return printer.print_line("Nothing was changed.");
    }
    if !arguments.dry_run {
        plans.into_iter().try_for_each(SetupPlan::carry_out)?;
        if matches!(memory, StoreFate::Deleted | StoreFate::Emptied) {
            delete_store(project)?;
        }
        if arguments.concerns_user() {
            delete_unused_personal(&places)?;
        }
        if has_copies {
            delete_copies(&places)?;
        }
    }
    if printer.is_json() {
        let files = file_reports(&changes);
        let dry_run = arguments.dry_run;
        printer.print_json(&UninstallReport { project, dry_run, files, memory, notes: &notes })?;
    } else {
        print_report(project, &places, &changes, memory, arguments, printer)?;
    }
    if left.iter().any(|left| left.may_hold_ours) {
        let text = "parts of the setup may remain; fix the files named above and run this again";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    Ok(())
}

fn plan_uninstall(
    site: &ProjectDirs,
    places: &HostDirs,
    arguments: &UninstallArguments,
) -> anyhow::Result<Vec<SetupPlan>> {
    let hosts = if arguments.host.is_empty() { Host::all() } else { &arguments.host };
    // Only the paths matter, not the commands.
    let commands = ProgramCommands::default();
    let mut plans = Vec::new();
    for scope in [SetupScope::Project, SetupScope::User] {
        let usual = |host: &Host| if arguments.host.is_empty() { SetupScope::Project } else { host.default_scope() };
        let mut targets = Vec::new();
        for host in hosts.iter().filter(|host| arguments.scope.unwrap_or(usual(host)) == scope) {
            match host.targets(scope, places, &site.files, &commands) {
                Ok(found) => targets.extend(found.into_iter().map(|target| (*host, target))),
                Err(_) if arguments.host.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !targets.is_empty() {
            plans.push(SetupContext::new(scope, places, site)?.plan_removal(targets)?);
        }
    }
    Ok(plans)
}

fn store_fate(project: &Path, arguments: &UninstallArguments, is_used: bool) -> anyhow::Result<StoreFate> {
    let layout = Layout::new(project);
    if !layout.store_dir().exists() || arguments.is_for_user() {
        return Ok(StoreFate::None);
    }
    if arguments.purge {
        if queue::is_served(&layout) {
            let text = "a server is running in this project; quit its host first, so that it saves nothing more";
            return Err(ToolError::Unavailable(text.to_owned()).into());
        }
        return Ok(StoreFate::Deleted);
    }
    Ok(if arguments.host.is_empty() && !is_used && is_store_empty(&layout) && !queue::is_served(&layout) {
        StoreFate::Emptied
    } else {
        StoreFate::Kept
    })
}

/// Says what `--purge` deletes, also what people wrote.
fn describe_purge(layout: &Layout) -> String {
    let dir = layout.store_dir().display();
    let files = layout.markdown_files().unwrap_or_default();
    let long_term = files.iter().any(|path| path == LONG_TERM_FILE).then(|| LONG_TERM_FILE.to_owned());
    let notes = files.iter().filter(|path| LogKind::from_path(path).is_none()).count();
    let notes = (notes > 0).then(|| count_with_unit(notes as u64, "note") + " of yours");
    let team = files.iter().any(|path| is_team_file(path)).then(|| "the team's files in this clone".to_owned());
    let own: Vec<String> = long_term.into_iter().chain(notes).chain(team).collect();
    let also = if own.is_empty() { String::new() } else { format!(", also {}", own.join(" and ")) };
    format!("Deletes all memories in {dir}{also}")
}

/// Deletes an empty personal memory that no host serves, and its folders. Testing a host creates one.
fn delete_unused_personal(places: &HostDirs) -> anyhow::Result<()> {
    let Ok(personal) = personal_project() else { return Ok(()) };
    let layout = Layout::new(&personal.root);
    if detect_all(places, None).iter().any(DetectedPart::serves_personal) {
        return Ok(());
    }
    if layout.store_dir().exists() && is_store_empty(&layout) && !queue::is_served(&layout) {
        delete_store(&personal.root)?;
    }
    // Non-empty folders stay.
    for folder in personal.root.ancestors().take(2) {
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Whether the store has no memories, no queued events and no files of others.
fn is_store_empty(layout: &Layout) -> bool {
    let is_ours = |name: &str| {
        FILES_WITHOUT_MEMORIES.contains(name)
            || ["hook.log", "hook.times"].contains(&name)
            || name.starts_with("memory.db")
            || name.starts_with("index.db")
    };
    let is_empty_folder = |path: &Path| fs::read_dir(path).is_ok_and(|mut items| items.next().is_none());
    let has_no_memories = |path: &Path| {
        if path == layout.track_dir() || path == layout.spool_dir() {
            return is_empty_folder(path);
        }
        // Logs of servers contain no memories.
        path == layout.server_log_dir() || path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours)
    };
    let Ok(mut items) = fs::read_dir(layout.store_dir()) else { return false };
    items.all(|item| item.is_ok_and(|item| has_no_memories(&item.path())))
}

/// Deletes the store, and its parent folder if that is empty.
fn delete_store(project: &Path) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    store_file::verify(layout.store_dir())
        .and_then(|_| fs::remove_dir_all(layout.store_dir()))
        .map_err(|cause| ToolError::Unavailable(format!("cannot delete {}: {cause}", layout.store_dir().display())))?;
    if let Some(folder) = layout.store_dir().parent() {
        // The folder may contain settings of the project.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn print_report(
    project: &Path,
    places: &HostDirs,
    changes: &[FileChange],
    memory: StoreFate,
    arguments: &UninstallArguments,
    printer: &Printer,
) -> anyhow::Result<()> {
    let what = match (changes.is_empty() && memory != StoreFate::Deleted, arguments.dry_run) {
        (true, _) => "No host file has a setup for this project.",
        (_, true) => "Nothing was changed.",
        _ => "Done. Running hosts keep the server until they end.",
    };
    printer.print_wrapped(what)?;
    if memory == StoreFate::Kept {
        let dir = Layout::new(project).store_dir().display().to_string();
        printer.print_wrapped(&format!("The memories stay in {dir}; jikime-memory uninstall --purge deletes them."))?;
    }
    if !arguments.is_for_all_of_user() && !existing_copies(places).is_empty() {
        let folder = places.copies_dir().map(|folder| places.display_path(&folder)).unwrap_or_default();
        exit::print_status(&format!(
            "The programs in {folder} stay for other projects; jikime-memory uninstall --scope user deletes them."
        ));
    }
    let rest = detect_all(places, None);
    let mut files: Vec<String> = rest
        .iter()
        .filter(|found| {
            matches!(found.kind, DetectedKind::Server(_) | DetectedKind::Hooks(_) | DetectedKind::Plugin(_))
        })
        .map(|found| places.display_path(&found.path))
        .collect();
    files.dedup();
    if !files.is_empty() && !arguments.dry_run && arguments.scope.is_none() && arguments.host.is_empty() {
        exit::print_status(&format!(
            "Still set up for all your projects in {}; jikime-memory uninstall --scope user removes that.",
            files.join(", ")
        ));
    }
    Ok(())
}
