//! What is wrong with a memory on this machine, and how to mend it: looks at everything that must be right for events to get in and
//! be found again, from the programs to the disk.
//!
//! Changes nothing but what every command brings in order when it opens a store.

mod hosts;
mod machine;
mod store;

use std::path::Path;

use schema::layout::Layout;
use schema::project::{Project, ProjectError, Reason, personal};
use serde::Serialize;

use crate::setup::found::{Found, What, look};
use crate::setup::places::Places;
use crate::setup::programs::Programs;
use crate::setup::site::Site;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) about: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) what: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Fine,
    Finding,
}

impl Check {
    fn fine(about: &'static str, what: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Fine, what: what.into(), fix: None }
    }

    fn finding(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Finding, what: what.into(), fix: Some(fix.into()) }
    }

    pub(crate) fn is_finding(&self) -> bool {
        self.verdict == Verdict::Finding
    }
}

/// Looks at everything, in the order in which one thing needs the other.
///
/// `files` is where the hosts of the project look for theirs.
pub(crate) fn examine(project: &Result<Project, ProjectError>, files: Option<&Path>, places: &Places) -> Vec<Check> {
    let is_personal = matches!(project, Ok(Project { reason: Reason::Personal, .. }));
    // A memory of one's own knows the files of no project.
    let files = files.filter(|_| !is_personal);
    let found = look(places, files);
    let mut checks = vec![about_project(project, &found)];
    let programs = Programs::find(places);
    let root = project.as_ref().ok().map(|project| project.root.as_path());
    if let Some(files) = files.filter(|files| Some(*files) != root) {
        let text = format!("the files of hosts are those of this worktree, {}", places.shown(files));
        checks.push(Check::fine("project", text));
    }
    checks.extend(machine::programs(&programs, hosts::is_named_by_path(&found)));
    checks.extend(hosts::set_up(&found, places, files, is_personal));
    let has_store = |root: &Path| !is_personal && Layout::new(root).dir().is_dir();
    if !root.is_some_and(has_store) && (is_personal || found.iter().any(serves_personal)) {
        checks.extend(of_ones_own(&found, &programs, is_personal));
    }
    if root.is_none() {
        checks.extend(hosts::server_of_user(&found));
    }
    if let (Some(root), Some(files)) = (root, files) {
        match found.iter().any(is_set_up) && store::is_missing(root) {
            true => checks.push(Check::fine(
                "store",
                "this project has no memory yet, and needs none before something is remembered in it",
            )),
            false => checks.extend(store::store(root)),
        }
        let site = Site { project: root.to_owned(), files: files.to_owned() };
        checks.extend(hosts::splitting(&found, &site));
        checks.extend(hosts::server(&found, &programs, &site));
        checks.extend(machine::disk(root));
    }
    checks
}

/// Whether hosts start the server, so that a store is made when there is something to remember.
fn is_set_up(found: &Found) -> bool {
    matches!(found.what, What::Server(_) | What::Plugin(_))
}

fn serves_personal(found: &Found) -> bool {
    matches!(&found.what, What::Server(server) if server.is_personal())
}

/// The memory of the user's own, which hosts without projects serve.
fn of_ones_own(found: &[Found], programs: &Programs, is_meant: bool) -> Vec<Check> {
    let Ok(Project { root, .. }) = personal() else { return Vec::new() };
    if store::is_missing(&root) {
        let text = "there is no memory of your own yet";
        return vec![match is_meant {
            true => Check::finding(
                "store",
                text,
                "jikime-memory init --host claude-desktop, or another host that init --list-hosts names",
            ),
            false => Check::fine("store", format!("{text}; it is made when a host starts the server")),
        }];
    }
    let place = (!is_meant).then(|| Check::fine("personal", format!("your own memory is in {}", root.display())));
    let mut checks: Vec<Check> = place.into_iter().chain(store::store(&root)).collect();
    checks.extend(hosts::server_of_ones_own(found, programs));
    checks.extend(machine::disk(&root).filter(|_| is_meant));
    checks
}

fn about_project(project: &Result<Project, ProjectError>, found: &[Found]) -> Check {
    match project {
        Err(error) if found.iter().any(is_set_up) => {
            Check::fine("project", format!("none: {error}; what is set up for all projects needs none"))
        }
        Ok(Project { root, reason }) => Check::fine("project", format!("{}, because {reason}", root.display())),
        Err(error) => {
            Check::finding("project", error.to_string(), "run this in a project, or name one with --project DIR")
        }
    }
}

/// A path below the project without the project.
fn shown(path: &Path, root: Option<&Path>, places: &Places) -> String {
    match root.and_then(|root| path.strip_prefix(root).ok()) {
        Some(relative) => relative.to_string_lossy().replace('\\', "/"),
        None => places.shown(path),
    }
}
