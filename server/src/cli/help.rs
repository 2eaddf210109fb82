//! The help of the program, with its commands in groups.

use std::fmt::Write as _;

use clap::Command;

use super::arguments::STYLES;

/// Headings, and the commands below them.
const GROUPS: [(&str, &str); 7] = [
    ("Set up", "init doctor config demo uninstall"),
    ("Search and read", "search browse view list show timeline sessions tasks insights load stats"),
    ("Save and change", "save edit promote pin supersede confirm review"),
    ("Delete", "forget gc scrub"),
    ("Share with a team", "team share approve retire"),
    ("Move and maintain", "import export index migrate embed-backfill"),
    ("For hosts and shells", "serve mcp completions man"),
];

/// Groups the commands in the help of the whole program.
pub(super) fn group_commands(program: Command) -> Command {
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(groups, "{}", header(heading));
        for command in names.split(' ').filter_map(|name| program.find_subcommand(name)) {
            let _ = writeln!(groups, "  {}", line(command));
        }
        groups.push('\n');
    }
    let options = header("Options");
    program.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}{options}\n{{options}}{{after-help}}"
    ))
}

fn header(text: &str) -> String {
    let style = STYLES.get_header();
    format!("{style}{text}:{style:#}")
}

/// Returns the name of a command, what it does, and its other names.
fn line(command: &Command) -> String {
    let style = STYLES.get_literal();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    let aliases = match aliases.len() {
        0 => String::new(),
        1 => format!(" [alias: {}]", aliases[0]),
        _ => format!(" [aliases: {}]", aliases.join(", ")),
    };
    format!("{style}{:<14}{style:#}  {about}{aliases}", command.get_name())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::arguments::CliArguments;

    #[test]
    fn each_command_is_in_one_group() {
        let program = CliArguments::command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let mut all: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn help_fits_eighty_columns() {
        let help = group_commands(CliArguments::command()).term_width(80).render_help().to_string();
        assert!(help.contains("Share with a team:\n  team "), "{help}");
        let too_long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(too_long.is_empty(), "{too_long:#?}");
    }
}
