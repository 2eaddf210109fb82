//! Output of commands: formatted for terminals, plain in pipes, or JSON.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use schema::model::memory::MemoryType;
use schema::privacy::output_text::escape_json_text;
use schema::tool::{LoadOutput, ReindexOutput, SearchOutput};
use serde::Serialize;

use super::pager;
use super::terminal_text::{
    clean_for_terminal, count_of_memories, count_with_unit, display_width, fit_columns, pad_columns, printable_text,
    wrap,
};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const DIM: Style = AnsiColor::BrightBlack.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const KIND: Style = AnsiColor::Cyan.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();

/// Indentation of the lines of a hit.
const INDENT: &str = "      ";

#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
    pages: bool,
}

impl Printer {
    /// Uses a pager for long output, if `pages`.
    pub(crate) fn new(json: bool, pages: bool) -> Self {
        Self { json, pages }
    }

    pub(crate) fn print_hits(&self, output: &SearchOutput) -> anyhow::Result<()> {
        self.print_paged(output, |columns| hits_text(output, columns))
    }

    pub(crate) fn print_loaded(&self, output: &LoadOutput) -> anyhow::Result<()> {
        self.print_paged(output, |columns| {
            clean_for_terminal(&output.content) + &notice_line(output.notice.as_deref(), columns)
        })
    }

    pub(crate) fn print_brief(&self, brief: Option<&str>) -> anyhow::Result<()> {
        self.print_paged(&brief, |_| match brief {
            Some(text) => clean_for_terminal(text) + "\n",
            None => "Nothing is recorded yet, so the next session starts without a brief.\n".to_owned(),
        })
    }

    pub(crate) fn print_indexed(&self, output: &ReindexOutput) -> anyhow::Result<()> {
        self.print_value(output, || {
            format!(
                "Read {}: {} created, {} indexed, {} removed, in {} ms\n",
                count_with_unit(output.files as u64, "file"),
                count_with_unit(output.chunks as u64, "passage"),
                count_of_memories(output.memories as u64),
                output.removed,
                output.milliseconds
            )
        })
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a value as JSON, even without `--json`.
    pub(crate) fn print_json<T: Serialize + ?Sized>(&self, value: &T) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(value).context("cannot write JSON")?;
        self.print_line(&escape_json_text(&json))
    }

    /// Writes to standard output, without colours if it is not a terminal.
    pub(crate) fn print_text(&self, text: &str) -> anyhow::Result<()> {
        ignore_closed_pipe(anstream::stdout().write_all(printable_text(text).as_bytes()))
    }

    /// Prints a table.
    pub(crate) fn rows<const N: usize>(&self, head: [&str; N], rows: &[[String; N]]) -> anyhow::Result<()> {
        let widths: [usize; N] = std::array::from_fn(|column| {
            rows.iter().map(|row| display_width(&row[column])).fold(display_width(head[column]), usize::max)
        });
        let line = |cells: &[&str]| {
            let cells = cells.iter().zip(&widths).map(|(cell, columns)| pad_columns(cell, *columns));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let columns = pager::terminal_columns().unwrap_or(usize::MAX);
        if widths.iter().sum::<usize>() + 2 * N.saturating_sub(1) > columns {
            return self.print_text(&stacked(&head, rows, columns));
        }
        let mut text = format!("{STRONG}{}{STRONG:#}\n", line(&head));
        text.extend(rows.iter().map(|row| line(&row.each_ref().map(String::as_str)) + "\n"));
        self.print_text(&text)
    }

    pub(crate) fn print_line(&self, text: &str) -> anyhow::Result<()> {
        self.print_text(&format!("{text}\n"))
    }

    /// Prints a sentence, wrapped to the terminal.
    pub(crate) fn print_wrapped(&self, text: &str) -> anyhow::Result<()> {
        match pager::terminal_columns() {
            Some(columns) => self.print_line(&wrap(text, columns).join("\n")),
            None => self.print_line(text),
        }
    }

    /// Prints a value as JSON, or a sentence about it.
    pub(crate) fn print_sentence<T: Serialize>(&self, value: &T, text: &str) -> anyhow::Result<()> {
        if self.json { self.print_json(value) } else { self.print_wrapped(text) }
    }

    /// Prints long output, wrapped to the terminal, in a pager if needed. `text` gets `None` if the output is not a terminal.
    pub(crate) fn print_paged<T: Serialize + ?Sized>(
        &self,
        value: &T,
        text: impl FnOnce(Option<usize>) -> String,
    ) -> anyhow::Result<()> {
        if self.json {
            return self.print_json(value);
        }
        let text = printable_text(&text(pager::terminal_columns()));
        if self.pages && pager::show_paged(&text) {
            return Ok(());
        }
        self.print_text(&text)
    }

    /// Prints a short result.
    pub(crate) fn print_value<T: Serialize + ?Sized>(
        &self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        if self.json { self.print_json(value) } else { self.print_text(&text()) }
    }
}

/// A table with one cell per line, for narrow terminals.
fn stacked<const N: usize>(head: &[&str; N], rows: &[[String; N]], columns: usize) -> String {
    let mut text = String::new();
    for row in rows {
        for (at, (name, cell)) in head.iter().zip(row).enumerate() {
            if at == 0 {
                text.push_str(&format!("{STRONG}{}{STRONG:#}\n", fit_columns(cell, columns)));
                continue;
            }
            push_lines(&mut text, "  ", PLAIN, wrap(&format!("{name}: {cell}"), columns.saturating_sub(2)));
        }
    }
    text
}

/// Writes bytes unchanged.
pub(crate) fn write_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    ignore_closed_pipe(std::io::stdout().lock().write_all(bytes))
}

/// A closed pipe, such as of `head`, is not an error.
fn ignore_closed_pipe(written: std::io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Formats the hits of a search.
pub(crate) fn hits_text(output: &SearchOutput, columns: Option<usize>) -> String {
    let mut text = String::new();
    for hit in &output.results {
        let kind = hit.kind.map_or("note", MemoryType::as_str);
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(INDENT.len()));
        let details = [&hit.date, &hit.heading].into_iter().flatten().map(|text| clean_for_terminal(text));
        let flags = hit.flags.iter().map(|flag| format!("[{flag}]"));
        let details: String = details.chain(flags).map(|detail| format!("  {detail}")).collect();
        let details = fit_columns(&details, room.saturating_sub(display_width(kind)));
        text.push_str(&format!("{GOOD}{:.2}{GOOD:#}  {STRONG}{kind}{STRONG:#}{details}\n", hit.score));
        push_lines(&mut text, INDENT, PLAIN, wrap(&clean_for_terminal(&hit.snippet), room));
        let place = format!("{}:{}", clean_for_terminal(&hit.path), hit.start_line);
        let is_one_line = display_width(&place) + display_width(&hit.id) + 2 <= room;
        let gap = if is_one_line { "  ".to_owned() } else { format!("\n{INDENT}") };
        text.push_str(&format!("{INDENT}{DIM}{place}{gap}{}{DIM:#}\n", hit.id));
        let code = hit.code.iter().flat_map(|code| wrap(&clean_for_terminal(code), room));
        push_lines(&mut text, INDENT, PLAIN, code);
        text.extend(hit.explanation.as_ref().map(|explanation| format!("{INDENT}{DIM}{explanation}{DIM:#}\n")));
    }
    text + &notice_line(output.notice.as_deref(), columns)
}

pub(crate) fn notice_line(notice: Option<&str>, columns: Option<usize>) -> String {
    let mut text = String::new();
    let lines = notice.into_iter().flat_map(|notice| wrap(&clean_for_terminal(notice), columns.unwrap_or(usize::MAX)));
    push_lines(&mut text, "", DIM, lines);
    text
}

/// Adds lines with an indentation, in a style.
pub(crate) fn push_lines(text: &mut String, indent: &str, style: Style, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        text.push_str(&format!("{indent}{style}{line}{style:#}\n"));
    }
}

/// A sentence about removed secrets, or nothing.
pub(crate) fn redaction_note(redactions: usize) -> String {
    match redactions {
        0 => String::new(),
        1 => " 1 secret was removed from the text.".to_owned(),
        count => format!(" {} were removed from the text.", count_with_unit(count as u64, "secret")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal_text::without_styles;

    #[test]
    fn wide_table_is_printed_one_cell_per_line() {
        let rows = [["codex", "Codex", "~/.local/share/a/long/way/to/bin/codex"].map(str::to_owned)];
        let text = stacked(&["host", "is", "found here"], &rows, 24);
        insta::assert_snapshot!(without_styles(&text), @r"
        codex
          is: Codex
          found here:
          ~/.local/share/a/long/
          way/to/bin/codex
        ");
    }
}
