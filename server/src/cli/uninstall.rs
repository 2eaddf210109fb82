//! `uninstall`: takes back what `init` wrote. Memories stay unless asked otherwise.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use schema::layout::Layout;
use schema::lock::{FileLock, LockError};
use schema::own_file;
use schema::project::personal;
use serde::Serialize;
use tools::error::ToolError;

use super::consent::agreed;
use super::init::{FileReport, file_reports};
use super::output::Printer;
use crate::exit;
use crate::setup::change::Change;
use crate::setup::diff::unified;
use crate::setup::found::{What, look};
use crate::setup::host::{Commands, Host, Scope};
use crate::setup::places::Places;
use crate::setup::plan::{Ground, Left, Plan};
use crate::setup::site::Site;

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    /// The host to take us out of; may be given several times [default: all]
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// From this project's files, or from those for all projects of yours [default: project, or what a host named with --host has]
    #[arg(long)]
    scope: Option<Scope>,
    /// Delete the memory of this project as well
    #[arg(long)]
    purge: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
}

impl UninstallArguments {
    /// Whether no project is needed.
    pub(crate) fn is_for_user(&self) -> bool {
        let is_of_user = |host: &Host| host.usual_scope() == Scope::User;
        let is_all_of_user = !self.host.is_empty() && self.host.iter().all(is_of_user);
        !self.purge && self.scope.map_or(is_all_of_user, |scope| scope == Scope::User)
    }

    /// Whether files for all projects are among those that are taken back.
    fn concerns_user(&self) -> bool {
        match self.scope {
            Some(scope) => scope == Scope::User,
            None => self.host.iter().any(|host| host.usual_scope() == Scope::User),
        }
    }
}

#[derive(Debug, Serialize)]
struct Report<'r> {
    project: &'r Path,
    dry_run: bool,
    files: Vec<FileReport<'r>>,
    memory: &'static str,
    notes: &'r [String],
}

/// What becomes of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    None,
    Kept,
    /// There is nothing in it.
    Emptied,
    Deleted,
}

/// What a store is made of when nothing was remembered.
const EMPTY: [&str; 8] = [
    ".gitignore",
    "setup.json",
    "store.lock",
    "index.lock",
    "queue.lock",
    "embedding.lock",
    "backfill.lock",
    "open.lock",
];

/// Takes back what the arguments name in `project`.
pub(crate) fn uninstall(site: &Site, printer: &Printer, arguments: &UninstallArguments) -> anyhow::Result<()> {
    let project = site.project.as_path();
    if arguments.purge && arguments.scope == Some(Scope::User) {
        let text = "--purge deletes the memory of a project, which --scope user does not name: leave out one of them";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let places = Places::from_environment();
    let plans = plans(site, &places, arguments)?;
    let changes: Vec<Change> = plans.iter().flat_map(|plan| plan.changes.clone()).collect();
    let notes: Vec<String> = plans.iter().flat_map(|plan| plan.notes.clone()).collect();
    let left: Vec<Left> = plans.iter().flat_map(|plan| plan.left.clone()).collect();
    let memory = fate(project, arguments, plans.iter().any(Plan::leaves_some))?;
    left.iter().for_each(|left| exit::warn(&format!("{}; it is left as it is", left.why)));
    if !printer.is_json() {
        notes.iter().for_each(|note| exit::warn(note));
        changes.iter().try_for_each(|change| printer.text(&format!("{}\n", unified(change))))?;
        if memory == Memory::Deleted {
            printer
                .told(&format!("Deletes everything that is remembered in {}", Layout::new(project).dir().display()))?;
        }
    }
    let is_needed = !changes.is_empty() || memory == Memory::Deleted;
    if is_needed && !arguments.dry_run && !agreed("Do this?", arguments.yes)? {
        return printer.line("Nothing was changed.");
    }
    if !arguments.dry_run {
        plans.into_iter().try_for_each(Plan::carry_out)?;
        if matches!(memory, Memory::Deleted | Memory::Emptied) {
            delete(project)?;
        }
        if arguments.concerns_user() {
            delete_unused_personal(&places)?;
        }
    }
    if printer.is_json() {
        let files = file_reports(&changes);
        let report = Report { project, dry_run: arguments.dry_run, files, memory: memory.name(), notes: &notes };
        printer.json(&report)?;
    } else {
        tell(project, &places, &changes, memory, arguments, printer)?;
    }
    match left.iter().filter(|left| left.may_hold).count() {
        0 => Ok(()),
        _ => Err(ToolError::Invalid(
            "something of ours may be left; mend what is named above and run this again".to_owned(),
        )
        .into()),
    }
}

fn plans(site: &Site, places: &Places, arguments: &UninstallArguments) -> anyhow::Result<Vec<Plan>> {
    let hosts = if arguments.host.is_empty() { Host::all() } else { &arguments.host };
    // What would be written does not matter here, only where.
    let commands = Commands { memory: String::new(), hook: String::new() };
    let mut plans = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        let usual = |host: &Host| if arguments.host.is_empty() { Scope::Project } else { host.usual_scope() };
        let mut targets = Vec::new();
        for host in hosts.iter().filter(|host| arguments.scope.unwrap_or(usual(host)) == scope) {
            match host.targets(scope, places, &site.files, &commands) {
                Ok(found) => targets.extend(found.into_iter().map(|target| (*host, target))),
                Err(_) if arguments.host.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !targets.is_empty() {
            plans.push(Ground::new(scope, places, site)?.to_take_back(targets)?);
        }
    }
    Ok(plans)
}

fn fate(project: &Path, arguments: &UninstallArguments, is_used: bool) -> anyhow::Result<Memory> {
    let layout = Layout::new(project);
    if !layout.dir().exists() || arguments.is_for_user() {
        return Ok(Memory::None);
    }
    if arguments.purge {
        if is_served(&layout) {
            let text = "a server is running in this project; end its host first, so that nothing is remembered anew";
            return Err(ToolError::Unavailable(text.to_owned()).into());
        }
        return Ok(Memory::Deleted);
    }
    Ok(if arguments.host.is_empty() && !is_used && is_empty(&layout) && !is_served(&layout) {
        Memory::Emptied
    } else {
        Memory::Kept
    })
}

/// Deletes the memory of one's own, which trying a host out makes, when nothing was ever remembered in it and no host serves it any
/// more, with the folders that were made for it.
fn delete_unused_personal(places: &Places) -> anyhow::Result<()> {
    let Ok(personal) = personal() else { return Ok(()) };
    let layout = Layout::new(&personal.root);
    let serves = |what: &What| matches!(what, What::Server(server) if server.is_personal());
    if look(places, None).iter().any(|found| serves(&found.what)) {
        return Ok(());
    }
    if layout.dir().exists() && is_empty(&layout) && !is_served(&layout) {
        delete(&personal.root)?;
    }
    // A folder in which something lies stays.
    for folder in personal.root.ancestors().take(2) {
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn is_served(layout: &Layout) -> bool {
    layout.queue_lock().exists()
        && matches!(FileLock::acquire(&layout.queue_lock(), Duration::ZERO), Err(LockError::Busy(_)))
}

/// Whether nothing was remembered, nothing waits to be, and nothing lies there that is not ours.
fn is_empty(layout: &Layout) -> bool {
    let is_ours = |name: &str| {
        EMPTY.contains(&name) || name == "hook.log" || name.starts_with("memory.db") || name.starts_with("index.db")
    };
    let is_empty_folder = |path: &Path| fs::read_dir(path).is_ok_and(|mut items| items.next().is_none());
    let Ok(items) = fs::read_dir(layout.dir()) else { return false };
    items.into_iter().all(|item| {
        let Ok(item) = item else { return false };
        let path = item.path();
        let is_folder = path == layout.track() || path == layout.spool();
        // What servers say of themselves holds nothing that was remembered.
        if path == layout.server_logs() {
            true
        } else if is_folder {
            is_empty_folder(&path)
        } else {
            item.file_name().to_str().is_some_and(is_ours)
        }
    })
}

/// Deletes the store, and what it lies in when that is empty then.
fn delete(project: &Path) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    own_file::verify(layout.dir())
        .and_then(|()| fs::remove_dir_all(layout.dir()))
        .map_err(|cause| ToolError::Unavailable(format!("cannot delete {}: {cause}", layout.dir().display())))?;
    if let Some(folder) = layout.dir().parent() {
        // Settings of the project lie there as well.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn tell(
    project: &Path,
    places: &Places,
    changes: &[Change],
    memory: Memory,
    arguments: &UninstallArguments,
    printer: &Printer,
) -> anyhow::Result<()> {
    let what = match (changes.is_empty() && memory != Memory::Deleted, arguments.dry_run) {
        (true, _) => "No file of a host holds anything of ours here.",
        (_, true) => "Nothing was changed.",
        _ => "Done. Hosts that run now keep the server until they end.",
    };
    printer.told(what)?;
    if memory == Memory::Kept {
        let dir = Layout::new(project).dir().display().to_string();
        printer.told(&format!("What was remembered stays in {dir}; jikime-memory uninstall --purge deletes it."))?;
    }
    let rest = look(places, None);
    let mut files: Vec<String> = rest
        .iter()
        .filter(|found| matches!(found.what, What::Server(_) | What::Hooks(_) | What::Plugin(_)))
        .map(|found| places.shown(&found.path))
        .collect();
    files.dedup();
    if !files.is_empty() && !arguments.dry_run && arguments.scope.is_none() && arguments.host.is_empty() {
        exit::tell(&format!(
            "Still set up for all your projects in {}; jikime-memory uninstall --scope user takes that back.",
            files.join(", ")
        ));
    }
    Ok(())
}

impl Memory {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Kept => "kept",
            Self::Emptied => "removed, nothing was remembered",
            Self::Deleted => "deleted",
        }
    }
}
