//! The static model: the one inside the binary, or another of the same format in a file.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use schema::regular_file;
use sha2::{Digest, Sha256};

pub use super::file::ModelFault;
use super::file::ModelFile;
use super::pieces::Pieces;
use super::tokens::runs;
use super::{EmbedError, Embedded, Embedder, Identity, Vector, WorkPlace};
use crate::text::hashes::{Hashes, hash};

/// The file that is part of the binary, and the name that its vectors go by.
const BUILT_IN: &[u8] = include_bytes!("../../model/static-32k-384-int4.bin");
const BUILT_IN_NAME: &str = "static-32k-384-int4";

/// Runs whose pieces are kept at most.
const MOST_RUNS: usize = 8_192;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1 << 30;

/// A model that gives every piece of a word one vector, and a text the sum of those of its pieces.
#[derive(Debug)]
pub struct LocalModel {
    file: ModelFile,
    identity: Identity,
    /// Made when a text is first looked at: most servers start to do something else.
    tables: OnceLock<Tables>,
    /// The pieces of runs that were met, by the hashes of the runs.
    met: Mutex<HashMap<u64, Arc<[u32]>, Hashes>>,
}

/// What is known of the pieces of a file, each by its number.
#[derive(Debug)]
struct Tables {
    pieces: Pieces,
    /// The lengths of rows, as bits; 0 where none was asked for.
    lengths: Vec<AtomicU32>,
}

impl Tables {
    fn of(file: &ModelFile) -> Self {
        let lengths = (0..file.pieces).map(|_| AtomicU32::new(0)).collect();
        Self { pieces: Pieces::new(file.text()), lengths }
    }
}

impl LocalModel {
    /// The model inside the binary.
    pub fn built_in() -> Self {
        // Every weight and piece of it is looked at by a test and not at every start.
        let file = ModelFile::parts(Cow::Borrowed(BUILT_IN)).expect("the file was checked when it was built in");
        Self::with(file, BUILT_IN_NAME)
    }

    /// The model in a file of this format.
    pub fn open(path: &Path) -> Result<Self, EmbedError> {
        let fault = |source| EmbedError::Model { path: path.display().to_string(), source };
        let bytes = read(path).map_err(fault)?;
        let name = path.file_stem().map_or_else(|| "model".into(), |name| name.to_string_lossy().into_owned());
        // Two files may have one name; their vectors are still not the same.
        let name = format!("{name}-{}", hex(&Sha256::digest(&bytes)[..4]));
        Self::of(Cow::Owned(bytes), &name).map_err(fault)
    }

    /// The model in bytes of this format.
    pub fn of(bytes: Cow<'static, [u8]>, name: &str) -> Result<Self, ModelFault> {
        let model = Self::with(ModelFile::parse(bytes)?, name);
        let (found, promised) = (model.table().len(), model.file.pieces);
        if found != promised {
            return Err(ModelFault::Foreign(format!("{found} pieces where {promised} are promised")));
        }
        Ok(model)
    }

    fn with(file: ModelFile, name: &str) -> Self {
        let identity = Identity { provider: "local".to_owned(), model: name.to_owned(), dims: file.dims };
        Self { file, identity, tables: OnceLock::new(), met: Mutex::default() }
    }

    fn tables(&self) -> &Tables {
        self.tables.get_or_init(|| Tables::of(&self.file))
    }

    fn table(&self) -> &Pieces {
        &self.tables().pieces
    }

    /// The pieces of a text by their number, in its order.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        runs(text, |run| self.table().visit(self.file.text(), run, |piece| tokens.push(piece)));
        tokens
    }

    /// Calls `sink` with the runs of a text in their order; all pieces of one run come before those of the next, and equal runs have
    /// equal pieces.
    pub(crate) fn runs(&self, text: &str, sink: impl FnMut(&str)) {
        runs(text, sink);
    }

    /// The pieces of a run by their number. Texts have most of their runs in common, so those that were met are kept.
    pub(crate) fn pieces(&self, run: &str) -> Arc<[u32]> {
        let hash = hash(run);
        let met = || self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pieces) = met().get(&hash) {
            return Arc::clone(pieces);
        }
        let mut pieces = Vec::new();
        self.table().visit(self.file.text(), run, |piece| pieces.push(piece));
        let pieces: Arc<[u32]> = pieces.into();
        let mut met = met();
        if met.len() >= MOST_RUNS {
            met.clear();
        }
        met.insert(hash, Arc::clone(&pieces));
        pieces
    }

    /// The share of a text's letters that pieces cover, from 0 to 1: what the rest says is unknown to the model.
    pub fn coverage(&self, text: &str) -> f32 {
        let (mut covered, mut all) = (0, 0);
        runs(text, |run| {
            all += run.len();
            self.table().visit(self.file.text(), run, |piece| covered += self.table().length(piece));
        });
        if all == 0 { 0.0 } else { covered as f32 / all as f32 }
    }

    /// The direction of a piece as a vector of length 1, even dimensions before odd ones, and the length that its row has.
    pub fn direction(&self, piece: u32) -> Option<(Vec<f32>, f32)> {
        let mut row = vec![0.0f32; self.file.dims];
        let length = self.row_into(piece, &mut row)?;
        row.iter_mut().for_each(|value| *value /= length);
        Some((row, length))
    }

    pub(crate) fn dims(&self) -> usize {
        self.file.dims
    }

    /// Adds the row of a piece to a sum, even dimensions before odd ones. Compiled as part of who calls it.
    #[inline(always)]
    pub(crate) fn add_row(&self, piece: u32, sum: &mut [f32]) {
        let (even, odd) = sum.split_at_mut(self.file.dims / 2);
        self.file.add_row(piece as usize, even, odd);
    }

    /// The row of a piece into one of zeros, even dimensions before odd ones, and its length, if it has a direction. Compiled as part of
    /// who calls it, for the processor that was found there.
    #[inline(always)]
    pub(crate) fn row_into(&self, piece: u32, row: &mut [f32]) -> Option<f32> {
        self.add_row(piece, row);
        let length = self.length(piece as usize, row);
        (length.is_finite() && length > 0.0).then_some(length)
    }

    /// The length of a piece's row, computed once: it is a sum that cannot be done many at a time without rounding otherwise.
    fn length(&self, piece: usize, row: &[f32]) -> f32 {
        let compute = || row.iter().map(|value| value * value).sum::<f32>().sqrt();
        let Some(known) = self.tables().lengths.get(piece) else { return compute() };
        match known.load(Ordering::Relaxed) {
            0 => {
                let length = compute();
                known.store(length.to_bits(), Ordering::Relaxed);
                length
            }
            bits => f32::from_bits(bits),
        }
    }

    /// The vector of a text.
    pub fn embed(&self, text: &str) -> Vector {
        let half = self.file.dims / 2;
        let (mut even, mut odd) = (vec![0.0; half], vec![0.0; half]);
        for token in self.tokens(text) {
            self.file.add_row(token as usize, &mut even, &mut odd);
        }
        unit(&even, &odd)
    }
}

/// The vector of even and odd dimensions scaled to length 1; `None` when it has no direction.
fn unit(even: &[f32], odd: &[f32]) -> Vector {
    let length = even.iter().chain(odd).map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt() as f32;
    let is_direction = length.is_finite() && length > 0.0;
    is_direction.then(|| even.iter().zip(odd).flat_map(|(even, odd)| [even / length, odd / length]).collect())
}

impl Embedder for LocalModel {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> WorkPlace {
        WorkPlace::Here
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        Ok(texts.iter().map(|text| self.embed(text).into()).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(self.embed(text))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, ModelFault> {
    let unreadable = |error: std::io::Error| ModelFault::Unreadable(error.to_string());
    let metadata = fs::metadata(path).map_err(unreadable)?;
    match metadata.len() {
        _ if metadata.is_dir() => Err(ModelFault::Directory),
        _ if !metadata.is_file() => Err(ModelFault::Special),
        size if size > LARGEST => Err(ModelFault::Foreign(format!("it has {size} bytes"))),
        _ => regular_file::read(path, LARGEST).map_err(unreadable),
    }
}
