//! The static model: built into the binary, or loaded from a file of the same format.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use schema::files::regular_file;
use schema::model::memory::to_hex;
use sha2::{Digest, Sha256};

use super::model_file::{ModelFile, ModelFileError};
use super::piece_table::PieceTable;
use super::segments::visit_runs;
use super::{EmbedError, Embedder, EmbeddingLocation, EmbeddingResult, ModelIdentity, Vector};

/// The built-in file, and the name of its vectors' model.
const BUILT_IN: &[u8] = include_bytes!("../../model/static-32k-320-int4.bin");
const BUILT_IN_NAME: &str = "static-32k-320-int4";

/// Bytes of the largest model file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// A model with one vector per word piece; a text's vector is the sum of its pieces' vectors.
#[derive(Debug)]
pub struct LocalModel {
    file: ModelFile,
    identity: ModelIdentity,
    /// Built at first use, because most servers start with something else.
    piece_table: OnceLock<PieceTable>,
}

impl LocalModel {
    pub fn built_in() -> Self {
        // A test checks every weight and piece, so that a start does not have to.
        let file = ModelFile::parse_layout(Cow::Borrowed(BUILT_IN)).expect("the file was checked when it was built in");
        Self::from_file(file, BUILT_IN_NAME)
    }

    pub fn open(path: &Path) -> Result<Self, EmbedError> {
        let unusable = |source| EmbedError::Model { path: path.display().to_string(), source };
        let bytes = read_model(path).map_err(unusable)?;
        let name = path.file_stem().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned());
        // The checksum distinguishes different files of the same name.
        let name = format!("{name}-{}", to_hex(&Sha256::digest(&bytes)[..4]));
        Self::from_bytes(Cow::Owned(bytes), &name).map_err(unusable)
    }

    pub fn from_bytes(bytes: Cow<'static, [u8]>, name: &str) -> Result<Self, ModelFileError> {
        let model = Self::from_file(ModelFile::parse(bytes)?, name);
        let (found, promised) = (model.piece_table().len(), model.file.pieces);
        if found != promised {
            return Err(ModelFileError::UnknownFormat(format!("{found} pieces, but the header says {promised}")));
        }
        Ok(model)
    }

    fn from_file(file: ModelFile, name: &str) -> Self {
        let identity = ModelIdentity { provider: "local".to_owned(), model: name.to_owned(), dims: file.dims };
        Self { file, identity, piece_table: OnceLock::new() }
    }

    fn piece_table(&self) -> &PieceTable {
        self.piece_table.get_or_init(|| PieceTable::new(self.file.text()))
    }

    /// Piece numbers of a text, in order.
    pub(super) fn piece_ids(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        visit_runs(text, |run| self.piece_table().visit_pieces(self.file.text(), run, |piece| tokens.push(piece)));
        tokens
    }

    /// Share of a text's letters that pieces cover, from 0 to 1. The model knows nothing of the rest.
    pub fn coverage(&self, text: &str) -> f32 {
        let (mut covered, mut all) = (0, 0);
        visit_runs(text, |run| {
            all += run.len();
            self.piece_table()
                .visit_pieces(self.file.text(), run, |piece| covered += self.piece_table().piece_length(piece));
        });
        if all == 0 { 0.0 } else { covered as f32 / all as f32 }
    }

    /// A piece's direction as a vector of length 1, even dimensions before odd ones, and its row's length.
    pub fn piece_direction(&self, piece: u32) -> Option<(Vec<f32>, f32)> {
        let mut row = vec![0.0f32; self.file.dims];
        let (even, odd) = row.split_at_mut(self.file.dims / 2);
        self.file.add_row(piece as usize, even, odd);
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter_mut().for_each(|value| *value /= length);
        (length.is_finite() && length > 0.0).then_some((row, length))
    }

    pub fn embed(&self, text: &str) -> Vector {
        let half = self.file.dims / 2;
        let (mut even, mut odd) = (vec![0.0; half], vec![0.0; half]);
        for token in self.piece_ids(text) {
            self.file.add_row(token as usize, &mut even, &mut odd);
        }
        normalized(&even, &odd)
    }
}

/// Scales even and odd dimensions to a vector of length 1; `None` if it has no direction.
fn normalized(even: &[f32], odd: &[f32]) -> Vector {
    let length = even.iter().chain(odd).map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32;
    let is_direction = length.is_finite() && length > 0.0;
    is_direction.then(|| even.iter().zip(odd).flat_map(|(even, odd)| [even / length, odd / length]).collect())
}

impl Embedder for LocalModel {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn location(&self) -> EmbeddingLocation {
        EmbeddingLocation::InProcess
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed(text).into()).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(self.embed(text))
    }
}

fn read_model(path: &Path) -> Result<Vec<u8>, ModelFileError> {
    let unreadable = |error: std::io::Error| ModelFileError::Unreadable(error.to_string());
    let metadata = fs::metadata(path).map_err(unreadable)?;
    match metadata.len() {
        _ if metadata.is_dir() => Err(ModelFileError::Directory),
        _ if !metadata.is_file() => Err(ModelFileError::Special),
        size if size > MAX_FILE_BYTES => Err(ModelFileError::UnknownFormat(format!("it has {size} bytes"))),
        _ => regular_file::read(path, MAX_FILE_BYTES).map_err(unreadable),
    }
}
