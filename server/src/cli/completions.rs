//! `completions` and `man`, generated from the commands.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::arguments::CliArguments;
use super::output::write_bytes;

/// The program's name, whatever the file is called.
const NAME: &str = "jikime-memory";

/// The name inside the bash script. With a hyphen, clap_complete 4.6 writes the name in two ways, and completion fails after the first word
/// (<https://github.com/clap-rs/clap/issues/6421>).
const PLAIN: &str = "jikime_memory";

pub(crate) fn print_completions(shell: Shell) -> anyhow::Result<()> {
    write_bytes(completion_script(shell).as_bytes())
}

fn completion_script(shell: Shell) -> String {
    let name = if shell == Shell::Bash { PLAIN } else { NAME };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CliArguments::command(), name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if shell != Shell::Bash {
        return script.into_owned();
    }
    // The last word of these lines is the program's name.
    let lines = script.lines().map(|line| match line.strip_suffix(PLAIN) {
        Some(line) if line.contains("complete -F ") => format!("{line}{NAME}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

/// Prints the main page, or writes the pages of all commands to a directory.
pub(crate) fn write_man_pages(out: Option<&Path>) -> anyhow::Result<()> {
    let Some(folder) = out else {
        let mut page = Vec::new();
        Man::new(CliArguments::command()).render(&mut page).context("cannot render the page")?;
        return write_bytes(&page);
    };
    let cannot = || format!("cannot write pages to {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(CliArguments::command(), folder).with_context(cannot)?;
    let mut command = CliArguments::command();
    // Adds global options to every command.
    command.build();
    add_option_values(&command, NAME, folder).with_context(cannot)?;
    let pages = fs::read_dir(folder).with_context(cannot)?.filter_map(Result::ok);
    let count = pages.filter(|page| page.file_name().to_string_lossy().starts_with(NAME)).count();
    write_bytes(format!("{count} pages in {}\n", folder.display()).as_bytes())
}

/// Adds value names to options in the synopsis of each page, which the generator omits.
fn add_option_values(command: &Command, name: &str, folder: &Path) -> io::Result<()> {
    let path = folder.join(format!("{name}.1"));
    if path.exists() {
        let page = fs::read_to_string(&path)?;
        fs::write(&path, page_with_values(command, page))?;
    }
    command
        .get_subcommands()
        .try_for_each(|inner| add_option_values(inner, &format!("{name}-{}", inner.get_name()), folder))
}

fn page_with_values(command: &Command, mut page: String) -> String {
    let roff = |text: &str| text.replace('-', "\\-");
    for option in command.get_opts().filter(|option| option.get_action().takes_values()) {
        let (Some(long), Some(values)) = (option.get_long(), option.get_value_names()) else { continue };
        let values: Vec<String> = values.iter().map(|value| roff(value)).collect();
        // Only in the synopsis is an option followed by a bracket.
        let flag = format!("\\fB\\-\\-{}\\fR", roff(long));
        page = page.replace(&format!("{flag}]"), &format!("{flag} \\fI{}\\fR]", values.join(" ")));
    }
    page
}
