//! The text of a `tool_usage` memory: what was changed and run, written for people and read back for the session's row.

const FILES: &str = "Files modified: ";
const COMMANDS: &str = "Commands: ";

/// The text for the files and commands of one turn, or `None` when there were none.
pub fn describe(files: &[String], commands: &[String]) -> Option<String> {
    let mut lines = Vec::new();
    if !files.is_empty() {
        lines.push(format!("{FILES}{}", files.join(", ")));
    }
    if !commands.is_empty() {
        lines.push(format!("{COMMANDS}{}", commands.join("; ")));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The files that such a text names.
pub fn files(content: &str) -> impl Iterator<Item = &str> {
    items(content, FILES, ", ")
}

/// The commands that such a text names. One that holds `; ` counts as several.
pub fn commands(content: &str) -> impl Iterator<Item = &str> {
    items(content, COMMANDS, "; ")
}

fn items<'c>(content: &'c str, label: &'static str, separator: &'static str) -> impl Iterator<Item = &'c str> {
    let line = content.lines().find_map(move |line| line.strip_prefix(label));
    line.into_iter().flat_map(move |items| items.split(separator)).map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_and_commands_of_a_turn_are_read_back() {
        let text = describe(&["src/a.rs".into(), "b c.md".into()], &["cargo test".into(), "git push".into()]).unwrap();
        assert_eq!(text, "Files modified: src/a.rs, b c.md\nCommands: cargo test; git push");
        assert_eq!(files(&text).collect::<Vec<_>>(), ["src/a.rs", "b c.md"]);
        assert_eq!(commands(&text).collect::<Vec<_>>(), ["cargo test", "git push"]);
        assert_eq!(describe(&[], &[]), None);
    }
}
