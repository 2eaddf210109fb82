//! `doctor`: prints all checks, with fixes for problems.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use schema::files::project::{Project, ProjectError};
use serde::Serialize;

use super::output::Printer;
use super::pager;
use super::terminal_text::{clean_for_terminal, wrap};
use crate::doctor::{DoctorCheck, run_checks};
use crate::setup::host_dirs::HostDirs;

const FINE: Style = AnsiColor::Green.on_default();
const WRONG: Style = AnsiColor::Red.on_default().bold();

#[derive(Debug, Serialize)]
struct DoctorReport<'r> {
    version: &'static str,
    findings: usize,
    checks: &'r [DoctorCheck],
}

/// Runs all checks. Returns whether everything is fine.
pub(crate) fn run_doctor(
    project: &Result<Project, ProjectError>,
    files: Option<&Path>,
    printer: &Printer,
) -> anyhow::Result<bool> {
    let checks = run_checks(project, files, &HostDirs::from_environment());
    let findings = checks.iter().filter(|check| check.is_finding()).count();
    if printer.is_json() {
        printer.print_json(&DoctorReport { version: env!("CARGO_PKG_VERSION"), findings, checks: &checks })?;
        return Ok(findings == 0);
    }
    let columns = pager::terminal_columns();
    checks.iter().try_for_each(|check| printer.print_text(&render_check(check, columns)))?;
    match findings {
        0 => printer.print_line("\nEverything is fine.")?,
        1 => printer.print_line("\n1 problem.")?,
        n => printer.print_line(&format!("\n{n} problems."))?,
    }
    Ok(findings == 0)
}

/// Columns below which the text of a check is below its name.
const NARROW: usize = 60;

/// A check, wrapped to the terminal.
fn render_check(check: &DoctorCheck, columns: Option<usize>) -> String {
    let (sign, style) = if check.is_finding() { ("✗", WRONG) } else { ("✓", FINE) };
    let is_narrow = columns.is_some_and(|columns| columns < NARROW);
    let indent = " ".repeat(if is_narrow { 2 } else { 16 });
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent.len()));
    let what = wrap(&clean_for_terminal(&check.what), room);
    let fix = check.fix.iter().flat_map(|fix| wrap(&format!("fix: {}", clean_for_terminal(fix)), room));
    let lines: Vec<String> = what.into_iter().chain(fix).collect();
    let about = check.about;
    if is_narrow {
        return format!("{style}{sign}{style:#} {about}\n{indent}{}\n", lines.join(&format!("\n{indent}")));
    }
    format!("{style}{sign}{style:#} {about:<13} {}\n", lines.join(&format!("\n{indent}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::display_width;
    use crate::doctor::Verdict;

    #[test]
    fn checks_fit_the_terminal() {
        let check = DoctorCheck {
            about: "jikime-memory",
            verdict: Verdict::Finding,
            what: "0.1.0 at /opt/bin/jikime-memory is not on PATH, so hosts do not find it by its name".to_owned(),
            fix: Some("add its folder to PATH, or run jikime-memory init to write its path".to_owned()),
        };
        let plain = |columns| anstream::adapter::strip_str(&render_check(&check, columns)).to_string();
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
            assert!(
                plain(Some(columns)).lines().all(|line| display_width(line) <= columns),
                "{}",
                plain(Some(columns))
            );
        }
    }
}
