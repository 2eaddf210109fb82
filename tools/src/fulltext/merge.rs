//! Segments become fewer: small ones are joined at once, large ones in steps that each take milliseconds, while the old ones are
//! searched. A merge that was interrupted goes on where it stopped.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Result, params};

use super::list::{self, Posting};

pub(super) const FILLING: i64 = 0;
pub(super) const SEARCHED: i64 = 1;
pub(super) const DEAD: i64 = 2;

/// Segments of a size that are joined into one.
const FAN: usize = 8;

/// Documents that are joined while an insertion waits.
const SMALL: i64 = 2048;

/// Terms that a step merges or deletes; few in tests, so that much happens between two steps.
const STEP: i64 = if cfg!(test) { 200 } else { 2000 };

/// Removed documents that stay in their segments, and the share of all of them.
const MOST_REMOVED: i64 = 1000;
const REMOVED_SHARE: i64 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) id: i64,
    pub(super) first: u32,
    pub(super) last: u32,
    documents: i64,
}

/// The segments that are searched, the newest first.
pub(super) fn segments(connection: &Connection) -> Result<Vec<Segment>> {
    in_state(connection, SEARCHED)
}

fn in_state(connection: &Connection, state: i64) -> Result<Vec<Segment>> {
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
        .execute(params![segment, term, postings.len() as i64, list::encode(last, postings)])
        .map(drop)
}

/// Joins the newest segments when there are many of about a size, unless that is much. Those that are being merged already are left to
/// that: a segment that went two ways would be found twice.
pub(super) fn join_small(connection: &Connection) -> Result<()> {
    let merged = in_state(connection, FILLING)?.first().map_or(0, |merge| merge.last);
    loop {
        let free: Vec<Segment> =
            segments(connection)?.into_iter().take_while(|segment| segment.first > merged).collect();
        let Some(newest) = due(&free) else { return Ok(()) };
        if newest.iter().map(|segment| segment.documents).sum::<i64>() > SMALL {
            return Ok(());
        }
        begin(connection, &newest)?;
        // It is the newest of those that are begun, so that it is filled first.
        while in_state(connection, FILLING)?.first().is_some_and(|merge| merge.last > merged) {
            fill(connection)?;
        }
        while sweep(connection)? {}
    }
}

/// Does a step of what is to be merged or deleted; whether there is more.
pub(super) fn step(connection: &Connection) -> Result<bool> {
    if sweep(connection)? || fill(connection)? {
        return Ok(true);
    }
    let segments = segments(connection)?;
    let wanted = due(&segments).or_else(|| (!segments.is_empty() && has_many_removed(connection)).then_some(segments));
    let Some(newest) = wanted else { return Ok(false) };
    begin(connection, &newest)?;
    Ok(true)
}

/// Merges the segments that hold what was removed, and finishes what was begun.
pub(super) fn purge(connection: &Connection) -> Result<()> {
    let finish = || -> Result<()> {
        while sweep(connection)? || fill(connection)? {}
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
        begin(connection, &[segment])?;
        finish()?;
    }
    Ok(())
}

/// The newest segments, as many as are to be joined: at least eight of which none is larger than a power of eight.
fn due(segments: &[Segment]) -> Option<Vec<Segment>> {
    let mut size = 1;
    while size <= segments.iter().map(|segment| segment.documents).max()? {
        size *= FAN as i64;
        let count = segments.iter().take_while(|segment| segment.documents < size).count();
        if count >= FAN {
            return Some(segments[..count].to_vec());
        }
    }
    None
}

fn has_many_removed(connection: &Connection) -> bool {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    let removed = count("SELECT count(*) FROM fulltext_removed");
    removed > MOST_REMOVED && removed > count("SELECT documents FROM fulltext_totals") / REMOVED_SHARE
}

/// Begins a segment that takes the place of these.
fn begin(connection: &Connection, newest: &[Segment]) -> Result<()> {
    let (Some(newer), Some(older)) = (newest.first(), newest.last()) else { return Ok(()) };
    let documents: i64 = newest.iter().map(|segment| segment.documents).sum();
    let id = new_segment(connection, older.first, newer.last, documents as usize, FILLING)?;
    connection
        .prepare_cached("UPDATE fulltext_removed SET merge = ?1 WHERE number BETWEEN ?2 AND ?3")?
        .execute(params![id, older.first, newer.last])
        .map(drop)
}

/// Merges the next terms of a segment that was begun; whether there was one.
fn fill(connection: &Connection) -> Result<bool> {
    let Some(new) = in_state(connection, FILLING)?.first().copied() else { return Ok(false) };
    let sources: Vec<Segment> = segments(connection)?
        .into_iter()
        .filter(|segment| new.first <= segment.first && segment.last <= new.last)
        .collect();
    let reached: Option<String> = connection
        .prepare_cached("SELECT max(term) FROM fulltext_postings WHERE segment = ?1")?
        .query_row([new.id], |row| row.get(0))?;
    let reached = reached.unwrap_or_default();
    let end = end_of_step(connection, &sources, &reached)?;
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
            let postings = list::decode(source.last, count.unsigned_abs() as usize, &bytes);
            let there = postings.into_iter().filter(|(number, _)| removed.binary_search(number).is_err());
            merged.entry(row.get(0)?).or_default().extend(there);
        }
    }
    for (term, postings) in merged.iter().filter(|(_, postings)| !postings.is_empty()) {
        write_list(connection, new.id, term, new.last, postings)?;
    }
    if end.is_none() {
        publish(connection, &new, &sources, removed.len())?;
    }
    Ok(true)
}

/// The last term of this step, `None` when all that is left fits into it.
fn end_of_step(connection: &Connection, sources: &[Segment], reached: &str) -> Result<Option<String>> {
    let mut ends = Vec::new();
    for source in sources {
        let mut statement = connection.prepare_cached(
            "SELECT term FROM fulltext_postings WHERE segment = ?1 AND term > ?2 ORDER BY term LIMIT 1 OFFSET ?3",
        )?;
        let end: Option<String> =
            statement.query_row(params![source.id, reached, STEP - 1], |row| row.get(0)).optional()?;
        ends.extend(end);
    }
    Ok(ends.into_iter().min())
}

/// Lets a filled segment take the place of those that it was made of.
fn publish(connection: &Connection, new: &Segment, sources: &[Segment], removed: usize) -> Result<()> {
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

/// Deletes some of a segment that was merged into another; whether there was one.
fn sweep(connection: &Connection) -> Result<bool> {
    let Some(dead) = in_state(connection, DEAD)?.first().copied() else { return Ok(false) };
    let mut statement = connection.prepare_cached(
        "DELETE FROM fulltext_postings WHERE segment = ?1 AND term IN
             (SELECT term FROM fulltext_postings WHERE segment = ?1 LIMIT ?2)",
    )?;
    if statement.execute([dead.id, STEP])? < STEP as usize {
        connection.prepare_cached("DELETE FROM fulltext_segments WHERE id = ?1")?.execute([dead.id])?;
    }
    Ok(true)
}
