//! Posting lists: the documents of a term with its impact, newest first, in skippable blocks; and a cache of them.
//!
//! A list of more than one block starts with the number of blocks and, for each, its last document, bytes and maximum
//! impact. Then follow the postings: the distance to the previous document, and the impact in one byte.

use std::collections::HashMap;
use std::sync::Arc;

use crate::text::token_hashes::{TokenHasher, token_hash};

const BLOCK: usize = 128;

/// A document number and the term's impact, from 1 to 255.
pub(super) type Posting = (u32, u8);

/// Encodes postings in descending order of documents, none above `last`.
pub(super) fn encode(last: u32, postings: &[Posting]) -> Vec<u8> {
    let mut skips = Vec::new();
    let mut bytes = Vec::with_capacity(postings.len() * 2 + 8);
    let mut before = last;
    for block in postings.chunks(BLOCK) {
        let (start, above) = (bytes.len(), before);
        for (document, impact) in block {
            write_varint(&mut bytes, before - document);
            bytes.push(*impact);
            before = *document;
        }
        write_varint(&mut skips, above - before);
        write_varint(&mut skips, (bytes.len() - start) as u32);
        skips.push(block.iter().map(|(_, impact)| *impact).max().unwrap_or(0));
    }
    if postings.len() <= BLOCK {
        return bytes;
    }
    let mut list = Vec::with_capacity(skips.len() + bytes.len() + 4);
    write_varint(&mut list, postings.len().div_ceil(BLOCK) as u32);
    list.extend_from_slice(&skips);
    list.extend_from_slice(&bytes);
    list
}

/// Decodes all postings, descending. Invalid bytes end the list early.
pub(super) fn decode(last: u32, count: usize, bytes: &[u8]) -> Vec<Posting> {
    let mut cursor = PostingCursor::new(last, count, bytes.into());
    let mut postings = Vec::with_capacity(count);
    while let Some(document) = cursor.document() {
        postings.push((document, cursor.impact()));
        cursor.advance();
    }
    postings
}

#[derive(Debug)]
pub(super) struct PostingCursor {
    bytes: Arc<[u8]>,
    blocks: Vec<PostingBlock>,
    /// The current block, and the position in it.
    block: usize,
    at: usize,
    read: Vec<Posting>,
    /// Maximum impact of the list.
    pub(super) max: u8,
}

/// The header of a block.
#[derive(Debug, Clone, Copy)]
struct PostingBlock {
    /// The document before the first, and the last one.
    above: u32,
    lowest: u32,
    start: usize,
    count: usize,
    max: u8,
}

impl PostingCursor {
    /// Starts at the first posting.
    pub(super) fn new(last: u32, count: usize, bytes: Arc<[u8]>) -> Self {
        let mut cursor = Self { bytes, blocks: Vec::new(), block: 0, at: 0, read: Vec::new(), max: 0 };
        if count <= BLOCK {
            cursor.blocks.push(PostingBlock { above: last, lowest: 0, start: 0, count, max: 0 });
            cursor.open_block(0);
            let block = &mut cursor.blocks[0];
            block.max = cursor.read.iter().map(|(_, impact)| *impact).max().unwrap_or(0);
            block.lowest = cursor.read.last().map_or(0, |(document, _)| *document);
        } else {
            cursor.blocks = parse_blocks(last, count, &cursor.bytes).unwrap_or_default();
            cursor.open_block(0);
        }
        cursor.max = cursor.blocks.iter().map(|block| block.max).max().unwrap_or(0);
        cursor
    }

    /// The current document; `None` at the end.
    pub(super) fn document(&self) -> Option<u32> {
        self.read.get(self.at).map(|(document, _)| *document)
    }

    /// The impact of the current posting.
    pub(super) fn impact(&self) -> u8 {
        self.read.get(self.at).map_or(0, |(_, impact)| *impact)
    }

    /// The current block: number, last document and maximum impact.
    pub(super) fn block(&self) -> (usize, u32, u8) {
        self.blocks.get(self.block).map_or((self.block, 0, 0), |block| (self.block, block.lowest, block.max))
    }

    /// Estimated blocks still to read.
    pub(super) fn blocks_left(&self) -> (usize, usize) {
        (self.blocks.len().saturating_sub(self.block), self.read.len())
    }

    pub(super) fn end(&mut self) {
        self.open_block(self.blocks.len());
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
        if self.at >= self.read.len() {
            self.open_block(self.block + 1);
        }
    }

    /// Advances to the first posting whose document is not above this one.
    pub(super) fn seek(&mut self, document: u32) {
        if self.blocks.get(self.block).is_some_and(|block| block.lowest > document) {
            let further = &self.blocks[self.block..];
            let passed = further.partition_point(|block| block.lowest > document);
            self.open_block(self.block + passed);
        }
        while self.document().is_some_and(|found| found > document) {
            self.at += 1;
        }
    }

    /// Opens a block; at the end there are no postings.
    fn open_block(&mut self, block: usize) {
        (self.block, self.at) = (block, 0);
        self.read.clear();
        let Some(PostingBlock { mut above, start, count, .. }) = self.blocks.get(block).copied() else { return };
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        for _ in 0..count {
            let Some(distance) = read_varint(&mut rest) else { return };
            let Some((impact, after)) = rest.split_first() else { return };
            above = above.saturating_sub(distance);
            self.read.push((above, *impact));
            rest = after;
        }
    }
}

fn parse_blocks(last: u32, count: usize, bytes: &[u8]) -> Option<Vec<PostingBlock>> {
    let mut rest = bytes;
    let number = read_varint(&mut rest)? as usize;
    let (mut blocks, mut above, mut start) = (Vec::with_capacity(number.min(bytes.len())), last, 0);
    for i in 0..number {
        let lowest = above.saturating_sub(read_varint(&mut rest)?);
        let length = read_varint(&mut rest)? as usize;
        let (max, after) = rest.split_first()?;
        rest = after;
        blocks.push(PostingBlock {
            above,
            lowest,
            start,
            count: BLOCK.min(count.saturating_sub(i * BLOCK)),
            max: *max,
        });
        (above, start) = (lowest, start + length);
    }
    let head = bytes.len() - rest.len();
    blocks.iter_mut().for_each(|block| block.start += head);
    Some(blocks)
}

/// Writes a variable-length integer, seven bits per byte, lowest first.
fn write_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a variable-length integer from the front.
fn read_varint(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for shift in (0..35).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u32::from(byte & 0x7F) << shift.min(31);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Bytes of the longest cached list; for longer ones only the length is cached.
pub(super) const MAX_CACHED_LIST_BYTES: i64 = 2 * 1024;

/// Approximate limits of the cache: lists and bytes.
const MAX_CACHED_LISTS: usize = 16 * 1024;
const MAX_CACHE_BYTES: usize = 1024 * 1024;

/// Caches posting lists by segment and term. They never change. A query looks up hundreds of synonyms, and most occur in few documents
/// or none.
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
        if self.lists.len() >= MAX_CACHED_LISTS || self.bytes >= MAX_CACHE_BYTES {
            self.clear();
        }
        self.bytes += list.bytes.as_ref().map_or(0, |bytes| bytes.len());
        self.lists.insert((segment, token_hash(term)), list);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn postings() -> impl Strategy<Value = Vec<Posting>> {
        let step = prop_oneof![8 => 1..4u32, 1 => 1..100_000u32];
        proptest::collection::vec((step, 1..=255u8), 0..700).prop_map(|steps| {
            let mut document = 0;
            let rising = steps.into_iter().map(|(step, impact)| {
                document += step;
                (document, impact)
            });
            let mut postings: Vec<Posting> = rising.collect();
            postings.reverse();
            postings
        })
    }

    proptest! {
        #[test]
        fn encoded_postings_decode_unchanged(postings in postings(), further in 0..300u32) {
            let last = postings.first().map_or(0, |(document, _)| *document) + further;
            prop_assert_eq!(decode(last, postings.len(), &encode(last, &postings)), postings);
        }

        #[test]
        fn seek_equals_repeated_advance(postings in postings(), steps in proptest::collection::vec(0..3000u32, 1..40)) {
            let last = postings.first().map_or(0, |(document, _)| *document);
            let mut cursor = PostingCursor::new(last, postings.len(), encode(last, &postings).into());
            let mut target = last;
            for step in steps {
                target = target.saturating_sub(step);
                cursor.seek(target);
                let expected = postings.iter().find(|(document, _)| *document <= target);
                prop_assert_eq!(cursor.document().map(|document| (document, cursor.impact())), expected.copied());
                let (_, lowest, max) = cursor.block();
                if let Some((document, impact)) = expected {
                    prop_assert!(lowest <= *document && max >= *impact);
                }
            }
        }

        #[test]
        fn invalid_posting_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..600), count in 0..1000usize) {
            prop_assert!(decode(500, count, &bytes).len() <= count.max(bytes.len()));
        }
    }
}
