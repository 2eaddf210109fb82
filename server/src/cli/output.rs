//! What commands print: readable on a terminal, plain when piped, JSON when asked for.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use schema::memory::{MemoryId, MemoryType};
use schema::sanitize::escape_json;
use schema::tool::{LoadOutput, ReindexOutput, SaveOutput, SearchOutput};
use serde::Serialize;

use super::pager;
use super::text::{counted, fit, harmless, memories, padded, printable, width, wrapped};

pub(crate) const DIM: Style = AnsiColor::BrightBlack.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const KIND: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();

/// By how much what belongs to a hit is set in.
const INDENT: &str = "      ";

/// Prints the results of commands to standard output.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    pages: bool,
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, pages: false }
    }

    /// The same with a pager for what is longer than the terminal, if that is wished.
    pub(crate) fn paged(self, pages: bool) -> Self {
        Self { pages, ..self }
    }

    pub(crate) fn found(&self, output: &SearchOutput) -> anyhow::Result<()> {
        self.read(output, |columns| {
            let mut text = String::new();
            for hit in &output.results {
                let kind = hit.kind.map_or("note", MemoryType::as_str);
                let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(INDENT.len()));
                let mut details = String::new();
                for detail in [&hit.date, &hit.heading].into_iter().flatten() {
                    details.push_str(&format!("  {}", harmless(detail)));
                }
                for flag in &hit.flags {
                    details.push_str(&format!("  [{flag}]"));
                }
                let details = fit(&details, room.saturating_sub(width(kind)));
                text.push_str(&format!("{GOOD}{:.2}{GOOD:#}  {STRONG}{kind}{STRONG:#}{details}\n", hit.score));
                for line in wrapped(&harmless(&hit.snippet), room) {
                    text.push_str(&format!("{INDENT}{line}\n"));
                }
                let place = format!("{}:{}", harmless(&hit.path), hit.start_line);
                let is_one_line = width(&place) + width(&hit.id) + 2 <= room;
                let gap = if is_one_line { "  ".to_owned() } else { format!("\n{INDENT}") };
                text.push_str(&format!("{INDENT}{DIM}{place}{gap}{}{DIM:#}\n", hit.id));
                if let Some(explanation) = &hit.explanation {
                    text.push_str(&format!("{INDENT}{DIM}{explanation}{DIM:#}\n"));
                }
            }
            text + &notice(output.notice.as_deref(), columns)
        })
    }

    pub(crate) fn saved(&self, output: &SaveOutput) -> anyhow::Result<()> {
        self.print(output, || format!("{}  {DIM}{}{DIM:#}\n", output.message, output.id))
    }

    pub(crate) fn loaded(&self, output: &LoadOutput) -> anyhow::Result<()> {
        self.read(output, |columns| harmless(&output.content) + &notice(output.notice.as_deref(), columns))
    }

    pub(crate) fn indexed(&self, output: &ReindexOutput) -> anyhow::Result<()> {
        self.print(output, || {
            format!(
                "Read {}: {} made, {} taken in, {} removed, in {} ms\n",
                counted(output.files as u64, "file"),
                counted(output.chunks as u64, "chunk"),
                memories(output.memories as u64),
                output.removed,
                output.milliseconds
            )
        })
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a value in JSON, whatever was asked for.
    pub(crate) fn json<T: Serialize + ?Sized>(&self, value: &T) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(value).context("cannot write JSON")?;
        write(&format!("{}\n", escape_json(&json)))
    }

    /// Prints text as it is.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        write(text)
    }

    /// Prints columns under their names.
    pub(crate) fn rows<const N: usize>(&self, head: [&str; N], rows: &[[String; N]]) -> anyhow::Result<()> {
        let widths: Vec<usize> = (0..N)
            .map(|column| rows.iter().map(|row| width(&row[column])).chain([width(head[column])]).max().unwrap_or(0))
            .collect();
        let line = |cells: &[&str]| {
            let cells = cells.iter().zip(&widths).map(|(cell, columns)| padded(cell, *columns));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let columns = pager::columns().unwrap_or(usize::MAX);
        if widths.iter().sum::<usize>() + 2 * N.saturating_sub(1) > columns {
            return write(&stacked(&head, rows, columns));
        }
        let mut text = format!("{STRONG}{}{STRONG:#}\n", line(&head));
        for row in rows {
            text.push_str(&line(&row.each_ref().map(String::as_str)));
            text.push('\n');
        }
        write(&text)
    }

    /// Prints plain text.
    pub(crate) fn line(&self, text: &str) -> anyhow::Result<()> {
        write(&format!("{text}\n"))
    }

    /// Prints a sentence, broken between words where the terminal ends.
    pub(crate) fn told(&self, text: &str) -> anyhow::Result<()> {
        match pager::columns() {
            Some(columns) => self.line(&wrapped(text, columns).join("\n")),
            None => self.line(text),
        }
    }

    /// Prints a value for scripts, and for people a sentence about it.
    pub(crate) fn said<T: Serialize>(&self, value: &T, text: &str) -> anyhow::Result<()> {
        if self.json { self.json(value) } else { self.told(text) }
    }

    /// Prints what is made for reading: as wide as the terminal, in a pager when it is longer than that. Where lines have no
    /// end, no columns are told.
    pub(crate) fn read<T: Serialize + ?Sized>(
        &self,
        value: &T,
        text: impl FnOnce(Option<usize>) -> String,
    ) -> anyhow::Result<()> {
        if self.json {
            return self.print(value, String::new);
        }
        let text = printable(&text(pager::columns()));
        if self.pages && pager::show(&text) {
            return Ok(());
        }
        write(&text)
    }

    /// Prints a short answer.
    pub(crate) fn print<T: Serialize + ?Sized>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.json {
            return self.json(value);
        }
        write(&text())
    }
}

/// Columns one below the other, for a terminal on which they do not fit side by side.
fn stacked<const N: usize>(head: &[&str; N], rows: &[[String; N]], columns: usize) -> String {
    let mut text = String::new();
    for row in rows {
        for (at, (name, cell)) in head.iter().zip(row).enumerate() {
            if at == 0 {
                text.push_str(&format!("{STRONG}{}{STRONG:#}\n", fit(cell, columns)));
                continue;
            }
            for line in wrapped(&format!("{name}: {cell}"), columns.saturating_sub(2)) {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

/// Writes to standard output, without colour where it is no terminal. A reader that went away, such as `head`, is no error.
fn write(text: &str) -> anyhow::Result<()> {
    match anstream::stdout().write_all(printable(text).as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

/// Writes what is no text for people as it is. A reader that went away is no error.
pub(crate) fn write_plain(bytes: &[u8]) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

/// The beginning of an id, which is as good as all of it; of a copy all, because it begins like the id of the first.
pub(crate) fn short(id: &str) -> &str {
    let is_copy = MemoryId::parse(id).is_some_and(|id| id.claim() != id);
    id.get(..8).filter(|_| !is_copy).unwrap_or(id)
}

pub(crate) fn notice(notice: Option<&str>, columns: Option<usize>) -> String {
    let lines = notice.map(|notice| wrapped(&harmless(notice), columns.unwrap_or(usize::MAX))).unwrap_or_default();
    lines.iter().map(|line| format!("{DIM}{line}{DIM:#}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_stand_one_below_the_other() {
        let rows = [["codex", "Codex", "~/.local/share/a/long/way/to/bin/codex"].map(str::to_owned)];
        let text = stacked(&["host", "is", "found here"], &rows, 24);
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        codex
          is: Codex
          found here:
          ~/.local/share/a/long/
          way/to/bin/codex
        ");
    }
}
