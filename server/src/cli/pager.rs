//! A pager for answers that are longer than the terminal: `$PAGER`, else `less -FRX`, else none.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use terminal_size::{Height, Width, terminal_size_of};

/// Columns of a terminal that does not know how many it has.
const USUAL: usize = 80;

/// How a shell ends that does not find a program.
const NOT_FOUND: i32 = 127;

/// Columns of standard output. `None` where lines have no end: a pipe or a file, unless `COLUMNS` says how wide it is shown.
pub(crate) fn columns() -> Option<usize> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let columns = terminal_size_of(&stdout).map(|(Width(columns), _)| usize::from(columns));
        return Some(columns.filter(|columns| *columns > 0).unwrap_or(USUAL));
    }
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// Shows a text in a pager when it is longer than the terminal; says whether it did.
pub(crate) fn show(text: &str) -> bool {
    let stdout = io::stdout();
    let Some((Width(columns), Height(rows))) = terminal_size_of(&stdout).filter(|_| stdout.is_terminal()) else {
        return false;
    };
    if rows == 0 || lines(text, usize::from(columns)) < usize::from(rows) {
        return false;
    }
    // Ctrl-C reaches the pager as well, which takes it for its own; ending before it would leave it on a terminal of others.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default());
    let Some(mut pager) = start(std::env::var("PAGER").ok()) else { return false };
    if let Some(input) = pager.stdin.take() {
        // Colours as standard output would have them: the pager passes them on, although a pipe to it is no terminal.
        let colours = match AutoStream::choice(&stdout) {
            ColorChoice::Never => ColorChoice::Never,
            ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => ColorChoice::Always,
        };
        // Who leaves the pager early has seen enough.
        let _ = AutoStream::new(Box::new(input) as Box<dyn Write>, colours).write_all(text.as_bytes());
    }
    pager.wait().is_ok_and(|status| status.code() != Some(NOT_FOUND))
}

/// Lines of a text on a terminal so wide.
fn lines(text: &str, columns: usize) -> usize {
    let columns = columns.max(1);
    let plain = anstream::adapter::strip_str(text).to_string();
    plain.lines().map(|line| super::text::width(line).div_ceil(columns).max(1)).sum()
}

/// The wish of the environment, or else `less`. An empty wish and `cat` ask for none.
fn start(wish: Option<String>) -> Option<Child> {
    let wish = wish.map(|wish| wish.trim().to_owned());
    if wish.as_deref().is_some_and(|wish| matches!(wish, "" | "cat")) {
        return None;
    }
    let mut command = match &wish {
        Some(wish) => super::shell::command(wish),
        None => {
            let mut less = Command::new("less");
            less.arg("-FRX");
            less
        }
    };
    command.stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
    // Wishes for options are the user's; without any, colours are to pass.
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    command.spawn().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_the_terminal_breaks_them() {
        assert_eq!(lines("a\n\u{1b}[1mbb\u{1b}[0m\n", 2), 2);
        assert_eq!(lines("한국어\n\nx", 4), 4);
    }

    #[test]
    fn who_wants_no_pager_gets_none() {
        for wish in ["", " ", "cat"] {
            assert!(start(Some(wish.to_owned())).is_none(), "{wish:?}");
        }
    }
}
