//! The text of a `tool_usage` memory: edited files, commands and edits of a turn. The session's row is derived from this text.

use std::collections::HashSet;

const FILES: &str = "Files modified: ";
const COMMANDS: &str = "Commands: ";

/// Precedes the hash of the commit that a command made.
const COMMIT: &str = " # ";

/// The maximum length of all edits of a turn, in bytes.
const LONGEST_CHANGES: usize = 16 * 1024;

/// An edit of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    pub file: String,
    /// Lines that begin with `- `, `+ ` or `@ `.
    pub text: String,
}

/// Describes the files, commands and edits of a turn. Returns `None` for a turn without any of them.
pub fn describe(files: &[String], commands: &[String], changes: &[FileEdit]) -> Option<String> {
    let mut lines = Vec::new();
    if !files.is_empty() {
        lines.push(format!("{FILES}{}", files.join(", ")));
    }
    if !commands.is_empty() {
        lines.push(format!("{COMMANDS}{}", commands.join("; ")));
    }
    lines.extend(described(files, changes));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Joins the `tool_usage` texts of one turn, in order of time.
pub fn joined(contents: &[&str]) -> String {
    let all_files = unique(contents.iter().flat_map(|text| files(text)));
    let all_commands = unique(contents.iter().flat_map(|text| commands(text)));
    let mut lines = Vec::from_iter(describe(&all_files, &all_commands, &[]));
    for content in contents {
        let own: Vec<&str> = files(content).collect();
        let is_edit = |line: &&str| !line.starts_with(FILES) && !line.starts_with(COMMANDS);
        // The edits of a single file do not name it.
        let only = if let [file] = own[..] { Some(file) } else { None };
        lines.extend(only.map(str::to_owned));
        lines.extend(content.lines().filter(is_edit).map(|line| match (only, line.strip_prefix("@ ")) {
            (Some(file), Some(place)) => format!("{file} @ {place}"),
            _ => line.to_owned(),
        }));
    }
    lines.join("\n")
}

fn unique<'c>(items: impl Iterator<Item = &'c str>) -> Vec<String> {
    let mut seen = HashSet::new();
    items.filter(|item| seen.insert(*item)).map(str::to_owned).collect()
}

/// Returns the lines of the edits, grouped by file.
fn described(files: &[String], changes: &[FileEdit]) -> Vec<String> {
    let (mut lines, mut length, mut left_out) = (Vec::new(), 0, 0);
    for file in files {
        let (mut title, mut texts): (Option<&str>, Vec<&str>) = (None, Vec::new());
        for change in changes.iter().filter(|change| change.file == *file) {
            if length > LONGEST_CHANGES {
                left_out += 1;
                continue;
            }
            // The place of an edit goes into its heading.
            let placed = change.text.strip_prefix("@ ").and_then(|rest| rest.split_once('\n'));
            let (place, text) = placed.unwrap_or(("", &change.text));
            if texts.contains(&text) {
                continue;
            }
            texts.push(text);
            if title != Some(place) {
                // With a single file, the first line already names it.
                match (place, files.len()) {
                    ("", 1) => {}
                    ("", _) => lines.push(file.clone()),
                    (place, 1) => lines.push(format!("@ {place}")),
                    (place, _) => lines.push(format!("{file} @ {place}")),
                }
                title = Some(place);
            }
            length += text.len() + file.len();
            lines.push(text.to_owned());
        }
    }
    if left_out > 0 {
        lines.push(format!("… and {left_out} more edits"));
    }
    lines
}

/// Returns the files that a `tool_usage` text names.
pub fn files(content: &str) -> impl Iterator<Item = &str> {
    labelled_items(content, FILES, ", ")
}

/// Returns the commands that a `tool_usage` text names. A command that contains `; ` counts as several.
pub fn commands(content: &str) -> impl Iterator<Item = &str> {
    labelled_items(content, COMMANDS, "; ")
}

/// Adds the commit that a command made, as a comment of the shell: `git commit -qm fix # 4be19c2`.
pub fn with_commit(command: String, commit: Option<&str>) -> String {
    match commit {
        Some(hash) => command + COMMIT + hash,
        None => command,
    }
}

/// Returns the hashes of the commits that the commands of a `tool_usage` text made, the last one first.
pub fn commits(content: &str) -> Vec<&str> {
    let commands: Vec<&str> = commands(content).collect();
    commands.into_iter().rev().filter_map(|command| command.rsplit_once(COMMIT)).map(|(_, hash)| hash).collect()
}

/// Whether a file holds tests, by its name or folder.
pub fn is_test_file(file: &str) -> bool {
    let (folders, name) = file.rsplit_once('/').unwrap_or(("", file));
    folders.split('/').any(|folder| matches!(folder, "test" | "tests" | "__tests__"))
        || name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| matches!(word, "test" | "tests" | "spec") || word.ends_with("Test") || word.ends_with("Tests"))
}

/// A line that an edit removes or adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditedLine<'c> {
    pub file: &'c str,
    pub is_added: bool,
    /// The trimmed code.
    pub code: &'c str,
}

/// Returns the removed and added lines of the edits in a `tool_usage` text.
pub fn edited_lines(content: &str) -> impl Iterator<Item = EditedLine<'_>> {
    let files: Vec<&str> = files(content).collect();
    let mut file = files.first().copied().unwrap_or_default();
    content.lines().filter_map(move |line| {
        let (is_added, code) = match line.split_at_checked(2) {
            Some(("+ ", code)) => (true, code),
            Some(("- ", code)) => (false, code),
            _ => {
                let title = line.split(" @ ").next().unwrap_or_default();
                file = files.iter().copied().find(|known| *known == title).unwrap_or(file);
                return None;
            }
        };
        Some(EditedLine { file, is_added, code: code.trim() })
    })
}

fn labelled_items<'c>(content: &'c str, label: &'static str, separator: &'static str) -> impl Iterator<Item = &'c str> {
    let line = content.lines().find_map(move |line| line.strip_prefix(label));
    line.into_iter().flat_map(move |items| items.split(separator)).map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("tests/queue.rs", true)]
    #[case("src/sync_test.go", true)]
    #[case("src/composite.spec.ts", true)]
    #[case("app/ParserTest.java", true)]
    #[case("src/Testimonials.tsx", false)]
    #[case("src/inspector.rs", false)]
    #[case("dist/latest.json", false)]
    fn test_files_are_recognised_by_name(#[case] file: &str, #[case] expected: bool) {
        assert_eq!(is_test_file(file), expected);
    }

    #[test]
    fn files_and_commands_round_trip() {
        let change = |file: &str, text: &str| FileEdit { file: file.into(), text: text.into() };
        let changes = [
            change("src/a.rs", "@ fn load\n- let x = 1;\n+ Files modified: y"),
            change("b c.md", "+ Commands: z"),
            change("src/a.rs", "@ fn load\n+ let y = 2;"),
            change("src/a.rs", "@ fn load\n+ let y = 2;"),
        ];
        let text = describe(&["src/a.rs".into(), "b c.md".into()], &["cargo test".into(), "git push".into()], &changes);
        let text = text.unwrap();
        insta::assert_snapshot!(text, @r"
        Files modified: src/a.rs, b c.md
        Commands: cargo test; git push
        src/a.rs @ fn load
        - let x = 1;
        + Files modified: y
        + let y = 2;
        b c.md
        + Commands: z
        ");
        assert_eq!(files(&text).collect::<Vec<_>>(), ["src/a.rs", "b c.md"]);
        assert_eq!(commands(&text).collect::<Vec<_>>(), ["cargo test", "git push"]);
        assert_eq!(describe(&[], &[], &[]), None);
    }

    #[test]
    fn joined_texts_have_the_edits_of_each_file() {
        let texts = [
            "Files modified: src/a.rs\nCommands: make\n@ fn load\n- one();\n+ two();",
            "Files modified: b.md, src/a.rs\nCommands: make; git push\nb.md\n+ text\nsrc/a.rs\n+ three();",
        ];
        let text = joined(&texts);
        insta::assert_snapshot!(text, @r"
        Files modified: src/a.rs, b.md
        Commands: make; git push
        src/a.rs
        src/a.rs @ fn load
        - one();
        + two();
        b.md
        + text
        src/a.rs
        + three();
        ");
        let edited: Vec<_> = edited_lines(&text).map(|line| (line.file, line.code)).collect();
        assert_eq!(
            edited,
            [("src/a.rs", "one();"), ("src/a.rs", "two();"), ("b.md", "text"), ("src/a.rs", "three();")]
        );
    }

    #[test]
    fn excess_edits_are_counted() {
        let edits: Vec<FileEdit> =
            (0..200).map(|n| FileEdit { file: "a".into(), text: format!("+ {n} {}", "x".repeat(390)) }).collect();
        let text = describe(&["a".into()], &[], &edits).unwrap();
        assert!(text.len() < LONGEST_CHANGES + 1_024 && text.ends_with(" more edits"), "{} bytes", text.len());
    }
}
