//! The data that the threads of one loop share: the store, every text with its fate, and what was found wrong.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::sandbox::Sandbox;

/// How long a program may take next to all the others. More is a hang.
pub(super) const DEADLINE: Duration = Duration::from_secs(120);

/// Findings of one kind in a loop that are reported one by one.
const REPORTED: usize = 4;

/// Where a memory is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Log,
    LongTerm,
}

/// A text that somebody sent.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) place: Place,
    /// The editor's round in which it was sent, and the one in which it was acknowledged.
    pub(super) sent: usize,
    pub(super) acknowledged: Option<usize>,
    /// The number of times that git had begun or ended to write when it was sent.
    pub(super) git_writes: usize,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) sandbox: Sandbox,
    pub(super) round: AtomicUsize,
    /// Grows by one when git begins and when it ends, so that it is odd while git writes.
    pub(super) git_writes: AtomicUsize,
    /// The rounds in which something was sent.
    pub(super) met: AtomicUsize,
    pub(super) over: AtomicBool,
    /// The files that git replaces; empty without git.
    pub(super) tracked: OnceLock<Vec<PathBuf>>,
    texts: AtomicUsize,
    said: Mutex<Vec<Said>>,
    written: Mutex<Vec<(PathBuf, String)>>,
    findings: Mutex<BTreeMap<&'static str, Vec<String>>>,
}

impl Shared {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            round: AtomicUsize::new(0),
            git_writes: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            tracked: OnceLock::new(),
            texts: AtomicUsize::new(0),
            said: Mutex::default(),
            written: Mutex::default(),
            findings: Mutex::default(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Something is wrong, now.
    pub(super) fn find(&self, kind: &'static str, finding: impl Display) {
        let round = self.round.load(Ordering::Acquire);
        lock(&self.findings).entry(kind).or_default().push(format!("round {round}: {finding}"));
    }

    /// The first findings of each kind, and how many more there are.
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

    /// A text that nobody sent before and that is sent now.
    pub(super) fn begin(&self, sender: &str, place: Place) -> Said {
        let n = self.texts.fetch_add(1, Ordering::AcqRel);
        let said = Said {
            text: format!("text {n} of {sender}."),
            place,
            sent: self.round.load(Ordering::Acquire),
            acknowledged: None,
            git_writes: self.git_writes.load(Ordering::Acquire),
        };
        lock(&self.said).push(said.clone());
        said
    }

    /// Its sender was told that it is saved.
    pub(super) fn acknowledge(&self, said: &Said) {
        let round = self.round.load(Ordering::Acquire);
        let mut all = lock(&self.said);
        if let Some(kept) = all.iter_mut().find(|other| other.text == said.text) {
            kept.acknowledged = Some(round);
        }
    }

    /// How many texts were sent so far.
    pub(super) fn sent(&self) -> usize {
        self.texts.load(Ordering::Acquire)
    }

    pub(super) fn acknowledged(&self) -> usize {
        lock(&self.said).iter().filter(|said| said.acknowledged.is_some()).count()
    }

    /// Every text, and whether it has to be in the store.
    pub(super) fn said(&self) -> Vec<(Said, bool)> {
        let last = self.git_writes.load(Ordering::Acquire);
        let tracked = self.tracked.get().map(Vec::as_slice).unwrap_or_default();
        let has = |file: &dyn Fn(&Path) -> bool| tracked.iter().any(|path| file(path));
        let (log, long_term) = (has(&|path| self.logs().iter().any(|log| log == path)), has(&is_long_term));
        let is_replaced = |said: &Said| if said.place == Place::Log { log } else { long_term };
        let is_due = |said: &Said| said.acknowledged.is_some() && (!is_replaced(said) || said.git_writes == last);
        lock(&self.said).iter().map(|said| (said.clone(), is_due(said))).collect()
    }

    /// An editor wrote this last.
    pub(super) fn wrote(&self, path: &Path, text: &str) {
        let mut written = lock(&self.written);
        match written.iter_mut().find(|(other, _)| other == path) {
            Some((_, before)) => text.clone_into(before),
            None => written.push((path.to_owned(), text.to_owned())),
        }
    }

    /// Finds lines that an editor wrote last and that are gone; of one save, once.
    pub(super) fn check_written(&self, when: &str) {
        for (path, text) in lock(&self.written).iter_mut() {
            let there = read(path);
            let there: HashSet<&str> = there.lines().collect();
            let is_gone = |line: &&str| !line.trim().is_empty() && !there.contains(line);
            let gone: Vec<&str> = text.lines().filter(is_gone).collect();
            if let Some(first) = gone.first() {
                let (count, all) = (gone.len(), text.lines().filter(|line| !line.trim().is_empty()).count());
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let finding = format!("{when}, {count} of the {all} lines written to {name} are gone: {first:?}");
                self.find("written lines are gone", finding);
                text.clear();
            }
        }
    }

    /// The logs of the newest day, its own first.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let items = fs::read_dir(self.sandbox.store()).into_iter().flatten().filter_map(Result::ok);
        let names = items.map(|item| item.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("20") && name.ends_with(".md")).collect();
        // `2026-01-28.md` before `2026-01-28.2.md`.
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

/// The text of a file; empty when it is missing.
pub(super) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The event of a prompt, as a host sends it.
pub(super) fn prompt(sandbox: &Sandbox, text: &str) -> String {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = text.into();
    event.to_string()
}
