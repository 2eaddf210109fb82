//! The readers of the proofs as targets need them.

#[path = "../src/proof/fuzz/readers.rs"]
pub mod readers;

use std::sync::{Mutex, PoisonError};

use readers::Reader;

/// Panics when an input is not read as it must be. The project in which it is read stays.
pub fn must_bear(read: impl FnOnce(&Reader) -> Result<(), String>) {
    static READER: Mutex<Option<Reader>> = Mutex::new(None);
    let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = read(reader.get_or_insert_with(Reader::default));
    assert!(outcome.is_ok(), "{}", outcome.err().unwrap_or_default());
}
