//! `completions` and `man`: what shells complete and what `man` shows, made of the commands as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::arguments::Arguments;
use super::output::write_plain;

/// The program's name, whatever it was called by.
const NAME: &str = "jikime-memory";

/// The same for the inside of the script for bash: with a hyphen in the name, clap_complete 4.6 spells what it looks for in two
/// ways (<https://github.com/clap-rs/clap/issues/6421>), and nothing is completed behind the first word.
const PLAIN: &str = "jikime_memory";

pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    write_plain(script(shell).as_bytes())
}

/// What a shell is to read.
fn script(shell: Shell) -> String {
    let name = if shell == Shell::Bash { PLAIN } else { NAME };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), name, &mut script);
    let script = String::from_utf8_lossy(&script);
    if shell != Shell::Bash {
        return script.into_owned();
    }
    // The last word of the lines that say for which program the function is.
    let lines =
        script.lines().map(|line| match line.strip_suffix(PLAIN).filter(|line| line.contains("complete -F ")) {
            Some(line) => format!("{line}{NAME}\n"),
            None => format!("{line}\n"),
        });
    lines.collect()
}

/// Prints the page of the program, or writes the pages of all commands into a folder.
pub(crate) fn man(out: Option<&Path>) -> anyhow::Result<()> {
    let Some(folder) = out else {
        let mut page = Vec::new();
        Man::new(Arguments::command()).render(&mut page).context("cannot make the page")?;
        return write_plain(&page);
    };
    let cannot = || format!("cannot write pages into {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Arguments::command(), folder).with_context(cannot)?;
    let mut command = Arguments::command();
    // So that every command has the options of all.
    command.build();
    add_values(&command, NAME, folder).with_context(cannot)?;
    let mut pages: Vec<PathBuf> =
        fs::read_dir(folder).with_context(cannot)?.filter_map(|item| Some(item.ok()?.path())).collect();
    pages.retain(|page| page.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME)));
    write_plain(format!("{} pages in {}\n", pages.len(), folder.display()).as_bytes())
}

/// Names in the synopsis of each page the values of options, which the generator leaves out.
fn add_values(command: &Command, name: &str, folder: &Path) -> io::Result<()> {
    let path = folder.join(format!("{name}.1"));
    if path.exists() {
        let page = fs::read_to_string(&path)?;
        fs::write(&path, with_values(command, page))?;
    }
    command.get_subcommands().try_for_each(|inner| add_values(inner, &format!("{name}-{}", inner.get_name()), folder))
}

fn with_values(command: &Command, mut page: String) -> String {
    let roff = |text: &str| text.replace('-', "\\-");
    for option in command.get_opts().filter(|option| option.get_action().takes_values()) {
        let (Some(long), Some(values)) = (option.get_long(), option.get_value_names()) else { continue };
        let values: Vec<String> = values.iter().map(|value| roff(value)).collect();
        // Only in the synopsis does a bracket stand behind an option.
        let flag = format!("\\fB\\-\\-{}\\fR", roff(long));
        page = page.replace(&format!("{flag}]"), &format!("{flag} \\fI{}\\fR]", values.join(" ")));
    }
    page
}
