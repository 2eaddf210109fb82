//! Checks a setup from the programs to the disk, and suggests fixes.
//!
//! Without `--fix` it changes nothing except the repairs that every command makes when it opens a store.

mod access;
mod check;
mod commands;
mod hosts;
mod machine;
mod repair;
mod store;

use std::path::Path;

use schema::files::layout::Layout;
use schema::files::project::{Project, ProjectError, ProjectReason, personal_project};

pub(crate) use check::DoctorCheck;
#[cfg(test)]
pub(crate) use check::Verdict;
pub(crate) use repair::{make_private, plan_repairs};

use crate::setup::detect::{DetectedPart, detect_all};
use crate::setup::host_dirs::{HostDirs, ProjectDirs};
use crate::setup::programs::Programs;

/// Runs all checks, prerequisites first.
///
/// `files` is the directory in which hosts look for the project's files.
pub(crate) fn run_checks(
    project: &Result<Project, ProjectError>,
    files: Option<&Path>,
    places: &HostDirs,
) -> Vec<DoctorCheck> {
    let is_personal = matches!(project, Ok(Project { reason: ProjectReason::Personal, .. }));
    // A personal memory has no project files.
    let files = files.filter(|_| !is_personal);
    let found = detect_all(places, files);
    let mut checks = vec![check_project(project, &found)];
    let programs = Programs::locate(places);
    let root = project.as_ref().ok().map(|project| project.root.as_path());
    if let Some(files) = files.filter(|files| Some(*files) != root) {
        let text = format!("host files are read from this worktree, {}", places.display_path(files));
        checks.push(DoctorCheck::fine("project", text));
    }
    checks.extend(machine::check_programs(&programs, hosts::is_named_by_path(&found)));
    checks.extend(hosts::check_setup(&found, places, files, is_personal));
    checks.extend(commands::check_commands(&found, &programs, places, files));
    let site =
        root.zip(files).map(|(project, files)| ProjectDirs { project: project.to_owned(), files: files.to_owned() });
    checks.extend(repair::check_records(site.as_ref(), places));
    let has_store = |root: &Path| !is_personal && Layout::new(root).store_dir().is_dir();
    if !root.is_some_and(has_store) && (is_personal || found.iter().any(DetectedPart::serves_personal)) {
        checks.extend(check_personal(&found, &programs, is_personal));
    }
    if root.is_none() {
        checks.extend(hosts::check_user_server(&found));
    }
    if let Some(site) = &site {
        let root = site.project.as_path();
        match found.iter().any(DetectedPart::starts_server) && store::is_missing(root) {
            true => checks.push(DoctorCheck::fine(
                "store",
                "this project has no memory yet; the server creates it when the first memory is saved",
            )),
            false => checks.extend(store::check_store(root)),
        }
        checks.extend(hosts::check_worktree_entries(&found, site));
        checks.extend(hosts::check_server(&found, &programs, site));
        checks.extend(machine::check_disk(root));
    }
    checks
}

/// Checks the personal memory, which serves hosts without projects.
fn check_personal(found: &[DetectedPart], programs: &Programs, is_meant: bool) -> Vec<DoctorCheck> {
    let Ok(Project { root, .. }) = personal_project() else { return Vec::new() };
    if store::is_missing(&root) {
        let text = "there is no personal memory yet";
        return vec![match is_meant {
            true => DoctorCheck::finding(
                "store",
                text,
                "run jikime-memory init --host claude-desktop; jikime-memory init --list-hosts lists other hosts",
            ),
            false => DoctorCheck::fine("store", format!("{text}; it is created when a host starts the server")),
        }];
    }
    let place =
        (!is_meant).then(|| DoctorCheck::fine("personal", format!("your personal memory is in {}", root.display())));
    let mut checks: Vec<DoctorCheck> = place.into_iter().chain(store::check_store(&root)).collect();
    checks.extend(hosts::check_personal_server(found, programs));
    checks.extend(machine::check_disk(&root).filter(|_| is_meant));
    checks
}

fn check_project(project: &Result<Project, ProjectError>, found: &[DetectedPart]) -> DoctorCheck {
    match project {
        Err(error) if found.iter().any(DetectedPart::starts_server) => {
            DoctorCheck::fine("project", format!("no project: {error}; the setup for all projects does not need one"))
        }
        Ok(Project { root, reason }) => DoctorCheck::fine("project", format!("{}, because {reason}", root.display())),
        Err(error) => {
            DoctorCheck::finding("project", error.to_string(), "run this in a project, or give --project DIR")
        }
    }
}
