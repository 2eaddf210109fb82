//! Conclusions of all sessions that still hold: decisions, preferences, fixes and tasks.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::abandoned::AbandonedTurns;
use super::budget::{BriefLine, BriefSection, LONGEST_LINE};
use super::recent_events::{READ_OF_TYPE, RecentEvents, newest, own};
use crate::host::classifier::introduces_steps;
use crate::host::code::changes::ChangeDetector;
use crate::log::LONG_TERM_FILE;
use crate::model::memory::{MemoryId, MemoryType, short_id};
use crate::model::moment::Moment;
use crate::model::sharing::{SharedState, team_author};
use crate::model::state_note::{Phase, Standing};
use crate::privacy::output_text::clean_line;
use crate::prose::gist::shortened;
use crate::prose::supersession::{Statement, StatementIndex, Strictness, without_replaced};
use crate::prose::tasks;
use crate::store::{MemoryFilter, MemoryRow, Rows, SharingFilter};

/// How many memories of a type are compared with their code.
const COMPARED_WITH_CODE: usize = 20;

/// How many bytes of a task are searched for before the whole task.
const TASK_BEGINNING: usize = 16;

/// The longest text of what a task waits for, in characters.
const LONGEST_AWAITED: usize = 60;

/// The content of a brief that does not depend on a session.
pub(super) struct Knowledge {
    entries: Vec<Entry>,
    pub(super) statements: StatementIndex,
    pub(super) abandoned: AbandonedTurns,
    failures: Vec<MemoryRow>,
    /// The session whose own conclusions another section shows.
    shown_session: Option<String>,
    /// The [`letters`] of the entries.
    letters: OnceCell<Vec<String>>,
}

/// A memory of a lasting type, with the part of its text that is still valid.
struct Entry {
    row: MemoryRow,
    text: String,
    is_replaced: bool,
    standing: Standing,
    /// What changed in its code, in a few words.
    changed: Option<String>,
}

impl Knowledge {
    /// Reads the memories for a brief of at most `size` characters. The sections skip the conclusions of the session `shown_session`, if
    /// there is one.
    pub(super) fn read(rows: Rows<'_>, shown_session: Option<&str>, size: usize) -> rusqlite::Result<Self> {
        let mut entries = read_entries(rows)?;
        let events = RecentEvents::read(rows)?;
        let of_turns = [events.overwritten(), events.replied()].concat();
        let statements = StatementIndex::new(concluded(&entries).chain(events.changes())).with_turns(of_turns);
        entries.sort_by_key(|entry| Reverse((entry.rank(), entry.row.order())));
        let mut knowledge = Self {
            entries,
            statements,
            abandoned: AbandonedTurns::find(&events),
            failures: newest(rows, MemoryType::Error)?,
            shown_session: shown_session.map(str::to_owned),
            letters: OnceCell::new(),
        };
        knowledge.remove_replaced_and_repeated(&rows.kept_pairs()?.into_iter().map(|(older, _)| older).collect(), size);
        Ok(knowledge)
    }

    /// Notes which entries are about code that changed. Only the first ones of each type have a chance to be shown.
    pub(super) fn compare_with_code(&mut self, rows: Rows<'_>, project: &Path) -> rusqlite::Result<()> {
        let mut detector = ChangeDetector::new(project);
        let mut compared: HashMap<MemoryType, usize> = HashMap::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_replaced) {
            let count = compared.entry(entry.row.memory.kind).or_default();
            *count += 1;
            if *count <= COMPARED_WITH_CODE {
                entry.changed = detector.changes(rows, &entry.row)?.summary();
            }
        }
        Ok(())
    }

    /// Marks entries that a newer statement replaces, and removes the replaced parts of the others, unless a person `kept` them. Removes
    /// entries that say the same as one of a better rank, and those whose type fills a brief of `size` characters without them.
    fn remove_replaced_and_repeated(&mut self, kept: &HashSet<MemoryId>, size: usize) {
        let mut used: HashMap<MemoryType, usize> = HashMap::new();
        let mut seen = HashSet::new();
        let entries = std::mem::take(&mut self.entries).into_iter();
        let valid = |mut entry: Entry| {
            let used = used.entry(entry.row.memory.kind).or_default();
            if *used > size && !self.is_shown_elsewhere(&entry) {
                return None;
            }
            if !kept.contains(&entry.row.memory.id) {
                // Rules and learnings outlive the code, and so does what somebody confirmed.
                let is_of_code = matches!(
                    entry.row.memory.kind,
                    MemoryType::Decision | MemoryType::Architecture | MemoryType::Pattern
                );
                let is_abandoned =
                    is_of_code && entry.standing == Standing::Noted && self.abandoned.contains_source_of(&entry.row);
                let valid = without_replaced(&entry.text, &[&self.statements], entry.row.order(), Strictness::Strict);
                let Some(text) = valid.filter(|_| !is_abandoned) else {
                    entry.is_replaced = true;
                    return Some(entry);
                };
                entry.text = text;
            }
            if !seen.insert(letters(&entry.text)) {
                return None;
            }
            if !self.is_shown_elsewhere(&entry) {
                *used += shortened(&entry.text, LONGEST_LINE).chars().count();
            }
            Some(entry)
        };
        self.entries = entries.filter_map(valid).collect();
    }

    /// Whether an entry is shown or looked up by other sections than the one of its type.
    fn is_shown_elsewhere(&self, entry: &Entry) -> bool {
        entry.row.memory.kind == MemoryType::Task
            || entry.row.path == LONG_TERM_FILE
            || self.shown_session.as_ref() == Some(&entry.row.memory.session_id)
    }

    /// Marks the tasks in a text that are done now, and removes lists of tasks and sentences that are open tasks, which another section
    /// lists.
    pub(super) fn without_listed_tasks(&self, text: &str) -> String {
        let tasks = self.entries.iter().filter(|entry| entry.row.memory.kind == MemoryType::Task);
        // A short beginning is found faster, and most tasks do not occur.
        let may_occur = |task: &&Entry| {
            let task = task.text.trim_end_matches('.');
            !task.is_empty() && text.contains(&task[..task.floor_char_boundary(TASK_BEGINNING)])
        };
        let tasks: Vec<&Entry> = tasks.filter(may_occur).collect();
        let listed = tasks.iter().filter_map(|task| start_of_list(text, &task.text)).min();
        let text = listed.map_or(text, |start| text[..start].trim_end()).to_owned();
        let rest = tasks.into_iter().fold(text.clone(), |rest, task| {
            if task.row.is_open_task() {
                return without_sentence(&rest, &task.text);
            }
            let done = task.text.trim_end_matches('.');
            rest.replace(done, &format!("{done} [done]"))
        });
        if rest.trim().is_empty() { text } else { rest }
    }

    pub(super) fn is_replaced(&self, id: &MemoryId) -> bool {
        self.entries.iter().any(|entry| entry.is_replaced && entry.row.memory.id == *id)
    }

    /// Whether a conclusion that still holds contains a text.
    pub(super) fn contains(&self, text: &str) -> bool {
        let text = letters(text);
        self.letters_of_entries().iter().any(|entry| entry.contains(&text))
    }

    /// Whether a conclusion that still holds contains a text, or is most of it.
    pub(super) fn repeats(&self, text: &str) -> bool {
        let text = letters(text);
        let is_most = |entry: &str| entry.len() * 2 > text.len() && text.contains(entry);
        self.letters_of_entries().iter().any(|entry| entry.contains(&text) || is_most(entry))
    }

    fn letters_of_entries(&self) -> &[String] {
        let of_entries =
            || self.entries.iter().filter(|entry| !entry.is_replaced).map(|entry| letters(&entry.text)).collect();
        self.letters.get_or_init(of_entries)
    }

    fn of_kinds(&self, kinds: &[MemoryType]) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.is_replaced && kinds.contains(&entry.row.memory.kind))
    }

    /// Returns the open tasks, newest first. Those that were found in text before `since`, or in a turn that no longer holds, are only counted.
    pub(super) fn tasks(&self, since: Option<Moment>) -> BriefSection {
        let open = self.of_kinds(&[MemoryType::Task]).filter(|entry| entry.row.is_open_task());
        let (old, listed): (Vec<&Entry>, Vec<&Entry>) =
            open.partition(|entry| entry.was_found_before(since) || self.abandoned.contains_source_of(&entry.row));
        let lines = listed.iter().map(|task| memory_line("- [ ] ", &task.text, &task.row, ""));
        let count = format!("- {} from earlier sessions, perhaps done: memory_search with type=task", old.len());
        BriefSection::new("Open tasks", 500, lines.chain((!old.is_empty()).then(|| count.into())))
    }

    /// Returns what holds for the project.
    pub(super) fn decisions(&self) -> BriefSection {
        let kinds = [MemoryType::Decision, MemoryType::Convention, MemoryType::Architecture, MemoryType::Pattern];
        self.section("Decided and agreed", 800, &kinds)
    }

    pub(super) fn preferences(&self) -> BriefSection {
        self.section("Preferences", 300, &[MemoryType::Preference])
    }

    /// Returns learnings and fixes.
    pub(super) fn fixes(&self) -> BriefSection {
        self.section("Learned and fixed", 400, &[MemoryType::ErrorFix, MemoryType::Learning])
    }

    fn section(&self, heading: &'static str, share: usize, kinds: &[MemoryType]) -> BriefSection {
        let entries = self.of_kinds(kinds).filter(|entry| !self.is_shown_elsewhere(entry));
        BriefSection::new(heading, share, entries.map(Entry::line))
    }

    /// Returns unresolved failures, each once, newest first. Of one command, only the last failure still applies.
    fn unresolved(&self) -> Vec<&MemoryRow> {
        let mut seen = HashSet::new();
        let open = self.failures.iter().filter(|row| row.state.phase == Phase::Open);
        let mut open: Vec<&MemoryRow> = open.filter(|row| seen.insert(letters(&row.memory.content))).collect();
        open.sort_by_key(|row| Reverse(last_time(row)));
        let mut commands = HashSet::new();
        open.retain(|row| row.memory.content.split_once('\n').is_none_or(|(command, _)| commands.insert(command)));
        open
    }

    /// Returns the failures that are still open and happened since a moment, if there is one.
    pub(super) fn failures_since(&self, began: Option<Moment>) -> Vec<BriefLine> {
        let is_since = |row: &&MemoryRow| began.is_none_or(|began| last_time(row).unix() >= began.unix());
        self.unresolved().into_iter().filter(is_since).map(failure_line).collect()
    }

    /// Returns the open failures of one session. `began` is its start: older failures may have happened again in it.
    pub(super) fn failures_of(&self, session_id: &str, began: Moment) -> Vec<BriefLine> {
        let is_in = |row: &&MemoryRow| {
            row.memory.session_id == session_id || row.state.repeated_at.is_some_and(|at| at.unix() >= began.unix())
        };
        self.unresolved().into_iter().filter(is_in).map(failure_line).collect()
    }

    /// Returns the conclusions of one session.
    pub(super) fn concluded_in(&self, session_id: &str) -> Vec<BriefLine> {
        let kinds = [MemoryType::STATEMENTS.as_slice(), &[MemoryType::ErrorFix, MemoryType::Learning]].concat();
        let mut found: Vec<&Entry> =
            self.of_kinds(&kinds).filter(|entry| entry.row.memory.session_id == session_id).collect();
        found.sort_by_key(|entry| entry.row.order());
        found.into_iter().map(Entry::line).collect()
    }
}

impl Entry {
    /// Ranks entries, whatever their age: the user's own first, then by standing, then those saved on purpose, then by importance.
    fn rank(&self) -> (bool, Standing, bool, u8) {
        let attributes = &self.row.memory.attributes;
        let importance = attributes.importance.unwrap_or_else(|| self.row.memory.kind.default_importance());
        (team_author(&self.row.path).is_none(), self.standing, !attributes.auto, importance)
    }

    /// Whether it was found in text before a moment, and not again since.
    fn was_found_before(&self, since: Option<Moment>) -> bool {
        self.row.memory.attributes.auto && since.is_some_and(|since| last_time(&self.row).unix() < since.unix())
    }

    fn line(&self) -> BriefLine {
        let changed = self.changed.as_ref().map(|changed| format!("; {}", clean_line(changed)));
        memory_line("- ", &self.text, &self.row, &changed.unwrap_or_default())
    }
}

/// Returns when something happened or was said the last time.
fn last_time(row: &MemoryRow) -> Moment {
    row.state.repeated_at.unwrap_or(row.memory.at)
}

/// Returns the memories of lasting types that no other one supersedes.
fn read_entries(rows: Rows<'_>) -> rusqlite::Result<Vec<Entry>> {
    let has_team = rows.has_team()?;
    let now = Moment::now();
    let mut entries = Vec::new();
    for kind in MemoryType::STATEMENTS.into_iter().chain([MemoryType::Task, MemoryType::ErrorFix, MemoryType::Learning])
    {
        let mut found = newest(rows, kind)?;
        // Pinned memories hold however many conclusions followed.
        if found.len() == READ_OF_TYPE {
            let pinned = rows.pinned(kind, READ_OF_TYPE)?.into_iter();
            let older: Vec<MemoryRow> = pinned.filter(|row| !found.iter().any(|known| known.seq == row.seq)).collect();
            found.extend(older);
        }
        if has_team && kind.is_shareable() {
            let shared = rows.list(&MemoryFilter { sharing: SharingFilter::Approved, ..own(kind) }, READ_OF_TYPE)?;
            found.extend(shared.into_iter().filter(|row| row.shared_state(&now) == Some(SharedState::Approved)));
        }
        for row in found.into_iter().filter(|row| row.superseded_by.is_none()) {
            let text = match kind {
                MemoryType::Task => task_text(rows, &row)?,
                _ => clean_line(&row.memory.content),
            };
            let standing = rows.standing(&row)?;
            entries.push(Entry { row, text, is_replaced: false, standing, changed: None });
        }
    }
    Ok(entries)
}

/// Returns the statements of the user, which may replace older ones. A shared memory replaces no memory of the user.
fn concluded(entries: &[Entry]) -> impl Iterator<Item = ((i64, i64), Statement)> {
    let is_own = |entry: &&Entry| entry.row.memory.kind.is_statement() && team_author(&entry.row.path).is_none();
    entries.iter().filter(is_own).map(|entry| (entry.row.order(), Statement::of(&entry.text)))
}

/// Formats a failure: what was tried (without the tool's name), its cause, and how often it happened.
fn failure_line(row: &MemoryRow) -> BriefLine {
    let content = &row.memory.content;
    let what = content.split_once(" failed: ").filter(|(tool, _)| !tool.contains(char::is_whitespace));
    let what = what.map_or(content.as_str(), |(_, what)| what).replacen('\n', ": ", 1);
    let times = match row.state.repeats {
        0 => String::new(),
        more => format!(", {} times", more + 1),
    };
    memory_line("- ", &what, row, &times)
}

/// Returns the text of a task and what it waits for, unless that is done.
fn task_text(rows: Rows<'_>, row: &MemoryRow) -> rusqlite::Result<String> {
    let text = tasks::in_one_line(&row.memory.content);
    let Some(awaited) = tasks::awaited(&row.memory.content, &row.memory.attributes.metadata) else {
        return Ok(text);
    };
    let has_field = row.memory.attributes.metadata.contains_key(tasks::BLOCKED_BY);
    Ok(match rows.named_by_id(&awaited)? {
        // The text may name another condition.
        Some(other) if !other.is_open_task() && has_field => text,
        Some(other) if !other.is_open_task() => tasks::in_one_line(&tasks::without_awaited(&row.memory.content)),
        Some(other) => format!("{text} [waits for: {}]", shortened(&other.memory.content, LONGEST_AWAITED)),
        None if text.contains(&clean_line(&awaited)) => text,
        None => format!("{text} [waits for: {}]", shortened(&awaited, LONGEST_AWAITED)),
    })
}

/// Returns the start of the sentence that lists a task after its lead, unless the text begins with it: "Done. Still to do: renew the key; …".
fn start_of_list(text: &str, task: &str) -> Option<usize> {
    const ENDS: [char; 6] = ['.', '!', '?', '。', '！', '？'];
    let at = text.find(task)?;
    let end = text[..at].rfind(ENDS)?;
    let start = end + text[end..].chars().next().map_or(0, char::len_utf8);
    // A lead without a colon was a line of its own.
    let is_lead = |lead: &str| introduces_steps(lead.trim());
    if text[start..at].contains(':') || text[start..at].strip_suffix("; ").is_some_and(is_lead) {
        return Some(start);
    }
    // "남은 일입니다. 이중 접수 신고; …"
    let before = text[..end].rfind(ENDS).map_or(0, |end| end + text[end..].chars().next().map_or(0, char::len_utf8));
    (text[start..at].trim().is_empty() && before > 0 && is_lead(&text[before..end])).then_some(before)
}

/// Removes whole sentences from a text, but no part of a list.
fn without_sentence(text: &str, sentence: &str) -> String {
    let ends = |text: &str| text.ends_with(['.', '!', '?']);
    let found = text.split_once(sentence).filter(|(before, _)| before.is_empty() || ends(before.trim_end()));
    match found.filter(|_| ends(sentence)) {
        Some((before, after)) => format!("{} {}", before.trim_end(), after.trim_start()).trim().to_owned(),
        None => text.to_owned(),
    }
}

/// Formats a memory: its text, the author if it is shared, its date, its id and a `note`.
pub(super) fn memory_line(mark: &str, text: &str, row: &MemoryRow, note: &str) -> BriefLine {
    let id = row.memory.id.as_str();
    let author = team_author(&row.path).map(|author| format!("{author}, ")).unwrap_or_default();
    let (text, date) = (shortened(text, LONGEST_LINE), row.memory.at.date());
    BriefLine { text: format!("{mark}{text} ({author}{date}, {}{note})", short_id(id)), id: Some(id.to_owned()) }
}

/// Returns the letters and digits of a text, for comparing texts regardless of case, spaces and punctuation.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
