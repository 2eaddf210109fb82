//! A hash table of a static model's pieces.

/// Characters of the longest piece.
const MAX_PIECE_CHARS: usize = 20;

/// Refers to the pieces in the model's text instead of copying them.
#[derive(Debug, Clone)]
pub(super) struct PieceTable {
    /// Open addressing: a piece's number plus 1; 0 is a free slot.
    slots: Vec<u32>,
    /// Hash, first and last byte of each piece.
    places: Vec<(u32, u32, u32)>,
}

impl PieceTable {
    pub(super) fn new(text: &[u8]) -> Self {
        let count = text.split(|byte| *byte == b'\n').count();
        let mut pieces = Self { slots: vec![0; (count * 2).next_power_of_two()], places: Vec::with_capacity(count) };
        let mut start = 0;
        for piece in text.split(|byte| *byte == b'\n') {
            let end = start + piece.len();
            let hash = piece.iter().copied().fold(SEED, hash_step);
            pieces.places.push((hash, start as u32, end as u32));
            // Of two equal pieces the later one counts.
            let slot = pieces.find_slot(hash, piece, text);
            pieces.slots[slot] = pieces.places.len() as u32;
            start = end + 1;
        }
        pieces
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of a piece.
    pub(super) fn piece_length(&self, piece: u32) -> usize {
        self.places.get(piece as usize).map_or(0, |(_, start, end)| (end - start) as usize)
    }

    /// Splits a run of one class into the longest matching pieces.
    pub(super) fn visit_pieces(&self, text: &[u8], run: &str, mut sink: impl FnMut(u32)) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let mut hash = SEED;
            let mut longest = None;
            for (at, c) in rest.char_indices().take(MAX_PIECE_CHARS) {
                let end = at + c.len_utf8();
                hash = rest.as_bytes()[at..end].iter().copied().fold(hash, hash_step);
                let slot = self.find_slot(hash, &rest.as_bytes()[..end], text);
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

    /// The slot of a piece, or the free slot where it belongs.
    fn find_slot(&self, hash: u32, piece: &[u8], text: &[u8]) -> usize {
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

/// FNV-1a extends byte by byte, so hashing all prefixes of a word costs as much as hashing the word.
const SEED: u32 = 0x811C_9DC5;

fn hash_step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
