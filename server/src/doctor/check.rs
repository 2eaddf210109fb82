//! The result of one check.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct DoctorCheck {
    pub(crate) about: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) what: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
    /// How `doctor --fix` fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repair: Option<Repair>,
}

/// A fix that needs no decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Repair {
    /// Host files get the paths of the programs.
    HostFiles,
    /// The store becomes private to its owner.
    Permissions,
    /// The setup record forgets files that do not exist.
    SetupRecord,
    /// Rows and index are derived from the Markdown files again.
    Rebuild,
    /// Queued events are saved.
    Queue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Fine,
    Finding,
}

impl DoctorCheck {
    pub(super) fn fine(about: &'static str, what: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Fine, what: what.into(), fix: None, repair: None }
    }

    pub(super) fn finding(about: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { about, verdict: Verdict::Finding, what: what.into(), fix: Some(fix.into()), repair: None }
    }

    pub(super) fn with_repair(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }

    pub(crate) fn is_finding(&self) -> bool {
        self.verdict == Verdict::Finding
    }
}
