//! `doctor`: prints all checks, with fixes for problems, and repairs what needs no decision.

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use clap::Args;
use schema::files::project::{ProjectContext, checkout_dir, personal_project, resolve};
use serde::Serialize;

use super::opening::CommonArguments;
use super::output::Printer;
use super::pager::{self, NARROW};
use super::setup_changes::{confirm_changes, show_changes};
use super::terminal_text::{clean_for_terminal, count_with_unit, wrap};
use crate::doctor::{DoctorCheck, plan_repairs, run_checks};
use crate::exit;
use crate::setup::host_dirs::{HostDirs, ProjectDirs};

const FINE: Style = AnsiColor::Green.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Repair what needs no decision: paths in host files, the setup record, permissions, databases
    #[arg(long)]
    fix: bool,
    /// Only show the repairs
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// Show the changed lines of each file
    #[arg(long, requires = "fix")]
    diff: bool,
    /// Skip the confirmation prompt
    #[arg(long, short = 'y', requires = "fix")]
    yes: bool,
}

#[derive(Debug, Serialize)]
struct DoctorReport<'r> {
    version: &'static str,
    findings: usize,
    checks: &'r [DoctorCheck],
}

/// Runs all checks, and with `--fix` the repairs. Exit status 1 tells scripts that there are problems.
pub(crate) fn run_doctor(common: CommonArguments, arguments: &DoctorArguments) -> anyhow::Result<ExitCode> {
    let printer = &Printer::new(common.json, false);
    let request = ProjectContext::from_environment(common.project).context("cannot determine the working directory")?;
    let project = if common.personal { personal_project() } else { resolve(&request) };
    let files = project.as_ref().ok().map(|project| checkout_dir(&request, project));
    let places = HostDirs::from_environment();
    let mut checks = run_checks(&project, files.as_deref(), &places);
    let is_repairable = |checks: &[DoctorCheck]| checks.iter().any(|check| check.repair.is_some());
    if !printer.is_json() {
        print_checks(&checks, printer)?;
        if is_repairable(&checks) && !arguments.fix {
            printer.print_line("jikime-memory doctor --fix repairs some of them.")?;
        }
    }
    if arguments.fix && is_repairable(&checks) {
        let site = project.as_ref().ok().zip(files.clone());
        let site = site.map(|(project, files)| ProjectDirs { project: project.root.clone(), files });
        if repair(&checks, site.as_ref(), &places, printer, arguments)? {
            checks = run_checks(&project, files.as_deref(), &places);
            if !printer.is_json() {
                printer.print_line("\nRepaired. Checks after the repair:\n")?;
                print_checks(&checks, printer)?;
            }
        }
    }
    let findings = count_findings(&checks);
    if printer.is_json() {
        printer.print_json(&DoctorReport { version: env!("CARGO_PKG_VERSION"), findings, checks: &checks })?;
    }
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::from(exit::USER) })
}

/// Shows the repairs and makes them if they are confirmed. Returns whether they were made.
fn repair(
    checks: &[DoctorCheck],
    site: Option<&ProjectDirs>,
    places: &HostDirs,
    printer: &Printer,
    arguments: &DoctorArguments,
) -> anyhow::Result<bool> {
    let plan = plan_repairs(checks, site, places)?;
    if plan.is_empty() {
        return Ok(false);
    }
    let changes = plan.changes();
    if !printer.is_json() {
        printer.print_line("")?;
        plan.steps().iter().try_for_each(|step| printer.print_line(&format!("Will {step}.")))?;
        show_changes(printer, &changes, arguments.diff)?;
        plan.note(places).iter().for_each(|note| exit::print_warning(note));
    }
    if arguments.dry_run || !confirm_changes(printer, &changes, "Repair this?", arguments.yes)? {
        if !printer.is_json() {
            printer.print_line("\nNothing was changed.")?;
        }
        return Ok(false);
    }
    plan.carry_out()?;
    Ok(true)
}

fn print_checks(checks: &[DoctorCheck], printer: &Printer) -> anyhow::Result<()> {
    let columns = pager::terminal_columns();
    checks.iter().try_for_each(|check| printer.print_text(&render_check(check, columns)))?;
    match count_findings(checks) {
        0 => printer.print_line("\nEverything is fine."),
        count => printer.print_line(&format!("\n{}.", count_with_unit(count as u64, "problem"))),
    }
}

fn count_findings(checks: &[DoctorCheck]) -> usize {
    checks.iter().filter(|check| check.is_finding()).count()
}

/// A check, wrapped to the terminal.
fn render_check(check: &DoctorCheck, columns: Option<usize>) -> String {
    let (sign, style) = if check.is_finding() { ("✗", WRONG) } else { ("✓", FINE) };
    let is_narrow = columns.is_some_and(|columns| columns < NARROW);
    let indent = " ".repeat(if is_narrow { 2 } else { 16 });
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent.len()));
    let what = wrap(&clean_for_terminal(&check.what), room);
    let fix = check.fix.iter().flat_map(|fix| wrap(&format!("fix: {}", clean_for_terminal(fix)), room));
    let lines: Vec<String> = what.into_iter().chain(fix).collect();
    let about = if is_narrow { format!("{}\n{indent}", check.about) } else { format!("{:<13} ", check.about) };
    format!("{style}{sign}{style:#} {about}{}\n", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::{assert_fits, without_styles};
    use crate::doctor::Verdict;

    #[test]
    fn checks_fit_the_terminal() {
        let check = DoctorCheck {
            about: "jikime-memory",
            verdict: Verdict::Finding,
            what: "0.1.0 at /opt/bin/jikime-memory is not on PATH, so hosts do not find it by its name".to_owned(),
            fix: Some("add its folder to PATH, or run jikime-memory init to write its path".to_owned()),
            repair: None,
        };
        let plain = |columns| without_styles(&render_check(&check, columns));
        insta::assert_snapshot!(plain(Some(40)), @r"
        ✗ jikime-memory
          0.1.0 at /opt/bin/jikime-memory is not
          on PATH, so hosts do not find it by
          its name
          fix: add its folder to PATH, or run
          jikime-memory init to write its path
        ");
        assert_eq!(plain(None).lines().count(), 2);
        for columns in [40, 60, 80] {
            assert_fits(&plain(Some(columns)), columns);
        }
    }
}
