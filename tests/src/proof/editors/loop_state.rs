//! Data shared by the threads of a loop: the store, all texts with their state, and findings.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::sandbox::Sandbox;

/// The time after which a program counts as hung.
pub(super) const DEADLINE: Duration = Duration::from_mins(2);

/// The maximum number of findings of one kind that are reported individually.
const REPORTED: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryFile {
    Log,
    LongTerm,
}

/// A sent text.
#[derive(Debug, Clone)]
pub(super) struct SentText {
    pub(super) text: String,
    pub(super) place: MemoryFile,
    /// The editor's rounds in which it was sent and acknowledged.
    pub(super) sent: usize,
    pub(super) acknowledged: Option<usize>,
    /// The counter of git's writes when it was sent.
    pub(super) git_writes: usize,
}

#[derive(Debug)]
pub(super) struct LoopState {
    pub(super) sandbox: Sandbox,
    pub(super) round: AtomicUsize,
    /// Incremented when git starts and when it ends, so it is odd while git writes.
    pub(super) git_writes: AtomicUsize,
    /// Rounds in which something was sent.
    pub(super) encounters: AtomicUsize,
    pub(super) is_finished: AtomicBool,
    /// The files that git replaces, or empty without git.
    pub(super) tracked: OnceLock<Vec<PathBuf>>,
    texts: AtomicUsize,
    sent_texts: Mutex<Vec<SentText>>,
    written: Mutex<Vec<(PathBuf, String)>>,
    findings: Mutex<BTreeMap<&'static str, Vec<String>>>,
}

impl LoopState {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            round: AtomicUsize::new(0),
            git_writes: AtomicUsize::new(0),
            encounters: AtomicUsize::new(0),
            is_finished: AtomicBool::new(false),
            tracked: OnceLock::new(),
            texts: AtomicUsize::new(0),
            sent_texts: Mutex::default(),
            written: Mutex::default(),
            findings: Mutex::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    pub(super) fn add_finding(&self, kind: &'static str, finding: impl Display) {
        let round = self.round.load(Ordering::Acquire);
        lock(&self.findings).entry(kind).or_default().push(format!("round {round}: {finding}"));
    }

    /// Returns the first findings of each kind, and the number of the others.
    pub(super) fn into_findings(self) -> Vec<String> {
        let findings = self.findings.into_inner().unwrap_or_else(PoisonError::into_inner);
        let shortened = |(kind, mut findings): (&str, Vec<String>)| {
            let more = findings.len().saturating_sub(REPORTED);
            findings.truncate(REPORTED);
            let more = (more > 0).then(|| format!("{more} more: {kind}"));
            findings.into_iter().chain(more)
        };
        findings.into_iter().flat_map(shortened).collect()
    }

    /// Creates a unique text that is about to be sent.
    pub(super) fn begin_text(&self, sender: &str, place: MemoryFile) -> SentText {
        let n = self.texts.fetch_add(1, Ordering::AcqRel);
        let said = SentText {
            text: format!("text {n} of {sender}."),
            place,
            sent: self.round.load(Ordering::Acquire),
            acknowledged: None,
            git_writes: self.git_writes.load(Ordering::Acquire),
        };
        lock(&self.sent_texts).push(said.clone());
        said
    }

    pub(super) fn acknowledge(&self, said: &SentText) {
        let round = self.round.load(Ordering::Acquire);
        let mut all = lock(&self.sent_texts);
        if let Some(kept) = all.iter_mut().find(|other| other.text == said.text) {
            kept.acknowledged = Some(round);
        }
    }

    pub(super) fn count_sent(&self) -> usize {
        self.texts.load(Ordering::Acquire)
    }

    pub(super) fn count_acknowledged(&self) -> usize {
        lock(&self.sent_texts).iter().filter(|said| said.acknowledged.is_some()).count()
    }

    /// Returns all texts, and whether each must be in the store.
    pub(super) fn sent_texts(&self) -> Vec<(SentText, bool)> {
        let last = self.git_writes.load(Ordering::Acquire);
        let tracked = self.tracked.get().map(Vec::as_slice).unwrap_or_default();
        let has = |file: &dyn Fn(&Path) -> bool| tracked.iter().any(|path| file(path));
        let (log, long_term) = (has(&|path| self.logs().iter().any(|log| log == path)), has(&is_long_term));
        let is_replaced = |said: &SentText| if said.place == MemoryFile::Log { log } else { long_term };
        let is_due = |said: &SentText| said.acknowledged.is_some() && (!is_replaced(said) || said.git_writes == last);
        lock(&self.sent_texts).iter().map(|said| (said.clone(), is_due(said))).collect()
    }

    /// Records an editor's last text.
    pub(super) fn record_write(&self, path: &Path, text: &str) {
        let mut written = lock(&self.written);
        match written.iter_mut().find(|(other, _)| other == path) {
            Some((_, before)) => text.clone_into(before),
            None => written.push((path.to_owned(), text.to_owned())),
        }
    }

    /// Reports lines of the last save that are missing, once per save.
    pub(super) fn check_written(&self, when: &str) {
        for (path, text) in lock(&self.written).iter_mut() {
            let there = read(path);
            let there: HashSet<&str> = there.lines().collect();
            let is_gone = |line: &&str| !line.trim().is_empty() && !there.contains(line);
            let gone: Vec<&str> = text.lines().filter(is_gone).collect();
            if let Some(first) = gone.first() {
                let (count, all) = (gone.len(), text.lines().filter(|line| !line.trim().is_empty()).count());
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let finding = format!("{when}, {count} of the {all} lines written to {name} are missing: {first:?}");
                self.add_finding("written lines are gone", finding);
                text.clear();
            }
        }
    }

    /// Returns the logs of the newest day, the first file first.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let items = fs::read_dir(self.sandbox.store()).into_iter().flatten().filter_map(Result::ok);
        let names = items.map(|item| item.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("20") && name.ends_with(".md")).collect();
        // Sorts `2026-01-28.md` before `2026-01-28.2.md`.
        names.sort_by_key(|name| (name.get(..10).map(str::to_owned), name.len()));
        let newest = names.last().and_then(|name| name.get(..10)).unwrap_or_default().to_owned();
        let of_the_day = names.iter().filter(|name| name.starts_with(&newest));
        of_the_day.map(|name| self.sandbox.store().join(name)).collect()
    }

    pub(super) fn long_term(&self) -> PathBuf {
        self.sandbox.store().join("MEMORY.md")
    }
}

fn is_long_term(path: &Path) -> bool {
    path.ends_with("MEMORY.md")
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the text of a file, or an empty text if it is missing.
pub(super) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
