//! Many memories at once: what was imported is kept as capture would have kept it, a batch under one lock.
//!
//! The lock is held for milliseconds, so that hooks go on meanwhile. Doing it again changes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::capture::{Destination, Log, Prepared, Turn, WINDOW};
use crate::crash;
use crate::daily_log::{LONG_TERM_FILE, LogKind, find, insertion, may_hold};
use crate::forgotten::Forgotten;
use crate::log_file::now;
use crate::memory::{Memory, MemoryId, MemoryType, content_hash};
use crate::moment::Moment;
use crate::store::{Rows, Store, StoreError, Written};

/// How many memories are to be handed over at once.
pub const BATCH: usize = 200;

/// How far the copies of one event that a host writes into several transcripts lie apart at most, in seconds.
const COPY: i64 = 2;

/// A memory on its way in.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub prepared: Prepared,
    /// What it was elsewhere, when it is to be exactly that here.
    pub exact: Option<Exact>,
}

/// The id of a memory and the file in which it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact {
    pub id: MemoryId,
    pub log: LogKind,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Keep,
    /// Only tell what would be kept.
    Tell,
}

/// What became of memories that came in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How many are new, by type.
    pub kept: BTreeMap<MemoryType, usize>,
    /// How many were remembered already.
    pub known: usize,
    /// How many were deleted on purpose and stay so.
    pub forgotten: usize,
    /// How many secrets were taken out of what is new.
    pub redactions: usize,
    /// The sessions of what is new.
    pub sessions: HashSet<String>,
}

impl Outcome {
    pub fn total(&self) -> usize {
        self.kept.values().sum()
    }
}

/// Takes memories in, batch by batch.
#[derive(Debug)]
pub struct Bulk {
    forgotten: Forgotten,
    effect: Effect,
    /// What this run took in that the rows do not say: of the batch at hand or, where nothing is written, of all.
    seen: Seen,
    pub outcome: Outcome,
}

/// How an incoming memory is handled.
enum Settled {
    Known,
    /// It was deleted on purpose and stays so.
    Forgotten,
    New(MemoryId, LogKind),
}

#[derive(Debug, Default)]
struct Seen {
    ids: HashSet<MemoryId>,
    /// When a text of a type was met in a session.
    times: HashMap<(String, MemoryType, String), Vec<i64>>,
    /// When a text of a type was met at all.
    anywhere: HashMap<(MemoryType, String), Vec<i64>>,
    conclusions: HashSet<(MemoryType, String, bool)>,
    /// What was said last in a session.
    said: HashMap<String, (MemoryType, String)>,
}

impl Bulk {
    pub fn new(store: &Store, effect: Effect) -> Result<Self, StoreError> {
        let forgotten = Forgotten::read(store.layout())?;
        Ok(Self { forgotten, effect, seen: Seen::default(), outcome: Outcome::default() })
    }

    /// Whether what comes in is written.
    pub fn is_keeping(&self) -> bool {
        self.effect == Effect::Keep
    }

    /// Keeps a batch, in the order of time.
    pub fn keep(&mut self, store: &mut Store, mut arrivals: Vec<Arrival>) -> Result<(), StoreError> {
        arrivals.sort_by_key(|arrival| arrival.prepared.draft().at);
        if self.effect == Effect::Keep {
            store.require_writable()?;
        }
        let lock = if self.effect == Effect::Keep { Some(store.lock()?) } else { None };
        let mut new: BTreeMap<String, (LogKind, Vec<Memory>)> = BTreeMap::new();
        let mut redactions = 0;
        for arrival in arrivals {
            match self.settle(store, &arrival)? {
                Settled::Known => self.outcome.known += 1,
                Settled::Forgotten => self.outcome.forgotten += 1,
                Settled::New(id, log) => {
                    let memory = Memory { id, ..arrival.prepared.memory() };
                    *self.outcome.kept.entry(memory.kind).or_default() += 1;
                    self.outcome.sessions.insert(memory.session_id.clone());
                    redactions += arrival.prepared.redactions();
                    self.seen.add(&memory, log == LogKind::LongTerm);
                    new.entry(log.file_name()).or_insert((log, Vec::new())).1.push(memory);
                }
            }
        }
        self.outcome.redactions += redactions;
        if self.effect == Effect::Tell {
            return Ok(());
        }
        self.seen = Seen::default();
        let sessions: HashSet<String> =
            new.values().flat_map(|(_, memories)| memories).map(|memory| memory.session_id.clone()).collect();
        for (kind, memories) in new.into_values() {
            write(store, kind, &memories)?;
            crash::point("bulk.logged");
        }
        crash::point("bulk.written");
        store.transact(|rows| {
            if redactions > 0 {
                rows.count("redactions", redactions)?;
            }
            sessions.iter().try_for_each(|session| rows.refresh_session(session))
        })?;
        crash::point("bulk.done");
        drop(lock);
        Ok(())
    }

    /// Decides how an incoming memory is handled.
    fn settle(&mut self, store: &Store, arrival: &Arrival) -> Result<Settled, StoreError> {
        let draft = arrival.prepared.draft();
        if self.forgotten.holds(&draft.content) || self.forgotten.holds_session(&draft.session_id) {
            return Ok(Settled::Forgotten);
        }
        let log = match (&arrival.exact, draft.destination) {
            (Some(exact), _) => exact.log,
            (None, Destination::LongTerm) => LogKind::LongTerm,
            (None, Destination::DailyLog) => LogKind::Daily(draft.at.date()),
        };
        let memory = arrival.prepared.memory();
        let is_event = !log.has_id(&memory);
        let known = match &arrival.exact {
            Some(exact) if self.is_there(store, &exact.id)? => true,
            // An event that somebody moved keeps its id by a comment, which its line here does not carry.
            Some(exact) if is_event && !is_derived(&exact.id, &memory) => self.is_there(store, &derived(&memory, 0))?,
            Some(_) => false,
            None => self.is_known(store, &memory, log)?,
        };
        if known {
            return Ok(Settled::Known);
        }
        let id = match &arrival.exact {
            // Its comment carries it.
            Some(exact) if !is_event => exact.id.claim(),
            _ => self.free_id(store, &memory)?,
        };
        Ok(Settled::New(id, log))
    }

    fn is_there(&self, store: &Store, id: &MemoryId) -> Result<bool, StoreError> {
        Ok(self.seen.ids.contains(id) || store.rows().by_id(id)?.is_some())
    }

    fn free_id(&self, store: &Store, memory: &Memory) -> Result<MemoryId, StoreError> {
        for ordinal in 0.. {
            let id = derived(memory, ordinal);
            if !self.is_there(store, &id)? {
                return Ok(id);
            }
        }
        unreachable!("there are more ids than memories")
    }

    /// Whether capture kept this already: the same text of the session within a minute, or what a host copied into another
    /// session, or a conclusion that was drawn before, or an answer that nobody said anything after.
    fn is_known(&self, store: &Store, memory: &Memory, log: LogKind) -> Result<bool, StoreError> {
        let long_term = log == LogKind::LongTerm;
        let rows = store.rows();
        if self.seen.knows(memory, long_term) {
            return Ok(true);
        }
        let bound = |seconds: i64| Moment::from_unix(memory.at.unix() + seconds, Some(0)).map(|at| at.utc());
        let around = |reach: i64| (bound(-reach).unwrap_or_default(), bound(reach).unwrap_or_default());
        let (from, to) = around(WINDOW);
        for in_long_term in if long_term { &[true][..] } else { &[false, true] } {
            if rows.duplicate(memory, *in_long_term, &from, &to)?.is_some() {
                return Ok(true);
            }
        }
        if !memory.kind.is_session_data() {
            return Ok(rows.same_conclusion(memory, long_term)?.is_some());
        }
        let (from, to) = around(COPY);
        if rows.is_said_between(memory, &from, &to)? {
            return Ok(true);
        }
        if memory.kind == MemoryType::AssistantResponse && !self.seen.said.contains_key(&memory.session_id) {
            let before = rows.said_before(&memory.session_id, &memory.at)?;
            return Ok(before
                .is_some_and(|(kind, hash)| kind == memory.kind && content_hash(&memory.content).starts_with(&hash)));
        }
        Ok(false)
    }
}

impl Seen {
    fn add(&mut self, memory: &Memory, long_term: bool) {
        let (hash, at) = (content_hash(&memory.content), memory.at.unix());
        self.ids.insert(memory.id.clone());
        self.times.entry((memory.session_id.clone(), memory.kind, hash.clone())).or_default().push(at);
        if memory.kind.is_session_data() {
            self.anywhere.entry((memory.kind, hash.clone())).or_default().push(at);
        } else {
            self.conclusions.insert((memory.kind, hash.clone(), long_term));
        }
        if matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) {
            self.said.insert(memory.session_id.clone(), (memory.kind, hash));
        }
    }

    fn knows(&self, memory: &Memory, long_term: bool) -> bool {
        let (hash, at) = (content_hash(&memory.content), memory.at.unix());
        let near = |times: Option<&Vec<i64>>, reach: i64| {
            times.is_some_and(|times| times.iter().any(|time| (time - at).abs() <= reach))
        };
        near(self.times.get(&(memory.session_id.clone(), memory.kind, hash.clone())), WINDOW)
            || near(self.anywhere.get(&(memory.kind, hash.clone())), COPY)
            || self.conclusions.contains(&(memory.kind, hash.clone(), long_term))
            || memory.kind == MemoryType::AssistantResponse
                && self.said.get(&memory.session_id) == Some(&(memory.kind, hash))
    }
}

/// How often a text is said within a second at most, which is more than a host can.
const REPEATED: u32 = 64;

fn is_derived(id: &MemoryId, memory: &Memory) -> bool {
    (0..REPEATED).any(|ordinal| derived(memory, ordinal) == *id)
}

fn derived(Memory { session_id, kind, at, content, .. }: &Memory, ordinal: u32) -> MemoryId {
    MemoryId::derive(session_id, *kind, at, content, ordinal)
}

/// Puts memories into one log, without those that a crash left there without their rows. The caller holds the store lock.
fn write(store: &mut Store, kind: LogKind, memories: &[Memory]) -> Result<(), StoreError> {
    let LogKind::Daily(day) = kind else {
        store.rewrite_log(LONG_TERM_FILE, |bytes| {
            let is_missing = |memory: &&Memory| {
                !may_hold(bytes, memory, kind) || find(bytes, memory, LONG_TERM_FILE, kind).is_none()
            };
            let missing: Vec<&Memory> = memories.iter().filter(is_missing).collect();
            (!missing.is_empty())
                .then(|| missing.into_iter().fold(bytes.to_vec(), |file, memory| insertion(&file, memory)))
        })?;
        return store.transact(|rows| insert(rows, LONG_TERM_FILE, memories).map(drop));
    };
    let layout = store.layout().clone();
    store.transact_with_log(|rows| {
        let mut log = match Log::choose(rows, &layout, day)? {
            Turn::Append(log) => log,
            Turn::Wait(name) => return Err(StoreError::BeingRewritten(layout.file(&name))),
        };
        for memory in memories {
            if !log.has(memory)? {
                log.add(memory.clone());
            }
        }
        if insert(rows, log.name(), memories)? < memories.len() {
            // An entry carries the id of another. Which of the two has it is found out when the log is read.
            log.must_be_read();
        }
        log.write(rows)
    })
}

/// Adds the rows of memories, but of those whose id another one has, and answers how many.
fn insert(rows: Rows<'_>, path: &str, memories: &[Memory]) -> rusqlite::Result<usize> {
    let (mut inserted, written) = (0, Written::At(now()));
    for memory in memories {
        if rows.by_id(&memory.id)?.is_none() {
            rows.insert(memory, path, written)?;
            inserted += 1;
        }
    }
    Ok(inserted)
}

#[cfg(test)]
mod tests;
