//! Vectors as they are compared, many in a row: a server reads them at once when it is asked first, where reading and converting
//! each by itself takes ten times as long.
//!
//! A block is made when enough vectors are there that none has, and never changes. What was embedded since has a greater number in
//! `embeddings`, what was removed since one in `unvectored`, and both are read after it.

use rusqlite::blob::Blob;
use rusqlite::{Connection, MAIN_DB, Result, params};

use super::Vectors;
use super::vectors::{Mark, Packed};

/// Vectors of a block.
pub(super) const BLOCK: usize = if cfg!(test) { 8 } else { 1_024 };

/// Keeps the vectors of a block.
pub(super) fn keep(db: &Connection, vectors: &Vectors) -> Result<()> {
    let (Packed { documents, scripts, scales }, bytes) = vectors.pack();
    let Mark { last_seq, last_removed, .. } = vectors.mark;
    db.prepare_cached(
        "INSERT INTO vector_blocks (last_seq, last_removed, documents, scripts, scales, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![last_seq, last_removed, &*documents, &*scripts, &*scales, bytes])
    .map(drop)
}

/// How far the vectors are in blocks.
pub(super) fn reach(db: &Connection) -> Result<i64> {
    db.prepare_cached("SELECT coalesce(max(last_seq), 0) FROM vector_blocks")?.query_row([], |row| row.get(0))
}

/// How many blocks there are.
pub(super) fn count(db: &Connection) -> Result<i64> {
    db.query_row("SELECT count(*) FROM vector_blocks", [], |row| row.get(0))
}

/// The vectors of all blocks, and up to where they reach; `None` without blocks that can be used.
pub(super) fn load(db: &Connection, dims: usize, model: i64) -> Result<Option<Vectors>> {
    let count = count(db)?;
    if count == 0 {
        return Ok(None);
    }
    let mut vectors = Vectors::new(dims, Mark { model, ..Mark::default() });
    // So that nothing is moved while it grows; some of the newest come after the blocks.
    vectors.reserve((count.unsigned_abs() as usize + 1) * BLOCK);
    let sql = "SELECT id, last_seq, last_removed, documents, scripts, scales FROM vector_blocks ORDER BY id";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut numbers: Option<Blob<'_>> = None;
    while let Some(row) = rows.next()? {
        let (id, last_seq, last_removed) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // What was removed before a block was made is not in it, but may be in those before.
        if !vectors.is_empty() {
            forget(db, &mut vectors, last_removed)?;
        }
        let blob = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_blob()?.into());
        let packed = Packed { documents: blob(3)?, scripts: blob(4)?, scales: blob(5)? };
        // Nearly all of a block, which is read to where it stays.
        let numbers = match &mut numbers {
            Some(numbers) => {
                numbers.reopen(id)?;
                numbers
            }
            none => none.insert(db.blob_open(MAIN_DB, "vector_blocks", "bytes", id, true)?),
        };
        let read = |into: &mut [u8]| {
            let fits = numbers.len() == into.len();
            if fits {
                numbers.read_at_exact(into, 0)?;
            }
            Ok::<_, rusqlite::Error>(fits)
        };
        if !vectors.unpack(&packed, read)? {
            return Ok(None);
        }
        (vectors.mark.last_seq, vectors.mark.last_removed) = (last_seq, last_removed);
    }
    Ok(Some(vectors))
}

/// Takes out what was removed up to a number.
fn forget(db: &Connection, vectors: &mut Vectors, up_to: i64) -> Result<()> {
    let sql = "SELECT document FROM unvectored WHERE n > ?1 AND n <= ?2 AND document IS NOT NULL ORDER BY n";
    let mut statement = db.prepare_cached(sql)?;
    let removed = statement.query_map([vectors.mark.last_removed, up_to], |row| row.get(0))?;
    removed.into_iter().try_for_each(|document| document.map(|document| vectors.remove(document)))
}
