//! What commands print: readable on a terminal, plain when piped, JSON when asked for.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};
use schema::memory::{MemoryId, MemoryType};
use schema::store::Row;
use schema::tool::{AboutMemory, GetOutput, LoadOutput, ReindexOutput, SaveOutput, SearchOutput, StatsOutput};
use serde::Serialize;

const DIM: Style = AnsiColor::BrightBlack.on_default();
const STRONG: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// Characters of a memory's text in a list.
const PREVIEW: usize = 100;

/// Columns of a table at least.
const NARROWEST: u16 = 60;

/// Prints the results of commands to standard output.
#[derive(Debug)]
pub(crate) struct Printer {
    json: bool,
}

/// A memory in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    id: String,
    #[serde(rename = "type")]
    kind: MemoryType,
    date: String,
    session_id: String,
    path: String,
    start_line: usize,
    end_line: usize,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<String>,
}

impl Listed {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            id: row.memory.id.to_string(),
            kind: row.memory.kind,
            date: row.memory.at.local_second().replace('T', " "),
            session_id: row.memory.session_id.clone(),
            path: format!("{}/{}", schema::layout::STORE_DIR, row.place.path),
            start_line: row.place.start_line,
            end_line: row.place.end_line,
            content: row.memory.content.clone(),
            superseded_by: row.superseded_by.as_ref().map(ToString::to_string),
        }
    }

    fn preview(&self) -> String {
        let folded = self.content.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut preview: String = folded.chars().filter(|c| !c.is_control()).take(PREVIEW).collect();
        if preview.len() < folded.len() {
            preview.push('…');
        }
        preview
    }
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn found(&self, output: &SearchOutput) -> anyhow::Result<()> {
        self.print(output, || {
            let mut text = String::new();
            for hit in &output.results {
                let kind = hit.kind.map_or("note", MemoryType::as_str);
                text.push_str(&format!("{GOOD}{:.2}{GOOD:#}  {STRONG}{kind}{STRONG:#}", hit.score));
                for detail in [&hit.date, &hit.heading].into_iter().flatten() {
                    text.push_str(&format!("  {}", printable(detail)));
                }
                for flag in &hit.flags {
                    text.push_str(&format!("  [{flag}]"));
                }
                text.push_str(&format!("\n      {}\n", hit.snippet));
                text.push_str(&format!("      {DIM}{}:{}  {}{DIM:#}\n", printable(&hit.path), hit.start_line, hit.id));
                if let Some(explanation) = &hit.explanation {
                    text.push_str(&format!("      {DIM}{explanation}{DIM:#}\n"));
                }
            }
            text + &notice(output.notice.as_deref())
        })
    }

    pub(crate) fn list(&self, memories: &[Listed], is_narrowed: bool) -> anyhow::Result<()> {
        self.print(&memories, || {
            if memories.is_empty() {
                let found =
                    if is_narrowed { "Nothing remembered is of this kind." } else { "Nothing is remembered yet." };
                return format!("{found}\n");
            }
            let mut table = table(["id", "date", "type", "text"]);
            for memory in memories {
                table.add_row([
                    short(&memory.id).to_owned(),
                    memory.date.clone(),
                    memory.kind.to_string(),
                    memory.preview(),
                ]);
            }
            format!("{table}\n")
        })
    }

    pub(crate) fn shown(&self, output: &GetOutput) -> anyhow::Result<()> {
        self.print(output, || {
            let place = format!("{}:{}-{}", output.path, output.start_line, output.end_line);
            let about = output.memory.as_ref().map(about).unwrap_or_default();
            let rest = notice(output.notice.as_deref());
            format!("{DIM}{place}{about}{DIM:#}\n{}\n{rest}", printable(&output.content))
        })
    }

    pub(crate) fn saved(&self, output: &SaveOutput) -> anyhow::Result<()> {
        self.print(output, || format!("{}  {DIM}{}{DIM:#}\n", output.message, output.id))
    }

    pub(crate) fn deleted(&self, memory: &Listed) -> anyhow::Result<()> {
        self.print(memory, || format!("Deleted from {}: {}\n", memory.path, memory.preview()))
    }

    pub(crate) fn loaded(&self, output: &LoadOutput) -> anyhow::Result<()> {
        self.print(output, || printable(&output.content) + &notice(output.notice.as_deref()))
    }

    pub(crate) fn indexed(&self, output: &ReindexOutput) -> anyhow::Result<()> {
        self.print(output, || {
            format!(
                "Read {} files: {} chunks made, {} memories taken in, {} removed, in {} ms\n",
                output.files, output.chunks, output.memories, output.removed, output.milliseconds
            )
        })
    }

    pub(crate) fn stats(&self, output: &StatsOutput) -> anyhow::Result<()> {
        self.print(output, || {
            let mut table = table(["what", "count"]);
            for counted in &output.types {
                table.add_row([counted.kind.to_string(), counted.count.to_string()]);
            }
            for (name, value) in [
                ("memories", output.memories),
                ("sessions", output.sessions),
                ("files", output.files),
                ("chunks", output.chunks),
                ("not indexed yet", output.pending),
                ("waiting in the spool", output.queue),
                ("secrets taken out", output.redactions),
                ("bytes on disk", output.bytes),
            ] {
                table.add_row([name.to_owned(), value.to_string()]);
            }
            let last = output.last_indexed.as_deref().unwrap_or("never");
            let answered_by = output.queue_answered_by.as_str();
            let mut text = format!(
                "{STRONG}{}{STRONG:#}\n{table}\nlast indexed {last}\nqueue of hooks answered by {answered_by}\n",
                output.project
            );
            for problem in &output.problems {
                text.push_str(&format!("problem: {}\n", printable(problem)));
            }
            text
        })
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a value in JSON, whatever was asked for.
    pub(crate) fn json<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(value).context("cannot write JSON")?;
        write(&format!("{json}\n"))
    }

    /// Prints text as it is.
    pub(crate) fn text(&self, text: &str) -> anyhow::Result<()> {
        write(text)
    }

    /// Prints a table.
    pub(crate) fn rows<const N: usize>(
        &self,
        head: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> anyhow::Result<()> {
        let mut table = table(head);
        for row in rows {
            table.add_row(row);
        }
        write(&format!("{table}\n"))
    }

    /// Prints plain text.
    pub(crate) fn line(&self, text: &str) -> anyhow::Result<()> {
        write(&format!("{text}\n"))
    }

    fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        if self.json {
            let json = serde_json::to_string_pretty(value).context("cannot write JSON")?;
            return write(&format!("{json}\n"));
        }
        write(&text())
    }
}

/// Writes to standard output, without colour where it is no terminal. A reader that went away, such as `head`, is no error.
fn write(text: &str) -> anyhow::Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("cannot write the answer"),
        _ => Ok(()),
    }
}

fn table<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // A terminal that does not know its width says 0, which would leave a character a line.
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(head.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
    table
}

/// What is known of a memory, on lines of its own.
fn about(memory: &AboutMemory) -> String {
    let AboutMemory { kind, date, session_id, metadata, supersedes, superseded_by } = memory;
    let mut text = format!("\n{kind}, {date}");
    let metadata = (!metadata.is_empty()).then(|| serde_json::Value::Object(metadata.clone()).to_string());
    for (name, value) in [
        ("session", Some(session_id).filter(|id| !id.is_empty())),
        ("metadata", metadata.as_ref()),
        ("supersedes", supersedes.as_ref()),
        ("superseded by", superseded_by.as_ref()),
    ] {
        text.extend(value.map(|value| format!("\n{name} {}", printable(value))));
    }
    text
}

/// Text of others for a terminal: what would move the cursor or change colours is shown and not obeyed.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// The beginning of an id, which is as good as all of it; of a copy all, because it begins like the id of the first.
fn short(id: &str) -> &str {
    let is_copy = MemoryId::parse(id).is_some_and(|id| id.claim() != id);
    id.get(..8).filter(|_| !is_copy).unwrap_or(id)
}

fn notice(notice: Option<&str>) -> String {
    notice.map_or_else(String::new, |notice| format!("{DIM}{}{DIM:#}\n", printable(notice)))
}
