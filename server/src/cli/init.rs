//! `init`: sets hosts up, after showing what will change, and tries out what it wrote.

mod advice;

use std::path::{Path, PathBuf};

use clap::Args;
use schema::layout::Layout;
use schema::project::personal;
use serde::Serialize;
use tools::error::ToolError;

use super::consent::agreed;
use super::import::has_transcripts;
use super::output::Printer;
use crate::exit;
use crate::setup::change::Change;
use crate::setup::diff::unified;
use crate::setup::found::{Found, What, look};
use crate::setup::host::{Commands, Host, Scope, Target, WORKSPACE};
use crate::setup::part::Part;
use crate::setup::places::Places;
use crate::setup::plan::{Ground, Plan};
use crate::setup::probe::{Answered, probe, probe_apart};
use crate::setup::programs::Programs;
use crate::setup::server_entry::Entry;
use crate::setup::site::Site;

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The host to set up; may be given several times [default: claude-code]
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// List the hosts, which of them are on this machine, and which are set up
    #[arg(long)]
    list_hosts: bool,
    /// For this project, in files that may be committed, or for all projects of yours [default: project, where the host has such files]
    #[arg(long)]
    scope: Option<Scope>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
}

impl InitArguments {
    /// Whether no project is needed: where this is called does not matter then.
    pub(crate) fn is_for_user(&self) -> bool {
        let is_of_user = |host: &Host| self.scope.unwrap_or(host.usual_scope()) == Scope::User;
        self.list_hosts
            || self.scope == Some(Scope::User)
            || (!self.host.is_empty() && self.host.iter().all(is_of_user))
    }
}

/// What was done, for scripts.
#[derive(Debug, Serialize)]
struct Report<'r> {
    project: &'r Path,
    dry_run: bool,
    files: Vec<FileReport<'r>>,
    notes: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ServerReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct FileReport<'r> {
    path: &'r str,
    change: &'static str,
}

#[derive(Debug, Serialize)]
struct ServerReport {
    tools: Vec<String>,
    version: String,
    milliseconds: u128,
}

/// A host in the list of hosts.
#[derive(Debug, Serialize)]
struct Listing {
    host: Host,
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<PathBuf>,
    set_up: Vec<PathBuf>,
}

/// Everything that is decided before a file is touched.
struct Preparation {
    plans: Vec<Plan>,
    /// The servers to try out.
    entries: Vec<(Scope, Entry)>,
    notes: Vec<String>,
}

/// Sets up what the arguments name in `project`.
pub(crate) fn init(site: &Site, printer: &Printer, arguments: &InitArguments) -> anyhow::Result<()> {
    let places = Places::from_environment();
    if arguments.list_hosts {
        return list_hosts(&site.files, &places, printer);
    }
    let hosts = if arguments.host.is_empty() { vec![Host::ClaudeCode] } else { arguments.host.clone() };
    let Preparation { plans, entries, notes } = prepare(site, &places, &hosts, arguments.scope)?;
    let changes: Vec<Change> = plans.iter().flat_map(|plan| plan.changes.clone()).collect();
    if !printer.is_json() {
        let place = match arguments.is_for_user() {
            true => "all your projects".to_owned(),
            false => places.shown(&site.files),
        };
        printer.told(&format!("Sets up {} for {place}", titles(&hosts)))?;
        if site.is_linked() && !arguments.is_for_user() {
            printer.told(&format!("Its memory is that of the main worktree, {}", places.shown(&site.project)))?;
        }
        changes
            .iter()
            .filter(|change| !change.is_none())
            .try_for_each(|change| printer.text(&format!("\n{}", unified(change))))?;
        notes.iter().for_each(|note| exit::warn(note));
    }
    let is_needed = plans.iter().any(|plan| !plan.is_empty());
    if is_needed && !arguments.dry_run && !agreed("\nWrite this?", arguments.yes)? {
        return printer.line("Nothing was written.");
    }
    let mut server = None;
    if !arguments.dry_run {
        plans.into_iter().try_for_each(Plan::carry_out)?;
        make_stores(site, &hosts, arguments.scope)?;
        server = check(&entries, &site.files)?;
    }
    if printer.is_json() {
        let report = Report {
            project: &site.project,
            dry_run: arguments.dry_run,
            files: file_reports(&changes),
            notes: &notes,
            server: server.map(Into::into),
        };
        return printer.json(&report);
    }
    let what = if !is_needed {
        "Everything is set up already."
    } else if arguments.dry_run {
        "Nothing was written."
    } else {
        "Written."
    };
    printer.line(&format!("\n{what}"))?;
    match server {
        Some(server) => tell_what_comes(&server, &hosts, arguments.scope, &site.project, &places, printer),
        None => Ok(()),
    }
}

/// Makes the memories that hosts will serve, so that whoever looks at one before a host has started finds it.
fn make_stores(site: &Site, hosts: &[Host], scope: Option<Scope>) -> anyhow::Result<()> {
    let scoped = || hosts.iter().map(|host| (*host, scope.unwrap_or(host.usual_scope())));
    let mut roots = Vec::new();
    if scoped().any(|(_, scope)| scope == Scope::Project) {
        roots.push(site.project.clone());
    }
    if scoped().any(|(host, scope)| host.is_personal(scope)) {
        roots.push(personal()?.root);
    }
    for layout in roots.iter().map(|root| Layout::new(root)) {
        let cannot = |cause| ToolError::Unavailable(format!("cannot make {}: {cause}", layout.dir().display()));
        layout.create().map_err(cannot)?;
    }
    Ok(())
}

fn prepare(site: &Site, places: &Places, hosts: &[Host], scope: Option<Scope>) -> anyhow::Result<Preparation> {
    let programs = Programs::find(places);
    let found = look(places, Some(&site.files));
    let mut prepared = Preparation { plans: Vec::new(), entries: Vec::new(), notes: Vec::new() };
    for wanted in [Scope::Project, Scope::User] {
        let meant = |host: &&Host| scope.unwrap_or(host.usual_scope()) == wanted;
        let mut targets = Vec::new();
        for host in hosts.iter().filter(meant) {
            let commands = commands(&programs, wanted, *host)?;
            for mut target in host.targets(wanted, places, &site.files, &commands)? {
                if wanted == Scope::Project && site.is_linked() && name_project(&mut target, &site.project) {
                    prepared.notes.push(format!(
                        "{} is told the main worktree by its path, which is good on this machine only",
                        host.title()
                    ));
                }
                match elsewhere(&target, *host, &found, places) {
                    Some(note) => prepared.notes.push(note),
                    None => targets.push((*host, target)),
                }
            }
        }
        if targets.is_empty() {
            continue;
        }
        if wanted == Scope::Project && programs.memory.on_path.is_none() {
            prepared.notes.push(
                "jikime-memory is not on PATH: the files name it by its path, which is good on this machine only"
                    .to_owned(),
            );
        }
        prepared.entries.extend(targets.iter().filter_map(|(_, target)| match &target.part {
            Part::Server(_, entry) => Some((wanted, entry.clone())),
            Part::Hooks(_) | Part::Instructions => None,
        }));
        prepared.plans.push(Ground::new(wanted, places, site)?.to_set_up(targets)?);
    }
    prepared.entries.dedup();
    Ok(prepared)
}

/// Names the project in the place of the folder that a host has open, which in a linked worktree would get a memory of its own.
fn name_project(target: &mut Target, project: &Path) -> bool {
    let Part::Server(_, entry) = &mut target.part else { return false };
    let Some(argument) = entry.args.iter_mut().find(|argument| *argument == WORKSPACE) else { return false };
    *argument = project.to_string_lossy().into_owned();
    true
}

fn commands(programs: &Programs, scope: Scope, host: Host) -> Result<Commands, ToolError> {
    let missing = || {
        let text = "jikime-hook is neither on PATH nor beside jikime-memory; install it, as README.md tells";
        ToolError::NotFound(text.to_owned())
    };
    match programs.commands(scope) {
        Some(commands) => Ok(commands),
        // Only one host has hooks.
        None if host != Host::ClaudeCode => {
            let memory = programs.memory.command_in(scope).ok_or_else(missing)?;
            Ok(Commands { memory, hook: String::new() })
        }
        None => Err(missing()),
    }
}

/// Why something is left out: hooks that are called from two places remember everything twice.
fn elsewhere(target: &Target, host: Host, found: &[Found], places: &Places) -> Option<String> {
    if host != Host::ClaudeCode || target.part == Part::Instructions {
        return None;
    }
    let is_hooks = matches!(target.part, Part::Hooks(_));
    let other = found.iter().find(|found| match &found.what {
        What::Plugin(_) => true,
        What::Hooks(_) => is_hooks && found.path != target.path,
        _ => false,
    })?;
    let what = if is_hooks { "hooks are" } else { "server is" };
    let by = match &other.what {
        What::Plugin(name) => format!("the plugin {name} in {}", places.shown(&other.path)),
        _ => places.shown(&other.path),
    };
    Some(format!("the {what} set up already by {by}, and left out here"))
}

/// Starts the servers as their entries say. What is set up for all projects leaves nothing in the folder of this one.
fn check(entries: &[(Scope, Entry)], project: &Path) -> anyhow::Result<Option<Answered>> {
    let mut answered = None;
    for (scope, entry) in entries {
        let said = match scope {
            Scope::Project => probe(entry, project),
            Scope::User => probe_apart(entry),
        };
        let command = format!("{} {}", entry.command, entry.args.join(" "));
        let said = said.map_err(|error| {
            ToolError::Unavailable(format!(
                "everything is written, and the server does not work: `{command}`: {error}; jikime-memory doctor tells more"
            ))
        })?;
        answered = Some(said);
    }
    Ok(answered)
}

/// Three lines, as people want them after a setup.
fn tell_what_comes(
    server: &Answered,
    hosts: &[Host],
    scope: Option<Scope>,
    project: &Path,
    places: &Places,
    printer: &Printer,
) -> anyhow::Result<()> {
    let scoped: Vec<(Host, Scope)> = hosts.iter().map(|host| (*host, scope.unwrap_or(host.usual_scope()))).collect();
    let Answered { tools, version, milliseconds } = server;
    printer
        .told(&format!("The server starts and lists {} tools (version {version}, {milliseconds} ms).", tools.len()))?;
    printer.told(&format!("Next: start {} anew; {}.", titles(hosts), advice::what_comes(&scoped)))?;
    printer.told(&advice::commands(&scoped))?;
    if scoped.contains(&(Host::ClaudeCode, Scope::Project)) && has_transcripts(project) {
        printer.told(
            "There are sessions of this project from before: `jikime-memory import claude-code` takes them in.",
        )?;
    }
    let others: Vec<Host> =
        Host::all().iter().copied().filter(|host| !hosts.contains(host) && host.found_at(places).is_some()).collect();
    if others.is_empty() {
        return Ok(());
    }
    let options: Vec<String> = others.iter().map(|host| format!("--host {}", host.name())).collect();
    printer.told(&format!("Also on this machine: {}; jikime-memory init {}", titles(&others), options.join(" ")))
}

fn list_hosts(project: &Path, places: &Places, printer: &Printer) -> anyhow::Result<()> {
    let found = look(places, Some(project));
    let listings: Vec<Listing> = Host::all()
        .iter()
        .map(|host| {
            let of_host = found
                .iter()
                .filter(|found| found.host == *host && matches!(found.what, What::Server(_) | What::Plugin(_)));
            Listing {
                host: *host,
                title: host.title(),
                found: host.found_at(places),
                set_up: of_host.map(|found| found.path.clone()).collect(),
            }
        })
        .collect();
    if printer.is_json() {
        return printer.json(&listings);
    }
    let rows = listings.iter().map(|listing| {
        let set_up: Vec<String> = listing.set_up.iter().map(|path| shown(path, project, places)).collect();
        [
            listing.host.name(),
            listing.title.to_owned(),
            listing.found.as_ref().map_or_else(|| "-".to_owned(), |path| places.shown(path)),
            if set_up.is_empty() { "-".to_owned() } else { set_up.join(", ") },
        ]
    });
    printer.rows(["host", "is", "found here", "set up in"], &rows.collect::<Vec<_>>())
}

fn shown(path: &Path, project: &Path, places: &Places) -> String {
    path.strip_prefix(project).map_or_else(|_| places.shown(path), |relative| relative.display().to_string())
}

pub(super) fn file_reports(changes: &[Change]) -> Vec<FileReport<'_>> {
    changes.iter().map(|change| FileReport { path: &change.shown, change: change.kind() }).collect()
}

fn titles(hosts: &[Host]) -> String {
    hosts.iter().map(|host| host.title()).collect::<Vec<_>>().join(", ")
}

impl From<Answered> for ServerReport {
    fn from(Answered { tools, version, milliseconds }: Answered) -> Self {
        Self { tools, version, milliseconds }
    }
}
