//! Brings the rows in step with a log, whoever changed it: capture that crashed half-way, a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::claims::{Claims, Settled};
use super::tails::CAPTURED_TO;
use super::{Access, Place, Row, Rows, Store, StoreError, sessions};
use crate::crash;
use crate::daily_log::{LogKind, Parsed, Shift, Tail, parse};
use crate::forgotten::Forgotten;
use crate::layout::Layout;
use crate::lock::FileLock;
use crate::log_file;
use crate::memory::{Memory, MemoryId, content_hash};
use crate::moment::Moment;
use crate::stamp::{self, Stamp};

/// What bringing a log and its rows in step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// What [`Store::catch_up`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaughtUp {
    /// Nothing: what was read of the rows before holds.
    WasInStep,
    /// It waited until the row of an entry was there.
    WithoutReading,
    ByReading(SyncReport),
}

/// How often a file that keeps changing is read again.
const ATTEMPTS: usize = 5;

/// Rows changed in one transaction, so that none holds up a hook for long.
const BATCH: usize = 200;

impl Store {
    /// The logs that changed since their rows were derived, those that are gone included.
    pub fn changed_logs(&self) -> Result<Vec<String>, StoreError> {
        let mut changed = Vec::new();
        for path in stamp::changed(&self.layout, self.logs()?, self.known_files()?) {
            if !self.was_only_captured_to(&path, Stamp::of(&self.layout.file(&path)))? {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Every log that is there or has rows, whatever is known of it.
    pub fn all_logs(&self) -> Result<BTreeSet<String>, StoreError> {
        let known = self.known_files()?.into_keys().chain(self.rows().paths()?);
        Ok(self.logs()?.into_iter().chain(known).collect())
    }

    fn logs(&self) -> Result<Vec<String>, StoreError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|source| self.io("list", self.layout.dir(), source))?;
        Ok(present.into_iter().filter(|path| LogKind::of(path).is_some()).collect())
    }

    /// Whether a log changed since its rows were derived.
    pub fn is_stale(&self, path: &str) -> Result<bool, StoreError> {
        Ok(LogKind::of(path).is_some() && !self.is_in_step(path, Stamp::of(&self.layout.file(path)))?)
    }

    /// Whether the rows are in step with a log of this stamp.
    pub(super) fn is_in_step(&self, path: &str, now: Option<Stamp>) -> Result<bool, StoreError> {
        let sql = "SELECT mtime, size FROM files WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(Stamp { state: row.get(0)?, size: row.get(1)? });
        let known = self.db.prepare_cached(sql)?.query_row([path], read).optional()?;
        let is_missed = || Ok::<_, StoreError>(now.is_none() && self.rows().had_tail(path)?);
        Ok(known == now && !is_missed()? || self.was_only_captured_to(path, now)?)
    }

    /// Whether the rows are in step with a log of this stamp because each of its last entries came with its row.
    fn was_only_captured_to(&self, path: &str, now: Option<Stamp>) -> Result<bool, StoreError> {
        Ok(now.map(|now| self.tail(path, now)).transpose()?.flatten().is_some())
    }

    /// Brings the rows of a log in step with it, if they are not.
    ///
    /// While an entry is captured its log is ahead of its rows for a moment. That is waited for, as it is far less than reading all of it,
    /// but not for longer than `patience`.
    pub fn catch_up(&mut self, path: &str, patience: Duration) -> Result<CaughtUp, StoreError> {
        if !self.is_stale(path)? {
            return Ok(CaughtUp::WasInStep);
        }
        let lock = match self.access {
            Access::Full => Some(FileLock::acquire(&self.layout.store_lock(), patience)?),
            Access::ReadOnly(_) => None,
        };
        // Under the lock nobody captures.
        if !self.is_stale(path)? {
            return Ok(CaughtUp::WithoutReading);
        }
        drop(lock);
        self.sync_log(path).map(CaughtUp::ByReading)
    }

    /// Derives the rows of one log from its text. In a file that is no log no memory stands.
    pub fn sync_log(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let Some(kind) = LogKind::of(path) else { return self.drop_rows(path) };
        let mut work = Work::new(path, &self.layout);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let Reading { stamp, bytes, snapshot, lock, is_whole, is_changed } = self.reading(path)?;
            let is_last = attempts >= ATTEMPTS;
            if !is_whole && !is_last {
                continue;
            }
            // Who captures waits only for what was overtaken again and again.
            let _held = lock.filter(|_| is_last);
            let (rows, generation) = (Rows(&snapshot).by_path(path)?, Rows(&snapshot).generation(path)?);
            drop(snapshot);
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            let seen = stamp.map(|stamp| Seen::of(&bytes, stamp, is_changed));
            let is_done = self.apply(&mut work, parsed, rows, generation, seen.as_ref())?;
            // What is captured to a log that is not in step leaves it so.
            if is_done && (is_last || !is_changed || !self.is_stale(path)?) {
                return Ok(work.report);
            }
        }
    }

    /// Reads a log and its rows at a moment at which nobody captures, so that they belong together: rows that come later are not among
    /// these, and are never taken for deleted entries. What takes long is left for afterwards, as capturing waits meanwhile.
    fn reading(&self, path: &str) -> Result<Reading<'_>, StoreError> {
        let file = self.layout.file(path);
        let lock = self.lock_if_writable()?;
        let stamp = Stamp::of(&file);
        let bytes = log_file::read(&file)?;
        let snapshot = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)?;
        // A transaction sees what is there when something is read first.
        snapshot.query_row("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT 1)", [], |_| Ok(()))?;
        let (is_whole, is_changed) = (Stamp::of(&file) == stamp, !self.is_in_step(path, stamp)?);
        Ok(Reading { stamp, bytes, snapshot, lock, is_whole, is_changed })
    }

    fn drop_rows(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let rows = self.rows().by_path(path)?;
        let report = SyncReport { removed: rows.len(), ..SyncReport::default() };
        if !rows.is_empty() {
            self.transact(|all| {
                rows.iter().try_for_each(|row| all.delete_without_entry(row.seq))?;
                rows.iter().try_for_each(|row| sessions::refresh(all.0, &row.memory.session_id))
            })?;
        }
        Ok(report)
    }

    fn lock_if_writable(&self) -> Result<Option<FileLock>, StoreError> {
        Ok(if self.access == Access::Full { Some(self.lock()?) } else { None })
    }

    /// Brings `rows` in step with what the log held, and moves that by what was put between its entries meanwhile. `false` when somebody
    /// else brought them in step.
    fn apply(
        &mut self,
        work: &mut Work,
        parsed: Parsed,
        rows: Vec<Row>,
        mut generation: i64,
        seen: Option<&Seen>,
    ) -> Result<bool, StoreError> {
        let path = work.path.clone();
        let path = path.as_str();
        (work.claims, work.shifts) = (Claims::new(&self.layout), Vec::new());
        let mut existing: HashMap<MemoryId, Row> = rows.into_iter().map(|row| (row.memory.id.clone(), row)).collect();
        let (mut changes, mut forgotten) = (Vec::new(), None);
        for entry in parsed.entries {
            let place = Place { path: path.to_owned(), start_line: entry.start_line, end_line: entry.end_line };
            let memory = entry.memory;
            let own = existing.remove(&memory.id).or_else(|| existing.remove(&memory.id.of_copy(path)));
            match own {
                // Neither its claim nor its day changed, so whose the id is was settled before.
                Some(row) if is_same(&row.memory, &Memory { id: row.memory.id.clone(), ..memory.clone() }) => {
                    if row.place != place {
                        changes.push(Change::Move(row.seq, place));
                    }
                }
                Some(_) => changes.push(Change::Settle(memory, place)),
                None => {
                    let forgotten = match &forgotten {
                        Some(forgotten) => forgotten,
                        None => forgotten.insert(Forgotten::read(&self.layout)?),
                    };
                    if !forgotten.holds_entry(path, &memory) {
                        changes.push(Change::Settle(memory, place));
                    }
                }
            }
        }
        changes.extend(existing.into_values().map(|row| Change::Remove(row.seq)));
        let mut is_current = true;
        for batch in changes.chunks(BATCH) {
            is_current = self.transact(|rows| {
                let Some(shifts) = rows.shifts_since(path, generation)? else { return Ok(false) };
                work.shifts.extend(shifts);
                generation = rows.begin_generation(path)?;
                batch.iter().try_for_each(|change| work.apply(rows, change))?;
                Ok(true)
            })?;
            crash::point("sync.batch");
            if !is_current {
                break;
            }
        }
        crash::point("sync.rows");
        let touched = std::mem::take(&mut work.touched);
        let file = self.layout.file(path);
        self.transact(|rows| {
            touched.iter().try_for_each(|session| sessions::refresh(rows.0, session))?;
            if !is_current || rows.shifts_since(path, generation)?.is_none() {
                return Ok(false);
            }
            // Whoever read it before this does not bring its rows to that any more.
            rows.begin_generation(path)?;
            match seen {
                Some(seen) => seen.note(rows, path, Stamp::of(&file))?,
                None => {
                    rows.forget_tail(path)?;
                    rows.forget_sections(path)?;
                    rows.0.execute("DELETE FROM files WHERE path = ?1", [path])?;
                }
            }
            Ok(true)
        })
    }

    /// The logs that were read, or only captured to, which have no stamp: so that one that is gone is missed.
    fn known_files(&self) -> rusqlite::Result<HashMap<String, Stamp>> {
        let sql = format!("SELECT path, -1, -1 FROM ({CAPTURED_TO}) UNION ALL SELECT path, mtime, size FROM files");
        let mut statement = self.db.prepare_cached(&sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Stamp { state: row.get(1)?, size: row.get(2)? }));
        statement.query_map([], read)?.collect()
    }

    pub(super) fn io(&self, doing: &'static str, path: &Path, source: std::io::Error) -> StoreError {
        StoreError::Io { doing, path: path.to_owned(), source }
    }

    /// When the logs were last brought in step with their rows, RFC 3339 in UTC.
    pub fn last_synced(&self) -> Result<Option<String>, StoreError> {
        Ok(self.db.query_row("SELECT max(indexed_at) FROM files", [], |row| row.get(0)).optional()?.flatten())
    }
}

/// A log and its rows as they were at one moment.
struct Reading<'s> {
    stamp: Option<Stamp>,
    bytes: Vec<u8>,
    snapshot: Transaction<'s>,
    lock: Option<FileLock>,
    /// Whether nobody changed the log while it was read.
    is_whole: bool,
    /// Whether something else became of it, since its rows were in step with it, than that memories were put into it.
    is_changed: bool,
}

/// What is noted of a log that was read.
struct Seen {
    stamp: Stamp,
    hash: String,
    tail: Option<Tail>,
    is_changed: bool,
}

impl Seen {
    fn of(bytes: &[u8], stamp: Stamp, is_changed: bool) -> Self {
        let tail = Tail::of(bytes).filter(|tail| i64::try_from(tail.length()) == Ok(stamp.size));
        Self { stamp, hash: content_hash(&String::from_utf8_lossy(bytes)), tail, is_changed }
    }

    /// Notes that the rows are in step with the log as it was seen. What was captured since has its own end.
    fn note(&self, rows: Rows<'_>, path: &str, now: Option<Stamp>) -> rusqlite::Result<()> {
        let Self { stamp, hash, tail, is_changed } = self;
        if *is_changed {
            rows.begin_edition(path)?;
        }
        let sql = "INSERT OR REPLACE INTO files (path, hash, mtime, size, indexed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        rows.0.prepare_cached(sql)?.execute(params![path, hash, stamp.state, stamp.size, Moment::now().utc()])?;
        match tail {
            Some(tail) if now == Some(*stamp) => rows.note_tail(path, *stamp, tail),
            _ => Ok(()),
        }
    }
}

/// One change of the rows.
enum Change {
    /// An entry that is new here or not what it was.
    Settle(Memory, Place),
    Move(i64, Place),
    /// The row with this number is of no entry any more.
    Remove(i64),
}

/// What the changes of a log have in common.
struct Work {
    path: String,
    claims: Claims,
    /// How the rows moved since the log was read.
    shifts: Vec<Shift>,
    report: SyncReport,
    /// The sessions whose rows are to be derived anew.
    touched: BTreeSet<String>,
}

impl Work {
    fn new(path: &str, layout: &Layout) -> Self {
        Self {
            path: path.to_owned(),
            claims: Claims::new(layout),
            shifts: Vec::new(),
            report: SyncReport::default(),
            touched: BTreeSet::new(),
        }
    }

    fn apply(&mut self, rows: Rows<'_>, change: &Change) -> rusqlite::Result<()> {
        match change {
            Change::Settle(memory, place) => self.settle(rows, memory, &self.moved(place))?,
            Change::Move(seq, place) => rows.move_within(*seq, &self.moved(place))?,
            Change::Remove(seq) => self.remove(rows, *seq)?,
        }
        Ok(())
    }

    /// Where an entry stands by now.
    fn moved(&self, place: &Place) -> Place {
        let mut place = place.clone();
        for Shift { from, by } in &self.shifts {
            if place.start_line >= *from {
                place.start_line += by;
                place.end_line += by;
            }
        }
        place
    }

    fn remove(&mut self, rows: Rows<'_>, seq: i64) -> rusqlite::Result<()> {
        // Another process may have found its entry in another file meanwhile.
        let Some(row) = rows.by_seq(seq)?.filter(|row| row.place.path == self.path) else { return Ok(()) };
        rows.delete_without_entry(seq)?;
        self.claims.release(rows, &row.memory.id)?;
        self.report.removed += 1;
        self.touched.insert(row.memory.session_id);
        Ok(())
    }

    /// Looks for the row once more, in the transaction: a capture may have added it since, or another process.
    fn settle(&mut self, rows: Rows<'_>, memory: &Memory, place: &Place) -> rusqlite::Result<()> {
        let Settled { id, row, removed } = self.claims.settle(rows, memory, place)?;
        self.report.removed += removed.len();
        self.touched.extend(removed.into_iter().map(|row| row.memory.session_id));
        let memory = Memory { id, ..memory.clone() };
        match row {
            Some(row) if !is_same(&row.memory, &memory) => self.replace(rows, &row, &memory, place),
            Some(row) => rows.move_to(row.seq, place),
            None => {
                rows.insert(&memory, place)?;
                self.report.added += 1;
                self.touched.insert(memory.session_id);
                Ok(())
            }
        }
    }

    fn replace(&mut self, rows: Rows<'_>, row: &Row, memory: &Memory, place: &Place) -> rusqlite::Result<()> {
        rows.delete_without_entry(row.seq)?;
        let seq = rows.insert(memory, place)?;
        rows.set_access_count(seq, row.access_count)?;
        self.report.changed += 1;
        self.touched.extend([row.memory.session_id.clone(), memory.session_id.clone()]);
        Ok(())
    }
}

/// Two moments are equal at different offsets; here the offset counts, because it tells the day.
fn is_same(a: &Memory, b: &Memory) -> bool {
    a == b && a.at.offset_seconds() == b.at.offset_seconds()
}

impl Rows<'_> {
    /// Brings the row of a session up to a memory that was just inserted.
    pub(crate) fn add_to_session(&self, memory: &Memory) -> rusqlite::Result<()> {
        sessions::add(self.0, memory)
    }

    /// Derives the row of a session anew after its memories changed.
    pub(crate) fn refresh_session(&self, session_id: &str) -> rusqlite::Result<()> {
        sessions::refresh(self.0, session_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Destination, Draft, capture};
    use crate::database::Patience;
    use crate::memory::{Attributes, MemoryType};
    use crate::screen::Screen;

    const LOG: &str = "2026-01-28.md";
    const PATIENCE: Duration = Duration::from_secs(5);

    fn say(store: &mut Store, kind: MemoryType, second: i64, content: &str) {
        let draft = Draft {
            session_id: "s".to_owned(),
            kind,
            content: content.to_owned(),
            at: Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap(),
            attributes: Attributes::default(),
            destination: Destination::DailyLog,
        };
        capture(store, draft, &Screen::default()).unwrap();
    }

    #[test]
    fn an_entry_that_is_just_captured_is_waited_for_and_its_log_is_not_read() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        say(&mut store, MemoryType::UserPrompt, 0, "one");
        let file = store.layout().file(LOG);
        let lock = store.lock().unwrap();
        // As it is captured: first the log, and the end of it last. A reading would make a row of the entry, which has none here.
        let text = std::fs::read_to_string(&file).unwrap() + "- [10:30:20] **User Prompt**: two\n";
        std::fs::write(&file, &text).unwrap();
        assert!(store.is_stale(LOG).unwrap());
        let mut reader = Store::open(project.path(), Patience::Server).unwrap();
        let reader = std::thread::spawn(move || reader.catch_up(LOG, PATIENCE).unwrap());
        // Time to find it ahead; a reader that comes later has nothing to wait for, and shows nothing.
        std::thread::sleep(Duration::from_millis(50));
        let (stamp, tail) = (Stamp::of(&file).unwrap(), Tail::of(text.as_bytes()).unwrap());
        store.transact(|rows| rows.note_tail(LOG, stamp, &tail)).unwrap();
        drop(lock);
        let caught_up = reader.join().unwrap();
        assert!(matches!(caught_up, CaughtUp::WasInStep | CaughtUp::WithoutReading), "{caught_up:?}");
        assert_eq!(store.rows().by_path(LOG).unwrap().len(), 1);
        // Nobody captures to it any more, so it is read.
        std::fs::write(&file, text + "- [10:30:21] **User Prompt**: three\n").unwrap();
        let read = CaughtUp::ByReading(SyncReport { added: 2, ..SyncReport::default() });
        assert_eq!(store.catch_up(LOG, PATIENCE).unwrap(), read);
        assert_eq!(store.catch_up(LOG, PATIENCE).unwrap(), CaughtUp::WasInStep);
    }

    #[test]
    fn a_log_that_was_only_captured_to_and_is_gone_is_missed() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        say(&mut store, MemoryType::UserPrompt, 0, "one");
        std::fs::remove_file(store.layout().file(LOG)).unwrap();
        let read = CaughtUp::ByReading(SyncReport { removed: 1, ..SyncReport::default() });
        assert_eq!(store.catch_up(LOG, PATIENCE).unwrap(), read);
        assert!(!store.is_stale(LOG).unwrap());
        // Somebody puts another in its place before it was missed.
        say(&mut store, MemoryType::UserPrompt, 1, "two");
        say(&mut store, MemoryType::Decision, 2, "use redis");
        std::fs::remove_file(store.layout().file(LOG)).unwrap();
        say(&mut store, MemoryType::Decision, 3, "use redis");
        let read = CaughtUp::ByReading(SyncReport { removed: 2, ..SyncReport::default() });
        assert_eq!(store.catch_up(LOG, PATIENCE).unwrap(), read);
        assert_eq!(store.rows().by_path(LOG).unwrap().len(), 1);
    }

    #[test]
    fn what_was_read_of_a_log_moves_with_what_is_put_between_its_entries_meanwhile() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        let kinds = [MemoryType::UserPrompt, MemoryType::Decision, MemoryType::Learning, MemoryType::UserPrompt];
        kinds.iter().zip(0..).for_each(|(kind, n)| say(&mut store, *kind, n, &format!("text {n}\nand more")));
        // Rows of which the log knows nothing: at other lines, of no entry, and missing.
        let damage = "UPDATE places SET start_line = start_line + 9, end_line = end_line + 9;
             UPDATE memories SET content = 'another' WHERE content LIKE 'text 0%'; DELETE FROM memories WHERE content LIKE 'text 2%';";
        store.db.execute_batch(damage).unwrap();
        let Reading { bytes, snapshot, lock, is_changed, .. } = store.reading(LOG).unwrap();
        let (rows, generation) = (Rows(&snapshot).by_path(LOG).unwrap(), Rows(&snapshot).generation(LOG).unwrap());
        drop((snapshot, lock));
        assert!(!is_changed);
        let parsed = parse(&String::from_utf8_lossy(&bytes), LogKind::of(LOG).unwrap());
        say(&mut store, MemoryType::UserPrompt, 10, "two\nlines");
        say(&mut store, MemoryType::Decision, 11, "use redis");
        say(&mut store, MemoryType::UserPrompt, 12, "one");
        let mut work = Work::new(LOG, store.layout());
        assert!(store.apply(&mut work, parsed, rows, generation, None).unwrap());
        assert_eq!(work.report, SyncReport { added: 1, changed: 1, removed: 0 });
        let in_step = store.rows().by_path(LOG).unwrap();
        assert_eq!((in_step.len(), store.sync_log(LOG).unwrap()), (7, SyncReport::default()));
        assert_eq!(store.rows().by_path(LOG).unwrap(), in_step);
    }

    #[test]
    fn what_was_read_before_something_was_put_between_entries_is_not_what_their_rows_are_brought_to() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        say(&mut store, MemoryType::UserPrompt, 0, "one");
        say(&mut store, MemoryType::Decision, 1, "use redis");
        let file = store.layout().file(LOG);
        // A person moves both down by a line, and before that is brought in step a hook puts an event between them.
        std::fs::write(&file, format!("A line.\n{}", std::fs::read_to_string(&file).unwrap())).unwrap();
        let read = |store: &Store| {
            let bytes = std::fs::read(&file).unwrap();
            let parsed = parse(&String::from_utf8_lossy(&bytes), LogKind::of(LOG).unwrap());
            (parsed, store.rows().by_path(LOG).unwrap(), store.rows().generation(LOG).unwrap())
        };
        let (parsed, rows, generation) = read(&store);
        store.sync_log(LOG).unwrap();
        say(&mut store, MemoryType::UserPrompt, 2, "two");
        assert!(!store.is_stale(LOG).unwrap());
        let in_step = store.rows().by_path(LOG).unwrap();
        let mut work = Work::new(LOG, store.layout());
        assert!(!store.apply(&mut work, parsed, rows, generation, None).unwrap());
        assert_eq!(store.rows().by_path(LOG).unwrap(), in_step);
        // Somebody else finds it as it was before a change that this one has read.
        let before = std::fs::read(&file).unwrap();
        std::fs::write(&file, "- [10:00:00] **User Prompt**: another text\n").unwrap();
        let (parsed, rows, generation) = read(&store);
        std::fs::write(&file, before).unwrap();
        assert_eq!(store.sync_log(LOG).unwrap(), SyncReport::default());
        assert!(!store.apply(&mut work, parsed, rows, generation, None).unwrap());
        assert!(!store.is_stale(LOG).unwrap());
        let (parsed, rows, generation) = read(&store);
        assert!(store.apply(&mut work, parsed, rows, generation, None).unwrap());
        assert_eq!((work.report, store.rows().by_path(LOG).unwrap()), (SyncReport::default(), in_step));
    }
}
