//! `completions` and `man`: what shells complete and what `man` shows, made of the commands as they are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_mangen::Man;

use super::arguments::Arguments;
use super::output::write_plain;

/// The program's name, whatever it was called by.
const NAME: &str = "jikime-memory";

pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), NAME, &mut script);
    write_plain(&script)
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
    let mut pages: Vec<PathBuf> =
        fs::read_dir(folder).with_context(cannot)?.filter_map(|item| Some(item.ok()?.path())).collect();
    pages.retain(|page| page.file_name().is_some_and(|name| name.to_string_lossy().starts_with(NAME)));
    write_plain(format!("{} pages in {}\n", pages.len(), folder.display()).as_bytes())
}
