//! `init`: shows the changes, sets up hosts, and tries to start the server.

mod advice;

use std::path::{Path, PathBuf};

use clap::Args;
use schema::files::layout::Layout;
use schema::files::project::personal_project;
use schema::settings;
use serde::Serialize;
use tools::error::ToolError;
use tools::registry::register;

use super::import::has_transcripts;
use super::output::Printer;
use super::setup_changes::{confirm_changes, show_changes};
use crate::doctor::make_private;
use crate::exit;
use crate::setup::change::FileChange;
use crate::setup::detect::{DetectedKind, DetectedPart, detect_all};
use crate::setup::hook_entries::HookSet;
use crate::setup::host::{Host, ProgramCommands, SetupScope, SetupTarget};
use crate::setup::host_dirs::{HostDirs, ProjectDirs};
use crate::setup::owned_part::OwnedPart;
use crate::setup::plan::{SetupContext, SetupPlan};
use crate::setup::probe::{ProbeResult, probe_in_temporary, probe_server};
use crate::setup::program_copies::ProgramCopies;
use crate::setup::programs::Programs;
use crate::setup::server_entry::{ServerEntry, WORKSPACE};

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The host to set up; may be repeated [default: claude-code]
    #[arg(long, value_name = "HOST")]
    host: Vec<Host>,
    /// List the supported hosts, and which are installed and set up
    #[arg(long)]
    list_hosts: bool,
    /// Set up this project, or all your projects [default: project, if the host has project files]
    #[arg(long)]
    scope: Option<SetupScope>,
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

impl InitArguments {
    /// A setup for all projects needs no current project.
    pub(crate) fn is_for_user(&self) -> bool {
        self.list_hosts || self.hosts().iter().all(|(_, scope)| *scope == SetupScope::User)
    }

    /// The hosts to set up, each with its scope.
    fn hosts(&self) -> Vec<(Host, SetupScope)> {
        let hosts = if self.host.is_empty() { &[Host::ClaudeCode] } else { self.host.as_slice() };
        hosts.iter().map(|host| (*host, self.scope.unwrap_or(host.default_scope()))).collect()
    }
}

#[derive(Debug, Serialize)]
struct InitReport<'r> {
    project: &'r Path,
    dry_run: bool,
    files: Vec<FileReport<'r>>,
    notes: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<ProbeResult>,
}

#[derive(Debug, Serialize)]
pub(super) struct FileReport<'r> {
    path: &'r str,
    change: &'static str,
}

#[derive(Debug, Serialize)]
struct HostListing {
    host: Host,
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<PathBuf>,
    set_up: Vec<PathBuf>,
}

/// Everything that is decided before a file is changed.
struct SetupPreparation {
    plans: Vec<SetupPlan>,
    /// The servers to test.
    entries: Vec<(SetupScope, ServerEntry)>,
    /// Copies of the programs that the files name.
    copies: ProgramCopies,
    notes: Vec<String>,
}

/// Sets up the hosts in `arguments`.
pub(crate) fn run_init(site: &ProjectDirs, printer: &Printer, arguments: &InitArguments) -> anyhow::Result<()> {
    let places = HostDirs::from_environment();
    if arguments.list_hosts {
        return list_hosts(&site.files, &places, printer);
    }
    let hosts = arguments.hosts();
    let SetupPreparation { plans, entries, copies, notes } = prepare_setup(site, &places, &hosts)?;
    let changes: Vec<FileChange> = plans.iter().flat_map(|plan| plan.changes.clone()).collect();
    if !printer.is_json() {
        let place = match arguments.is_for_user() {
            true => "all your projects".to_owned(),
            false => places.display_path(&site.files),
        };
        printer.print_wrapped(&format!("This sets up {} for {place}:", titles(hosts.iter().map(|(host, _)| *host))))?;
        if site.is_linked_worktree() && !arguments.is_for_user() {
            printer.print_wrapped(&format!(
                "The worktree uses the memory of the main worktree, {}",
                places.display_path(&site.project)
            ))?;
        }
        show_changes(printer, &changes, arguments.diff)?;
        notes.iter().for_each(|note| exit::print_warning(note));
    }
    let is_needed = plans.iter().any(|plan| !plan.is_empty()) || !copies.are_made();
    if is_needed && !arguments.dry_run && !confirm_changes(printer, &changes, "Write this?", arguments.yes)? {
        return printer.print_line("Nothing was written.");
    }
    let mut server = None;
    if !arguments.dry_run {
        copies.make()?;
        plans.into_iter().try_for_each(SetupPlan::carry_out)?;
        create_stores(site, &hosts)?;
        server = probe_servers(&entries, &site.files)?;
    }
    if printer.is_json() {
        let report = InitReport {
            project: &site.project,
            dry_run: arguments.dry_run,
            files: file_reports(&changes),
            notes: &notes,
            server,
        };
        return printer.print_json(&report);
    }
    let what = if !is_needed {
        "Everything is set up already."
    } else if arguments.dry_run {
        "Nothing was written."
    } else {
        "Written."
    };
    printer.print_line(&format!("\n{what}"))?;
    match server {
        Some(server) => print_next_steps(&server, &hosts, &site.project, &places, printer),
        None => Ok(()),
    }
}

/// Creates the stores, so that commands work before a host has started.
fn create_stores(site: &ProjectDirs, hosts: &[(Host, SetupScope)]) -> anyhow::Result<()> {
    let mut roots = Vec::new();
    if hosts.iter().any(|(_, scope)| *scope == SetupScope::Project) {
        roots.push(site.project.clone());
    }
    if hosts.iter().any(|(host, scope)| host.is_personal(*scope)) {
        roots.push(personal_project()?.root);
    }
    for layout in roots.iter().map(|root| Layout::new(root)) {
        let cannot = |cause| ToolError::Unavailable(format!("cannot create {}: {cause}", layout.store_dir().display()));
        layout.create_dirs_and_gitignore().map_err(cannot)?;
        // A clone of a repository with a committed store is open to others. `doctor` reports what cannot be changed.
        let _ = make_private(&layout);
        if layout.project() == site.project
            && settings::load(&layout).settings.other_projects
            && let Err(error) = register(&site.project)
        {
            exit::print_warning(&format!("the project is not registered: {error}"));
        }
    }
    Ok(())
}

fn prepare_setup(
    site: &ProjectDirs,
    places: &HostDirs,
    hosts: &[(Host, SetupScope)],
) -> anyhow::Result<SetupPreparation> {
    let programs = Programs::locate(places);
    let found = detect_all(places, Some(&site.files));
    let has_file_recall = settings::load(&Layout::new(&site.project)).settings.file_recall;
    let copies = programs.copies();
    let notes = copies.note(places).into_iter().collect();
    let mut prepared = SetupPreparation { plans: Vec::new(), entries: Vec::new(), copies, notes };
    for wanted in [SetupScope::Project, SetupScope::User] {
        let mut targets = Vec::new();
        for (host, _) in hosts.iter().filter(|(_, scope)| *scope == wanted) {
            let commands = program_commands(&programs, wanted, *host, has_file_recall)?;
            for mut target in host.targets(wanted, places, &site.files, &commands)? {
                if wanted == SetupScope::Project
                    && site.is_linked_worktree()
                    && name_project(&mut target, &site.project)
                {
                    prepared.notes.push(format!(
                        "the file of {} names the main worktree by its path, which works only on this machine",
                        host.title()
                    ));
                }
                if matches!(target.part, OwnedPart::Command(_)) && has_plugin(*host, &found) {
                    continue;
                }
                match duplicate_hooks_note(&target, *host, &found, places) {
                    Some(note) => prepared.notes.push(note),
                    None => targets.push((*host, target)),
                }
            }
        }
        if targets.is_empty() {
            continue;
        }
        if wanted == SetupScope::Project && programs.memory.needs_path() {
            let why = match programs.memory.on_path {
                None => "jikime-memory is not on PATH",
                Some(_) => "jikime-memory on PATH is a script",
            };
            prepared.notes.push(format!("{why}: the files name it by its path, which works only on this machine"));
        }
        prepared.entries.extend(targets.iter().filter_map(|(_, target)| match &target.part {
            OwnedPart::Server(_, entry) => Some((wanted, entry.clone())),
            OwnedPart::Hooks(..) | OwnedPart::Instructions | OwnedPart::Command(_) => None,
        }));
        prepared.plans.push(SetupContext::new(wanted, places, site)?.plan_setup(targets)?);
    }
    prepared.entries.dedup();
    Ok(prepared)
}

/// Replaces the open folder with the project. In a linked worktree the open folder would get its own memory.
fn name_project(target: &mut SetupTarget, project: &Path) -> bool {
    let OwnedPart::Server(_, entry) = &mut target.part else { return false };
    let Some(argument) = entry.args.iter_mut().find(|argument| *argument == WORKSPACE) else { return false };
    *argument = project.to_string_lossy().into_owned();
    true
}

fn program_commands(
    programs: &Programs,
    scope: SetupScope,
    host: Host,
    has_file_recall: bool,
) -> Result<ProgramCommands, ToolError> {
    let missing = || {
        let text = "jikime-hook is neither on PATH nor next to jikime-memory; README.md says how to install it";
        ToolError::NotFound(text.to_owned())
    };
    match programs.commands(scope, has_file_recall) {
        // Other hosts than Claude Code do not run hooks with the `PATH` of the user's shell.
        Some(mut commands) if host != Host::ClaudeCode => {
            if let Some(path) = programs.hook.path() {
                commands.hooks.program = path.to_string_lossy().into_owned();
            }
            Ok(commands)
        }
        Some(commands) => Ok(commands),
        None if host.hook_host().is_none() => {
            let memory = programs.memory.command_in(scope).ok_or_else(missing)?;
            Ok(ProgramCommands { memory, hooks: HookSet::default() })
        }
        None => Err(missing()),
    }
}

/// Whether the plugin is enabled, which has the same slash commands.
fn has_plugin(host: Host, found: &[DetectedPart]) -> bool {
    host == Host::ClaudeCode && found.iter().any(|found| matches!(found.kind, DetectedKind::Plugin(_)))
}

/// Why a target is skipped: hooks in two places store everything twice.
fn duplicate_hooks_note(target: &SetupTarget, host: Host, found: &[DetectedPart], places: &HostDirs) -> Option<String> {
    let is_hooks = matches!(target.part, OwnedPart::Hooks(..));
    // The server may be listed twice in other hosts, which take one name for one server.
    if !is_hooks && host != Host::ClaudeCode || matches!(target.part, OwnedPart::Instructions | OwnedPart::Command(_)) {
        return None;
    }
    let other = found.iter().filter(|found| found.host == host).find(|found| match &found.kind {
        DetectedKind::Plugin(_) => true,
        DetectedKind::Hooks(_) => is_hooks && found.path != target.path,
        _ => false,
    })?;
    let what = if is_hooks { "hooks are" } else { "server is" };
    let by = match &other.kind {
        DetectedKind::Plugin(name) => format!("the plugin {name} in {}", places.display_path(&other.path)),
        _ => places.display_path(&other.path),
    };
    Some(format!("the {what} set up already by {by} and skipped here"))
}

/// Starts the configured servers. Servers for all projects run in a temporary folder.
fn probe_servers(entries: &[(SetupScope, ServerEntry)], project: &Path) -> anyhow::Result<Option<ProbeResult>> {
    let mut answered = None;
    for (scope, entry) in entries {
        let said = match scope {
            SetupScope::Project => probe_server(entry, project),
            SetupScope::User => probe_in_temporary(entry),
        };
        answered = Some(said.map_err(|error| {
            ToolError::Unavailable(format!(
                "all files are written, but the server does not start: `{}`: {error}; run jikime-memory doctor for details",
                entry.command_line()
            ))
        })?);
    }
    Ok(answered)
}

/// Prints the next steps.
fn print_next_steps(
    server: &ProbeResult,
    hosts: &[(Host, SetupScope)],
    project: &Path,
    places: &HostDirs,
    printer: &Printer,
) -> anyhow::Result<()> {
    let ProbeResult { tools, version, milliseconds } = server;
    printer.print_wrapped(&format!(
        "The server starts and lists {} tools (version {version}, {milliseconds} ms).",
        tools.len()
    ))?;
    let names = titles(hosts.iter().map(|(host, _)| *host));
    printer.print_wrapped(&format!("Next: restart {names}; {}.", advice::next_session_text(hosts)))?;
    hosts
        .iter()
        .filter_map(|(host, scope)| host.memory_note(*scope))
        .try_for_each(|note| printer.print_wrapped(&note))?;
    printer.print_wrapped(&advice::command_hints(hosts))?;
    if hosts.contains(&(Host::ClaudeCode, SetupScope::Project)) && has_transcripts(project) {
        printer.print_wrapped("This project has earlier sessions; `jikime-memory import claude-code` imports them.")?;
    }
    let others: Vec<Host> = Host::all()
        .iter()
        .copied()
        .filter(|host| hosts.iter().all(|(other, _)| other != host) && host.find_on_machine(places).is_some())
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let options: Vec<String> = others.iter().map(|host| format!("--host {}", host.name())).collect();
    printer.print_wrapped(&format!(
        "Also on this machine: {}; jikime-memory init {}",
        titles(others.iter().copied()),
        options.join(" ")
    ))
}

fn list_hosts(project: &Path, places: &HostDirs, printer: &Printer) -> anyhow::Result<()> {
    let found = detect_all(places, Some(project));
    let listings: Vec<HostListing> = Host::all()
        .iter()
        .map(|host| {
            let of_host = found.iter().filter(|found| found.host == *host && found.starts_server());
            HostListing {
                host: *host,
                title: host.title(),
                found: host.find_on_machine(places),
                set_up: of_host.map(|found| found.path.clone()).collect(),
            }
        })
        .collect();
    if printer.is_json() {
        return printer.print_json(&listings);
    }
    let rows = listings.iter().map(|listing| {
        let set_up = listing.set_up.iter().map(|path| places.display_in_project(path, Some(project)));
        let set_up = set_up.collect::<Vec<_>>().join(", ");
        [
            listing.host.name(),
            listing.title.to_owned(),
            listing.found.as_ref().map_or_else(|| "-".to_owned(), |path| places.display_path(path)),
            if set_up.is_empty() { "-".to_owned() } else { set_up },
        ]
    });
    printer.rows(["--host", "program", "found at", "set up in"], &rows.collect::<Vec<_>>())
}

pub(super) fn file_reports(changes: &[FileChange]) -> Vec<FileReport<'_>> {
    changes.iter().map(|change| FileReport { path: &change.display_path, change: change.kind() }).collect()
}

fn titles(hosts: impl Iterator<Item = Host>) -> String {
    hosts.map(Host::title).collect::<Vec<_>>().join(", ")
}
