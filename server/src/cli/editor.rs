//! Opens a file at a line with `$VISUAL`, `$EDITOR`, or a default editor.

use std::path::Path;

use schema::files::environment;

use crate::cli::pager::shell_command;

#[cfg(not(windows))]
const DEFAULT_EDITOR: &str = "vi";
#[cfg(windows)]
const DEFAULT_EDITOR: &str = "notepad";

/// Runs the editor until it ends.
pub(crate) fn run_editor(path: &Path, line: usize) -> Result<(), String> {
    let wish = ["VISUAL", "EDITOR"].iter().filter_map(|name| environment::text(name));
    let editor = wish.map(|wish| wish.trim().to_owned()).find(|wish| !wish.is_empty());
    let editor = editor.unwrap_or_else(|| DEFAULT_EDITOR.to_owned());
    let mut command = shell_command(&editor);
    command.args(editor_arguments(&editor, &path.to_string_lossy(), line));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{editor} ended with {status}; set EDITOR to another one")),
        Err(error) => Err(format!("cannot start {editor}: {error}; set EDITOR")),
    }
}

/// Arguments that open a file at a line. An unknown editor gets only the file, because it could take a line number for a second file.
fn editor_arguments(editor: &str, path: &str, line: usize) -> Vec<String> {
    let program = editor.split_whitespace().next().unwrap_or_default();
    let program = Path::new(program).file_stem().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    match program.as_str() {
        "vi" | "vim" | "nvim" | "view" | "nano" | "pico" | "emacs" | "emacsclient" | "micro" | "kak" | "joe" | "ne"
        | "mg" | "ed" | "gedit" => vec![format!("+{line}"), path.to_owned()],
        "hx" | "helix" | "subl" | "zed" => vec![format!("{path}:{line}")],
        // These return at once without `--wait`.
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
    fn known_editors_open_at_the_line() {
        for (editor, expected) in [
            ("vim", vec!["+7", "a b.md"]),
            ("/usr/bin/nvim -u NONE", vec!["+7", "a b.md"]),
            ("code", vec!["--wait", "--goto", "a b.md:7"]),
            ("hx", vec!["a b.md:7"]),
            ("my-editor", vec!["a b.md"]),
        ] {
            assert_eq!(editor_arguments(editor, "a b.md", 7), expected, "{editor}");
        }
    }
}
