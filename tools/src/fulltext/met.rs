//! Lists of postings that were read and may be asked for again: a segment never changes. A query looks for hundreds of words that mean
//! the same as its own, most of which are in few documents or in none.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::hashes::{Hashes, hash};

/// Bytes of the longest list that is kept; longer ones are kept by their length alone.
pub(super) const SHORT: i64 = 2 * 1024;

/// Lists that are kept at most, and bytes of them, about.
const MOST_LISTS: usize = 16 * 1024;
const MOST_BYTES: usize = 1024 * 1024;

/// Lists by their segment and term.
#[derive(Debug, Default)]
pub struct Met {
    lists: HashMap<(i64, u64), List, Hashes>,
    bytes: usize,
}

/// What is known of a list.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// Its postings; none where the segment lacks the term.
    pub(super) count: usize,
    /// `None` for one that is long.
    pub(super) bytes: Option<Arc<[u8]>>,
}

impl Met {
    /// Forgets all, because the segments are those of another database.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn get(&self, segment: i64, term: &str) -> Option<List> {
        self.lists.get(&(segment, hash(term))).cloned()
    }

    pub(super) fn keep(&mut self, segment: i64, term: &str, list: List) {
        if self.lists.len() >= MOST_LISTS || self.bytes >= MOST_BYTES {
            self.clear();
        }
        self.bytes += list.bytes.as_ref().map_or(0, |bytes| bytes.len());
        self.lists.insert((segment, hash(term)), list);
    }
}
