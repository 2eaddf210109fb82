//! Hashes of tokens, which compare faster than texts. Caches stems, because stemming dominates the time to read a text.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::{TokenPiece, stem};

/// For hot hash tables.
pub(crate) type TokenHasher = FixedState;

/// Cached stems per thread; a power of two.
const CACHED_STEMS: usize = 1 << 13;

/// A hash that is the same in every process.
pub(crate) fn token_hash(text: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    // 0 is reserved.
    hasher.finish() | 1
}

thread_local! {
    static KNOWN: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// A direct-mapped cache of stems by the words' hashes.
#[derive(Debug)]
pub(crate) struct StemCache(Vec<(u64, u64)>);

impl StemCache {
    /// Borrows this thread's cache until dropped.
    pub(crate) fn for_thread() -> Self {
        let mut known = KNOWN.take();
        known.resize(CACHED_STEMS, (0, 0));
        Self(known)
    }

    pub(crate) fn token_hash(&mut self, piece: &TokenPiece<'_>) -> u64 {
        let written = token_hash(piece.text);
        if !stem::is_stemmable(piece.text) {
            return written;
        }
        let slot = &mut self.0[(written >> 40) as usize % CACHED_STEMS];
        if slot.0 != written {
            *slot = (written, token_hash(&stem::stem(piece.text)));
        }
        slot.1
    }
}

impl Drop for StemCache {
    fn drop(&mut self) {
        KNOWN.set(std::mem::take(&mut self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_one_stem_have_one_hash_whatever_was_met_before() {
        for _ in 0..2 {
            let mut stems = StemCache::for_thread();
            let mut tokens = Vec::new();
            super::super::visit("caching caches cache cached 캐시 Caching", |piece| {
                tokens.push(stems.token_hash(piece));
            });
            assert!(tokens[..4].iter().all(|token| *token == token_hash("cach")), "{tokens:?}");
            assert_eq!(tokens.last(), Some(&token_hash("cach")));
            assert!(tokens[4..6].iter().all(|token| *token != token_hash("cach")));
        }
    }

    #[test]
    fn more_words_than_are_kept_have_the_hashes_of_their_stems() {
        let mut stems = StemCache::for_thread();
        for number in 0..CACHED_STEMS * 3 {
            let letter = |place: u32| char::from(b'a' + (number / 26usize.pow(place) % 26) as u8);
            let word: String = (0..4).map(letter).chain("ing".chars()).collect();
            let piece = TokenPiece { text: &word, start: 0, end: word.len(), word: 0 };
            assert_eq!(stems.token_hash(&piece), token_hash(&stem::stem(&word)), "{word}");
        }
    }
}
