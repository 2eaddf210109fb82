//! Parses and checks the file of a static model. tools/model/README.md describes the format.

use std::borrow::Cow;
use std::ops::Range;

use super::half_float;

/// Weights that share one scale.
pub(super) const GROUP: usize = 32;

/// Bytes before the pieces.
const HEADER: usize = 12;

/// Larger figures mean that the file has another format.
const MAX_PIECES: usize = 1 << 22;
const MAX_DIMS: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelFileError {
    #[error("{0}")]
    Unreadable(String),
    #[error("not a static model: {0}")]
    UnknownFormat(String),
    #[error("it has {found} bytes, but its header says {promised}")]
    WrongSize { found: usize, promised: usize },
    #[error("the weights of piece {0} are not finite numbers")]
    NotANumber(usize),
    /// Older versions loaded models of other formats from directories.
    #[error(
        "it is a directory, not a model file; run the model in Ollama, LM Studio, llama.cpp or vLLM and \
         set embedding_provider = \"openai\" with embedding_base_url and embedding_model, as docs/setup.md shows"
    )]
    Directory,
    #[error("it is not a regular file")]
    Special,
}

/// The parts of a model, borrowed from its bytes.
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
    /// Parses the parts and checks that each is complete and every weight is a number.
    pub(super) fn parse(bytes: Cow<'static, [u8]>) -> Result<Self, ModelFileError> {
        let file = Self::parse_layout(bytes)?;
        if let Some(row) = (0..file.pieces).find(|row| file.scales(*row).any(|scale| !scale.is_finite())) {
            return Err(ModelFileError::NotANumber(row));
        }
        Ok(file)
    }

    /// Parses the parts and checks that each is complete.
    pub(super) fn parse_layout(bytes: Cow<'static, [u8]>) -> Result<Self, ModelFileError> {
        let foreign = |text: String| Err(ModelFileError::UnknownFormat(text));
        let Some(header) = bytes.get(..HEADER) else {
            return foreign(format!("it has {} bytes", bytes.len()));
        };
        let number = |at: usize| header[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte));
        let (pieces, dims, text) = (number(0), number(4), number(8));
        if !(1..=MAX_PIECES).contains(&pieces) || !(1..=MAX_DIMS).contains(&dims) || dims % GROUP != 0 {
            return foreign(format!("{pieces} pieces of {dims} dimensions are out of range"));
        }
        let text = HEADER..HEADER + text;
        let scales = text.end..text.end + pieces * (dims / GROUP) * 2;
        let nibbles = scales.end..scales.end + pieces * dims / 2;
        if bytes.len() != nibbles.end {
            return Err(ModelFileError::WrongSize { found: bytes.len(), promised: nibbles.end });
        }
        Ok(Self { bytes, pieces, dims, text, scales, nibbles })
    }

    /// The pieces in UTF-8, one per line.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[self.text.clone()]
    }

    /// The scales of a row, one per group.
    fn scales(&self, row: usize) -> impl Iterator<Item = f32> {
        let groups = self.dims / GROUP;
        half_float::decode(&self.bytes[self.scales.clone()][row * groups * 2..][..groups * 2])
    }

    /// Adds a row to separate sums of even and odd dimensions, so that the compiler can vectorise the loop.
    pub(super) fn add_row(&self, row: usize, even: &mut [f32], odd: &mut [f32]) {
        let length = self.dims / 2;
        let nibbles = &self.bytes[self.nibbles.clone()][row * length..][..length];
        let (groups, _) = nibbles.as_chunks::<{ GROUP / 2 }>();
        let (even, _) = even.as_chunks_mut::<{ GROUP / 2 }>();
        let (odd, _) = odd.as_chunks_mut::<{ GROUP / 2 }>();
        // Indexed access, because chained iterators are not always inlined here.
        for (group, scale) in self.scales(row).enumerate() {
            let (bytes, even, odd) = (&groups[group], &mut even[group], &mut odd[group]);
            for i in 0..GROUP / 2 {
                even[i] += f32::from((bytes[i] & 15) as i8 - 8) * scale;
                odd[i] += f32::from((bytes[i] >> 4) as i8 - 8) * scale;
            }
        }
    }
}
