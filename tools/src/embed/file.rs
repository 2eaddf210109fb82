//! The file of a static model: its parts, and whether they are all there. tools/model/README.md describes the format.

use std::borrow::Cow;
use std::ops::Range;

use super::half;

/// Numbers that share one scale.
pub(super) const GROUP: usize = 32;

/// Bytes before the pieces.
const HEADER: usize = 12;

/// A model has at most so many pieces and dimensions; other figures are those of another format.
const MOST_PIECES: usize = 1 << 22;
const MOST_DIMS: usize = 4096;

/// Why a file is no static model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelFault {
    #[error("{0}")]
    Unreadable(String),
    #[error("it is no static model: {0}")]
    Foreign(String),
    #[error("it has {found} bytes where its beginning promises {promised}")]
    WrongSize { found: usize, promised: usize },
    #[error("the weights of piece {0} are no numbers")]
    NotANumber(usize),
    /// Earlier programs loaded models of other formats from directories.
    #[error(
        "it is a directory, and only files of our own format are loaded; run the model in Ollama, LM Studio, llama.cpp or vLLM and \
         set embedding_provider = \"openai\" with embedding_base_url and embedding_model, as docs/embeddings.md shows"
    )]
    Directory,
    #[error("it is no regular file")]
    Special,
}

/// The parts of a model in its bytes.
#[derive(Debug, Clone)]
pub(super) struct ModelFile {
    bytes: Cow<'static, [u8]>,
    pub(super) pieces: usize,
    pub(super) dims: usize,
    text: Range<usize>,
    scales: Range<usize>,
    nibbles: Range<usize>,
}

impl ModelFile {
    /// Finds the parts and checks that each is whole and every weight a number.
    pub(super) fn parse(bytes: Cow<'static, [u8]>) -> Result<Self, ModelFault> {
        let file = Self::parts(bytes)?;
        if let Some(row) = (0..file.pieces).find(|row| file.scales(*row).any(|scale| !scale.is_finite())) {
            return Err(ModelFault::NotANumber(row));
        }
        Ok(file)
    }

    /// Finds the parts and checks that each is whole.
    pub(super) fn parts(bytes: Cow<'static, [u8]>) -> Result<Self, ModelFault> {
        let foreign = |text: String| Err(ModelFault::Foreign(text));
        let Some(header) = bytes.get(..HEADER) else {
            return foreign(format!("it has {} bytes", bytes.len()));
        };
        let number = |at: usize| header[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte));
        let (pieces, dims, text) = (number(0), number(4), number(8));
        if !(1..=MOST_PIECES).contains(&pieces) || !(1..=MOST_DIMS).contains(&dims) || dims % GROUP != 0 {
            return foreign(format!("{pieces} pieces of {dims} dimensions are no figures of one"));
        }
        let text = HEADER..HEADER + text;
        let scales = text.end..text.end + pieces * (dims / GROUP) * 2;
        let nibbles = scales.end..scales.end + pieces * dims / 2;
        if bytes.len() != nibbles.end {
            return Err(ModelFault::WrongSize { found: bytes.len(), promised: nibbles.end });
        }
        Ok(Self { bytes, pieces, dims, text, scales, nibbles })
    }

    /// The pieces in UTF-8, one a line.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[self.text.clone()]
    }

    /// The scales of a row, one for each group.
    fn scales(&self, row: usize) -> impl Iterator<Item = f32> {
        let groups = self.dims / GROUP;
        let bytes = &self.bytes[self.scales.clone()][row * groups * 2..][..groups * 2];
        bytes.chunks_exact(2).map(|pair| half::read(u16::from_le_bytes([pair[0], pair[1]])))
    }

    /// Adds a row to two sums, one of the even and one of the odd dimensions: kept apart, the loop is done many at a time.
    #[inline(always)]
    pub(super) fn add_row(&self, row: usize, even: &mut [f32], odd: &mut [f32]) {
        let length = self.dims / 2;
        let nibbles = &self.bytes[self.nibbles.clone()][row * length..][..length];
        let (groups, _) = nibbles.as_chunks::<{ GROUP / 2 }>();
        let (even, _) = even.as_chunks_mut::<{ GROUP / 2 }>();
        let (odd, _) = odd.as_chunks_mut::<{ GROUP / 2 }>();
        // By their places: what joins several iterators is not always compiled as part of this.
        for (group, scale) in self.scales(row).enumerate() {
            let (bytes, even, odd) = (&groups[group], &mut even[group], &mut odd[group]);
            for i in 0..GROUP / 2 {
                even[i] += f32::from((bytes[i] & 15) as i8 - 8) * scale;
                odd[i] += f32::from((bytes[i] >> 4) as i8 - 8) * scale;
            }
        }
    }
}
