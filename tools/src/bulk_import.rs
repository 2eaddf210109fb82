//! Imports many memories: each batch is stored under one lock, with the result that capture would have had.
//!
//! The lock is held for milliseconds, so hooks are not blocked. An import is idempotent.

use std::collections::{BTreeMap, HashMap, HashSet};

use schema::files::crash_point;
use schema::intake::capture::{
    COPY_SECONDS, REPEAT_SECONDS, append_all, append_notes, find_same_text, repeated_by, settled_by,
};
use schema::intake::prepare::{Destination, PreparedMemory};
use schema::log::LogKind;
use schema::model::failure::{Success, signature};
use schema::model::memory::{Memory, MemoryId, MemoryType, content_hash};
use schema::model::moment::Moment;
use schema::model::state_note::{Settlement, StateChange, StateNote};
use schema::store::forgotten::ForgottenHashes;
use schema::store::{Store, StoreError};

/// Memories of one batch.
pub const BATCH: usize = 200;

/// Examples of each type in the preview of a dry run.
const EXAMPLES: usize = 3;

/// A memory to be imported.
#[derive(Debug, Clone)]
pub struct IncomingMemory {
    pub prepared: PreparedMemory,
    /// Id and file in the exporting store, to be restored exactly.
    pub exact: Option<OriginalEntry>,
}

/// A memory's id and file, and the changes of its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalEntry {
    pub id: MemoryId,
    pub log: LogKind,
    pub notes: Vec<StateNote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    Write,
    /// Dry run: only count what would be stored.
    DryRun,
}

/// Result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOutcome {
    /// New memories by type.
    pub imported: BTreeMap<MemoryType, usize>,
    /// Memories that were already stored.
    pub duplicates: usize,
    /// Memories that stay deleted because somebody forgot them.
    pub forgotten: usize,
    /// Secrets removed from the new memories.
    pub redactions: usize,
    /// Sessions of the new memories.
    pub sessions: HashSet<String>,
    /// Some new memories of each type, if it is a dry run.
    pub examples: BTreeMap<MemoryType, Vec<Memory>>,
}

impl ImportOutcome {
    pub fn total(&self) -> usize {
        self.imported.values().sum()
    }

    /// Counts a memory that a dry run would import.
    pub fn preview(&mut self, memory: &Memory, redactions: usize) {
        *self.imported.entry(memory.kind).or_default() += 1;
        self.sessions.insert(memory.session_id.clone());
        self.redactions += redactions;
        let examples = self.examples.entry(memory.kind).or_default();
        if examples.len() < EXAMPLES {
            examples.push(memory.clone());
        }
    }
}

/// Imports memories batch by batch.
#[derive(Debug)]
pub struct BulkImporter {
    forgotten: ForgottenHashes,
    mode: ImportMode,
    /// Imports of this run that the rows do not show: of the current batch, or of all batches in a dry run.
    seen: SeenMemories,
    pub outcome: ImportOutcome,
}

enum ImportDecision {
    Duplicate,
    /// It was forgotten on purpose.
    Forgotten,
    /// A repeated failure, which only updates the first one.
    Repeats(StateNote),
    New(MemoryId, LogKind),
}

#[derive(Debug, Default)]
struct SeenMemories {
    ids: HashSet<MemoryId>,
    /// Times of a text by session and type.
    times: HashMap<(String, MemoryType, String), Vec<i64>>,
    /// Times of a text by type, in any session.
    anywhere: HashMap<(MemoryType, String), Vec<i64>>,
    conclusions: HashSet<(MemoryType, String, bool)>,
    /// Known failures by signature.
    failures: HashMap<String, MemoryId>,
    /// The last text of each session.
    said: HashMap<String, (MemoryType, String)>,
}

impl BulkImporter {
    pub fn new(store: &Store, mode: ImportMode) -> Result<Self, StoreError> {
        let forgotten = ForgottenHashes::read(store.layout())?;
        Ok(Self { forgotten, mode, seen: SeenMemories::default(), outcome: ImportOutcome::default() })
    }

    pub fn is_writing(&self) -> bool {
        self.mode == ImportMode::Write
    }

    /// Stores a batch in order of time.
    pub fn import(&mut self, store: &mut Store, mut batch: Vec<IncomingMemory>) -> Result<(), StoreError> {
        batch.sort_by_key(|incoming| incoming.prepared.draft().at);
        let lock = match self.mode {
            ImportMode::DryRun => None,
            ImportMode::Write => {
                store.require_writable()?;
                Some(store.lock()?)
            }
        };
        let mut new: BTreeMap<String, (LogKind, Vec<Memory>)> = BTreeMap::new();
        let mut redactions = 0;
        let (mut notes, mut successes): (Vec<StateNote>, Vec<(MemoryId, Success)>) = (Vec::new(), Vec::new());
        for incoming in batch {
            match self.decide(store, &incoming)? {
                ImportDecision::Duplicate => {
                    self.outcome.duplicates += 1;
                    notes.extend(original_notes(&incoming, None));
                }
                ImportDecision::Forgotten => self.outcome.forgotten += 1,
                ImportDecision::Repeats(note) => {
                    self.outcome.duplicates += 1;
                    notes.push(note);
                }
                ImportDecision::New(id, log) => {
                    notes.extend(original_notes(&incoming, Some(&id)));
                    successes.extend(incoming.prepared.succeeded().iter().map(|success| (id.clone(), success.clone())));
                    let memory = Memory { id, ..incoming.prepared.to_memory() };
                    self.seen.add(&memory, log == LogKind::LongTerm);
                    if self.mode == ImportMode::DryRun {
                        self.outcome.preview(&memory, incoming.prepared.redactions());
                        continue;
                    }
                    *self.outcome.imported.entry(memory.kind).or_default() += 1;
                    self.outcome.sessions.insert(memory.session_id.clone());
                    redactions += incoming.prepared.redactions();
                    new.entry(log.file_name()).or_insert((log, Vec::new())).1.push(memory);
                }
            }
        }
        self.outcome.redactions += redactions;
        if self.mode == ImportMode::DryRun {
            return Ok(());
        }
        self.seen = SeenMemories::default();
        let sessions: HashSet<String> =
            new.values().flat_map(|(_, memories)| memories).map(|memory| memory.session_id.clone()).collect();
        for (kind, memories) in new.into_values() {
            append_all(store, kind, &memories)?;
            crash_point::crash_if_armed("bulk.logged");
        }
        crash_point::crash_if_armed("bulk.written");
        store.with_transaction(|rows| {
            if redactions > 0 {
                rows.add_redactions(redactions)?;
            }
            sessions.iter().try_for_each(|session| rows.refresh_session(session))
        })?;
        crash_point::crash_if_armed("bulk.done");
        drop(lock);
        // Written last, because a failure of this batch may be resolved and fail again within it.
        append_notes(store, &notes)?;
        for (id, success) in &successes {
            let change = StateChange::Resolved(Settlement::DoneBy(id.to_string()));
            let note = |(about, at)| StateNote { about, at, change: change.clone() };
            let notes: Vec<StateNote> = settled_by(store.rows(), success)?.into_iter().map(note).collect();
            append_notes(store, &notes)?;
        }
        Ok(())
    }

    fn decide(&mut self, store: &Store, incoming: &IncomingMemory) -> Result<ImportDecision, StoreError> {
        let draft = incoming.prepared.draft();
        if self.forgotten.contains(&draft.content) || self.forgotten.contains_session(&draft.session_id) {
            return Ok(ImportDecision::Forgotten);
        }
        let log = match (&incoming.exact, draft.destination) {
            (Some(exact), _) => exact.log,
            (None, Destination::LongTerm) => LogKind::LongTerm,
            (None, Destination::DailyLog) => LogKind::Daily(draft.at.date()),
        };
        let memory = incoming.prepared.to_memory();
        let is_event = !log.has_id(&memory);
        let known = match &incoming.exact {
            Some(exact) if self.has_id(store, &exact.id)? => true,
            // A moved event keeps its id in a comment, which this line of the export lacks.
            Some(exact) if is_event && !is_derived_id(&exact.id, &memory) => {
                self.has_id(store, &derive_id(&memory, 0))?
            }
            Some(_) => false,
            None => self.is_duplicate(store, &memory, log)?,
        };
        if known {
            return Ok(ImportDecision::Duplicate);
        }
        if incoming.exact.is_none()
            && let Some(settled) = self.repeats(store, &memory)?
        {
            return Ok(settled);
        }
        let id = match &incoming.exact {
            // Its comment carries the id.
            Some(exact) if !is_event => exact.id.original(),
            _ => self.free_id(store, &memory)?,
        };
        Ok(ImportDecision::New(id, log))
    }

    /// Whether a memory repeats a known failure, and whether the repetition is known too.
    fn repeats(&self, store: &Store, memory: &Memory) -> Result<Option<ImportDecision>, StoreError> {
        if memory.kind != MemoryType::Error {
            return Ok(None);
        }
        let known = match self.seen.failures.get(&signature(&memory.content)) {
            Some(id) => Some(id.clone()),
            None => repeated_by(store.rows(), memory)?.map(|row| row.memory.id),
        };
        let Some(about) = known else { return Ok(None) };
        let (from, to) = (memory.at.unix() - COPY_SECONDS, memory.at.unix() + COPY_SECONDS);
        let is_noted = store.rows().is_repeated_between(&about, from, to)?;
        let note = StateNote { about, at: memory.at, change: StateChange::Repeated(1) };
        Ok(Some(if is_noted { ImportDecision::Duplicate } else { ImportDecision::Repeats(note) }))
    }

    fn has_id(&self, store: &Store, id: &MemoryId) -> Result<bool, StoreError> {
        Ok(self.seen.ids.contains(id) || store.rows().by_id(id)?.is_some())
    }

    fn free_id(&self, store: &Store, memory: &Memory) -> Result<MemoryId, StoreError> {
        let mut ordinal = 0;
        loop {
            let id = derive_id(memory, ordinal);
            if !self.has_id(store, &id)? {
                return Ok(id);
            }
            ordinal += 1;
        }
    }

    /// Whether capture would have skipped it: the same text in the session within a minute, a copy by the host into another
    /// session, a conclusion drawn before, or an answer repeated without a prompt in between.
    fn is_duplicate(&self, store: &Store, memory: &Memory, log: LogKind) -> Result<bool, StoreError> {
        let rows = store.rows();
        if self.seen.contains(memory, log == LogKind::LongTerm) || find_same_text(rows, memory, log)?.is_some() {
            return Ok(true);
        }
        let bound =
            |seconds| Moment::from_unix(memory.at.unix() + seconds, Some(0)).map(|at| at.utc()).unwrap_or_default();
        if memory.kind.is_event() && rows.has_text_between(memory, &bound(-COPY_SECONDS), &bound(COPY_SECONDS))? {
            return Ok(true);
        }
        if memory.kind == MemoryType::AssistantResponse && !self.seen.said.contains_key(&memory.session_id) {
            let before = rows.utterance_before(&memory.session_id, &memory.at)?;
            return Ok(before
                .is_some_and(|(kind, hash)| kind == memory.kind && content_hash(&memory.content).starts_with(&hash)));
        }
        Ok(false)
    }
}

impl SeenMemories {
    fn add(&mut self, memory: &Memory, long_term: bool) {
        let (hash, at) = (content_hash(&memory.content), memory.at.unix());
        self.ids.insert(memory.id.clone());
        if memory.kind == MemoryType::Error {
            self.failures.insert(signature(&memory.content), memory.id.clone());
        }
        self.times.entry((memory.session_id.clone(), memory.kind, hash.clone())).or_default().push(at);
        if memory.kind.is_event() {
            self.anywhere.entry((memory.kind, hash.clone())).or_default().push(at);
        } else {
            self.conclusions.insert((memory.kind, hash.clone(), long_term));
        }
        if matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) {
            self.said.insert(memory.session_id.clone(), (memory.kind, hash));
        }
    }

    fn contains(&self, memory: &Memory, long_term: bool) -> bool {
        let (hash, at) = (content_hash(&memory.content), memory.at.unix());
        let near = |times: Option<&Vec<i64>>, reach: i64| {
            times.is_some_and(|times| times.iter().any(|time| (time - at).abs() <= reach))
        };
        near(self.times.get(&(memory.session_id.clone(), memory.kind, hash.clone())), REPEAT_SECONDS)
            || near(self.anywhere.get(&(memory.kind, hash.clone())), COPY_SECONDS)
            || self.conclusions.contains(&(memory.kind, hash.clone(), long_term))
            || memory.kind == MemoryType::AssistantResponse
                && self.said.get(&memory.session_id) == Some(&(memory.kind, hash))
    }
}

/// The changes of a memory's state in the exporting store, about the memory with this id or else its own.
fn original_notes(incoming: &IncomingMemory, id: Option<&MemoryId>) -> Vec<StateNote> {
    let Some(OriginalEntry { id: own, notes, .. }) = &incoming.exact else { return Vec::new() };
    notes.iter().map(|note| StateNote { about: id.unwrap_or(own).clone(), ..note.clone() }).collect()
}

/// Greatest number of equal texts within a second; hosts stay below it.
const REPEATED: u32 = 64;

fn is_derived_id(id: &MemoryId, memory: &Memory) -> bool {
    (0..REPEATED).any(|ordinal| derive_id(memory, ordinal) == *id)
}

fn derive_id(Memory { session_id, kind, at, content, .. }: &Memory, ordinal: u32) -> MemoryId {
    MemoryId::derive(session_id, *kind, at, content, ordinal)
}

#[cfg(test)]
mod tests;
