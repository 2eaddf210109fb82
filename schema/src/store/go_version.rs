//! Takes over the database of the Go version: what no log holds is written into the log of its day, what a log holds gets its session and
//! metadata there, then the tables give way to ours. A copy of the database stays next to it.
//!
//! The lines of such entries are written again, once. The Go version writes no session into its logs, and a text of several lines as it
//! is, so that a blank line, a bullet or a heading in it ends the entry. Databases may be deleted, so the log has to hold all of it.

mod places;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;

use super::kind::{self, Contents, contents};
use super::{Store, StoreError};
use crate::crash;
use crate::daily_log::{Ending, LogKind, Tail, adopt};
use crate::database;
use crate::log_file::{self, LastChange};
use crate::memory::{Memory, MemoryId};
use crate::settings;
use places::{Found, Places};
use rows::{Old, Time};

/// The copy of the database as it was.
const BACKUP: &str = "memory.db.go-backup";

/// How often the logs are read again because somebody changed one meanwhile.
const ATTEMPTS: usize = 5;

/// Upgrades in place and returns what was done, in words.
pub(super) fn upgrade(store: &mut Store) -> Result<String, StoreError> {
    let lock = store.lock()?;
    if contents(&store.db)? != Contents::GoVersion {
        return Ok("memory.db of the Go version was upgraded".to_owned());
    }
    back_up(store)?;
    crash::point("upgrade.backed-up");
    let screen = settings::load(store.layout()).screen;
    let mut old = rows::read(&store.db, &screen)?;
    let written = write_logs(store, &mut old)?;
    crash::point("upgrade.logged");
    let redactions = old.iter().map(|old| old.redactions).sum();
    // Nothing of it stays, whatever else it holds: triggers of a stranger would act on our rows.
    database::reset(&store.layout.memory_db(), Some(&store.db), store.patience)?;
    kind::create(&mut store.db)?;
    store.db.note_schema()?;
    if redactions > 0 {
        store.transact(|rows| rows.count("redactions", redactions))?;
    }
    drop(lock);
    crash::point("upgrade.tables");
    for path in store.changed_logs()? {
        store.sync_log(&path)?;
    }
    keep_access_counts(store, &old)?;
    Ok(report(&old, written, redactions))
}

fn report(old: &[Old], written: usize, redactions: usize) -> String {
    let mut text = format!(
        "memory.db of the Go version was upgraded: {} memories, {written} of them written into their daily logs",
        old.len()
    );
    let undated = old.iter().filter(|old| old.time == Time::Unreadable).count();
    if undated > 0 {
        text.push_str(&format!("; {undated} had no readable date and are dated today"));
    }
    if redactions > 0 {
        text.push_str(&format!("; secrets taken out: {redactions}"));
    }
    text + &format!("; the old database, as it was, is {BACKUP}")
}

fn back_up(store: &Store) -> Result<(), StoreError> {
    let (path, temporary) = (store.layout.file(BACKUP), store.layout.file(".go-backup.tmp"));
    if path.exists() {
        return Ok(());
    }
    store.db.backup("main", &temporary, None::<fn(rusqlite::backup::Progress)>)?;
    crash::point("upgrade.copied");
    fs::rename(&temporary, &path).map_err(|source| store.io("write", &path, source))
}

/// Brings the logs in sync with the memories, and returns how many were missing in them.
fn write_logs(store: &Store, old: &mut [Old]) -> Result<usize, StoreError> {
    let mut written = 0;
    for _ in 0..ATTEMPTS {
        let places = Places::read(store)?;
        places.settle_clocks(old);
        let found = places.find(old);
        for (old, found) in old.iter_mut().zip(&found) {
            old.complete(found.as_ref().map(|found| &places.entry(found).memory));
        }
        if write(store, &places, old, &found, &mut written)? {
            return Ok(written);
        }
    }
    let busy = io::Error::new(io::ErrorKind::ResourceBusy, "another program keeps changing the logs");
    Err(store.io("upgrade", store.layout.dir(), busy))
}

/// What is written into one log.
#[derive(Default)]
struct Changes<'m> {
    /// By the number of the entry that is replaced.
    adopted: HashMap<usize, (&'m Memory, usize)>,
    missing: Vec<&'m Memory>,
}

/// `false` if a log is no longer as it was read.
fn write(
    store: &Store,
    places: &Places,
    old: &[Old],
    found: &[Option<Found>],
    written: &mut usize,
) -> Result<bool, StoreError> {
    let mut logs: BTreeMap<String, Changes<'_>> = BTreeMap::new();
    for (Old { memory, .. }, found) in old.iter().zip(found) {
        match found {
            Some(found) => {
                let changes = logs.entry(places.log(found).path.clone()).or_default();
                changes.adopted.insert(found.entry, (memory, found.end_line));
            }
            None => logs.entry(LogKind::Daily(memory.at.date()).file_name()).or_default().missing.push(memory),
        }
    }
    let mut is_current = true;
    for (path, changes) in logs {
        let log = places.log_at(&path);
        let Some(kind @ LogKind::Daily(day)) = LogKind::of(&path) else { continue };
        let is_changed = log_file::rewrite(&store.layout.file(&path), LastChange::None, log_file::PATIENCE, |bytes| {
            if bytes != log.bytes {
                is_current = false;
                return None;
            }
            let mut file = adopt(bytes, kind, &log.parsed, &changes.adopted);
            let mut ending = Ending::of(Tail::Whole(&file));
            for memory in &changes.missing {
                file.extend(ending.add(memory, day));
            }
            (file != bytes).then_some(file)
        })?;
        if is_changed {
            *written += changes.missing.len();
        }
    }
    Ok(is_current)
}

fn keep_access_counts(store: &mut Store, old: &[Old]) -> Result<(), StoreError> {
    store.transact(|rows| {
        for Old { memory, access_count, .. } in old.iter().filter(|old| old.access_count > 0) {
            if let Some(row) = rows.by_id(&memory.id)? {
                rows.set_access_count(row.seq, *access_count)?;
            }
        }
        Ok(())
    })
}

/// The id of a line that has no comment to carry one.
fn derived(memory: &Memory) -> MemoryId {
    MemoryId::derive(&memory.session_id, memory.kind, &memory.at, &memory.content, 0)
}
