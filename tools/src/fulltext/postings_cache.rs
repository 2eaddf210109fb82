//! Caches posting lists, which never change. A query looks up hundreds of synonyms, and most occur in few documents or
//! none.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::token_hashes::{TokenHasher, token_hash};

/// Bytes of the longest cached list; for longer ones only the length is cached.
pub(super) const MAX_CACHED_BYTES: i64 = 2 * 1024;

/// Approximate limits of the cache: lists and bytes.
const MAX_LISTS: usize = 16 * 1024;
const MAX_BYTES: usize = 1024 * 1024;

/// By segment and term.
#[derive(Debug, Default)]
pub struct PostingsCache {
    lists: HashMap<(i64, u64), CachedPostings, TokenHasher>,
    bytes: usize,
}

#[derive(Debug, Clone)]
pub(super) struct CachedPostings {
    /// Number of postings; 0 if the segment lacks the term.
    pub(super) count: usize,
    /// `None` for a long list.
    pub(super) bytes: Option<Arc<[u8]>>,
}

impl PostingsCache {
    /// Clears the cache, because another database has other segments.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn get(&self, segment: i64, term: &str) -> Option<CachedPostings> {
        self.lists.get(&(segment, token_hash(term))).cloned()
    }

    pub(super) fn insert(&mut self, segment: i64, term: &str, list: CachedPostings) {
        if self.lists.len() >= MAX_LISTS || self.bytes >= MAX_BYTES {
            self.clear();
        }
        self.bytes += list.bytes.as_ref().map_or(0, |bytes| bytes.len());
        self.lists.insert((segment, token_hash(term)), list);
    }
}
