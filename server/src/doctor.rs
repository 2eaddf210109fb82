//! What is wrong with a memory on this machine, and how to mend it: looks at everything that must be right for events to get in and
//! be found again, from the programs to the disk.
//!
//! Changes nothing but what every command brings in order when it opens a store.

mod hosts;
mod machine;
mod store;

use std::path::Path;

use schema::project::{Project, ProjectError};
use serde::Serialize;

use crate::setup::found::look;
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
    let mut checks = vec![about_project(project)];
    let programs = Programs::find(places);
    let root = project.as_ref().ok().map(|project| project.root.as_path());
    if let Some(files) = files.filter(|files| Some(*files) != root) {
        let text = format!("the files of hosts are those of this worktree, {}", places.shown(files));
        checks.push(Check::fine("project", text));
    }
    let found = look(places, files);
    checks.extend(machine::programs(&programs, hosts::is_named_by_path(&found)));
    checks.extend(hosts::set_up(&found, places, files));
    if let (Some(root), Some(files)) = (root, files) {
        checks.extend(store::store(root));
        let site = Site { project: root.to_owned(), files: files.to_owned() };
        checks.extend(hosts::splitting(&found, &site));
        checks.extend(hosts::server(&found, &programs, &site));
        checks.extend(machine::disk(root));
    }
    checks
}

fn about_project(project: &Result<Project, ProjectError>) -> Check {
    match project {
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
