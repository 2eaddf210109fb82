//! Repairs what needs no decision of a person: the paths in host files, the setup record, the store's permissions, rows and index.

use std::collections::BTreeSet;
use std::path::Path;

use schema::files::layout::Layout;
use schema::settings;
use schema::tool::ReindexInput;
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;

use super::check::{DoctorCheck, Repair};
use super::commands::needs_repair;
use crate::setup::change::FileChange;
use crate::setup::detect::{DetectedKind, DetectedPart, detect_all};
use crate::setup::host::{Host, SetupScope, SetupTarget};
use crate::setup::host_dirs::{HostDirs, ProjectDirs};
use crate::setup::owned_part::OwnedPart;
use crate::setup::plan::{SetupContext, SetupPlan};
use crate::setup::program_copies::ProgramCopies;
use crate::setup::programs::Programs;

/// What `doctor --fix` is about to do.
#[derive(Debug)]
pub(crate) struct RepairPlan {
    kinds: BTreeSet<Repair>,
    plans: Vec<SetupPlan>,
    copies: ProgramCopies,
    site: Option<ProjectDirs>,
}

/// Plans the repairs of all findings. Nothing is changed.
pub(crate) fn plan_repairs(
    checks: &[DoctorCheck],
    site: Option<&ProjectDirs>,
    places: &HostDirs,
) -> Result<RepairPlan, ToolError> {
    let kinds: BTreeSet<Repair> = checks.iter().filter_map(|check| check.repair).collect();
    let mut plan = RepairPlan { kinds, plans: Vec::new(), copies: ProgramCopies::default(), site: site.cloned() };
    let is_of_files = |kind: &Repair| matches!(kind, Repair::HostFiles | Repair::SetupRecord);
    if !plan.kinds.iter().any(is_of_files) {
        return Ok(plan);
    }
    let programs = Programs::locate(places);
    let files = site.map(|site| site.files.as_path());
    let found = detect_all(places, files);
    for scope in [SetupScope::Project, SetupScope::User] {
        let Some(context) = setup_context(scope, places, site) else { continue };
        let targets = broken_targets(&found, scope, &programs, places, site)?;
        if !targets.is_empty() || context.has_stale_record() {
            plan.plans.push(context.plan_setup(targets)?);
        }
    }
    if plan.kinds.contains(&Repair::HostFiles) {
        plan.copies = programs.copies();
    }
    Ok(plan)
}

/// Whether a setup record is stale, unless the store is refused.
pub(super) fn check_records(site: Option<&ProjectDirs>, places: &HostDirs) -> Option<DoctorCheck> {
    if site.is_some_and(is_refused) {
        return None;
    }
    let is_stale = |scope| setup_context(scope, places, site).is_some_and(|context| context.has_stale_record());
    [SetupScope::Project, SetupScope::User].into_iter().any(is_stale).then(|| {
        let text = "the setup record names files that do not exist, or cannot be read";
        DoctorCheck::finding("hosts", text, "jikime-memory doctor --fix").with_repair(Repair::SetupRecord)
    })
}

fn is_refused(site: &ProjectDirs) -> bool {
    Layout::new(&site.project).verify_dirs().is_err()
}

fn setup_context(scope: SetupScope, places: &HostDirs, site: Option<&ProjectDirs>) -> Option<SetupContext> {
    match (scope, site) {
        // Until every directory of the store is private, its setup record is not read, so nothing of the project can be planned.
        (SetupScope::Project, site) => SetupContext::new(scope, places, site.filter(|site| !is_refused(site))?).ok(),
        // The place of the user's record does not depend on a project.
        (SetupScope::User, _) => SetupContext::new(scope, places, &ProjectDirs::for_project(Path::new(""))).ok(),
    }
}

/// Our parts of host files that start wrong programs, as they should be.
fn broken_targets(
    found: &[DetectedPart],
    scope: SetupScope,
    programs: &Programs,
    places: &HostDirs,
    site: Option<&ProjectDirs>,
) -> Result<Vec<(Host, SetupTarget)>, ToolError> {
    let project = site.map_or(Path::new(""), |site| site.files.as_path());
    let has_file_recall = site.is_some_and(|site| settings::load(&Layout::new(&site.project)).settings.file_recall);
    let mut targets: Vec<(Host, SetupTarget)> = Vec::new();
    for part in found.iter().filter(|part| part.scope == scope && needs_repair(part, programs, places)) {
        let Some(commands) = programs.commands(scope, has_file_recall) else {
            let text = "jikime-hook is neither on PATH nor next to jikime-memory; install both programs";
            return Err(ToolError::NotFound(text.to_owned()));
        };
        let wanted = part.host.targets(scope, places, project, &commands)?;
        let fitting = wanted.into_iter().filter(|target| target.path == part.path && is_same_part(target, part));
        targets.extend(fitting.map(|target| (part.host, target)));
    }
    targets.dedup();
    Ok(targets)
}

fn is_same_part(target: &SetupTarget, part: &DetectedPart) -> bool {
    match (&target.part, &part.kind) {
        (OwnedPart::Server(_, entry), DetectedKind::Server(server)) => server.is_personal() == entry.is_personal(),
        (OwnedPart::Hooks(..), DetectedKind::Hooks(_)) => true,
        _ => false,
    }
}

impl RepairPlan {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps().is_empty() && self.changes().is_empty()
    }

    /// The changes of host files.
    pub(crate) fn changes(&self) -> Vec<FileChange> {
        let changes = self.plans.iter().flat_map(|plan| plan.changes.clone());
        changes.filter(|change| !change.is_unchanged()).collect()
    }

    /// Everything else that is done, for people.
    pub(crate) fn steps(&self) -> Vec<&'static str> {
        let steps = self.kinds.iter().filter_map(|kind| match kind {
            Repair::HostFiles => None,
            Repair::Permissions => Some("make the store readable and writable for you only"),
            Repair::SetupRecord => Some("remove missing files from the setup record"),
            Repair::Rebuild => Some("rebuild rows and index from the Markdown files"),
            Repair::Queue => Some("save the events in the queue on disk"),
        });
        steps.collect()
    }

    /// A note about programs that are copied.
    pub(crate) fn note(&self, places: &HostDirs) -> Option<String> {
        self.copies.note(places)
    }

    pub(crate) fn carry_out(self) -> Result<(), ToolError> {
        // First, because a store that every user may change is refused.
        if let Some(site) = self.site.as_ref().filter(|_| self.kinds.contains(&Repair::Permissions)) {
            make_private(&Layout::new(&site.project))?;
        }
        self.copies.make()?;
        self.plans.into_iter().try_for_each(SetupPlan::carry_out)?;
        let Some(site) = &self.site else { return Ok(()) };
        let project = site.project.as_path();
        if self.kinds.contains(&Repair::Rebuild) || self.kinds.contains(&Repair::Queue) {
            let full = self.kinds.contains(&Repair::Rebuild);
            Engine::open(project, None, None)?.reindex(&ReindexInput { full, path: None }, &mut Control::default())?;
        }
        Ok(())
    }
}

/// Gives the owner all rights in the store's folder and files, and others none in the folder. No other user can change what is inside.
#[cfg(unix)]
pub(crate) fn make_private(layout: &Layout) -> Result<(), ToolError> {
    let dir = layout.store_dir();
    if let Some(outer) = dir.parent() {
        restrict(outer, 0o775, 0)?;
    }
    restrict(dir, 0o700, 0o700)?;
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let (path, kind) = (item.path(), item.file_type());
            // The checks after the repair name files that cannot be changed.
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) {
                let _ = restrict(&path, 0o775, 0o700);
                folders.push(path);
            } else if kind.is_ok_and(|kind| kind.is_file()) {
                let _ = restrict(&path, 0o775, 0o600);
            }
        }
    }
    Ok(())
}

/// Limits the mode of an own file or directory to some bits and adds others. A link, or a file of another user, is an error.
#[cfg(unix)]
fn restrict(path: &Path, limit: u32, add: u32) -> Result<(), ToolError> {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let cannot = |cause: &dyn std::fmt::Display| {
        ToolError::Unavailable(format!("cannot change the permissions of {}: {cause}", path.display()))
    };
    let found = fs::symlink_metadata(path).map_err(|cause| cannot(&cause))?;
    if found.is_symlink() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(cannot(&"it is a link, or belongs to another user"));
    }
    let mode = found.mode() & 0o777 & limit | add;
    if mode == found.mode() & 0o777 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|cause| cannot(&cause))
}

/// No check asks for this on other platforms.
#[cfg(not(unix))]
pub(crate) fn make_private(_: &Layout) -> Result<(), ToolError> {
    Ok(())
}
