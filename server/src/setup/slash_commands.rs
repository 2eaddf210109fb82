//! The slash commands that a host gets: the plugin's commands, in the format of the host.
//!
//! A file ends with a hash of its text, so that a file that somebody wrote or edited is never changed or deleted.

use std::path::{Path, PathBuf};

use schema::model::memory::content_hash;

/// The name that the texts use for the program.
const PROGRAM: &str = "jikime-memory";

/// The names of the commands, and their texts as Claude Code reads them.
const COMMANDS: [(&str, &str); 9] = [
    ("search", include_str!("../../plugin/commands/search.md")),
    ("list", include_str!("../../plugin/commands/list.md")),
    ("history", include_str!("../../plugin/commands/history.md")),
    ("tasks", include_str!("../../plugin/commands/tasks.md")),
    ("insights", include_str!("../../plugin/commands/insights.md")),
    ("export", include_str!("../../plugin/commands/export.md")),
    ("forget", include_str!("../../plugin/commands/forget.md")),
    ("stats", include_str!("../../plugin/commands/stats.md")),
    ("import", include_str!("../../plugin/commands/import.md")),
];

/// Begins the last line of a file, before the hash.
const HASH_MARK: &str = "jikime-memory:";

/// Digits of the hash.
const HASH_DIGITS: usize = 16;

/// How a host writes commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandFormat {
    /// Markdown with a header.
    ClaudeCode,
    /// Markdown without a header.
    Plain,
    Toml,
}

/// The files with slash commands in a host's `folder`, and their texts. `program` starts `jikime-memory`.
pub(super) fn command_files(folder: &Path, format: CommandFormat, program: &str) -> Vec<(PathBuf, String)> {
    let ending = if format == CommandFormat::Toml { "toml" } else { "md" };
    let file = |(name, text): &(&str, &str)| {
        (folder.join(format!("memory-{name}.{ending}")), render(&with_program(text, program), format))
    };
    COMMANDS.iter().map(file).collect()
}

/// Names the program by its path where a command runs it, if it is not on `PATH`.
fn with_program(text: &str, program: &str) -> String {
    if program.is_empty() || program == PROGRAM {
        return text.to_owned();
    }
    let program = if program.contains(char::is_whitespace) { format!("\"{program}\"") } else { program.to_owned() };
    ["`", "("].iter().fold(text.to_owned(), |text, before| {
        text.replace(&format!("{before}{PROGRAM} "), &format!("{before}{program} "))
    })
}

/// The text of a file with its hash.
fn render(text: &str, format: CommandFormat) -> String {
    let text = text.replace("\r\n", "\n");
    let (header, body) = split_header(&text);
    let body = body.trim();
    match format {
        CommandFormat::ClaudeCode => signed(&format!("---\n{header}---\n\n{body}\n\n"), "<!-- ", " -->"),
        CommandFormat::Plain => {
            let body = body.replace("$ARGUMENTS", "the text after the command");
            signed(&format!("{body}\n\n"), "<!-- ", " -->")
        }
        CommandFormat::Toml => {
            let description = header.lines().find_map(|line| line.strip_prefix("description: ")).unwrap_or_default();
            let body = body.replace("$ARGUMENTS", "{{args}}");
            // A literal string has no escapes; a test checks that no text ends it.
            signed(&format!("description = '{description}'\nprompt = '''\n{body}\n'''\n"), "# ", "")
        }
    }
}

/// The lines between the two `---`, and the text after them.
fn split_header(text: &str) -> (&str, &str) {
    text.strip_prefix("---\n").and_then(|rest| rest.split_once("---\n")).unwrap_or(("", text))
}

fn signed(text: &str, open: &str, close: &str) -> String {
    format!("{text}{open}{HASH_MARK}{}{close}\n", &content_hash(text)[..HASH_DIGITS])
}

/// Whether a text is a command of ours, of any version, that nobody edited.
fn is_ours(text: &str) -> bool {
    let Some((body, last)) = text.trim_end().rsplit_once('\n') else { return false };
    let Some((_, hash)) = last.split_once(HASH_MARK) else { return false };
    let hash = hash.trim_end_matches(" -->");
    hash.len() == HASH_DIGITS && content_hash(&format!("{body}\n")).starts_with(hash)
}

/// Returns our text instead of an empty one or an earlier one of ours. The text of somebody else stays.
pub(super) fn set_command(text: &str, ours: &str) -> String {
    if text.trim().is_empty() || is_ours(text) { ours.to_owned() } else { text.to_owned() }
}

pub(super) fn remove_command(text: &str) -> String {
    if is_ours(text) { String::new() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;

    #[test]
    fn every_command_of_the_plugin_is_set_up() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin/commands");
        let mut there: Vec<String> =
            fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        let mut known: Vec<String> = COMMANDS.iter().map(|(name, _)| format!("{name}.md")).collect();
        there.sort();
        known.sort();
        assert_eq!(there, known);
        for (name, text) in COMMANDS {
            let (header, body) = split_header(text);
            assert!(header.starts_with("description: "), "{name}");
            assert!(!body.contains("'''") && !header.lines().next().unwrap().contains('\''), "{name}");
            assert!(!body.contains("!{") && !body.contains("@{"), "Gemini CLI would run it: {name}");
        }
    }

    #[rstest]
    #[case::claude_code(CommandFormat::ClaudeCode)]
    #[case::plain(CommandFormat::Plain)]
    #[case::toml(CommandFormat::Toml)]
    fn edited_command_belongs_to_its_editor(#[case] format: CommandFormat) {
        for (name, text) in COMMANDS {
            let ours = render(text, format);
            assert!(is_ours(&ours), "{name}: {ours}");
            assert_eq!(set_command("", &ours), ours);
            assert_eq!(set_command(&render("---\n---\nan older text\n", format), &ours), ours);
            assert_eq!(remove_command(&ours), "");
            let edited = ours.replacen("the ", "my ", 1);
            for theirs in [edited.as_str(), "# Theirs\n", "theirs"] {
                assert_eq!(
                    (set_command(theirs, &ours), remove_command(theirs)),
                    (theirs.to_owned(), theirs.to_owned())
                );
            }
        }
    }

    #[test]
    fn hosts_get_their_own_formats() {
        let text =
            "---\ndescription: Find it\n---\n\nRun `jikime-memory search` of the server jikime-memory: $ARGUMENTS\n";
        insta::assert_snapshot!(render(&with_program(text, "/opt/my tools/jm"), CommandFormat::Toml), @r#"
        description = 'Find it'
        prompt = '''
        Run `"/opt/my tools/jm" search` of the server jikime-memory: {{args}}
        '''
        # jikime-memory:f22dccc408ddf5f8
        "#);
        insta::assert_snapshot!(render(text, CommandFormat::Plain), @r"
        Run `jikime-memory search` of the server jikime-memory: the text after the command

        <!-- jikime-memory:af7d62c7cb957818 -->
        ");
        insta::assert_snapshot!(render(text, CommandFormat::ClaudeCode), @r"
        ---
        description: Find it
        ---

        Run `jikime-memory search` of the server jikime-memory: $ARGUMENTS

        <!-- jikime-memory:be8af158e1de50d3 -->
        ");
    }
}
