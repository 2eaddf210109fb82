//! Checks the entries in host files: the server and the hooks must be set up once each, and their programs must exist.

use std::path::Path;

use schema::files::layout::Layout;
use schema::host::hook::HookHost;

use super::check::{DoctorCheck, Repair};
use crate::setup::detect::{DetectedKind, DetectedPart, trusted_codex_hooks};
use crate::setup::hook_entries::hooks_of;
use crate::setup::host::{Host, SetupScope};
use crate::setup::host_dirs::{HostDirs, ProjectDirs};
use crate::setup::probe::{ProbeResult, probe_in_temporary, probe_server};
use crate::setup::programs::{Programs, resolve_command};
use crate::setup::server_entry::{ListedServer, PERSONAL, ServerEntry, WORKSPACE};

const INIT: &str = "jikime-memory init";

pub(super) fn check_setup(
    found: &[DetectedPart],
    places: &HostDirs,
    root: Option<&Path>,
    is_personal: bool,
) -> Vec<DoctorCheck> {
    let place = |found: &DetectedPart| places.display_in_project(&found.path, root);
    let mut checks: Vec<DoctorCheck> = Vec::new();
    for found in found {
        match &found.kind {
            DetectedKind::Broken(error) => {
                checks.push(DoctorCheck::finding(
                    "hosts",
                    format!("{}: {error}", place(found)),
                    "repair the file; its host cannot read it",
                ));
            }
            DetectedKind::Server(ListedServer { command: Some(command), .. })
                if resolve_command(command, places.path.as_deref()).is_none() =>
            {
                let text = format!("{} starts {command}, which does not exist", place(found));
                let fix = format!("{INIT} --host {} --scope {}", found.host.name(), scope_name(found.scope));
                checks.push(DoctorCheck::finding("hosts", text, fix).with_repair(Repair::HostFiles));
            }
            _ => {}
        }
    }
    let hosts: Vec<Host> = Host::all()
        .iter()
        .copied()
        .filter(|host| found.iter().any(|found| found.host == *host && found.starts_server()))
        .collect();
    if hosts.is_empty() {
        checks.push(DoctorCheck::finding(
            "hosts",
            "no host is set up to start the server here",
            if is_personal {
                format!("{INIT} --host with one of the hosts that {INIT} --list-hosts lists")
            } else {
                format!("{INIT}, or {INIT} --list-hosts")
            },
        ));
    }
    checks.extend(hosts.iter().map(|host| check_servers(*host, found, &place)));
    checks.extend(check_lost_servers(&hosts, found, &place));
    if !is_personal {
        checks.extend(check_all_hooks(found, places, &place));
    }
    checks
}

/// Hosts with hooks of the project that do not start the server any more. Without it, the model cannot search.
fn check_lost_servers(
    serving: &[Host],
    found: &[DetectedPart],
    place: &dyn Fn(&DetectedPart) -> String,
) -> Vec<DoctorCheck> {
    let hooks_of = |host: Host| {
        let is_hooks = |part: &&DetectedPart| {
            part.host == host && part.scope == SetupScope::Project && matches!(part.kind, DetectedKind::Hooks(_))
        };
        found.iter().find(is_hooks)
    };
    // Windsurf has no servers of a project.
    let lost = Host::all().iter().filter(|host| **host != Host::Windsurf && !serving.contains(host));
    let check = |host: &Host| {
        let hooks = place(hooks_of(*host)?);
        let text = format!("{} does not start the server, although its hooks are in {hooks}", host.title());
        Some(DoctorCheck::finding("hosts", text, init_of(*host)))
    };
    // Without any server there is a finding already.
    if serving.is_empty() { Vec::new() } else { lost.filter_map(check).collect() }
}

/// Whether every host entry names the program by its absolute path. Then the program does not need to be on `PATH`.
pub(super) fn is_named_by_path(found: &[DetectedPart]) -> bool {
    let commands = found.iter().filter_map(|found| match &found.kind {
        DetectedKind::Server(server) => {
            Some(server.command.as_deref().is_some_and(|command| Path::new(command).is_absolute()))
        }
        _ => None,
    });
    let mut commands = commands.peekable();
    commands.peek().is_some() && commands.all(|is_absolute| is_absolute)
}

/// Where the memory's server is set up.
struct ServerSource {
    name: String,
    place: String,
    /// `None` for the server of a plugin, which the host skips if there is another server.
    is_personal: Option<bool>,
}

/// Checks that a host starts the memory under one name only. Two names show every tool twice.
fn check_servers(host: Host, found: &[DetectedPart], place: &dyn Fn(&DetectedPart) -> String) -> DoctorCheck {
    let source = |found: &DetectedPart| {
        let (name, is_personal) = match &found.kind {
            DetectedKind::Server(server) => (server.name.clone(), Some(server.is_personal())),
            DetectedKind::Plugin(name) => (format!("the plugin {name}"), None),
            _ => return None,
        };
        Some(ServerSource { name, place: place(found), is_personal })
    };
    let servers: Vec<ServerSource> = found.iter().filter(|found| found.host == host).filter_map(source).collect();
    let list: Vec<String> = servers.iter().map(|server| format!("{} in {}", server.name, server.place)).collect();
    let has_project_server = servers.iter().any(|server| server.is_personal != Some(true));
    let note = host.memory_note(SetupScope::User).filter(|_| !has_project_server);
    let text =
        format!("{}: {}{}", host.title(), list.join(", "), note.map(|note| format!(". {note}")).unwrap_or_default());
    // For the host, the same name in two places is one server.
    let differs = |personal: bool| {
        let of_kind = servers.iter().filter(|server| server.is_personal == Some(personal));
        let mut names: Vec<&str> = of_kind.map(|server| server.name.as_str()).collect();
        names.dedup();
        names.len() > 1
    };
    if differs(false) || differs(true) {
        DoctorCheck::finding("hosts", format!("{text}: the same memory has more than one name"), "keep one of them")
    } else {
        DoctorCheck::fine("hosts", text)
    }
}

/// Where hooks are set up. A plugin brings its own hooks, which are not checked.
struct HookSource<'f> {
    place: String,
    path: &'f Path,
    hooks: Option<&'f [(String, String)]>,
}

/// Checks the hooks of each host that has hooks or that starts the server.
fn check_all_hooks(
    found: &[DetectedPart],
    places: &HostDirs,
    place: &dyn Fn(&DetectedPart) -> String,
) -> Vec<DoctorCheck> {
    let is_set_up = |host: Host| {
        found.iter().any(|found| {
            found.host == host
                && matches!(found.kind, DetectedKind::Server(_) | DetectedKind::Hooks(_) | DetectedKind::Plugin(_))
        })
    };
    let hosts = Host::all().iter().copied().filter(|host| is_set_up(*host));
    let hooked: Vec<(Host, HookHost)> = hosts.filter_map(|host| Some((host, host.hook_host()?))).collect();
    if hooked.is_empty() {
        let has_host = found.iter().any(|found| matches!(found.kind, DetectedKind::Server(_)));
        return vec![if has_host {
            let text = "not needed, because no host with hooks is set up; models save memories themselves";
            DoctorCheck::fine("hooks", text)
        } else {
            DoctorCheck::finding("hooks", "no hooks are set up, so sessions are not recorded", INIT)
        }];
    }
    hooked.iter().map(|(host, form)| check_hooks(*host, *form, found, places, place)).collect()
}

/// Checks that the hooks of a host are set up in one place. Two places process every event twice.
fn check_hooks(
    host: Host,
    form: HookHost,
    found: &[DetectedPart],
    places: &HostDirs,
    place: &dyn Fn(&DetectedPart) -> String,
) -> DoctorCheck {
    let mut sources: Vec<HookSource<'_>> = Vec::new();
    for found in found.iter().filter(|found| found.host == host) {
        let (place, hooks) = match &found.kind {
            DetectedKind::Hooks(hooks) => (place(found), Some(hooks.as_slice())),
            DetectedKind::Plugin(name) => (format!("the plugin {name} in {}", place(found)), None),
            _ => continue,
        };
        sources.push(HookSource { place, path: &found.path, hooks });
    }
    match &sources[..] {
        [] => {
            let text = format!("no hooks of {} are set up, so its sessions are not recorded", host.title());
            DoctorCheck::finding("hooks", text, init_of(host))
        }
        [HookSource { place, hooks: None, .. }] => DoctorCheck::fine("hooks", format!("set up by {place}")),
        [HookSource { place, path, hooks: Some(hooks) }] => check_hook_file(host, form, place, hooks, places)
            .unwrap_or_else(|| check_trust(host, form, place, path, places)),
        several => {
            let list = several.iter().map(|source| source.place.as_str()).collect::<Vec<_>>().join(" and ");
            let mut fix = "keep one: jikime-memory uninstall removes them from this project, with --scope user from your own settings".to_owned();
            // No command of ours edits this file.
            if let Some(source) = several.iter().find(|source| source.place.ends_with("settings.local.json")) {
                fix = format!("delete the hooks that call jikime-hook from {} by hand", source.place);
            }
            DoctorCheck::finding("hooks", format!("set up in {list}, so every event is processed twice"), fix)
        }
    }
}

/// The command that repairs the entries of a host.
fn init_of(host: Host) -> String {
    if host == Host::ClaudeCode { INIT.to_owned() } else { format!("{INIT} --host {}", host.name()) }
}

/// Returns what is wrong with the hooks of a file.
fn check_hook_file(
    host: Host,
    form: HookHost,
    place: &str,
    hooks: &[(String, String)],
    places: &HostDirs,
) -> Option<DoctorCheck> {
    let count = |event: &str| hooks.iter().filter(|(found, _)| found == event).count();
    let events = || hooks_of(form).iter().map(|hook| hook.event);
    let missing: Vec<&str> = events().filter(|event| count(event) == 0).collect();
    let twice: Vec<&str> = events().filter(|event| count(event) > 1).collect();
    let is_gone = |program: &str| resolve_command(program, places.path.as_deref()).is_none();
    if let Some((_, program)) = hooks.iter().find(|(_, program)| is_gone(program)) {
        let text = format!("{place} calls {program}, which does not exist");
        let fix = format!("install jikime-hook, or run {} to write its path", init_of(host));
        return Some(DoctorCheck::finding("hooks", text, fix).with_repair(Repair::HostFiles));
    }
    let (text, fix) = if !twice.is_empty() {
        (format!("{place} calls jikime-hook more than once for {}", twice.join(", ")), init_of(host))
    } else if !missing.is_empty() {
        let old = "; ignore this if you deleted PostCompact for an old version of Claude Code";
        let fix = format!("{}{}", init_of(host), if host == Host::ClaudeCode { old } else { "" });
        (format!("{place} has no hook for {}", missing.join(", ")), fix)
    } else {
        return None;
    };
    Some(DoctorCheck::finding("hooks", text, fix))
}

/// Codex runs hooks only after its user has trusted them.
fn check_trust(host: Host, form: HookHost, place: &str, path: &Path, places: &HostDirs) -> DoctorCheck {
    let all = hooks_of(form).len();
    if host != Host::Codex {
        return DoctorCheck::fine("hooks", format!("all {all} in {place}"));
    }
    match trusted_codex_hooks(places, path) {
        trusted if trusted >= all => DoctorCheck::fine("hooks", format!("all {all} in {place}, trusted in Codex")),
        trusted => DoctorCheck::finding(
            "hooks",
            format!("Codex runs {trusted} of the {all} hooks in {place}, because you have not trusted the others"),
            "start codex here and choose to trust the hooks, or type /hooks in it",
        ),
    }
}

/// Entries that name the open folder. With them, a linked worktree would get its own memory.
pub(super) fn check_worktree_entries(found: &[DetectedPart], site: &ProjectDirs) -> Vec<DoctorCheck> {
    let splits = |found: &&DetectedPart| match &found.kind {
        DetectedKind::Server(server) => {
            found.scope == SetupScope::Project && server.args.iter().any(|arg| arg == WORKSPACE)
        }
        _ => false,
    };
    let check = |found: &DetectedPart| {
        let place = found.path.strip_prefix(&site.files).unwrap_or(&found.path).display();
        let text = format!("{place} names the open folder, so this worktree gets its own memory");
        let fix = format!("{INIT} --host {}, which names the main worktree", found.host.name());
        DoctorCheck::finding("hosts", text, fix)
    };
    if site.is_linked_worktree() { found.iter().filter(splits).map(check).collect() } else { Vec::new() }
}

/// Starts the server as the project's host would, or this program if no host is set up.
pub(super) fn check_server(found: &[DetectedPart], programs: &Programs, site: &ProjectDirs) -> Option<DoctorCheck> {
    let entry = entries(found, SetupScope::Project).next().or_else(|| own_entry(programs, &["serve"]))?;
    if !is_installed(&entry.command, programs) {
        let text = format!("`{}` is not the installed program, so it was not started", entry.command_line());
        return Some(DoctorCheck::finding("server", text, INIT));
    }
    // This check must not create a store.
    let has_store = Layout::new(&site.project).store_dir().is_dir();
    // An entry that names the open folder would create a store in a linked worktree.
    let makes_one = site.is_linked_worktree() && entry.args.iter().any(|arg| arg == WORKSPACE);
    Some(check_answers(&entry, |entry| {
        if has_store && !makes_one { probe_server(entry, &site.files) } else { probe_in_temporary(entry) }
    }))
}

/// Whether a command of a project's file starts a program that the user has installed. A project may come from a stranger.
fn is_installed(command: &str, programs: &Programs) -> bool {
    let memory = &programs.memory;
    let known = [&memory.on_path, &memory.copy, &memory.sibling];
    command == memory.name || known.into_iter().flatten().any(|path| path.as_path() == Path::new(command))
}

/// Starts the server of the personal memory.
pub(super) fn check_personal_server(found: &[DetectedPart], programs: &Programs) -> Option<DoctorCheck> {
    let set_up = entries(found, SetupScope::User).find(ServerEntry::is_personal);
    let entry = set_up.or_else(|| own_entry(programs, &["serve", PERSONAL]))?;
    Some(check_answers(&entry, probe_in_temporary))
}

/// Without a project, starts the server that is set up for all projects.
pub(super) fn check_user_server(found: &[DetectedPart]) -> Option<DoctorCheck> {
    let entry = entries(found, SetupScope::User).find(|entry| !entry.is_personal())?;
    Some(check_answers(&entry, probe_in_temporary))
}

/// This program as a server.
fn own_entry(programs: &Programs, args: &[&str]) -> Option<ServerEntry> {
    let command = programs.memory.sibling.as_ref()?.to_string_lossy().into_owned();
    Some(ServerEntry { command, args: args.iter().map(|arg| (*arg).to_owned()).collect() })
}

/// The server entries of a scope.
fn entries(found: &[DetectedPart], scope: SetupScope) -> impl Iterator<Item = ServerEntry> {
    found.iter().filter(move |found| found.scope == scope).filter_map(|found| match &found.kind {
        DetectedKind::Server(ListedServer { command: Some(command), args, .. }) => {
            Some(ServerEntry { command: command.clone(), args: args.clone() })
        }
        _ => None,
    })
}

fn check_answers(entry: &ServerEntry, probe: impl FnOnce(&ServerEntry) -> Result<ProbeResult, String>) -> DoctorCheck {
    let command = entry.command_line();
    match probe(entry) {
        Ok(answered) => DoctorCheck::fine(
            "server",
            format!("`{command}` lists {} tools in {} ms", answered.tools.len(), answered.milliseconds),
        ),
        Err(error) => {
            DoctorCheck::finding("server", format!("`{command}`: {error}"), "run the command in a terminal for details")
        }
    }
}

fn scope_name(scope: SetupScope) -> &'static str {
    match scope {
        SetupScope::Project => "project",
        SetupScope::User => "user",
    }
}
