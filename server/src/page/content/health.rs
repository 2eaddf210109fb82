//! Whether the setup and the store are in order, and how the store grows.

use std::io;
use std::path::{Path, PathBuf};

use schema::files::project::{ProjectContext, checkout_dir, resolve};
use schema::model::moment::Moment;
use schema::settings;
use schema::store::hook_log::{self, HookTimes};
use schema::tool::StatsOutput;
use serde::Serialize;
use tools::engine::{DiskUsage, Engine};
use tools::error::ToolError;
use tools::registry::registered_projects;

use crate::doctor::{DoctorCheck, run_checks};
use crate::setup::host_dirs::HostDirs;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct Growth {
    pub(in crate::page) stats: StatsOutput,
    /// Memories of each month, oldest first, without empty months.
    pub(in crate::page) months: Vec<(String, u64)>,
    pub(in crate::page) last_7_days: u64,
    pub(in crate::page) last_30_days: u64,
    #[serde(skip)]
    pub(in crate::page) disk: DiskUsage,
    /// How long hooks took in the last week.
    pub(in crate::page) hook_times: Vec<HookTimes>,
    /// The directories of the user's other projects, if the settings allow to name them.
    pub(in crate::page) other_projects: Vec<PathBuf>,
}

pub(in crate::page) fn growth(engine: &mut Engine) -> Result<Growth, ToolError> {
    let usage = engine.store_usage(0)?;
    let layout = engine.store().layout();
    let mut other_projects = match settings::load(layout).settings.other_projects {
        true => registered_projects().unwrap_or_default(),
        false => Vec::new(),
    };
    other_projects.retain(|project| project != layout.project());
    Ok(Growth {
        stats: engine.stats()?,
        months: usage.months,
        last_7_days: usage.last_7_days,
        last_30_days: usage.last_30_days,
        disk: usage.storage,
        other_projects,
        hook_times: hook_log::recent_times(engine.store().layout(), &Moment::now()),
    })
}

/// Runs the checks of `doctor`, which read the whole store and the files of hosts, and start programs.
pub(in crate::page) fn checks(project: &Path) -> io::Result<Vec<DoctorCheck>> {
    let places = HostDirs::from_environment();
    let request = ProjectContext::from_environment(Some(project.to_owned()))?;
    let project = resolve(&request);
    let files = project.as_ref().ok().map(|project| checkout_dir(&request, project));
    Ok(run_checks(&project, files.as_deref(), &places))
}
