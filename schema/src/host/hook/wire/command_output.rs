//! Separates the output of a command from the lines that a host writes around it for the model. Hooks and imports use the same functions.
//!
//! A command may print any line, so a line counts as the host's only at its place and in its order.

use crate::model::word_list::WordList;

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandOutput<'t> {
    pub code: i64,
    pub text: &'t str,
}

/// The lines that Codex writes before `Output:`.
static CODEX_LABELS: WordList = WordList::phrases(
    "Chunk ID: |Wall time: |Exit code: |Process exited with code |Process running with session ID |\
     Original token count: |Total output lines: ",
);

/// The lines that Gemini CLI writes after the output, in this order. It leaves out those that say nothing.
const GEMINI_LABELS: [&str; 4] = ["Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "];

/// Returns the result in a text of Codex, or `None` if it has no exit code.
pub fn codex_output(text: &str) -> Option<CommandOutput<'_>> {
    let (mut code, mut rest) = (None, text);
    while let Some((line, after)) = rest.split_once('\n')
        && CODEX_LABELS.begins(line)
    {
        let exit = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
        code = code.or(exit.and_then(|code| code.trim().parse().ok()));
        rest = after;
    }
    let text = rest.strip_prefix("Output:").filter(|text| text.is_empty() || text.starts_with('\n'))?;
    Some(CommandOutput { code: code?, text: text.strip_prefix('\n').unwrap_or(text) })
}

/// Returns the result in a text of Gemini CLI. `shown` is what it shows to the person, usually the output alone.
pub fn gemini_output<'t>(text: &'t str, shown: Option<&str>) -> CommandOutput<'t> {
    let text = text.strip_prefix("<untrusted_context>\n").unwrap_or(text);
    let text = text.strip_suffix("\n</untrusted_context>").unwrap_or(text);
    let text = text.strip_prefix("Output: ").unwrap_or(text);
    // Where the output is known, its own lines cannot be taken for the host's.
    let known = shown.filter(|shown| !shown.is_empty() && text.starts_with(shown)).map_or(0, str::len);
    let (mut code, mut end) = (None, text.len());
    for label in GEMINI_LABELS.into_iter().rev() {
        let start =
            text[known..end].rfind('\n').map(|at| known + at).filter(|start| text[start + 1..end].starts_with(label));
        let Some(start) = start else { continue };
        if label == "Exit Code: " {
            code = text[start + 1 + label.len()..end].trim().parse().ok();
        }
        end = start;
    }
    CommandOutput { code: code.unwrap_or(0), text: &text[..end] }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_a_patch("Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file\n", Some((1, "no such file\n")))]
    #[case::of_a_command(
        "Chunk ID: 24af8a\nWall time: 0.0 seconds\nProcess exited with code 127\nOriginal token count: 11\nOutput:\nExit code: 0\n",
        Some((127, "Exit code: 0\n"))
    )]
    #[case::still_running("Chunk ID: 1\nProcess running with session ID 7\nOutput:\nExit code: 3\n", None)]
    #[case::no_output("Exit code: 2\nWall time: 0 seconds\nOutput:", Some((2, "")))]
    #[case::printed_first("Exit code: 3\nretries: unlimited\n", None)]
    #[case::plain_output("retries: unlimited\nExit code: 3\n", None)]
    #[case::nothing("", None)]
    fn codex_writes_the_code_first(#[case] text: &str, #[case] expected: Option<(i64, &str)>) {
        assert_eq!(codex_output(text).map(|output| (output.code, output.text)), expected);
    }

    #[rstest]
    #[case::failed("Output: no\nExit Code: 3\nProcess Group PGID: 14955", Some("no"), 3, "no")]
    #[case::success("Output: yes\nProcess Group PGID: 14955", Some("yes"), 0, "yes")]
    #[case::wrapped(
        "<untrusted_context>\nOutput: no\nExit Code: 3\nProcess Group PGID: 1\n</untrusted_context>",
        None,
        3,
        "no"
    )]
    #[case::all_lines(
        "Output: no\nExit Code: 3\nSignal: 15\nBackground PIDs: 7, 8\nProcess Group PGID: 1",
        None,
        3,
        "no"
    )]
    #[case::printed_before_other_output(
        "Output: Exit Code: 1\nall good\nProcess Group PGID: 1",
        None,
        0,
        "Exit Code: 1\nall good"
    )]
    #[case::printed_in_the_middle(
        "Output: a\nExit Code: 1\nb\nProcess Group PGID: 1",
        Some("a\nExit Code: 1\nb"),
        0,
        "a\nExit Code: 1\nb"
    )]
    #[case::printed_last(
        "Output: a\nExit Code: 1\nProcess Group PGID: 1",
        Some("a\nExit Code: 1"),
        0,
        "a\nExit Code: 1"
    )]
    #[case::printed_last_and_failed(
        "Output: Exit Code: 1\nExit Code: 2\nProcess Group PGID: 1",
        Some("Exit Code: 1"),
        2,
        "Exit Code: 1"
    )]
    #[case::of_a_child("Output: Exit Code: 1\nExit Code: 2\nProcess Group PGID: 1", None, 2, "Exit Code: 1")]
    #[case::empty(
        "Output: (empty)\nExit Code: 1\nProcess Group PGID: 1",
        Some("Command exited with code: 1"),
        1,
        "(empty)"
    )]
    #[case::debug_mode(
        "Output: no\nExit Code: 3\nProcess Group PGID: 1",
        Some("Output: no\nExit Code: 3\nProcess Group PGID: 1"),
        3,
        "no"
    )]
    fn gemini_writes_the_code_last(
        #[case] text: &str,
        #[case] shown: Option<&str>,
        #[case] code: i64,
        #[case] output: &str,
    ) {
        assert_eq!(gemini_output(text, shown), CommandOutput { code, text: output });
    }
}
