//! Merges segments: small ones at once, large ones in steps of milliseconds, during which the old ones are searched. An
//! interrupted merge continues.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::postings::{self, Posting};

pub(super) const BEING_FILLED: i64 = 0;
pub(super) const SEARCHED: i64 = 1;
pub(super) const DEAD: i64 = 2;

/// Segments of similar size that are merged into one.
const MERGE_FACTOR: usize = 8;

/// Most documents merged during an insertion.
const MAX_JOINED_DOCUMENTS: i64 = 2048;

/// Terms per step; few in tests, so that merges take many steps.
const TERMS_PER_STEP: i64 = if cfg!(test) { 200 } else { 2000 };

/// Removed documents that may stay in their segments, and their greatest share: a tenth.
const MAX_REMOVED: i64 = 1000;
const REMOVED_SHARE: i64 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) id: i64,
    pub(super) first: u32,
    pub(super) last: u32,
    documents: i64,
}

/// The searchable segments, newest first.
pub(super) fn segments(connection: &Connection) -> Result<Vec<Segment>> {
    segments_in_state(connection, SEARCHED)
}

fn segments_in_state(connection: &Connection, state: i64) -> Result<Vec<Segment>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, first, last, documents FROM fulltext_segments WHERE state = ?1 ORDER BY last DESC",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Segment { id: row.get(0)?, first: row.get(1)?, last: row.get(2)?, documents: row.get(3)? })
    };
    statement.query_map([state], read)?.collect()
}

pub(super) fn new_segment(connection: &Connection, first: u32, last: u32, documents: usize, state: i64) -> Result<i64> {
    connection
        .prepare_cached("INSERT INTO fulltext_segments (first, last, documents, state) VALUES (?1, ?2, ?3, ?4)")?
        .insert(params![first, last, documents as i64, state])
}

pub(super) fn write_list(
    connection: &Connection,
    segment: i64,
    term: &str,
    last: u32,
    postings: &[Posting],
) -> Result<()> {
    connection
        .prepare_cached("INSERT INTO fulltext_postings (segment, term, count, list) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![segment, term, postings.len() as i64, postings::encode(last, postings)])
        .map(drop)
}

/// Merges the newest segments if many have a similar size and the work is small. Excludes segments that are already being
/// merged, because their documents would be found twice.
pub(super) fn join_small(connection: &Connection) -> Result<()> {
    let merged = segments_in_state(connection, BEING_FILLED)?.first().map_or(0, |merge| merge.last);
    loop {
        let free: Vec<Segment> =
            segments(connection)?.into_iter().take_while(|segment| segment.first > merged).collect();
        let Some(newest) = mergeable(&free) else { return Ok(()) };
        if newest.iter().map(|segment| segment.documents).sum::<i64>() > MAX_JOINED_DOCUMENTS {
            return Ok(());
        }
        begin_merge(connection, &newest)?;
        // The newest unfinished merge, so it is filled first.
        while segments_in_state(connection, BEING_FILLED)?.first().is_some_and(|merge| merge.last > merged) {
            merge_terms(connection)?;
        }
        while delete_merged(connection)? {}
    }
}

/// Does one step of merging or deleting and returns whether there is more.
pub(super) fn merge_step(connection: &Connection) -> Result<bool> {
    if delete_merged(connection)? || merge_terms(connection)? {
        return Ok(true);
    }
    let segments = segments(connection)?;
    let wanted =
        mergeable(&segments).or_else(|| (!segments.is_empty() && has_many_removed(connection)).then_some(segments));
    let Some(newest) = wanted else { return Ok(false) };
    begin_merge(connection, &newest)?;
    Ok(true)
}

/// Merges segments with removed documents, and finishes started merges.
pub(super) fn purge_removed(connection: &Connection) -> Result<()> {
    let finish = || -> Result<()> {
        while delete_merged(connection)? || merge_terms(connection)? {}
        Ok(())
    };
    finish()?;
    let holds_removed = "SELECT count(*) FROM fulltext_removed WHERE number BETWEEN ?1 AND ?2";
    let mut holding = Vec::new();
    for segment in segments(connection)? {
        let removed: i64 =
            connection.prepare_cached(holds_removed)?.query_row([segment.first, segment.last], |row| row.get(0))?;
        holding.extend((removed > 0).then_some(segment));
    }
    for segment in holding {
        begin_merge(connection, &[segment])?;
        finish()?;
    }
    Ok(())
}

/// The newest segments to merge: at least eight, none larger than a power of eight.
fn mergeable(segments: &[Segment]) -> Option<Vec<Segment>> {
    let mut size = 1;
    while size <= segments.iter().map(|segment| segment.documents).max()? {
        size *= MERGE_FACTOR as i64;
        let count = segments.iter().take_while(|segment| segment.documents < size).count();
        if count >= MERGE_FACTOR {
            return Some(segments[..count].to_vec());
        }
    }
    None
}

fn has_many_removed(connection: &Connection) -> bool {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let removed = count("SELECT count(*) FROM fulltext_removed");
    removed > MAX_REMOVED && removed > count("SELECT documents FROM fulltext_totals") / REMOVED_SHARE
}

/// Starts a segment that replaces these.
fn begin_merge(connection: &Connection, newest: &[Segment]) -> Result<()> {
    let (Some(newer), Some(older)) = (newest.first(), newest.last()) else { return Ok(()) };
    let documents: i64 = newest.iter().map(|segment| segment.documents).sum();
    let id = new_segment(connection, older.first, newer.last, documents as usize, BEING_FILLED)?;
    connection
        .prepare_cached("UPDATE fulltext_removed SET merge = ?1 WHERE number BETWEEN ?2 AND ?3")?
        .execute(params![id, older.first, newer.last])
        .map(drop)
}

/// Merges the next terms into an unfinished segment and returns whether there was one.
fn merge_terms(connection: &Connection) -> Result<bool> {
    let Some(new) = segments_in_state(connection, BEING_FILLED)?.first().copied() else { return Ok(false) };
    let sources: Vec<Segment> = segments(connection)?
        .into_iter()
        .filter(|segment| new.first <= segment.first && segment.last <= new.last)
        .collect();
    let reached: Option<String> = connection
        .prepare_cached("SELECT max(term) FROM fulltext_postings WHERE segment = ?1")?
        .query_row([new.id], |row| row.get(0))?;
    let reached = reached.unwrap_or_default();
    let end = step_end(connection, &sources, &reached)?;
    let removed: Vec<u32> = connection
        .prepare_cached("SELECT number FROM fulltext_removed WHERE merge = ?1 ORDER BY number")?
        .query_map([new.id], |row| row.get(0))?
        .collect::<Result<_>>()?;
    let mut merged: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT term, count, list FROM fulltext_postings WHERE segment = ?1 AND term > ?2 AND (?3 IS NULL OR term <= ?3)",
    )?;
    for source in &sources {
        let mut rows = statement.query(params![source.id, reached, end])?;
        while let Some(row) = rows.next()? {
            let (count, bytes): (i64, Vec<u8>) = (row.get(1)?, row.get(2)?);
            let postings = postings::decode(source.last, count.unsigned_abs() as usize, &bytes);
            let there = postings.into_iter().filter(|(number, _)| removed.binary_search(number).is_err());
            merged.entry(row.get(0)?).or_default().extend(there);
        }
    }
    for (term, postings) in merged.iter().filter(|(_, postings)| !postings.is_empty()) {
        write_list(connection, new.id, term, new.last, postings)?;
    }
    if end.is_none() {
        publish_segment(connection, &new, &sources, removed.len())?;
    }
    Ok(true)
}

/// The last term of this step; `None` if the rest fits.
fn step_end(connection: &Connection, sources: &[Segment], reached: &str) -> Result<Option<String>> {
    let mut ends = Vec::new();
    for source in sources {
        let mut statement = connection.prepare_cached(
            "SELECT term FROM fulltext_postings WHERE segment = ?1 AND term > ?2 ORDER BY term LIMIT 1 OFFSET ?3",
        )?;
        let end: Option<String> =
            statement.query_row(params![source.id, reached, TERMS_PER_STEP - 1], |row| row.get(0)).optional()?;
        ends.extend(end);
    }
    Ok(ends.into_iter().min())
}

/// Replaces the sources with the filled segment.
fn publish_segment(connection: &Connection, new: &Segment, sources: &[Segment], removed: usize) -> Result<()> {
    let mut state = connection.prepare_cached("UPDATE fulltext_segments SET state = ?2 WHERE id = ?1")?;
    for source in sources {
        state.execute([source.id, DEAD])?;
    }
    let documents = new.documents - removed as i64;
    state.execute([new.id, if documents > 0 { SEARCHED } else { DEAD }])?;
    connection
        .prepare_cached("UPDATE fulltext_segments SET documents = ?2 WHERE id = ?1")?
        .execute([new.id, documents])?;
    connection.prepare_cached("DELETE FROM fulltext_removed WHERE merge = ?1")?.execute([new.id]).map(drop)
}

/// Deletes a part of a merged segment and returns whether there was one.
fn delete_merged(connection: &Connection) -> Result<bool> {
    let Some(dead) = segments_in_state(connection, DEAD)?.first().copied() else { return Ok(false) };
    let mut statement = connection.prepare_cached(
        "DELETE FROM fulltext_postings WHERE segment = ?1 AND term IN
             (SELECT term FROM fulltext_postings WHERE segment = ?1 LIMIT ?2)",
    )?;
    if statement.execute([dead.id, TERMS_PER_STEP])? < TERMS_PER_STEP as usize {
        connection.prepare_cached("DELETE FROM fulltext_segments WHERE id = ?1")?.execute([dead.id])?;
    }
    Ok(true)
}
