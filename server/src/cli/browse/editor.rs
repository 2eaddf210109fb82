//! The editor that people chose: `$VISUAL`, `$EDITOR`, or one that is there, at a line of a file.

use std::path::Path;

use crate::cli::shell;

#[cfg(not(windows))]
const USUAL: &str = "vi";
#[cfg(windows)]
const USUAL: &str = "notepad";

/// Lets a file be edited and waits for the end of that.
pub(super) fn edit(path: &Path, line: usize) -> Result<(), String> {
    let wish = ["VISUAL", "EDITOR"].iter().filter_map(|name| std::env::var(name).ok());
    let editor = wish.map(|wish| wish.trim().to_owned()).find(|wish| !wish.is_empty());
    let editor = editor.unwrap_or_else(|| USUAL.to_owned());
    let mut command = shell::command(&editor);
    command.args(arguments(&editor, &path.to_string_lossy(), line));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{editor} ended with {status}; set EDITOR to another one")),
        Err(fault) => Err(format!("cannot start {editor}: {fault}; set EDITOR")),
    }
}

/// How an editor is told a line. One that is not known gets the file alone, so that it takes nothing for a second file.
fn arguments(editor: &str, path: &str, line: usize) -> Vec<String> {
    let program = editor.split_whitespace().next().unwrap_or_default();
    let program = Path::new(program).file_stem().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    match program.as_str() {
        "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "micro" | "kak" | "joe" | "ne"
        | "mg" | "ed" | "gedit" => vec![format!("+{line}"), path.to_owned()],
        "hx" | "helix" | "subl" | "zed" => vec![format!("{path}:{line}")],
        // These return at once unless they are told to wait.
        "code" | "code-insiders" | "codium" | "cursor" | "windsurf" => {
            vec!["--wait".to_owned(), "--goto".to_owned(), format!("{path}:{line}")]
        }
        _ => vec![path.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_editors_are_told_the_line() {
        for (editor, expected) in [
            ("vim", vec!["+7", "a b.md"]),
            ("/usr/bin/nvim -u NONE", vec!["+7", "a b.md"]),
            ("code", vec!["--wait", "--goto", "a b.md:7"]),
            ("hx", vec!["a b.md:7"]),
            ("my-editor", vec!["a b.md"]),
        ] {
            assert_eq!(arguments(editor, "a b.md", 7), expected, "{editor}");
        }
    }
}
