//! Writes results to docs/dev/performance.md: machine, table and growth between two markers, and the plot next to it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

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

/// Replaces what a document has between two markers.
pub(crate) fn replace_block(path: &Path, begin: &str, end: &str, block: &str) -> Outcome<()> {
    let document = fs::read_to_string(path)?;
    let (before, rest) = document.split_once(begin).ok_or_else(|| format!("{} has no {begin}", path.display()))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| format!("{} has no {end}", path.display()))?;
    Ok(fs::write(path, format!("{before}{begin}{block}{end}{after}"))?)
}

fn strip_ends(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Describes the machine, and its load before the run.
pub(crate) fn describe_machine(binaries: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let count = thread::available_parallelism().map_or(1, usize::from);
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    let memory = memory.and_then(|text| text.strip_suffix(" kB")?.parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |kilobytes| format!(", {:.0} GB", kilobytes / 1e6));
    let system =
        Command::new("uname").arg("-sr").output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let system = system.unwrap_or_else(|_| std::env::consts::OS.to_owned());
    format!("{count} processors, {processor}{memory}, {}. {binaries} {}", system.trim(), other_load())
}

/// Returns the share of busy processors, sampled while this program is idle.
fn other_load() -> String {
    let times = || {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = line.split_whitespace().filter_map(|time| time.parse().ok()).collect();
        Some((*times.get(3)? + *times.get(4)?, times.iter().take(8).sum::<u64>()))
    };
    let before = times();
    thread::sleep(Duration::from_secs(1));
    match before.zip(times()) {
        Some(((idle, all), (idle_then, all_then))) if all_then > all => {
            let busy = 100 - 100 * (idle_then - idle) / (all_then - all);
            format!("Others kept the processors busy for {busy} % of the time just before.")
        }
        _ => String::new(),
    }
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
