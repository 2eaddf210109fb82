//! `doctor`: prints what was looked at and what is wrong, each with its fix.

use anstyle::{AnsiColor, Style};
use schema::project::{Project, ProjectError};
use serde::Serialize;

use super::output::Printer;
use super::text::harmless;
use crate::doctor::{Check, examine};
use crate::setup::places::Places;

const FINE: Style = AnsiColor::Green.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();

#[derive(Debug, Serialize)]
struct Report<'r> {
    version: &'static str,
    findings: usize,
    checks: &'r [Check],
}

/// Looks at everything and answers whether all is fine.
pub(crate) fn doctor(project: &Result<Project, ProjectError>, printer: &Printer) -> anyhow::Result<bool> {
    let checks = examine(project, &Places::from_environment());
    let findings = checks.iter().filter(|check| check.is_finding()).count();
    if printer.is_json() {
        printer.json(&Report { version: env!("CARGO_PKG_VERSION"), findings, checks: &checks })?;
        return Ok(findings == 0);
    }
    for check in &checks {
        let (sign, style) = if check.is_finding() { ("✗", WRONG) } else { ("✓", FINE) };
        printer.line(&format!("{style}{sign}{style:#} {:<13} {}", check.about, harmless(&check.what)))?;
        if let Some(fix) = &check.fix {
            printer.line(&format!("  {:<13} fix: {}", "", harmless(fix)))?;
        }
    }
    match findings {
        0 => printer.line("\nEverything is fine.")?,
        1 => printer.line("\nOne finding.")?,
        n => printer.line(&format!("\n{n} findings."))?,
    }
    Ok(findings == 0)
}
