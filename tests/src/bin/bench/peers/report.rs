//! The figures of the servers, their tables in Markdown, and the block in docs/dev/performance.md.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use harness::benchmark::replace_block;
use harness::peer::PeerDescription;

use crate::arguments::Outcome;
use crate::figures::percentile;

/// Markers of the generated block.
const BEGIN: &str = "<!-- peers: begin -->";
const END: &str = "<!-- peers: end -->";

/// The figures of one server.
#[derive(Debug, Clone, Default)]
pub(crate) struct PeerRow {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) note: Option<String>,
    /// Why the rest was not measured.
    pub(super) failure: Option<String>,
    /// Times until `tools/list` with all memories.
    pub(super) starts: Vec<Duration>,
    pub(super) saves: Vec<Duration>,
    pub(super) searches: Vec<Duration>,
    /// Right answers and questions of each class.
    pub(super) right: BTreeMap<&'static str, (usize, usize)>,
    /// In MiB.
    pub(super) resident: Option<f64>,
    /// On disk, of all memories.
    pub(super) bytes: u64,
    pub(super) concurrent: Option<ConcurrentSaves>,
    pub(super) hooks: Vec<Duration>,
}

impl PeerRow {
    pub(super) fn new(description: &PeerDescription) -> Self {
        let PeerDescription { name, version, note, .. } = description.clone();
        Self { name, version, note, ..Self::default() }
    }
}

/// How many saves of several processes were stored, refused, lost or stored twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConcurrentSaves {
    /// Processes that answered.
    pub(super) processes: usize,
    pub(super) sent: usize,
    pub(super) refused: usize,
    /// Acknowledged saves that were looked for.
    pub(super) checked: usize,
    pub(super) lost: usize,
    pub(super) duplicated: usize,
    /// Whether a search finds what one process saves alone. Otherwise, lost and duplicated saves are unknown.
    pub(super) is_searchable: bool,
}

pub(crate) fn write(path: &Path, block: &str) -> Outcome<()> {
    replace_block(path, BEGIN, END, &format!("\n{block}"))
}

/// Returns both tables and the notes.
pub(crate) fn markdown(machine: &str, rows: &[PeerRow]) -> String {
    let measured: Vec<&PeerRow> = rows.iter().filter(|row| row.failure.is_none()).collect();
    let mut text = format!("{machine}\n\n");
    text += "| server | memories | start | save | search | right | MiB | bytes | 8 at once: sent, refused, lost, twice | hook |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for row in rows {
        let _ = writeln!(text, "| {} |", figures(row).join(" | "));
    }
    text += &classes(&measured);
    let notes = measured.iter().filter_map(|row| Some(format!("- {}: {}\n", row.name, row.note.as_ref()?)));
    let notes: String = notes.collect();
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
    text
}

fn figures(row: &PeerRow) -> Vec<String> {
    let name = format!("{} {}", row.name, row.version);
    if let Some(failure) = &row.failure {
        return vec![name, failure.clone()];
    }
    let sums = row.right.values().fold((0, 0), |sums, (right, all)| (sums.0 + right, sums.1 + all));
    let saved = row.saves.len();
    vec![
        name,
        saved.to_string(),
        milliseconds(&row.starts, &[50]),
        milliseconds(&row.saves, &[50, 95]),
        milliseconds(&row.searches, &[50, 95]),
        share(sums),
        row.resident.map_or_else(|| "?".to_owned(), |resident| format!("{resident:.0}")),
        (row.bytes / saved.max(1) as u64).to_string(),
        row.concurrent.map_or_else(|| "?".to_owned(), at_once),
        milliseconds(&row.hooks, &[50]),
    ]
}

/// Returns the table of right answers by class.
fn classes(rows: &[&PeerRow]) -> String {
    let names: Vec<&str> = rows.first().map(|row| row.right.keys().copied().collect()).unwrap_or_default();
    let mut text = format!("\n| right answers | {} |\n| --- |{}\n", names.join(" | "), " --- |".repeat(names.len()));
    for row in rows {
        let shares: Vec<String> =
            names.iter().map(|name| row.right.get(name).copied().map_or_else(String::new, share)).collect();
        let _ = writeln!(text, "| {} | {} |", row.name, shares.join(" | "));
    }
    text
}

fn at_once(saves: ConcurrentSaves) -> String {
    let ConcurrentSaves { processes, sent, refused, checked, lost, duplicated, is_searchable } = saves;
    let mut text = match is_searchable {
        true => format!("{sent}, {refused}, {lost}, {duplicated}"),
        false => format!("{sent}, {refused}, unknown"),
    };
    if is_searchable && checked < sent - refused {
        let _ = write!(text, " ({checked} checked)");
    }
    if processes < crate::crowd::WORKERS {
        let _ = write!(text, " ({processes} of {} started)", crate::crowd::WORKERS);
    }
    text
}

fn share((right, all): (usize, usize)) -> String {
    format!("{} %", (100 * right).checked_div(all).unwrap_or_default())
}

/// Returns percentiles in milliseconds.
fn milliseconds(times: &[Duration], percents: &[usize]) -> String {
    if times.is_empty() {
        return "none".to_owned();
    }
    let mut times = times.to_vec();
    times.sort_unstable();
    let each = percents.iter().map(|percent| match percentile(&times, *percent) {
        time if time < 10.0 => format!("{time:.1}"),
        time => format!("{time:.0}"),
    });
    each.collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_figures_failures_and_notes() {
        let measured = PeerRow {
            name: "ours".to_owned(),
            version: "1".to_owned(),
            note: Some("Without a model.".to_owned()),
            starts: vec![Duration::from_millis(7)],
            saves: [1, 2, 30].map(Duration::from_millis).to_vec(),
            searches: vec![Duration::from_micros(1_540)],
            right: [("a question", (9, 10)), ("one word", (10, 10))].into(),
            resident: Some(20.6),
            bytes: 3_600,
            concurrent: Some(ConcurrentSaves {
                processes: 7,
                sent: 200,
                refused: 10,
                checked: 100,
                lost: 3,
                duplicated: 1,
                is_searchable: true,
            }),
            ..PeerRow::default()
        };
        let failed = PeerRow {
            name: "theirs".to_owned(),
            version: "2".to_owned(),
            failure: Some("not installed".to_owned()),
            ..PeerRow::default()
        };
        insta::assert_snapshot!(markdown("One processor.", &[measured, failed]), @r"
        One processor.

        | server | memories | start | save | search | right | MiB | bytes | 8 at once: sent, refused, lost, twice | hook |
        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
        | ours 1 | 3 | 7.0 | 2.0 / 30 | 1.5 / 1.5 | 95 % | 21 | 1200 | 200, 10, 3, 1 (100 checked) (7 of 8 started) | none |
        | theirs 2 | not installed |

        | right answers | a question | one word |
        | --- | --- | --- |
        | ours | 90 % | 100 % |

        - ours: Without a model.
        ");
    }
}
