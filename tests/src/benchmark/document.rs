//! Writes the results of benchmarks into documents: a generated block, and the machine.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Replaces what a document has between two markers.
pub fn replace_block(path: &Path, begin: &str, end: &str, block: &str) -> Result<(), Box<dyn Error>> {
    let document = fs::read_to_string(path)?;
    let (before, rest) = document.split_once(begin).ok_or_else(|| format!("{} has no {begin}", path.display()))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| format!("{} has no {end}", path.display()))?;
    Ok(fs::write(path, format!("{before}{begin}{block}{end}{after}"))?)
}

/// Describes the machine, and its load before the run.
pub fn describe_machine(binaries: &str) -> String {
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
