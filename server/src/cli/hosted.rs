//! What hosts start, read without the tables of all other commands: to make those takes longer than the rest of what comes before the
//! first answer.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use super::arguments::{Arguments, Command, Common, McpCommand, ServeArguments};

#[derive(Debug, Parser)]
#[command(name = "jikime-memory")]
struct Hosted {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Serving,
}

#[derive(Debug, Subcommand)]
enum Serving {
    Serve(ServeArguments),
    #[command(subcommand)]
    Mcp(McpCommand),
}

/// The arguments, if they are those of a server. Nothing else is told here, nor what is wrong.
pub(super) fn read(words: &[OsString]) -> Option<Arguments> {
    if !words.iter().any(|word| word == "serve") {
        return None;
    }
    let Hosted { common, command } = Hosted::try_parse_from(words).ok()?;
    let command = match command {
        Serving::Serve(arguments) => Command::Serve(arguments),
        Serving::Mcp(command) => Command::Mcp(command),
    };
    Some(Arguments { common, command })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
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
    fn servers_are_started_as_the_whole_command_line_tells(#[case] line: &str) {
        let read = read(&words(line)).expect("it is read here");
        let whole = Arguments::try_parse_from(words(line)).expect("it is read there");
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
    fn all_else_is_left_to_the_whole_command_line(#[case] line: &str) {
        assert!(read(&words(line)).is_none());
    }
}
