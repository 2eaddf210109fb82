//! `scrub`: secrets that are known today, out of what was remembered before.

use std::collections::BTreeSet;

use clap::Args;
use schema::layout::STORE_DIR;
use schema::scrub::{Finding, Reach, Scrubbed};
use serde::Serialize;
use tools::engine::{Engine, Forgot, OldDatabases};

use super::consent::agreed;
use super::output::Printer;
use super::text::counted;

#[derive(Debug, Args)]
pub(crate) struct ScrubArguments {
    /// Also in MEMORY.md and in notes, which people write
    #[arg(long)]
    notes: bool,
    /// Only tell what would be taken out
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do it without being asked
    #[arg(long, short = 'y')]
    yes: bool,
    /// Leave databases that were set aside or kept at an upgrade, which may hold copies
    #[arg(long)]
    keep_old_databases: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    findings: Vec<Found>,
    changed: Vec<String>,
    unreadable: Vec<String>,
    dry_run: bool,
    old_databases: Vec<String>,
    left: Vec<String>,
}

/// Where a secret is or was, never the secret.
#[derive(Debug, Serialize)]
struct Found {
    path: String,
    line: usize,
    label: String,
    taken_out: bool,
}

/// Shows which secrets are where, asks, takes them out and tells.
pub(crate) fn scrub(engine: &mut Engine, printer: &Printer, arguments: &ScrubArguments) -> anyhow::Result<()> {
    let reach = match (arguments.dry_run, arguments.notes) {
        (true, _) => Reach::Nothing,
        (false, true) => Reach::Notes,
        (false, false) => Reach::Logs,
    };
    let old = if arguments.keep_old_databases { OldDatabases::Keep } else { OldDatabases::Remove };
    if reach != Reach::Nothing && !arguments.yes && !is_agreed(engine, printer, reach, old)? {
        return printer.line("Nothing was changed.");
    }
    let (Scrubbed { findings, changed, unreadable }, Forgot { removed, left, .. }) = engine.scrub(reach, old)?;
    let shown = |path: &String| format!("{STORE_DIR}/{path}");
    let is_left = findings.iter().any(|finding| !changed.contains(&finding.path));
    let is_ours = |ours| findings.iter().any(|finding| finding.is_ours == ours && !changed.contains(&finding.path));
    let advice = match reach {
        _ if !is_left => None,
        Reach::Nothing if is_ours(true) => Some("Nothing was changed; without --dry-run the logs are cleaned."),
        _ => Some("What people wrote stays as it is; --notes cleans that too."),
    };
    let found = findings.iter().map(|finding| Found {
        path: shown(&finding.path),
        line: finding.line,
        label: finding.label.clone(),
        taken_out: changed.contains(&finding.path),
    });
    let report = Report {
        findings: found.collect(),
        changed: changed.iter().map(shown).collect(),
        unreadable: unreadable.iter().map(shown).collect(),
        dry_run: arguments.dry_run,
        old_databases: removed,
        left,
    };
    printer.print(&report, || {
        let mut text = String::new();
        for Found { path, line, label, taken_out } in &report.findings {
            text.push_str(&format!("{path}:{line}  {label}{}\n", if *taken_out { "" } else { "  (still there)" }));
        }
        for path in &report.unreadable {
            text.push_str(&format!("{path} is not UTF-8 and was left out\n"));
        }
        let taken = report.findings.iter().filter(|found| found.taken_out).count();
        text.push_str(&match (report.findings.len(), taken) {
            (0, _) => "No secret was found.\n".to_owned(),
            (found, taken) => {
                format!("Found {found}, taken out {taken}. Whoever had them may have copies: change them.\n")
            }
        });
        if !report.old_databases.is_empty() {
            text.push_str(&format!("Old databases deleted as well: {}\n", report.old_databases.join(", ")));
        }
        for left in &report.left {
            text.push_str(&format!("May still hold a copy: {left}\n"));
        }
        advice.map_or(text.clone(), |advice| format!("{text}{advice}\n"))
    })
}

/// Shows what would be taken out, and asks. Where nothing would be, nobody need be asked.
fn is_agreed(engine: &mut Engine, printer: &Printer, reach: Reach, old: OldDatabases) -> anyhow::Result<bool> {
    let (Scrubbed { findings, .. }, _) = engine.scrub(Reach::Nothing, old)?;
    let meant: Vec<&Finding> = findings.iter().filter(|found| reach == Reach::Notes || found.is_ours).collect();
    if meant.is_empty() {
        return Ok(true);
    }
    if !printer.is_json() {
        for Finding { path, line, label, .. } in &meant {
            printer.line(&format!("{STORE_DIR}/{path}:{line}  {label}"))?;
        }
        let names = engine.old_databases();
        if !names.is_empty() && old == OldDatabases::Remove {
            printer.line(&format!("Old databases, which may hold copies, go as well: {}", names.join(", ")))?;
        }
    }
    let files = meant.iter().map(|found| &found.path).collect::<BTreeSet<_>>().len();
    let (secrets, files) = (counted(meant.len() as u64, "secret"), counted(files as u64, "file"));
    agreed(&format!("Take {secrets} out of {files} for good?"), false)
}
