//! What hosts were told: whether the server and the hooks are there, once each, and start what they name.

use std::path::Path;

use schema::layout::Layout;

use super::{Check, shown};
use crate::setup::found::{Found, What};
use crate::setup::hooks::HOOKS;
use crate::setup::host::{Host, Scope, WORKSPACE};
use crate::setup::places::Places;
use crate::setup::probe::{Answered, probe, probe_apart};
use crate::setup::programs::{Programs, resolve};
use crate::setup::server_entry::{Entry, Listed, PERSONAL};
use crate::setup::site::Site;

const INIT: &str = "jikime-memory init";

pub(super) fn set_up(found: &[Found], places: &Places, root: Option<&Path>, is_personal: bool) -> Vec<Check> {
    let place = |found: &Found| shown(&found.path, root, places);
    let mut checks: Vec<Check> = Vec::new();
    for found in found {
        match &found.what {
            What::Broken(error) => {
                checks.push(Check::finding(
                    "hosts",
                    format!("{}: {error}", place(found)),
                    "mend the file; its host cannot read it",
                ));
            }
            What::Server(Listed { command: Some(command), .. })
                if resolve(command, places.path.as_deref()).is_none() =>
            {
                let text = format!("{} starts {command}, which is not there", place(found));
                let fix = format!("{INIT} --host {} --scope {}", found.host.name(), scope_name(found.scope));
                checks.push(Check::finding("hosts", text, fix));
            }
            _ => {}
        }
    }
    let hosts: Vec<Host> = Host::all()
        .iter()
        .copied()
        .filter(|host| {
            found.iter().any(|found| found.host == *host && matches!(found.what, What::Server(_) | What::Plugin(_)))
        })
        .collect();
    if hosts.is_empty() {
        checks.push(Check::finding(
            "hosts",
            "no host starts the server here",
            if is_personal {
                format!("{INIT} --list-hosts, and {INIT} --host with one of them")
            } else {
                format!("{INIT}, or {INIT} --list-hosts")
            },
        ));
    }
    checks.extend(hosts.iter().map(|host| servers(*host, found, &place)));
    if !is_personal {
        checks.push(hooks(found, places, &place));
    }
    checks
}

/// Whether every entry of hosts names the program by where it is, so that it need not be on `PATH`.
pub(super) fn is_named_by_path(found: &[Found]) -> bool {
    let commands = found.iter().filter_map(|found| match &found.what {
        What::Server(server) => Some(server.command.as_deref().is_some_and(|command| Path::new(command).is_absolute())),
        _ => None,
    });
    let mut commands = commands.peekable();
    commands.peek().is_some() && commands.all(|is_absolute| is_absolute)
}

/// A host with the same memory twice shows every tool twice.
fn servers(host: Host, found: &[Found], place: &dyn Fn(&Found) -> String) -> Check {
    let of_host: Vec<&Found> = found.iter().filter(|found| found.host == host).collect();
    // The last tells whether it is personal; of a plugin's server, which the host leaves out beside another one, it is unknown.
    let mut servers: Vec<(String, String, Option<bool>)> = Vec::new();
    for found in &of_host {
        match &found.what {
            What::Server(server) => servers.push((server.name.clone(), place(found), Some(server.is_personal()))),
            What::Plugin(name) => servers.push((format!("the plugin {name}"), place(found), None)),
            _ => {}
        }
    }
    let list = servers.iter().map(|(name, place, _)| format!("{name} in {place}")).collect::<Vec<_>>().join(", ");
    let text = format!("{}: {list}", host.title());
    // The same name in two places is one server to the host: the nearer one.
    let differs = |personal: bool| {
        let mut names: Vec<&str> =
            servers.iter().filter(|(.., is)| *is == Some(personal)).map(|(name, ..)| name.as_str()).collect();
        names.dedup();
        names.len() > 1
    };
    if differs(false) || differs(true) {
        Check::finding("hosts", format!("{text}: the same memory under more than one name"), "keep one of them")
    } else {
        Check::fine("hosts", text)
    }
}

/// Where hooks come from; those of a plugin are as it brings them.
struct Source<'f> {
    place: String,
    hooks: Option<&'f [(String, String)]>,
}

/// Hooks that are called from two places remember everything twice.
fn hooks(found: &[Found], places: &Places, place: &dyn Fn(&Found) -> String) -> Check {
    let mut sources: Vec<Source<'_>> = Vec::new();
    for found in found {
        match &found.what {
            What::Hooks(hooks) => sources.push(Source { place: place(found), hooks: Some(hooks) }),
            What::Plugin(name) => {
                sources.push(Source { place: format!("the plugin {name} in {}", place(found)), hooks: None });
            }
            _ => {}
        }
    }
    let is_server = |found: &&Found| matches!(found.what, What::Server(_));
    let is_without = found.iter().any(|found| is_server(&found))
        && !found.iter().filter(is_server).any(|found| found.host == Host::ClaudeCode);
    match &sources[..] {
        [] if is_without => {
            Check::fine("hooks", "none, for no host with hooks is set up; models save what they are to remember")
        }
        [] => Check::finding("hooks", "no hooks are set up, so sessions are not captured", INIT),
        [Source { place, hooks: None }] => Check::fine("hooks", format!("by {place}")),
        [Source { place, hooks: Some(hooks) }] => of_one_file(place, hooks, places),
        several => {
            let list = several.iter().map(|source| source.place.as_str()).collect::<Vec<_>>().join(" and ");
            let mut fix = "keep one: jikime-memory uninstall takes them out of this project, with --scope user of your own settings".to_owned();
            // That one is its user's, and nothing of ours writes it.
            if let Some(source) = several.iter().find(|source| source.place.ends_with("settings.local.json")) {
                fix = format!("take the hooks that call jikime-hook out of {} by hand", source.place);
            }
            Check::finding("hooks", format!("set up in {list}, so events are kept twice or cost twice"), fix)
        }
    }
}

fn of_one_file(place: &str, hooks: &[(String, String)], places: &Places) -> Check {
    let missing: Vec<&str> =
        HOOKS.iter().map(|hook| hook.event).filter(|event| !hooks.iter().any(|(found, _)| found == event)).collect();
    let twice: Vec<&str> = HOOKS
        .iter()
        .map(|hook| hook.event)
        .filter(|event| hooks.iter().filter(|(found, _)| found == event).count() > 1)
        .collect();
    let gone =
        hooks.iter().map(|(_, program)| program).find(|program| resolve(program, places.path.as_deref()).is_none());
    let (text, fix) = if let Some(program) = gone {
        (
            format!("{place} calls {program}, which is not there"),
            "install jikime-hook, or jikime-memory init to write its path",
        )
    } else if !twice.is_empty() {
        (format!("{place} calls the hooks client more than once for {}", twice.join(", ")), INIT)
    } else if !missing.is_empty() {
        let fix = "jikime-memory init; a client of January 2026 wants no PostCompact, and then this is as it should be";
        (format!("{place} has no hook for {}", missing.join(", ")), fix)
    } else {
        return Check::fine("hooks", format!("all {} in {place}", HOOKS.len()));
    };
    Check::finding("hooks", text, fix)
}

/// Entries that name the folder which is open: a worktree that shares a memory would get one of its own by them.
pub(super) fn splitting(found: &[Found], site: &Site) -> Vec<Check> {
    let splits = |found: &&Found| match &found.what {
        What::Server(server) => found.scope == Scope::Project && server.args.iter().any(|arg| arg == WORKSPACE),
        _ => false,
    };
    let check = |found: &Found| {
        let place = found.path.strip_prefix(&site.files).unwrap_or(&found.path).display();
        let text = format!("{place} names the folder that is open, which gives this worktree a memory of its own");
        let fix = format!("{INIT} --host {}, which names the main worktree", found.host.name());
        Check::finding("hosts", text, fix)
    };
    if site.is_linked() { found.iter().filter(splits).map(check).collect() } else { Vec::new() }
}

/// Starts the server as a host of the project would, or as this program can where none does.
pub(super) fn server(found: &[Found], programs: &Programs, site: &Site) -> Option<Check> {
    let entry = found.iter().find_map(|found| match &found.what {
        What::Server(Listed { command: Some(command), args, .. }) if found.scope == Scope::Project => {
            Some(Entry { command: command.clone(), args: args.clone() })
        }
        _ => None,
    });
    let own = || {
        programs
            .memory
            .beside
            .as_ref()
            .map(|path| Entry { command: path.to_string_lossy().into_owned(), args: vec!["serve".to_owned()] })
    };
    let entry = entry.or_else(own)?;
    // Looking makes no store where there is none.
    let has_store = Layout::new(&site.project).dir().is_dir();
    // An entry that names the folder which is open would make one in a worktree that shares another's.
    let makes_one = site.is_linked() && entry.args.iter().any(|arg| arg == WORKSPACE);
    Some(answers(&entry, |entry| if has_store && !makes_one { probe(entry, &site.files) } else { probe_apart(entry) }))
}

/// Starts the server of the user's own memory, as a host of it would.
pub(super) fn server_of_ones_own(found: &[Found], programs: &Programs) -> Option<Check> {
    let own = || {
        let command = programs.memory.beside.as_ref()?.to_string_lossy().into_owned();
        Some(Entry { command, args: vec!["serve".to_owned(), PERSONAL.to_owned()] })
    };
    let entry = entries(found).find(Entry::is_personal).or_else(own)?;
    Some(answers(&entry, probe_apart))
}

/// Starts a server that is set up for all projects, where there is none.
pub(super) fn server_of_user(found: &[Found]) -> Option<Check> {
    let entry = entries(found).find(|entry| !entry.is_personal())?;
    Some(answers(&entry, probe_apart))
}

/// What hosts start for all projects.
fn entries(found: &[Found]) -> impl Iterator<Item = Entry> {
    found.iter().filter(|found| found.scope == Scope::User).filter_map(|found| match &found.what {
        What::Server(Listed { command: Some(command), args, .. }) => {
            Some(Entry { command: command.clone(), args: args.clone() })
        }
        _ => None,
    })
}

fn answers(entry: &Entry, probe: impl FnOnce(&Entry) -> Result<Answered, String>) -> Check {
    let command = format!("{} {}", entry.command, entry.args.join(" "));
    match probe(entry) {
        Ok(answered) => Check::fine(
            "server",
            format!("`{command}` lists {} tools in {} ms", answered.tools.len(), answered.milliseconds),
        ),
        Err(error) => {
            Check::finding("server", format!("`{command}`: {error}"), "run the command in a terminal to see more")
        }
    }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "project",
        Scope::User => "user",
    }
}
