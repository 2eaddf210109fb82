//! A pager for output that is longer than the terminal: `$PAGER`, else `less -FRX`.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use schema::files::environment;
use terminal_size::{Height, Width, terminal_size_of};

use super::terminal_text::{display_width, without_styles};

/// Columns of a terminal that does not report its size.
const DEFAULT_COLUMNS: usize = 80;

/// Columns of a list, and of a report or a preview, if the output is not a terminal.
pub(crate) const PIPED_LIST_COLUMNS: usize = 200;
pub(crate) const PIPED_REPORT_COLUMNS: usize = 120;

/// Columns below which a list takes more lines.
pub(crate) const NARROW: usize = 60;

/// The shell's exit status if it does not find a program.
const NOT_FOUND: i32 = 127;

/// Columns of standard output, or of `COLUMNS`. `None` for a pipe or a file.
pub(crate) fn terminal_columns() -> Option<usize> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let columns = terminal_size_of(&stdout).map(|(Width(columns), _)| usize::from(columns));
        return Some(columns.filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS));
    }
    environment::text("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// Shows a text in a pager if it is longer than the terminal. Returns whether it did.
pub(crate) fn show_paged(text: &str) -> bool {
    let stdout = io::stdout();
    let Some((Width(columns), Height(rows))) = terminal_size_of(&stdout).filter(|_| stdout.is_terminal()) else {
        return false;
    };
    if rows == 0 || count_lines(text, usize::from(columns)) < usize::from(rows) {
        return false;
    }
    // Ctrl-C goes to the pager too, which handles it. If this process ended first, the pager would lose the terminal.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default());
    let Some(mut pager) = start_pager(environment::text("PAGER")) else { return false };
    if let Some(input) = pager.stdin.take() {
        // Uses the colour choice of standard output, because the pager passes colours on.
        let colours = match AutoStream::choice(&stdout) {
            ColorChoice::Never => ColorChoice::Never,
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => ColorChoice::Always,
        };
        // The user may quit the pager early.
        let _ = AutoStream::new(Box::new(input) as Box<dyn Write>, colours).write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// Lines of a text on a terminal of this width.
fn count_lines(text: &str, columns: usize) -> usize {
    let columns = columns.max(1);
    without_styles(text).lines().map(|line| display_width(line).div_ceil(columns).max(1)).sum()
}

/// Starts `$PAGER` or `less`. An empty `$PAGER` or `cat` means no pager.
fn start_pager(wish: Option<String>) -> Option<Child> {
    let wish = wish.map(|wish| wish.trim().to_owned());
    if wish.as_deref().is_some_and(|wish| matches!(wish, "" | "cat")) {
        return None;
    }
    let mut command = match &wish {
        Some(wish) => shell_command(wish),
        None => {
            let mut less = Command::new("less");
            less.arg("-FRX");
            less
        }
    };
    command.stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
    // Without options of the user, less must pass colours.
    if environment::variable("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}

/// Starts a program through the shell, so that its name can contain options and quotes. Arguments are passed unchanged.
pub(crate) fn shell_command(name: &str) -> Command {
    if cfg!(windows) {
        let mut words = name.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(name));
        command.args(words);
        return command;
    }
    let mut command = Command::new("sh");
    // After the script comes `$0`, then the arguments for `"$@"`.
    command.arg("-c").arg(format!("{name} \"$@\"")).arg("sh");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_the_terminal_wraps_them() {
        assert_eq!(count_lines("a\n\u{1b}[1mbb\u{1b}[0m\n", 2), 2);
        assert_eq!(count_lines("한국어\n\nx", 4), 4);
    }

    #[test]
    fn empty_pager_or_cat_disables_the_pager() {
        for wish in ["", " ", "cat"] {
            assert!(start_pager(Some(wish.to_owned())).is_none(), "{wish:?}");
        }
    }
}
