//! Shows the host files that `init`, `uninstall` or `doctor --fix` changes, and asks before it does.

use std::fmt::Write as _;

use super::confirm::{ask, is_yes, require_consent};
use super::output::{DIM, KIND, Printer};
use super::pager::terminal_columns;
use super::terminal_text::{count_with_unit, display_width, fit_columns, pad_columns};
use crate::setup::change::FileChange;
use crate::setup::setup_diff::unified_diff;

/// The number of files of a folder from which on the list has only the folder.
const MIN_GROUPED: usize = 3;

/// Prints the changed files, and with `diff` their changed lines.
pub(super) fn show_changes(printer: &Printer, changes: &[FileChange], diff: bool) -> anyhow::Result<()> {
    printer.print_text(&render_changes(changes, terminal_columns().unwrap_or(usize::MAX)))?;
    if diff { printer.print_text(&render_diffs(changes)) } else { Ok(()) }
}

/// Whether to make the changes: confirmed by a flag or on the terminal, where `d` shows the changed lines first.
pub(super) fn confirm_changes(
    printer: &Printer,
    changes: &[FileChange],
    question: &str,
    yes: bool,
) -> anyhow::Result<bool> {
    require_consent(question, yes)?;
    if yes {
        return Ok(true);
    }
    loop {
        let answer = ask(&format!("\n{question} [y/N], d shows the differences: "))?;
        if !matches!(answer.as_str(), "d" | "diff" | "ㅇ") {
            return Ok(is_yes(&answer));
        }
        printer.print_paged(&(), |_| render_diffs(changes))?;
    }
}

/// One line for each file that changes. Many files of one folder share a line.
fn render_changes(changes: &[FileChange], columns: usize) -> String {
    let lines = summary_lines(changes);
    let paths = lines.iter().map(|(_, path, _)| display_width(path)).max().unwrap_or_default();
    let mut text = String::from("\n");
    for (kind, path, about) in &lines {
        let about_width = display_width(about) + 2;
        let before = 2 + 9;
        if before + paths + about_width <= columns {
            let _ = writeln!(text, "  {KIND}{kind:<9}{KIND:#}{}  {DIM}{about}{DIM:#}", pad_columns(path, paths));
        } else {
            let _ = writeln!(text, "  {KIND}{kind:<9}{KIND:#}{}", fit_columns(path, columns.saturating_sub(before)));
        }
    }
    if lines.is_empty() { String::new() } else { text }
}

/// The changed lines of all files.
fn render_diffs(changes: &[FileChange]) -> String {
    let changed = changes.iter().filter(|change| !change.is_unchanged());
    changed.map(|change| format!("\n{}", unified_diff(change))).collect()
}

/// The kind of each change, its path, and what is in the file.
fn summary_lines(changes: &[FileChange]) -> Vec<(&'static str, String, String)> {
    let mut lines = Vec::new();
    let changed: Vec<&FileChange> = changes.iter().filter(|change| !change.is_unchanged()).collect();
    let same_folder = |a: &FileChange, b: &FileChange| {
        folder(&a.display_path) == folder(&b.display_path) && (a.kind(), &a.about) == (b.kind(), &b.about)
    };
    for (at, change) in changed.iter().enumerate() {
        let alike = changed.iter().filter(|other| same_folder(change, other)).count();
        let kind = if change.kind() == "created" { "new" } else { change.kind() };
        if alike < MIN_GROUPED || folder(&change.display_path).is_empty() {
            lines.push((kind, change.display_path.clone(), change.about.clone()));
        } else if !changed[..at].iter().any(|earlier| same_folder(earlier, change)) {
            let path = format!("{}/", folder(&change.display_path));
            let about = format!("{} with {}", count_with_unit(alike as u64, "file"), change.about);
            lines.push((kind, path, about));
        }
    }
    lines
}

fn folder(path: &str) -> &str {
    path.rfind(['/', '\\']).map_or("", |end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::without_styles;

    fn change(path: &str, about: &str, before: Option<&str>) -> FileChange {
        FileChange::example(path, about, before, Some("after"))
    }

    fn plain(columns: usize) -> String {
        let mut changes = vec![
            change(".mcp.json", "the server", Some("before")),
            change(".claude/settings.json", "the hooks", None),
            change("AGENTS.md", "instructions for the model", Some("after")),
        ];
        changes
            .extend(["a", "b", "c"].map(|name| change(&format!(".claude/commands/{name}.md"), "slash commands", None)));
        without_styles(&render_changes(&changes, columns))
    }

    #[test]
    fn summary_is_short_and_fits_the_terminal() {
        let wide = "
  changed  .mcp.json              the server
  new      .claude/settings.json  the hooks
  new      .claude/commands/      3 files with slash commands
";
        let narrow = "
  changed  .mcp.json
  new      .claude/settings.json
  new      .claude/commands/
";
        assert_eq!((plain(80).as_str(), plain(40).as_str()), (wide, narrow));
        assert_eq!(render_changes(&[], 80), "");
    }
}
