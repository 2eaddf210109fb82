//! A list of postings: which documents hold a term, and how strongly, the newest first, in blocks that can be passed over.
//!
//! A list of more than one block begins with the number of blocks and, for each, how far down its documents reach, its bytes
//! and its greatest impact. Then follow the postings: the distance to the document before, and the impact, one byte.

use std::sync::Arc;

/// Postings of a block.
const BLOCK: usize = 128;

/// A document by its number and how strongly it holds a term, from 1 to 255.
pub(super) type Posting = (u32, u8);

/// Writes postings in falling order of their documents, none of which is above `last`.
pub(super) fn encode(last: u32, postings: &[Posting]) -> Vec<u8> {
    let mut skips = Vec::new();
    let mut bytes = Vec::with_capacity(postings.len() * 2 + 8);
    let mut before = last;
    for block in postings.chunks(BLOCK) {
        let (start, above) = (bytes.len(), before);
        for (document, impact) in block {
            put(&mut bytes, before - document);
            bytes.push(*impact);
            before = *document;
        }
        put(&mut skips, above - before);
        put(&mut skips, (bytes.len() - start) as u32);
        skips.push(block.iter().map(|(_, impact)| *impact).max().unwrap_or(0));
    }
    if postings.len() <= BLOCK {
        return bytes;
    }
    let mut list = Vec::with_capacity(skips.len() + bytes.len() + 4);
    put(&mut list, postings.len().div_ceil(BLOCK) as u32);
    list.extend_from_slice(&skips);
    list.extend_from_slice(&bytes);
    list
}

/// All postings of a list, in falling order. Bytes that are no list end it early.
pub(super) fn decode(last: u32, count: usize, bytes: &[u8]) -> Vec<Posting> {
    let mut cursor = Cursor::new(last, count, bytes.into());
    let mut postings = Vec::with_capacity(count);
    while let Some(document) = cursor.document() {
        postings.push((document, cursor.impact()));
        cursor.advance();
    }
    postings
}

/// A place in a list.
#[derive(Debug)]
pub(super) struct Cursor {
    bytes: Arc<[u8]>,
    blocks: Vec<Block>,
    /// The block that is read, and the place in it.
    block: usize,
    at: usize,
    read: Vec<Posting>,
    /// The greatest impact of all.
    max: u8,
}

/// What is known of a block before it is read.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// The document before the first, and the last one.
    above: u32,
    lowest: u32,
    start: usize,
    count: usize,
    max: u8,
}

impl Cursor {
    /// Stands at the first posting.
    pub(super) fn new(last: u32, count: usize, bytes: Arc<[u8]>) -> Self {
        let mut cursor = Self { bytes, blocks: Vec::new(), block: 0, at: 0, read: Vec::new(), max: 0 };
        if count <= BLOCK {
            cursor.blocks.push(Block { above: last, lowest: 0, start: 0, count, max: 0 });
            cursor.open(0);
            let block = &mut cursor.blocks[0];
            block.max = cursor.read.iter().map(|(_, impact)| *impact).max().unwrap_or(0);
            block.lowest = cursor.read.last().map_or(0, |(document, _)| *document);
        } else {
            cursor.blocks = blocks(last, count, &cursor.bytes).unwrap_or_default();
            cursor.open(0);
        }
        cursor.max = cursor.blocks.iter().map(|block| block.max).max().unwrap_or(0);
        cursor
    }

    /// The document of the posting, `None` behind the last.
    pub(super) fn document(&self) -> Option<u32> {
        self.read.get(self.at).map(|(document, _)| *document)
    }

    /// How strongly the document holds the term.
    pub(super) fn impact(&self) -> u8 {
        self.read.get(self.at).map_or(0, |(_, impact)| *impact)
    }

    /// The greatest impact of the list.
    pub(super) fn max(&self) -> u8 {
        self.max
    }

    /// The block that is read: its number, the last of its documents, and its greatest impact.
    pub(super) fn block(&self) -> (usize, u32, u8) {
        self.blocks.get(self.block).map_or((self.block, 0, 0), |block| (self.block, block.lowest, block.max))
    }

    /// About how much there is to read, in blocks.
    pub(super) fn blocks_left(&self) -> (usize, usize) {
        (self.blocks.len().saturating_sub(self.block), self.read.len())
    }

    /// Goes behind the last posting.
    pub(super) fn end(&mut self) {
        self.open(self.blocks.len());
    }

    /// Goes on to the next posting.
    pub(super) fn advance(&mut self) {
        self.at += 1;
        if self.at >= self.read.len() {
            self.open(self.block + 1);
        }
    }

    /// Goes on to the first posting whose document is not above this one.
    pub(super) fn seek(&mut self, document: u32) {
        if self.blocks.get(self.block).is_some_and(|block| block.lowest > document) {
            let further = &self.blocks[self.block..];
            let passed = further.partition_point(|block| block.lowest > document);
            self.open(self.block + passed);
        }
        while self.document().is_some_and(|found| found > document) {
            self.at += 1;
        }
    }

    /// Reads a block; there are no postings behind the last.
    fn open(&mut self, block: usize) {
        (self.block, self.at) = (block, 0);
        self.read.clear();
        let Some(Block { mut above, start, count, .. }) = self.blocks.get(block).copied() else { return };
        let mut rest = self.bytes.get(start..).unwrap_or_default();
        for _ in 0..count {
            let Some(distance) = take(&mut rest) else { return };
            let Some((impact, after)) = rest.split_first() else { return };
            above = above.saturating_sub(distance);
            self.read.push((above, *impact));
            rest = after;
        }
    }
}

fn blocks(last: u32, count: usize, bytes: &[u8]) -> Option<Vec<Block>> {
    let mut rest = bytes;
    let number = take(&mut rest)? as usize;
    let (mut blocks, mut above, mut start) = (Vec::with_capacity(number.min(bytes.len())), last, 0);
    for i in 0..number {
        let lowest = above.saturating_sub(take(&mut rest)?);
        let length = take(&mut rest)? as usize;
        let (max, after) = rest.split_first()?;
        rest = after;
        blocks.push(Block { above, lowest, start, count: BLOCK.min(count.saturating_sub(i * BLOCK)), max: *max });
        (above, start) = (lowest, start + length);
    }
    let head = bytes.len() - rest.len();
    blocks.iter_mut().for_each(|block| block.start += head);
    Some(blocks)
}

/// Writes a number, seven bits a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a number off the front.
fn take(rest: &mut &[u8]) -> Option<u32> {
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
        fn what_is_written_is_read_back(postings in postings(), further in 0..300u32) {
            let last = postings.first().map_or(0, |(document, _)| *document) + further;
            prop_assert_eq!(decode(last, postings.len(), &encode(last, &postings)), postings);
        }

        #[test]
        fn seeking_comes_to_the_same_as_walking(postings in postings(), steps in proptest::collection::vec(0..3000u32, 1..40)) {
            let last = postings.first().map_or(0, |(document, _)| *document);
            let mut cursor = Cursor::new(last, postings.len(), encode(last, &postings).into());
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
        fn bytes_that_are_no_list_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600), count in 0..1000usize) {
            prop_assert!(decode(500, count, &bytes).len() <= count.max(bytes.len()));
        }
    }
}
