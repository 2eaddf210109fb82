//! Tokens as hashes, which are compared faster than their texts. The stems of words that were met are not made again: texts about one
//! thing share most of their words, and stemming them takes longer than all the rest of reading.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::{Piece, stem};

/// For tables whose keys are found millions of times a second.
pub(crate) type Hashes = FixedState;

/// Words whose stems are known at most, in each thread; a power of two.
const WORDS: usize = 1 << 13;

/// The hash of a text, the same in every process.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    // So that 0 is no hash.
    hasher.finish() | 1
}

thread_local! {
    static KNOWN: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Stems by the hashes of the words, each at the place that its hash gives; a later one takes the place of an earlier one.
#[derive(Debug)]
pub(crate) struct Stems(Vec<(u64, u64)>);

impl Stems {
    /// Those of this thread, until they are dropped.
    pub(crate) fn of_thread() -> Self {
        let mut known = KNOWN.take();
        known.resize(WORDS, (0, 0));
        Self(known)
    }

    /// The hash of the token of a piece.
    pub(crate) fn token(&mut self, piece: &Piece<'_>) -> u64 {
        let written = hash(piece.text);
        if !piece.stem {
            return written;
        }
        let slot = &mut self.0[(written >> 40) as usize % WORDS];
        if slot.0 != written {
            *slot = (written, hash(&stem::english(piece.text)));
        }
        slot.1
    }
}

impl Drop for Stems {
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
            let mut stems = Stems::of_thread();
            let mut tokens = Vec::new();
            super::super::visit("caching caches cache cached 캐시 Caching", |piece| tokens.push(stems.token(piece)));
            assert!(tokens[..4].iter().all(|token| *token == hash("cach")), "{tokens:?}");
            assert_eq!(tokens.last(), Some(&hash("cach")));
            assert!(tokens[4..6].iter().all(|token| *token != hash("cach")));
        }
    }

    #[test]
    fn more_words_than_are_kept_have_the_hashes_of_their_stems() {
        let mut stems = Stems::of_thread();
        for number in 0..WORDS * 3 {
            let letter = |place: u32| char::from(b'a' + (number / 26usize.pow(place) % 26) as u8);
            let word: String = (0..4).map(letter).chain("ing".chars()).collect();
            let piece = Piece { text: &word, stem: true, start: 0, end: word.len(), word: 0 };
            assert_eq!(stems.token(&piece), hash(&stem::english(&word)), "{word}");
        }
    }
}
