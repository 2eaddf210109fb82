//! Writes results to docs/dev/performance.md: machine, table and growth between two markers, and the plot next to it.

use std::fs;
use std::path::Path;

use harness::benchmark::replace_block;

use crate::arguments::Outcome;
use crate::figures::FigureTable;
use crate::growth::{self, GrowthPoint};

/// Markers of the generated block.
const BEGIN: &str = "<!-- bench: begin -->";
const END: &str = "<!-- bench: end -->";

/// Replaces the block of a document, and writes the plot next to it with the extension `svg`.
pub(crate) fn write(path: &Path, machine: &str, table: &FigureTable, grown: &[GrowthPoint]) -> Outcome<()> {
    let plot = path.with_extension("svg");
    let name = plot.file_name().unwrap_or_default().to_string_lossy();
    let block = format!(
        "\n{machine}\n\n```\n{}\n{}```\n\n![how a search grows]({name})\n",
        strip_ends(&table.text()),
        strip_ends(&growth::render_text(grown))
    );
    replace_block(path, BEGIN, END, &block)?;
    fs::write(plot, growth::render_svg(grown))?;
    Ok(())
}

fn strip_ends(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_is_replaced_and_its_surroundings_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("speed.md");
        fs::write(&path, format!("# Speed\n\n{BEGIN}\nold\n{END}\n\nMore.\n")).unwrap();
        let mut table = FigureTable::default();
        table.add("the first look", 1.5, "ms", None, None);
        let grown = [GrowthPoint { memories: 1_000, p50: 1.5, p95: 2.0, p99: 3.0, processor: 1.0 }];
        for _ in 0..2 {
            write(&path, "One processor.", &table, &grown).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Speed\n\n") && text.ends_with("\n\nMore.\n") && !text.contains("old"), "{text}");
        assert_eq!(text.matches("the first look").count(), 1, "{text}");
        assert!(text.contains("![how a search grows](speed.svg)") && folder.path().join("speed.svg").exists());
        fs::write(&path, "# Speed\n").unwrap();
        assert!(write(&path, "", &table, &grown).is_err());
    }
}
