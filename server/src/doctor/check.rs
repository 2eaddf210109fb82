//! The result of one check.

use std::path::Path;

use serde::Serialize;

use crate::setup::host_dirs::HostDirs;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorCheck {
    pub(crate) about: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) what: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Fine,
    Finding,
}

impl DoctorCheck {
    pub(super) fn fine(about: &'static str, what: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Fine, what: what.into(), fix: None }
    }

    pub(super) fn finding(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Finding, what: what.into(), fix: Some(fix.into()) }
    }

    pub(crate) fn is_finding(&self) -> bool {
        self.verdict == Verdict::Finding
    }
}

/// A path relative to the project, if it is below it.
pub(super) fn display_path(path: &Path, root: Option<&Path>, places: &HostDirs) -> String {
    match root.and_then(|root| path.strip_prefix(root).ok()) {
        Some(relative) => relative.to_string_lossy().replace('\\', "/"),
        None => places.display_path(path),
    }
}
