//! The pieces of a static model, found by the hash of their bytes.

/// Characters of the longest piece that is looked for.
const LONGEST: usize = 20;

/// A table of pieces without a copy of them: only where each lies in the model's text.
#[derive(Debug, Clone)]
pub(super) struct Pieces {
    /// The number of a piece plus 1 at the place that its hash gives, or at the first free one behind; 0 is free.
    slots: Vec<u32>,
    /// Hash, and first and last byte of each piece in the text.
    places: Vec<(u32, u32, u32)>,
}

impl Pieces {
    pub(super) fn new(text: &[u8]) -> Self {
        let count = text.split(|byte| *byte == b'\n').count();
        let mut pieces = Self { slots: vec![0; (count * 2).next_power_of_two()], places: Vec::with_capacity(count) };
        let mut start = 0;
        for piece in text.split(|byte| *byte == b'\n') {
            let end = start + piece.len();
            let hash = piece.iter().copied().fold(SEED, step);
            pieces.places.push((hash, start as u32, end as u32));
            // The later of two equal pieces counts.
            let slot = pieces.slot(hash, piece, text);
            pieces.slots[slot] = pieces.places.len() as u32;
            start = end + 1;
        }
        pieces
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The bytes of a piece.
    pub(super) fn length(&self, piece: u32) -> usize {
        self.places.get(piece as usize).map_or(0, |(_, start, end)| (end - start) as usize)
    }

    /// Calls `sink` with the pieces of a run of one class: the longest that matches, again and again.
    pub(super) fn visit(&self, text: &[u8], run: &str, mut sink: impl FnMut(u32)) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let mut hash = SEED;
            let mut longest = None;
            for (at, c) in rest.char_indices().take(LONGEST) {
                let end = at + c.len_utf8();
                hash = rest.as_bytes()[at..end].iter().copied().fold(hash, step);
                let slot = self.slot(hash, &rest.as_bytes()[..end], text);
                if let Some(piece) = self.slots[slot].checked_sub(1) {
                    longest = Some((piece, end));
                }
            }
            if let Some((piece, _)) = longest {
                sink(piece);
            }
            rest = &rest[longest.map_or(first.len_utf8(), |(_, end)| end)..];
        }
    }

    /// The slot of a piece, or the free one where it would stand.
    fn slot(&self, hash: u32, piece: &[u8], text: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (hash ^ hash >> 15) as usize & mask;
        while let Some(other) = self.slots[slot].checked_sub(1) {
            let (other, start, end) = self.places[other as usize];
            if other == hash && &text[start as usize..end as usize] == piece {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The hash of Fowler, Noll and Vo, which grows with every byte, so that the beginnings of a word cost no more than the word.
const SEED: u32 = 0x811C_9DC5;

fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
