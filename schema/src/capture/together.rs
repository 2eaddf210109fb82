//! Several memories kept as one: under one lock, by one write to their log and one transaction of their rows.

use std::path::Path;

use super::{Captured, Delivery, Destination, Prepared, commit, duplicate, end_of};
use crate::crash;
use crate::daily_log::LogKind;
use crate::forgotten;
use crate::log_file::{self, As, LogFileError};
use crate::stamp::Stamp;
use crate::store::{Place, Store, StoreError};

/// Keeps memories in their order, as [`commit`] keeps one after the other, and answers what became of each.
pub fn commit_all(store: &mut Store, memories: &[Prepared]) -> Vec<Result<Captured, StoreError>> {
    let mut outcomes = Vec::with_capacity(memories.len());
    while let left @ [first, ..] = &memories[outcomes.len()..] {
        // What stands in the way of all is met again by each alone, and told of it.
        let together = append(store, left, log_file::append).unwrap_or_default();
        match together.is_empty() {
            true => outcomes.push(commit(store, first)),
            false => outcomes.extend(together.into_iter().map(Ok)),
        }
    }
    outcomes
}

/// Puts as many of the first memories as can go to the end of one log there, and answers what became of these.
fn append(
    store: &mut Store,
    memories: &[Prepared],
    write: impl FnOnce(&Path, As, &[u8]) -> Result<bool, LogFileError>,
) -> Result<Vec<Captured>, StoreError> {
    store.require_writable()?;
    let Some(kind) = memories.first().map(log) else { return Ok(Vec::new()) };
    let _lock = store.lock()?;
    let name = kind.file_name();
    let layout = store.layout().clone();
    let path = layout.file(&name);
    let Some(stamp) = Stamp::of(&path) else { return Ok(Vec::new()) };
    let mut known = Vec::new();
    let kept = store.transact_with_log(|rows| {
        let Some(mut tail) = rows.tail(&name, stamp)? else { return Ok(None) };
        let (mut captured, mut bytes, mut redactions) = (Vec::new(), Vec::new(), 0);
        for prepared in memories.iter().take_while(|prepared| log(prepared) == kind) {
            // What was forgotten is asked for where one is kept.
            if prepared.delivery == Delivery::Replay {
                break;
            }
            let mut memory = prepared.memory();
            if let Some(row) = duplicate(rows, &mut memory, kind)? {
                // Whether another file still holds it is asked where one is kept.
                if row.place.path != name {
                    break;
                }
                captured.push(Captured::Duplicate(Box::new(row)));
                continue;
            }
            let Some((splice, after)) = tail.extension(&memory, kind) else { break };
            let (start_line, end_line) = splice.lines.into_inner();
            let place = Place { path: name.clone(), start_line, end_line };
            forgotten::take_back(&layout, &name, &memory)?;
            rows.insert(&memory, &place)?;
            rows.add_to_session(&memory)?;
            redactions += prepared.redactions;
            bytes.extend(splice.bytes);
            tail = after;
            captured.push(Captured::Saved { id: memory.id, place });
        }
        if bytes.is_empty() {
            // Nothing is written, and nothing has to be committed.
            known = captured;
            return Ok(None);
        }
        if redactions > 0 {
            rows.count("redactions", redactions)?;
        }
        if !write(&path, As::Stamped(stamp), &bytes)? {
            // Somebody changed it just now.
            return Ok(None);
        }
        crash::point("capture.logged");
        if let Some((stamp, tail)) = end_of(&path, tail) {
            // Without it the log is read again.
            let _ = rows.note_tail(&name, stamp, &tail);
        }
        Ok(Some(captured))
    })?;
    crash::point("capture.done");
    Ok(kept.unwrap_or(known))
}

/// The log that a memory goes to.
fn log(prepared: &Prepared) -> LogKind {
    match prepared.draft.destination {
        Destination::DailyLog => LogKind::Daily(prepared.draft.at.date()),
        Destination::LongTerm => LogKind::LongTerm,
    }
}

#[cfg(test)]
mod tests;
