//! Checks the programs that host files start: they must stay where they are, start at once, and have this version.

use std::path::Path;

use super::check::{DoctorCheck, Repair};
use crate::setup::detect::{DetectedKind, DetectedPart};
use crate::setup::host_dirs::HostDirs;
use crate::setup::programs::{Programs, is_in_cache, is_shim, program_version, resolve_command};

const FIX: &str = "jikime-memory doctor --fix";

/// Findings for commands that work now, but not well. `hosts` reports those that do not exist.
pub(super) fn check_commands(
    found: &[DetectedPart],
    programs: &Programs,
    places: &HostDirs,
    root: Option<&Path>,
) -> Vec<DoctorCheck> {
    let mut checks: Vec<DoctorCheck> = Vec::new();
    for part in found {
        for command in commands_of(part) {
            let Some(problem) = command_problem(command, programs, places) else { continue };
            let about = if matches!(part.kind, DetectedKind::Hooks(_)) { "hooks" } else { "hosts" };
            let text = format!("{} starts {command}, {problem}", places.display_in_project(&part.path, root));
            let check = DoctorCheck::finding(about, text, FIX).with_repair(Repair::HostFiles);
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
    }
    checks
}

/// Whether a part of a host file starts a program that does not exist or has a problem.
pub(super) fn needs_repair(part: &DetectedPart, programs: &Programs, places: &HostDirs) -> bool {
    commands_of(part).iter().any(|command| {
        resolve_command(command, places.path.as_deref()).is_none()
            || command_problem(command, programs, places).is_some()
    })
}

fn commands_of(part: &DetectedPart) -> Vec<&str> {
    match &part.kind {
        DetectedKind::Server(server) => server.command.as_deref().into_iter().collect(),
        DetectedKind::Hooks(hooks) => {
            let mut commands: Vec<&str> = hooks.iter().map(|(_, program)| program.as_str()).collect();
            commands.dedup();
            commands
        }
        DetectedKind::Plugin(_) | DetectedKind::Broken(_) => Vec::new(),
    }
}

fn command_problem(command: &str, programs: &Programs, places: &HostDirs) -> Option<String> {
    let path = resolve_command(command, places.path.as_deref())?;
    let ours = [&programs.memory, &programs.hook];
    let program = ours.iter().find(|program| path.file_stem().is_some_and(|name| name == program.name))?;
    if is_in_cache(&path) {
        return Some("which is in a cache that is cleaned up".to_owned());
    }
    if is_shim(&path) {
        let native = program.path().filter(|native| !is_shim(native))?;
        return Some(format!("which is a script that starts {}", native.display()));
    }
    // `machine` reports the version of a program on PATH.
    if program.path() == Some(&path) {
        return None;
    }
    // A relative path may name a file of the project, which is not ours to start.
    if !Path::new(command).is_absolute() {
        return None;
    }
    let version = program_version(&path).unwrap_or_else(|| "an unknown version".to_owned());
    (version != env!("CARGO_PKG_VERSION"))
        .then(|| format!("which is {version}, but this is {}", env!("CARGO_PKG_VERSION")))
}
