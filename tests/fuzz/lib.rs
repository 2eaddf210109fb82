//! The readers of the proofs as fuzz targets.

#[path = "../src/proof/fuzz/readers.rs"]
pub mod readers;

use std::sync::{Mutex, PoisonError};

use readers::Reader;

/// Panics if an input is read incorrectly. The project is kept across inputs.
pub fn must_bear(read: impl FnOnce(&Reader) -> Result<(), String>) {
    static READER: Mutex<Option<Reader>> = Mutex::new(None);
    let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = read(reader.get_or_insert_with(Reader::default));
    assert!(outcome.is_ok(), "{}", outcome.err().unwrap_or_default());
}
