//! `scrub`: removes secrets from stored memories with the current rules.

use std::collections::BTreeSet;

use clap::Args;
use schema::files::layout::STORE_DIR;
use serde::Serialize;
use tools::curation::scrub::{ScrubOutcome, ScrubScope, SecretFinding};
use tools::engine::{Engine, ForgetOutcome, OldDatabases};

use super::confirm::confirm;
use super::output::Printer;
use super::preview::copies_text;
use super::terminal_text::count_with_unit;

#[derive(Debug, Args)]
pub(crate) struct ScrubArguments {
    /// Also clean MEMORY.md and notes, which people write
    #[arg(long)]
    notes: bool,
    /// Only show where secrets are
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Skip the confirmation prompt
    #[arg(long, short = 'y')]
    yes: bool,
    /// Keep old databases from repairs and upgrades, which may contain copies
    #[arg(long)]
    keep_old_databases: bool,
}

#[derive(Debug, Serialize)]
struct ScrubReport {
    findings: Vec<FoundSecret>,
    changed: Vec<String>,
    unreadable: Vec<String>,
    dry_run: bool,
    old_databases: Vec<String>,
    left: Vec<String>,
}

/// The place of a secret, never the secret.
#[derive(Debug, Serialize)]
struct FoundSecret {
    path: String,
    line: usize,
    label: String,
    taken_out: bool,
}

/// Shows the places of secrets, asks, and removes the secrets.
pub(crate) fn run_scrub(engine: &mut Engine, printer: &Printer, arguments: &ScrubArguments) -> anyhow::Result<()> {
    let reach = match (arguments.dry_run, arguments.notes) {
        (true, _) => ScrubScope::ReportOnly,
        (false, true) => ScrubScope::Notes,
        (false, false) => ScrubScope::Logs,
    };
    let old = if arguments.keep_old_databases { OldDatabases::Keep } else { OldDatabases::Remove };
    if reach != ScrubScope::ReportOnly && !arguments.yes && !confirm_scrub(engine, printer, reach, old)? {
        return printer.print_line("Nothing was changed.");
    }
    let (ScrubOutcome { findings, changed, unreadable }, ForgetOutcome { removed, leftovers: left, .. }) =
        engine.scrub(reach, old)?;
    let shown = |path: &String| format!("{STORE_DIR}/{path}");
    let left_findings: Vec<_> = findings.iter().filter(|finding| !changed.contains(&finding.path)).collect();
    let advice = match reach {
        _ if left_findings.is_empty() => None,
        ScrubScope::ReportOnly if left_findings.iter().any(|finding| finding.is_in_log) => {
            Some("Nothing was changed. Without --dry-run, the logs are cleaned.")
        }
        _ => Some("Text that people wrote was not changed; --notes cleans it too."),
    };
    let found = findings.iter().map(|finding| FoundSecret {
        path: shown(&finding.path),
        line: finding.line,
        label: finding.label.clone(),
        taken_out: changed.contains(&finding.path),
    });
    let report = ScrubReport {
        findings: found.collect(),
        changed: changed.iter().map(shown).collect(),
        unreadable: unreadable.iter().map(shown).collect(),
        dry_run: arguments.dry_run,
        old_databases: removed,
        left,
    };
    printer.print_value(&report, || {
        let mut text = String::new();
        for FoundSecret { path, line, label, taken_out } in &report.findings {
            text.push_str(&format!("{path}:{line}  {label}{}\n", if *taken_out { "" } else { "  (still there)" }));
        }
        text.extend(report.unreadable.iter().map(|path| format!("{path} is not UTF-8 and was skipped\n")));
        let taken = report.findings.iter().filter(|found| found.taken_out).count();
        text.push_str(&match (report.findings.len(), taken) {
            (0, _) => "No secrets found.\n".to_owned(),
            (found, taken) => {
                format!("Found {found}, removed {taken}. Rotate these secrets: copies may exist elsewhere.\n")
            }
        });
        text.push_str(&copies_text(&report.old_databases, &report.left));
        text.extend(advice.map(|advice| format!("{advice}\n")));
        text
    })
}

/// Shows the places of secrets and asks. Without secrets it does not ask.
fn confirm_scrub(engine: &mut Engine, printer: &Printer, reach: ScrubScope, old: OldDatabases) -> anyhow::Result<bool> {
    let (ScrubOutcome { findings, .. }, _) = engine.scrub(ScrubScope::ReportOnly, old)?;
    let meant: Vec<&SecretFinding> =
        findings.iter().filter(|found| reach == ScrubScope::Notes || found.is_in_log).collect();
    if meant.is_empty() {
        return Ok(true);
    }
    if !printer.is_json() {
        for SecretFinding { path, line, label, .. } in &meant {
            printer.print_line(&format!("{STORE_DIR}/{path}:{line}  {label}"))?;
        }
        let names = engine.old_databases();
        if !names.is_empty() && old == OldDatabases::Remove {
            printer.print_line(&format!(
                "Old databases, which may contain copies, are deleted too: {}",
                names.join(", ")
            ))?;
        }
    }
    let files = meant.iter().map(|found| &found.path).collect::<BTreeSet<_>>().len();
    let (secrets, files) = (count_with_unit(meant.len() as u64, "secret"), count_with_unit(files as u64, "file"));
    confirm(&format!("Remove {secrets} from {files} for good?"), false)
}
