//! Generates docs/reference/commands.md from the commands. The test that checks the file also writes it.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use super::arguments::CliArguments;

#[test]
fn the_document_is_generated_from_the_commands() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/commands.md");
    let current = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let document = render_document();
    if current != document {
        std::fs::write(&path, &document).unwrap();
    }
    assert_eq!(current, document, "docs/reference/commands.md was out of date and has been rewritten");
}

#[test]
fn the_commands_are_consistent() {
    CliArguments::command().debug_assert();
}

fn render_document() -> String {
    let mut program = CliArguments::command().term_width(100);
    program.build();
    let mut text = String::from(
        "# Commands\n\n\
         `jikime-memory COMMAND --help` prints the same text. Exit statuses: 0 success; 1 the command failed, and standard error says\n\
         what to do; 2 wrong usage; 70 an internal error.\n\n\
         Output is as wide as the terminal and goes through a pager if it is longer (`$PAGER`, else `less -FRX`). There are no colours if\n\
         `NO_COLOR` is set or the output is not a terminal. `--json` prints JSON for scripts: later versions add fields, but never\n\
         rename or remove one.\n\n\
         `WHEN` is a date (`2026-01-28`), a month (`2026-01`), a year, a time (`\"2026-01-28 10:30\"`, RFC 3339), `today`, `yesterday`, or an\n\
         age: `12h`, `7d`, `2w`, `3mo`, `1y`.\n\n\
         ## Global options\n",
    );
    let globals: Vec<&Arg> = program.get_arguments().filter(|argument| argument.is_global_set()).collect();
    add_options(&mut text, &globals);
    for command in program.get_subcommands() {
        add_section(&mut text, command);
    }
    text
}

fn add_section(text: &mut String, command: &Command) {
    if command.get_name() == "help" || command.is_hide_set() {
        return;
    }
    if command.has_subcommands() {
        for inner in command.get_subcommands() {
            add_section(text, inner);
        }
        return;
    }
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## `{name}`\n\n{about}.\n\n```text\n{}\n```\n", usage_line(command));
    let aliases: Vec<String> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, "\nAlso called {}.\n", aliases.join(", "));
    }
    let own: Vec<&Arg> = command.get_arguments().filter(|argument| is_own_option(argument)).collect();
    add_options(text, &own);
    if let Some(more) = command.get_after_help() {
        let more = more.to_string();
        let _ = match more.split_once("Example: ") {
            Some((before, example)) => write!(text, "\n{before}Example:\n\n```text\n{example}\n```\n"),
            None => write!(text, "\n{more}\n"),
        };
    }
}

fn is_own_option(argument: &Arg) -> bool {
    !argument.is_global_set()
        && !argument.is_hide_set()
        && !matches!(argument.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::Version)
        && argument.get_id() != "help"
}

fn usage_line(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let lines: Vec<&str> = usage.lines().map(|line| line.trim_start_matches("Usage:").trim()).collect();
    lines.join("\n")
}

fn add_options(text: &mut String, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    text.push_str("\n| argument | meaning |\n| --- | --- |\n");
    for argument in arguments {
        let mut meaning = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<String> =
            argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        let has_listed_values = argument.get_action().takes_values() && !argument.is_hide_possible_values_set();
        if !values.is_empty() && has_listed_values {
            meaning.push_str(&format!(": {}", values.join(", ")));
        }
        let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty() && argument.get_action().takes_values() && !argument.is_hide_default_value_set() {
            meaning.push_str(&format!(" [default: {}]", default.join(" ")));
        }
        let _ = writeln!(text, "| `{}` | {} |", option_name(argument), meaning.replace('|', "\\|").replace('\n', " "));
    }
}

fn option_name(argument: &Arg) -> String {
    let value = || argument.get_value_names().map(|names| names.join(" ")).unwrap_or_default();
    match (argument.get_short(), argument.get_long()) {
        (None, None) => value(),
        (short, long) => {
            let short = short.map(|short| format!("-{short}"));
            let names: Vec<String> = short.into_iter().chain(long.map(|long| format!("--{long}"))).collect();
            let value = if argument.get_action().takes_values() { format!(" {}", value()) } else { String::new() };
            names.join(", ") + &value
        }
    }
}
