//! The figures of one server.

use std::collections::BTreeMap;
use std::time::Duration;

use harness::peer::PeerDescription;

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
