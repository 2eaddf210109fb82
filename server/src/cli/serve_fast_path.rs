//! Parses the commands that hosts start. Building clap's tables for all commands would take longer than the rest of the start.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::arguments::{CliArguments, CliCommand, McpCommand, ServeArguments};
use super::opening::CommonArguments;

#[derive(Debug, Parser)]
#[command(name = "jikime-memory")]
struct MinimalArguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    command: MinimalCommand,
}

#[derive(Debug, Subcommand)]
enum MinimalCommand {
    Serve(ServeArguments),
    #[command(subcommand)]
    Mcp(McpCommand),
}

/// The arguments of a server. `None` for anything else, also for invalid arguments.
pub(super) fn parse_serve_arguments(words: &[OsString]) -> Option<CliArguments> {
    if !words.iter().any(|word| word == "serve") {
        return None;
    }
    let MinimalArguments { common, command } = MinimalArguments::try_parse_from(words).ok()?;
    let command = match command {
        MinimalCommand::Serve(arguments) => CliCommand::Serve(arguments),
        MinimalCommand::Mcp(command) => CliCommand::Mcp(command),
    };
    Some(CliArguments { common, command })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn to_words(line: &str) -> Vec<OsString> {
        std::iter::once("jikime-memory").chain(line.split_whitespace()).map(OsString::from).collect()
    }

    #[rstest]
    #[case::plain("serve")]
    #[case::by_its_other_name("mcp serve")]
    #[case::project("serve --project /somewhere")]
    #[case::project_before("--project=serve serve")]
    #[case::personal("--personal mcp serve")]
    #[case::for_all_commands("serve --json --no-pager")]
    #[case::http("serve --http 127.0.0.1:7700 --no-token --allow-host one --allow-host two")]
    fn server_arguments_equal_those_of_the_full_parser(#[case] line: &str) {
        let read = parse_serve_arguments(&to_words(line)).expect("it is read here");
        let whole = CliArguments::try_parse_from(to_words(line)).expect("it is read there");
        assert_eq!(format!("{read:?}"), format!("{whole:?}"));
    }

    #[rstest]
    #[case::another_command("search serve")]
    #[case::another_word("mcp")]
    #[case::help("serve --help")]
    #[case::version("--version serve")]
    #[case::unknown("serve --htp 127.0.0.1:7700")]
    #[case::incomplete("serve --no-token")]
    #[case::against_itself("serve --personal --project /somewhere")]
    fn other_arguments_are_left_to_the_full_parser(#[case] line: &str) {
        assert!(parse_serve_arguments(&to_words(line)).is_none());
    }
}
