//! `doctor`: prints what was looked at and what is wrong, each with its fix.

use std::path::Path;

use anstyle::{AnsiColor, Style};
use schema::project::{Project, ProjectError};
use serde::Serialize;

use super::output::Printer;
use super::pager;
use super::text::{harmless, wrapped};
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
pub(crate) fn doctor(
    project: &Result<Project, ProjectError>,
    files: Option<&Path>,
    printer: &Printer,
) -> anyhow::Result<bool> {
    let checks = examine(project, files, &Places::from_environment());
    let findings = checks.iter().filter(|check| check.is_finding()).count();
    if printer.is_json() {
        printer.json(&Report { version: env!("CARGO_PKG_VERSION"), findings, checks: &checks })?;
        return Ok(findings == 0);
    }
    let columns = pager::columns();
    checks.iter().try_for_each(|check| printer.text(&told(check, columns)))?;
    match findings {
        0 => printer.line("\nEverything is fine.")?,
        1 => printer.line("\nOne finding.")?,
        n => printer.line(&format!("\n{n} findings."))?,
    }
    Ok(findings == 0)
}

/// Columns below which what was found stands below what it is about.
const NARROW: usize = 60;

/// A check as people read it, as wide as the terminal.
fn told(check: &Check, columns: Option<usize>) -> String {
    let (sign, style) = if check.is_finding() { ("✗", WRONG) } else { ("✓", FINE) };
    let is_narrow = columns.is_some_and(|columns| columns < NARROW);
    let indent = " ".repeat(if is_narrow { 2 } else { 16 });
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent.len()));
    let what = wrapped(&harmless(&check.what), room);
    let fix = check.fix.iter().flat_map(|fix| wrapped(&format!("fix: {}", harmless(fix)), room));
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
    use crate::cli::text::width;
    use crate::doctor::Verdict;

    #[test]
    fn what_was_found_is_as_wide_as_the_terminal() {
        let check = Check {
            about: "jikime-memory",
            verdict: Verdict::Finding,
            what: "0.1.0 at /opt/bin/jikime-memory is not on PATH, so hosts do not find it by its name".to_owned(),
            fix: Some("add its folder to PATH, or run jikime-memory init to write its path".to_owned()),
        };
        let plain = |columns| anstream::adapter::strip_str(&told(&check, columns)).to_string();
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
            assert!(plain(Some(columns)).lines().all(|line| width(line) <= columns), "{}", plain(Some(columns)));
        }
    }
}
