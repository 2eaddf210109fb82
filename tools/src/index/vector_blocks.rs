//! Stores vectors in blocks that load ten times faster than single vectors.
//!
//! A block is written once enough vectors have none, and never changes. Newer vectors have greater numbers in `embeddings`,
//! newer removals in `unvectored`; both are read after the blocks.

use rusqlite::blob::Blob;
use rusqlite::{Connection, MAIN_DB, Result, params};

use super::Vectors;
use super::vectors::{PackedVectors, VectorWatermark};

pub(super) const BLOCK: usize = if cfg!(test) { 8 } else { 1_024 };

pub(super) fn store_block(db: &Connection, vectors: &Vectors) -> Result<()> {
    let (PackedVectors { documents, scripts, scales }, bytes) = vectors.pack();
    let VectorWatermark { last_seq, last_removed, .. } = vectors.watermark;
    db.prepare_cached(
        "INSERT INTO vector_blocks (last_seq, last_removed, documents, scripts, scales, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![last_seq, last_removed, &*documents, &*scripts, &*scales, bytes])
    .map(drop)
}

/// Sequence number up to which vectors are in blocks.
pub(super) fn last_blocked(db: &Connection) -> Result<i64> {
    db.prepare_cached("SELECT coalesce(max(last_seq), 0) FROM vector_blocks")?.query_row([], |row| row.get(0))
}

pub(super) fn count_blocks(db: &Connection) -> Result<i64> {
    db.query_row("SELECT count(*) FROM vector_blocks", [], |row| row.get(0))
}

/// The vectors of all blocks and the sequence number they reach; `None` without usable blocks.
pub(super) fn load_blocks(db: &Connection, dims: usize, model: i64) -> Result<Option<Vectors>> {
    let count = count_blocks(db)?;
    if count == 0 {
        return Ok(None);
    }
    let mut vectors = Vectors::new(dims, VectorWatermark { model, ..VectorWatermark::default() });
    // Reserves room for all blocks and the newest vectors, to avoid moving them.
    vectors.reserve((count.unsigned_abs() as usize + 1) * BLOCK);
    let sql = "SELECT id, last_seq, last_removed, documents, scripts, scales FROM vector_blocks ORDER BY id";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut numbers: Option<Blob<'_>> = None;
    while let Some(row) = rows.next()? {
        let (id, last_seq, last_removed) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // A block lacks vectors that were removed before it, but earlier blocks may have them.
        if !vectors.is_empty() {
            let Some(left) = drop_removed(db, vectors, last_removed)? else { return Ok(None) };
            vectors = left;
        }
        let blob = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_blob()?.into());
        let packed = PackedVectors { documents: blob(3)?, scripts: blob(4)?, scales: blob(5)? };
        // Reads nearly all of a block directly into its final place.
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
        (vectors.watermark.last_seq, vectors.watermark.last_removed) = (last_seq, last_removed);
    }
    Ok(Some(vectors))
}

/// Removes the vectors of documents that were removed up to a number; `None` if all must be read again.
pub(super) fn drop_removed(db: &Connection, mut vectors: Vectors, up_to: i64) -> Result<Option<Vectors>> {
    let sql = "SELECT n, document FROM unvectored WHERE n > ?1 AND n <= ?2 ORDER BY n";
    let mut statement = db.prepare_cached(sql)?;
    let range = [vectors.watermark.last_removed, up_to];
    for change in statement.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))? {
        let (n, document): (i64, Option<i64>) = change?;
        let Some(document) = document else { return Ok(None) };
        vectors.remove(document);
        vectors.watermark.last_removed = n;
    }
    Ok(Some(vectors))
}
